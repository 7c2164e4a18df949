"""Arguments: what was meant by one that a function cannot take.

Functions that take the settings of `ReadOptions` by name take any name, as far as Python is concerned.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import fields
from inspect import Parameter, signature

from merganser.corpus.read_options import ReadOptions
from merganser.engines.local import Local
from merganser.errors import ArgumentError


def check_names(function: Callable[..., object], given: Iterable[str]) -> None:
    """Refuse names that are not settings of `ReadOptions`, and say which argument of `function` was meant."""
    reading = [field.name for field in fields(ReadOptions)]
    unknown = [name for name in given if name not in reading]
    if unknown:
        own = [
            name for name, one in signature(function).parameters.items() if one.kind != Parameter.VAR_KEYWORD
        ]
        raise ArgumentError(
            f"{function.__name__}() has no argument {unknown[0]!r}; {_meant(unknown[0], own, reading)}"
        )


def _meant(name: str, own: list[str], reading: list[str]) -> str:
    from difflib import get_close_matches

    if "engine" in own and name in {field.name for field in fields(Local)}:
        return f"pass it to the engine: engine=Local({name}=…)"
    known = [one for one in own if one not in ("self", "tokenizer")] + reading
    near = get_close_matches(name, known, 1)
    return f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"


def whole_number(value: object, name: str) -> int:
    """`value`, if it is one: an int, or what numpy has for it.

    >>> whole_number("32_000", "vocab_size")
    Traceback (most recent call last):
    ...
    merganser.errors.ArgumentError: vocab_size must be an int, not the str '32_000'; write vocab_size=32000
    """
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        pass
    advice = ""
    digits = str(value).strip().replace("_", "").replace(",", "")
    if isinstance(value, str) and digits.isdecimal():
        advice = f"; write {name}={int(digits)}"
    elif isinstance(value, float) and value.is_integer():
        advice = f"; write {name}={int(value)}"
    raise ArgumentError(f"{name} must be an int, not the {type(value).__name__} {value!r}{advice}")
