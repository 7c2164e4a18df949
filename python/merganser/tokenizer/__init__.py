"""The tokenizer: text to ids and back."""

from merganser.tokenizer.stream import StreamDecoder
from merganser.tokenizer.value import Spans, Tokenizer

__all__ = ["Spans", "StreamDecoder", "Tokenizer"]
