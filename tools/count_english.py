"""Write python/merganser/analyse/general_english.txt: how often words occur in general English.

    .venv/bin/python tools/count_english.py TEXT

The file in the package was counted in ../shared/corpora/english.txt: 56 MB of books and public documentation.
Words of at least `LEAST` occurrences per million are kept. Takes a few seconds.
"""

from __future__ import annotations

import sys
from collections import Counter

import merganser
from merganser.analyse import keyness

LEAST = 20


def main() -> None:
    [text] = sys.argv[1:]
    words: Counter[str] = Counter()
    counts = merganser.count(text, pattern=r"\p{L}+|\P{L}+", special_tokens=())
    for pretoken, times in counts.to_dict().items():
        word = pretoken.decode("utf-8", "replace").lower()
        if word.isalpha():
            words[word] += times
    total = sum(words.values())
    lines = [
        f"{times * 1e6 / total:.0f} {word}"
        for word, times in words.most_common()
        if times * 1e6 >= LEAST * total
    ]
    head = "# Occurrences per million words of general English, written by tools/count_english.py."
    keyness.FILE.write_text("\n".join([head, *lines]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
