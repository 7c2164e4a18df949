"""Models: the vocabulary and the merges. merganser has BPE."""

import json
from pathlib import Path
from typing import Any, ClassVar

from merganser.compat.tokenizers.components import Component, Watched, compact
from merganser.compat.tokenizers.engine import Engine
from merganser.compat.tokenizers.integers import number
from merganser.compat.tokenizers.missing import NotBpe
from merganser.compat.tokenizers.trainers import BpeTrainer
from merganser.formats import BadFile, gpt2
from merganser.formats.huggingface_definition import is_byte, pairs

__all__ = ["BPE", "Model", "Unigram", "WordLevel", "WordPiece"]


class Token:
    """A token of a word, as `BPE.tokenize` returns it.

    Examples
    --------
    >>> Token(0, "a", (0, 1)).as_tuple()
    (0, 'a', (0, 1))
    """

    __slots__ = ("id", "offsets", "value")

    def __init__(self, id: int, value: str, offsets: tuple[int, int]) -> None:
        self.id, self.value, self.offsets = id, value, offsets

    def as_tuple(self) -> tuple[int, str, tuple[int, int]]:
        """Return the id, the token and its offsets."""
        return self.id, self.value, self.offsets


class Model(Component):
    """What all models have in common."""

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Component]]] = {}
    kind = "model"

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> "Component":
        kind = value.get("type") if isinstance(value, dict) else None
        if kind is None and isinstance(value, dict):
            # Old files do not name the kind.
            kind = "BPE" if "merges" in value else "WordPiece, WordLevel or Unigram"
        if kind != "BPE":
            raise NotImplementedError(
                f"this is a {kind} model, and merganser only has BPE; use the tokenizers package for it"
            )
        return BPE._of(value)


class BPE(Model):
    """A vocabulary with merges.

    Parameters
    ----------
    vocab : dict of str to int, optional
        The id of each token.
    merges : list of (str, str), optional
        The two tokens that each merge joins, in order.
    cache_capacity : int, optional
        Ignored: the cache of merganser needs no setting.
    dropout : float, optional
        The probability of leaving out a merge. A tokenizer with dropout can be held and saved, but not used.
    unk_token : str, optional
        What unknown characters become.
    continuing_subword_prefix, end_of_word_suffix : str, optional
        What begins tokens inside words, and ends tokens at the end of words.
    fuse_unk : bool
        Whether several unknown characters in a row become one token.
    byte_fallback : bool
        Whether unknown characters become the tokens of their bytes.
    ignore_merges : bool
        Whether a word that is a token is that token, whatever the merges.

    Examples
    --------
    >>> model = BPE({"l": 0, "o": 1, "lo": 2}, [("l", "o")])
    >>> model.token_to_id("lo"), model.id_to_token(0)
    (2, 'l')
    """

    __slots__ = ("_tokens",)
    FIELDS: ClassVar[dict[str, Any]] = {
        "dropout": None,
        "unk_token": None,
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
        "ignore_merges": False,
        "vocab": None,
        "merges": None,
    }
    _tokens: dict[int, str] | None

    def __init__(
        self,
        vocab: "dict[str, int] | str | None" = None,
        merges: "list[tuple[str, str]] | str | None" = None,
        cache_capacity: int | None = None,
        dropout: float | None = None,
        unk_token: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        fuse_unk: bool | None = None,
        byte_fallback: bool | None = None,
        ignore_merges: bool | None = None,
        **ignored: Any,
    ) -> None:
        if (vocab is None) != (merges is None):
            raise ValueError("`vocab` and `merges` must be both specified")
        if isinstance(vocab, str) and isinstance(merges, str):
            vocab, merges = self.read_file(vocab, merges)
        if dropout is not None and not 0 <= dropout <= 1:
            raise Exception("Error while initializing BPE: Dropout should be between 0 and 1, inclusive")
        assert not isinstance(vocab, str) and not isinstance(merges, str)
        self._start(
            {
                "dropout": dropout,
                "unk_token": unk_token,
                "continuing_subword_prefix": continuing_subword_prefix,
                "end_of_word_suffix": end_of_word_suffix,
                "fuse_unk": bool(fuse_unk),
                "byte_fallback": bool(byte_fallback),
                "ignore_merges": bool(ignore_merges),
                "vocab": dict(vocab or {}),
                "merges": [(left, right) for left, right in merges or ()],
            }
        )
        self._check_merges()

    def _start(self, fields: dict[str, Any]) -> None:
        Watched.__init__(self)
        known = {name: fields.get(name, default) for name, default in self.FIELDS.items()}
        object.__setattr__(self, "_fields", known)
        object.__setattr__(self, "_tokens", None)

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> "BPE":
        made = cls.__new__(cls)
        vocab, merges = fields.get("vocab"), fields.get("merges")
        if not isinstance(vocab, dict) or not isinstance(merges, list):
            raise Exception("a BPE model needs a vocab and merges")
        try:
            listed = list(pairs(merges))
        except BadFile as error:
            raise Exception(f"the model {error}") from None
        flags = {name: bool(fields.get(name)) for name in ("fuse_unk", "byte_fallback", "ignore_merges")}
        made._start({**fields, **flags, "vocab": dict(vocab), "merges": listed})
        made._check_merges()
        return made

    def _check_merges(self) -> None:
        vocab, prefix = self._fields["vocab"], len(self._fields["continuing_subword_prefix"] or "")
        for left, right in self._fields["merges"]:
            for token in (left, right, left + right[prefix:]):
                if token not in vocab:
                    raise Exception(f"Error while initializing BPE: Token `{token}` out of vocabulary")

    def _as_json(self) -> dict[str, Any]:
        fields = dict(self._fields)
        vocab = sorted(fields["vocab"].items(), key=lambda entry: entry[1])
        return {
            "type": "BPE",
            **fields,
            "vocab": dict(vocab),
            "merges": [[left, right] for left, right in fields["merges"]],
        }

    def __setstate__(self, state: bytes | str) -> None:
        self._start(BPE._of(json.loads(state))._fields)

    def __getattr__(self, name: str) -> Any:
        if name in ("vocab", "merges"):  # the library does not show them
            raise AttributeError(f"'BPE' object has no attribute {name!r}")
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("vocab", "merges"):
            raise AttributeError(f"'BPE' object has no attribute {name!r}")
        super().__setattr__(name, value)

    def __repr__(self) -> str:
        fields = {name: self._fields[name] for name in self.FIELDS if name not in ("vocab", "merges")}
        shown = ", ".join(
            f'{name}="{v}"' if isinstance(v, str) else f"{name}={v}" for name, v in fields.items()
        )
        vocab = list(self._as_json()["vocab"].items())
        entries = [f'"{token}":{id}' for token, id in vocab[:5]] + ["..."] * (len(vocab) > 5)
        merges = self._fields["merges"]
        listed = [f'("{a}", "{b}")' for a, b in merges[:5]] + ["..."] * (len(merges) > 5)
        return f"BPE({shown}, vocab={{{', '.join(entries)}}}, merges=[{', '.join(listed)}])"

    __str__ = __repr__

    @property
    def _vocab(self) -> dict[str, int]:
        vocab: dict[str, int] = self._fields["vocab"]
        return vocab

    def _learn(self, vocab: dict[str, int], merges: list[tuple[str, str]], **fields: Any) -> None:
        """Replace the vocabulary and the merges by what was learned."""
        self._fields.update(fields, vocab=vocab, merges=merges)
        object.__setattr__(self, "_tokens", None)
        self._changed()

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        if not isinstance(token, str):
            raise TypeError(f"'{type(token).__name__}' object is not an instance of 'str'")
        return self._vocab.get(token)

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, or None."""
        if self._tokens is None:
            object.__setattr__(self, "_tokens", {number: token for token, number in self._vocab.items()})
        assert self._tokens is not None
        return self._tokens.get(number(id))

    def get_trainer(self) -> Any:
        """Return the trainer of this model."""
        return BpeTrainer()

    @staticmethod
    def read_file(vocab: str, merges: str) -> tuple[dict[str, int], list[tuple[str, str]]]:
        """Return the contents of a vocab.json and a merges.txt."""
        try:
            listed = gpt2.checked_vocabulary(gpt2.parse_json(Path(vocab).read_bytes()))
            return listed, gpt2.parse_merges(Path(merges).read_bytes())
        except (BadFile, OSError) as error:
            raise Exception(f"Error while reading vocab & merges files: {error}") from None

    @classmethod
    def from_file(cls, vocab: str, merges: str, **options: Any) -> "BPE":
        """Return the model in a vocab.json and a merges.txt."""
        return cls(*cls.read_file(vocab, merges), **options)

    def save(self, folder: str, prefix: str | None = None, name: str | None = None) -> list[str]:
        """Write a vocab.json and a merges.txt to a folder; return their paths."""
        prefix = prefix or name
        start = f"{prefix}-" if prefix else ""
        vocab, merges = (Path(folder, start + file) for file in ("vocab.json", "merges.txt"))
        lines = ["#version: 0.2", *(f"{left} {right}" for left, right in self._fields["merges"])]
        vocab.write_text(compact(self._as_json()["vocab"]), encoding="utf-8")
        merges.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return [str(vocab), str(merges)]

    def tokenize(self, sequence: str) -> list[Token]:
        """Return the tokens of one word, with their offsets in bytes of its UTF-8."""
        engine = Engine(self._fields, [], {}, None, None, None)
        [details] = engine.native.encode_details([sequence])
        ids = details.ids()
        ends = [0]
        for character in sequence:
            ends.append(ends[-1] + len(character.encode()))
        found: list[Token] = []
        for id, token, (start, end) in zip(ids, engine.tokens(ids), details.offsets(), strict=True):
            first, last = ends[start], ends[end]
            if self._fields["byte_fallback"] and found and found[-1].offsets[1] > first:
                first = found[-1].offsets[1]  # the next byte of the same character
            if self._fields["byte_fallback"] and token not in sequence and is_byte(token):
                last = first + 1
            found.append(Token(id, token, (first, last)))
        return found

    def _clear_cache(self) -> None:
        """Do nothing: the cache of merganser bounds itself."""

    def _resize_cache(self, capacity: int) -> None:
        """Do nothing: the cache of merganser bounds itself."""


class Unigram(NotBpe):
    """A Unigram model; merganser does not have it."""

    __slots__ = ()


class WordLevel(NotBpe):
    """A vocabulary of words; merganser does not have it."""

    __slots__ = ()


class WordPiece(NotBpe):
    """A WordPiece model; merganser does not have it."""

    __slots__ = ()
