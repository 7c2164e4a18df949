"""The methods of transformers' common class that are replaced, for version 4 and for version 5.

Each does what the original does, in fewer steps, for the usual arguments, and passes all others on to it. The
original then runs on merganser too, because it calls the backend.
"""

from typing import Any, ClassVar

from merganser.compat.transformers.batches import encoded, encoded_alone

#: Options of a call that concern neither padding nor truncation.
_DIRECT = frozenset(
    {
        "add_special_tokens",
        "return_attention_mask",
        "return_length",
        "return_offsets_mapping",
        "return_special_tokens_mask",
        "return_tensors",
        "return_token_type_ids",
        "verbose",
    }
)
#: Options of the methods that encode a batch.
_OPTIONS = _DIRECT | {
    "is_split_into_words",
    "max_length",
    "pad_to_multiple_of",
    "padding_side",
    "padding_strategy",
    "return_overflowing_tokens",
    "split_special_tokens",
    "stride",
    "truncation_strategy",
}
#: The one option of decoding that is known here.
_CLEAN = frozenset({"clean_up_tokenization_spaces"})


class Calls:
    """The methods that are the same in both versions."""

    #: Methods that the replaced methods do not call although the originals do. If a class overrides one, the
    #: originals run for it.
    SKIPPED_BY_CALL: ClassVar[tuple[str, ...]] = (
        "_call_one",
        "_get_padding_truncation_strategies",
        "_switch_to_input_mode",
        "batch_encode_plus",
        "encode_plus",
    )
    SKIPPED_BY_ENCODING: ClassVar[tuple[str, ...]] = (
        "_convert_encoding",
        "_eventual_warn_about_too_long_sequence",
        "set_truncation_and_padding",
    )
    SKIPPED_BY_DECODING: ClassVar[tuple[str, ...]] = ("_decode", "clean_up_tokenization")
    #: Whether the class overrides none of them; set for each class.
    _calls_directly: ClassVar[bool]
    _encodes_directly: ClassVar[bool]
    _decodes_directly: ClassVar[bool]
    _tokenizer: Any
    clean_up_tokenization_spaces: bool
    split_special_tokens: bool

    def __call__(self, text: Any = None, *inputs: Any, **options: Any) -> Any:
        if self._calls_directly and not inputs and options.keys() <= _DIRECT:
            if type(text) is str:
                if self._encodes_directly and options.get("return_tensors") is None and self._is_reset():
                    try:
                        return encoded_alone(self, text, options)
                    except TypeError:  # which transformers words differently
                        pass
                return self._encode_plus(text, split_special_tokens=self.split_special_tokens, **options)
            if type(text) is list and text and type(text[0]) is str:
                return self._encode_list(text, split_special_tokens=self.split_special_tokens, **options)
        return super().__call__(text, *inputs, **options)  # type: ignore[misc]

    def _encode_plus(self, text: Any, text_pair: Any = None, *inputs: Any, **options: Any) -> Any:
        if self._encodes_directly and not inputs and _plain(options) and type(text) is str:
            if text_pair is None:
                return self._encoded([text], options, is_batched=False)
            if type(text_pair) is str:  # transformers ignores an empty one
                return self._encoded([(text, text_pair) if text_pair else text], options, is_batched=False)
        return super()._encode_plus(text, text_pair, *inputs, **options)  # type: ignore[misc]

    def _encode_list(self, texts: list[str], **options: Any) -> Any:
        raise NotImplementedError

    def _is_reset(self) -> bool:
        """Return whether the backend is set as a call without options sets it."""
        backend = self._tokenizer
        return (
            backend._truncation is None
            and backend._padding is None
            and backend._plain == self.split_special_tokens
        )

    def _encoded(self, batch: Any, options: dict[str, Any], *, is_batched: bool) -> Any:
        """Return the result for texts or pairs of texts."""
        backend = self._tokenizer
        padding = options.get("padding_strategy", "do_not_pad")
        truncation = options.get("truncation_strategy", "do_not_truncate")
        if padding == "do_not_pad" and truncation == "do_not_truncate":  # their types derive from str
            if backend.truncation is not None:
                backend.no_truncation()
            if backend.padding is not None:
                backend.no_padding()
        else:
            self.set_truncation_and_padding(  # type: ignore[attr-defined]
                padding_strategy=padding,
                truncation_strategy=truncation,
                max_length=options.get("max_length"),
                stride=options.get("stride", 0),
                pad_to_multiple_of=options.get("pad_to_multiple_of"),
                padding_side=options.get("padding_side"),
            )
        split = options.get("split_special_tokens")
        if split is None:
            split = self._split_by_default
        if backend.encode_special_tokens != split:
            backend.encode_special_tokens = split
        return encoded(self, batch, options, is_batched)

    @property
    def _split_by_default(self) -> bool:
        return self.split_special_tokens

    def _decoded(self, batch: Any, skip_special_tokens: bool, options: dict[str, Any]) -> list[str] | None:
        """Return the texts of a batch of ids; None if it is no batch, or if the options ask for more."""
        clean = options.get("clean_up_tokenization_spaces")
        if clean is None:
            clean = self.clean_up_tokenization_spaces
        # CLIP replaces the method of its backend.
        if (
            clean
            or not self._decodes_directly
            or not options.keys() <= _CLEAN
            or "decode" in vars(self._tokenizer)
        ):
            return None
        rows = batch.tolist() if hasattr(batch, "tolist") else batch
        if not (type(rows) is list and rows and all(type(row) is list for row in rows)):
            return None
        decoded: list[str] = self._tokenizer.decode_batch(rows, skip_special_tokens=skip_special_tokens)
        return decoded


def _plain(options: dict[str, Any]) -> bool:
    """Return whether the options are known, and texts are not split into words."""
    return options.keys() <= _OPTIONS and not options.get("is_split_into_words", False)


class CallsOfVersion5(Calls):
    """`_encode_plus` encodes a text or a batch, and `decode` decodes one or the other."""

    def _encode_plus(self, text: Any, text_pair: Any = None, *inputs: Any, **options: Any) -> Any:
        is_list = type(text) in (list, tuple) and text and type(text[0]) is str
        if is_list and self._encodes_directly and not inputs and _plain(options):
            if text_pair is None:
                return self._encoded(text, options, is_batched=True)
            if type(text_pair) in (list, tuple) and len(text_pair) == len(text) and type(text_pair[0]) is str:
                return self._encoded(list(zip(text, text_pair, strict=True)), options, is_batched=True)
        return super()._encode_plus(text, text_pair, *inputs, **options)

    def _encode_list(self, texts: list[str], **options: Any) -> Any:
        return self._encode_plus(texts, **options)

    def decode(self, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
        decoded = self._decoded(token_ids, skip_special_tokens, options)
        if decoded is None:
            return super().decode(token_ids, skip_special_tokens, **options)  # type: ignore[misc]
        return decoded


class CallsOfVersion4(Calls):
    """`_encode_plus` encodes a text, `_batch_encode_plus` a batch; `batch_decode` decodes a batch."""

    def _batch_encode_plus(self, batch_text_or_text_pairs: Any, *inputs: Any, **options: Any) -> Any:
        batch = batch_text_or_text_pairs
        if (
            self._encodes_directly
            and not inputs
            and _plain(options)
            and type(batch) in (list, tuple)
            and batch
        ):
            return self._encoded(batch, options, is_batched=True)
        return super()._batch_encode_plus(batch, *inputs, **options)  # type: ignore[misc]

    def _encode_list(self, texts: list[str], **options: Any) -> Any:
        return self._batch_encode_plus(texts, **options)

    def batch_decode(
        self, sequences: Any, skip_special_tokens: bool = False, *inputs: Any, **options: Any
    ) -> Any:
        decoded = None if inputs else self._decoded(sequences, skip_special_tokens, options)
        if decoded is None:
            return super().batch_decode(sequences, skip_special_tokens, *inputs, **options)  # type: ignore[misc]
        return decoded

    @property
    def _split_by_default(self) -> bool:
        return False


def calls_for(common: type) -> type[Calls]:
    """Return the methods for a version of transformers, given its common class."""
    return CallsOfVersion4 if hasattr(common, "_batch_encode_plus") else CallsOfVersion5
