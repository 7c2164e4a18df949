"""Peers: tokenizers of any library, each asked through its own encoder.

What `verify` compares must be what the other library does, not what we read out of it. So a live object is
never translated: only its own `encode` says which ids it gives. What we read out of it serves to explain a
difference, where it can be read.

Special tokens are ordinary text, but for Hugging Face: there a special token in the text is always special.
As soon as one of two peers is such a one, both take its special tokens as special.
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
    """What a tokenizer is asked for."""

    @property
    def specials(self) -> dict[str, int]:
        """Its special tokens."""

    @property
    def always_special(self) -> bool:
        """Whether special tokens in text cannot be taken for text."""

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        """The ids of each text; the special tokens that are allowed become theirs, all others are text."""

    def token_bytes(self, id: int) -> bytes: ...

    def pretokens(self, text: str) -> list[str] | None:
        """How it splits a text without special tokens; None where that cannot be told."""

    @property
    def model(self) -> Tokenizer | None:
        """The same as a tokenizer of ours, where there is one."""


def peer(source: Any) -> Peer:
    """Whatever `merganser.load` opens, and what it refuses because it cannot be represented, as a peer."""
    if isinstance(source, Tokenizer):
        return _Ours(source)
    kind = type(source)
    if kind.__module__.startswith("tiktoken"):
        return _Tiktoken(source)
    if kind.__module__.startswith("tokenizers"):
        return _HuggingFace(source)
    if hasattr(source, "backend_tokenizer"):
        return _Transformers(source)
    if kind.__module__.startswith("transformers"):
        raise TokenizerError(f"{kind.__name__} is not a fast tokenizer; verify takes those only")
    return _Ours(load(source))


def asked(peer: Peer, texts: list[str], allowed: Collection[str], first: int) -> list[list[int]]:
    """The ids of the texts; `first` is the number of the first document, to name the one that fails."""
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
                "leave it out, or cut it into smaller ones"
            ) from error
    raise EncodeError(
        f"{_name(peer)} fails on a batch of documents, {first:,} the first, but on none of them"
    )


def _is_failure(error: BaseException) -> bool:
    # A panic in the Rust of another library is no Exception, lest somebody handle it.
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


class _Read:
    """A live object that we can perhaps read."""

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


class _Tiktoken(_Read):
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


class _HuggingFace(_Read):
    always_special = True

    @cached_property
    def specials(self) -> dict[str, int]:
        # Those that are not called special are taken out of the text in the same way.
        return {token.content: id for id, token in self._live.get_added_tokens_decoder().items()}

    def encode(self, texts: list[str], allowed: Collection[str]) -> list[list[int]]:
        return [encoded.ids for encoded in self._live.encode_batch(texts, add_special_tokens=False)]

    def token_bytes(self, id: int) -> bytes:
        token: str = self._live.id_to_token(id)
        if token in self.specials:
            return token.encode()
        try:
            return from_printable(token)
        except KeyError:  # not of the byte-level kind
            return token.encode()

    def pretokens(self, text: str) -> list[str] | None:
        if self._live.pre_tokenizer is None:
            return None
        cuts = self._live.pre_tokenizer.pre_tokenize_str(text)
        pretokens = [text[start:end] for _, (start, end) in cuts]
        return pretokens if "".join(pretokens) == text else None


class _Transformers(_HuggingFace):
    """A fast tokenizer of `transformers`, which adds its own ways to the one it holds."""

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
