"""Whether a pattern matches all text.

merganser makes each unmatched character a pre-token; tiktoken and minbpe drop unmatched text, and Hugging
Face may. A pattern from one of these libraries is therefore equivalent here only if it leaves no text
unmatched.
"""

import re
from functools import cache

from merganser._core import split
from merganser.errors import ExportError
from merganser.formats.pattern_parts import parts

_ANY = "(?s:.)"
_ZERO_WIDTH = (r"\b", r"\B", r"\A", r"\z")


@cache
def covers(pattern: str) -> bool:
    r"""Return whether a pattern provably matches all text.

    A branch such as ` ?\p{L}+[\r\n]*` matches at every letter, whatever surrounds it. If the branches of this
    kind match every character between them, no text is left unmatched. False means "cannot be proven".

    >>> covers(r" ?\p{L}+|\P{L}"), covers(r"\p{L}+|\P{L}\p{L}")
    (True, False)
    """
    try:
        matched = [characters for branch in _branches(pattern) if (characters := _matched_characters(branch))]
    except ExportError:  # uses syntax outside `pattern_parts`
        return False
    if not matched or any(kind == "flags" for kind, _, _ in parts(pattern)):
        return False
    import numpy as np  # imported here to keep `merganser --help` fast

    code_points = np.r_[0:0xD800, 0xE000:0x110000].astype("<u4").tobytes().decode("utf-32-le")
    blocks = (code_points[start : start + 65536] for start in range(0, len(code_points), 65536))
    return all(len(split(block, f"(?:{'|'.join(matched)})+")) == 1 for block in blocks)


def _branches(pattern: str) -> list[list[list[str]]]:
    """Return the top-level branches, each a list of atoms: kind, text and repetition."""
    branches: list[list[list[str]]] = [[]]
    depth = 0
    for kind, text, _ in parts(pattern):
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


def _matched_characters(branch: list[list[str]]) -> str | None:
    """Return a pattern of single characters at which the branch always matches; None if unknown."""
    needed = unless = ""
    for kind, text, repeat in branch:
        least = {"*": 0, "?": 0, "{": int(re.sub(r"\D.*", "", repeat[1:]) or 0)}.get(repeat[:1], 1)
        if least == 0:
            if not needed and repeat[1:].endswith("+"):  # possessive: never gives back what it consumed
                unless += f"(?!{text})"
            continue
        simple = kind in ("plain", "class") or (kind == "escape" and text not in _ZERO_WIDTH) or text == _ANY
        if needed or least > 1 or not simple:
            return None
        needed = text
    return unless + needed if needed else None
