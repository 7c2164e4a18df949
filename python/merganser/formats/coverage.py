"""Coverage: whether a pattern leaves text unmatched.

To us each character of such text is a pre-token; tiktoken and minbpe drop it, and Hugging Face may. So a
pattern of theirs is the same here only if it leaves none.
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
    r"""Whether a pattern of ours leaves no text unmatched, as far as can be told from single characters.

    A branch such as ` ?\p{L}+[\r\n]*` matches wherever a letter stands, whatever is around it. If such
    branches have all characters between them, nothing is left.

    >>> covers(r" ?\p{L}+|\P{L}"), covers(r"\p{L}+|\P{L}\p{L}")
    (True, False)
    """
    try:
        always = [found for branch in _branches(pattern) if (found := _needs_one_of(branch))]
    except ExportError:  # it has something that is not known here
        return False
    if not always or any(kind == "flags" for kind, _, _ in parts(pattern)):
        return False
    import numpy as np  # late: `merganser --help` must be quick

    code_points = np.r_[0:0xD800, 0xE000:0x110000].astype("<u4").tobytes().decode("utf-32-le")
    stretches = (code_points[start : start + 65536] for start in range(0, len(code_points), 65536))
    return all(len(split(stretch, f"(?:{'|'.join(always)})+")) == 1 for stretch in stretches)


def _branches(pattern: str) -> list[list[list[str]]]:
    """The branches that are not inside a group: for each atom its kind, its text and how it is repeated."""
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
