"""Text that knows where each of its characters comes from: the template, a message, or an unknown source.

A chat template may cut, trim, join and replace the strings of a message as it likes. `Text` is a `str` with a
label for each character, and its methods carry the labels along. The rule that makes this safe: a character
is trusted only if it was copied from a trusted one. No method makes a trusted character out of others, and a
string of any other type has the label UNKNOWN, so an operation that is not tracked loses trust and never
gains it.

Cost: one byte for each character, and about twice the time of the operations on `str`.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, SupportsIndex

#: Where a character comes from.
TEMPLATE, MESSAGE, UNKNOWN = 0, 1, 2
ORIGIN = 3
#: Set in addition: the character is in a generation block; it ends the message that is to be continued.
GENERATED, CONTINUED = 4, 8

_GENERATED = bytes(label | GENERATED for label in range(256))
_FORMATTED = re.compile(r"%(?:\(([^)]*)\))?[#0\- +]*(\*|\d+)?(?:\.(\*|\d*))?[hlL]?(.)", re.DOTALL)
#: The most digits of a width, as in "%9999s": more only serves to fill the memory.
_MAX_WIDTH = 10_000


class LimitError(Exception):
    """A template takes too long, or makes too much text."""


class Budget:
    """What a template may take: a time, and a number of characters for each text that it makes."""

    def __init__(self, seconds: float, characters: int) -> None:
        self.seconds, self.characters = seconds, characters
        self._end = time.monotonic() + seconds
        self._ticks = 0

    def tick(self) -> None:
        """Count a call, or a turn of a loop."""
        self._ticks += 1
        if not self._ticks % 64:
            self.check_time()

    def take(self, characters: int) -> None:
        """Refuse a text of more characters than allowed, before it is made."""
        if characters > self.characters:
            raise LimitError(f"it makes a text of more than {self.characters:,} characters")
        self.tick()
        if characters > 10_000:
            self.check_time()

    def check_time(self) -> None:
        if time.monotonic() > self._end:
            raise LimitError(f"it takes longer than {self.seconds:g} seconds")


_BUDGET: ContextVar[Budget] = ContextVar("budget")
_DEFAULT = Budget(float("inf"), 1 << 26)


def budget() -> Budget:
    """Return the budget of the template that is being rendered in this thread."""
    return _BUDGET.get(_DEFAULT)


@contextmanager
def limited(seconds: float, characters: int) -> Iterator[None]:
    """Give the templates rendered inside a budget."""
    token = _BUDGET.set(Budget(seconds, characters))
    try:
        yield
    finally:
        _BUDGET.reset(token)


class Text(str):
    """A string with a label for each character; UNKNOWN for all of them by default.

    >>> text = Text("<|im_", TEMPLATE) + Text("end|>", MESSAGE)
    >>> text.replace("|", "").split("_")[1], labels_of(text[-2:])
    ('end>', b'\\x01\\x01')
    """

    __slots__ = ("_labels",)
    _labels: bytes

    def __new__(cls, text: object = "", labels: int | bytes = UNKNOWN) -> "Text":
        self = super().__new__(cls, text)
        size = len(self)
        self._labels = bytes((labels,)) * size if isinstance(labels, int) else labels
        assert len(self._labels) == size
        return self

    # ── copies and parts ──────────────────────────────────────────────────────

    def __str__(self) -> str:
        return self

    def __getitem__(self, key: SupportsIndex | slice) -> "Text":
        part = str.__getitem__(self, key)
        labels = self._labels[key]
        return Text(part, bytes((labels,)) if isinstance(labels, int) else labels)

    def __iter__(self) -> "Iterator[Text]":
        for at, character in enumerate(str.__iter__(self)):
            yield Text(character, self._labels[at : at + 1])

    def strip(self, characters: str | None = None, /) -> "Text":
        return self.lstrip(characters).rstrip(characters)

    def lstrip(self, characters: str | None = None, /) -> "Text":
        return self[len(self) - len(str.lstrip(self, characters)) :]

    def rstrip(self, characters: str | None = None, /) -> "Text":
        return self[: len(str.rstrip(self, characters))]

    def removeprefix(self, prefix: str, /) -> "Text":
        return self[len(prefix) :] if prefix and self.startswith(prefix) else self

    def removesuffix(self, suffix: str, /) -> "Text":
        return self[: -len(suffix)] if suffix and self.endswith(suffix) else self

    def split(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> "list[Text]":  # type: ignore[override]
        return self._found(str.split(self, sep, maxsplit), sep)

    def rsplit(self, sep: str | None = None, maxsplit: SupportsIndex = -1) -> "list[Text]":  # type: ignore[override]
        return self._found(str.rsplit(self, sep, maxsplit), sep)

    def splitlines(self, keepends: bool = False) -> "list[Text]":  # type: ignore[override]
        lines = self._consecutive(str.splitlines(self, True))
        bare = str.splitlines(self)
        return lines if keepends else [line[: len(end)] for line, end in zip(lines, bare, strict=True)]

    def partition(self, sep: str, /) -> "tuple[Text, Text, Text]":
        first, found, last = self._consecutive(str.partition(self, sep))
        return first, found, last

    def rpartition(self, sep: str, /) -> "tuple[Text, Text, Text]":
        first, found, last = self._consecutive(str.rpartition(self, sep))
        return first, found, last

    def _consecutive(self, parts: Iterable[str]) -> "list[Text]":
        """Return the parts, which follow each other without a gap."""
        texts, at = [], 0
        for part in parts:
            texts.append(self[at : at + len(part)])
            at += len(part)
        return texts

    def _found(self, parts: list[str], sep: str | None) -> "list[Text]":
        """Return the parts of a split, between which is the separator or, if it is None, white space."""
        texts, at = [], 0
        for part in parts:
            if sep is None:
                at = str.find(self, part, at)
            texts.append(self[at : at + len(part)])
            at += len(part) + len(sep or "")
        budget().take(len(parts))
        return texts

    # ── longer texts ──────────────────────────────────────────────────────────

    def __add__(self, other: str) -> "Text":
        return joined((self, other)) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: str) -> "Text":
        return joined((other, self)) if isinstance(other, str) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> "Text":
        number = max(times.__index__(), 0)
        budget().take(len(self) * number)
        return Text(str.__mul__(self, number), self._labels * number)

    __rmul__ = __mul__

    def __mod__(self, values: Any) -> "Text":
        return _percent(self, values)

    def __rmod__(self, other: Any) -> "Text":
        return _percent(Text(other), self) if isinstance(other, str) else NotImplemented

    def join(self, parts: Iterable[str], /) -> "Text":
        between: list[str] = []
        for part in parts:
            if not isinstance(part, str):
                raise TypeError(f"expected str instances to join, {type(part).__name__} found")
            between += (self, part) if between else (part,)
        return joined(between)

    def replace(self, old: str, new: str, count: SupportsIndex = -1, /) -> "Text":
        number = (
            str.count(self, old) if count.__index__() < 0 else min(count.__index__(), str.count(self, old))
        )
        budget().take(len(self) + number * max(len(new) - len(old), 0))
        if old:
            return Text.join(new if isinstance(new, Text) else Text(new), self.split(old, number))
        parts: list[str] = []
        for at, character in enumerate(self):
            parts += (new, character) if at < number else (character,)
        return joined([*parts, new] if number > len(self) else parts)

    # ── other cases: a character becomes one or more ──────────────────────────

    def upper(self) -> "Text":
        return self._recased(str.upper(self))

    def lower(self) -> "Text":
        return self._recased(str.lower(self))

    def capitalize(self) -> "Text":
        return self._recased(str.capitalize(self))

    def title(self) -> "Text":
        return self._recased(str.title(self))

    def swapcase(self) -> "Text":
        return self._recased(str.swapcase(self))

    def casefold(self) -> "Text":
        return self._recased(str.casefold(self))

    def _recased(self, text: str) -> "Text":
        if len(text) == len(self):
            return Text(text, self._labels)
        only = set(self._labels)
        return Text(text, only.pop() if len(only) == 1 else UNKNOWN)

    # ── not tracked, but limited ──────────────────────────────────────────────

    def center(self, width: SupportsIndex, fill: str = " ", /) -> "Text":
        return self._padded(str.center, width, fill)

    def ljust(self, width: SupportsIndex, fill: str = " ", /) -> "Text":
        return self._padded(str.ljust, width, fill)

    def rjust(self, width: SupportsIndex, fill: str = " ", /) -> "Text":
        return self._padded(str.rjust, width, fill)

    def zfill(self, width: SupportsIndex, /) -> "Text":
        return self._padded(str.zfill, width)

    def expandtabs(self, tabsize: SupportsIndex = 8) -> "Text":
        budget().take(len(self) * max(tabsize.__index__(), 1))
        return Text(str.expandtabs(self, tabsize))

    def _padded(self, pad: Callable[..., str], width: SupportsIndex, *fill: str) -> "Text":
        budget().take(width.__index__())
        return Text(pad(self, width, *fill))

    def translate(self, table: Any, /) -> "Text":
        raise LimitError("it calls translate, which is not supported")


def labels_of(text: str) -> bytes:
    """Return the label of each character; UNKNOWN if the text has none."""
    return text._labels if isinstance(text, Text) else bytes((UNKNOWN,)) * len(text)


def joined(parts: Iterable[str]) -> Text:
    """Return the parts as one text. As many are taken from an iterator as the budget allows."""
    taken, size, now = [], 0, budget()
    for part in parts:
        size += len(part)
        now.take(size)
        taken.append(part)
    return Text("".join(taken), b"".join(map(labels_of, taken)))


def generated(text: str) -> Text:
    """Return a text as that of a generation block."""
    return Text(text, labels_of(text).translate(_GENERATED))


def _percent(pattern: Text, values: Any) -> Text:
    """Return `pattern % values`, tracked where all it does is to insert texts."""
    fields = list(_FORMATTED.finditer(pattern))
    for field in fields:
        for digits in field.group(2, 3):
            if digits and (digits == "*" or len(digits) > 5 or int(digits) > _MAX_WIDTH):
                raise LimitError(f"it formats with the width {digits[:20]}")
    plain = str.__mod__(str.__str__(pattern), values)
    budget().take(len(plain))
    parts: list[str] = []
    at = nth = 0
    for field in fields:
        parts.append(pattern[at : field.start()])
        at = field.end()
        if field[0] == "%%":
            parts.append(pattern[field.start() : field.start() + 1])
        elif field[0] == "%s" and not isinstance(values, Mapping):
            several = values if isinstance(values, tuple) else (values,)
            parts.append(_text(several[nth]))
            nth += 1
        elif field[0] == f"%({field[1]})s" and isinstance(values, Mapping):
            parts.append(_text(values[field[1]]))
        else:
            return Text(plain)
    tracked = joined([*parts, pattern[at:]])
    return tracked if str.__eq__(tracked, plain) else Text(plain)


def _text(value: Any) -> str:
    return value if isinstance(value, Text) else Text(str(value))
