"""Long texts that break tokenizers: by slow encoding, by stack overflow, or by different ids."""

import random

_MILLION = 10**6
_LETTERS = random.Random(1)

TEXTS = {
    "one letter": "a" * _MILLION,
    "spaces": " " * _MILLION,
    "spaces, then a letter": " " * _MILLION + "a",
    "newlines": "\n" * _MILLION,
    "Chinese": "中" * _MILLION,
    "combining marks": "\u0301" * _MILLION,
    "random letters": "".join(_LETTERS.choices("abcdefghijklmnopqrstuvwxyz", k=_MILLION)),
    "every code point": "".join(map(chr, [*range(0xD800), *range(0xE000, 0x110000)])),
}
