"""Frozen dicts and lists: every change is rejected, and everything else works as usual."""

import copy
import json
import pickle
from typing import Any

import pytest
from merganser.tokenizer.frozen import FrozenDict, FrozenList

PLAIN = {"b": 2, "a": 1}
ROWS = [3, 1, 2]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.__setitem__("c", 3),
        lambda x: x.__delitem__("a"),
        lambda x: x.update(c=3),
        lambda x: x.update({"c": 3}),
        lambda x: x.pop("a"),
        lambda x: x.pop("c", None),
        lambda x: x.popitem(),
        lambda x: x.clear(),
        lambda x: x.setdefault("c", 3),
        lambda x: x.setdefault("a", 1),
        lambda x: x.__ior__({"c": 3}),
    ],
)
def test_every_change_to_a_dict_is_rejected(change: Any) -> None:
    frozen = FrozenDict(PLAIN)
    with pytest.raises(TypeError, match=r"read-only; modify a copy: dict\(\.\.\.\)"):
        change(frozen)
    assert frozen == PLAIN


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.__setitem__(0, 3),
        lambda x: x.__setitem__(slice(2), []),
        lambda x: x.__delitem__(0),
        lambda x: x.append(1),
        lambda x: x.extend([1]),
        lambda x: x.insert(0, 1),
        lambda x: x.remove(1),
        lambda x: x.pop(),
        lambda x: x.clear(),
        lambda x: x.sort(key=None),
        lambda x: x.reverse(),
        lambda x: x.__iadd__([1]),
        lambda x: x.__imul__(2),
    ],
)
def test_every_change_to_a_list_is_rejected(change: Any) -> None:
    frozen = FrozenList(ROWS)
    with pytest.raises(TypeError, match=r"read-only; modify a copy: list\(\.\.\.\)"):
        change(frozen)
    assert frozen == ROWS


def test_every_mutating_method_is_overridden() -> None:
    """Compare with the methods that dict and list have and that frozenset and tuple lack."""
    reads = {"__class_getitem__", "copy", "fromkeys", "get", "items", "keys", "values", "__reversed__"}
    reads |= {"__or__", "__ror__"}
    for kind, immutable in ((FrozenDict, frozenset), (FrozenList, tuple)):
        base = kind.__mro__[1]
        changes = {name for name in vars(base) if name not in dir(immutable)} - reads
        changes -= {"__getitem__", "__init__", "__reversed__"}
        assert changes == set(vars(kind)) & changes


def test_copies_are_plain_and_mutable() -> None:
    frozen, rows = FrozenDict(PLAIN), FrozenList(ROWS)
    for copied in (
        dict(frozen),
        frozen.copy(),
        frozen | {},
        {} | frozen,
        copy.copy(frozen),
        copy.deepcopy(frozen),
    ):
        assert type(copied) is dict
        assert copied == PLAIN == frozen
    for copied in (list(rows), rows.copy(), rows[:], rows + ROWS[:0], copy.copy(rows), copy.deepcopy(rows)):
        assert type(copied) is list
        assert copied == ROWS == rows
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps((frozen, rows), protocol)) == (PLAIN, ROWS)


def test_reading_and_printing_work_as_for_plain_objects() -> None:
    frozen, rows = FrozenDict(PLAIN), FrozenList(ROWS)
    assert json.dumps([frozen, rows]) == json.dumps([PLAIN, ROWS])
    assert (repr(frozen), repr(rows)) == (repr(PLAIN), repr(ROWS))
    assert (frozen["a"], frozen.get("c"), list(frozen), rows[-1]) == (1, None, ["b", "a"], 2)
