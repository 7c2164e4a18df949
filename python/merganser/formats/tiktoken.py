"""tiktoken: our tokenizer as a `tiktoken.Encoding`."""

from typing import TYPE_CHECKING

from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tiktoken


def to_encoding(tokenizer: Tokenizer, name: str) -> "tiktoken.Encoding":
    try:
        import tiktoken
    except ImportError as error:
        raise ImportError("to_tiktoken needs tiktoken: pip install 'merganser[tiktoken]'") from error

    pattern = tokenizer.pattern
    if tokenizer.pattern_name is None:
        # tiktoken drops what its pattern does not match; to us each character of it is a piece.
        pattern = f"(?:{pattern})|(?s:.)"
    return tiktoken.Encoding(
        name,
        pat_str=pattern,
        mergeable_ranks=tokenizer.mergeable_ranks,
        special_tokens=tokenizer.special_tokens,
    )
