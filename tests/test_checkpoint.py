"""Checkpoints: an interrupted training resumes to the identical tokenizer."""

import signal
import sys
import warnings
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from killing import VOCAB_SIZE, check_killed_trainings_resume, training, write_counts
from merganser import CheckpointError, Counts, Local, MerganserWarning, SettingsError, Tokenizer, WriteError
from merganser.engines.work_folder import MERGES
from strategies import ties

COUNTS = Counts({b"abab": 3, b"abc": 2, b"bcbc": 4, b"cab": 1})


def quietly(*args: Any, **settings: Any) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        return merganser.train(*args, **settings)


@given(
    st.dictionaries(
        st.text(st.sampled_from("aabcé"), min_size=1, max_size=12).map(str.encode),
        st.integers(1, 9),
        min_size=1,
        max_size=12,
    ),
    ties,
    st.integers(0, 20),
    st.integers(1, 3),
    st.booleans(),
)
def test_trainings_of_different_sizes_share_a_log(
    tmp_path_factory: pytest.TempPathFactory,
    pretokens: dict[bytes, int],
    tie_break: str,
    merges: int,
    min_pretoken_count: int,
    based: bool,
) -> None:
    counts = Counts(pretokens, special_tokens=["<s>"])
    base = quietly(Counts({b"abab": 2}, special_tokens=["<s>"]), 259) if based else None
    settings = {"tie_break": tie_break, "min_pretoken_count": min_pretoken_count, "base": base}
    engine = Local(work_dir=tmp_path_factory.mktemp("work"), checkpoint_every=1e-6, keep_work=True)
    for size in (260 + merges, 280, 262):
        logged = quietly(counts, size, engine=engine, **settings)
        alone = quietly(counts, size, **settings)
        assert logged == alone
        assert logged.merge_counts == alone.merge_counts
        assert logged.training == alone.training


def stop_after(merges: int) -> Any:
    def watch(stage: str, done: int, total: int) -> None:
        if stage == "merge" and done >= merges:
            raise KeyboardInterrupt

    return watch


def test_merges_learned_before_an_interrupt_are_not_learned_again(tmp_path: Path) -> None:
    pretokens = {f"{n * n:x}{n:x}".encode(): 1 + n % 7 for n in range(60_000)}
    engine = Local(work_dir=tmp_path / "new" / "folder")
    with pytest.raises(KeyboardInterrupt):
        merganser.train(Counts(pretokens), 20_000, engine=engine, progress=stop_after(1000))
    assert (tmp_path / "new" / "folder" / MERGES).read_text().count("\n") > 1000
    reports = []
    resumed = merganser.train(
        Counts(pretokens), 20_000, engine=engine, progress=lambda *report: reports.append(report)
    )
    assert next(done for stage, done, _ in reports if stage == "merge" and done) >= 1000
    assert resumed == merganser.train(Counts(pretokens), 20_000)


def test_a_checkpoint_of_a_different_job_is_rejected_or_replaced(tmp_path: Path) -> None:
    engine = Local(work_dir=tmp_path, checkpoint_every=1e-6, keep_work=True)
    merganser.train(COUNTS, 258, engine=engine)
    others: list[tuple[Counts, dict[str, Any], str]] = [
        (Counts({b"abab": 3}), {}, "counts=4 unique pre-tokens"),
        (COUNTS, {"tie_break": "bytes"}, "tie_break=Ids"),
        (COUNTS, {"min_frequency": 2}, "min_frequency=1"),
        (COUNTS, {"max_token_bytes": 3}, "max_token_bytes=none"),
        (COUNTS, {"min_pretoken_count": 2}, "min_pretoken_count=1"),
        (COUNTS, {"base": merganser.train(COUNTS, 257)}, "base=none"),
    ]
    for counts, settings, why in others:
        with pytest.raises(CheckpointError, match=f"{why}.*choose another work_dir"):
            merganser.train(counts, 258, engine=engine, **settings)
    assert merganser.train(COUNTS, 259, engine=engine) == merganser.train(COUNTS, 259)
    restarted = Local(work_dir=tmp_path, resume=False)
    by_bytes = merganser.train(COUNTS, 258, tie_break="bytes", engine=restarted)
    assert by_bytes == merganser.train(COUNTS, 258, tie_break="bytes", engine=engine)


def test_the_order_of_pretokens_does_not_change_the_job(tmp_path: Path) -> None:
    engine = Local(work_dir=tmp_path, checkpoint_every=1e-6, keep_work=True)
    merganser.train(COUNTS, 258, engine=engine)
    backwards = Counts(dict(reversed(COUNTS.to_dict().items())))
    assert merganser.train(backwards, 259, engine=engine) == merganser.train(COUNTS, 259)


def test_a_work_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="choose another work_dir"):
        merganser.train(COUNTS, 258, engine=Local(work_dir=tmp_path / "file" / "work", checkpoint_every=1e-6))
    with pytest.raises(SettingsError, match="checkpoint_every must be a positive number of seconds, got 0"):
        Local(checkpoint_every=0)


def test_killed_trainings_resume_to_the_identical_tokenizer(tmp_path: Path) -> None:
    check_killed_trainings_resume(tmp_path, 6, seed=0)


@pytest.mark.parametrize(("stop", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_interrupt_writes_a_checkpoint_and_says_how_to_resume(
    stop: int, code: int, tmp_path: Path
) -> None:
    write_counts(tmp_path)
    log = tmp_path / "work" / MERGES
    logged = training("out", "--work-dir", "work", "--checkpoint-every", "0.001")
    with processes.started(logged, cwd=tmp_path) as process:
        processes.wait_until(lambda: log.exists() and log.read_text().count("\n") > 50, process)
        process.send_signal(stop)
        _, stderr = process.communicate()
    assert process.returncode == code
    lines = [line for line in stderr.splitlines() if line]  # click prints a newline after ^C
    assert lines == ["stopped; run the same command again to resume"]
    assert 50 < log.read_text().count("\n") < VOCAB_SIZE - 256
    assert not (tmp_path / "out").exists()
    processes.run(training("out", "--work-dir", "work"), cwd=tmp_path, check=True)
    counts = Counts.load(tmp_path / "all.counts")
    assert merganser.load(tmp_path / "out") == merganser.train(counts, VOCAB_SIZE)


def test_a_full_disk_leaves_a_log_to_resume_from(tmp_path: Path) -> None:
    write_counts(tmp_path)
    script = (
        "import resource, signal, sys\n"
        "from merganser.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    arguments = training("out", "--work-dir", "work", "--checkpoint-every", "0.001")[5:]
    full = processes.run([sys.executable, "-W", "error", "-c", script, *arguments], cwd=tmp_path)
    assert full.returncode == 1
    assert full.stderr.startswith("error: cannot write work/merges.log")
    assert (tmp_path / "work" / MERGES).stat().st_size > 10_000
    processes.run(training("out", "--work-dir", "work"), cwd=tmp_path, check=True)
    counts = Counts.load(tmp_path / "all.counts")
    assert merganser.load(tmp_path / "out") == merganser.train(counts, VOCAB_SIZE)
