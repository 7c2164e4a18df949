"""Batches of token files: every window once in an epoch, apart on the ranks, and resumed at any step."""

import json
import sys
from itertools import islice
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import ArgumentError, SettingsError, Tokens, TokensError
from merganser.tokens import Batch, batches
from merganser.tokens.shuffling import Shuffle

END = "<|endoftext|>"
DOCUMENTS = [f"the cat sat on mat {number}" * (number % 7) for number in range(1, 60)]
TOKENIZER = merganser.train(["the cat sat on the mat, and that was that"] * 9, 270, special_tokens=[END])


@pytest.fixture(scope="module", params=["bin", "npy", "llmc", "megatron"])
def tokens(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    """Return a corpus in several shards."""
    folder = tmp_path_factory.mktemp("tokens")
    return TOKENIZER.encode_corpus(DOCUMENTS, out=folder, format=request.param, append=END, shard_tokens=300)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Tokens:
    folder = tmp_path_factory.mktemp("tokens")
    return TOKENIZER.encode_corpus(DOCUMENTS, out=folder, append=END, shard_tokens=300)


def whole(tokens: Tokens) -> list[int]:
    return [id for document in tokens.documents() for id in document.tolist()]


def rows(iterator: Any) -> list[list[int]]:
    return [row for batch in iterator for row in batch.inputs.tolist()]


# ── the permutation ───────────────────────────────────────────────────────────


@given(st.integers(1, 3000), st.integers(-(2**70), 2**70), st.integers(0, 2**40))
def test_a_shuffle_is_a_permutation(size: int, seed: int, epoch: int) -> None:
    shuffled = Shuffle(size, seed, epoch)(np.arange(size)).tolist()
    assert sorted(shuffled) == list(range(size))
    # One at a time, as in any other batches.
    assert [Shuffle(size, seed, epoch)(np.array([at])).item() for at in range(0, size, 97)] == shuffled[::97]


def test_a_shuffle_is_random_enough() -> None:
    """Neighbors are apart, positions are not correlated, and any element can be first."""
    size = 4096
    order = Shuffle(size, 1, 0)(np.arange(size))
    assert abs(np.corrcoef(order, np.arange(size))[0, 1]) < 0.05
    assert np.abs(np.diff(order)).mean() == pytest.approx(size / 3, rel=0.1)
    firsts = {Shuffle(8, seed, 0)(np.arange(1)).item() for seed in range(200)}
    assert firsts == set(range(8))
    orders = {tuple(Shuffle(4, 0, epoch)(np.arange(4)).tolist()) for epoch in range(500)}
    assert len(orders) >= 20  # of 24


def test_a_shuffle_of_any_size_needs_no_memory() -> None:
    size = 10**13  # windows of 1,024 ids in 10 PB of text
    indices = np.array([0, 1, size // 2, size - 1])
    found = Shuffle(size, 3, 5)(indices)
    assert len(set(found.tolist())) == 4
    assert (found >= 0).all() and (found < size).all()


# ── windows ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("length", [1, 7, 64, 500])
def test_without_a_seed_batches_are_slices(tokens: Tokens, length: int) -> None:
    ids = whole(tokens)
    assert len(tokens.shards) > 3
    loader = tokens.batches(length, 2, seed=None, epochs=1, drop_last=False)
    assert (loader.windows, loader.remainder) == (
        (len(ids) - 1) // length,
        len(ids) - loader.windows * length,
    )
    assert 1 <= loader.remainder <= length
    expected = [ids[start : start + length + 1] for start in range(0, len(ids) - length, length)]
    found = [
        [*inputs, targets[-1]]
        for batch in loader
        for inputs, targets in zip(batch.inputs.tolist(), batch.targets.tolist(), strict=True)
    ]
    assert found == expected
    for batch in tokens.batches(length, 2, epochs=1):
        assert batch.inputs.dtype == batch.targets.dtype == np.int64
        assert (batch.inputs[:, 1:] == batch.targets[:, :-1]).all()
        assert batch.positions is None and batch.cu_seqlens is None


def test_an_epoch_visits_every_window_once(plain: Tokens) -> None:
    in_order = rows(plain.batches(9, 1, seed=None, epochs=1))
    count = plain.batches(9, 1).windows
    assert len(in_order) == count
    shuffled = rows(islice(plain.batches(9, 1, seed=3), 3 * count))
    for epoch in range(3):
        part = shuffled[epoch * count : (epoch + 1) * count]
        assert part != in_order
        assert sorted(part) == sorted(in_order)
    assert shuffled[:count] != shuffled[count : 2 * count]
    # Batches of another size go on in the same order, across the epochs.
    assert rows(islice(plain.batches(9, 7, seed=3), 3 * count // 7)) == shuffled[: 3 * count // 7 * 7]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize("batch_size", [1, 4])
def test_ranks_are_disjoint_and_complete(plain: Tokens, world_size: int, batch_size: int) -> None:
    everything = rows(plain.batches(5, 1, seed=1, epochs=2))
    ranks = [
        list(plain.batches(5, batch_size, rank, world_size, 1, epochs=2, drop_last=False))
        for rank in range(world_size)
    ]
    lengths = [
        len(plain.batches(5, batch_size, rank, world_size, 1, epochs=2, drop_last=False))
        for rank in range(world_size)
    ]
    assert [len(rank) for rank in ranks] == lengths
    found = []
    for step in range(max(lengths)):
        found += [row for rank in ranks for batch in rank[step : step + 1] for row in batch.inputs.tolist()]
    assert found == everything
    # By default every rank has equally many full batches.
    full = len(everything) // (world_size * batch_size)
    for rank in range(world_size):
        loader = plain.batches(5, batch_size, rank, world_size, 1, epochs=2)
        assert len(loader) == full
        assert [batch.inputs.shape for batch in loader] == [(batch_size, 5)] * full
        assert len(loader) == 0


def test_seeds_differ_and_repeat(plain: Tokens) -> None:
    first = {seed: rows(islice(plain.batches(6, 4, seed=seed), 5)) for seed in range(6)}
    assert len({str(value) for value in first.values()}) == 6
    for seed, value in first.items():
        assert rows(islice(plain.batches(6, 4, seed=seed), 5)) == value
    assert rows(islice(plain.batches(6, 4), 5)) == first[0]


# ── resuming ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("seed", [None, 8])
@pytest.mark.parametrize("drop_last", [True, False])
def test_a_run_resumes_exactly_at_every_step(plain: Tokens, seed: int | None, drop_last: bool) -> None:
    settings: dict[str, Any] = {"seed": seed, "epochs": 2, "drop_last": drop_last, "documents": "positions"}
    for rank in range(2):
        loader = plain.batches(40, 3, rank, 2, **settings)
        states = [loader.state()]
        seen: list[Batch] = []
        for batch in loader:
            seen.append(batch)
            states.append(loader.state())
        assert len(seen) > 5
        for step, state in enumerate(states):
            kept = json.loads(json.dumps(state))
            resumed = plain.batches(40, 3, rank, 2, **settings, resume=kept)
            assert (resumed.step, resumed.epoch) == (step, step * 6 // resumed.windows)
            assert resumed.state() == state
            rest = list(resumed)
            assert len(rest) == len(seen) - step
            for ours, theirs in zip(rest, seen[step:], strict=True):
                assert (ours.inputs == theirs.inputs).all() and (ours.targets == theirs.targets).all()
                assert (ours.positions == theirs.positions).all()


def test_a_run_resumes_on_other_ranks(plain: Tokens) -> None:
    expected = rows(plain.batches(5, 1, seed=1, epochs=1))
    found = []
    loaders = [plain.batches(5, 3, rank, 2, 1) for rank in range(2)]
    for _ in range(4):
        found += rows(next(loader) for loader in loaders)
    [state] = {json.dumps(loader.state()) for loader in loaders}
    loaders = [plain.batches(5, 2, rank, 3, 1, resume=json.loads(state)) for rank in range(3)]
    for _ in range(5):
        found += rows(next(loader) for loader in loaders)
    assert found == expected[: 4 * 6 + 5 * 6]


def test_a_state_of_other_batches_is_refused(plain: Tokens, tmp_path: Path) -> None:
    state = plain.batches(5, 1, seed=1).state()
    for name, other in {"length": {"length": 6}, "seed": {"seed": 2}}.items():
        settings = {"length": 5, "seed": 1} | other
        with pytest.raises(SettingsError, match=f"its {name} is .*; resume with the same token files"):
            plain.batches(batch_size=1, resume=state, **settings)  # type: ignore[arg-type]
    same_size = TOKENIZER.encode_corpus(
        [*DOCUMENTS[:-1], DOCUMENTS[-1].upper()], out=tmp_path / "other", append=END, shard_tokens=300
    )
    with pytest.raises(SettingsError, match="this state is of other batches"):
        same_size.batches(5, 1, seed=1, resume=state)
    for wrong in ({}, {"windows": 3}, [state], "state"):
        with pytest.raises(SettingsError, match=r"resume must be what state\(\)"):
            plain.batches(5, 1, resume=wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="this merganser reads version 1; upgrade"):
        plain.batches(5, 1, resume={**state, "merganser_batches": 2})
    for windows in (-1, "3", None, 1.5):
        with pytest.raises(SettingsError, match="corrupt"):
            plain.batches(5, 1, seed=1, resume={**state, "windows": windows})


# ── documents ─────────────────────────────────────────────────────────────────


def test_documents_are_kept_apart(tokens: Tokens) -> None:
    length = 11
    ids, owner, place = [], [], []
    for number, document in enumerate(tokens.documents()):
        ids += document.tolist()
        owner += [number] * len(document)
        place += range(len(document))
    positions = tokens.batches(length, 4, seed=5, epochs=1, documents="positions", ignore_index=-100)
    lengths = tokens.batches(length, 4, seed=5, epochs=1, documents="cu_seqlens")
    order = Shuffle(positions.windows, 5, 0)(np.arange(positions.windows)).reshape(-1)
    for step, (one, other) in enumerate(zip(positions, lengths, strict=True)):
        assert (one.inputs == other.inputs).all()
        starts = []
        for row in range(4):
            begin = int(order[4 * step + row]) * length
            assert one.inputs[row].tolist() == ids[begin : begin + length]
            expected = [min(place[at], at - begin) for at in range(begin, begin + length)]
            assert one.positions[row].tolist() == expected
            for at in range(length):
                crosses = owner[begin + at] != owner[begin + at + 1]
                assert one.targets[row, at] == (-100 if crosses else ids[begin + at + 1])
                assert other.targets[row, at] == ids[begin + at + 1]
            starts += [row * length + at for at in range(length) if expected[at] == 0]
        assert other.cu_seqlens.dtype == np.int32
        assert other.cu_seqlens.tolist() == [*starts, 4 * length]
        assert other.positions is None and one.cu_seqlens is None


def test_documents_must_be_recorded(tmp_path: Path) -> None:
    np.save(tmp_path / "ids.npy", np.arange(100, dtype=np.uint16))
    tokens = Tokens.open(tmp_path / "ids.npy")
    assert next(tokens.batches(9, 2, seed=None)).targets[1].tolist() == list(range(10, 19))
    for settings in ({"documents": "positions"}, {"ignore_index": -100}):
        with pytest.raises(TokensError, match="does not record where its documents end"):
            tokens.batches(9, 2, **settings)  # type: ignore[arg-type]


def test_corrupt_boundaries_are_reported(tmp_path: Path) -> None:
    tokens = TOKENIZER.encode_corpus(DOCUMENTS, out=tmp_path / "tokens")
    file = tmp_path / "tokens" / "shard-00000.docs.npy"
    bounds = np.load(file)
    bounds[1:-1] = bounds[1:-1][::-1].copy()
    np.save(file, bounds)
    with pytest.raises(TokensError, match="not in order; encode the corpus again"):
        list(tokens.batches(9, 1, seed=None, epochs=1, documents="positions"))


# ── arguments ─────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"batch_size": -1}, "batch_size must be at least 1, got -1"),
        ({"world_size": 0}, "world_size must be at least 1, got 0"),
        ({"rank": 2, "world_size": 2}, "rank must be from 0 to 1, because world_size is 2, got 2"),
        ({"rank": -1}, "rank must be from 0 to 0"),
        ({"epochs": 0}, "epochs must be at least 1"),
        ({"documents": "mask"}, "documents must be 'positions', 'cu_seqlens' or None, got 'mask'"),
        ({"framework": "jax"}, "framework must be 'numpy' or 'torch', got 'jax'"),
    ],
)
def test_arguments_out_of_range_are_refused(plain: Tokens, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        plain.batches(**{"length": 4, "batch_size": 2, **settings})
    with pytest.raises(ArgumentError, match=r"length must be an int, got the float 4\.5"):
        plain.batches(4.5, 2)  # type: ignore[arg-type]


def test_a_corpus_must_have_a_window(plain: Tokens) -> None:
    most = plain.token_count - 1
    assert plain.batches(most, 1).windows == 1
    with pytest.raises(TokensError, match=r"a window of length .* need .*; pass a smaller length"):
        plain.batches(most + 1, 1)


def test_an_unfinished_corpus_is_refused(plain: Tokens) -> None:
    unfinished = Tokens(plain.path, {**plain.facts, "complete": False}, plain.shards)
    with pytest.raises(TokensError, match="not encoded completely; resume encode_corpus first"):
        unfinished.batches(4, 2)


def test_batches_without_end_have_no_length(plain: Tokens) -> None:
    with pytest.raises(TypeError, match="no end"):
        len(plain.batches(4, 2))


def test_few_shards_are_open_at_a_time(plain: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MAX_OPEN", 2)
    expected = rows(plain.batches(7, 2, seed=None, epochs=1))
    loader = plain.batches(7, 2, seed=None, epochs=1, documents="positions")
    assert rows(loader) == expected
    assert loader._ids.cache_info().currsize <= 2


def test_torch_is_imported_when_it_is_asked_for(plain: Tokens, monkeypatch: pytest.MonkeyPatch) -> None:
    class Torch:
        @staticmethod
        def from_numpy(array: Any) -> tuple[str, Any]:
            return "tensor", array

    monkeypatch.setitem(sys.modules, "torch", Torch)  # type: ignore[arg-type]
    batch = next(plain.batches(4, 2, framework="torch"))
    assert batch.inputs[0] == batch.targets[0] == "tensor"
    assert (batch.inputs[1] == next(plain.batches(4, 2)).inputs).all()
    assert batch.positions is None
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"framework='torch' needs torch: pip install 'merganser\[torch\]'"):
        plain.batches(4, 2, framework="torch")
