"""The backend of a transformers tokenizer, rebuilt on merganser; an error for a tokenizer that is not BPE."""

from collections.abc import Mapping
from typing import Any

from merganser.compat import tokenizers
from merganser.errors import FormatError
from merganser.extras import imported


class Backend(tokenizers.Tokenizer):
    """A tokenizer whose methods can be replaced on an object, as the class of CLIP does.

    Like the original, a copy does not have them.
    """

    @staticmethod
    def from_str(json: str) -> "Backend":
        """Return the backend that the contents of a tokenizer.json describe."""
        backend = Backend(tokenizers.models.BPE())
        backend.__setstate__(json.encode())
        return backend


def backend_of(tokenizer: Any) -> Backend:
    """Return the backend of a transformers tokenizer as one of merganser's.

    Raises
    ------
    FormatError
        If it has none, or if its model is not BPE.
    """
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise FormatError(
            f"{type(tokenizer).__name__} is not a fast tokenizer, and merganser replaces the backend of fast "
            "ones; load the fast version (use_fast=True), or keep using transformers for it"
        )
    return converted(backend, type(tokenizer).__name__)


def converted(backend: Any, name: str) -> Backend:
    """Return the backend of a tokenizer, whose class has this name, as one of merganser's."""
    if isinstance(backend, Backend):
        return backend
    kind = type(backend.model).__name__
    if kind != "BPE":
        raise FormatError(
            f"{name} is a {kind} tokenizer, and merganser only does BPE; use it as it is, without merganser: "
            "transformers.AutoTokenizer.from_pretrained"
        )
    made = Backend.from_str(backend.to_str())
    made.encode_special_tokens = backend.encode_special_tokens  # not part of the string
    return made


def stock_tokens(added: Mapping[int, Any]) -> dict[int, Any]:
    """Return added tokens by id as objects of the tokenizers library."""
    stock = imported("tokenizers", "hf", "merganser.compat.transformers").AddedToken
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    return {
        id: stock(token.content, **{flag: getattr(token, flag) for flag in flags})
        for id, token in added.items()
    }
