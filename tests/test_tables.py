"""Tables: Parquet files and Hugging Face datasets yield the same counts as their texts."""

import io
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import datasets
import fsspec
import merganser
import processes
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from interrupted import mark_incomplete
from merganser import CorpusError, MerganserWarning
from merganser.corpus import remote, resolve, tables
from merganser.corpus.addresses import Address
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.skipped import Skipped, Skips
from web import Page, serving

TEXTS = [f"text number {n} of them, naïve\n" * (n % 7) for n in range(1000)]
WHOLE = merganser.count(TEXTS)


def write(
    path: Path, texts: Any = TEXTS, kind: pa.DataType | None = None, key: str = "text", **how: Any
) -> Path:
    column = pa.array(texts, kind)
    pq.write_table(pa.table({"id": range(len(column)), key: column}), path, **how)
    return path


def counted(source: Any, reading: ReadOptions) -> tuple[merganser.Counts, Skipped]:
    """Count and return what was skipped, without the warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        counts = merganser.count(source, buffer_size=100, **asdict(reading))
    return counts, counts.skipped


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.dictionary(pa.int32(), pa.string()),
        pa.dictionary(pa.int8(), pa.large_string()),
    ],
    ids=str,
)
def test_every_kind_of_text_column_yields_the_same_counts(tmp_path: Path, kind: pa.DataType) -> None:
    texts = TEXTS if not pa.types.is_dictionary(kind) else TEXTS[:100]
    # Views and bytes are not inferred from texts.
    values = [text.encode() for text in texts] if kind == pa.binary() else texts
    column = pa.array(values).cast(kind) if pa.types.is_dictionary(kind) else pa.array(values, kind)
    for compression in ("none", "snappy", "zstd"):
        pq.write_table(
            pa.table({"text": column}), tmp_path / "x.parquet", row_group_size=77, compression=compression
        )
        counts = merganser.count(tmp_path / "x.parquet", buffer_size=50)
        assert counts == merganser.count(texts)
        assert counts.documents == merganser.count(texts).documents


def test_text_key_selects_the_column(tmp_path: Path) -> None:
    assert counted(write(tmp_path / "x.parquet", key="body"), ReadOptions(text_key="body"))[0] == WHOLE
    assert counted(datasets.Dataset.from_dict({"body": TEXTS}), ReadOptions(text_key="body"))[0] == WHOLE


def test_a_folder_may_contain_several_formats(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub" / "x.parquet")
    write(tmp_path / "y.parquet", TEXTS[:10])
    (tmp_path / "a.txt").write_text("plain")
    merganser.count(["counted"]).save(tmp_path / "b.counts")
    (tmp_path / "c.counts.tsv").write_text("lines\t3\n")
    expected = merganser.count([*TEXTS, *TEXTS[:10], "plain", "counted", *["lines"] * 3])
    assert merganser.count(tmp_path) == expected
    assert merganser.count(f"{tmp_path}/**/*") == expected


def test_rows_are_read_a_few_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "_BUFFER", 10_000)
    long = [f"{n:04}" * 250 for n in range(200)]
    file = write(tmp_path / "x.parquet", long, use_dictionary=False, compression="none")
    sizes = [len(buffer) for buffer in resolve(file, 100).documents or ()]
    assert sum(sizes) == 200
    assert max(sizes) <= 10
    dataset = datasets.Dataset.from_dict({"text": long})
    sizes = [len(buffer) for buffer in resolve(dataset, 50).documents or ()]
    assert sum(sizes) == 200
    assert max(sizes[1:]) <= 10


def test_a_large_row_group_takes_little_memory(tmp_path: Path) -> None:
    line = "some words to fill a megabyte, number {}; "
    write(tmp_path / "x.parquet", [line.format(n) * 25_000 for n in range(150)], use_dictionary=False)
    script = f"""
import merganser, resource, sys, pyarrow.parquet
merganser.count(["warm"])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
merganser.count({str(tmp_path / "x.parquet")!r})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    done = processes.run([sys.executable, "-c", script], check=True)
    assert int(done.stdout) < 100_000  # kilobytes, for 150 MB in one row group


def test_a_missing_column_is_reported_with_those_that_exist(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet", key="body")
    message = "has no column 'text'; set text_key to one of its columns: "
    with pytest.raises(CorpusError, match=rf"x\.parquet {message}'id', 'body'"):
        merganser.count(file)
    dataset = datasets.Dataset.from_dict({"body": TEXTS, "label": TEXTS})
    for given in (dataset, dataset.to_iterable_dataset()):
        with pytest.raises(CorpusError, match=f"{message}'body', 'label'"):
            merganser.count(given)


def test_a_column_without_text_is_rejected(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet", [1, 2])
    with pytest.raises(CorpusError, match=r"'text' of .*x\.parquet has the type int64, .* set text_key"):
        merganser.count(file)
    with pytest.raises(CorpusError, match="has the type int64"):
        merganser.count(datasets.Dataset.from_dict({"text": [1, 2]}))
    with pytest.raises(CorpusError, match="must be str or bytes, not int"):
        merganser.count(datasets.Dataset.from_dict({"text": [1, 2]}).to_iterable_dataset())


def with_nulls(path: Path) -> list[Any]:
    texts = [*TEXTS[:150], None, *TEXTS[150:], None]
    dataset = datasets.Dataset.from_dict({"text": texts})
    file = write(path / "nulls.parquet", texts)
    coded = write(path / "coded.parquet", pa.array(texts).dictionary_encode())
    return [file, coded, dataset, dataset.to_iterable_dataset()]


def test_a_null_row_is_an_error_or_is_skipped(tmp_path: Path) -> None:
    for source in with_nulls(tmp_path):
        with pytest.raises(CorpusError, match=r"row 151: the column 'text' is null; .*on_error='skip'"):
            merganser.count(source)
        counts, skipped = counted(source, ReadOptions(on_error="skip"))
        assert counts == WHOLE
        assert (skipped.records, skipped.files) == (2, 0)
        assert [re.search(r"row ([\d,]+):", first)[1] for first in skipped.first] == ["151", "1,002"]


def damage_footer(data: bytearray) -> None:
    data[-8:-4] = b"\xff\xff\xff\x7f"


def damage_pages(data: bytearray) -> None:
    data[3000:6000] = bytes(3000)


def cut_off(data: bytearray) -> None:
    del data[len(data) // 2 :]


@pytest.mark.parametrize("damage", [damage_footer, damage_pages, cut_off, bytearray.clear])
def test_a_corrupt_file_is_named_or_skipped(tmp_path: Path, damage: Callable[[bytearray], None]) -> None:
    data = bytearray(write(tmp_path / "x.parquet", use_dictionary=False, compression="snappy").read_bytes())
    damage(data)
    (tmp_path / "x.parquet").write_bytes(data)
    (tmp_path / "a.txt").write_text("plain")
    write(tmp_path / "y.parquet")
    with pytest.raises(CorpusError, match=r"cannot read .*x\.parquet.*complete Parquet file"):
        merganser.count(tmp_path)
    counts, skipped = counted(tmp_path, ReadOptions(on_error="skip"))
    assert (skipped.records, skipped.files) == (0, 1)
    assert "x.parquet" in skipped.first[0]
    with pytest.warns(MerganserWarning, match=r"skipped .*1 file.*x\.parquet"):
        skipped.warn()
    assert counts.documents >= WHOLE.documents + 1


#: Reads a file with one bit of its footer flipped, for every byte of the footer.
DAMAGED_FOOTERS = """
import sys
from pathlib import Path
from merganser.corpus import tables
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.skipped import Skips

good = Path(sys.argv[1]).read_bytes()
bad = Path(sys.argv[1]).with_name("bad.parquet")
footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
skipped = 0
for at in range(footer, len(good)):
    bad.write_bytes(good[:at] + bytes([good[at] ^ 1 << at % 3]) + good[at + 1 :])
    skips = Skips()
    for _ in tables.ParquetFile(bad, ReadOptions(on_error="skip"), 100).buffers(skips):
        pass
    skipped += skips.skipped.files
print(skipped)
"""


def test_no_damage_to_the_footer_aborts_the_process(tmp_path: Path) -> None:
    file = write(tmp_path / "good.parquet", TEXTS[:30], row_group_size=10)
    done = processes.run([sys.executable, "-c", DAMAGED_FOOTERS, str(file)])
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


def test_a_parquet_file_that_changes_while_it_is_read_is_reported(tmp_path: Path) -> None:
    file = write(tmp_path / "a.parquet", row_group_size=100)

    def read(on_error: Any) -> Skipped:
        os.utime(file, (1, 1))
        skips = Skips()
        for _ in tables.ParquetFile(file, ReadOptions(on_error=on_error), 50).buffers(skips):
            os.utime(file)
        return skips.skipped

    with pytest.raises(CorpusError, match=r"a\.parquet changed while it was read"):
        read("stop")
    skipped = read("skip")
    assert skipped.files == 1
    assert "changed while it was read" in skipped.first[0]


def test_a_file_that_disappears_is_named(tmp_path: Path) -> None:
    found = resolve(write(tmp_path / "x.parquet"), 10)
    (tmp_path / "x.parquet").unlink()
    with pytest.raises(CorpusError, match=r"cannot read .*x\.parquet"):
        list(found.documents or ())


@pytest.fixture
def memory() -> Iterator[Any]:
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/", recursive=True)


def parquet_bytes() -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.table({"text": TEXTS}), file, row_group_size=300)
    return file.getvalue()


def test_remote_parquet_yields_the_same_counts(memory: Any) -> None:
    memory.pipe({"/t/a.parquet": parquet_bytes(), "/t/sub/b.parquet": parquet_bytes(), "/t/c.txt": b"plain"})
    assert merganser.count("memory://t/a.parquet") == WHOLE
    assert merganser.count("memory://t") == WHOLE + WHOLE + merganser.count(["plain"])
    assert merganser.count("memory://t/**/*.parquet") == WHOLE + WHOLE
    memory.pipe("/t/d.parquet", b"not one")
    with pytest.raises(CorpusError, match=r"cannot read memory://.*t/d.parquet"):
        merganser.count("memory://t/d.parquet")


@pytest.mark.parametrize("ranges", [True, False])
def test_parquet_from_the_web_yields_the_same_counts(ranges: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAITS", (0.0, 0.0, 0.0))
    with serving() as web:
        web.pages["/x.parquet"] = Page(parquet_bytes(), ranges=ranges)
        assert merganser.count(f"{web.url}/x.parquet?download=true") == WHOLE
        web.pages["/x.parquet"].cuts = 1
        if ranges:
            assert merganser.count(f"{web.url}/x.parquet") == WHOLE
        web.pages["/x.parquet"].cuts = 1000
        with pytest.raises(CorpusError, match=f"lost the connection to {web.url}/x.parquet"):
            counted(Address(f"{web.url}/x.parquet"), ReadOptions(on_error="skip"))


def test_parquet_is_encoded_and_resumed(tmp_path: Path) -> None:
    tokenizer = merganser.train(TEXTS, 300)
    file = write(tmp_path / "x.parquet")
    (tmp_path / "a.txt").write_text("plain")
    corpus = [tmp_path / "a.txt", file]
    expected = tokenizer.encode_corpus(["plain", *TEXTS], out=tmp_path / "expected", shard_tokens=5000)
    tokens = tokenizer.encode_corpus(corpus, out=tmp_path / "out", shard_tokens=5000)
    assert len(tokens.shards) > 4
    sums = [shard.crc32 for shard in expected.shards]
    assert [shard.crc32 for shard in tokens.shards] == sums
    mark_incomplete(tmp_path / "out")
    for shard in (tmp_path / "out").glob("shard-0000[2-9]*"):
        shard.unlink()
    assert [
        shard.crc32
        for shard in tokenizer.encode_corpus(corpus, out=tmp_path / "out", shard_tokens=5000).shards
    ] == sums
    write(file, TEXTS[1:])
    with pytest.raises(merganser.TokensError, match="different corpus"):
        tokenizer.encode_corpus(corpus, out=tmp_path / "out", shard_tokens=5000)


def test_every_kind_of_dataset_yields_the_same_counts(tmp_path: Path) -> None:
    dataset = datasets.Dataset.from_dict({"label": range(len(TEXTS)), "text": TEXTS})
    stream = dataset.to_iterable_dataset(num_shards=3)
    upper = merganser.count([text.upper() for text in TEXTS])

    def shout(row: dict[str, Any]) -> dict[str, Any]:
        return {"text": [text.upper() for text in row["text"]]}

    for given in (
        dataset,
        dataset.shuffle(seed=1),
        dataset.with_format("numpy"),
        datasets.concatenate_datasets([dataset.select(range(400)), dataset.select(range(400, 1000))]),
        stream,
        stream.shuffle(seed=1, buffer_size=10),
        dataset["text"],
    ):
        counts = merganser.count(given, buffer_size=70)
        assert counts == WHOLE
        assert counts.documents == WHOLE.documents
    for given in (dataset.with_transform(shout), stream.map(shout, batched=True)):
        assert merganser.count(given, buffer_size=70) == upper
    assert merganser.train(dataset, 300) == merganser.train(TEXTS, 300)


def test_a_streamed_file_yields_the_same_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet")
    streamed = datasets.load_dataset(
        "parquet", data_files=str(file), streaming=True, split="train", cache_dir=tmp_path
    )
    assert merganser.count(streamed) == WHOLE


def test_a_dataset_with_several_splits_is_rejected() -> None:
    split = datasets.Dataset.from_dict({"text": TEXTS})
    for splits in (
        datasets.DatasetDict({"train": split, "test": split}),
        datasets.IterableDatasetDict(
            {"train": split.to_iterable_dataset(), "test": split.to_iterable_dataset()}
        ),
    ):
        with pytest.raises(CorpusError, match=r"splits, 'train', 'test'; pass one: dataset\['train'\]"):
            merganser.count(splits)


def test_missing_pyarrow_is_named_with_its_install_command(tmp_path: Path) -> None:
    file = write(tmp_path / "x.parquet")
    script = f"import sys; sys.modules['pyarrow'] = None; import merganser; merganser.count({str(file)!r})"
    done = processes.run([sys.executable, "-c", script])
    assert (
        "reading Parquet files needs pyarrow: pip install 'merganser[data]'" in done.stderr.splitlines()[-1]
    )


def test_heavy_packages_are_imported_only_when_needed() -> None:
    script = "import sys, merganser; merganser.count(['a']); print(*sys.modules)"
    done = processes.run([sys.executable, "-c", script], check=True)
    assert not {"pyarrow", "fsspec", "datasets", "pandas", "aiohttp", "ssl"} & set(done.stdout.split())


def test_a_counts_tsv_file_is_a_corpus(tmp_path: Path) -> None:
    WHOLE.to_tsv(tmp_path / "x.counts.tsv")
    assert merganser.count(tmp_path / "x.counts.tsv") == WHOLE
    assert merganser.train(tmp_path / "x.counts.tsv", 300).merges == merganser.train(TEXTS, 300).merges
    # A TSV file has no settings: they come from the arguments, or from counts files next to it.
    assert merganser.count(tmp_path / "x.counts.tsv", pattern="gpt2").pattern_name == "gpt2"
    merganser.count(["x"], pattern="gpt2").save(tmp_path / "y.counts")
    both = merganser.count([tmp_path / "x.counts.tsv", tmp_path / "y.counts"])
    assert both.pattern_name == "gpt2"
    assert both.total == WHOLE.total + 1
    (tmp_path / "bad.counts.tsv").write_text("a\t1\nb\n")
    with pytest.raises(merganser.CountsError, match=r"bad\.counts\.tsv, line 2"):
        merganser.count(tmp_path / "bad.counts.tsv")
    (tmp_path / "x.counts.tsv.gz").write_bytes(b"")
    with pytest.raises(CorpusError, match="decompress it first"):
        merganser.count(tmp_path / "x.counts.tsv.gz")
    with pytest.raises(CorpusError, match="contains counts, not text; pass the text itself"):
        merganser.train(TEXTS, 260).encode_corpus(tmp_path / "x.counts.tsv", out=tmp_path / "out")
    (tmp_path / "plain.tsv").write_text("a\ttext\n1\tone two\n")
    assert merganser.count(tmp_path / "plain.tsv").to_dict() == {b"one": 1, b" two": 1}
