"""Pattern parts: what a pattern of ours consists of, where every engine reads it in one way.

Only what is known is let through: atoms, classes, groups, repeats, and the properties that our engine and
Oniguruma have in common. All else is refused, for it could mean something else to somebody.
"""

import re
from collections.abc import Iterator

from merganser.errors import ExportError

#: The names in `\\p{…}` that both read in the same way; the names of a line have no character in common.
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
    """What a pattern consists of: kind, text and place of each part, a class as one."""
    at, previous = 0, ""
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if not part:
            raise refused(pattern, at)
        kind, end = str(part.lastgroup), part.end()
        if kind == "class":
            end = _end_of_class(pattern, at)
        _check_properties(pattern, at, end)
        if kind == "repeat" and previous in ("", "repeat", "or", "open", "flags"):
            raise refused(pattern, at)
        yield kind, pattern[at:end], at
        at, previous = end, kind


def _check_properties(pattern: str, start: int, end: int) -> None:
    for part in re.compile(r"\\(?:[pP]\{?\^?(\w+)|.)", re.DOTALL).finditer(pattern, start, end):
        if part[1] and part[1] not in _PROPERTIES:
            raise refused(pattern, part.start())


def _end_of_class(pattern: str, at: int) -> int:
    depth = 0
    while part := CLASS_PART.match(pattern, at):
        depth += (part.lastgroup == "open") - (part.lastgroup == "close")
        at = part.end()
        if depth == 0:
            return at
    raise refused(pattern, at)


def refused(pattern: str, at: int) -> ExportError:
    return ExportError(
        f"the pattern {pattern!r} has, at character {at + 1}, something that Hugging Face's engine may read "
        "in another way; write it more simply"
    )
