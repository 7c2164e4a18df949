"""Counting with a memory budget: the same counts, and no finished work is lost."""

import fcntl
import json
import os
import shutil
import signal
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import merganser
import processes
import pytest
from killing import SMALL, kill_and_resume, run, word, write_corpus
from merganser import Counts, CountsError, CountsFile, Local, SettingsError, TokensError, WriteError
from merganser.engines import memory, work_folder


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write 4 MB with 200,000 unique pre-tokens: several times what fits in 16 MB."""
    folder = tmp_path_factory.mktemp("corpus")
    for nth in range(3):
        write_corpus(folder / f"{nth}.txt", 100_000, nth)
    return folder


@pytest.fixture(scope="module")
def expected(corpus: Path) -> Counts:
    counts = merganser.count(corpus)
    assert len(counts) > 150_000
    return counts


def same(file: CountsFile, expected: Counts) -> bool:
    counts = Counts.load(file.path)
    numbers = (len(file), file.total, file.documents, file.invalid_bytes)
    assert numbers == (len(expected), expected.total, expected.documents, expected.invalid_bytes)
    return counts == expected and counts.documents == expected.documents


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_counts_do_not_depend_on_memory_or_threads(
    corpus: Path, expected: Counts, threads: int, tmp_path: Path
) -> None:
    small = Local(threads=threads, memory="16MB", work_dir=tmp_path / "work", keep_work=True)
    assert same(merganser.count(corpus, out=tmp_path / "a.counts", engine=small), expected)
    # Four threads may have read all blocks before the first table is full.
    assert threads == 4 or len(list((tmp_path / "work").glob("run-*.counts"))) > threads
    large = Local(threads=threads)
    merganser.count(corpus, out=tmp_path / "b.counts", engine=large)
    assert (tmp_path / "a.counts").read_bytes() == (tmp_path / "b.counts").read_bytes()


def test_a_tokenizer_does_not_depend_on_memory(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    small = Local(threads=2, memory="16MB", work_dir=tmp_path / "work")
    tokenizer = merganser.train(corpus, 400, engine=small)
    assert tokenizer == merganser.train(expected, 400)
    assert tokenizer.training == merganser.train(expected, 400).training
    assert not (tmp_path / "work").exists()


def test_without_a_work_folder_no_files_are_left(
    corpus: Path, expected: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert merganser.count(corpus, engine=Local(memory="16MB")) == expected
    assert list(tmp_path.iterdir()) == []


def test_an_iterable_is_counted_in_little_memory(tmp_path: Path) -> None:
    texts = [f"{word(nth * nth)} {word(nth * 7919)} " * 2 for nth in range(100_000)]
    small = Local(memory="16MB", work_dir=tmp_path / "work")
    assert merganser.count(iter(texts), engine=small, buffer_size=1000) == merganser.count(texts)
    assert not (tmp_path / "work").exists()


def test_counts_files_are_added_without_loading_them(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    parts = [
        merganser.count(file, out=tmp_path / f"{file.stem}.counts").path for file in sorted(corpus.iterdir())
    ]
    assert same(merganser.count(parts, out=tmp_path / "all.counts"), expected)
    mixed = [corpus / "0.txt", *parts[1:]]
    small = Local(memory="16MB")
    assert same(merganser.count(mixed, out=tmp_path / "mixed.counts", engine=small), expected)
    many = [tmp_path / f"part-{nth}.counts" for nth in range(70)]
    for nth, path in enumerate(many):
        Counts({b"a": 1, b"%d" % nth: 2}).save(path)
    file = merganser.count(many, out=tmp_path / "many.counts")
    assert (len(file), file.total, file.top(1)) == (71, 210, [(b"a", 70)])
    with pytest.raises(CountsError, match="pattern"):
        merganser.count(parts, out=tmp_path / "other.counts", pattern="gpt2")
    assert not (tmp_path / "other.counts").exists()


def test_the_hash_of_a_pretoken_determines_its_part(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    whole = merganser.count(corpus, out=tmp_path / "all.counts").path
    outs = [tmp_path / f"{nth}.counts" for nth in range(4)]
    merganser._core.merge_counts([whole], outs, tmp_path)
    import zlib

    for nth, out in enumerate(outs):
        pretokens = [pretoken for batch in CountsFile.open(out).batches() for pretoken, _ in batch]
        assert pretokens == sorted(pretokens)
        assert {zlib.crc32(pretoken) % 4 for pretoken in pretokens} == {nth}
    assert same(merganser.count(outs, out=tmp_path / "again.counts"), expected)


def interrupted(corpus: Path, folder: Path, times: int = 3) -> Local:
    """Leave the work folder of a run that was stopped after it wrote some runs."""
    engine = Local(threads=2, memory="16MB", work_dir=folder, checkpoint_every=0.001)

    def stop(stage: str, done: int, total: int) -> None:
        if (folder / work_folder.LOG).exists() and (folder / work_folder.LOG).read_bytes().count(
            b"\n"
        ) >= times:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        while True:
            merganser.count(corpus, out=folder.parent / "never.counts", engine=engine, progress=stop)
    return engine


def test_an_interrupted_run_resumes_where_it_stopped(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    engine = interrupted(corpus, tmp_path / "work")
    log = (tmp_path / "work" / work_folder.LOG).read_bytes()
    first = json.loads(log.splitlines()[0])["runs"][0]["name"]
    written = (tmp_path / "work" / first).stat().st_mtime_ns
    kept = Local(2, "16MB", engine.work_dir, keep_work=True)
    assert same(merganser.count(corpus, out=tmp_path / "a.counts", engine=kept), expected)
    assert (tmp_path / "work" / work_folder.LOG).read_bytes().startswith(log)
    assert (tmp_path / "work" / first).stat().st_mtime_ns == written
    engine.clean()
    assert not (tmp_path / "work").exists()


def test_a_torn_log_line_and_stray_files_are_ignored(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    engine = interrupted(corpus, tmp_path / "work")
    with (tmp_path / "work" / work_folder.LOG).open("ab") as log:
        log.write(b'{"runs": [{"name": "run-00')
    (tmp_path / "work" / "run-99999.counts").write_bytes(b"half")
    (tmp_path / "work" / ".run-99998.counts.1.tmp").write_bytes(b"half")
    (tmp_path / "work" / "notes.txt").write_text("mine")
    assert same(merganser.count(corpus, out=tmp_path / "a.counts", engine=engine), expected)
    assert [file.name for file in (tmp_path / "work").iterdir()] == ["notes.txt"]


def test_training_reuses_finished_counts(corpus: Path, tmp_path: Path) -> None:
    engine = Local(2, "16MB", tmp_path / "work")

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "merge":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        merganser.train(corpus, 300, engine=engine, progress=stop)
    stages: list[str] = []
    tokenizer = merganser.train(corpus, 300, engine=engine, progress=lambda stage, *_: stages.append(stage))
    assert set(stages) == {"merge"}
    assert tokenizer == merganser.train(corpus, 300)
    assert not (tmp_path / "work").exists()


def test_a_work_folder_of_a_different_job_is_rejected(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(corpus, copy)
    engine = interrupted(copy, tmp_path / "work")
    out = tmp_path / "a.counts"
    message = r'different job \(pattern: "gpt4", not "gpt2"\); .*--work-dir.*--no-resume'
    with pytest.raises(CountsError, match=message):
        merganser.count(copy, out=out, pattern="gpt2", engine=engine)
    with pytest.raises(CountsError, match=r"different job \(special tokens: "):
        merganser.count(copy, out=out, special_tokens=["the"], engine=engine)
    with pytest.raises(CountsError, match="3 files, not 2"):
        merganser.count([copy / "0.txt", copy / "1.txt"], out=out, engine=engine)
    os.utime(copy / "1.txt", ns=(1, 1))
    with pytest.raises(CountsError, match=r"1\.txt has changed since"):
        merganser.count(copy, out=out, engine=engine)
    assert not out.exists()
    engine = Local(2, "16MB", tmp_path / "work", resume=False)
    assert same(merganser.count(copy, out=out, engine=engine), expected)


def test_corruption_in_the_work_folder_is_reported(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    out = tmp_path / "a.counts"
    engine = interrupted(corpus, tmp_path / "work")
    folder = tmp_path / "work"
    run_file = min(folder.glob("run-*.counts"))
    whole = run_file.read_bytes()

    run_file.write_bytes(whole[:1000] + bytes([whole[1000] ^ 1]) + whole[1001:])
    with pytest.raises(CountsError, match=rf"{run_file.name}.*byte [0-9]+.*--no-resume"):
        merganser.count(corpus, out=out, engine=engine)
    run_file.write_bytes(whole[:-1])
    with pytest.raises(CountsError, match=rf"{run_file.name}.*--no-resume"):
        merganser.count(corpus, out=out, engine=engine)
    run_file.write_bytes(whole)
    log = (folder / work_folder.LOG).read_bytes()
    (folder / work_folder.LOG).write_bytes(b"x" + log[1:])
    with pytest.raises(CountsError, match=r"line 1 of .*log\.jsonl is corrupt.*--no-resume"):
        merganser.count(corpus, out=out, engine=engine)
    (folder / work_folder.LOG).write_bytes(log)
    (folder / work_folder.JOB).unlink()
    with pytest.raises(CountsError, match=r"no valid job\.json, .*--work-dir.*delete log\.jsonl"):
        merganser.count(corpus, out=out, engine=engine)
    (folder / work_folder.JOB).write_bytes(b"{")
    with pytest.raises(CountsError, match=r"no valid job\.json, .*--work-dir.*--no-resume"):
        merganser.count(corpus, out=out, engine=engine)
    assert not out.exists()
    assert same(merganser.count(corpus, out=out, engine=Local(2, "16MB", folder, resume=False)), expected)


def test_every_changed_bit_of_the_log_is_found(corpus: Path, tmp_path: Path) -> None:
    interrupted(corpus, tmp_path / "work")
    log = (tmp_path / "work" / work_folder.LOG).read_bytes()
    lines = log.splitlines(keepends=True)

    def read(changed: bytes) -> work_folder.ResumePoint | None:
        (tmp_path / "work" / work_folder.LOG).write_bytes(changed)
        return work_folder._read_log(tmp_path / "work", work_folder.VERSION, parts=3)

    # Without its last lines, the log is that of a run that was interrupted earlier.
    earlier = [read(b"".join(lines[:n])) for n in range(len(lines) + 1)]
    assert len({point.log_len for point in earlier if point}) == len(lines)
    changes = [bytes([*log[:at], log[at] ^ 1 << at % 8, *log[at + 1 :]]) for at in range(len(log))]
    changes += [log.replace(b": %d" % n, b": %d" % (n + 1)) for n in range(10) if b": %d" % n in log]
    changes += [b"".join(lines[:n] + lines[n + 1 :]) for n in range(len(lines))]
    changes += [b"".join(lines[:n] + lines[n - 1 :]) for n in range(1, len(lines) + 1)]
    found = 0
    for changed in changes:
        try:
            assert read(changed) in earlier
        except CountsError as error:
            assert "--no-resume" in str(error)
            found += 1
    assert found > len(changes) / 2, "a changed last line is a torn line"


def test_an_older_work_folder_without_checksums_is_resumed(
    corpus: Path, expected: Counts, tmp_path: Path
) -> None:
    engine = interrupted(corpus, tmp_path / "work")
    job, log = tmp_path / "work" / work_folder.JOB, tmp_path / "work" / work_folder.LOG
    facts = json.loads(job.read_bytes())
    job.write_text(json.dumps(facts | {"merganser_work": 1}))
    entries = [json.loads(line) for line in log.read_bytes().splitlines()]
    for entry in entries:
        del entry["log_crc32"]
    old = "".join(json.dumps(entry) + "\n" for entry in entries)
    for name, value, error in [
        ("offset", 10**9, "corpus ends before the offset"),
        ("part", 4, None),  # like a torn line
        ("offset", -1, None),
    ]:
        wrong = {**entries[-1], "next": {**entries[-1]["next"], "part": 0, name: value}}
        log.write_text("".join(json.dumps(entry) + "\n" for entry in [*entries[:-1], wrong]))
        if error:
            with pytest.raises(TokensError, match=error):
                merganser.count(corpus, out=tmp_path / "a.counts", engine=engine)
        else:
            point = work_folder._read_log(tmp_path / "work", 1, 3)
            assert point is not None
            assert point.offset == entries[-2]["next"]["offset"]
    log.write_text(old)
    assert same(merganser.count(corpus, out=tmp_path / "a.counts", engine=engine), expected)


def test_counts_that_start_at_once_on_a_new_folder_do_not_mix(
    corpus: Path, expected: Counts, tmp_path: Path
) -> None:
    """The second looks at the folder before the first creates it, and writes to it after."""
    engine = Local(2, "16MB", tmp_path / "work", checkpoint_every=0.001)
    second = merganser._core.Counter("gpt4", [], "<|endoftext|>", 1, None)
    assert second.spill_to(tmp_path / "work", 10**6, 1e-6, "{}") is False
    interrupted(corpus, tmp_path / "work")
    before = {file.name: file.read_bytes() for file in (tmp_path / "work").iterdir()}
    with pytest.raises(TokensError, match="is locked by another process; wait for it"):
        second.add_documents(["some text", "more text"])
        second.finish_to(tmp_path / "b.counts", [])
    second.abandon()
    assert {file.name: file.read_bytes() for file in (tmp_path / "work").iterdir()} == before
    assert same(merganser.count(corpus, out=tmp_path / "a.counts", engine=engine), expected)


def test_several_counts_of_one_corpus_with_one_new_work_folder(
    corpus: Path, expected: Counts, tmp_path: Path
) -> None:
    script = (
        "import sys, merganser\n"
        "engine = merganser.Local(1, '16MB', 'work', checkpoint_every=0.001)\n"
        "try:\n"
        "    merganser.count(sys.argv[1], out=sys.argv[2], engine=engine)\n"
        "except merganser.TokensError as error:\n"
        "    assert 'is locked by another process' in str(error), error\n"
    )
    command = [sys.executable, "-W", "error", "-c", script, str(corpus)]
    with ExitStack() as stack:
        started = [
            stack.enter_context(processes.started([*command, f"{nth}.counts"], cwd=tmp_path))
            for nth in range(3)
        ]
        for process in started:
            _, stderr = process.communicate()
            assert process.returncode == 0, stderr
    written = list(tmp_path.glob("*.counts"))
    assert written
    for file in written:
        assert same(CountsFile.open(file), expected)


def test_a_work_folder_stays_locked_until_it_is_removed(corpus: Path, tmp_path: Path) -> None:
    counter = merganser._core.Counter("gpt4", [], None, 1, None)
    counter.spill_to(tmp_path / "work", 10**6, 1e-6, "{}")
    counter.add_files(sorted(corpus.iterdir()), merganser.ReadOptions()._native())
    counter.finish_to(tmp_path / "a.counts", [])
    assert list((tmp_path / "work").glob("run-*.counts"))
    folder = os.open(tmp_path / "work", os.O_RDONLY)
    try:
        with pytest.raises(BlockingIOError):
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        counter.abandon()
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(folder)


def test_a_work_folder_in_use_is_locked(corpus: Path, tmp_path: Path) -> None:
    engine = interrupted(corpus, tmp_path / "work")
    holder = merganser._core.Counter("gpt4", [], None, 1, None)
    holder.spill_to(tmp_path / "work", 10**6, 60.0, "{}")
    released = threading.Event()

    def release() -> None:
        released.set()
        holder.abandon()

    # Counting waits for the lock, but not forever.
    threading.Timer(0.5, release).start()
    merganser.count(corpus, out=tmp_path / "a.counts", engine=engine)
    assert released.is_set(), "counting waited for the lock"


@pytest.mark.parametrize("limit", [20_000, 1_000_000])
def test_counting_resumes_after_a_full_disk(
    corpus: Path, expected: Counts, tmp_path: Path, limit: int
) -> None:
    arguments = ["count", str(corpus), "--out", str(tmp_path / "a.counts"), *SMALL]
    script = (
        "import resource, signal, sys\n"
        "from merganser.cli import main\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        f"sys.exit(main({arguments!r}))"
    )
    full = processes.run([sys.executable, "-W", "error", "-c", script])
    assert full.returncode == 1
    assert full.stderr.startswith("error: cannot write ")
    assert ".counts" in full.stderr
    assert full.stderr.count("\n") == 1
    assert not (tmp_path / "a.counts").exists()
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert same(CountsFile.open(tmp_path / "a.counts"), expected)
    assert [file.name for file in tmp_path.iterdir()] == ["a.counts"]


def test_counting_resumes_when_a_small_disk_has_space_again(
    corpus: Path, expected: Counts, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)]
    if os.geteuid() != 0 or processes.run(mount).returncode != 0:
        pytest.skip("only root can make a small disk")
    try:
        engine = Local(2, "16MB", disk / "work")
        out = tmp_path / "a.counts"
        with pytest.raises(WriteError, match=r"cannot write .*disk.*No space left"):
            merganser.count(corpus, out=out, engine=engine)
        assert not out.exists()
        processes.run(["mount", "-o", "remount,size=100m", str(disk)], check=True)
        assert same(merganser.count(corpus, out=out, engine=engine), expected)
        assert list(disk.iterdir()) == []
    finally:
        processes.run(["umount", str(disk)], check=True)


def test_counts_are_the_same_after_any_kill(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    out = tmp_path / "a.counts"
    kill_and_resume(["count", str(corpus), "--out", str(out), *SMALL], 6, out)
    assert same(CountsFile.open(out), expected)
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == ["a.counts"]


def test_peak_memory_stays_within_the_budget(tmp_path: Path) -> None:
    """Measure the whole process, including the interpreter and mapped pages."""
    write_corpus(tmp_path / "a.txt", 2_500_000)
    script = (
        "import re, sys\n"
        "from merganser.cli import main\n"
        "code = main(sys.argv[1:])\n"
        # Not getrusage, which includes the memory of the parent process.
        "print(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])\n"
        "sys.exit(code)"
    )
    peaks = {}
    for budget in ("80MB", "10GB"):
        out = tmp_path / f"{budget}.counts"
        arguments = [
            "count",
            str(tmp_path / "a.txt"),
            "--out",
            str(out),
            "--memory",
            budget,
            "--threads",
            "2",
        ]
        done = processes.run([sys.executable, "-c", script, *arguments], check=True)
        peaks[budget] = int(done.stdout.splitlines()[-1]) * 1024
    assert peaks["80MB"] <= 100_000_000 < peaks["10GB"]
    assert (tmp_path / "80MB.counts").read_bytes() == (tmp_path / "10GB.counts").read_bytes()


@pytest.mark.parametrize(
    ("given", "size"),
    [
        ("2GB", 2 * 10**9),
        ("512MiB", 512 << 20),
        ("1.5g", 1_500_000_000),
        (10**8, 10**8),
        ("100000000", 10**8),
    ],
)
def test_sizes_are_parsed(given: int | str, size: int) -> None:
    assert memory.parse(given) == size


@pytest.mark.parametrize("wrong", ["", "2", "2 apples", "-1GB", "GB", 5, "2iB"])
def test_an_invalid_memory_size_is_rejected(wrong: int | str) -> None:
    with pytest.raises(SettingsError, match="memory"):
        Local(memory=wrong)


def test_an_invalid_checkpoint_interval_is_rejected() -> None:
    for wrong in (0, -1, float("nan"), float("inf")):
        with pytest.raises(SettingsError, match="checkpoint_every"):
            Local(checkpoint_every=wrong)


def test_the_default_budget_is_a_share_of_free_memory() -> None:
    before, budget, after = memory.free(), memory.budget(None), memory.free()
    assert min(before, after) > 0
    assert 0.4 * min(before, after) < budget < 0.8 * max(before, after)


@pytest.mark.parametrize("where", ["", "memory._field = lambda *_: 0"])  # as on systems without /proc
def test_the_peak_remains_after_memory_is_freed(where: str) -> None:
    script = (
        f"from merganser.engines import memory\n{where}\n"
        "before = memory.peak()\n"
        "given = b'x' * 10**8\n"
        "del given\n"
        "print(before, memory.peak())"
    )
    done = processes.run([sys.executable, "-c", script], check=True)
    before, peak = map(int, done.stdout.split())
    # Without /proc the first figure may include the parent process.
    assert peak > 10**8 and (where or 9e7 < peak - before < 2e8)


def test_an_output_file_without_the_counts_suffix_is_rejected() -> None:
    with pytest.raises(SettingsError, match=r"out must end in \.counts, .*; write out='.*\.counts'"):
        merganser.count(["text"], out="counts.txt")


def test_a_work_folder_that_cannot_be_created_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    texts = [f"{word(nth * nth)} {word(nth * 7919)} " for nth in range(100_000)]
    with pytest.raises(WriteError, match="file"):
        merganser.count(texts, engine=Local(memory="16MB", work_dir=tmp_path / "file" / "work"))


def test_ctrl_c_stops_a_run_while_it_writes(corpus: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "merganser",
        "count",
        *[str(corpus)] * 40,
        "--out",
        str(tmp_path / "a.counts"),
    ]
    with processes.started([*command, *SMALL]) as process:
        log = tmp_path / "a.counts.work" / work_folder.LOG
        processes.wait_until(log.exists, process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert (process.returncode, stderr.strip()) == (130, "stopped; run the same command again to resume")
    assert log.exists()


def test_inspect_and_export_stream_a_counts_file(corpus: Path, expected: Counts, tmp_path: Path) -> None:
    from pyarrow import parquet

    path = str(merganser.count(corpus, out=tmp_path / "a.counts").path)
    facts = json.loads(run("inspect", path, "--json", "--top", "3").stdout)
    assert facts["unique_pretokens"] == len(expected)
    assert facts["pattern_name"] == "gpt4"
    assert [entry["count"] for entry in facts["top_pretokens"]] == [n for _, n in expected.most_common(3)]
    tsv, table = tmp_path / "a.tsv", tmp_path / "a.parquet"
    assert run("export", path, "--to", "tsv", "--out", str(tsv)).returncode == 0
    assert Counts.from_tsv(tsv) == expected
    done = run("export", path, "--to", "parquet", "--out", str(table), "--json")
    assert json.loads(done.stdout)["unique_pretokens"] == len(expected)
    columns = parquet.read_table(table).to_pydict()
    assert dict(zip(columns["pretoken"], columns["count"], strict=True)) == expected.to_dict()
    metadata = json.loads(parquet.read_schema(table).metadata[b"merganser"])
    assert metadata["documents"] == expected.documents
    wrong = run("export", str(tsv), "--to", "tsv", "--out", "b.tsv")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (1, 1)


def test_a_corrupt_file_is_not_exported(corpus: Path, tmp_path: Path) -> None:
    path = merganser.count(corpus, out=tmp_path / "a.counts").path
    whole = path.read_bytes()
    path.write_bytes(whole[:5000] + b"?" + whole[5001:])
    done = run("export", str(path), "--to", "parquet", "--out", str(tmp_path / "a.parquet"))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "a.counts is not a usable counts file" in done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.counts"]
