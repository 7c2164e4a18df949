"""File formats of tokenizers: each module reads and writes one format, and `loading` picks the reader."""

from merganser.errors import ExportError
from merganser.tokenizer import Tokenizer


class BadFile(Exception):
    """What is wrong with a file, worded to follow the file's name, which the caller adds."""


def check_plain(tokenizer: Tokenizer, library: str) -> None:
    """Raise an `ExportError` for a tokenizer with stages of another library, which `library` cannot hold."""
    if tokenizer.has_stages:
        raise ExportError(
            f"this tokenizer has stages of another library, which {library} cannot hold; save it with "
            "Tokenizer.save, or use the file that it was loaded from"
        )
