r"""Patterns for Oniguruma, the engine of Hugging Face tokenizers, which reads some things in another way.

| ours | means | Oniguruma reads | written as |
|---|---|---|---|
| `x{1,3}+` | never gives back | repeats a repeat | `(?>x{1,3})` |
| `$`, `^` | ends of the text | ends of a line | `\z`, `\A` |
| `(?s:.)` | also a newline | an error | `(?m:.)` |
| `\w`, `\b` | as Unicode's annex says | other characters | the class, spelled out |
| `\x41` | a character | a byte | `\x{41}` |

What the two might read differently in a way that is not known here is refused: it could give other ids.
All else is the same, and so are the classes of characters of `PROPERTIES`: tests/formats/test_oniguruma.py
compares them for every code point.
"""

import re
from collections.abc import Iterator
from functools import cache

from merganser._core import preset_names, split
from merganser.counts import Counts
from merganser.errors import ExportError, PatternError
from merganser.formats import BadFile

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

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_IN, _OUT = f"[{_WORD}]", f"[^{_WORD}]"
_BOUNDARY = f"(?:(?<={_IN})(?!{_IN})|(?<!{_IN})(?={_IN}))"
_INSIDE = f"(?:(?<={_IN})(?={_IN})|(?<!{_IN})(?!{_IN}))"
_CLASS_ESCAPES = {r"\w": _WORD, r"\W": _OUT}
_ESCAPES = {r"\w": _IN, r"\W": _OUT, r"\b": _BOUNDARY, r"\B": _INSIDE}
#: Two characters or more that some single character equals when case does not count: ß is ss, ﬁ is fi.
_FOLDED = re.compile("ss|st|ff|fi|fl|[^\0-\x7f]")

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
_CLASS_PART = re.compile(
    r"""(?P<escape>\\(?:[pP](?:\{\^?\w+\}|\w)|x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[dDsSwWnrtfv]|[^\w\s]))
    |(?P<open>\[\^?(?![:\]]))
    |(?P<close>\])
    |(?P<plain>(?!--|&&|~~)[^\\\[\]])""",
    re.VERBOSE | re.DOTALL,
)


def written(pattern: str) -> str:
    r"""A pattern of ours as Oniguruma must be given it, to mean the same.

    >>> print(written(r"\p{N}{1,3}+|\s++$|(?s:.)"))
    (?>\p{N}{1,3})|\s++\z|(?m:.)
    """
    out: list[str] = []
    atom = 0  # where in `out` the last atom begins
    groups: list[int] = []  # and the groups that are open
    for kind, text, at in _parts(pattern):
        if kind == "repeat":
            if text.startswith("{") and text.endswith("+"):
                out[atom:] = ["(?>", *out[atom:], text[:-1], ")"]
            else:
                out.append(text)
            continue
        if kind == "flags":
            # To Oniguruma they hold for all branches that follow; so they do to us where a branch begins.
            if out and out[-1] != "|" and not out[-1].startswith("("):
                raise _refused(pattern, at)
            out.append(text.replace("s", "m"))
            continue
        atom = groups.pop() if kind == "close" and groups else len(out)
        if kind == "open":
            groups.append(atom)
        out.append(_part(kind, text))
    if re.search(r"\(\?s?i", pattern) and (found := _FOLDED.search(pattern.lower())):
        raise ExportError(
            f"the pattern {pattern!r} ignores case and has {found[0]!r}, which Hugging Face's engine may "
            "find in a single character such as ß; spell out both cases instead"
        )
    return "".join(out)


def _part(kind: str, text: str) -> str:
    if kind == "open" and text.endswith(":"):
        return text.replace("s", "m")
    if kind == "end":
        return r"\z" if text == "$" else r"\A"
    if kind == "escape":
        return _ESCAPES.get(text) or _code_point(text)
    if kind == "class":
        inside = _CLASS_PART.finditer(text)
        return "".join(_CLASS_ESCAPES.get(part[0]) or _code_point(part[0]) for part in inside)
    return text


def _parts(pattern: str) -> Iterator[tuple[str, str, int]]:
    """What a pattern consists of: kind, text and place of each part, a class as one."""
    at, previous = 0, ""
    while at < len(pattern):
        part = _PART.match(pattern, at)
        if not part:
            raise _refused(pattern, at)
        kind, end = str(part.lastgroup), part.end()
        if kind == "class":
            end = _end_of_class(pattern, at)
        _check_properties(pattern, at, end)
        if kind == "repeat" and previous in ("", "repeat", "or", "open", "flags"):
            raise _refused(pattern, at)
        yield kind, pattern[at:end], at
        at, previous = end, kind


def _check_properties(pattern: str, start: int, end: int) -> None:
    for part in re.compile(r"\\(?:[pP]\{?\^?(\w+)|.)", re.DOTALL).finditer(pattern, start, end):
        if part[1] and part[1] not in _PROPERTIES:
            raise _refused(pattern, part.start())


def _end_of_class(pattern: str, at: int) -> int:
    depth = 0
    while part := _CLASS_PART.match(pattern, at):
        depth += (part.lastgroup == "open") - (part.lastgroup == "close")
        at = part.end()
        if depth == 0:
            return at
    raise _refused(pattern, at)


def _code_point(escape: str) -> str:
    return rf"\x{{{escape[2:]}}}" if re.fullmatch(r"\\x[0-9A-Fa-f]{2}", escape) else escape


def _refused(pattern: str, at: int) -> ExportError:
    return ExportError(
        f"the pattern {pattern!r} has, at character {at + 1}, something that Hugging Face's engine may read "
        "in another way; write it more simply"
    )


# ── reading ───────────────────────────────────────────────────────────────────

#: Far above any real pattern, and low enough that none takes long to read.
MAX_PATTERN = 1 << 13
#: What stands behind a pattern of ours: text that it does not match becomes pieces of one character.
_OPEN, _REST = "(?:", ")|(?m:.)"


def with_rest(pattern: str) -> str:
    """`written`, and such that it leaves no text unmatched."""
    return f"{_OPEN}{written(pattern)}{_REST}"


def read(pattern: str, *, drops_rest: bool = False) -> str:
    r"""The pattern of ours that means the same, if there is one for certain.

    What a pattern does not match is one piece to Hugging Face's `Split`, unless it drops it; to us it is a
    piece for every character. So that is written into the pattern, where text may be left unmatched.

    >>> print(read(r"\p{L}+"))
    (?:\p{L}+)|(?:(?!\p{L}+)(?s:.))+
    """
    if len(pattern) > MAX_PATTERN:
        raise BadFile(f"is damaged: its pattern has more than {MAX_PATTERN} characters")
    for name in preset_names():
        if pattern == written(Counts({}, pattern=name).pattern):
            return name
    if pattern.startswith(_OPEN) and pattern.endswith(_REST):
        inner = _ours(pattern[len(_OPEN) : -len(_REST)])
        if inner is not None:
            return inner
    back = _ours(pattern)
    if back is None:
        raise BadFile(f"cannot be represented: its pattern {pattern!r} may mean something else here")
    if covers(back):
        return back
    if drops_rest:
        raise BadFile(f"cannot be represented: it may drop text that its pattern {pattern!r} does not match")
    return f"(?:{back})|(?:(?!{back})(?s:.))+"


def _ours(pattern: str) -> str | None:
    """`written` undone; it says itself whether this has succeeded."""
    back = pattern
    for ours, theirs in (
        (r"\b", _BOUNDARY),
        (r"\B", _INSIDE),
        (r"\w", _IN),
        (r"\W", _OUT),
        (r"\w", _WORD),
        ("$", r"\z"),
        ("^", r"\A"),
    ):
        back = back.replace(theirs, ours)
    back = re.sub(r"\(\?(i?)m(i?)(?=[:)])", r"(?\1s\2", back)
    back = re.sub(r"\(\?>((?:\\p\{\w+\}|\\.|\[(?:\\.|[^\]\[\\])*\]|.)\{\d+(?:,\d*)?\})\)", r"\1+", back)
    try:
        split("", back)
        return back if written(back) == pattern else None
    except (PatternError, ExportError):
        return None


# ── what a pattern leaves unmatched ───────────────────────────────────────────

_ANY = "(?s:.)"
_ZERO_WIDTH = (r"\b", r"\B", r"\A", r"\z")


@cache
def covers(pattern: str) -> bool:
    r"""Whether a pattern of ours leaves no text unmatched, as far as can be told from single characters.

    A branch such as ` ?\p{L}+[\r\n]*` matches wherever a letter stands, whatever is around it. If such
    branches have all characters between them, nothing is left.

    >>> covers(r" ?\p{L}+|\P{L}"), covers(r"\p{L}+|\P{L}\p{L}")
    (True, False)
    """
    always = [found for branch in _branches(pattern) if (found := _needs_one_of(branch))]
    if not always or any(kind == "flags" for kind, _, _ in _parts(pattern)):
        return False
    import numpy as np  # late: `merganser --help` must be quick

    code_points = np.r_[0:0xD800, 0xE000:0x110000].astype("<u4").tobytes().decode("utf-32-le")
    parts = (code_points[start : start + 65536] for start in range(0, len(code_points), 65536))
    return all(len(split(part, f"(?:{'|'.join(always)})+")) == 1 for part in parts)


def _branches(pattern: str) -> list[list[list[str]]]:
    """The branches that are not inside a group: for each atom its kind, its text and how it is repeated."""
    branches: list[list[list[str]]] = [[]]
    depth = 0
    for kind, text, _ in _parts(pattern):
        if kind == "close":
            depth -= 1
        if depth or kind == "close":
            branches[-1][-1][1] += text
        elif kind == "or":
            branches.append([])
        elif kind == "repeat":
            branches[-1][-1][2] = text
        else:
            branches[-1].append([kind, text, ""])
        depth += kind == "open"
    return branches


def _needs_one_of(branch: list[list[str]]) -> str | None:
    """The characters at each of which the branch matches, as a pattern; None if that cannot be said."""
    needed = unless = ""
    for kind, text, repeat in branch:
        least = {"*": 0, "?": 0, "{": int(re.sub(r"\D.*", "", repeat[1:]) or 0)}.get(repeat[:1], 1)
        if least == 0:
            if not needed and repeat[1:].endswith("+"):  # what it takes, it does not give back
                unless += f"(?!{text})"
            continue
        simple = kind in ("plain", "class") or (kind == "escape" and text not in _ZERO_WIDTH) or text == _ANY
        if needed or least > 1 or not simple:
            return None
        needed = text
    return unless + needed if needed else None
