"""Train and use byte-level BPE tokenizers, exactly and fast.

Examples
--------
>>> import merganser
>>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
>>> tokenizer.merges
[(b'l', b'o'), (b'lo', b'w'), (b' ', b'low'), (b' low', b'e')]
>>> tokenizer.decode(tokenizer.encode("lowest slow"))
'lowest slow'
"""

from merganser._core import __version__, preset_names, split
from merganser.analyse.comparison import compare
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.skipped import Skipped
from merganser.counts import Counts, CountsFile
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
from merganser.formats.loading import load
from merganser.tokenizer import Spans, StreamDecoder, Tokenizer
from merganser.tokens import Tokens
from merganser.training import count, train
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
    "ReadOptions",
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
    "__version__",
    "compare",
    "count",
    "load",
    "preset_names",
    "split",
    "train",
    "verify",
]
