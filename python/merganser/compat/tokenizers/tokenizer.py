"""Tokenizer: Hugging Face's class of this name, on merganser's encoder."""

import asyncio
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from merganser._core import EncodedTexts
from merganser.compat.tokenizers import training
from merganser.compat.tokenizers.added_tokens import AddedToken, AddedVocabulary, as_added
from merganser.compat.tokenizers.assembly import Assembly
from merganser.compat.tokenizers.components import (
    ALL,
    FEW,
    Component,
    Watched,
    coerced,
    compact,
    shown,
)
from merganser.compat.tokenizers.decoders import Decoder
from merganser.compat.tokenizers.encoding import Encoding
from merganser.compat.tokenizers.engine import Engine
from merganser.compat.tokenizers.integers import number, position
from merganser.compat.tokenizers.models import BPE, Model
from merganser.compat.tokenizers.normalizers import Normalizer
from merganser.compat.tokenizers.pre_tokenizers import PreTokenizer
from merganser.compat.tokenizers.processors import PostProcessor, added_tokens, compiled
from merganser.compat.tokenizers.settings import PaddingSettings, Truncation
from merganser.compat.tokenizers.trainers import BpeTrainer
from merganser.errors import EncodeError, WriteError
from merganser.extras import imported
from merganser.files import written_whole

C = TypeVar("C", bound=Component)
_FILE = "tokenizer.json"
_NO_TEXT = "TextInputSequence must be str"
_NO_WORDS = "PreTokenizedInputSequence must be Union[List[str], Tuple[str]]"
_NO_INPUT = "TextEncodeInput must be Union[TextInputSequence, Tuple[InputSequence, InputSequence]]"
_NO_WORDS_INPUT = (
    "PreTokenizedEncodeInput must be Union[PreTokenizedInputSequence, Tuple[PreTokenizedInputSequence, "
    "PreTokenizedInputSequence]]"
)


class Tokenizer(Watched):
    """A tokenizer with the methods, attributes and results of `tokenizers.Tokenizer`.

    Parameters
    ----------
    model : BPE
        The vocabulary and the merges.

    Examples
    --------
    >>> from merganser.compat.tokenizers import models, pre_tokenizers, trainers
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    >>> tokenizer.train_from_iterator(["low lower lowest"], trainers.BpeTrainer(vocab_size=12))
    >>> tokenizer.encode("lower").tokens
    ['lower']
    """

    __slots__ = (
        "_added",
        "_assembly",
        "_decoder",
        "_engine",
        "_model",
        "_names",
        "_normalizer",
        "_padding",
        "_plain",
        "_post_processor",
        "_pre_tokenizer",
        "_truncation",
    )

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._added = AddedVocabulary()
        self._normalizer: Normalizer | None = None
        self._pre_tokenizer: PreTokenizer | None = None
        self._post_processor: PostProcessor | None = None
        self._decoder: Decoder | None = None
        self._truncation: Truncation | None = None
        self._padding: PaddingSettings | None = None
        self._plain = False
        self._engine: Engine | None = None
        self._assembly: Assembly | None = None
        self._names: dict[int, str] | None = None
        self.model = model

    # ── reading and writing ───────────────────────────────────────────────────

    @staticmethod
    def from_str(json: str) -> "Tokenizer":
        """Return the tokenizer that the contents of a tokenizer.json describe."""
        return _from_text(json)

    @staticmethod
    def from_buffer(buffer: bytes) -> "Tokenizer":
        """Return the tokenizer that the bytes of a tokenizer.json describe."""
        try:
            return _from_text(bytes(buffer).decode())
        except (NotImplementedError, ImportError):
            raise
        except Exception as error:
            raise ValueError(f"Cannot instantiate Tokenizer from buffer: {error}") from error

    @staticmethod
    def from_file(path: str) -> "Tokenizer":
        """Return the tokenizer in a tokenizer.json."""
        try:
            text = Path(path).read_text(encoding="utf-8")
        except OSError as error:
            raise Exception(f"{error.strerror} (os error {error.errno})") from error
        return _from_text(text)

    @staticmethod
    def from_pretrained(identifier: str, revision: str = "main", token: str | None = None) -> "Tokenizer":
        """Return the tokenizer of a repository on the Hugging Face hub, or in a folder.

        Parameters
        ----------
        identifier : str
            The repository, `owner/name`, or the path of a folder.
        revision : str
            The branch, tag or commit.
        token : str, optional
            A token of the hub; by default the one that `hf auth login` has stored.
        """
        if (file := Path(identifier) / _FILE).is_file():
            return Tokenizer.from_file(str(file))
        hub = imported("huggingface_hub", "hf", "from_pretrained")
        return Tokenizer.from_file(hub.hf_hub_download(identifier, _FILE, revision=revision, token=token))

    def to_str(self, pretty: bool = False) -> str:
        """Return the contents of a tokenizer.json."""
        state = self._as_json()
        return json.dumps(state, ensure_ascii=False, indent=2) if pretty else compact(state)

    def save(self, path: str, pretty: bool = True) -> None:
        """Write a tokenizer.json."""
        data = self.to_str(pretty).encode()
        try:
            with written_whole(path) as file:
                file.write(data)
        except (OSError, WriteError) as error:
            raise Exception(str(error)) from error

    def _as_json(self) -> dict[str, Any]:
        stages = (self._normalizer, self._pre_tokenizer, self._post_processor, self._decoder)
        kinds = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
        return {
            "version": "1.0",
            "truncation": self._truncation and self._truncation.as_json(),
            "padding": self._padding and self._padding.as_json(),
            "added_tokens": self._added.listed(),
            **{kind: _as_json(stage) for kind, stage in zip(kinds, stages, strict=True)},
            "model": self._model._as_json(),
        }

    def __getstate__(self) -> bytes:
        return self.to_str().encode()

    def __setstate__(self, state: bytes) -> None:
        other = _from_text(state.decode())
        for name in Tokenizer.__slots__:
            setattr(self, name, getattr(other, name))
        for part in (self._model, self._normalizer, self._pre_tokenizer, self._post_processor, self._decoder):
            if part is not None:
                part._watch(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (type(self), self.__getstate__(), self._plain)

    def __copy__(self) -> "Tokenizer":
        return _unpickled(type(self), self.__getstate__(), self._plain)

    def __deepcopy__(self, memo: object) -> "Tokenizer":
        return self.__copy__()

    def __getnewargs__(self) -> tuple[Model]:
        return (BPE(),)

    def __repr__(self) -> str:
        return self._shown(ALL)

    def __str__(self) -> str:
        return self._shown(FEW)

    def _shown(self, limit: int) -> str:
        state = self._as_json()
        model = state.pop("model")
        fields = ", ".join(f"{name}={shown(value, limit)}" for name, value in state.items())
        model["merges"] = [tuple(merge) for merge in model["merges"]]
        return f"Tokenizer({fields}, model={shown(model, limit)})"

    # ── components ────────────────────────────────────────────────────────────

    def _changed(self) -> None:
        """Compile again before the next use."""
        self._engine = None
        self._assembly = None
        self._names = None

    def _taken(self, value: Any, kind: type[C]) -> C | None:
        if value is None:
            return None
        try:
            part = coerced(value, kind)
        except TypeError:
            name = type(value).__name__
            raise TypeError(f"'{name}' object is not an instance of '{kind.__name__}'") from None
        part._watch(self)
        return part

    @property
    def model(self) -> Model:
        """The vocabulary and the merges."""
        return self._model

    @model.setter
    def model(self, model: Model) -> None:
        taken = self._taken(model, Model)
        if not isinstance(taken, BPE):
            raise TypeError("'None' is not an instance of 'Model'")
        self._model: BPE = taken
        self._changed()

    @property
    def normalizer(self) -> Normalizer | None:
        """What happens to a text before it is split."""
        return self._normalizer

    @normalizer.setter
    def normalizer(self, normalizer: Normalizer | None) -> None:
        self._normalizer = self._taken(normalizer, Normalizer)
        self._added.normalize_again()
        self._changed()

    @property
    def pre_tokenizer(self) -> PreTokenizer | None:
        """How a text is split before anything is merged."""
        return self._pre_tokenizer

    @pre_tokenizer.setter
    def pre_tokenizer(self, pretok: PreTokenizer | None) -> None:
        self._pre_tokenizer = self._taken(pretok, PreTokenizer)
        self._changed()

    @property
    def post_processor(self) -> PostProcessor | None:
        """The special tokens around texts."""
        return self._post_processor

    @post_processor.setter
    def post_processor(self, processor: PostProcessor | None) -> None:
        self._post_processor = self._taken(processor, PostProcessor)
        self._assembly = None

    @property
    def decoder(self) -> Decoder | None:
        """How tokens become text."""
        return self._decoder

    @decoder.setter
    def decoder(self, decoder: Decoder | None) -> None:
        self._decoder = self._taken(decoder, Decoder)
        self._changed()

    # ── compiling ─────────────────────────────────────────────────────────────

    def _compiled(self) -> Engine:
        """Return the engine, built on first use."""
        engine = self._engine
        if engine is None:
            stages = (self._normalizer, self._pre_tokenizer, self._decoder)
            engine = self._engine = Engine(
                self._model._fields,
                self._added.searched(),
                self._added_names(),
                *map(_as_json, stages),
            )
        return engine

    def _added_names(self) -> dict[int, str]:
        """Return how added tokens are spelled: normalized, if they are found in normalized text."""
        found = self._names
        if found is None:
            found = {id: token.content for id, token in self._added.tokens.items()}
            if self._normalizer is not None:
                normalize = self._normalizer._compiled()
                found.update((id, normalize(found[id])) for id in self._added.normalized)
            self._names = found
        return found

    def _assembled(self) -> Assembly:
        """Return how texts are encoded now."""
        assembly = self._assembly
        if assembly is None:
            post = _as_json(self._post_processor)
            added = added_tokens(post, False), added_tokens(post, True)
            assembly = self._assembly = Assembly(
                self._compiled(), compiled(post), added, self._truncation, self._padding, self._plain
            )
        return assembly

    # ── encoding ──────────────────────────────────────────────────────────────

    def encode(
        self,
        sequence: "str | Sequence[str]",
        pair: "str | Sequence[str] | None" = None,
        is_pretokenized: bool = False,
        add_special_tokens: bool = True,
    ) -> Encoding:
        """Return the encoding of a text or a pair.

        Parameters
        ----------
        sequence : str or list of str
            The text; or its words, if `is_pretokenized`.
        pair : str or list of str, optional
            The second text.
        is_pretokenized : bool
            Whether texts are given as lists of words.
        add_special_tokens : bool
            Whether the post-processor adds its tokens.
        """
        assembly = self._assembly or self._assembled()
        if pair is None and not is_pretokenized and isinstance(sequence, str):
            plan = assembly.plan(add_special_tokens)
            if plan is not None and plan.is_usable:
                try:
                    return Encoding(plan.encode(sequence))
                except EncodeError as error:
                    raise TypeError(_NO_TEXT) from error
        given = [sequence] if pair is None else [sequence, pair]
        checked = tuple(_checked(one, is_pretokenized) for one in given)
        try:
            return assembly.assembled([checked], is_pretokenized, add_special_tokens, False)[0]
        except EncodeError as error:
            raise TypeError(_NO_WORDS if is_pretokenized else _NO_TEXT) from error

    def encode_batch(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return the encodings of texts and pairs, in parallel.

        Parameters
        ----------
        input : list
            Texts, or pairs of them as tuples; if `is_pretokenized`, lists of words, or pairs of these.
        is_pretokenized : bool
            Whether texts are given as lists of words.
        add_special_tokens : bool
            Whether the post-processor adds its tokens.
        """
        return self._encode_batch(input, is_pretokenized, add_special_tokens, False)

    def encode_batch_fast(
        self, input: Iterable[Any], is_pretokenized: bool = False, add_special_tokens: bool = True
    ) -> list[Encoding]:
        """Return encodings with ids only: tokens, offsets and words are empty."""
        return self._encode_batch(input, is_pretokenized, add_special_tokens, True)

    def _encode_batch(
        self, given: Iterable[Any], is_pretokenized: bool, add_special_tokens: bool, fast: bool
    ) -> list[Encoding]:
        _check_sequence(given)
        inputs = given if isinstance(given, list) else list(given)
        try:
            if not is_pretokenized and (texts := self._encoded(inputs, add_special_tokens, fast)) is not None:
                return texts.encodings(Encoding)
            pairs = [_as_pair(one, is_pretokenized) for one in inputs]
            assembly = self._assembly or self._assembled()
            return assembly.assembled(pairs, is_pretokenized, add_special_tokens, fast)
        except EncodeError as error:
            raise TypeError(_NO_WORDS_INPUT if is_pretokenized else _NO_INPUT) from error

    def _encoded(
        self, texts: Sequence[Any], add_special_tokens: bool, fast: bool = False
    ) -> EncodedTexts | None:
        """Return texts encoded together; None if they are not all texts, or need more than a plan has."""
        if not all(type(one) is str for one in texts):
            return None
        plan = (self._assembly or self._assembled()).plan(add_special_tokens)
        return plan.encode_batch(texts, fast=fast) if plan is not None and plan.is_usable else None

    def post_process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return an encoding, or a pair of them, truncated, with special tokens, and padded."""
        given = [encoding] if pair is None else [encoding, pair]
        return self._assembled().finished([one._copy() for one in given], add_special_tokens)

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many tokens are added to a text, or to a pair."""
        return added_tokens(_as_json(self._post_processor), is_pair)

    async def async_encode(self, *arguments: Any, **options: Any) -> Encoding:
        """Do as `encode`, in another thread."""
        return await asyncio.to_thread(self.encode, *arguments, **options)

    async def async_encode_batch(self, *arguments: Any, **options: Any) -> list[Encoding]:
        """Do as `encode_batch`, in another thread."""
        return await asyncio.to_thread(self.encode_batch, *arguments, **options)

    async def async_encode_batch_fast(self, *arguments: Any, **options: Any) -> list[Encoding]:
        """Do as `encode_batch_fast`, in another thread."""
        return await asyncio.to_thread(self.encode_batch_fast, *arguments, **options)

    @property
    def encode_special_tokens(self) -> bool:
        """Whether special tokens in texts are encoded as plain text."""
        return self._plain

    @encode_special_tokens.setter
    def encode_special_tokens(self, value: bool) -> None:
        self._plain = bool(value)
        self._assembly = None

    # ── decoding ──────────────────────────────────────────────────────────────

    def decode(self, ids: Sequence[int], skip_special_tokens: bool = True) -> str:
        """Return the text of ids; unknown ones are left out.

        Parameters
        ----------
        ids : list of int
            The ids.
        skip_special_tokens : bool
            Whether special tokens are left out.
        """
        if type(ids) is not list:
            _check_sequence(ids)
        text = (self._engine or self._compiled()).decode(ids, skip_special_tokens)
        return self._decode_tokens(ids, skip_special_tokens) if text is None else text

    def _decode_tokens(self, ids: Sequence[int], skip_special_tokens: bool) -> str:
        """Decode token by token."""
        found = (self.id_to_token(id) for id in ids)
        specials = self._added.specials if skip_special_tokens else {}
        tokens = [token for token in found if token is not None and token not in specials]
        return " ".join(tokens) if self._decoder is None else self._decoder.decode(tokens)

    def decode_batch(self, sequences: Iterable[Sequence[int]], skip_special_tokens: bool = True) -> list[str]:
        """Return the texts of several sequences of ids."""
        _check_sequence(sequences)
        return [self.decode(ids, skip_special_tokens) for ids in sequences]

    async def async_decode_batch(self, *arguments: Any, **options: Any) -> list[str]:
        """Do as `decode_batch`, in another thread."""
        return await asyncio.to_thread(self.decode_batch, *arguments, **options)

    # ── the vocabulary ────────────────────────────────────────────────────────

    def token_to_id(self, token: str) -> int | None:
        """Return the id of a token, or None."""
        if not isinstance(token, str):
            raise TypeError(f"'{type(token).__name__}' object is not an instance of 'str'")
        id = self._added.ids.get(token)
        return self._model.token_to_id(token) if id is None else id

    def id_to_token(self, id: int) -> str | None:
        """Return the token of an id, or None."""
        id = number(id)
        name = (self._names or self._added_names()).get(id)
        return self._model.id_to_token(id) if name is None else name

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Return the id of each token."""
        vocab = dict(self._model._vocab)
        if with_added_tokens:
            vocab.update(self._added.ids)
        return vocab

    def get_vocab_size(self, with_added_tokens: bool = True) -> int:
        """Return the number of tokens."""
        vocab = self._model._vocab
        added = self._added.ids if with_added_tokens else ()
        return len(vocab) + sum(token not in vocab for token in added)

    def get_added_tokens_decoder(self) -> dict[int, AddedToken]:
        """Return the added tokens by id."""
        return {id: as_added(token, token.special) for id, token in sorted(self._added.tokens.items())}

    def add_tokens(self, tokens: "list[Any]") -> int:
        """Add tokens that are found in any text; return how many are new."""
        return self._add(tokens, False)

    def add_special_tokens(self, tokens: "list[Any]") -> int:
        """Add tokens that decoding leaves out by default; return how many are new."""
        return self._add(tokens, True)

    def _add(self, tokens: "list[Any]", special: bool) -> int:
        if not isinstance(tokens, list):
            raise TypeError(f"'{type(tokens).__name__}' object is not an instance of 'list'")
        added = self._added.add([as_added(token, special) for token in tokens], self._model._vocab)
        self._changed()
        return added

    # ── truncation and padding ────────────────────────────────────────────────

    def enable_truncation(
        self,
        max_length: int,
        *,
        stride: int = 0,
        strategy: str = "longest_first",
        direction: str = "right",
        **ignored: Any,
    ) -> None:
        """Cut encodings to a length.

        Parameters
        ----------
        max_length : int
            The maximum number of ids, with those that the post-processor adds.
        stride : int
            How many tokens the parts that are cut off have in common with the one before.
        strategy : {"longest_first", "only_first", "only_second"}
            Which text of a pair is cut.
        direction : {"right", "left"}
            The end that is cut off.
        """
        added = self.num_special_tokens_to_add(False)
        self._truncation = Truncation.checked(
            position(max_length), position(stride), strategy, direction, added
        )
        self._assembly = None

    def no_truncation(self) -> None:
        """Do not cut encodings."""
        self._truncation = None
        self._assembly = None

    @property
    def truncation(self) -> dict[str, Any] | None:
        """The settings of truncation, or None."""
        return None if self._truncation is None else self._truncation.shown()

    def enable_padding(
        self,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
        length: int | None = None,
        pad_to_multiple_of: int | None = None,
        **ignored: Any,
    ) -> None:
        """Make encodings equally long.

        Parameters
        ----------
        direction : {"right", "left"}
            The end at which padding is added.
        pad_id, pad_type_id, pad_token
            The padding.
        length : int, optional
            The length of all encodings; by default that of the longest of a batch.
        pad_to_multiple_of : int, optional
            Round the length up to a multiple of this.
        """
        padding = PaddingSettings(
            direction,
            number(pad_id),
            number(pad_type_id),
            pad_token,
            None if length is None else position(length),
            None if pad_to_multiple_of is None else position(pad_to_multiple_of),
        )
        padding.check()
        self._padding = padding
        self._assembly = None

    def no_padding(self) -> None:
        """Do not pad encodings."""
        self._padding = None
        self._assembly = None

    @property
    def padding(self) -> dict[str, Any] | None:
        """The settings of padding, or None."""
        return None if self._padding is None else self._padding.shown()

    # ── training ──────────────────────────────────────────────────────────────

    def train(self, files: "list[str]", trainer: BpeTrainer | None = None) -> None:
        """Train the model on the lines of files.

        Parameters
        ----------
        files : list of str
            The paths of the files.
        trainer : BpeTrainer, optional
            The options.
        """
        self._train(training.lines_of(files), trainer)

    def train_from_iterator(
        self, iterator: Iterable[Any], trainer: BpeTrainer | None = None, length: int | None = None
    ) -> None:
        """Train the model on texts.

        Parameters
        ----------
        iterator : iterable of str, or of lists of str
            The texts.
        trainer : BpeTrainer, optional
            The options.
        length : int, optional
            Ignored: no progress is shown.
        """
        self._train(training.texts_of(iterator), trainer)

    def _train(self, texts: Iterable[str], trainer: Any) -> None:
        options = training.options(trainer)
        stages = (self._normalizer, self._pre_tokenizer)
        vocab, merges = training.train(texts, options, *map(_as_json, stages))
        self._model._learn(
            vocab,
            merges,
            continuing_subword_prefix=options.continuing_subword_prefix,
            end_of_word_suffix=options.end_of_word_suffix,
        )
        self._added.add(options.special_tokens, vocab)
        self._changed()


def _as_json(stage: Component | None) -> dict[str, Any] | None:
    return None if stage is None else stage._as_json()


def _from_text(text: str) -> Tokenizer:
    try:
        state = json.loads(text)
    except ValueError as error:
        raise Exception(str(error)) from error
    if not isinstance(state, dict) or not isinstance(state.get("model"), dict):
        raise Exception("Model missing. at line 1 column 2")
    model = Model._from_json(state["model"])
    assert isinstance(model, BPE)
    made = Tokenizer(model)
    kinds: dict[str, type[Component]] = {
        "normalizer": Normalizer,
        "pre_tokenizer": PreTokenizer,
        "post_processor": PostProcessor,
        "decoder": Decoder,
    }
    for name, kind in kinds.items():
        if state.get(name) is not None:
            setattr(made, name, kind._from_json(state[name]))
    listed = state.get("added_tokens") or []
    made._added.add([AddedToken(**_flags(token)) for token in listed], model._vocab)
    if state.get("truncation"):
        made._truncation = Truncation.from_json(state["truncation"])
    if state.get("padding"):
        made._padding = PaddingSettings.from_json(state["padding"])
    return made


def _flags(token: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in token.items() if name != "id"}


def _unpickled(kind: type[Tokenizer], state: bytes, plain: bool) -> Tokenizer:
    made = kind.__new__(kind)
    Watched.__init__(made)
    made.__setstate__(state)
    made._plain = plain
    return made


def _checked(one: Any, is_pretokenized: bool) -> Any:
    """Return a text or a list of words; raise the library's `TypeError` for anything else."""
    if not is_pretokenized:
        if isinstance(one, str):
            return one
        raise TypeError(_NO_TEXT)
    if isinstance(one, str) or not _is_sequence(one):
        raise TypeError(_NO_WORDS)
    words = list(one)
    if all(isinstance(word, str) for word in words):
        return words
    raise TypeError(_NO_WORDS)


def _is_sequence(value: Any) -> bool:
    """Return whether items can be got by their numbers, as from lists and arrays."""
    has = [hasattr(type(value), name) for name in ("__getitem__", "__len__")]
    return all(has) and not isinstance(value, dict)


def _check_sequence(value: Any) -> None:
    """Raise the library's `TypeError` unless a value is a list, a tuple or another sequence."""
    if isinstance(value, str):
        raise TypeError("Can't extract `str` to `Vec`")
    if value is None:
        raise TypeError("'None' is not an instance of 'Sequence'")
    if not _is_sequence(value):
        raise TypeError(f"'{type(value).__name__}' object is not an instance of 'Sequence'")


def _as_pair(one: Any, is_pretokenized: bool) -> tuple[Any, ...]:
    """Return a text, or a pair, of a batch."""
    try:
        return (_checked(one, is_pretokenized),)
    except TypeError:
        if _is_sequence(one) and not isinstance(one, str) and len(one) == 2:
            return tuple(_checked(part, is_pretokenized) for part in one)
        raise TypeError(_NO_WORDS_INPUT if is_pretokenized else _NO_INPUT) from None
