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
        yield kind, pattern[at:end], at
        at, previous = end, kind


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
