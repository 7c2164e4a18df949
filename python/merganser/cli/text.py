"""TEXT arguments: the text itself, a file to read it from, or '-' for standard input."""

import re
import sys
from pathlib import Path

import click

#: For every command that takes a TEXT.
as_text = click.option(
    "--text",
    "as_text",
    is_flag=True,
    help="Use TEXT itself, even if it is the name of a file or looks like a path.",
)

#: Extensions that mark a word as a file name. Words such as Node.js and example.com are text.
_EXTENSIONS = re.compile(
    "bin|bz2|c|cfg|conf|cpp|csv|docx?|gz|h|html?|ini|ipynb|java|jsonl?|log|md|ndjson|npy|parquet|pdf|py|rs|rst"
    "|sh|sql|tex|text|toml|tsv|txt|xml|xz|ya?ml|zip|zstd?"
)
#: `/data/texts`, `./a`, `../a`, `~/a`, `C:\a`.
_ROOTED = re.compile(r"(\.{1,2}|~)/[\w.]|/[\w.-]+/[\w.-]|[A-Za-z]:\\\w")
_EXTENSION = re.compile(r"[^.]\.([A-Za-z]\w{0,7})$")


def read_text(text: str, as_text: bool) -> str:
    """Return the text that a TEXT argument refers to."""
    from merganser import EncodeError
    from merganser.files import read_bytes

    if as_text:
        return text
    if text == "-":
        name, data = "standard input", read_stdin()
    elif _is_file(text):
        name, data = text, read_bytes(text)
    elif looks_like_path(text):
        raise EncodeError(f"file {text} does not exist; check the path, or pass --text to use it as text")
    else:
        return text
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise EncodeError(f"{name} is not valid UTF-8 at byte {error.start}; convert it to UTF-8") from None


def read_stdin() -> bytes:
    """Return all of standard input."""
    from merganser import EncodeError

    if sys.stdin is None:
        raise EncodeError("standard input is closed; pass the text or a file")
    return sys.stdin.buffer.read()


def looks_like_path(text: str) -> bool:
    """Whether `text`, which is not an existing file, is one word with the extension or folders of a path.

    >>> [looks_like_path(text) for text in ("notes.txt", "./notes", "texts/a.dat", "~/a", "/data/texts")]
    [True, True, True, True, True]
    >>> [looks_like_path(text) for text in ("hello", "3.14", "e.g.", "and/or", "see notes.txt", "Node.js")]
    [False, False, False, False, False, False]
    """
    if not text or re.search(r"\s|://", text):
        return False
    extension = _EXTENSION.search(text)
    if extension and (_EXTENSIONS.fullmatch(extension[1].lower()) or "/" in text):
        return True
    if _ROOTED.match(text):
        return True
    # If the folder exists, the last part is meant as a file in it.
    parent = text.rpartition("/")[0]
    return bool(parent.strip("/")) and Path(parent).is_dir()


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # name too long, or with a NUL
        return False
