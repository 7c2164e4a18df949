"""Frozen: nothing changes a dict or a list that a tokenizer hands out, and everything else works."""

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
def test_a_dict_refuses_every_change(change: Any) -> None:
    frozen = FrozenDict(PLAIN)
    with pytest.raises(TypeError, match=r"make a copy with dict\(\.\.\.\)"):
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
def test_a_list_refuses_every_change(change: Any) -> None:
    frozen = FrozenList(ROWS)
    with pytest.raises(TypeError, match=r"make a copy with list\(\.\.\.\)"):
        change(frozen)
    assert frozen == ROWS


def test_nothing_that_changes_is_forgotten() -> None:
    """Whatever a plain dict or list has and an immutable one of Python's has not, apart from what copies."""
    reads = {"__class_getitem__", "copy", "fromkeys", "get", "items", "keys", "values", "__reversed__"}
    reads |= {"__or__", "__ror__"}
    for kind, immutable in ((FrozenDict, frozenset), (FrozenList, tuple)):
        base = kind.__mro__[1]
        changes = {name for name in vars(base) if name not in dir(immutable)} - reads
        changes -= {"__getitem__", "__init__", "__reversed__"}
        assert changes == set(vars(kind)) & changes


def test_copies_are_plain_and_can_be_changed() -> None:
    frozen, rows = FrozenDict(PLAIN), FrozenList(ROWS)
    for made in (
        dict(frozen),
        frozen.copy(),
        frozen | {},
        {} | frozen,
        copy.copy(frozen),
        copy.deepcopy(frozen),
    ):
        assert type(made) is dict
        assert made == PLAIN == frozen
    for made in (list(rows), rows.copy(), rows[:], rows + ROWS[:0], copy.copy(rows), copy.deepcopy(rows)):
        assert type(made) is list
        assert made == ROWS == rows
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps((frozen, rows), protocol)) == (PLAIN, ROWS)


def test_it_reads_and_prints_like_a_plain_one() -> None:
    frozen, rows = FrozenDict(PLAIN), FrozenList(ROWS)
    assert json.dumps([frozen, rows]) == json.dumps([PLAIN, ROWS])
    assert (repr(frozen), repr(rows)) == (repr(PLAIN), repr(ROWS))
    assert (frozen["a"], frozen.get("c"), list(frozen), rows[-1]) == (1, None, ["b", "a"], 2)
