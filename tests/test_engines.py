"""The contract of engines (docs/engines.md): every engine gives the result of every other.

`Local` and `Ray`, and an engine of a few lines that runs the tasks of a cluster on threads.
"""

import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import merganser
import pytest
from clusters import started_cluster
from merganser import Local, Ray, Tokenizer
from merganser.tokens.writing import encode_corpus
from pieces_engine import Pieces

pytestmark = [
    pytest.mark.timeout(900),  # on a busy machine, starting a cluster takes minutes
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

END = "<|endoftext|>"

#: Returns an engine with a work folder or storage at the path.
Engine = Callable[[Path], Any]


@pytest.fixture(scope="module", params=["Local", "threads", pytest.param("Ray", marks=pytest.mark.ray)])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    if request.param == "Local":
        yield lambda work: Local(threads=2, memory="50MB", work_dir=work)
    elif request.param == "threads":
        yield lambda work: Pieces(work_dir=work, storage=work, piece_size=30_000)
    else:
        pytest.importorskip("ray")
        with started_cluster() as cluster:
            yield lambda work: Ray(cluster.address, work, memory="50MB", shard_size=30_000)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus")
    text = "".join(f"the {n}th duck dives — 潜水 {n * n}{END if n % 9 == 0 else ' '}" for n in range(2000))
    (folder / "a.txt").write_text(text, "utf-8")
    (folder / "b.txt").write_bytes(b"\xff not UTF-8 \xfe" + text[:100].encode())
    (folder / "empty.txt").write_text("")
    records = "".join(json.dumps({"text": text[n : n + 99]}) + "\n" for n in range(0, 9000, 99))
    (folder / "c.jsonl").write_text(records, "utf-8")
    (folder / "d.jsonl.gz").write_bytes(gzip.compress(records.encode()))
    return folder


@pytest.fixture(scope="module")
def tokenizer(corpus: Path) -> Tokenizer:
    return merganser.train(corpus, 400, special_tokens=[END])


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_counts_are_the_same(engine: Engine, corpus: Path, tmp_path: Path) -> None:
    counts = merganser.count(corpus, engine=engine(tmp_path / "work"))
    expected = merganser.count(corpus)
    assert counts == expected
    assert (counts.documents, counts.invalid_bytes) == (expected.documents, expected.invalid_bytes)
    merganser.count(corpus, out=tmp_path / "all.counts", engine=engine(tmp_path / "work"))
    assert merganser.Counts.load(tmp_path / "all.counts") == expected
    assert not (tmp_path / "work").exists(), "nothing is left"


def test_tokenizers_are_the_same(engine: Engine, corpus: Path, tokenizer: Tokenizer, tmp_path: Path) -> None:
    trained = merganser.train(corpus, 400, special_tokens=[END], engine=engine(tmp_path / "work"))
    assert trained == tokenizer
    assert not (tmp_path / "work").exists()


@pytest.mark.parametrize("format", ["bin", "npy", "llmc", "megatron"])
def test_token_files_are_the_same(
    engine: Engine, corpus: Path, tokenizer: Tokenizer, tmp_path: Path, format: Any
) -> None:
    settings: dict[str, Any] = {"format": format, "append": END, "shard_tokens": 7000}
    done: list[tuple[str, int, int]] = []
    tokenizer.encode_corpus(
        corpus,
        out=tmp_path / "out",
        engine=engine(tmp_path / "work"),
        progress=lambda *report: done.append(report),
        **settings,
    )
    tokenizer.encode_corpus(corpus, out=tmp_path / "here", **settings)
    assert contents(tmp_path / "out") == contents(tmp_path / "here")
    assert len(contents(tmp_path / "out")) > 10
    assert not (tmp_path / "work").exists()
    assert {stage for stage, _, _ in done} <= {"encode"}
    assert [at for _, at, _ in done] == sorted(at for _, at, _ in done)


def test_text_of_this_process_comes_in_order(
    engine: Engine, corpus: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    documents = [f"document {n} {END if n % 5 == 0 else ''} of this process" for n in range(300)]
    for source in (documents, [corpus / "a.txt", corpus / "d.jsonl.gz"]):
        out, here = tmp_path / f"out-{len(source)}", tmp_path / f"here-{len(source)}"
        tokenizer.encode_corpus(source, out=out, shard_tokens=1000, engine=engine(tmp_path / "work"))
        tokenizer.encode_corpus(source, out=here, shard_tokens=1000)
        assert contents(out) == contents(here)


def test_parquet_rows_are_documents_in_order(engine: Engine, tokenizer: Tokenizer, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "tables"
    folder.mkdir()
    (folder / "0.txt").write_text("before the tables")
    for n in range(3):
        rows = [f"row {i} of table {n}{END * (i % 3)} and more" for i in range(400)]
        parquet.write_table(pa.table({"text": rows}), folder / f"{n}.parquet")
    out, here = tmp_path / "out", tmp_path / "here"
    tokenizer.encode_corpus(folder, out=out, shard_tokens=1000, engine=engine(tmp_path / "work"))
    tokenizer.encode_corpus(folder, out=here, shard_tokens=1000)
    assert contents(out) == contents(here)


def test_errors_are_the_same_and_leave_nothing(
    engine: Engine, corpus: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a"}\nnot JSON\n')
    (tmp_path / "none.txt").write_text(END)
    for source, message in ((tmp_path / "bad.jsonl", "line 2"), (tmp_path / "none.txt", "contains no text")):
        with pytest.raises(merganser.CorpusError, match=message):
            tokenizer.encode_corpus(source, out=tmp_path / "out", engine=engine(tmp_path / source.name[:3]))
        assert not (tmp_path / "out").exists()
    with pytest.raises(merganser.CorpusError, match="line 2"):
        merganser.count(tmp_path / "bad.jsonl", engine=engine(tmp_path / "work"))


def test_a_finished_run_has_nothing_to_do(
    engine: Engine, corpus: Path, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    tokenizer.encode_corpus(corpus, out=tmp_path / "out", shard_tokens=7000)
    before = contents(tmp_path / "out")
    outcome = encode_corpus(
        tokenizer, corpus, out=tmp_path / "out", shard_tokens=7000, engine=engine(tmp_path / "work")
    )
    assert outcome.found == len(outcome.tokens.shards)
    assert contents(tmp_path / "out") == before
