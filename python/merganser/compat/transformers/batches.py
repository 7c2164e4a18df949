"""From a batch of texts to a `BatchEncoding`: one call of the backend, then one list per field.

transformers converts each encoding of a batch to a dict of lists and joins the dicts afterwards, which takes
longer than encoding a short text. The result here is equal, key by key.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any

from merganser.compat.tokenizers import Encoding
from merganser.extras import imported

#: The keys of a result after `input_ids`, in order, between the option that requests each and the field of
#: an encoding.
_FIELDS = (
    ("return_token_type_ids", "token_type_ids", "type_ids"),
    ("return_attention_mask", "attention_mask", "attention_mask"),
    ("return_special_tokens_mask", "special_tokens_mask", "special_tokens_mask"),
    ("return_offsets_mapping", "offset_mapping", "offsets"),
)
_IDS = ("input_ids", "ids")
#: The attributes of a result that are set without its constructor.
_ATTRIBUTES = {"data", "_encodings", "_n_sequences"}


@cache
def batch_encoding() -> Any:
    """Return transformers' class of results."""
    return imported("transformers", "hf", "merganser.compat.transformers").BatchEncoding


@cache
def _is_plain() -> bool:
    """Return whether a result without tensors is nothing but the attributes that are known here."""
    made: Any = batch_encoding()({}, [Encoding()])
    return vars(made).keys() == _ATTRIBUTES and batch_encoding().__setattr__ is object.__setattr__


def result(data: dict[str, Any], encodings: list[Encoding]) -> Any:
    """Return a result without tensors. The constructor takes longer than encoding a short text."""
    if not _is_plain():
        return batch_encoding()(data, encodings)
    kind = batch_encoding()
    made = kind.__new__(kind)
    made.data = data
    made._encodings = encodings
    made._n_sequences = encodings[0].n_sequences if encodings else None
    return made


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
    tensors = options.get("return_tensors")
    overflowing = options.get("return_overflowing_tokens", False)
    if not is_batched and tensors is None and not overflowing:
        try:
            return encoded_alone(tokenizer, batch[0], options)
        except TypeError:  # which a batch words differently
            pass
    backend = tokenizer._tokenizer
    special = options.get("add_special_tokens", True)
    texts = None if overflowing else backend._encoded(batch, special)
    if texts is None:
        encodings = backend.encode_batch(batch, add_special_tokens=special)
    else:
        encodings = texts.encodings(Encoding)
    samples: list[int] = []
    if overflowing:
        parts = [(n, part) for n, each in enumerate(encodings) for part in (each, *each.overflowing)]
        samples = [n for n, _ in parts]
        encodings = [part for _, part in parts]
    data: dict[str, Any] = {}
    for key, field in (_IDS, *_wanted(tokenizer, options)):
        if texts is None:
            data[key] = [getattr(encoding, field) for encoding in encodings]
        elif (tensor := _tensor(texts, field, tensors)) is not None:
            data[key] = tensor
        else:
            data[key] = texts.rows(field, encodings)
    if options.get("return_length", False):
        data["length"] = list(map(len, encodings))
    if overflowing:
        data["overflow_to_sample_mapping"] = samples
    warn_if_too_long(tokenizer, data["input_ids"], options)
    if tensors is None:
        return result(data, encodings)
    return batch_encoding()(data, encodings, tensor_type=tensors)


def _tensor(texts: Any, field: str, kind: Any) -> Any:
    """Return a field of all texts as a tensor; None if transformers must build it, or say why it cannot."""
    array = texts.array(field) if kind in ("np", "pt") else None
    if array is None:
        return None
    if kind == "np":
        return array.astype(int, copy=False)  # 32 bits in old versions of NumPy on Windows
    try:
        return import_module("torch").from_numpy(array)
    except ImportError:
        return None


def encoded_alone(tokenizer: Any, given: Any, options: Mapping[str, Any]) -> Any:
    """Return the result for one text, or one pair, without an axis for the batch."""
    texts = given if isinstance(given, tuple) else (given,)
    encoding = tokenizer._tokenizer.encode(*texts, add_special_tokens=options.get("add_special_tokens", True))
    ids = encoding.ids
    data: dict[str, Any] = {"input_ids": ids}
    for key, field in _wanted(tokenizer, options):
        data[key] = getattr(encoding, field)
    if options.get("return_length"):
        data["length"] = [len(ids)]
    if len(ids) > tokenizer.model_max_length:
        warn_if_too_long(tokenizer, [ids], options)
    return result(data, [encoding])


def _wanted(tokenizer: Any, options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the keys of a result after `input_ids`, each with the field of an encoding."""
    names = tokenizer.model_input_names
    return [
        (key, field)
        for option, key, field in _FIELDS
        if (key in names if (wanted := options.get(option)) is None else wanted)
    ]


def warn_if_too_long(tokenizer: Any, rows: Sequence[Any], options: Mapping[str, Any]) -> None:
    """Warn of rows that are longer than the model allows, as transformers does."""
    max_length, verbose = options.get("max_length"), options.get("verbose", True)
    if max_length is None and verbose and max(map(len, rows)) > tokenizer.model_max_length:
        for row in rows:
            tokenizer._eventual_warn_about_too_long_sequence(row, max_length, verbose)
