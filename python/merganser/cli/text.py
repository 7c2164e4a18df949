"""A TEXT on the command line: the text itself, a file that holds it, or '-' for standard input."""

import re
import sys
from pathlib import Path

import click

#: The end of the help of every command that takes a TEXT.
as_text = click.option(
    "--text",
    "as_text",
    is_flag=True,
    help="TEXT is the text itself, even if it names a file or looks like a path.",
)

#: Endings that make a word the name of a file. Words such as Node.js and example.com are text.
_ENDINGS = re.compile(
    "bin|bz2|c|cfg|conf|cpp|csv|docx?|gz|h|html?|ini|ipynb|java|jsonl?|log|md|ndjson|npy|parquet|pdf|py|rs|rst"
    "|sh|sql|tex|text|toml|tsv|txt|xml|xz|ya?ml|zip|zstd?"
)
#: `/data/texts`, `./a`, `../a`, `~/a`, `C:\a`.
_ROOTED = re.compile(r"(\.{1,2}|~)/[\w.]|/[\w.-]+/[\w.-]|[A-Za-z]:\\\w")
_ENDING = re.compile(r"[^.]\.([A-Za-z]\w{0,7})$")


def content(text: str, as_text: bool) -> str:
    """The text that is meant, from wherever it is."""
    from merganser import EncodeError

    if as_text:
        return text
    if text == "-":
        name, data = "standard input", sys.stdin.buffer.read()
    elif _is_file(text):
        name, data = text, Path(text).read_bytes()
    elif looks_like_path(text):
        raise EncodeError(f"there is no file {text}; check the path, or pass --text if it is the text itself")
    else:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EncodeError(f"{name} is not UTF-8 at byte {error.start}; convert it first") from None


def looks_like_path(text: str) -> bool:
    """Whether a text that names no file was meant to: one word with the ending or the folders of a path.

    >>> [looks_like_path(text) for text in ("notes.txt", "./notes", "texts/a.dat", "~/a", "/data/texts")]
    [True, True, True, True, True]
    >>> [looks_like_path(text) for text in ("hello", "3.14", "e.g.", "and/or", "see notes.txt", "Node.js")]
    [False, False, False, False, False, False]
    """
    if not text or re.search(r"\s|://", text):
        return False
    ending = _ENDING.search(text)
    if ending and (_ENDINGS.fullmatch(ending[1].lower()) or "/" in text):
        return True
    if _ROOTED.match(text):
        return True
    # A folder that is there makes the rest a name in it.
    parent = text.rpartition("/")[0]
    return bool(parent.strip("/")) and Path(parent).is_dir()


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a NUL
        return False
