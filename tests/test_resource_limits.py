"""Limits: no threads, no memory, long records, slow patterns. The result is the same, or a clear error."""

import gzip
import json
import os
import sys
from pathlib import Path

import merganser
import processes
import pytest
from merganser import CorpusError, Local, MerganserWarning, PatternError, SettingsError
from merganser.engines import memory
from merganser.tokens.writing import encode_corpus

MB = 1_000_000

linux = pytest.mark.skipif(sys.platform != "linux", reason="sets limits as Linux does")


def child(script: str, *arguments: object, **environment: str) -> str:
    """Run a script in a process of its own and return what it prints."""
    done = processes.run(
        [sys.executable, "-c", script, *map(str, arguments)], env={**os.environ, **environment}, check=True
    )
    assert isinstance(done.stdout, str)
    return done.stdout


# ── threads ───────────────────────────────────────────────────────────────────

#: Everything that starts threads; prints a hash of all results, and the warnings about threads.
EVERYTHING = """
import hashlib, sys, warnings
from pathlib import Path
import merganser
from merganser.tokens.writing import encode_corpus

folder = Path(sys.argv[1])
text = "".join(f"the cat number {n * n} sat on the mat\\n" for n in range(30_000))
folder.mkdir()
(folder / "a.txt").write_text(text)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    engine = merganser.Local(threads=4)
    results = []
    for engine in (merganser.Local(threads=4), merganser.Local(threads=1)):
        tokenizer = merganser.train(folder / "a.txt", 400, engine=engine)
        results.append(tokenizer.merges)
    other = merganser.train([text], 400, pattern=r"\\\\w+|(?<=x)y", special_tokens=["<s>"])
    results.append(other.encode(text))
    counts = merganser.count(iter([text] * 3), engine=merganser.Local(threads=4, memory="16MB"))
    results.append((len(counts), counts.total))
    ids = tokenizer.encode(text)
    results += [ids, tokenizer.encode_batch([text] * 3)]
    results += [tokenizer.count_tokens(text), tokenizer.count_tokens([text] * 9)]
    results += [tokenizer.decode_batch([ids] * 8), merganser.split(text)]
    encode_corpus(tokenizer, folder / "a.txt", out=folder / "tokens", shard_tokens=10_000, separator="\\n")
    results.append([file.read_bytes() for file in sorted((folder / "tokens").glob("*.bin"))])
print(hashlib.sha256(repr(results).encode()).hexdigest())
messages = [str(warning.message) for warning in caught]
print(*(message for message in messages if "thread" in message), sep="\\n")
"""


@linux
def test_the_result_is_the_same_if_no_thread_can_be_started(tmp_path: Path) -> None:
    expected = child(EVERYTHING, tmp_path / "a").split()
    # No stack of this size can be allocated, so that the system refuses every thread of the core.
    found, *warned = child(EVERYTHING, tmp_path / "b", RUST_MIN_STACK=str(1 << 46)).splitlines()
    assert [found] == expected
    assert len(warned) == 1 and warned[0].startswith("a thread could not be started (")


@linux
def test_a_stream_is_read_if_no_thread_can_be_started(tmp_path: Path) -> None:
    text = "the cat sat\n" * 50_000
    command = [sys.executable, "-m", "merganser", "count", "-", "--out", str(tmp_path / "a.counts"), "--json"]
    done = processes.run(command, input=text, env={**os.environ, "RUST_MIN_STACK": str(1 << 46)}, check=True)
    assert json.loads(done.stdout)["pretokens"] == merganser.count([text]).total
    assert "a thread could not be started" in done.stderr


# ── memory ────────────────────────────────────────────────────────────────────

#: Limits the address space to what is in use and some MB more.
LIMITED = """
import resource, sys, warnings
from pathlib import Path
import numpy
import merganser
from merganser.engines import memory

warnings.simplefilter("ignore")
def limit(megabytes):
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + megabytes * 10**6,) * 2)

tokenizer = merganser.train(["the cat sat on the mat"] * 9, 270)
"""


@linux
@pytest.mark.parametrize(
    "call",
    [
        "tokenizer.encode(text)",
        "tokenizer.encode_batch([text])",
        "tokenizer.encode_flat([text, text])",
        "tokenizer.count_tokens(text)",
        "tokenizer.count_tokens([text])",
        "merganser.split(text)",
        "merganser.count([text])",
    ],
)
def test_a_text_without_memory_for_its_utf8_is_a_memory_error(call: str) -> None:
    script = f"""{LIMITED}
text = "é" * 60_000_000
limit(80)
try:
    {call}
except MemoryError:
    print("MemoryError")
"""
    assert child(script) == "MemoryError\n"


@linux
@pytest.mark.parametrize(
    "call",
    [
        "tokenizer.encode(text)",
        "tokenizer.encode_flat([text], threads=1)",
        "tokenizer.encode('a' * 60_000_000)",
        "tokenizer.encode_batch(['a' * 30_000_000, 'b' * 30_000_000], threads=2)",
        "tokenizer.decode_bytes(few * 12_000_000)",
        "tokenizer.decode_batch([few] * 30_000_000)",
        "merganser.train([text], 300, separator=None)",
    ],
)
def test_a_result_without_memory_is_a_memory_error(call: str) -> None:
    script = f"""{LIMITED}
text = "xyz " * 15_000_000
few = numpy.array(tokenizer.encode("the cat sat on the mat"), dtype=numpy.uint32).tolist()
limit(100)
try:
    {call}
    print("enough")
except MemoryError as error:
    print("MemoryError", error)
"""
    assert child(script).startswith(("MemoryError", "enough"))


@linux
def test_the_default_budget_respects_the_limit_on_the_address_space(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"word{n * n} " for n in range(400_000)))
    script = f"""{LIMITED}
limit(600)
assert memory.free() <= 600 * 10**6, memory.free()
counts = merganser.count(Path(sys.argv[1]), out=Path(sys.argv[1]).with_suffix(".counts"))
print(counts.total)
"""
    assert int(child(script, tmp_path / "a.txt")) == merganser.count(tmp_path / "a.txt").total


def test_the_limits_of_nested_control_groups_count(tmp_path: Path) -> None:
    own = tmp_path / "cgroup"
    group = tmp_path / "fs" / "system" / "job"
    group.mkdir(parents=True)

    def limits(folder: Path, most: str, used: int, inactive: int) -> None:
        (folder / "memory.max").write_text(f"{most}\n")
        (folder / "memory.current").write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 1\ninactive_file {inactive}\n")

    own.write_text("0::/system/job\n")
    limits(group, "900000000", 500_000_000, 100_000_000)
    limits(group.parent, "max", 600_000_000, 0)
    assert list(memory._left_by_groups(tmp_path / "fs", own)) == [500_000_000]
    limits(group.parent, "700000000", 600_000_000, 0)
    assert min(memory._left_by_groups(tmp_path / "fs", own)) == 100_000_000

    old = tmp_path / "old" / "memory" / "docker"
    old.mkdir(parents=True)
    own.write_text("3:cpu,cpuacct:/elsewhere\n2:memory:/docker\n")
    (old / "memory.limit_in_bytes").write_text("300000000")
    (old / "memory.usage_in_bytes").write_text("200000000")
    (old / "memory.stat").write_text("total_inactive_file 50000000\n")
    assert list(memory._left_by_groups(tmp_path / "old", own)) == [150_000_000]
    # In a namespace of its own, a group is seen from its root.
    own.write_text("0::/../..\n")
    assert list(memory._left_by_groups(tmp_path / "fs", own)) == []
    assert list(memory._left_by_groups(tmp_path / "fs", tmp_path / "none")) == []


# ── long records ──────────────────────────────────────────────────────────────

SMALL = Local(memory="16MB", threads=2)


def write_long(folder: Path, kind: str, size: int) -> Path:
    """Write a file with one pre-token, or one record, of this size."""
    if kind == "jsonl.gz":
        with gzip.open(folder / "long.jsonl.gz", "wt") as file:
            file.write(json.dumps({"text": "ab" * (size // 2)}))
        return folder / "long.jsonl.gz"
    file = folder / f"long.{kind}"
    if kind == "sparse":
        with file.open("wb") as sparse:
            sparse.truncate(size)
    elif kind == "txt":
        file.write_text(" " * size)
    elif kind == "json":
        file.write_text(" " * size + "[]")
    else:
        file.write_text('text\n"' + "0" * size + '"\n')
    return file


@pytest.mark.parametrize("kind", ["txt", "sparse", "jsonl.gz", "csv"])
def test_a_record_above_the_limit_is_refused_and_the_limit_can_be_raised(tmp_path: Path, kind: str) -> None:
    file = write_long(tmp_path, kind, 5 * MB)
    with pytest.raises(CorpusError, match=r"raise\s+max_record"):
        merganser.count(file, engine=SMALL, allow_binary=True)
    with pytest.warns(MerganserWarning, match="skipped"):
        assert merganser.count(file, engine=SMALL, allow_binary=True, on_error="skip").total == 0
    raised = merganser.count(file, engine=SMALL, allow_binary=True, max_record="6MB")
    assert raised == merganser.count(file, allow_binary=True)
    assert raised.total > 0


def test_a_limit_holds_for_documents_in_memory_and_for_patterns_that_see_all(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="offer no place to cut"):
        merganser.count([" " * 5 * MB], engine=SMALL)
    text = "to be or not to be " * 300_000
    pattern = r"(?<=x)y|\w+|\s"
    with pytest.raises(CorpusError, match="offer no place to cut"):
        merganser.count([text], pattern=pattern, engine=SMALL)
    assert merganser.count([text], pattern=pattern, engine=SMALL, max_record="10MB").total > 0


def test_blanks_before_a_json_array_are_no_record(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(" \n" * 3 * MB + '["to be"]')
    assert merganser.count(file, engine=SMALL).total == 2


def test_encoding_has_the_limit_too(tmp_path: Path) -> None:
    tokenizer = merganser.train(["to be or not to be"], 260)
    file = write_long(tmp_path, "txt", 5 * MB)
    with pytest.raises(CorpusError, match="offer no place to cut"):
        encode_corpus(tokenizer, file, out=tmp_path / "tokens", engine=SMALL)
    encode_corpus(tokenizer, file, out=tmp_path / "tokens", engine=SMALL, max_record="6MB", overwrite=True)
    assert list(tmp_path.glob("tokens/*.bin"))


@linux
@pytest.mark.parametrize("kind", ["txt", "sparse", "jsonl.gz"])
@pytest.mark.parametrize("command", ["count", "encode"])
def test_a_budget_holds_for_one_long_record(tmp_path: Path, kind: str, command: str) -> None:
    script = """
import sys
import merganser
from merganser.engines import memory
from merganser.tokens.writing import encode_corpus

command, file, out = sys.argv[1:]
tokenizer = merganser.train(["to be or not to be"], 260)
before = memory.peak()
engine = merganser.Local(memory="64MB")
try:
    if command == "count":
        merganser.count(file, out=out, engine=engine, allow_binary=True)
    else:
        encode_corpus(tokenizer, file, out=out, engine=engine, allow_binary=True)
except merganser.CorpusError as error:
    print(memory.peak() - before)
"""
    file = write_long(tmp_path, kind, 100 * MB)
    assert int(child(script, command, file, tmp_path / "out.counts")) < 64 * MB


@pytest.mark.parametrize("limit", [0, -1, "none", 2**64, 1.5])
def test_a_limit_must_be_a_size(limit: object) -> None:
    with pytest.raises(SettingsError, match="max_record"):
        merganser.ReadOptions(max_record=limit)  # type: ignore[arg-type]


# ── patterns and special tokens ───────────────────────────────────────────────


def test_a_long_periodic_special_token_is_quick_to_load() -> None:
    long = "ab" * 30_000
    tokenizer = merganser.train(["to be or not to be"], 262, special_tokens=[long, "<s>"])
    ids = tokenizer.encode(f"to{long}a<s>", allowed_special="all")
    assert tokenizer.decode(ids) == f"to{long}a<s>"
    assert tokenizer.special_tokens[long] in ids


def test_a_special_token_above_the_limit_is_refused() -> None:
    long = "a" * 10_000_000
    with pytest.raises(SettingsError, match=r'"a{40}…" is longer than 65,536 bytes'):
        merganser.train(["to be"], 300, special_tokens=[long])
    with pytest.raises(SettingsError, match="is longer than 65,536 bytes"):
        merganser.count(["to be"], separator=long)
    tokenizer = merganser.train(["to be or not to be"], 260)
    ranks = tokenizer.mergeable_ranks
    with pytest.raises(merganser.MerganserError, match="is longer than 65,536 bytes"):
        merganser.Tokenizer(ranks, pattern="gpt2", special_tokens={long: 300})


def test_a_pattern_that_rescans_the_text_is_stopped() -> None:
    # One attempt per character, each of which reads to the end: without a check between them, half an hour.
    slow = r"(?=a)[^b]*b"
    ranks = {bytes([byte]): byte for byte in range(256)}
    tokenizer = merganser.Tokenizer(ranks, pattern=slow)
    with pytest.raises(PatternError, match="rescans the same text too often"):
        tokenizer.encode("a" * 1_000_000)


def test_errors_in_patterns_name_the_part() -> None:
    with pytest.raises(PatternError, match=r"Unicode property not found: \\p\{Nope\}"):
        merganser.split("x", r"a\p{Nope}")
    with pytest.raises(PatternError, match=r"Unicode property not found: \\p\{Nope\}"):
        merganser.split("x", r"(?<=a)\p{Nope}")


def test_surrogate_pairs_are_joined_by_the_advice() -> None:
    tokenizer = merganser.train(["to be"], 256)
    text = "to \ud83e\udd86 be"
    with pytest.raises(merganser.EncodeError, match="surrogate pair at position 3") as caught:
        tokenizer.encode(text)
    advice = str(caught.value).partition("join it with ")[2]
    assert eval(advice, {"text": text}) == "to 🦆 be"
    for lone in ("\ud83e", "\udd86\ud83e", "\ud83ex"):
        with pytest.raises(merganser.EncodeError, match="lone surrogate at position 0"):
            tokenizer.encode(lone)


def test_offsets_advise_what_exists() -> None:
    tokenizer = merganser.train(["to be"], 256)
    with pytest.raises(merganser.DecodeError, match=r'use decode_bytes, or decode\(ids, errors="replace"\)'):
        tokenizer.decode_with_offsets([0xE4])
