"""Hugging Face tokenizers' names: `from merganser.compat import tokenizers` in place of `import tokenizers`.

`Tokenizer`, `Encoding` and the components have the methods, attributes and results of tokenizers 0.23,
for BPE. The package itself is not needed. Ids are encoded at once, everything else when it is read.
"""

from merganser.compat.tokenizers import (
    decoders,
    implementations,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)
from merganser.compat.tokenizers.added_tokens import AddedToken
from merganser.compat.tokenizers.encoding import Encoding
from merganser.compat.tokenizers.implementations import (
    BertWordPieceTokenizer,
    ByteLevelBPETokenizer,
    CharBPETokenizer,
    SentencePieceBPETokenizer,
    SentencePieceUnigramTokenizer,
)
from merganser.compat.tokenizers.inputs import (
    EncodeInput,
    InputSequence,
    OffsetReferential,
    Offsets,
    OffsetType,
    PreTokenizedEncodeInput,
    PreTokenizedInputSequence,
    SplitDelimiterBehavior,
    TextEncodeInput,
    TextInputSequence,
)
from merganser.compat.tokenizers.missing import NotInPython
from merganser.compat.tokenizers.models import Token
from merganser.compat.tokenizers.patterns import Regex
from merganser.compat.tokenizers.tokenizer import Tokenizer

__all__ = [
    "AddedToken",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "EncodeInput",
    "Encoding",
    "InputSequence",
    "NormalizedString",
    "OffsetReferential",
    "OffsetType",
    "Offsets",
    "PreTokenizedEncodeInput",
    "PreTokenizedInputSequence",
    "PreTokenizedString",
    "Regex",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
    "SplitDelimiterBehavior",
    "TextEncodeInput",
    "TextInputSequence",
    "Token",
    "Tokenizer",
    "__version__",
    "decoders",
    "implementations",
    "models",
    "normalizers",
    "pre_tokenizers",
    "processors",
    "trainers",
]

#: The version of tokenizers whose results these are.
__version__ = "0.23.3"


class NormalizedString(NotInPython):
    """A text on its way through stages in Python; merganser has none."""

    __slots__ = ()


class PreTokenizedString(NotInPython):
    """A split text on its way through stages in Python; merganser has none."""

    __slots__ = ()
