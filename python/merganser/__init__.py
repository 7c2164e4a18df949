"""Train and use byte-level BPE tokenizers, exactly and fast.

Examples
--------
>>> import merganser
>>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
>>> tokenizer.merges
[(b'l', b'o'), (b'lo', b'w'), (b' ', b'low'), (b' low', b'e')]
>>> tokenizer.decode(tokenizer.encode("lowest slow"))
'lowest slow'

Names are imported when they are first used, so that `import merganser` takes a few milliseconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from merganser._core import __version__, preset_names, split

if TYPE_CHECKING:
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
    from merganser.tokenizer import IncrementalEncoder, Spans, StreamDecoder, Tokenizer
    from merganser.tokens import Tokens
    from merganser.training import Characters, count, train
    from merganser.verification import Verification, verify

#: Where each name is defined.
_NAMES = {
    "merganser.analyse.comparison": ("compare",),
    "merganser.corpus.read_options": ("ReadOptions",),
    "merganser.corpus.skipped": ("Skipped",),
    "merganser.counts": ("Counts", "CountsFile"),
    "merganser.engines.local": ("Local",),
    "merganser.engines.ray": ("Ray",),
    "merganser.errors": (
        "ArgumentError",
        "ChatError",
        "CheckpointError",
        "CorpusError",
        "CountsError",
        "DecodeError",
        "EmbeddingsError",
        "EncodeError",
        "EngineError",
        "ExportError",
        "FormatError",
        "InternalError",
        "MerganserError",
        "MerganserWarning",
        "PatternError",
        "SettingsError",
        "TokenizerError",
        "TokensError",
        "WriteError",
    ),
    "merganser.formats.loading": ("load",),
    "merganser.tokenizer": ("IncrementalEncoder", "Spans", "StreamDecoder", "Tokenizer"),
    "merganser.tokens": ("Tokens",),
    "merganser.training": ("Characters", "count", "train"),
    "merganser.verification": ("Verification", "verify"),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "ArgumentError",
    "Characters",
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
    "IncrementalEncoder",
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


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'merganser' has no attribute {name!r}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
