"""Every exception that merganser raises.

MerganserError
├── CorpusError         a corpus that is missing, unreadable or empty
├── PatternError        an invalid split pattern, or one that would never finish  (also ValueError)
├── SettingsError       settings out of range, or that contradict each other      (also ValueError)
├── ArgumentError       an argument of the wrong type, or an unknown one          (also TypeError)
├── CountsError         incompatible counts, or a corrupt counts file             (also ValueError)
├── CheckpointError     a checkpoint of a different job, or a locked work folder  (also ValueError)
├── TokensError         a folder of token files that cannot be used               (also ValueError)
├── EmbeddingsError     embeddings that cannot be used, or a word without vector  (also ValueError)
├── TokenizerError      tokens and ids that do not form a tokenizer               (also ValueError)
│   └── FormatError     an invalid or unsupported tokenizer file
├── ExportError         a tokenizer that a format cannot represent exactly        (also ValueError)
├── EncodeError         text that cannot be encoded with these arguments          (also ValueError)
├── DecodeError         ids that cannot be decoded                                (also ValueError)
├── ChatError           a conversation that cannot be rendered                    (also ValueError)
├── EngineError         an unreachable cluster, or one that keeps losing a task
├── WriteError          a file that could not be written                          (also OSError)
└── InternalError       a bug in merganser

MerganserWarning        the result differs from the request                       (a UserWarning)

Every message says what is wrong, then what to do. The Rust core raises these classes by name.

Examples
--------
>>> import merganser
>>> try:
...     merganser.train(["some text"], 200)
... except merganser.MerganserError as error:
...     print(type(error).__name__)
SettingsError
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


#: The most characters of a message; it may quote a pattern or a name of any length.
_LONGEST = 4000


def shortened(message: object, longest: int = 300) -> str:
    """Return a message without its middle if it is longer than `longest` characters."""
    text = str(message)
    if len(text) <= longest:
        return text
    half = longest // 2
    return f"{text[:half]} [… {len(text) - 2 * half:,} characters …] {text[-half:]}"


def did_you_mean(name: str, known: tuple[str, ...]) -> str:
    """Return the end of a message that suggests the most similar name; nothing if none is similar.

    >>> did_you_mean("hugingface", ("tiktoken", "huggingface")), did_you_mean("x", ("tiktoken",))
    ("; did you mean 'huggingface'?", '')
    """
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1, cutoff=0.75)
    return f"; did you mean {near[0]!r}?" if near else ""


class MerganserError(Exception):
    """Base class of every error that merganser raises."""

    def __init__(self, *message: object) -> None:
        super().__init__(*(shortened(part, _LONGEST) if isinstance(part, str) else part for part in message))


class CorpusError(MerganserError):
    """A corpus is missing, unreadable or empty."""


class PatternError(MerganserError, ValueError):
    """A split pattern is invalid, or would never finish."""


class SettingsError(MerganserError, ValueError):
    """Settings are out of range, or contradict each other."""


class ArgumentError(MerganserError, TypeError):
    """An argument has the wrong type, or the function has no argument of that name."""


class CountsError(MerganserError, ValueError):
    """Counts were taken with different settings, or a counts file is corrupt."""


class CheckpointError(MerganserError, ValueError):
    """A checkpoint belongs to a different job, or another process has locked the work folder."""


class TokensError(MerganserError, ValueError):
    """A folder of token files cannot be read or resumed."""


class EmbeddingsError(MerganserError, ValueError):
    """Embeddings cannot be used, or a word has no vector."""


class TokenizerError(MerganserError, ValueError):
    """Tokens and ids do not form a tokenizer."""


class FormatError(TokenizerError):
    """A tokenizer file is invalid or not supported."""


class ExportError(MerganserError, ValueError):
    """A format cannot represent this tokenizer exactly."""


class EncodeError(MerganserError, ValueError):
    """Text cannot be encoded with these arguments."""


class DecodeError(MerganserError, ValueError):
    """Ids cannot be decoded."""


class ChatError(MerganserError, ValueError):
    """A conversation cannot be rendered with this template or tokenizer."""


class EngineError(MerganserError):
    """A cluster is unreachable, or keeps losing a task."""


class WriteError(MerganserError, OSError):
    """A file could not be written; no partial file is left."""


class InternalError(MerganserError):
    """A bug in merganser: please report it."""


class MerganserWarning(UserWarning):
    """The work finished, but the result differs from the request."""
