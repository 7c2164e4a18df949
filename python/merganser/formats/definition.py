"""A tokenizer of another library as the core takes it: tokens, how merges are ranked, and the stages.

Readers fill a `Definition`; `Definition.tokenizer` compiles it. Tokens are *inner bytes*: what the core sees
after normalization, in the form that is cheapest to produce from text.

| kind | inner bytes of a token |
|---|---|
| byte-level | its bytes: the printable alphabet is undone, `Ġ` is a space |
| characters | the UTF-8 of its characters |
| SentencePiece's `▁` | a space, where every space of the text becomes `▁`: spaces then need no replacing |
| `end_of_word_suffix` | the byte 0xFF after the token |
| `continuing_subword_prefix` | the byte 0xFE before a token *without* the prefix |

The bytes 0xFE and 0xFF do not occur in UTF-8. The stages are the objects of Hugging Face's tokenizer.json,
with patterns in merganser's syntax (`formats/stages.py`).
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from merganser import _core
from merganser.errors import MerganserError
from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

#: The bytes that mark the end and the start of a word in inner bytes.
SUFFIX, PREFIX = b"\xff", b"\xfe"


#: The flags of an added token.
FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")


def added_token(content: str, id: int, **flags: Any) -> dict[str, Any]:
    """Return an added token as in a tokenizer.json, with all flags off but those given."""
    return {"id": id, "content": content, **dict.fromkeys(FLAGS, False), **flags}


@dataclass(frozen=True)
class Definition:
    """A tokenizer in inner bytes.

    Attributes
    ----------
    tokens
        Tokens that text can be encoded to, with their ids; byte tokens are not among them.
    merges
        Ids of the left, right and merged token, in order of rank. Without merges and scores, ids are ranks.
    scores
        The score of each of `tokens`; the highest merges first, and of equal ones the leftmost.
    byte_tokens
        Ids of the 256 byte tokens, for byte fallback.
    decode_only
        Tokens that no text is encoded to.
    unknown
        The id of what is no token; without it, such text is dropped.
    suffix, prefix
        Whether tokens are marked at the end and the start of words.
    suffix_text, prefix_text
        What the two marks decode to.
    """

    tokens: Sequence[tuple[bytes, int]]
    merges: Sequence[tuple[int, int, int]] | None = None
    scores: Sequence[float] | None = None
    unit: Literal["bytes", "characters"] = "bytes"
    byte_tokens: Sequence[int | None] | None = None
    decode_only: Sequence[tuple[bytes, int]] = ()
    unknown: int | None = None
    fuse_unknown: bool = False
    ignore_merges: bool = False
    suffix: bool = False
    prefix: bool = False
    suffix_text: str = ""
    prefix_text: str = ""
    added_tokens: Sequence[dict[str, Any]] = ()
    normalizer: dict[str, Any] | None = None
    pre_tokenizer: dict[str, Any] | None = None
    post_processor: dict[str, Any] | None = None
    decoder: dict[str, Any] | None = None

    def as_json(self) -> str:
        """Return everything but tokens, merges and scores as JSON."""
        fields = {
            name: value
            for name, value in vars(self).items()
            if name not in ("tokens", "merges", "scores", "decode_only")
        }
        decode_only = [(token.hex(), id) for token, id in self.decode_only]
        return json.dumps(fields | {"decode_only": decode_only})

    def tokenizer(
        self, merge_counts: Mapping[int, int] | None = None, training: Mapping[str, Any] | None = None
    ) -> Tokenizer:
        """Return the tokenizer, with facts about its training; raise a `BadFile` if it is none."""
        merges = None if self.merges is None else list(self.merges)
        scores = None if self.scores is None else list(self.scores)
        try:
            model = _core.Model.from_definition(list(self.tokens), merges, scores, self.as_json())
        except MerganserError as error:
            raise BadFile(f"holds no usable tokenizer: {error}") from error
        return Tokenizer._of(model, merge_counts or {}, training or {})
