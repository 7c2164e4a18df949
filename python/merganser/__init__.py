"""merganser turns a corpus into a byte-level BPE tokenizer, exactly and fast.

>>> import merganser
>>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
>>> tokenizer.merges
[(b'l', b'o'), (b'lo', b'w'), (b' ', b'low'), (b' low', b'e')]
>>> tokenizer.decode(tokenizer.encode("lowest slow"))
'lowest slow'
"""

from merganser._core import preset_names, split
from merganser.counts import Counts, count
from merganser.counts_file import CountsFile
from merganser.decoding import StreamDecoder
from merganser.engines.local import Local
from merganser.engines.ray import Ray
from merganser.errors import (
    ArgumentError,
    ChatError,
    CheckpointError,
    CorpusError,
    CountsError,
    DecodeError,
    EmbeddingsError,
    EncodeError,
    EngineError,
    ExportError,
    FormatError,
    InternalError,
    MerganserError,
    MerganserWarning,
    PatternError,
    SettingsError,
    TokenizerError,
    TokensError,
    WriteError,
)
from merganser.loading import load
from merganser.reading import Reading, Skipped
from merganser.tokenizer import Spans, Tokenizer
from merganser.tokens import Tokens
from merganser.training import train
from merganser.verification import Verification, verify

__all__ = [
    "ArgumentError",
    "ChatError",
    "CheckpointError",
    "CorpusError",
    "Counts",
    "CountsError",
    "CountsFile",
    "DecodeError",
    "EmbeddingsError",
    "EncodeError",
    "EngineError",
    "ExportError",
    "FormatError",
    "InternalError",
    "Local",
    "MerganserError",
    "MerganserWarning",
    "PatternError",
    "Ray",
    "Reading",
    "SettingsError",
    "Skipped",
    "Spans",
    "StreamDecoder",
    "Tokenizer",
    "TokenizerError",
    "Tokens",
    "TokensError",
    "Verification",
    "WriteError",
    "count",
    "load",
    "preset_names",
    "split",
    "train",
    "verify",
]
