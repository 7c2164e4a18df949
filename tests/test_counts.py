"""Counts: exact, beyond 32 bits, and added and stored without loss."""

import pickle
from collections import Counter
from pathlib import Path

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import Counts, CountsError, Local
from oracle import split_documents
from strategies import documents, texts

pretokens = st.dictionaries(st.binary(min_size=1, max_size=8), st.integers(1, 2**40), max_size=20)


@given(st.lists(texts, max_size=8), st.sampled_from(["gpt2", "gpt4", r"\w+"]), st.sampled_from([1, 2, 4]))
def test_counts_equal_those_of_a_plain_loop(texts: list[str], pattern: str, threads: int) -> None:
    plain = Counter(pretoken.encode() for text in texts for pretoken in merganser.split(text, pattern))
    counts = merganser.count(
        [*texts, "the iterable is not empty"], pattern=pattern, separator=None, engine=Local(threads=threads)
    )
    plain.update(pretoken.encode() for pretoken in merganser.split("the iterable is not empty", pattern))
    assert counts.to_dict() == plain
    assert counts.total == plain.total()
    assert len(counts) == len(plain)


@given(
    st.lists(st.sampled_from(["ab ", "<s>", "<sep>", "<", "s>", "x\n"]), min_size=1, max_size=20).map("".join)
)
def test_special_tokens_and_separators_are_not_counted(text: str) -> None:
    counts = merganser.count([text], special_tokens=["<s>", "<s>x"], separator="<sep>")
    parts = split_documents([text], ["<s>", "<s>x", "<sep>"])
    assert counts.to_dict() == Counter(
        pretoken.encode() for part in parts for pretoken in merganser.split(part)
    )


@given(documents, st.integers(1, 5), st.booleans())
def test_counts_do_not_depend_on_buffer_size_or_document_type(
    texts: list[str], buffer_size: int, as_bytes: bool
) -> None:
    generator = (text.encode() if as_bytes else text for text in texts)
    assert merganser.count(generator, buffer_size=buffer_size) == merganser.count(texts)


@given(pretokens, pretokens)
def test_addition_is_exact(left: dict[bytes, int], right: dict[bytes, int]) -> None:
    expected = {pretoken: left.get(pretoken, 0) + right.get(pretoken, 0) for pretoken in left | right}
    assert (Counts(left) + Counts(right)).to_dict() == expected


@given(pretokens)
def test_counts_round_trip_through_files(counts: dict[bytes, int]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        original = Counts(counts, pattern="gpt2", special_tokens=["<s>"], separator=None)
        original.save(Path(folder, "a.counts"))
        loaded = Counts.load(Path(folder, "a.counts"))
        assert loaded == original
        assert (loaded.pattern_name, loaded.special_tokens, loaded.separator) == ("gpt2", ("<s>",), None)
        original.to_tsv(Path(folder, "a.tsv"))
        assert (
            Counts.from_tsv(Path(folder, "a.tsv"), pattern="gpt2", special_tokens=["<s>"], separator=None)
            == original
        )
        assert pickle.loads(pickle.dumps(original)) == original


def test_counts_beyond_32_bits_are_correct() -> None:
    counts = Counts({b"aab": 2**40, b"ab": 2**40 - 1})
    assert counts.total == 2**41 - 1
    tokenizer = merganser.train(counts, 258)
    assert tokenizer.merges == [(b"a", b"b"), (b"a", b"ab")]
    assert dict(tokenizer.merge_counts) == {256: 2**41 - 1, 257: 2**40}


def test_counts_beyond_64_bits_are_an_error() -> None:
    with pytest.raises(CountsError, match=r"2\^64"):
        Counts({b"a": 2**63, b"b": 2**63})
    with pytest.raises(CountsError, match=r"2\^64"):
        Counts({b"a": 2**63}) + Counts({b"a": 2**63})


@pytest.mark.parametrize("wrong", [{b"a": -1}, {b"a": 2**64}, {b"a": 1.5}, {"a": 1}, {b"a": "1"}])
def test_invalid_counts_are_rejected(wrong: dict[bytes, int]) -> None:
    with pytest.raises(CountsError):
        Counts(wrong)


@pytest.mark.parametrize(
    "other",
    [
        Counts({b"a": 1}, pattern="gpt2"),
        Counts({b"a": 1}, special_tokens=["<s>"]),
        Counts({b"a": 1}, separator=None),
    ],
)
def test_counts_with_different_settings_cannot_be_added(other: Counts) -> None:
    with pytest.raises(CountsError):
        Counts({b"a": 1}) + other


def test_a_corrupt_counts_file_is_rejected(tmp_path: Path) -> None:
    file = tmp_path / "a.counts"
    Counts({b"some": 1, b"pretokens": 2, b"here": 3}).save(file)
    whole = file.read_bytes()
    for corrupt in (b"", whole[:-1], whole[: len(whole) // 2], whole[1:], b"x" + whole[1:], whole + b"x"):
        file.write_bytes(corrupt)
        with pytest.raises(CountsError, match=r"a\.counts"):
            Counts.load(file)
    for at in range(len(whole)):
        file.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(CountsError):
            Counts.load(file)


def test_most_common_sorts_by_count() -> None:
    counts = Counts({b"c": 1, b"b": 1, b"a": 5})
    assert counts.most_common(2) == [(b"a", 5), (b"b", 1)]
    assert counts.most_common() == [(b"a", 5), (b"b", 1), (b"c", 1)]
    assert counts.most_common(0) == []


def test_invalid_bytes_are_counted_and_kept() -> None:
    counts = merganser.count([b"caf\xc3\xa9 \xff\xfe ol\xc3"])
    assert counts.invalid_bytes == 3
    joined = b"".join(sorted(pretoken * count for pretoken, count in counts.to_dict().items()))
    assert sorted(joined) == sorted(b"caf\xc3\xa9 \xff\xfe ol\xc3")
