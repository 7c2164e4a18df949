"""Token files: encode a corpus to files of ids, and read them."""

from merganser.tokens.reading import Tokens

__all__ = ["Tokens"]
