"""S3, through s3fs and against a real server: counts and token files are those of files on this disk."""

import gzip
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest
from merganser import Local, Tokenizer, Tokens
from merganser.corpus import resolve
from merganser.tokens.writing import encode_corpus

pytest.importorskip("s3fs")
pytest.importorskip("moto.server")
import s3

pytestmark = [
    # aiobotocore and s3fs close their sessions when the interpreter ends.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SETTINGS: dict[str, Any] = {"shard_tokens": 30_000, "append": 1, "format": "npy"}
MANY = 10_000


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    source = "".join(
        file.read_text("utf-8") for file in sorted(Path(merganser.__file__).parent.glob("*/*.py"))
    )
    for n in range(3):
        (folder / f"{n}.txt").write_text(source[n * 90_000 :][:90_000] + "<|endoftext|>naïve 字", "utf-8")
    lines = "".join(json.dumps({"text": line}) + "\n" for line in source.splitlines()[:4000])
    (folder / "lines.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    return folder


@pytest.fixture(scope="module")
def tokenizer(texts: Path) -> Tokenizer:
    return merganser.train(texts / "0.txt", 400)


@pytest.fixture(scope="module")
def server(texts: Path) -> Iterator[int]:
    with s3.started_server(texts, MANY) as port:
        yield port


@pytest.fixture(scope="module")
def bucket(server: int) -> Iterator[None]:
    with s3.environment(f"http://127.0.0.1:{server}"):
        yield


@pytest.fixture
def proxy(server: int, bucket: None) -> Iterator[s3.Proxy]:
    proxy = s3.Proxy(server)
    with s3.environment(proxy.url):
        yield proxy
    proxy.shutdown()
    proxy.server_close()
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()


def downloaded(url: str, folder: Path) -> dict[str, bytes]:
    import fsspec

    fs, path = fsspec.core.url_to_fs(url)
    fs.invalidate_cache()
    return {name.rpartition("/")[2]: fs.cat_file(name) for name in sorted(fs.find(path))}


def same_result(found: dict[str, bytes], folder: Path) -> None:
    """Compare token files; the corpus is named by its URL, so its checksum differs."""
    expected = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert found.keys() == expected.keys()
    facts, others = (json.loads(files.pop("tokens.json")) for files in (found, expected))
    for each in (facts, others):
        del each["corpus"], each["json_crc32"]
    assert facts == others
    assert found == expected


@pytest.fixture(scope="module")
def encoded(
    bucket: None, texts: Path, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    out = tmp_path_factory.mktemp("encoded") / "here"
    tokenizer.encode_corpus("s3://bucket/texts/", out=out, **SETTINGS)
    here = tmp_path_factory.mktemp("encoded") / "files"
    # Streams come in the order of their names, compressed or not; so do files.
    tokenizer.encode_corpus(texts, out=here, **SETTINGS)
    for file in here.glob("*.npy"):
        assert file.read_bytes() == (out / file.name).read_bytes()
    return out


def test_counts_equal_those_of_files(bucket: None, texts: Path) -> None:
    there, here = merganser.count("s3://bucket/texts/"), merganser.count(texts)
    assert there == here and there.documents == here.documents
    assert merganser.count("s3://bucket/texts/*.txt") == merganser.count(
        [Path(p) for p in texts.glob("*.txt")]
    )


def test_ten_thousand_keys_are_listed(bucket: None) -> None:
    """Ten pages of a listing. Reading all of them would take minutes."""
    streams = resolve("s3://bucket/many/", 1).streams
    assert [stream.name for stream in streams] == [f"s3://bucket/many/{n:05}.txt" for n in range(MANY)]
    counts = merganser.count("s3://bucket/many/0999*.txt")
    assert counts.documents == 10 and counts.total == 50


@pytest.mark.parametrize("format", ["npy", "megatron"])
def test_token_files_are_written_to_a_url(
    bucket: None, texts: Path, tokenizer: Tokenizer, tmp_path: Path, format: Any
) -> None:
    url = f"s3://bucket/{format}/tokens"
    settings = {**SETTINGS, "format": format}
    tokens = tokenizer.encode_corpus(texts, out=url, **settings)
    here = tokenizer.encode_corpus(texts, out=tmp_path / "here", **settings)
    found = downloaded(url, tmp_path)
    assert found == {file.name: file.read_bytes() for file in (tmp_path / "here").iterdir()}
    assert tokens.facts == here.facts and tokens.token_count == here.token_count
    with pytest.raises(merganser.TokensError, match=rf"{url}/shard-00000.* not on this disk; download"):
        tokens.ids(0)
    assert Tokens.open(url).complete
    outcome = encode_corpus(tokenizer, texts, out=url, **settings)
    assert outcome.found == len(tokens.shards), "nothing is left to do"
    with pytest.raises(merganser.TokensError, match="different shard_tokens: 30000, not 40000"):
        tokenizer.encode_corpus(texts, out=url, **{**settings, "shard_tokens": 40_000})
    tokenizer.encode_corpus(texts, out=url, overwrite=True, **{**settings, "shard_tokens": 1 << 40})
    assert len(downloaded(url, tmp_path)) == 4


def test_an_interrupted_run_resumes_at_a_url(
    proxy: s3.Proxy, tokenizer: Tokenizer, tmp_path: Path, encoded: Path
) -> None:
    url = "s3://bucket/resumed/tokens"

    class Stop(Exception):
        pass

    reached = threading.Event()

    def notice(method: str, path: str) -> None:
        if method == "PUT" and "resumed/tokens/shard-00002" in path:
            reached.set()

    def stop(stage: str, done: int, total: int) -> None:
        if reached.is_set():
            raise Stop

    proxy.fault = notice
    with pytest.raises(Stop):
        tokenizer.encode_corpus("s3://bucket/texts/", out=url, progress=stop, **SETTINGS)
    begun = Tokens.open(url)
    assert not begun.complete and 2 <= len(begun.shards) <= 4 < len(list(encoded.glob("*.json"))) - 1
    outcome = encode_corpus(tokenizer, "s3://bucket/texts/", out=url, **SETTINGS)
    assert outcome.found == len(begun.shards)
    same_result(downloaded(url, tmp_path), encoded)


@pytest.mark.parametrize("fault", ["500", "reset", "slow", "truncated"])
def test_requests_that_fail_are_repeated(
    proxy: s3.Proxy, texts: Path, tokenizer: Tokenizer, tmp_path: Path, encoded: Path, fault: str
) -> None:
    """Every fifth request fails, of reading the corpus and of writing the result."""
    numbers = iter(range(10**9))
    proxy.fault = lambda method, path: fault if next(numbers) % 5 == 3 else None
    assert merganser.count("s3://bucket/texts/") == merganser.count(texts)
    url = f"s3://bucket/failing-{fault}/tokens"
    tokenizer.encode_corpus("s3://bucket/texts/", out=url, **SETTINGS)
    assert len(proxy.failed) > 5
    proxy.fault = lambda method, path: None
    same_result(downloaded(url, tmp_path), encoded)


def test_missing_credentials_and_buckets_are_reported(server: int, tokenizer: Tokenizer, texts: Path) -> None:
    url = f"http://127.0.0.1:{server}"
    with s3.environment(url, credentials=False):
        with pytest.raises(merganser.CorpusError, match=r"s3://bucket/texts/.*credentials"):
            merganser.count("s3://bucket/texts/")
        with pytest.raises(merganser.WriteError, match=r"cannot write s3://bucket/x/.*credentials"):
            tokenizer.encode_corpus(texts, out="s3://bucket/x")
    with s3.environment(url):
        with pytest.raises(merganser.CorpusError, match="s3://missing/texts/ does not exist"):
            merganser.count("s3://missing/texts/")
        with pytest.raises(
            merganser.WriteError, match=r"cannot write s3://missing/x/.*bucket does not exist"
        ):
            tokenizer.encode_corpus(texts, out="s3://missing/x")
        with pytest.raises(merganser.TokensError, match=r"there is no s3://bucket/none/tokens\.json"):
            Tokens.open("s3://bucket/none")


@pytest.mark.ray
@pytest.mark.timeout(900)
def test_a_cluster_counts_and_encodes_on_s3(
    server: int, texts: Path, tokenizer: Tokenizer, tmp_path: Path, encoded: Path
) -> None:
    pytest.importorskip("ray")
    tokenizer.save(tmp_path / "x.merganser")
    code = """
import sys, merganser
engine = merganser.Ray("local", "s3://bucket/job", memory="50MB", shard_size=80_000)
merganser.count("s3://bucket/texts/", out=sys.argv[2], engine=engine)
tokenizer = merganser.load(sys.argv[1])
settings = {"shard_tokens": 30_000, "append": 1, "format": "npy"}
tokenizer.encode_corpus("s3://bucket/texts/", out="s3://bucket/ray/tokens", engine=engine, **settings)
"""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    arguments = [str(tmp_path / "x.merganser"), str(tmp_path / "all.counts")]
    done = processes.run(
        [sys.executable, "-c", code, *arguments],
        env={**kept, **s3.settings(f"http://127.0.0.1:{server}")},
    )
    assert done.returncode == 0, done.stderr
    assert merganser.Counts.load(tmp_path / "all.counts") == merganser.count(texts, engine=Local())
    with s3.environment(f"http://127.0.0.1:{server}"):
        same_result(downloaded("s3://bucket/ray/tokens", tmp_path), encoded)
        assert not downloaded("s3://bucket/job", tmp_path), "the storage is emptied"
