"""Text that the font of the charts can draw.

The charts request Arial. `vl-convert-python` ships Liberation Sans instead, and browsers have one or the
other. Both can draw the characters of Liberation Sans 1, nearly the same as the "Windows Glyph List 4". All
other characters are escaped, so that an image never shows an empty box, and is the same on a machine with
more fonts.
"""

import re

# Ranges of code points, generated from the font's own table, without controls, combining marks, and spaces
# other than U+0020:
#   from fontTools.ttLib import TTFont; from unicodedata import category
#   codes = sorted(TTFont("LiberationSans-Regular.ttf").getBestCmap())
#   [code for code in codes if code == 0x20 or category(chr(code))[0] not in "CMZ"]
_RANGES = """
20-7e a1-ac ae-17f 192 1fa-1ff 218-21b 2c6-2c7 2c9 2d8-2dd 37e 384-38a 38c 38e-3a1 3a3-3ce 400-45f 472-473
490-491 1e80-1e85 1ef2-1ef3 2010-2011 2013-2015 2017-201e 2020-2022 2026 2030 2032-2033 2039-203a 203c 203e
2044 207f 20a3-20a4 20a7 20ac 2105 2113 2116 2122 2126 212e 215b-215e 2190-2195 21a8 2202 2206 220f 2211-2212
2215 2219-221a 221e-221f 2229 222b 2248 2260-2261 2264-2265 2302 2310 2320-2321 2500 2502 250c 2510 2514 2518
251c 2524 252c 2534 253c 2550-256c 2580 2584 2588 258c 2590-2593 25a0-25a1 25aa-25ac 25b2 25ba 25bc 25c4
25ca-25cb 25cf 25d8-25d9 25e6 263a-263c 2640 2642 2660 2663 2665-2666 266a-266c fb01-fb02
"""


def _code_points() -> list[int]:
    ranges = (part.partition("-") for part in _RANGES.split())
    return [code for first, _, last in ranges for code in range(int(first, 16), int(last or first, 16) + 1)]


#: Every character that can be drawn.
DRAWABLE = frozenset(map(chr, _code_points()))

#: The characters to escape, backslash included, so that two texts never look the same.
_REPLACED = re.compile("[^" + re.escape("".join(sorted(DRAWABLE - {"\\"}))) + "]")
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t", "\\": "\\\\"}


def drawable(text: str) -> str:
    """Escape the characters that the font of the charts cannot draw, in Python's notation.

    Parameters
    ----------
    text
        Any text.

    Returns
    -------
    str
        The text with escapes. Different texts stay different.

    Examples
    --------
    >>> drawable("naïve 中 café 😀") == "naïve \\\\u4e2d café \\\\U0001f600"
    True
    """
    return _REPLACED.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    code = ord(character)
    return _SHORT.get(character) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")
