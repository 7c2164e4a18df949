"""Accelerated tokenizers: for each class of transformers a subclass, created when it is needed.

`LlamaTokenizer` becomes

    class Layer(Calls, transformers.PreTrainedTokenizerFast): ...
    class LlamaTokenizer(transformers.LlamaTokenizer, Layer): ...

so Python looks methods up in the model's class, then in `Calls`, then in transformers' common class. Whatever
a model does differently stays in force, and reaches our methods through `super()`. The subclass has the name
of the original, which transformers writes to `tokenizer_config.json`.

Instances are pickled with their original class, from which the subclass is created again.
"""

from collections.abc import Callable
from copy import copy, deepcopy
from functools import cache, wraps
from types import FunctionType
from typing import Any, TypeVar

from merganser.compat import tokenizers
from merganser.compat.transformers.backends import Backend, backend_of, converted, stock_tokens
from merganser.compat.transformers.calls import Calls, calls_for
from merganser.extras import imported

_Tokenizer = TypeVar("_Tokenizer")

#: Larger attributes, such as the vocabulary that some classes keep, are copied without their items.
_MAX_DEEP = 1000


def accelerate(tokenizer: _Tokenizer) -> _Tokenizer:
    """Return a copy of a transformers tokenizer that runs on merganser.

    The original is unchanged. A tokenizer that already runs on merganser is returned as it is.

    Parameters
    ----------
    tokenizer : transformers.PreTrainedTokenizerFast
        A fast BPE tokenizer.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        A tokenizer that is an instance of the same class.

    Raises
    ------
    FormatError
        If the tokenizer is not BPE, or is not a fast one.
    ImportError
        If transformers is not installed.

    Examples
    --------
    >>> import merganser
    >>> from transformers import PreTrainedTokenizerFast
    >>> small = merganser.train(["low lower lowest"] * 9, 260).to_huggingface()
    >>> stock = PreTrainedTokenizerFast(tokenizer_object=small)
    >>> fast = accelerate(stock)
    >>> fast("lowest")["input_ids"], isinstance(fast, type(stock))
    ([257, 101, 115, 116], True)
    """
    if isinstance(tokenizer, Calls):
        return tokenizer
    backend = backend_of(tokenizer)
    original: type[Any] = type(tokenizer)
    accelerated = _new(original)
    for name, value in vars(tokenizer).items():
        if name != "_tokenizer":
            accelerated.__dict__[name] = _copied(value)
    _install(accelerated, backend)
    result: _Tokenizer = accelerated
    return result


def _copied(value: Any) -> Any:
    """Return a copy of an attribute."""
    large = isinstance(value, dict | list) and len(value) > _MAX_DEEP
    return copy(value) if large else deepcopy(value)


def _install(tokenizer: Any, backend: Backend) -> None:
    """Make `backend` the backend of a tokenizer."""
    tokenizer._tokenizer = backend
    # CLIP replaces a method of its backend object.
    if wrap := getattr(type(tokenizer), "_wrap_decode_method_backend_tokenizer", None):
        wrap(tokenizer)


@cache
def accelerated_class(original: type[Any]) -> type[Any]:
    """Return the accelerated subclass of a class of fast tokenizers."""
    layer = _layer()
    bases = (layer,) if original is _common_class() else (original, layer)

    @wraps(original.__init__)  # programs inspect its signature
    def initialize(self: Any, *inputs: Any, **options: Any) -> None:
        super(cls, self).__init__(*inputs, **options)
        if not isinstance(self._tokenizer, Backend):
            _install(self, converted(self._tokenizer, original.__name__))

    def reduce(self: Any, protocol: int) -> tuple[Any, ...]:
        # object's own method: the state is what the original class makes it
        _, _, *state = super(cls, self).__reduce_ex__(max(protocol, 2))
        return _new, (original,), *state

    def from_pretrained(_: type, *inputs: Any, **options: Any) -> Any:
        return accelerate(original.from_pretrained(*inputs, **options))

    cls: type[Any] = type(
        original.__name__,
        bases,
        {
            "__init__": initialize,
            "__reduce_ex__": reduce,
            "__doc__": original.__doc__,
            "__module__": original.__module__,
            "__qualname__": original.__qualname__,
            "from_pretrained": classmethod(from_pretrained),
        },
    )
    for flag, names in (
        ("_calls_directly", Calls.SKIPPED_BY_CALL),
        ("_encodes_directly", Calls.SKIPPED_BY_ENCODING),
        ("_decodes_directly", Calls.SKIPPED_BY_DECODING),
    ):
        inherited = all(getattr(cls, name, None) is getattr(layer, name, None) for name in names)
        setattr(cls, flag, inherited)
    return cls


def _new(original: type) -> Any:
    """Return an accelerated tokenizer without attributes."""
    cls: Any = accelerated_class(original)
    return cls.__new__(cls)


def _common_class() -> type:
    """Return the class of transformers from which every fast tokenizer inherits, in version 4 and 5."""
    common: type = imported("transformers", "hf", "merganser.compat.transformers").PreTrainedTokenizerFast
    return common


@cache
def _layer() -> type:
    common: Any = _common_class()
    trained = _with_names(
        common.train_new_from_iterator,
        TokenizerFast=Backend,
        MODEL_TO_TRAINER_MAPPING={"BPE": tokenizers.trainers.BpeTrainer},
    )
    namespace: dict[str, Any] = {"train_new_from_iterator": trained}
    # Programs, and transformers itself, expect the class of the library.
    added = property(lambda self: stock_tokens(self._tokenizer.get_added_tokens_decoder()))
    names = ("added_tokens_decoder", "_added_tokens_decoder")
    namespace |= {name: added for name in names if isinstance(getattr(common, name, None), property)}
    return type("MerganserBackend", (calls_for(common), common), namespace)


def _with_names(function: Any, **names: Any) -> Callable[..., Any]:
    """Return a function that finds other objects under some global names; the original is unchanged."""
    missing = names.keys() - function.__globals__.keys()
    assert not missing, f"transformers no longer has {missing}"
    changed = FunctionType(
        function.__code__,
        function.__globals__ | names,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    changed.__kwdefaults__ = function.__kwdefaults__
    changed.__doc__ = function.__doc__
    return changed
