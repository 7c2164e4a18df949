"""A read-only dict and list, so that a tokenizer can return the same object on every access.

They are subclasses because tiktoken, `json` and others accept a `dict` but no other mapping. Every copy is a
plain dict or list: `dict(x)`, `x | y`, `x.copy()`, `x[:]`, `copy.copy`, `pickle`.
"""

from typing import NoReturn, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A read-only dict.

    >>> frozen = FrozenDict({"a": 1})
    >>> frozen == {"a": 1}, frozen | {"b": 2}
    (True, {'a': 1, 'b': 2})
    >>> frozen["b"] = 2
    Traceback (most recent call last):
    TypeError: this dict belongs to a tokenizer and is read-only; modify a copy: dict(...)
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this dict belongs to a tokenizer and is read-only; modify a copy: dict(...)")

    __setitem__ = __delitem__ = __ior__ = _refuse
    update = pop = popitem = clear = setdefault = _refuse

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self),)


class FrozenList(list[V]):
    """A read-only list.

    >>> frozen = FrozenList([2, 1])
    >>> frozen == [2, 1], frozen + [3], sorted(frozen)
    (True, [2, 1, 3], [1, 2])
    >>> frozen.sort()
    Traceback (most recent call last):
    TypeError: this list belongs to a tokenizer and is read-only; modify a copy: list(...)
    """

    __slots__ = ()

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this list belongs to a tokenizer and is read-only; modify a copy: list(...)")

    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse
    append = extend = insert = remove = pop = clear = sort = reverse = _refuse

    def __reduce__(self) -> tuple[object, ...]:
        return list, (list(self),)
