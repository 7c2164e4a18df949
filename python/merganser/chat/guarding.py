"""Encode a rendered conversation so that only the template's own special tokens are special.

Guarded are the special tokens of a tokenizer, and its other added tokens that the template contains, such as
Qwen's `<tool_call>`. One of them counts only if all its characters come from the template (`provenance.py`).

1. The whole text is encoded as transformers does, with offsets. If every guarded token in the ids consists of
   the template's characters, that is the result: the ids of transformers.
2. Otherwise the guarded tokens are looked up in the template's characters only, leftmost and longest first,
   and the text between them is encoded as ordinary text.
3. The ids of ordinary text are checked: a guarded token among them is an error, never a result.

So the guarantee does not depend on how the text was rendered, nor on how the tokenizer finds its tokens.

Cost: that of encoding with offsets. A text that step 2 must handle takes about twice as long and, if a
guarded token is not special to the tokenizer, a second tokenizer that is built once.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from merganser import _core
from merganser.chat.provenance import GENERATED, MESSAGE, ORIGIN, UNKNOWN, labels_of
from merganser.errors import ChatError
from merganser.tokenizer import Tokenizer

#: White space as Unicode defines it, and the tokenizers library: Python's also has control characters.
_BLANK = "[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*"
_BEFORE, _AFTER = re.compile(f"{_BLANK}$"), re.compile(_BLANK)
#: An added token of our own, after which text is not at the beginning; noncharacters are in no other.
_ANCHOR = "\U0010fffe\ufdd0\U0010fffe"

_ORIGINS = bytes(label & ORIGIN for label in range(256))
_LEARNED = bytes(int(bool(label & GENERATED)) for label in range(256))


@dataclass(frozen=True)
class _Guarded:
    """A token that text must not become."""

    content: str
    id: int
    special: bool = True
    lstrip: bool = False
    rstrip: bool = False
    single_word: bool = False


class Guard:
    """Encodes rendered texts with a tokenizer.

    Parameters
    ----------
    tokenizer
        The tokenizer.
    literals
        The text that the template itself contains.
    allowed
        Added tokens that text may become.
    """

    def __init__(self, tokenizer: Tokenizer, literals: str, allowed: Iterable[str] = ()) -> None:
        self._tokenizer = tokenizer
        self._allowed = frozenset(allowed)
        self._definition = json.loads(tokenizer.definition[3]) if tokenizer.definition else {}
        self._unknown: int | None = self._definition.get("unknown")
        self._added = [_guarded(token) for token in self._definition.get("added_tokens", ())] or [
            _Guarded(content, id) for content, id in tokenizer.special_tokens.items()
        ]
        if missing := self._allowed - {token.content for token in self._added}:
            raise ChatError(f"the tokenizer has no added token {min(missing)!r}; see allowed_special")
        guarded = [
            token
            for token in self._added
            if token.special or (token.content in literals and not token.content.isspace())
        ]
        self._guarded = {token.content: token for token in guarded if token.content}
        self._ids = {token.id: token.content for token in guarded if token.content not in self._allowed}

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """Return the ids of a rendered text, and a mask of those that are in generation blocks."""
        labels = labels_of(text)
        plain = str.__str__(text)
        origins, learned = labels.translate(_ORIGINS), labels.translate(_LEARNED)
        spans = self._tokenizer.encode_with_offsets(plain, allowed_special="all")
        if any(True for _ in self._forged(plain, origins, spans.ids, spans.chars)):
            return self._encode_apart(plain, origins, learned)
        return spans.ids, _mask(learned, spans.chars)

    def _forged(
        self, text: str, origins: bytes, ids: list[int], spans: list[tuple[int, int]]
    ) -> Iterator[str]:
        """Yield the guarded tokens of some ids that do not consist of the template's characters."""
        for id, (start, end) in zip(ids, spans, strict=True):
            content = self._ids.get(id)
            if content is None:
                continue
            at = text.find(content, start, end)
            if at < 0 and id == self._unknown:
                continue  # text that no token spells, and not the name of the token
            # Without the white space that a token may include.
            here = origins[start:end] if at < 0 else origins[at : at + len(content)]
            if not here or any(here):
                yield content

    # ── where a text has such tokens ──────────────────────────────────────────

    def _encode_apart(self, text: str, origins: bytes, learned: bytes) -> tuple[list[int], list[int]]:
        ids: list[int] = []
        mask: list[int] = []

        def add(start: int, end: int, after: _Guarded | None, before: _Guarded | None) -> None:
            """Encode the text between two tokens, which may take the white space next to them."""
            if after and after.rstrip:
                start = _AFTER.match(text, start, end).end()  # type: ignore[union-attr]
            if before and before.lstrip:
                end = _BEFORE.search(text, start, end).start()  # type: ignore[union-attr]
            new, spans = self._ordinary(text[start:end], after is not None)
            ids.extend(new)
            mask.extend(_mask(learned[start:end], spans))

        at, last = 0, None
        for start, token in self._own(text, origins):
            add(at, start, last, token)
            ids.append(token.id)
            at, last = start + len(token.content), token
            mask.append(int(any(learned[start:at])))
        add(at, len(text), last, None)
        return ids, mask

    def _own(self, text: str, origins: bytes) -> Iterator[tuple[int, _Guarded]]:
        """Yield the tokens of the template, and those that are allowed in messages."""
        at = 0
        while found := self._finder.search(text, at):
            at = found.start()
            for content in self._by_first[text[at]]:
                if text.startswith(content, at) and self._is_own(content, text, at, origins):
                    yield at, self._guarded[content]
                    at += len(content)
                    break
            else:
                at += 1

    def _is_own(self, content: str, text: str, at: int, origins: bytes) -> bool:
        token, end = self._guarded[content], at + len(content)
        if token.single_word and re.search(r"\w", text[max(at - 1, 0) : at] + text[end : end + 1]):
            return False
        here = origins[at:end]
        if content in self._allowed or not any(here):
            return True
        if MESSAGE not in here and UNKNOWN in here:
            raise ChatError(
                f"cannot tell whether the template or a message wrote {content!r}: the template builds it "
                "with an operation that loses track of it; rewrite that part of the template"
            )
        return False

    @cached_property
    def _finder(self) -> re.Pattern[str]:
        longest_first = sorted(self._guarded, key=len, reverse=True)
        return re.compile("|".join(map(re.escape, longest_first)) or "(?!)")

    @cached_property
    def _by_first(self) -> dict[str, list[str]]:
        by_first: dict[str, list[str]] = {}
        for content in sorted(self._guarded, key=len, reverse=True):
            by_first.setdefault(content[0], []).append(content)
        return by_first

    def _ordinary(self, text: str, inside: bool) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids and spans of ordinary text; `inside` if a token is before it."""
        if not text:
            return [], []
        tokenizer, anchor = self._tokenizer, ""
        if tokenizer.has_stages:
            hidden = any(token.content in text for token in self._guarded.values() if not token.special)
            free = next((content for content in self._anchors if content not in text), None)
            if hidden or (inside and free is None):
                tokenizer, free = self._all_special, _ANCHOR
            if inside:
                anchor = free or _ANCHOR
        spans = tokenizer.encode_with_offsets(
            anchor + text, allowed_special={anchor} if anchor else (), disallowed_special=()
        )
        ids, chars = spans.ids, spans.chars
        if anchor:
            size = len(anchor)
            ids, chars = ids[1:], [(max(start - size, 0), max(end - size, 0)) for start, end in chars[1:]]
        allowed = bytes((MESSAGE,)) * len(text)
        for content in self._forged(text, allowed, ids, chars):
            raise ChatError(
                f"this tokenizer makes {content!r} of ordinary text, so a message that contains it cannot be "
                "rendered; remove it from the message, or pass it as allowed_special"
            )
        return ids, chars

    @cached_property
    def _anchors(self) -> list[str]:
        """Special tokens after which text is the same as after any other."""
        return [
            token.content
            for token in self._added
            if token.special and not (token.lstrip or token.rstrip or token.single_word)
        ]

    @cached_property
    def _all_special(self) -> Tokenizer:
        """The same tokenizer, where all guarded tokens are special, and so is one of our own."""
        assert self._tokenizer.definition is not None
        tokens, merges, scores, _ = self._tokenizer.definition
        added = [
            {**token, "special": token.get("special") or token["content"] in self._guarded}
            for token in self._definition["added_tokens"]
        ]
        own = {"id": self._tokenizer.next_id, "content": _ANCHOR, "special": True}
        definition = json.dumps({**self._definition, "added_tokens": [*added, own]})
        return Tokenizer._of(_core.Model.from_definition(tokens, merges, scores, definition), {}, {})


def _guarded(token: dict[str, Any]) -> _Guarded:
    flags = {name: bool(token.get(name)) for name in ("special", "lstrip", "rstrip", "single_word")}
    return _Guarded(token["content"], token["id"], **flags)


def _mask(learned: bytes, spans: list[tuple[int, int]]) -> list[int]:
    """Return for each span whether one of its characters is learned."""
    if not any(learned):
        return [0] * len(spans)
    before = [0, *accumulate(learned)]
    return [int(before[end] > before[start]) for start, end in spans]
