"""nanochat's `HuggingFaceTokenizer`: a tokenizer of Hugging Face's library with nanochat's methods.

`.tokenizer` is a `tokenizers.Tokenizer`, because nanochat's `base_eval` calls its methods; merganser encodes
and trains. Needs `[hf]`.
"""

import os
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from merganser.chat.template import SPECIAL_TOKENS
from merganser.errors import EncodeError, SettingsError
from merganser.extras import imported
from merganser.files import make_folder
from merganser.formats.gpt2 import to_printable
from merganser.formats.loading import load
from merganser.tokenizer import Tokenizer
from merganser.training import train

if TYPE_CHECKING:
    import tokenizers

FILE = "tokenizer.json"
#: The special tokens that begin a document, in nanochat's and in OpenAI's tokenizers.
BOS = ("<|bos|>", "<|endoftext|>")


class HuggingFaceTokenizer:
    """A tokenizer of Hugging Face's library with nanochat's methods.

    Parameters
    ----------
    tokenizer
        A `tokenizers.Tokenizer`.

    Examples
    --------
    >>> tokenizer = HuggingFaceTokenizer.train_from_iterator(["low lower lowest"] * 9, 269)
    >>> tokenizer.encode("low<|bos|>", prepend="<|bos|>"), tokenizer.get_vocab_size()
    ([0, 266, 0], 269)
    """

    def __init__(self, tokenizer: "tokenizers.Tokenizer") -> None:
        self.tokenizer = tokenizer

    @cached_property
    def _encoder(self) -> Tokenizer:
        return load(self.tokenizer)

    @classmethod
    def from_pretrained(cls, hf_path: str) -> "HuggingFaceTokenizer":
        """Load the tokenizer of a repository on the Hugging Face hub, such as "gpt2"."""
        tokenizers = imported("tokenizers", "hf", "HuggingFaceTokenizer")
        return cls(tokenizers.Tokenizer.from_pretrained(hf_path))

    @classmethod
    def from_directory(cls, tokenizer_dir: str | os.PathLike[str]) -> "HuggingFaceTokenizer":
        """Load the `tokenizer.json` in a folder."""
        tokenizers = imported("tokenizers", "hf", "HuggingFaceTokenizer")
        return cls(tokenizers.Tokenizer.from_file(str(Path(tokenizer_dir, FILE))))

    @classmethod
    def train_from_iterator(cls, text_iterator: Iterable[str], vocab_size: int) -> "HuggingFaceTokenizer":
        """Train with the pattern `nanochat`; merges and ids are those of Hugging Face's trainer.

        The special tokens have the lowest ids, the bytes follow in the order of their visible characters, and
        then the merges.
        """
        imported("tokenizers", "hf", "HuggingFaceTokenizer")
        first = len(SPECIAL_TOKENS)
        if vocab_size < 256 + first:
            raise SettingsError(
                f"vocab_size must be at least {256 + first} (256 bytes + {first} special tokens), "
                f"got {vocab_size}"
            )
        trained = train(
            text_iterator,
            vocab_size - first,
            pattern="nanochat",
            special_tokens=(),
            separator=None,
            tie_break="huggingface",
        )
        merged = [token for token in trained.mergeable_ranks if len(token) > 1]
        alphabet = sorted((bytes([byte]) for byte in range(256)), key=to_printable)
        ranks = {token: first + nth for nth, token in enumerate([*alphabet, *merged])}
        renumbered = Tokenizer(
            ranks,
            pattern="nanochat",
            special_tokens={token: nth for nth, token in enumerate(SPECIAL_TOKENS)},
        )
        return cls(renumbered.to_huggingface())

    def get_vocab_size(self) -> int:
        """Return the number of tokens, special tokens included."""
        return self.tokenizer.get_vocab_size()

    def get_special_tokens(self) -> list[str]:
        """Return the names of the special tokens."""
        return [token.content for token in self.tokenizer.get_added_tokens_decoder().values()]

    def id_to_token(self, id: int) -> str | None:
        """Return the name of a token in the vocabulary, such as "Ġlow"; None if there is none."""
        return self.tokenizer.id_to_token(id)

    def encode_special(self, text: str) -> int | None:
        """Return the id of a token by its name; None if there is none."""
        return self.tokenizer.token_to_id(text)

    def get_bos_token_id(self) -> int:
        """Return the id of `<|bos|>`, or else of `<|endoftext|>`."""
        for name in BOS:
            if (id := self.encode_special(name)) is not None:
                return id
        raise EncodeError(f"the tokenizer has neither {BOS[0]} nor {BOS[1]}; pass the id of another token")

    @overload
    def encode(
        self,
        text: str,
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[int]: ...
    @overload
    def encode(
        self,
        text: list[str],
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[list[int]]: ...
    def encode(
        self,
        text: str | list[str],
        prepend: str | int | None = None,
        append: str | int | None = None,
        num_threads: int | None = None,
    ) -> list[int] | list[list[int]]:
        """Return the ids of a text, or of each text in a list; special tokens in them are recognized."""
        first = self.encode_special(prepend) if isinstance(prepend, str) else prepend
        last = self.encode_special(append) if isinstance(append, str) else append
        if isinstance(text, str):
            return self._encoder.encode(text, allowed_special="all", prepend=first, append=last)
        if not isinstance(text, list | tuple):
            raise EncodeError(f"encode takes a str or a list of str, got {type(text).__name__}")
        return self._encoder.encode_batch(
            text, allowed_special="all", prepend=first, append=last, threads=num_threads
        )

    __call__ = encode

    def decode(self, ids: Sequence[int]) -> str:
        """Return the text of ids, special tokens included."""
        return self.tokenizer.decode(list(ids), skip_special_tokens=False)

    def save(self, tokenizer_dir: str | os.PathLike[str]) -> None:
        """Write `tokenizer.json` to a folder, which is created if needed."""
        make_folder(Path(tokenizer_dir), "choose another path")
        self.tokenizer.save(str(Path(tokenizer_dir, FILE)))
