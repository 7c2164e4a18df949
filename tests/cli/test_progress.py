"""Progress on a real terminal: total, percentage, rate and time left, in 80 columns."""

import gzip
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import PIPE

import merganser
import processes
import pytest
from merganser import Local
from merganser.cli import main
from merganser.embed import checkpoint
from terminal import COLUMNS, on_terminal

TEXT = "".join(f"the {nth} cats sat on the {nth * nth:x} mats\n" for nth in range(20_000))
#: A stage that reports at a known rate.
REPORTS = """
import sys, time
from merganser.cli.progress import bars
stage, unit, total = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with bars() as draw:
    for nth in range(8):
        draw(stage, nth * unit, total)
        print("result", nth)
        time.sleep(0.15)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "short.txt").write_text(TEXT[:50_000])
    merganser.train([TEXT], 300).save(tmp_path / "tokenizer.merganser")
    return tmp_path


def command(*arguments: str) -> list[str]:
    return ["-m", "merganser", *arguments]


@pytest.mark.parametrize(
    ("stage", "unit", "total", "line"),
    [
        (
            "count",
            50_000_000,
            1_234_000_000,
            r"counting .*  \d+%  0\.\d of 1\.2 GB  [\d.]+ MB/s  \d+:\d\d left",
        ),
        ("encode", 5_000_000_000, 10**13, r"encoding .*  \d%  0\.0 of 10\.0 TB  [\d.]+ GB/s  \d+:\d\d left"),
        ("verify", 10_000, 10**6, r"verifying .*  \d%  0\.0 of 1\.0 MB  [\d.]+ kB/s  \d+:\d\d left"),
        ("embed", 123_456, 1_234_567, r"training .*  \d+%  .*,.* of 1,234,567 batches  .*/s  \d+:\d\d left"),
        ("merge", 10, 10**6, r"merging .*  0%  \d+ of 1,000,000 merges  \d+\.\d/s  \d+:\d\d:\d\d left"),
        ("count", 5_000_000, 0, r"counting .*━ \d+\.0 MB  [\d.]+ MB/s  0:0\d$"),
        ("count", 5_000_000, 1, r"counting .*━ \d+\.0 MB  [\d.]+ MB/s  0:0\d$"),
    ],
)
def test_a_line_has_all_figures_and_fits_80_columns(
    stage: str, unit: int, total: int, line: str, tmp_path: Path
) -> None:
    code, output, lines = on_terminal(["-c", REPORTS, stage, str(unit), str(total)], tmp_path)
    assert code == 0
    assert max(map(len, lines)) <= COLUMNS
    assert any(re.search(line, drawn.rstrip()) for drawn in lines), lines[-1]
    assert not any("…" in drawn for drawn in lines)
    # Piped output is not affected.
    assert output.splitlines() == [f"result {nth}" for nth in range(8)]


@pytest.mark.parametrize(
    ("arguments", "drawn"),
    [
        (
            ["train", "a.txt", "--vocab-size", "300"],
            [r"counting .*100%  \d+ of \d+ kB", r"merging .*100%  44 of 44 merges"],
        ),
        (["train", "a.txt", "--vocab-size", "300", "--min-pretoken-count", "2"], [r"proving .* of \d+"]),
        (["count", "a.txt", "--out", "a.counts"], [r"counting .*100%  \d+ of \d+ kB"]),
        (["encode", "tokenizer.merganser", "a.txt", "--out", "ids"], [r"encoding .*100%  \d+ of \d+ kB"]),
        (["verify", *["tokenizer.merganser"] * 2, "--on", "a.txt"], [r"verifying .*100%  \d+ of \d+ kB"]),
        (
            ["compare", "tokenizer.merganser", "--on", "a.txt", "b=a.txt"],
            [r"comparing .*50%  1 of 2 corpora", r"encoding .*100%  (\S+) of \1 pre-tokens"],
        ),
        (["export", "tokenizer.merganser", "--to", "minbpe", "--out", "m"], [r"verifying .*100%  .* of .*B"]),
        (
            ["report", "a.txt", "--vocab-size", "300"],
            [r"measuring .*100%  12 of 12 steps", r"drawing .*%  \d+ of 12 charts"],
        ),
        (["embed", "a.txt", "--epochs", "1"], [r"training .*100%  [\d,]+ of [\d,]+ batches"]),
        (
            ["learn", "ladder", "a.txt", "--steps", "9", "--max-mb", "0.01"],
            [r"running .*100%  2 of 2 steps"],
        ),
        (["demo", "--vocab-size", "300"], [r"drawing .*%  \d+ of 12 charts"]),
        (["learn", "char", "short.txt"], [r"merging .*%  [\d,]+ of 10,000 merges"]),
    ],
)
def test_commands_report_progress_with_a_total(arguments: list[str], drawn: list[str], folder: Path) -> None:
    code, _, lines = on_terminal(command(*arguments), folder)
    assert code == 0, lines
    for pattern in drawn:
        assert any(re.search(pattern, line) for line in lines), lines
    assert max(len(line) for line in lines if "━" in line) <= COLUMNS


def test_a_report_on_embeddings_has_a_total(folder: Path) -> None:
    assert main(["embed", str(folder / "short.txt"), "--epochs", "1", "--out", str(folder / "vectors")]) == 0
    (
        folder / "vectors" / "text.safetensors"
    ).unlink()  # without it, the sections that train again are left out
    code, _, lines = on_terminal(command("report", "vectors"), folder)
    assert code == 0, lines
    assert any(re.search(r"measuring .*100%  6 of 6 steps", line) for line in lines), lines


def last_reports(
    work: Callable[..., object], *arguments: object, **settings: object
) -> dict[str, tuple[int, int]]:
    """Return the last report of each stage, and check that progress never goes back."""
    reports: dict[str, tuple[int, int]] = {}

    def watch(stage: str, done: int, total: int) -> None:
        before = reports.get(stage, (0, total))
        assert done >= before[0]
        assert total == before[1]
        reports[stage] = (done, total)

    work(*arguments, progress=watch, **settings)
    return reports


def test_the_total_of_compressed_files_is_their_size_on_disk(folder: Path) -> None:
    packed = folder / "a.txt.gz"
    packed.write_bytes(gzip.compress(TEXT.encode()))
    size = packed.stat().st_size
    tokenizer = merganser.load(folder / "tokenizer.merganser")
    assert last_reports(merganser.count, packed)["count"] == (size, size)
    assert last_reports(tokenizer.encode_corpus, packed, out=folder / "ids")["encode"] == (size, size)
    assert last_reports(merganser.verify, tokenizer, tokenizer, on=packed)["verify"] == (size, size)


def test_the_total_of_tables_is_their_size_on_disk(folder: Path) -> None:
    import fsspec
    import pyarrow
    from pyarrow import parquet

    table = folder / "rows.parquet"
    parquet.write_table(pyarrow.table({"text": TEXT.splitlines()}), table)
    size = table.stat().st_size
    tokenizer = merganser.load(folder / "tokenizer.merganser")
    for work, stage, settings in (
        (merganser.count, "count", {}),
        (tokenizer.encode_corpus, "encode", {"out": folder / "ids"}),
    ):
        done, total = last_reports(work, table, buffer_size=100, **settings)[stage]
        assert total == size
        assert 0.9 * size < done <= size
    done, total = last_reports(merganser.verify, tokenizer, tokenizer, on=table, buffer_size=100)["verify"]
    assert total == size
    assert 0.9 * size < done <= size
    fsspec.filesystem("memory").pipe("/progress/rows.parquet", table.read_bytes())
    reports: list[tuple[str, int, int]] = []
    merganser.count(
        "memory://progress/rows.parquet", buffer_size=100, progress=lambda *to: reports.append(to)
    )
    steps = [(done, total) for stage, done, total in reports if stage == "count"]
    assert steps == sorted(steps)
    assert steps[-1] == (size, size)
    assert len(set(steps)) > 10  # not once per file
    both = [folder / "a.txt", table]
    assert last_reports(merganser.count, both)["count"][1] == len(TEXT) + size


def test_remote_files_have_a_total() -> None:
    import fsspec

    fsspec.filesystem("memory").pipe("/progress/a.txt", TEXT.encode())
    assert last_reports(merganser.count, "memory://progress/a.txt")["count"] == (len(TEXT), len(TEXT))


def test_a_stream_has_no_total() -> None:
    assert last_reports(merganser.count, iter([TEXT]))["count"] == (len(TEXT), 0)


def test_combining_counts_has_a_total(folder: Path) -> None:
    """Counts spilled to disk, and counts from files."""
    words = " ".join(f"{nth}x{nth % 977}" for nth in range(150_000))
    (folder / "many.txt").write_text(words)
    spilled = last_reports(
        merganser.count, folder / "many.txt", out=folder / "a.counts", engine=Local(1, "16MB")
    )
    entries = len(merganser.count(folder / "many.txt"))
    assert spilled["count"] == (len(words), len(words))
    assert entries <= spilled["combine"][0] == spilled["combine"][1]
    both = [folder / "a.counts", folder / "a.counts"]
    assert last_reports(merganser.count, both, out=folder / "b.counts")["combine"] == (
        2 * entries,
        2 * entries,
    )


def test_certifying_has_a_total() -> None:
    done, total = last_reports(merganser.train, [TEXT], 1500, min_pretoken_count=2)["certify"]
    assert 0 < done <= total


def stopped(command: list[str], folder: Path, kept: str, stop: int = signal.SIGINT) -> tuple[int, str]:
    """Stop a command as soon as it has written something; return its exit code and standard error."""
    # Standard input stays open, so that a reader waits.
    with processes.started([sys.executable, "-W", "error", *command], cwd=folder, stdin=PIPE) as process:
        processes.wait_until(lambda: list(folder.glob(kept)), process)
        process.send_signal(stop)
        _, error = process.communicate()
    return process.returncode, error.strip()


ENCODING = command("encode", "tokenizer.merganser", "a.txt", "--out", "out", "--shard-tokens", "1000")
#: Never ends, because standard input does not.
COUNTING = command("count", "a.txt", "-", "--out", "a.counts", "--checkpoint-every", "0.001")
EMBEDDING = command("embed", "a.txt", "--tokenizer", "tokenizer.merganser", "--out", "out", "--epochs", "50")


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize(
    ("work", "kept"),
    [
        (ENCODING, "out/shard-00001.json"),
        (COUNTING, "a.counts.work/*.counts"),
        ([*EMBEDDING, "--checkpoint-every", "0.01"], f"out/{checkpoint.FILE_NAME}"),
    ],
    ids=["encode", "count", "embed"],
)
def test_a_stopped_command_says_that_it_resumes(
    work: list[str], kept: str, stop: int, code: int, tmp_path: Path
) -> None:
    # Many documents make many shards, which take seconds to write.
    (tmp_path / "a.txt").write_text(TEXT.replace("\n", "<|endoftext|>") * 10)
    merganser.train([TEXT], 300).save(tmp_path / "tokenizer.merganser")
    outcome = stopped([*work, "--threads", "1"], tmp_path, kept, stop)
    assert outcome == (code, "stopped; run the same command again to resume")


def test_a_stopped_encoding_is_resumed_by_the_same_command(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT.replace("\n", "<|endoftext|>") * 4)
    merganser.train([TEXT], 300).save(tmp_path / "tokenizer.merganser")
    stopped(ENCODING, tmp_path, "out/shard-00001.json")
    again = processes.run([sys.executable, *ENCODING], cwd=tmp_path)
    assert "from an interrupted run" in again.stdout, again.stderr


def test_a_stop_before_the_first_shard_starts_over(tmp_path: Path) -> None:
    merganser.train([TEXT], 300).save(tmp_path / "tokenizer.merganser")
    waiting = command("encode", "tokenizer.merganser", "-", "--out", "out")
    outcome = stopped(waiting, tmp_path, "out/tokens.json")
    assert outcome == (
        130,
        "stopped before the first shard was complete; run the same command again to start over",
    )
    assert not (tmp_path / "out").exists()
