"""Everything that merganser raises on purpose.

MerganserError
├── CorpusError         a corpus that cannot be found or read, or that holds no text
├── PatternError        not a split pattern, or one that would never finish   (also ValueError)
├── SettingsError       settings that cannot be honoured                      (also ValueError)
├── ArgumentError       an argument of the wrong type, or an unknown one      (also TypeError)
├── CountsError         counts that do not go together, or a damaged file     (also ValueError)
├── CheckpointError     a work folder of other work, or one that is in use       (also ValueError)
├── TokensError         a folder of token files that cannot be used           (also ValueError)
├── EmbeddingsError     embeddings that cannot be used, or a word without one (also ValueError)
├── TokenizerError      tokens and ids that do not make a tokenizer           (also ValueError)
│   └── FormatError     a tokenizer file that cannot be used
├── ExportError         a tokenizer that a format cannot hold exactly        (also ValueError)
├── EncodeError         text that cannot be encoded as asked                  (also ValueError)
├── DecodeError         ids that cannot be decoded as asked                   (also ValueError)
├── ChatError           a conversation that cannot be rendered                (also ValueError)
├── EngineError         a cluster that cannot be reached, or that lost a task
├── WriteError          a file that could not be written                      (also OSError)
└── InternalError       a bug in merganser

MerganserWarning        the work was done, but not quite as asked             (a UserWarning)

The message always says what to do. The Rust core raises these by name.
"""

__all__ = [
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
]


class MerganserError(Exception):
    """The base of all errors of merganser."""


class CorpusError(MerganserError):
    """A corpus cannot be found or read, or it holds no text."""


class PatternError(MerganserError, ValueError):
    """This is not a split pattern, or it is one that would never finish."""


class SettingsError(MerganserError, ValueError):
    """These settings cannot be honoured."""


class ArgumentError(MerganserError, TypeError):
    """An argument has the wrong type, or a function has no argument of that name."""


class CountsError(MerganserError, ValueError):
    """Counts that do not go together, or a counts file that cannot be used."""


class CheckpointError(MerganserError, ValueError):
    """A work folder holds other work than what is to go on, or somebody else works there."""


class TokensError(MerganserError, ValueError):
    """A folder of token files that cannot be used, or not for this."""


class EmbeddingsError(MerganserError, ValueError):
    """Embeddings that cannot be used, or a word that has no vector."""


class TokenizerError(MerganserError, ValueError):
    """These tokens and ids do not make a tokenizer."""


class FormatError(TokenizerError):
    """A tokenizer file cannot be used."""


class ExportError(MerganserError, ValueError):
    """A format cannot hold this tokenizer exactly."""


class EncodeError(MerganserError, ValueError):
    """A text cannot be encoded as asked."""


class DecodeError(MerganserError, ValueError):
    """Some ids cannot be decoded as asked."""


class ChatError(MerganserError, ValueError):
    """A conversation cannot be rendered, or not with this template or tokenizer."""


class EngineError(MerganserError):
    """A cluster cannot be reached, or it lost a task again and again."""


class WriteError(MerganserError, OSError):
    """A file could not be written; nothing was left half-written."""


class InternalError(MerganserError):
    """A bug in merganser: please report it."""


class MerganserWarning(UserWarning):
    """The work was done, but not quite as asked."""
