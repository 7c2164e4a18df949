"""One corpus from every kind of source: the tokenizer files are identical, byte for byte."""

import bz2
import csv
import gzip
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import merganser
import processes
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset
from merganser import Local
from web import Page, serving

#: Several scripts, quotes, tabs and newlines, so that every format has something to escape.
DOCUMENTS = [
    f'the {n} "ducks", swim\n\tin 3,{n % 7} ponds — добрый день, 潜水する鸭 {n * n}\n' * (1 + n % 3)
    for n in range(400)
]
SIZE = 600


def written(tokenizer: merganser.Tokenizer, tmp_path: Path) -> bytes:
    tokenizer.save(tmp_path / "tokenizer.merganser")
    return (tmp_path / "tokenizer.merganser").read_bytes()


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return written(merganser.train(DOCUMENTS, SIZE), tmp_path_factory.mktemp("expected"))


def text() -> bytes:
    return "<|endoftext|>".join(DOCUMENTS).encode()


def lines() -> bytes:
    return "".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(DOCUMENTS)).encode()


def zstandard(data: bytes) -> bytes:
    return pa.compress(data, "zstd", asbytes=True)


def table(path: Path, delimiter: str) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows([["text"], *([text] for text in DOCUMENTS)])


FILES: dict[str, Callable[[Path], object]] = {
    "x.txt": lambda path: path.write_bytes(text()),
    "x.txt.gz": lambda path: path.write_bytes(gzip.compress(text()[:5000]) + gzip.compress(text()[5000:])),
    "x.txt.bz2": lambda path: path.write_bytes(bz2.compress(text())),
    "x.txt.xz": lambda path: path.write_bytes(lzma.compress(text())),
    "x.txt.zst": lambda path: path.write_bytes(zstandard(text())),
    "x.jsonl": lambda path: path.write_bytes(lines()),
    "x.jsonl.zst": lambda path: path.write_bytes(zstandard(lines())),
    "x.json": lambda path: path.write_text(json.dumps(DOCUMENTS)),
    "x.csv": lambda path: table(path, ","),
    "x.tsv": lambda path: table(path, "\t"),
    "x.parquet": lambda path: pq.write_table(pa.table({"text": DOCUMENTS}), path),
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("threads", [1, 2])
def test_every_file_format_yields_the_same_tokenizer(
    name: str, threads: int, expected: bytes, tmp_path: Path
) -> None:
    FILES[name](tmp_path / name)
    tokenizer = merganser.train(tmp_path / name, SIZE, engine=Local(threads=threads))
    assert written(tokenizer, tmp_path) == expected


def test_a_folder_of_all_formats_yields_the_same_tokenizer(tmp_path: Path) -> None:
    for name, write in FILES.items():
        write(tmp_path / name)
    whole = merganser.train(DOCUMENTS * len(FILES), SIZE)
    assert merganser.train(tmp_path, SIZE) == whole


SOURCES: dict[str, Callable[[], Any]] = {
    "an iterator": lambda: iter(DOCUMENTS),
    "bytes": lambda: [text.encode() for text in DOCUMENTS],
    "a data set": lambda: Dataset.from_dict({"text": DOCUMENTS}),
    "a streaming data set": lambda: Dataset.from_dict({"text": DOCUMENTS}).to_iterable_dataset(),
}


@pytest.mark.parametrize("source", SOURCES)
def test_every_python_object_yields_the_same_tokenizer(source: str, expected: bytes, tmp_path: Path) -> None:
    assert written(merganser.train(SOURCES[source](), SIZE), tmp_path) == expected


@pytest.mark.parametrize("name", ["x.txt", "x.jsonl.zst", "x.parquet"])
def test_urls_yield_the_same_tokenizer(name: str, expected: bytes, tmp_path: Path) -> None:
    FILES[name](tmp_path / name)
    memory = fsspec.filesystem("memory")
    memory.pipe(f"/same/{name}", (tmp_path / name).read_bytes())
    assert written(merganser.train(f"memory://same/{name}", SIZE), tmp_path) == expected
    with serving() as web:
        web.pages[f"/{name}"] = Page((tmp_path / name).read_bytes())
        assert written(merganser.train(f"{web.url}/{name}", SIZE), tmp_path) == expected


@pytest.mark.parametrize("data", [text, lambda: gzip.compress(text())])
def test_standard_input_yields_the_same_tokenizer(
    data: Callable[[], bytes], expected: bytes, tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "merganser", "train", "-", "--vocab-size", str(SIZE), "--out", "out"]
    processes.run(command, input=data(), cwd=tmp_path, check=True, text=False)
    assert (tmp_path / "out" / "tokenizer.merganser").read_bytes() == expected


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Write a text with more unique pre-tokens than fit in 64 MB."""
    path = tmp_path_factory.mktemp("many") / "many.txt"
    with path.open("w") as file:
        for n in range(700_000):
            file.write(
                f"{(n * 2_654_435_761) % 2**32:x} {n % 1000} the\n".translate({48: "g", 49: "h", 50: "i"})
            )
    yield path


@pytest.mark.parametrize("threads", [1, 2])
def test_a_memory_budget_yields_the_same_tokenizer(threads: int, many: Path, tmp_path: Path) -> None:
    unlimited = merganser.train(many, 2000, engine=Local(memory="8GB"))
    budgeted = merganser.train(many, 2000, engine=Local(threads=threads, memory="64MB"))
    assert written(budgeted, tmp_path) == written(unlimited, tmp_path)


def test_separate_counts_yield_the_same_tokenizer(expected: bytes, tmp_path: Path) -> None:
    for part in range(3):
        merganser.count(DOCUMENTS[part::3], out=tmp_path / f"{part}.counts")
    merganser.count([tmp_path / f"{part}.counts" for part in range(2)], out=tmp_path / "two.counts")
    assert (
        written(merganser.train([tmp_path / "two.counts", tmp_path / "2.counts"], SIZE), tmp_path) == expected
    )
