"""Whole runs of the long jobs, repeated with a failure of each operation on files.

The failures come from `crates/core/src/faults.rs`.

A job writes to an empty folder and returns the files that are its result. Its operations are counted first.
Then it runs once for each of them, which fails: the run must succeed or raise one of our errors, leave no
half-written or temporary file, and the next run in the same folder must give the identical result.
"""

import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

import merganser
from merganser import Local, MerganserError, _core, embed
from merganser.engines import memory

Files = dict[str, bytes]
Job = Callable[[Path], Files]

#: The faults after which a run must succeed: calls that the system may cut short or interrupt at any time.
HARMLESS = ("short", "interrupt")
FAULTS = ("fail", "torn", *HARMLESS)
#: Files that say how far a run got, and that the next run replaces.
STATE = ("tokens.json", "embeddings.json")

_TEXT = "the cat sat on the mat; the dog's dinner was the cat's naïve 中文 2024 👍 'll\n"
_SETTINGS = embed.EmbedSettings(embedding_dim=4, epochs=1, subsample=0, threads=1, batch_size=64, min_count=1)


def write_corpus(folder: Path) -> Path:
    """Write four small files, each of which is a block, so that each is followed by a checkpoint."""
    corpus = folder / "corpus"
    corpus.mkdir()
    for nth in range(4):
        (corpus / f"{nth}.txt").write_text(_TEXT * (nth + 2) + f"only {'x' * nth} here\n" * 9)
    return corpus


def files_in(folder: Path, *hidden: str) -> Files:
    """Return the visible files below a folder, except those of work folders."""
    found = {}
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder)
        if file.is_file() and not file.name.startswith(".") and "work" not in name.parts:
            found[str(name)] = file.read_bytes()
    return {name: data for name, data in found.items() if Path(name).name not in hidden}


def count(folder: Path) -> Files:
    engine = Local(threads=1, work_dir=folder / "work", checkpoint_every=1e-6)
    merganser.count(folder.parent / "corpus", out=folder / "a.counts", engine=engine)
    return files_in(folder)


def train(folder: Path) -> Files:
    """Train out of core: no merge fits in memory."""
    engine = Local(threads=1, memory="16MB", work_dir=folder / "work", checkpoint_every=1e-6)
    with mock.patch.object(memory, "for_merging", lambda _: 0):
        merganser.train(folder.parent / "corpus", 290, engine=engine).save(folder / "t.merganser")
    return files_in(folder)


def encode(folder: Path, format: str = "bin") -> Files:
    tokens = merganser.load(folder.parent / "t.merganser").encode_corpus(
        folder.parent / "corpus",
        out=folder / "tokens",
        format=format,  # type: ignore[arg-type]
        shard_tokens=300,
        engine=Local(threads=1),
    )
    for shard in tokens.shards:  # a resumed run checks only the sizes
        shard.check()
    return files_in(folder)


def encode_megatron(folder: Path) -> Files:
    return encode(folder, "megatron")


def embedding(folder: Path) -> Files:
    embeddings = embed.train(
        folder.parent / "corpus",
        merganser.load(folder.parent / "t.merganser"),
        _SETTINGS,
        work_dir=folder / "work",
        checkpoint_every=1e-6,
    )
    embeddings.save(folder / "vectors")
    embed.load(folder / "vectors")
    return files_in(folder, *STATE)  # embeddings.json has the seconds it took


def export(folder: Path) -> Files:
    tokenizer = merganser.load(folder.parent / "t.merganser")
    for format in ("tiktoken", "huggingface", "gpt2", "gguf"):
        tokenizer.export(folder / format / "x", format=format)  # type: ignore[call-overload]
    return files_in(folder)


JOBS: dict[str, Job] = {
    "count": count,
    "train": train,
    "encode": encode,
    "encode to Megatron": encode_megatron,
    "embed": embedding,
    "export": export,
}


@dataclass
class Tally:
    """The runs with a fault, and how they ended."""

    operations: int = 0
    runs: int = 0
    failed: int = 0
    refused_again: int = 0
    messages: set[str] = field(default_factory=set)


@contextmanager
def armed(operation: str | None, nth: int, fault: str, lasting: bool) -> Iterator[None]:
    _core.arm_fault(operation, nth, fault, lasting)
    try:
        yield
    finally:
        _core.disarm_fault()


def prepare(folder: Path) -> None:
    """Write what all jobs read."""
    corpus = write_corpus(folder)
    merganser.train(corpus, 290, pattern="gpt2", special_tokens=["<s>"]).save(folder / "t.merganser")


def operations_of(job: Job, folder: Path) -> tuple[int, Files]:
    """Run a job without faults; return the number of its operations and its result."""
    shutil.rmtree(folder, ignore_errors=True)  # of a test that failed
    folder.mkdir()
    _core.arm_fault(None, 1 << 62, "fail", False)
    expected = job(folder)
    operations = _core.disarm_fault()
    shutil.rmtree(folder)
    return operations, expected


def check_every_fault(folder: Path, name: str, step: int, lasting: tuple[bool, ...]) -> Tally:
    """Run a job once for every `step`-th operation and each fault."""
    job = JOBS[name]
    operations, expected = operations_of(job, folder / "run")
    assert operations > 10
    tally = Tally(operations)
    for kind, (fault, lasts) in enumerate(itertools.product(FAULTS, lasting)):
        for nth in range(kind * step // len(FAULTS) % step, operations, step):
            case = f"{name}: {fault} at {nth} of {operations}{', and all later' if lasts else ''}"
            _check_fault(folder / "run", job, expected, (nth, fault, lasts), case, tally)
    return tally


def _check_fault(
    run: Path, job: Job, expected: Files, plan: tuple[int, str, bool], case: str, tally: Tally
) -> None:
    nth, fault, lasting = plan
    run.mkdir()
    tally.runs += 1
    try:
        with armed(None, nth, fault, lasting):
            found = job(run)
        assert found == expected, f"{case}: another result"
    except MerganserError as error:
        assert fault not in HARMLESS, f"{case}: {error}"
        assert len(str(error)) < 2000, case
        tally.failed += 1
        tally.messages.add(type(error).__name__)
    except Exception as error:
        raise AssertionError(f"{case}: not one of our errors") from error
    check_left(run, expected, case)
    tally.refused_again += not runs_again(run, job, expected, case)
    # Only now: a full shard is flushed in the background, and the next run waits for it.
    left = [file for file in run.rglob(".*.tmp") if "work" not in file.parts]
    assert not left, f"{case}: left {left}"
    shutil.rmtree(run)


def check_left(run: Path, expected: Files, case: str) -> None:
    """Check that every visible file is whole."""
    for name, data in files_in(run, *STATE).items():
        assert data == expected.get(name), f"{case}: {name} is half-written"


def runs_again(run: Path, job: Job, expected: Files, case: str) -> bool:
    """Run without faults: the identical result, or a clear error. Return whether it succeeded."""
    try:
        assert job(run) == expected, f"{case}: another result in the next run"
    except MerganserError as error:
        assert "; " in str(error), f"{case}: {error} says no remedy"
        return False
    return True


def check_flipped_bits(folder: Path, name: str, every: int) -> Tally:
    """Interrupt a job late, flip a bit of every `every`-th byte that it left, and run it again each time."""
    job = JOBS[name]
    operations, expected = operations_of(job, folder / "run")
    tally = Tally(operations)
    left = folder / "left"
    # The latest failure that leaves something to resume.
    for nth in range(operations - 1, 0, -1):
        left.mkdir()
        with suppress(MerganserError), armed(None, nth, "fail", True):
            job(left)
        names = [file.relative_to(left) for file in sorted(left.rglob("*")) if file.is_file()]
        if any("work" in name.parts or name.name.startswith("shard-") for name in names):
            break
        shutil.rmtree(left)
    for file in names:
        data = (left / file).read_bytes()
        for at in range(0, len(data), every):
            shutil.copytree(left, folder / "run")
            flipped = data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :]
            (folder / "run" / file).write_bytes(flipped)
            tally.runs += 1
            tally.failed += not runs_again(folder / "run", job, expected, f"{name}: bit {at} of {file}")
            shutil.rmtree(folder / "run")
    shutil.rmtree(left)
    return tally
