"""A parser for the regular-expression syntax that every engine interprets in the same way.

It accepts atoms, classes, groups, repetitions, and the properties that merganser's engine and Oniguruma
share. Anything else raises an error, because another engine might interpret it differently.
"""

import re
from collections.abc import Iterator

from merganser.errors import ExportError

#: Names in `\\p{…}` that both engines define alike; the names in one string have no character in common.
PROPERTIES = (
    "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn",
    "L M N P S Z C",
    "Letter Mark Number Punctuation Symbol Separator",
    "Han Hiragana Katakana Hangul Latin Greek Cyrillic Armenian Georgian Arabic Hebrew Devanagari Bengali "
    "Tamil Thai Khmer Ethiopic Common Inherited",
    "Uppercase Lowercase White_Space",
    "Alphabetic",
    "Ideographic",
    "Emoji",
)
_PROPERTIES = frozenset(" ".join(PROPERTIES).split())

_PART = re.compile(
    r"""(?P<escape>\\(?:[pP](?:\{\^?\w+\}|\w)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[dDsSwWbBAznrtfv]|[^\w\s]))
    |(?P<open>\((?:\?(?::|>|=|!|<=|<!|[is]+:))?(?!\?))
    |(?P<flags>\(\?[is]+\))
    |(?P<class>\[\^?)
    |(?P<close>\))
    |(?P<repeat>(?:[*+?]|\{\d+(?:,\d*)?\})[+?]?)
    |(?P<or>\|)
    |(?P<end>[$^])
    |(?P<plain>[^\\()\[\]{}*+?|$^])""",
    re.VERBOSE | re.DOTALL,
)
CLASS_PART = re.compile(
    r"""(?P<escape>\\(?:[pP](?:\{\^?\w+\}|\w)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[dDsSwWnrtfv]|[^\w\s]))
    |(?P<open>\[\^?(?![:\]]))
    |(?P<close>\])
    |(?P<plain>(?!--|&&|~~)[^\\\[\]])""",
    re.VERBOSE | re.DOTALL,
)


def parts(pattern: str) -> Iterator[tuple[str, str, int]]:
    """Yield the kind, text and offset of each part of a pattern; a character class is one part."""
    at, previous = 0, ""
    empty = _Empty()
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if not part:
            raise not_portable(pattern, at)
        kind, end = str(part.lastgroup), part.end()
        if kind == "class":
            end = _end_of_class(pattern, at)
        _check_properties(pattern, at, end)
        if kind == "repeat" and previous in ("", "repeat", "or", "open", "flags"):
            raise not_portable(pattern, at)
        if empty.is_looped(kind, pattern[at:end]):
            raise ExportError(
                f"the pattern {pattern!r} repeats a group that can match nothing (character {at + 1}), and "
                "engines differ in when they stop; rewrite it so that every repetition consumes a character"
            )
        yield kind, pattern[at:end], at
        at, previous = end, kind


class _Empty:
    """Follows the parts of a pattern and knows which groups can match the empty string."""

    def __init__(self) -> None:
        #: By open group: whether an earlier branch can be empty, and this one up to its last atom.
        self._groups = [(False, True)]
        self._openings: list[str] = []
        #: Whether the last atom can be empty.
        self._atom = True

    def is_looped(self, kind: str, text: str) -> bool:
        """Take the next part; return whether it repeats, more than once, an atom that can be empty."""
        if kind == "repeat":
            looped = self._atom and text[0] != "?" and not text.startswith(("{0}", "{1}", "{0,1}"))
            self._atom = self._atom or text[0] in "*?" or text.startswith(("{0}", "{0,"))
            return looped
        any_branch, this_branch = self._groups[-1]
        this_branch = this_branch and self._atom
        if kind == "or":
            self._groups[-1] = any_branch or this_branch, True
            self._atom = True
        elif kind == "close" and self._openings:
            self._groups.pop()
            looks = self._openings.pop().startswith(("(?=", "(?!", "(?<"))
            self._atom = looks or any_branch or this_branch
        else:
            self._groups[-1] = any_branch, this_branch
            if kind == "open":
                self._groups.append((False, True))
                self._openings.append(text)
            self._atom = kind in ("open", "end", "flags") or text in (r"\b", r"\B", r"\A", r"\z")
        return False


def _check_properties(pattern: str, start: int, end: int) -> None:
    for part in re.compile(r"\\(?:[pP]\{?\^?(\w+)|.)", re.DOTALL).finditer(pattern, start, end):
        if part[1] and part[1] not in _PROPERTIES:
            raise not_portable(pattern, part.start())


def _end_of_class(pattern: str, at: int) -> int:
    depth = 0
    while part := CLASS_PART.match(pattern, at):
        depth += (part.lastgroup == "open") - (part.lastgroup == "close")
        at = part.end()
        if depth == 0:
            return at
    raise not_portable(pattern, at)


def not_portable(pattern: str, at: int) -> ExportError:
    return ExportError(
        f"the pattern {pattern!r} has syntax at character {at + 1} that Hugging Face's regex engine may "
        "interpret differently; rewrite it with simpler constructs"
    )
