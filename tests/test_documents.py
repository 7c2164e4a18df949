"""Documents: the same as in the core, in order, and in little memory."""

from pathlib import Path

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser.corpus import documents, resolve
from merganser.corpus.read_options import ReadOptions


@given(st.lists(st.text("ab<|endoftext>", max_size=20) | st.just("x<|endoftext|>y"), min_size=1))
def test_documents_equal_those_that_the_core_finds(given: list[str]) -> None:
    found: list[str] = []
    documents.hand_over(resolve(given, 8192), "<|endoftext|>", found.extend)
    assert len(found) == merganser.count(given).documents


def test_documents_arrive_in_order_and_in_batches(tmp_path: Path) -> None:
    numbers = [f"document {n} {'é' * (n % 500)}" for n in range(20_000)]
    for part in range(2):
        text = "<|endoftext|>".join(numbers[part * 10_000 : (part + 1) * 10_000])
        (tmp_path / f"{part}.txt").write_text(text, "utf-8")
    sizes: list[int] = []
    reached: list[int | None] = []
    found: list[str] = []

    def take(batch: list[str]) -> None:
        found.extend(batch)
        sizes.append(sum(len(text.encode()) for text in batch))

    corpus = resolve([tmp_path / "0.txt", tmp_path / "1.txt"], 8192)
    documents.hand_over(corpus, "<|endoftext|>", take, reached.append)
    assert found == numbers
    assert len(sizes) > 5
    assert max(sizes) < 3 << 20  # at most a batch and a block
    assert reached == sorted(reached)
    assert reached[-1] == corpus.size


def test_a_corpus_without_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("<|endoftext|>")
    with pytest.raises(merganser.CorpusError, match="holds no text"):
        documents.hand_over(resolve(tmp_path / "a.txt", 8192), "<|endoftext|>", print)


def test_skipped_records_are_counted_even_if_the_reader_stops(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('"one"\nnot JSON\n"two"\n')
    corpus = resolve(file, 8192, ReadOptions(on_error="skip"))

    def stop(batch: list[str]) -> None:
        raise StopAsyncIteration(batch)

    with pytest.raises(StopAsyncIteration, match=r"\['one', 'two'\]"):
        documents.hand_over(corpus, None, stop)
    assert corpus.skips.skipped.records == 1
