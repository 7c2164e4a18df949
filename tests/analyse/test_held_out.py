"""Held out: nothing is lost, nothing is trained on that is measured on."""

import gzip
from pathlib import Path

import pytest
from corpora import corpus_file, corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser import CorpusError, Counts, SettingsError
from merganser.analyse import held_out
from merganser.analyse.held_out import ENOUGH_BYTES, Parts, parted, parted_documents

BOOK = "".join(f"\n\nChapter {n}\n\nIt was chapter {n} of them.\n" for n in range(1, 6))


def documents(parts: Parts) -> tuple[list[bytes], list[bytes]]:
    return list(parts.training), list(parts.held_out)  # type: ignore[arg-type]


def test_the_final_chapter() -> None:
    parts = parted_documents([BOOK.encode()])
    training, held = documents(parts)
    assert held == [b"Chapter 5\n\nIt was chapter 5 of them.\n"]
    assert training[0] + held[0] == BOOK.encode()
    assert parts.rule == "the final chapter (Chapter 5)"
    assert documents(parted_documents([BOOK.replace("\n", "\r\n").encode()]))[1][0].startswith(b"Chapter 5\r")


def test_frankenstein_has_chapter_24_held_out() -> None:
    text = corpus_text("frankenstein.txt").encode()
    for source in (corpus_file("frankenstein.txt"), f"frankenstein={corpus_file('frankenstein_raw.txt')}"):
        parts = parted(source)
        training, held = documents(parts)
        assert parts.rule == "the final chapter (Chapter 24)"
        assert held[0].startswith(b"Chapter 24")
        assert training[0] + held[0] in text
        assert held[0][:200] not in training[0]
        assert 30_000 < len(held[0]) < 60_000


def test_the_last_tenth_from_a_paragraph_on() -> None:
    text = b"one line\nand two\n\n" * 100
    training, held = documents(parted_documents([text]))
    assert training[0] + held[0] == text
    assert held[0].startswith(b"one line")
    assert len(held[0]) == len(text) // 10 - 18 or len(held[0]) == len(text) // 10
    lines = b"line\n" * 100
    assert documents(parted_documents([lines]))[1] == [b"line\n" * 9]


def test_some_documents() -> None:
    assert documents(parted_documents([b"a", b" ", b"b", b"c"])) == ([b"a", b"b"], [b"c"])


@given(st.integers(20, 500))
def test_every_twentieth(size: int) -> None:
    every = [str(n).encode() for n in range(size)]
    training, held = documents(parted_documents(every))
    assert len(held) == size // 20
    assert sorted(training + held) == sorted(every)


def test_no_more_than_enough() -> None:
    training, held = documents(parted_documents([b"x" * 1_000_000] * 200))
    assert sum(map(len, held)) <= ENOUGH_BYTES
    assert len(training) + len(held) == 200


def test_few_large_documents_are_not_trained_on_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "ENOUGH_BYTES", 10)
    every = [f"document {n}".encode() for n in range(25)]
    parts = parted_documents(every)
    assert documents(parts) == (every[:-1], every[-1:])
    assert parts.rule == "every 25th of 25 documents"


def test_documents_of_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a<|endoftext|>b")
    (tmp_path / "b.txt").write_text("c<|endoftext|>")
    assert documents(parted(tmp_path)) == ([b"a", b"b"], [b"c"])
    assert documents(parted(["x", "y"])) == ([b"x"], [b"y"])


def test_what_is_no_plain_text_is_read_by_the_core(tmp_path: Path) -> None:
    for name in ("a.jsonl", "B.JSONL"):
        (tmp_path / name).write_text('{"text": "a"}\n{"text": "b"}\n')
        assert documents(parted(tmp_path / name)) == ([b"a"], [b"b"])
    for name in ("a.txt.gz", "named otherwise"):
        (tmp_path / name).write_bytes(gzip.compress("ä<|endoftext|>b".encode()))
        assert documents(parted(tmp_path / name)) == (["ä".encode()], [b"b"])


def test_counts_are_not_taken_apart(tmp_path: Path) -> None:
    Counts({b"a": 1}).save(tmp_path / "a.counts")
    with pytest.raises(SettingsError, match=r"a\.counts holds counts, which cannot be taken apart"):
        parted(tmp_path / "a.counts")


@pytest.mark.parametrize("text", [b"one", b"one\n", b"one\n\n\n"])
def test_too_short(text: bytes) -> None:
    with pytest.raises(CorpusError, match="too short to hold a part"):
        parted_documents([text])


def test_nothing() -> None:
    with pytest.raises(CorpusError, match="holds no text"):
        parted_documents([b" "])


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").mkdir()
    (tmp_path / "a.txt" / "b").write_text("x")
    with pytest.raises(CorpusError, match="no file or folder"):
        parted(tmp_path / "c.txt")
