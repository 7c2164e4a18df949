"""Ray: a real cluster of a head and two workers gives the same result as this machine, even if nodes fail."""

import gzip
import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest
from clusters import Cluster, started_cluster
from merganser import Local, MerganserWarning, Ray
from merganser.corpus import resolve
from merganser.corpus.addresses import Address
from merganser.corpus.split_settings import SplitSettings
from merganser.engines import shards
from merganser.files import locked_folder
from ray_nodes import Nodes

ray = pytest.importorskip("ray")
pytestmark = [
    pytest.mark.ray,
    pytest.mark.timeout(900),  # on a busy machine, starting a cluster takes minutes
    # Ray leaves log files and child processes until the end of the process.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SMALL: dict[str, Any] = {"memory": "50MB", "shard_size": 200_000}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with started_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write several small files, and a large one that is split inside and between documents."""
    folder = tmp_path_factory.mktemp("texts")
    source = "".join(
        file.read_text("utf-8") for file in sorted(Path(merganser.__file__).parent.rglob("*.py"))
    )
    for n in range(5):
        (folder / f"{n}.txt").write_text(source[n * 20_000 :][:20_000] + "\n\nnaïve café 字", "utf-8")
    (folder / "empty.txt").write_text("")
    with (folder / "large.txt").open("wb") as file:
        for n in range(3):
            file.write(source.encode() + b"\xff<|endoftext|>" + b"x%d " % n * 9)
    return folder


def same(counts: merganser.Counts, other: merganser.Counts) -> bool:
    return counts == other and (counts.documents, counts.invalid_bytes) == (
        other.documents,
        other.invalid_bytes,
    )


@pytest.mark.parametrize("pattern", ["gpt4", r"\p{L}+|\s+|[^\s\p{L}]+"])
def test_counts_and_tokenizer_equal_those_of_a_local_run(
    cluster: Cluster, texts: Path, tmp_path: Path, pattern: str
) -> None:
    settings: dict[str, Any] = {"pattern": pattern, "special_tokens": ["<|fim|>"]}
    engine = Ray(cluster.address, tmp_path / "storage", **SMALL)
    here = merganser.count(texts, **settings)
    assert same(merganser.count(texts, **settings, engine=engine), here)
    assert not (tmp_path / "storage").exists(), "the storage is removed"

    done: list[int] = []
    tokenizer = merganser.train(
        texts,
        500,
        **settings,
        engine=engine,
        progress=lambda stage, at, _: done.append(at) if stage == "count" else None,
    )
    tokenizer.save(tmp_path / "ray.merganser")
    merganser.train(texts, 500, **settings).save(tmp_path / "local.merganser")
    assert (tmp_path / "ray.merganser").read_bytes() == (tmp_path / "local.merganser").read_bytes()
    assert done == sorted(done) and done[0] == 0
    assert done[-1] == sum(file.stat().st_size for file in texts.iterdir())


def test_tasks_read_files_of_all_kinds(cluster: Cluster, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    texts = [f"the {n}th duck dives — 潜水 {n * n}" for n in range(3000)]
    (tmp_path / "in").mkdir()
    lines = "".join(json.dumps({"body": text}) + "\n" for text in texts).encode()
    (tmp_path / "in" / "a.jsonl").write_bytes(lines + b"not JSON\n")
    (tmp_path / "in" / "b.jsonl.gz").write_bytes(gzip.compress(lines))
    (tmp_path / "in" / "c.csv").write_text("body\n" + "\n".join(texts) + "\n")
    parquet.write_table(pa.table({"body": [*texts, None]}), tmp_path / "in" / "d.parquet")
    address = f"file://{tmp_path / 'in' / 'b.jsonl.gz'}"
    engine = Ray(cluster.address, tmp_path / "storage", **SMALL)
    reading: dict[str, Any] = {"text_key": "body", "on_error": "skip"}
    corpus = [Address(tmp_path / "in"), Address(address)]
    with pytest.warns(MerganserWarning, match="not JSON|skipped"):
        counts = merganser.count(corpus, **reading, engine=engine)
    assert same(counts, merganser.count(texts * 5))
    assert (counts.skipped.records, counts.skipped.files) == (2, 0)


def test_large_files_are_split_and_small_ones_are_grouped(texts: Path) -> None:
    plan = shards.plan(resolve(texts, 1), SplitSettings(), 200_000)
    large = [part for shard in plan for part in shard if part.path.endswith("large.txt")]
    assert len(large) > 10 and len(plan) == len(large) + 1 - sum(len(shard) > 1 for shard in plan[1:])
    assert [part.start for part in large[1:]] == [part.end for part in large[:-1]]
    (texts / "large.txt").rename(texts / "large.csv")  # a quote may span any number of lines
    try:
        plan = shards.plan(resolve(texts, 1), SplitSettings(), 200_000)
        assert [part.is_whole for shard in plan for part in shard] == [True] * 7
    finally:
        (texts / "large.csv").rename(texts / "large.txt")


def test_local_counts_and_documents_are_added(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    engine = Ray(cluster.address, tmp_path / "storage", parts=2, **SMALL)
    merganser.count(["more and more"], out=tmp_path / "more.counts")
    out = merganser.count([texts, tmp_path / "more.counts"], out=tmp_path / "all.counts", engine=engine)
    here = merganser.count([texts, tmp_path / "more.counts"])
    assert same(merganser.Counts.load(out.path), here)
    documents = ["only here", "and here"]
    assert same(merganser.count(documents, engine=engine), merganser.count(documents))


def test_storage_can_be_a_url(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    engine = Ray(cluster.address, f"file://{tmp_path}/storage", parts=3, **SMALL)
    assert same(merganser.count(texts, engine=engine), merganser.count(texts))
    assert not list((tmp_path / "storage").iterdir())


def test_storage_that_is_not_shared_is_rejected(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    pytest.importorskip("fsspec")
    with pytest.raises(
        merganser.SettingsError, match=r"does not see .* in memory://storage; .* all nodes share"
    ):
        merganser.count(texts, engine=Ray(cluster.address, "memory://storage", **SMALL))
    with pytest.raises(
        merganser.SettingsError, match="needs storage that all its nodes share; pass storage="
    ):
        Ray(cluster.address)


def test_a_lost_node_does_not_change_the_counts(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    corpus = tmp_path / "texts"
    corpus.mkdir()
    for n in range(12):
        (corpus / f"{n}.txt").write_bytes((texts / "large.txt").read_bytes()[n : 1_500_000 + n])
    slow = r"(?<=\S)\s+|\w+(?=\W)|."  # so that both nodes are busy when one is lost
    lost: list[float] = []
    hammer = threading.Thread(target=cluster.lose_worker, daemon=True)

    def lose(stage: str, done: int, total: int) -> None:
        if 0 < done < total // 2 and not lost:
            lost.append(time.time())
            hammer.start()

    engine = Ray(cluster.address, tmp_path / "storage", keep_work=True, memory="50MB", shard_size=1_500_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        counts = merganser.count(corpus, pattern=slow, engine=engine, progress=lose)
        processes.joined(hammer)
        cluster.workers.append(cluster.add())
    ended = [json.loads(file.read_text())["ended"] for file in tmp_path.glob("storage/*/shard-*.json")]
    assert len(ended) == 12 and sum(end > lost[0] for end in ended) > 4
    assert same(counts, merganser.count(corpus, pattern=slow))


DRIVER = """
import sys, merganser
limits = {"memory": "50MB", "shard_size": 200_000, "max_in_flight": 1}
engine = merganser.Ray(sys.argv[1], sys.argv[3], keep_work=True, **limits)
merganser.count(sys.argv[2], out=sys.argv[4], engine=engine)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_driver_resumes_where_it_stopped(
    cluster: Cluster, texts: Path, tmp_path: Path, end: signal.Signals
) -> None:
    storage, out = tmp_path / "storage", tmp_path / "all.counts"
    command = [sys.executable, "-c", DRIVER, cluster.address, str(texts), str(storage), str(out)]

    def manifests() -> dict[str, str]:
        return {file.name: file.read_text() for file in storage.glob("*/shard-*.json")}

    with processes.started(command) as driver:
        processes.wait_until(lambda: len(manifests()) >= 4, driver)
        driver.send_signal(end)
        _, message = driver.communicate()
    assert driver.returncode == -end and not out.exists(), message
    before = manifests()
    plan = shards.plan(resolve(texts, 1), SplitSettings(), 200_000)
    assert 4 <= len(before) < len(plan)

    done = processes.run(command)
    assert done.returncode == 0, done.stderr
    after = manifests()
    assert len(after) == len(plan)
    # Manifests contain times and file names, so equal ones were not written again.
    assert {name: after[name] for name in before} == before
    assert same(merganser.Counts.load(out), merganser.count(texts))

    with pytest.raises(
        merganser.CountsError, match=r'belongs to a different job \(pattern: "gpt4", not "gpt2"\)'
    ):
        merganser.count(texts, pattern="gpt2", engine=Ray(cluster.address, storage, **SMALL))
    engine = Ray(cluster.address, storage, resume=False, **SMALL)
    assert same(merganser.count(texts, pattern="gpt2", engine=engine), merganser.count(texts, pattern="gpt2"))
    assert not storage.exists()


def test_a_corrupt_run_file_is_named(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    storage = tmp_path / "storage"

    class Stop(Exception):
        pass

    def stop(stage: str, done: int, total: int) -> None:
        if done > total // 2:
            raise Stop

    engine = Ray(cluster.address, storage, **SMALL)
    with pytest.raises(Stop):
        merganser.count(texts, engine=engine, progress=stop)
    manifest = json.loads(min(storage.glob("*/shard-*.json")).read_text())
    run = storage / manifest["runs"][0]["name"]
    data = bytearray(run.read_bytes())
    data[-9] ^= 1
    run.write_bytes(data)
    with pytest.raises(merganser.CountsError, match=f"{run.name}, which holds .* is corrupt: .*--no-resume"):
        merganser.count(texts, engine=engine)
    run.unlink()
    with pytest.raises(merganser.CountsError, match=f"{run.name} is missing; start over with --no-resume"):
        merganser.count(texts, engine=engine)
    assert same(
        merganser.count(texts, engine=Ray(cluster.address, storage, resume=False, **SMALL)),
        merganser.count(texts),
    )


def test_errors_of_a_task_are_raised_unchanged(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab" * 100)
    engine = Ray(cluster.address, tmp_path / "storage", memory="50MB")

    def shrink(stage: str, done: int, total: int) -> None:
        (tmp_path / "a.txt").write_text("shorter")

    with pytest.raises(
        merganser.CorpusError, match=r"a\.txt has 7 bytes on the node .*, but 200 on the driver"
    ):
        merganser.count(tmp_path / "a.txt", engine=engine, progress=shrink)
    (tmp_path / "b.txt").write_text("a" * 300_000)
    engine = Ray(cluster.address, tmp_path / "other", memory="50MB")
    with pytest.raises(merganser.PatternError, match="rescans the same text too often"):
        merganser.count(tmp_path / "b.txt", pattern=r"\p{L}*ing|.", engine=engine)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


ENCODING: dict[str, Any] = {"shard_tokens": 60_000, "append": "<|endoftext|>", "prepend": 300}


@pytest.fixture(scope="module")
def tokenizer(texts: Path) -> merganser.Tokenizer:
    return merganser.train(texts / "0.txt", 512, special_tokens=["<|endoftext|>"])


@pytest.fixture(scope="module")
def encoded(texts: Path, tokenizer: merganser.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("encoded") / "here"
    tokenizer.encode_corpus(texts, out=out, **ENCODING)
    return out


def test_a_lost_node_does_not_change_the_token_files(
    cluster: Cluster, texts: Path, tmp_path: Path, tokenizer: merganser.Tokenizer, encoded: Path
) -> None:
    """Small; tests/long/test_losses.py loses workers and the driver during a job of 200 shards."""
    lost: list[threading.Thread] = []

    def lose(stage: str, done: int, total: int) -> None:
        if 0 < done < total // 2 and not lost:
            lost.append(threading.Thread(target=cluster.lose_worker, daemon=True))
            lost[0].start()

    engine = Ray(cluster.address, tmp_path / "storage", keep_work=True, **SMALL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tokenizer.encode_corpus(texts, out=tmp_path / "out", engine=engine, progress=lose, **ENCODING)
        processes.joined(lost[0])
        cluster.workers.append(cluster.add())
    assert contents(tmp_path / "out") == contents(encoded)
    engine.clean()
    assert not (tmp_path / "storage").exists()


ENCODER = """
import sys, merganser
from merganser.engines import pieces
tokenizer = merganser.load(sys.argv[2])
limits = {"memory": "50MB", "shard_size": 200_000, "max_in_flight": 1}
engine = merganser.Ray(sys.argv[1], sys.argv[4], **limits)
settings = {"shard_tokens": 60_000, "append": "<|endoftext|>", "prepend": 300}
tokenizer.encode_corpus(sys.argv[3], out=sys.argv[5], engine=engine, **settings)
"""


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_driver_resumes_encoding(
    cluster: Cluster,
    texts: Path,
    tmp_path: Path,
    tokenizer: merganser.Tokenizer,
    encoded: Path,
    end: signal.Signals,
) -> None:
    storage, out = tmp_path / "storage", tmp_path / "out"
    tokenizer.save(tmp_path / "x.merganser")
    arguments = [cluster.address, tmp_path / "x.merganser", texts, storage, out]
    command = [sys.executable, "-c", ENCODER, *map(str, arguments)]

    def manifests() -> dict[str, str]:
        return {file.name: file.read_text() for file in storage.glob("*/*.json")}

    with processes.started(command) as driver:
        processes.wait_until((out / "shard-00002.json").exists, driver)
        driver.send_signal(end)
        _, message = driver.communicate()
    assert driver.returncode == -end, message
    before = manifests()
    assert not (out / f"shard-{len(list(encoded.glob('*.json'))) - 2:05}.json").exists()
    # The result is a valid beginning.
    begun = merganser.Tokens.open(out)
    assert not begun.complete and len(begun.shards) >= 3
    engine = Ray(cluster.address, storage, **SMALL)
    with locked_folder(out), pytest.raises(merganser.TokensError, match="out is locked by another process"):
        tokenizer.encode_corpus(texts, out=out, engine=engine, **ENCODING)
    engine = Ray(cluster.address, storage, keep_work=True, **SMALL)
    tokenizer.encode_corpus(texts, out=out, engine=engine, **ENCODING)
    after = manifests()
    assert {name: after[name] for name in before} == before, "finished tasks do not run again"
    assert contents(out) == contents(encoded)


def test_folders_that_are_not_shared_are_rejected_before_encoding(
    cluster: Cluster, texts: Path, tmp_path: Path, tokenizer: merganser.Tokenizer
) -> None:
    pytest.importorskip("fsspec")
    for out, storage in ((tmp_path / "out", "memory://pieces"), ("memory://out", tmp_path / "storage")):
        with pytest.raises(merganser.SettingsError, match=r"does not see .* in memory://.* all nodes share"):
            engine = Ray(cluster.address, storage, **SMALL)
            tokenizer.encode_corpus(texts, out=out, engine=engine)
    with pytest.raises(merganser.SettingsError, match="do not fit in uint16"):
        large = merganser.Tokenizer(tokenizer.mergeable_ranks, special_tokens={"<s>": 70_000}, pattern="gpt4")
        engine = Ray(cluster.address, tmp_path / "storage", **SMALL)
        large.encode_corpus(texts, out=tmp_path / "narrow", dtype="uint16", engine=engine)
    assert not (tmp_path / "narrow").exists()


def test_an_unreachable_cluster_is_an_error(tmp_path: Path, texts: Path) -> None:
    code = """
import sys, merganser
merganser.count(sys.argv[1], engine=merganser.Ray("127.0.0.1:1", sys.argv[2]))
"""
    done = processes.run([sys.executable, "-c", code, str(texts / "0.txt"), str(tmp_path / "storage")])
    assert "EngineError: cannot reach the Ray cluster 127.0.0.1:1: " in done.stderr


def test_invalid_settings_are_rejected() -> None:
    for settings in (
        {"parts": 0},
        {"parts": 1001},
        {"cpus": 0},
        {"retries": -1},
        {"shard_size": 0},
        {"memory": "1kB"},
    ):
        with pytest.raises(merganser.SettingsError, match=next(iter(settings))):
            Ray(**settings)
    with pytest.raises(merganser.SettingsError, match="shard_size"):
        Ray(shard_size="large")


def test_commands_start_a_cluster_protected_by_a_token(texts: Path, tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    merganser_command = [str(Path(sys.executable).with_name("merganser"))]
    out = tmp_path / "all.counts"
    done = processes.run(
        [*merganser_command, "count", str(texts), "--out", str(out), "--ray", "local", "--memory", "50MB"],
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert same(merganser.Counts.load(out), merganser.count(texts))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["all.counts"]
    tokens = tmp_path / "tokens"
    merganser.train(texts / "0.txt", 300).save(tmp_path / "x.merganser")
    done = processes.run(
        [
            *(*merganser_command, "encode", str(tmp_path / "x.merganser"), str(texts), "--out", str(tokens)),
            *("--ray", "local", "--memory", "50MB", "--shard-tokens", "100k"),
        ],
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    merganser.load(tmp_path / "x.merganser").encode_corpus(texts, out=tmp_path / "y", shard_tokens=100_000)
    assert contents(tokens) == contents(tmp_path / "y")
    assert not (tmp_path / "tokens.work").exists()
    code = """
import os, sys, merganser, ray
seen = []
def look(stage, done, total):
    seen.append((os.environ["RAY_AUTH_MODE"], len(os.environ["RAY_AUTH_TOKEN"]), ray.is_initialized()))
merganser.count(sys.argv[1], engine=merganser.Ray(memory="50MB"), progress=look)
assert set(seen) == {("token", 64, True)}, seen
assert not ray.is_initialized() and "RAY_AUTH_TOKEN" not in os.environ
"""
    done = processes.run([sys.executable, "-c", code, str(texts / "0.txt")], env=environment)
    assert done.returncode == 0, done.stderr


def test_a_stranger_without_the_token_is_refused(texts: Path, tmp_path: Path) -> None:
    """A cluster with token authentication, which all the guides tell to set."""
    code = """
import sys, merganser
engine = merganser.Ray(sys.argv[1], sys.argv[3], memory="50MB")
print(merganser.count(sys.argv[2], engine=engine).total)
"""
    with Nodes(head_cpus=1) as nodes:
        command = [sys.executable, "-c", code, nodes.address, str(texts / "0.txt"), str(tmp_path / "storage")]
        welcome = processes.run(command, env=nodes.environment)
        assert welcome.returncode == 0, welcome.stderr
        assert int(welcome.stdout) == merganser.count(texts / "0.txt").total
        # At the same time, because Ray repeats the handshake for 20 seconds.
        wrong, none = {"RAY_AUTH_TOKEN": "0" * 64}, {"RAY_AUTH_MODE": "disabled", "RAY_AUTH_TOKEN": ""}
        with (
            processes.started(command, env=nodes.environment | wrong) as first,
            processes.started(command, env=nodes.environment | none) as second,
        ):
            for stranger in (first, second):
                output, errors = stranger.communicate()
                assert stranger.returncode == 1, output
                assert "EngineError: cannot reach or start the Ray cluster" in errors
                assert "InvalidAuthToken: Authentication token is missing or incorrect" in errors


def test_an_existing_connection_is_kept(cluster: Cluster, texts: Path, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ray.init(cluster.address, log_to_driver=False, logging_level="WARNING")
    engine = Ray("local", tmp_path / "storage", local=Local(threads=1), memory="50MB")
    assert same(merganser.count(texts, engine=engine), merganser.count(texts))
    assert ray.is_initialized()
    ray.shutdown()
