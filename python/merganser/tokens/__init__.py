"""Token files: encode a corpus to files of ids, and read them, whole or in batches."""

from merganser.tokens.batches import Batch, Batches
from merganser.tokens.reading import Tokens

__all__ = ["Batch", "Batches", "Tokens"]
