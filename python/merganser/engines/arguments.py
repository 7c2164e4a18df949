"""Check arguments, and suggest a correction for unknown ones.

Functions that accept the fields of `ReadOptions` as `**reading` must check the names themselves.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import fields
from inspect import Parameter, signature

from merganser.corpus.read_options import ReadOptions
from merganser.engines.local import Local
from merganser.errors import ArgumentError


def check_names(function: Callable[..., object], given: Iterable[str]) -> None:
    """Raise an `ArgumentError` with a suggestion for names that are not fields of `ReadOptions`."""
    read_options = [field.name for field in fields(ReadOptions)]
    unknown = [name for name in given if name not in read_options]
    if unknown:
        parameters = [
            name
            for name, parameter in signature(function).parameters.items()
            if parameter.kind != Parameter.VAR_KEYWORD
        ]
        suggestion = _suggestion(unknown[0], parameters, read_options)
        raise ArgumentError(f"{function.__name__}() has no argument {unknown[0]!r}; {suggestion}")


def _suggestion(name: str, parameters: list[str], read_options: list[str]) -> str:
    from difflib import get_close_matches

    if "engine" in parameters and name in {field.name for field in fields(Local)}:
        return f"pass it to the engine: engine=Local({name}=…)"
    known = [parameter for parameter in parameters if parameter not in ("self", "tokenizer")] + read_options
    matches = get_close_matches(name, known, 1)
    return f"did you mean {matches[0]!r}?" if matches else f"it accepts {', '.join(known)}"


def as_int(value: object, name: str) -> int:
    """Return `value` as an int, if it is an int or a numpy integer.

    >>> as_int("32_000", "vocab_size")
    Traceback (most recent call last):
    ...
    merganser.errors.ArgumentError: vocab_size must be an int, got the str '32_000'; write vocab_size=32000
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    remedy = ""
    digits = str(value).strip().replace("_", "").replace(",", "")
    if isinstance(value, str) and digits.isdecimal():
        remedy = f"; write {name}={int(digits)}"
    elif isinstance(value, float) and value.is_integer():
        remedy = f"; write {name}={int(value)}"
    raise ArgumentError(f"{name} must be an int, got the {type(value).__name__} {value!r}{remedy}")
