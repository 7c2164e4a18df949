"""The tokenizer: a frozen value that encodes text to ids and decodes ids to text."""

from merganser._core import IncrementalEncoder
from merganser.tokenizer.stream import StreamDecoder
from merganser.tokenizer.template import Template
from merganser.tokenizer.value import Spans, Tokenizer

__all__ = ["IncrementalEncoder", "Spans", "StreamDecoder", "Template", "Tokenizer"]
