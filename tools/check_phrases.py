"""Check that no phrase of tools/phrases.txt occurs in the documentation and sources.

    python3 tools/check_phrases.py [FOLDER]

Prints file:line: phrase for every hit, and exits with 1 if there is one. A phrase matches across a line
break, also if the next line starts with a comment marker. FOLDER is the repository, by default the one that
contains this file.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Folders and files to check, and those to leave out: examples.py holds sample sentences.
CHECKED = ("README.md", "docs", "python", "crates")
EXCLUDED = ("python/merganser/analyse/examples.py",)
SUFFIXES = {".md", ".py", ".pyi", ".rs", ".js", ".css", ".html", ".toml"}
#: Between two words: spaces, or a line break with the comment marker of the next line.
GAP = r"(?:[ \t]*\n[ \t]*(?:#:?|//[/!]?|\*|>)?[ \t]*|[ \t]+)"


class Hit(NamedTuple):
    file: str
    line: int
    phrase: str
    instead: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.phrase} (write: {self.instead})"


def read_phrases(path: Path) -> dict[str, str]:
    """Read the phrases and their replacements."""
    phrases = {}
    for line in path.read_text("utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            phrase, arrow, instead = line.partition(" → ")
            if not arrow:
                raise SystemExit(f"{path}: {line!r} has no replacement; write 'phrase → replacement'")
            phrases[phrase.strip().lower()] = instead.strip()
    return phrases


def pattern_of(phrases: dict[str, str]) -> re.Pattern[str]:
    """Return a pattern that matches any of the phrases, the longest first."""
    longest_first = sorted(phrases, key=len, reverse=True)
    alternatives = (GAP.join(map(re.escape, phrase.split())) for phrase in longest_first)
    return re.compile(rf"\b(?:{'|'.join(alternatives)})\b", re.IGNORECASE)


def find(text: str, phrases: dict[str, str]) -> Iterator[tuple[int, str]]:
    """Yield the line number and the phrase of every hit in a text."""
    for match in pattern_of(phrases).finditer(text):
        phrase = " ".join(re.split(GAP, match[0])).lower()
        yield text.count("\n", 0, match.start()) + 1, phrase


def checked_files(folder: Path) -> Iterator[Path]:
    for name in CHECKED:
        path = folder / name
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        for file in files:
            is_excluded = file.relative_to(folder).as_posix() in EXCLUDED
            if file.suffix in SUFFIXES and file.is_file() and not is_excluded:
                yield file


def check(folder: Path, phrases: dict[str, str]) -> list[Hit]:
    """Return all hits in the repository at `folder`."""
    return [
        Hit(file.relative_to(folder).as_posix(), line, phrase, phrases[phrase])
        for file in checked_files(folder)
        for line, phrase in find(file.read_text("utf-8"), phrases)
    ]


def main(arguments: list[str]) -> int:
    here = Path(__file__).resolve().parent
    folder = Path(arguments[0]) if arguments else here.parent
    hits = check(folder, read_phrases(here / "phrases.txt"))
    for hit in hits:
        print(hit)
    return 1 if hits else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
