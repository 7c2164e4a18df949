"""Engine: the merganser tokenizer behind a `Tokenizer`, compiled from its components when first used.

An engine never changes. It encodes and decodes; what a post-processor, truncation and padding do to the ids
happens outside, so that none of them needs another engine.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from merganser import _core
from merganser.compat.tokenizers.parts import Offsets, trimmed_all
from merganser.errors import DecodeError
from merganser.formats import BadFile, stages
from merganser.formats.huggingface_definition import definition


class Engine:
    """A compiled tokenizer.

    Parameters
    ----------
    model, normalizer, pre_tokenizer, decoder
        The objects of a tokenizer.json.
    added
        The added tokens, lowest id first.
    names
        How added tokens are spelled when they are decoded, by id.
    """

    def __init__(
        self,
        model: dict[str, Any],
        added: list[dict[str, Any]],
        names: dict[int, str],
        normalizer: dict[str, Any] | None,
        pre_tokenizer: dict[str, Any] | None,
        decoder: dict[str, Any] | None,
    ) -> None:
        if model.get("dropout"):
            raise NotImplementedError(
                "merganser has no dropout, which encodes a text differently every time; set dropout to None"
            )
        config = {"added_tokens": added, "normalizer": normalizer, "pre_tokenizer": pre_tokenizer}
        self.native, compiled = _compiled(config, model, added, decoder)
        nothing: dict[str, Any] = {"before": [], "type_id": 0, "after": [], "trims": None, "offsets": True}
        self._frames = [_core.Frame(self.native, specials=specials, **nothing) for specials in (True, False)]
        self.decodes = compiled and _is_decoded_by_core(decoder, normalizer, pre_tokenizer, model)
        self._renamed = {token["id"] for token in added if names[token["id"]] != token["content"]}
        self.spelled: dict[int, str] = {token["id"]: token["content"] for token in added}
        self.spelled.update((id, token) for token, id in model["vocab"].items())
        # Where a normalizer spells bytes as characters, none of them is white space.
        spells = stages.has(stages.parts_of(normalizer, "normalizer"), "ByteLevel")
        stripping = {
            token["id"]
            for token in added
            if (token["lstrip"] or token["rstrip"]) and not (spells and token["normalized"])
        }
        normalized = {token["id"] for token in added if token["normalized"] and normalizer}
        #: The added tokens that may be found as something else than their content.
        self._varying = stripping | normalized
        #: How those are spelled that are found as nothing but their normalized content: the core may have
        #: found another spelling of it, with spaces for `▁` or with bytes.
        self._normal = {id: names[id] for id in normalized - stripping}

    def found(self, id: int, text: str) -> str:
        """Return how an added token is spelled that was found as this text."""
        return self._normal.get(id, text)

    @property
    def respells_some(self) -> bool:
        """Whether there are tokens that the core may find in another spelling."""
        return bool(self._normal)

    def respells(self, ids: Iterable[int]) -> bool:
        """Return whether the core may have found tokens in another spelling, so that it trims wrongly."""
        return bool(self._normal) and not self._normal.keys().isdisjoint(ids)

    def frame(self, plain: bool) -> _core.Frame:
        """Return how texts are encoded with nothing around them; `plain` if special tokens are text."""
        return self._frames[plain]

    def tokens(self, ids: list[int]) -> list[str]:
        """Return how tokens are spelled, if none of them was found as something else."""
        return list(map(self.spelled.__getitem__, ids))

    def varies(self, ids: Iterable[int]) -> bool:
        """Return whether tokens may be spelled otherwise than in the vocabulary."""
        return bool(self._varying) and not self._varying.isdisjoint(ids)

    def decode(self, ids: Sequence[int], skip_special_tokens: bool) -> str | None:
        """Return the text of ids; None if it must be decoded token by token."""
        if not self.decodes or (self._renamed and not self._renamed.isdisjoint(ids)):
            return None
        try:
            text: str = self.native.decode(ids, "replace", skip_special_tokens=skip_special_tokens)
        except (DecodeError, OverflowError, TypeError):  # an id that is unknown, which is left out, or none
            return None
        return text


def _compiled(
    config: dict[str, Any],
    model: dict[str, Any],
    added: list[dict[str, Any]],
    decoder: dict[str, Any] | None,
) -> tuple[Any, bool]:
    """Return the native tokenizer, and whether it decodes as the decoder does."""
    prefix = model.get("continuing_subword_prefix")
    # The core needs to know how words are told from their continuations, even if it decodes nothing.
    other = {"type": "WordPiece", "prefix": prefix, "cleanup": False} if prefix else None
    for given in (decoder, other):
        try:
            made = definition({**config, "decoder": given}, model)
            added = stages.added_after_normalizing(added, stages.parts_of(config["normalizer"], "normalizer"))
            return replace(made, added_tokens=added).tokenizer(), given is decoder
        except BadFile as error:
            problem = error
    raise ValueError(f"merganser cannot use this tokenizer: it {problem}")


def _is_decoded_by_core(
    decoder: dict[str, Any] | None,
    normalizer: dict[str, Any] | None,
    pre_tokenizer: dict[str, Any] | None,
    model: dict[str, Any],
) -> bool:
    """Return whether the core is known to give the same texts: byte-level BPE and Llama's decoders."""
    parts = stages.parts_of(decoder, "decoder")
    before = stages.parts_of(normalizer, "normalizer") + stages.parts_of(pre_tokenizer, "pre_tokenizer")
    byte_level = stages.has(before, "ByteLevel")
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        return False
    match parts:
        case [{"type": "ByteLevel"}]:
            return byte_level
        case [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
            {"type": "ByteFallback"},
            {"type": "Fuse"},
            *rest,
        ]:
            strips = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}]
            return not byte_level and bool(model.get("byte_fallback")) and rest in ([], strips)
    return False


class WholeText:
    """A text of those that were encoded together."""

    __slots__ = ("_engine", "_ids", "_index", "_kept", "_texts")

    def __init__(self, engine: Engine, texts: _core.EncodedTexts, index: int) -> None:
        self._engine, self._texts, self._index = engine, texts, index
        self._ids = texts.text_ids(index)
        self._kept: dict[Any, list[Any]] = {}

    def ids(self) -> list[int]:
        return self._ids

    def tokens(self) -> list[str]:
        if (kept := self._kept.get("tokens")) is None:
            engine = self._engine
            kept = self._kept["tokens"] = engine.tokens(self._ids)
            if engine.varies(self._ids):
                for at, found in self._details().added():
                    kept[at] = engine.found(self._ids[at], found)
        return kept

    def offsets(self, prefixed: bool | None) -> Offsets:
        if (kept := self._kept.get(prefixed)) is None:
            if prefixed is not None and self._engine.respells(self._ids):
                kept = trimmed_all(self.tokens(), self.offsets(None), prefixed, True)
            else:
                kept = self._details().offsets(prefixed)
            self._kept[prefixed] = kept
        return kept

    def words(self) -> list[int | None]:
        if (kept := self._kept.get("words")) is None:
            kept = self._kept["words"] = self._details().words()
        return kept

    def _details(self) -> _core.Details:
        return self._texts.details(self._index)


class Words:
    """A text that was given as a list of words, each of which was encoded alone."""

    __slots__ = ("_ids", "_kept", "_words")

    def __init__(self, words: list[WholeText]) -> None:
        self._words = words
        self._ids = [id for word in words for id in word.ids()]
        self._kept: dict[bool | None, Offsets] = {}

    def ids(self) -> list[int]:
        return self._ids

    def tokens(self) -> list[str]:
        return [token for word in self._words for token in word.tokens()]

    def offsets(self, prefixed: bool | None) -> Offsets:
        if prefixed not in self._kept:
            spans = [span for word in self._words for span in word.offsets(None)]
            if prefixed is not None:
                spans = trimmed_all(self.tokens(), spans, prefixed, True)
            self._kept[prefixed] = spans
        return self._kept[prefixed]

    def words(self) -> list[int | None]:
        return [n for n, word in enumerate(self._words) for _ in word.ids()]


class Unknown:
    """A text of which nothing but the ids is kept, as `encode_batch_fast` returns it."""

    __slots__ = ("_ids",)

    def __init__(self, ids: list[int]) -> None:
        self._ids = ids

    def ids(self) -> list[int]:
        return self._ids

    def tokens(self) -> list[str]:
        return [""] * len(self._ids)

    def offsets(self, prefixed: bool | None) -> Offsets:
        return [(0, 0)] * len(self._ids)

    def words(self) -> list[int | None]:
        return [None] * len(self._ids)
