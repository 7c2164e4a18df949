"""One interface to the tokenizers of every library, each of which encodes with its own code.

`verify` must compare what the other library does, not what merganser makes of it. A live object is therefore
never converted to encode with it: its own `encode` determines the ids. A conversion serves only to explain a
difference, if one is possible.

Special tokens are ordinary text, except to Hugging Face, which always encodes them as special. If one of two
peers is a Hugging Face tokenizer, its special tokens are special to both.
"""

from collections.abc import Collection
from functools import cached_property
from typing import Any, Protocol

from merganser._core import split
from merganser.errors import EncodeError, MerganserError, TokenizerError
from merganser.formats.gpt2 import from_printable
from merganser.formats.loading import load
from merganser.tokenizer import Tokenizer


class Peer(Protocol):
    """The interface of a tokenizer under verification."""

    @property
    def specials(self) -> dict[str, int]:
        """Special tokens with their ids."""

    @property
    def always_special(self) -> bool:
        """Whether special tokens in text are always encoded as special."""

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        """Return the ids of each text, with `allowed` special tokens as special and all others as text."""

    def token_bytes(self, id: int) -> bytes: ...

    def pretokens(self, text: str) -> list[str] | None:
        """Split a text without special tokens; None if the split is unknown."""

    @property
    def model(self) -> Tokenizer | None:
        """The equivalent merganser tokenizer; None if it cannot be represented."""


def as_peer(source: Any) -> Peer:
    """Wrap anything that `merganser.load` accepts, and live objects that it cannot represent."""
    if isinstance(source, Tokenizer):
        return _Ours(source)
    kind = type(source)
    if kind.__module__.startswith("tiktoken"):
        return _Tiktoken(source)
    if kind.__module__.startswith("tokenizers"):
        return _HuggingFace(source)
    if kind.__module__.startswith("sentencepiece"):
        return _SentencePiece(source)
    if hasattr(source, "backend_tokenizer"):
        return _Transformers(source)
    if kind.__module__.startswith("transformers"):
        raise TokenizerError(
            f"{kind.__name__} is a slow tokenizer; pass the fast one, e.g. from AutoTokenizer"
        )
    return _Ours(load(source))


def encode_with(peer: Peer, texts: list[str], allowed: Collection[str], first: int) -> list[list[int]]:
    """Return the ids of the texts; `first` is the index of the first document, to name the one that fails."""
    try:
        return peer.encode(texts, allowed)
    except BaseException as error:
        if not _is_failure(error):
            raise
    for number, text in enumerate(texts, first):
        try:
            peer.encode([text], allowed)
        except BaseException as error:
            if not _is_failure(error):
                raise
            raise EncodeError(
                f"{_name(peer)} fails on document {number:,} ({len(text.encode()):,} bytes): {error}; "
                "remove the document, or split it into smaller ones"
            ) from error
    raise EncodeError(
        f"{_name(peer)} fails on a batch of {len(texts):,} documents from document {first:,}, but on none of "
        "them alone; try again, or remove them"
    )


def _is_failure(error: BaseException) -> bool:
    # A panic in another library's Rust code is raised as a BaseException.
    return isinstance(error, Exception) or type(error).__name__ == "PanicException"


def _name(peer: Peer) -> str:
    return type(peer).__name__.strip("_")


class _Ours:
    always_special = False

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.model = tokenizer
        self.specials = tokenizer.special_tokens

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        known = [name for name in allowed if name in self.specials]
        return self.model.encode_batch(texts, allowed_special=known, disallowed_special=())

    def token_bytes(self, id: int) -> bytes:
        return self.model.token_bytes(id)

    def pretokens(self, text: str) -> list[str]:
        return split(text, self.model.pattern)


class _Live:
    """A live object of another library, converted for explanations if possible."""

    def __init__(self, live: Any) -> None:
        self._live = live

    @cached_property
    def model(self) -> Tokenizer | None:
        try:
            return load(self._live)
        except MerganserError:
            return None

    def pretokens(self, text: str) -> list[str] | None:
        return None if self.model is None else split(text, self.model.pattern)


class _Tiktoken(_Live):
    always_special = False

    @cached_property
    def specials(self) -> dict[str, int]:
        return {name: self._live.encode_single_token(name) for name in self._live.special_tokens_set}

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        known = {name for name in allowed if name in self._live.special_tokens_set}
        if not known:
            return [self._live.encode_ordinary(text) for text in texts]
        return [self._live.encode(text, allowed_special=known, disallowed_special=()) for text in texts]

    def token_bytes(self, id: int) -> bytes:
        data: bytes = self._live.decode_single_token_bytes(id)
        return data


class _HuggingFace(_Live):
    always_special = True

    @cached_property
    def specials(self) -> dict[str, int]:
        # Added tokens that are not marked special are extracted from text in the same way.
        return {token.content: id for id, token in self._live.get_added_tokens_decoder().items()}

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        return [encoded.ids for encoded in self._live.encode_batch(texts, add_special_tokens=False)]

    def token_bytes(self, id: int) -> bytes:
        token: str = self._live.id_to_token(id)
        if token in self.specials:
            return token.encode()
        try:
            return from_printable(token)
        except KeyError:  # not byte-level
            return token.encode()

    def pretokens(self, text: str) -> list[str] | None:
        if self._live.pre_tokenizer is None:
            return None
        spans = self._live.pre_tokenizer.pre_tokenize_str(text)
        pretokens = [text[start:end] for _, (start, end) in spans]
        return pretokens if "".join(pretokens) == text else None


class _SentencePiece(_Live):
    """A `SentencePieceProcessor`, which never finds control pieces in text."""

    always_special = False

    @cached_property
    def specials(self) -> dict[str, int]:
        pieces = range(self._live.vocab_size())
        return {self._live.id_to_piece(id): id for id in pieces if self._live.is_control(id)}

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        ids: list[list[int]] = self._live.encode(texts)
        return ids

    def token_bytes(self, id: int) -> bytes:
        piece: str = self._live.id_to_piece(id)
        return piece.encode()


class _Transformers(_HuggingFace):
    """A fast `transformers` tokenizer, which adds processing to the `tokenizers.Tokenizer` it wraps."""

    def __init__(self, live: Any) -> None:
        super().__init__(live.backend_tokenizer)
        self._fast = live

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        encoded = self._fast(
            texts, add_special_tokens=False, return_attention_mask=False, return_token_type_ids=False,
            verbose=False,
        )  # fmt: skip
        ids: list[list[int]] = encoded["input_ids"]
        return ids
