"""Held-out splits: no text is lost, and none is both trained and measured on."""

import gzip
from pathlib import Path

import pytest
from corpora import corpus_file, corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser import CorpusError, Counts, SettingsError
from merganser.analyse import held_out
from merganser.analyse.held_out import ENOUGH_BYTES, HeldOutSplit, hold_out, hold_out_documents

BOOK = "".join(f"\n\nChapter {n}\n\nIt was chapter {n} of them.\n" for n in range(1, 6))


def documents(split: HeldOutSplit) -> tuple[list[bytes], list[bytes]]:
    return list(split.training), list(split.held_out)  # type: ignore[arg-type]


def test_the_final_chapter_is_held_out() -> None:
    split = hold_out_documents([BOOK.encode()])
    training, held = documents(split)
    assert held == [b"Chapter 5\n\nIt was chapter 5 of them.\n"]
    assert training[0] + held[0] == BOOK.encode()
    assert split.rule == "the final chapter (Chapter 5)"
    assert documents(hold_out_documents([BOOK.replace("\n", "\r\n").encode()]))[1][0].startswith(
        b"Chapter 5\r"
    )


def test_frankenstein_has_chapter_24_held_out() -> None:
    text = corpus_text("frankenstein.txt").encode()
    for source in (corpus_file("frankenstein.txt"), f"frankenstein={corpus_file('frankenstein_raw.txt')}"):
        split = hold_out(source)
        training, held = documents(split)
        assert split.rule == "the final chapter (Chapter 24)"
        assert held[0].startswith(b"Chapter 24")
        assert training[0] + held[0] in text
        assert held[0][:200] not in training[0]
        assert 30_000 < len(held[0]) < 60_000


def test_the_last_tenth_starts_at_a_paragraph_or_line() -> None:
    text = b"one line\nand two\n\n" * 100
    training, held = documents(hold_out_documents([text]))
    assert training[0] + held[0] == text
    assert held[0].startswith(b"one line")
    assert len(held[0]) == 9 * 18  # whole paragraphs within the last tenth
    lines = b"line\n" * 100
    assert documents(hold_out_documents([lines]))[1] == [b"line\n" * 9]


def test_the_last_of_a_few_documents_is_held_out() -> None:
    assert documents(hold_out_documents([b"a", b" ", b"b", b"c"])) == ([b"a", b"b"], [b"c"])


@given(st.integers(20, 500))
def test_every_twentieth_of_many_documents_is_held_out(size: int) -> None:
    every = [str(n).encode() for n in range(size)]
    training, held = documents(hold_out_documents(every))
    assert len(held) == size // 20
    assert sorted(training + held) == sorted(every)


def test_the_held_out_set_is_limited_in_size() -> None:
    training, held = documents(hold_out_documents([b"x" * 1_000_000] * 200))
    assert sum(map(len, held)) <= ENOUGH_BYTES
    assert len(training) + len(held) == 200


def test_a_few_large_documents_are_never_in_both_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "ENOUGH_BYTES", 10)
    every = [f"document {n}".encode() for n in range(25)]
    split = hold_out_documents(every)
    assert documents(split) == (every[:-1], every[-1:])
    assert split.rule == "every 25th of 25 documents"


def test_files_are_split_into_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a<|endoftext|>b")
    (tmp_path / "b.txt").write_text("c<|endoftext|>")
    assert documents(hold_out(tmp_path)) == ([b"a", b"b"], [b"c"])
    assert documents(hold_out(["x", "y"])) == ([b"x"], [b"y"])


def test_records_and_compressed_files_are_read(tmp_path: Path) -> None:
    for name in ("a.jsonl", "B.JSONL"):
        (tmp_path / name).write_text('{"text": "a"}\n{"text": "b"}\n')
        assert documents(hold_out(tmp_path / name)) == ([b"a"], [b"b"])
    for name in ("a.txt.gz", "named otherwise"):
        (tmp_path / name).write_bytes(gzip.compress("ä<|endoftext|>b".encode()))
        assert documents(hold_out(tmp_path / name)) == (["ä".encode()], [b"b"])


def test_counts_are_refused(tmp_path: Path) -> None:
    Counts({b"a": 1}).save(tmp_path / "a.counts")
    with pytest.raises(
        SettingsError, match=r"a\.counts holds counts, which cannot be split; pass a text to measure on"
    ):
        hold_out(tmp_path / "a.counts")


@pytest.mark.parametrize("text", [b"one", b"one\n", b"one\n\n\n"])
def test_a_text_that_is_too_short_is_refused(text: bytes) -> None:
    with pytest.raises(CorpusError, match="too short for a held-out split; pass a text"):
        hold_out_documents([text])


def test_a_corpus_without_text_is_refused() -> None:
    with pytest.raises(CorpusError, match="contains no text; check the path"):
        hold_out_documents([b" "])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    (tmp_path / "a.txt" / "b").write_text("x")
    with pytest.raises(CorpusError, match="no file or folder"):
        hold_out(tmp_path / "c.txt")
