r"""Patterns translated to and from Oniguruma, the regex engine of Hugging Face tokenizers.

| merganser | meaning | meaning in Oniguruma | translated to |
|---|---|---|---|
| `x{1,3}+` | possessive repetition | repetition of a repetition | `(?>x{1,3})` |
| `$`, `^` | ends of the text | ends of a line | `\z`, `\A` |
| `(?s:.)` | any character, newline included | an error | `(?m:.)` |
| `\w`, `\b` | as in Unicode's annex | other characters | the class, spelled out |
| `\x41` | a character | a byte | `\x{41}` |

A pattern outside the common syntax (`formats/pattern_parts.py`) is refused, because it could produce
different ids. tests/formats/test_oniguruma.py compares the accepted character classes for every code point.
"""

import re
from functools import cache

from merganser._core import preset_names, split
from merganser.counts import Counts
from merganser.errors import ExportError, PatternError
from merganser.formats import BadFile
from merganser.formats.coverage import covers
from merganser.formats.pattern_parts import CLASS_PART, not_portable, parts

_WORD = r"\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200C}\x{200D}"
_IN, _OUT = f"[{_WORD}]", f"[^{_WORD}]"
_BOUNDARY = f"(?:(?<={_IN})(?!{_IN})|(?<!{_IN})(?={_IN}))"
_INSIDE = f"(?:(?<={_IN})(?={_IN})|(?<!{_IN})(?!{_IN}))"
_CLASS_ESCAPES = {r"\w": _WORD, r"\W": _OUT}
_ESCAPES = {r"\w": _IN, r"\W": _OUT, r"\b": _BOUNDARY, r"\B": _INSIDE}
#: Sequences that case-insensitive matching equates with a single character: ss with ß, fi with ﬁ.
_FOLDED = re.compile("ss|st|ff|fi|fl|[^\0-\x7f]")


def to_oniguruma(pattern: str) -> str:
    r"""Return the equivalent pattern for Oniguruma.

    >>> print(to_oniguruma(r"\p{N}{1,3}+|\s++$|(?s:.)"))
    (?>\p{N}{1,3})|\s++\z|(?m:.)
    """
    out: list[str] = []
    atom = 0  # index in `out` of the last atom's start
    groups: list[int] = []  # and of the open groups
    for kind, text, at in parts(pattern):
        if kind == "repeat":
            if text.startswith("{") and text.endswith("+"):
                out[atom:] = ["(?>", *out[atom:], text[:-1], ")"]
            else:
                out.append(text)
            continue
        if kind == "flags":
            # Oniguruma applies flags to all following branches; ours does only if they start a branch.
            if out and out[-1] != "|" and not out[-1].startswith("("):
                raise not_portable(pattern, at)
            out.append(text.replace("s", "m"))
            continue
        atom = groups.pop() if kind == "close" and groups else len(out)
        if kind == "open":
            groups.append(atom)
        out.append(_part(kind, text))
    if re.search(r"\(\?s?i", pattern) and (folded := _FOLDED.search(pattern.lower())):
        raise ExportError(
            f"the pattern {pattern!r} ignores case and contains {folded[0]!r}, which Hugging Face's engine "
            "may match with a single character such as ß; spell out both cases instead"
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

#: Far above any real pattern, and low enough to parse quickly.
MAX_PATTERN = 1 << 13
#: Wrapped around a pattern so that each character it does not match becomes a pre-token.
_OPEN, _FALLBACK = "(?:", ")|(?m:.)"


def with_fallback(pattern: str) -> str:
    """Return the equivalent pattern for Oniguruma, with a fallback that matches all other text."""
    return f"{_OPEN}{to_oniguruma(pattern)}{_FALLBACK}"


def from_oniguruma(pattern: str, *, drops_unmatched: bool = False) -> str:
    r"""Return the merganser pattern that is provably equivalent to one for Oniguruma.

    Hugging Face's `Split` makes a run of unmatched text one pre-token, or drops it; merganser makes every
    unmatched character a pre-token. If text may be left unmatched, the result spells out Hugging Face's rule.

    >>> print(from_oniguruma(r"\p{L}+"))
    (?:\p{L}+)|(?:(?!\p{L}+)(?s:.))+
    """
    if preset := _presets().get(pattern):
        return preset
    if len(pattern) <= MAX_PATTERN and pattern.startswith(_OPEN) and pattern.endswith(_FALLBACK):
        inner = _inverse(pattern[len(_OPEN) : -len(_FALLBACK)])
        if inner is not None:
            return inner
    ours = translated(pattern)
    if covers(ours):
        return ours
    if drops_unmatched:
        raise BadFile(f"cannot be represented: it may drop text that its pattern {pattern!r} does not match")
    return f"(?:{ours})|(?:(?!{ours})(?s:.))+"


def translated(pattern: str) -> str:
    r"""Return the merganser pattern whose matches are those of a pattern for Oniguruma.

    >>> print(translated(r"(?>\p{N}{1,3})|(?m:.)\z"))
    \p{N}{1,3}+|(?s:.)$
    """
    if len(pattern) > MAX_PATTERN:
        raise BadFile(f"is corrupt: its pattern has more than {MAX_PATTERN} characters; get a fresh copy")
    if preset := _presets().get(pattern):
        return preset_patterns()[preset]
    ours = _inverse(pattern)
    if ours is None:
        raise BadFile(
            f"cannot be represented: merganser may interpret its pattern {pattern!r} differently; use "
            "Hugging Face's tokenizers"
        )
    # A word alone would be the name of a preset.
    return f"(?:{ours})" if re.fullmatch(r"[\w-]+", ours) else ours


@cache
def preset_patterns() -> dict[str, str]:
    """Return the patterns of the presets by name."""
    return {name: Counts({}, pattern=name).pattern for name in preset_names()}


@cache
def _presets() -> dict[str, str]:
    """Return the names of the presets by their patterns for Oniguruma."""
    return {to_oniguruma(pattern): name for name, pattern in preset_patterns().items()}


def _inverse(pattern: str) -> str | None:
    """Return the pattern that `to_oniguruma` translates to this one; None if none is found."""
    ours = pattern
    for construct, translation in (
        (r"\b", _BOUNDARY),
        (r"\B", _INSIDE),
        (r"\w", _IN),
        (r"\W", _OUT),
        (r"\w", _WORD),
        ("$", r"\z"),
        ("^", r"\A"),
    ):
        ours = ours.replace(translation, construct)
    ours = re.sub(r"\(\?(i?)m(i?)(?=[:)])", r"(?\1s\2", ours)
    ours = re.sub(r"\(\?>((?:\\p\{\w+\}|\\.|\[(?:\\.|[^\]\[\\])*\]|.)\{\d+(?:,\d*)?\})\)", r"\1+", ours)
    try:
        split("", ours)
        return ours if to_oniguruma(ours) == pattern else None
    except (PatternError, ExportError):
        return None
