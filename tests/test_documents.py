"""Documents: those that the core finds, in order, in little memory and on little disk."""

from pathlib import Path

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser.corpus import resolve
from merganser.tokens import documents


@given(st.lists(st.text("ab<|endoftext>", max_size=20) | st.just("x<|endoftext|>y"), min_size=1))
def test_documents_equal_those_that_the_core_finds(given: list[str]) -> None:
    found: list[str] = []
    documents.hand_over(resolve(given, 8192), "<|endoftext|>", found.extend)
    assert len(found) == merganser.count(given).documents


def test_documents_come_in_order_and_no_shard_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [f"document {n} {'é' * (n % 50)}" for n in range(20_000)]
    for part in range(2):
        text = "<|endoftext|>".join(numbers[part * 10_000 : (part + 1) * 10_000])
        (tmp_path / f"{part}.txt").write_text(text, "utf-8")
    monkeypatch.setattr(documents, "SHARD", 1 << 16)
    most = 0
    found: list[str] = []

    def take(batch: list[str]) -> None:
        nonlocal most
        found.extend(batch)
        most = max(most, len(list(scratch.glob("*/*.bin"))))

    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    documents.hand_over(resolve([tmp_path / "0.txt", tmp_path / "1.txt"], 8192), "<|endoftext|>", take)
    assert found == numbers
    assert 1 <= most < 24  # 1.2 MB in shards of 64 KB, as they come, and never all
    assert not list(scratch.iterdir())
