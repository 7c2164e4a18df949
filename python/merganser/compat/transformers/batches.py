"""From a batch of texts to a `BatchEncoding`: one call of the backend, then one list per field.

transformers converts each encoding of a batch to a dict of lists and joins the dicts afterwards, which takes
longer than encoding a short text. The result here is equal, key by key.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from merganser.extras import imported

#: The keys of a result after `input_ids`, in order, between the option that requests each and the field of
#: an encoding.
_FIELDS = (
    ("return_token_type_ids", "token_type_ids", "type_ids"),
    ("return_attention_mask", "attention_mask", "attention_mask"),
    ("return_special_tokens_mask", "special_tokens_mask", "special_tokens_mask"),
    ("return_offsets_mapping", "offset_mapping", "offsets"),
)


@cache
def batch_encoding() -> Any:
    """Return transformers' class of results."""
    return imported("transformers", "hf", "merganser.compat.transformers").BatchEncoding


def encoded(tokenizer: Any, batch: Sequence[Any], options: Mapping[str, Any], is_batched: bool) -> Any:
    """Return the result for a batch of texts, or of pairs of texts.

    Parameters
    ----------
    tokenizer
        An accelerated tokenizer, whose backend truncates and pads as requested.
    batch
        The texts; one if `is_batched` is false.
    options
        The options of the call, by transformers' names.
    is_batched
        Whether the caller passed a list; otherwise the result has no axis for the batch.
    """
    if (
        not is_batched
        and options.get("return_tensors") is None
        and not options.get("return_overflowing_tokens")
    ):
        try:
            return _encoded_alone(tokenizer, batch[0], options)
        except TypeError:  # which a batch words differently
            pass
    encodings = tokenizer._tokenizer.encode_batch(
        batch,
        is_pretokenized=options.get("is_split_into_words", False),
        add_special_tokens=options.get("add_special_tokens", True),
    )
    overflowing = options.get("return_overflowing_tokens", False)
    samples: list[int] = []
    if overflowing:
        encodings = [(n, part) for n, each in enumerate(encodings) for part in (each, *each.overflowing)]
        samples = [n for n, _ in encodings]
        encodings = [part for _, part in encodings]
    rows = [encoding.ids for encoding in encodings]
    data: dict[str, Any] = {"input_ids": rows}
    for key, field in _wanted(tokenizer, options):
        data[key] = [getattr(encoding, field) for encoding in encodings]
    if options.get("return_length", False):
        data["length"] = list(map(len, rows))
    if overflowing:
        data["overflow_to_sample_mapping"] = samples
    warn_if_too_long(tokenizer, rows, options)
    tensors = options.get("return_tensors")
    return batch_encoding()(data, encodings, tensor_type=tensors)


def _encoded_alone(tokenizer: Any, given: Any, options: Mapping[str, Any]) -> Any:
    """Return the result for one text, or one pair, without an axis for the batch."""
    texts = given if isinstance(given, tuple) else (given,)
    special = options.get("add_special_tokens", True)
    encoding = tokenizer._tokenizer.encode(*texts, add_special_tokens=special)
    ids = encoding.ids
    data: dict[str, Any] = {"input_ids": ids}
    for key, field in _wanted(tokenizer, options):
        data[key] = getattr(encoding, field)
    if options.get("return_length", False):
        data["length"] = [len(ids)]
    warn_if_too_long(tokenizer, [ids], options)
    return batch_encoding()(data, [encoding])


def _wanted(tokenizer: Any, options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the keys to return, each with the field of an encoding."""
    for option, key, field in _FIELDS:
        wanted = options.get(option)
        if key in tokenizer.model_input_names if wanted is None else wanted:
            yield key, field


def warn_if_too_long(tokenizer: Any, rows: list[list[int]], options: Mapping[str, Any]) -> None:
    """Warn of rows that are longer than the model allows, as transformers does."""
    max_length, verbose = options.get("max_length"), options.get("verbose", True)
    if max_length is None and verbose and max(map(len, rows)) > tokenizer.model_max_length:
        for row in rows:
            tokenizer._eventual_warn_about_too_long_sequence(row, max_length, verbose)
