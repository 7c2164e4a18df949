r"""Patterns for Oniguruma, the engine of Hugging Face tokenizers, which reads some things in another way.

| ours | means | Oniguruma reads | written as |
|---|---|---|---|
| `x{1,3}+` | never gives back | repeats a repeat | `(?>x{1,3})` |
| `$`, `^` | ends of the text | ends of a line | `\z`, `\A` |
| `(?s:.)` | also a newline | an error | `(?m:.)` |
| `\w`, `\b` | as Unicode's annex says | other characters | the class, spelled out |
| `\x41` | a character | a byte | `\x{41}` |

What the two might read differently in a way that is not known here is refused: it could give other ids.
All else (`formats/pattern_parts.py`) is the same, and so are the classes of characters that are known there:
tests/formats/test_oniguruma.py compares them for every code point.
"""

import re

from merganser._core import preset_names, split
from merganser.counts import Counts
from merganser.errors import ExportError, PatternError
from merganser.formats import BadFile
from merganser.formats.coverage import covers
from merganser.formats.pattern_parts import CLASS_PART, parts, refused

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_IN, _OUT = f"[{_WORD}]", f"[^{_WORD}]"
_BOUNDARY = f"(?:(?<={_IN})(?!{_IN})|(?<!{_IN})(?={_IN}))"
_INSIDE = f"(?:(?<={_IN})(?={_IN})|(?<!{_IN})(?!{_IN}))"
_CLASS_ESCAPES = {r"\w": _WORD, r"\W": _OUT}
_ESCAPES = {r"\w": _IN, r"\W": _OUT, r"\b": _BOUNDARY, r"\B": _INSIDE}
#: Two characters or more that some single character equals when case does not count: ß is ss, ﬁ is fi.
_FOLDED = re.compile("ss|st|ff|fi|fl|[^\0-\x7f]")


def written(pattern: str) -> str:
    r"""A pattern of ours as Oniguruma must be given it, to mean the same.

    >>> print(written(r"\p{N}{1,3}+|\s++$|(?s:.)"))
    (?>\p{N}{1,3})|\s++\z|(?m:.)
    """
    out: list[str] = []
    atom = 0  # where in `out` the last atom begins
    groups: list[int] = []  # and the groups that are open
    for kind, text, at in parts(pattern):
        if kind == "repeat":
            if text.startswith("{") and text.endswith("+"):
                out[atom:] = ["(?>", *out[atom:], text[:-1], ")"]
            else:
                out.append(text)
            continue
        if kind == "flags":
            # To Oniguruma they hold for all branches that follow; so they do to us where a branch begins.
            if out and out[-1] != "|" and not out[-1].startswith("("):
                raise refused(pattern, at)
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
        inside = CLASS_PART.finditer(text)
        return "".join(_CLASS_ESCAPES.get(part[0]) or _code_point(part[0]) for part in inside)
    return text


def _code_point(escape: str) -> str:
    return rf"\x{{{escape[2:]}}}" if re.fullmatch(r"\\x[0-9A-Fa-f]{2}", escape) else escape


# ── reading ───────────────────────────────────────────────────────────────────

#: Far above any real pattern, and low enough that none takes long to read.
MAX_PATTERN = 1 << 13
#: What stands behind a pattern of ours: text that it does not match becomes pre-tokens of one character.
_OPEN, _REST = "(?:", ")|(?m:.)"


def with_rest(pattern: str) -> str:
    """`written`, and such that it leaves no text unmatched."""
    return f"{_OPEN}{written(pattern)}{_REST}"


def read(pattern: str, *, drops_rest: bool = False) -> str:
    r"""The pattern of ours that means the same, if there is one for certain.

    What a pattern does not match is one pre-token to Hugging Face's `Split`, unless it drops it; to us it is
    a pre-token for every character. So that is written into the pattern, where text may be left unmatched.

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
