"""The shards of a corpus: files of records are split where records end, and the parts add up to the whole."""

import json
from pathlib import Path
from typing import Any

import merganser
import pytest
from merganser import CorpusError
from merganser.corpus import TableDocuments, resolve
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.split_settings import SplitSettings
from merganser.engines import shards
from merganser.engines.storage import storage_at

TEXTS = [f"the {n}th duck dives — 潜水 {n * n}" for n in range(3000)]


def counted_in_shards(source: Path, size: int, folder: Path, **reading: Any) -> tuple[int, merganser.Counts]:
    """Count every shard on its own, and add up; also return the number of shards."""
    options = ReadOptions(**reading)
    settings = SplitSettings()
    plan = shards.plan(resolve(source, 1000, options), settings, size)
    storage_at(str(folder)).write("job.json", {"id": "a"})
    job = shards.Job("a", str(folder), settings, options, 1, 50_000_000, 1)
    runs = [
        run["name"]
        for number, shard in enumerate(plan)
        for run in shards.count_shard(job, number, shard)["runs"]
    ]
    return len(plan), merganser.count([folder / name for name in runs])


def test_json_lines_are_split_at_line_breaks(tmp_path: Path) -> None:
    file = tmp_path / "large.jsonl"
    file.write_text("".join(json.dumps({"body": text}) + "\n" for text in TEXTS), encoding="utf-8")
    number, counts = counted_in_shards(file, 20_000, tmp_path / "storage", text_key="body")
    assert number > 5
    assert counts == merganser.count(TEXTS)
    assert counts.documents == len(TEXTS)


def test_parquet_is_split_by_row_groups(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "large.parquet"
    parquet.write_table(pa.table({"body": TEXTS}), file, row_group_size=100)
    number, counts = counted_in_shards(file, 10_000, tmp_path / "storage", text_key="body")
    assert number > 3
    assert counts == merganser.count(TEXTS)
    assert counts.documents == len(TEXTS)


def test_a_null_in_a_part_is_named_by_its_row_in_the_file(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    file = tmp_path / "large.parquet"
    parquet.write_table(pa.table({"text": [*TEXTS, None]}), file, row_group_size=100)
    with pytest.raises(CorpusError, match=r"row 3,001: the column 'text' is null"):
        counted_in_shards(file, 10_000, tmp_path / "storage")


def test_a_corrupt_parquet_file_is_one_shard_and_reading_it_is_the_error(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    file = tmp_path / "large.parquet"
    file.write_bytes(b"PAR1" + bytes(50_000))
    corpus = resolve(file, 1000)
    assert isinstance(corpus.documents, TableDocuments)
    assert [len(shard) for shard in shards.plan(corpus, SplitSettings(), 10_000)] == [1]
    with pytest.raises(CorpusError, match=r"check that it is a complete Parquet file"):
        counted_in_shards(file, 10_000, tmp_path / "storage")
