"""JSON as `json.dumps` writes it, of texts that know where their characters come from.

The characters of a string keep their labels; what JSON adds has the label UNKNOWN.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from merganser.chat.provenance import Text, joined, labels_of


def to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | str | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> Text:
    """Return a value as JSON, with the arguments of `json.dumps` that chat templates may pass.

    >>> from merganser.chat.provenance import MESSAGE
    >>> text = to_json([{"a": Text('"b"', MESSAGE)}], indent=1)
    >>> text == json.dumps([{"a": '"b"'}], indent=1), labels_of(text)[12:18]
    (True, b'\\x02\\x01\\x01\\x01\\x01\\x01')
    """
    if separators is None:
        separators = (", ", ": ") if indent is None else (",", ": ")
    step = " " * indent if isinstance(indent, int) else indent
    return joined(_Writer(ensure_ascii, step, *separators, sort_keys).parts(value, "\n"))


class _Writer:
    def __init__(self, ensure_ascii: bool, step: str | None, comma: str, colon: str, sort_keys: bool) -> None:
        self.escape = json.encoder.encode_basestring_ascii if ensure_ascii else json.encoder.encode_basestring
        self.step, self.comma, self.colon, self.sort_keys = step, comma, colon, sort_keys

    def parts(self, value: Any, newline: str) -> Iterator[str]:
        """Yield the parts of a value; `newline` begins a line at its level."""
        if isinstance(value, str):
            yield self.string(value)
        elif value is None or isinstance(value, int | float):
            yield json.dumps(value)
        elif isinstance(value, Mapping):
            items = sorted(value.items(), key=lambda item: item[0]) if self.sort_keys else value.items()
            entries = ((self.key(key), value) for key, value in items)
            yield from self.container("{}", entries, newline)
        elif isinstance(value, list | tuple):
            yield from self.container("[]", (("", entry) for entry in value), newline)
        else:
            raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")

    def container(self, ends: str, entries: Iterator[tuple[str, Any]], newline: str) -> Iterator[str]:
        inner = newline + (self.step or "")
        empty = True
        for key, value in entries:
            if empty:
                yield ends[0]
            else:
                yield self.comma
            if self.step is not None:
                yield inner
            empty = False
            if key:
                yield key
                yield self.colon
            yield from self.parts(value, inner)
        if empty:
            yield ends
            return
        if self.step is not None:
            yield newline
        yield ends[1]

    def key(self, key: Any) -> str:
        if isinstance(key, str):
            return self.string(key)
        if key is None or isinstance(key, int | float):
            return f'"{json.dumps(key)}"'
        raise TypeError(f"keys must be str, int, float, bool or None, not {type(key).__name__}")

    def string(self, text: str) -> str:
        """Return a string in quotes. It is escaped character by character, and so are its labels."""
        labels = labels_of(text)
        escaped = self.escape(text)
        if len(escaped) != len(text) + 2:
            sizes = (len(self.escape(character)) - 2 for character in str.__str__(text))
            labels = b"".join(labels[at : at + 1] * size for at, size in enumerate(sizes))
        return joined(('"', Text(escaped[1:-1], labels), '"'))
