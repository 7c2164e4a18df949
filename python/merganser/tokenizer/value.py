"""The tokenizer value: ranked tokens, a split pattern and special tokens. Immutable.

Encoding and decoding are inherited from the native class, so that they cost a single call. This module adds
what is not performance-critical.
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeVar, cast

from merganser import _core
from merganser.corpus.defaults import PATTERN
from merganser.errors import EncodeError, SettingsError, TokenizerError
from merganser.tokenizer.frozen import FrozenDict, FrozenList
from merganser.tokenizer.shortcuts import Shortcuts
from merganser.tokenizer.template import Template, around_text, named

T = TypeVar("T")

#: Training facts that depend on the number of merges.
_SIZE_DEPENDENT_FACTS = ("vocab_size", "proven_merges", "checked_merges")


class Spans(NamedTuple):
    """The ids of a text and the `(start, end)` span of each, as returned by `Tokenizer.encode_with_offsets`.

    Ids that were prepended or appended have empty spans.

    Attributes
    ----------
    ids : list of int
        The ids.
    chars : list of (int, int)
        Spans in characters. A character that is split between tokens belongs to the span of each of them.
    bytes : list of (int, int)
        Spans in bytes of the UTF-8 text. They never overlap.

    Examples
    --------
    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
    >>> bytes_only.encode_with_offsets("aé").chars
    [(0, 1), (1, 2), (1, 2)]
    """

    ids: list[int]
    chars: list[tuple[int, int]]
    bytes: list[tuple[int, int]]


class Tokenizer(Shortcuts):
    """A byte-level BPE tokenizer: text to ids and back.

    Immutable and safe to share between threads. Two tokenizers are equal if they have the same tokens, ids,
    special tokens and pattern. `merganser.train` and `merganser.load` return tokenizers; construct one
    directly to use ranks from elsewhere.

    | to                                       | call                                                        |
    |------------------------------------------|-------------------------------------------------------------|
    | encode text                              | `encode`, `encode_ordinary`, `encode_batch`, `encode_flat`  |
    | encode with positions, or count tokens   | `encode_with_offsets`, `count_tokens`, `count_prefixes`,    |
    |                                          | `fits`                                                      |
    | encode a text that grows, or a stream    | `incremental`, `encode_iterable`                            |
    | decode ids                               | `decode`, `decode_bytes`, `decode_batch`,                   |
    |                                          | `decode_with_offsets`, `decode_tokens_bytes`, or a          |
    |                                          | `StreamDecoder`                                             |
    | look up one token                        | `token_id`, `token_bytes`, `in`; as in tiktoken,            |
    |                                          | `encode_single_token`, `decode_single_token_bytes`          |
    | know the ids                             | `vocab_size`, `n_vocab`, `max_token_value`, `eot_token`,    |
    |                                          | `is_special_token`                                          |
    | inspect it                               | `vocab`, `mergeable_ranks`, `special_tokens`, `merges`,     |
    |                                          | `merges_as_ids`, `merge_counts`, `training`, `pattern`,     |
    |                                          | `template`                                                  |
    | encode a corpus to files                 | `encode_corpus`                                             |
    | save it or use it elsewhere              | `save`, `export`, `to_tiktoken`, `to_huggingface`           |
    | display how a text is tokenized          | `show`                                                      |
    | get a smaller tokenizer                  | `truncated`                                                 |
    | build one from a vocabulary              | `from_vocab_and_merges`, or construct it from ranks         |

    Parameters
    ----------
    mergeable_ranks : mapping of bytes to int
        The id of every token that is not special. All 256 single bytes must be included. The merge that
        creates the lowest id is applied first.
    pattern : str
        The split pattern: a preset name (see `merganser.preset_names`) or a regular expression.
    special_tokens : mapping of str to int, optional
        The id of every special token.
    merge_counts : mapping of int to int, optional
        How often each merge occurred in training, by the id of the merged token.
    training : mapping, optional
        Facts about the training, for information only.
    template : Template, optional
        The tokens to put around a text on request; see `Tokenizer.template`.

    Raises
    ------
    TokenizerError
        If a byte is missing, an id is repeated or out of range, or the template names an unknown token.
    SettingsError
        If a special token is empty or equal to an ordinary token.
    PatternError
        If the pattern is not a valid regular expression.

    Examples
    --------
    >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens={"<end>": 256})
    >>> bytes_only.encode("hi<end>", allowed_special="all")
    [104, 105, 256]
    >>> bytes_only.encode_batch(["a", "hi"], append="<end>")
    [[97, 256], [104, 105, 256]]
    >>> ids, offsets = bytes_only.encode_flat(["a", "hi"])
    >>> ids.tolist(), offsets.tolist()
    ([97, 104, 105], [0, 1, 3])
    >>> bytes_only.count_tokens(["a", "hi"])
    [1, 2]
    """

    __slots__ = ("_cache", "_merge_counts", "_template", "_training")
    #: Properties that are built on first access, by name.
    _cache: dict[str, object]
    #: How often each merge occurred, or a function that returns it on first access.
    _merge_counts: Mapping[int, int] | Callable[[], Mapping[int, int]]
    _training: Mapping[str, Any]
    #: Of a tokenizer without stages; the others have it in their definition.
    _template: Template

    def __new__(
        cls,
        mergeable_ranks: Mapping[bytes, int],
        *,
        pattern: str = PATTERN,
        special_tokens: Mapping[str, int] | None = None,
        merge_counts: Mapping[int, int] | None = None,
        training: Mapping[str, Any] | None = None,
        template: Template | None = None,
    ) -> "Tokenizer":
        try:
            model = _core.Model.from_ranks(dict(mergeable_ranks), pattern, dict(special_tokens or {}))
        except UnicodeEncodeError as error:
            raise TokenizerError(
                f"the pattern or a special token, {error.object[:40]!r}, contains a lone surrogate; remove it"
            ) from None
        return cls._of(model, merge_counts or {}, training or {}, template)

    @classmethod
    def _of(
        cls,
        model: _core.Model,
        merge_counts: Mapping[int, int] | Callable[[], Mapping[int, int]],
        training: Mapping[str, Any],
        template: Template | None = None,
    ) -> "Tokenizer":
        tokenizer = super().__new__(cls, model)
        tokenizer._cache = {}
        tokenizer._merge_counts = merge_counts if callable(merge_counts) else dict(merge_counts)
        tokenizer._training = MappingProxyType(dict(training))
        tokenizer._template = template or Template(prepend=[], append=[])
        if template:
            try:
                tokenizer.encode("", **template)
            except EncodeError as error:
                raise TokenizerError(f"the template has an unknown token: {error}") from None
        return tokenizer

    def _cached(self, name: str, build: Callable[[], T]) -> T:
        """Return the value of `build`, which is called on the first access of `name`.

        Concurrent threads may each build it, but all get the same object, because `setdefault` keeps the
        first. There is no lock, since another thread could hold it when the process forks.
        """
        value = self._cache.get(name)
        if value is None:
            value = self._cache.setdefault(name, build())
        return cast("T", value)

    @property
    def vocab(self) -> FrozenDict[bytes, int]:
        """The id of every token by its bytes, in order of id. Special tokens are included as UTF-8.

        Like `mergeable_ranks`, `special_tokens`, `merges` and `merges_as_ids`, this is built on first access
        and cached. It is read-only; modify a copy, `dict(tokenizer.vocab)`. To look up a single token without
        building it, call `token_id` or `token_bytes`.

        Examples
        --------
        >>> bytes_only = Tokenizer({bytes([byte]): byte for byte in range(256)})
        >>> bytes_only.vocab[b"a"], bytes_only.vocab is bytes_only.vocab
        (97, True)
        """

        def build() -> FrozenDict[bytes, int]:
            specials = {token.encode(): id for token, id in self.special_tokens.items()}
            return FrozenDict(sorted((self.mergeable_ranks | specials).items(), key=lambda entry: entry[1]))

        return self._cached("vocab", build)

    @property
    def mergeable_ranks(self) -> FrozenDict[bytes, int]:
        """The id of every token that is not special by its bytes, in order of id. Read-only; see `vocab`."""
        return self._cached("mergeable_ranks", lambda: FrozenDict(super(Tokenizer, self).mergeable_ranks))

    @property
    def special_tokens(self) -> FrozenDict[str, int]:
        """The id of every special token, in order of id. Read-only; see `vocab`."""
        return self._cached("special_tokens", lambda: FrozenDict(super(Tokenizer, self).special_tokens))

    @property
    def merges(self) -> FrozenList[tuple[bytes, bytes]]:
        """The two tokens that each merge joins, in the order of the merges. Read-only; see `vocab`."""
        return self._cached("merges", lambda: FrozenList(super(Tokenizer, self).merges))

    @property
    def merges_as_ids(self) -> FrozenDict[tuple[int, int], int]:
        """The id of each merged token by the ids of its two parts, in the order of the merges. Read-only."""
        return self._cached("merges_as_ids", lambda: FrozenDict(super(Tokenizer, self).merges_as_ids))

    @property
    def merge_counts(self) -> Mapping[int, int]:
        """How often each merge occurred in training, by the id of the merged token; empty if unknown."""
        counts = self._merge_counts
        build = counts if callable(counts) else lambda: counts
        return self._cached("merge_counts", lambda: MappingProxyType(build()))

    @property
    def training(self) -> Mapping[str, Any]:
        """Facts about the training, such as `tie_break` and `documents`; empty if unknown."""
        return self._training

    @property
    def template(self) -> Template:
        """The tokens that the tokenizer's owner puts around a text, such as bos and eos.

        `encode` adds none by itself. Hugging Face's library does, unless `add_special_tokens=False`, and so
        does llama.cpp; `tokenizer.encode(text, **tokenizer.template)` gives the same ids.

        Examples
        --------
        >>> ranks = {bytes([byte]): byte for byte in range(256)}
        >>> around = {"prepend": ["<s>"], "append": []}
        >>> tokenizer = Tokenizer(ranks, special_tokens={"<s>": 256}, template=around)
        >>> tokenizer.encode("hi", **tokenizer.template)
        [256, 104, 105]
        """
        if not self.has_stages:
            return Template(prepend=[*self._template["prepend"]], append=[*self._template["append"]])

        def build() -> tuple[list[int], list[int]]:
            definition = self.definition  # a copy of all tokens and merges
            assert definition is not None
            try:
                return around_text(json.loads(definition[3]).get("post_processor"))
            except ValueError as error:
                raise TokenizerError(f"this tokenizer has no usable template: {error}") from None

        return named(*self._cached("template", build), self.special_tokens)

    def encode_iterable(
        self,
        texts: Iterable[str],
        *,
        documents: bool = False,
        allowed_special: Literal["all"] | Collection[str] = (),
        disallowed_special: Literal["all"] | Collection[str] = "all",
        prepend: str | int | Sequence[str | int] | None = None,
        append: str | int | Sequence[str | int] | None = None,
    ) -> Iterator[int]:
        """Encode a stream of texts, such as the lines of a file, and yield the ids one by one.

        Texts are pulled when ids are needed, and forgotten as soon as no continuation changes their ids, so
        that a stream of any length takes little memory. Only a text in which no position is known to be a
        safe cut is kept whole, such as a million letters without a space.

        Parameters
        ----------
        texts : iterable of str
            The texts.
        documents : bool
            Whether each text is a document. By default they are the chunks of one text, which may be cut
            anywhere: the ids are those of `encode("".join(texts))`.
        allowed_special : "all" or collection of str
            Special tokens that are encoded as such.
        disallowed_special : "all" or collection of str
            Special tokens that raise an error if the text contains them. Those that are neither allowed nor
            disallowed are encoded as plain text.
        prepend, append : str or int, optional
            Tokens to put before and after the text, or each document; one or a list.

        Yields
        ------
        int
            The ids. At an error, those before it have been yielded.

        Raises
        ------
        EncodeError
            If a text contains a disallowed special token or a lone surrogate, or `texts` is a single str.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, special_tokens=["<|end|>"])
        >>> list(tokenizer.encode_iterable(["lo", "w lo", "wer"]))
        [257, 258, 101, 114]
        >>> list(tokenizer.encode_iterable(["low", "low"], documents=True, append="<|end|>"))
        [257, 259, 257, 259]
        """
        if isinstance(texts, str | bytes):
            raise EncodeError("texts is a single text; pass an iterable of texts, [text], or call encode")
        if not isinstance(texts, Iterable):
            raise EncodeError(f"texts must be an iterable of str, got {type(texts).__name__}")
        # Built now, so that wrong arguments fail here and not where the first id is needed.
        encoder = self.stream_encoder(
            allowed_special=allowed_special,
            disallowed_special=disallowed_special,
            prepend=prepend,
            append=append,
        )
        return _ids_of_documents(encoder, texts) if documents else _ids_of_chunks(encoder, texts)

    def truncated(self, vocab_size: int) -> "Tokenizer":
        """Return a tokenizer with fewer merges, identical to one trained with the smaller `vocab_size`.

        Special tokens that follow the merges move down; all other tokens keep their ids.

        Parameters
        ----------
        vocab_size : int
            The size of the new vocabulary, special tokens included.

        Returns
        -------
        Tokenizer
            Its `training` describes the smaller vocabulary, with the original size as "truncated_from".

        Raises
        ------
        SettingsError
            If `vocab_size` is larger than the vocabulary, or too small for the bytes and special tokens.

        Examples
        --------
        >>> import merganser
        >>> small = merganser.train(["low lower lowest"] * 9, 260).truncated(258)
        >>> [small.training[name] for name in ("vocab_size", "merges", "truncated_from")]
        [258, 2, 260]
        """
        if vocab_size < 0:
            specials = len(self.special_tokens)
            raise SettingsError(
                f"vocab_size must be at least {256 + specials} (256 bytes + {specials} special tokens), "
                f"got {vocab_size}"
            )
        model = self.truncated_model(vocab_size)
        small = _core.Tokenizer(model)
        moved = set(small.special_tokens.values())
        counts = {id: count for id, count in self.merge_counts.items() if id in small and id not in moved}
        return Tokenizer._of(model, counts, self._truncated_facts(vocab_size), self._template)

    def _truncated_facts(self, vocab_size: int) -> Mapping[str, Any]:
        """Return the facts that training to `vocab_size` would have recorded, as far as they are known."""
        if vocab_size == self.vocab_size:
            return self.training
        facts = dict(self.training)
        if "merges" in facts:
            # Only merges are dropped. The facts do not count the merges of a base tokenizer.
            merges = max(facts["merges"] - (self.vocab_size - vocab_size), 0)
            for name in ("proven_merges", "checked_merges"):
                if facts[name] is not None:
                    facts[name] = min(facts[name], merges)
            facts |= {"vocab_size": vocab_size, "merges": merges}
        else:
            # Written by a version that did not record them: facts that depend on the size are unknown.
            facts = {name: fact for name, fact in facts.items() if name not in _SIZE_DEPENDENT_FACTS}
        facts.setdefault("truncated_from", self.vocab_size)
        return facts

    def __len__(self) -> int:
        return self.vocab_size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return self.equals(other)

    def __hash__(self) -> int:
        return hash((self.vocab_size, self.pattern, *self.special_tokens.items()))

    def __repr__(self) -> str:
        pattern = "stages" if self.has_stages else f"pattern {self.pattern_name or repr(self.pattern)}"
        return f"<Tokenizer: {self.vocab_size:,} tokens, {len(self.special_tokens)} special, {pattern}>"

    def __copy__(self) -> "Tokenizer":
        return self

    def __deepcopy__(self, memo: object) -> "Tokenizer":
        return self

    def __reduce__(self) -> tuple[object, ...]:
        if self.has_stages:
            return _unpickle_definition, (self.definition, dict(self.merge_counts), dict(self.training))
        return _unpickle, (
            self.packed_ranks(),
            self.pattern_name or self.pattern,
            dict(self.special_tokens),
            dict(self.merge_counts),
            dict(self.training),
            self._template,
        )


def _ids_of_chunks(encoder: _core.StreamEncoder, texts: Iterable[str]) -> Iterator[int]:
    for text in texts:
        yield from encoder.push(text)
    yield from encoder.finish()


def _ids_of_documents(encoder: _core.StreamEncoder, texts: Iterable[str]) -> Iterator[int]:
    for text in texts:
        yield from encoder.push(text)
        yield from encoder.finish()


def _unpickle_definition(
    definition: tuple[list[tuple[bytes, int]], list[tuple[int, int, int]] | None, list[float] | None, str],
    merge_counts: dict[int, int],
    training: dict[str, Any],
) -> Tokenizer:
    return Tokenizer._of(_core.Model.from_definition(*definition), merge_counts, training)


def _unpickle(
    packed_ranks: bytes,
    pattern: str,
    special_tokens: dict[str, int],
    merge_counts: dict[int, int],
    training: dict[str, Any],
    template: Template | None = None,
) -> Tokenizer:
    model = _core.Model.from_packed(packed_ranks, pattern, special_tokens)
    return Tokenizer._of(model, merge_counts, training, template)
