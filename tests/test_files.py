"""Files: unwritable paths are reported before the work starts, with a remedy that fits the failure."""

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

import merganser
import processes
import pytest
from merganser import WriteError, embed, reporting
from merganser.files import check_file, check_folder, written_whole

TEXT = "the cat sat on the mat with the other cat\n" * 20


@pytest.mark.parametrize("below", ["", "new", "new/er"])
def test_checking_a_writable_folder_leaves_it_unchanged(tmp_path: Path, below: str) -> None:
    check_folder(tmp_path / below)
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_path_is_reported_with_the_reason(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to("nowhere")
    below_file, below_link = file / "below", link / "below"
    remedy = "choose another path"
    for folder, message in (
        (file, f"cannot write to {file}: {file} is a file, not a folder; {remedy}"),
        (below_file, f"cannot write to {below_file}: {file} is a file, not a folder; {remedy}"),
        (below_link, f"cannot write to {below_link}: {link} is a broken link; {remedy}"),
    ):
        with pytest.raises(WriteError) as caught:
            check_folder(folder)
        assert str(caught.value) == message
    missing = tmp_path / "no"
    for path, message in (
        (tmp_path, f"cannot write {tmp_path}: it is a folder, not a file; {remedy}"),
        (
            missing / "x",
            f"cannot write {missing / 'x'}: the folder {missing} does not exist; create it, or {remedy}",
        ),
    ):
        with pytest.raises(WriteError) as caught:
            check_file(path)
        assert str(caught.value) == message


def without_privileges(folder: Path, script: str) -> str:
    """Return the output of a script that file permissions apply to, even when the tests run as root."""
    unprivileged = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*unprivileged, sys.executable, "-W", "error", "-c", script]
    return str(processes.run(command, cwd=folder, check=True).stdout)


def test_a_missing_permission_is_reported(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    script = (
        "from pathlib import Path\n"
        "from merganser.files import check_folder, make_folder, written_whole\n"
        "def write(path):\n"
        "    with written_whole(path): pass\n"
        "for attempt in (check_folder, make_folder, write):\n"
        "    try: attempt(Path('locked/below') if attempt is not write else Path('locked/file'))\n"
        "    except OSError as error: print(error)\n"
    )
    checked, created, written = without_privileges(tmp_path, script).splitlines()
    remedy = "get write permission, or choose another path"
    assert checked == f"cannot write to locked/below: Permission denied; {remedy}"
    assert created == f"cannot create the folder locked/below: Permission denied; {remedy}"
    assert written == (
        f"cannot write locked/file: Permission denied; nothing was left half-written; {remedy}"
    )


def test_a_folder_without_permission_is_named_as_such(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o000)
    script = (
        "import merganser\n"
        "try: merganser.count('locked/texts')\n"
        "except merganser.CorpusError as error: print(error)\n"
    )
    message = without_privileges(tmp_path, script)
    assert message == "cannot read locked/texts: Permission denied; check its permissions\n"


def test_commands_check_the_output_folder_before_they_start(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    # The corpus does not exist, but the output folder is checked first.
    script = (
        "from merganser.cli import main\n"
        "import sys\n"
        "sys.stderr = sys.stdout\n"
        "assert main(['train', 'gone.txt', '--vocab-size', '300', '--out', 'locked/out']) == 1\n"
        "assert main(['count', 'gone.txt', '--out', 'locked/x.counts']) == 1\n"
    )
    reason = "Permission denied; get write permission, or choose another --out"
    assert without_privileges(tmp_path, script).splitlines() == [
        f"error: cannot write to locked/out: {reason}",
        f"error: cannot write to locked: {reason}",
    ]


@pytest.mark.parametrize(
    ("number", "remedy"),
    [
        (errno.ENOSPC, "half-written; free some space, or choose another path"),
        (errno.EDQUOT, "half-written; free some space, or choose another path"),
        (errno.EACCES, "half-written; get write permission, or choose another path"),
        (errno.EROFS, "half-written; choose another path"),
        (errno.EIO, "half-written; choose another path"),
    ],
)
def test_the_remedy_depends_on_the_failure(tmp_path: Path, number: int, remedy: str) -> None:
    with pytest.raises(WriteError) as caught, written_whole(tmp_path / "x"):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(
        f"cannot write {tmp_path / 'x'}: {os.strerror(number)}; nothing was left"
    )
    assert str(caught.value).endswith(remedy)
    assert list(tmp_path.iterdir()) == []


def test_a_link_stays_and_its_file_is_replaced_with_its_mode(tmp_path: Path) -> None:
    tokenizer = merganser.train([TEXT], 260)
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "t"
    for path, save in (
        (tmp_path / "t.merganser", tokenizer.save),
        (tmp_path / "t.counts", lambda path: merganser.count([TEXT], out=path)),
    ):
        target.write_bytes(b"old")
        target.chmod(0o600)
        path.symlink_to("real/t")
        save(path)
        assert path.is_symlink()
        assert target.stat().st_size > 3
        assert target.stat().st_mode & 0o777 == 0o600
        target.unlink()
        save(path)  # a link to a file that does not exist yet
        assert path.is_symlink()
        assert target.stat().st_size > 3
    assert sorted(file.name for file in tmp_path.rglob("*")) == ["real", "t", "t.counts", "t.merganser"]


def test_devices_and_pipes_are_not_replaced(tmp_path: Path) -> None:
    tokenizer, counts = merganser.train([TEXT], 260), merganser.count([TEXT])
    pipe, null = tmp_path / "pipe.counts", tmp_path / "null.counts"
    os.mkfifo(pipe)
    null.symlink_to("/dev/null")
    message = r"it is not a regular file; .*choose another"
    for path in (pipe, null):
        for save in (tokenizer.save, counts.save, lambda path: merganser.count([TEXT], out=path)):
            with pytest.raises(WriteError, match=message):
                save(path)
    with pytest.raises(WriteError, match=message):
        tokenizer.save("/dev/null")
    assert pipe.is_fifo()
    assert Path("/dev/null").is_char_device()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["null.counts", "pipe.counts"]


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    dead = processes.run([sys.executable, "-c", "import os; print(os.getpid())"]).stdout.strip()
    stale = [f".x.{dead}.tmp", f".x.{dead}-00ff00ff.tmp"]
    kept = [f".x.{os.getpid()}-1.tmp", f".y.{dead}.tmp", ".x.tmp", "x.tmp"]
    for name in stale + kept:
        (tmp_path / name).touch()
    with written_whole(tmp_path / "x") as file:
        file.write(b"new")
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted([*kept, "x"])


def test_messages_are_short_enough_to_read() -> None:
    error = merganser.CorpusError("begins " + "x" * 100_000 + " ends")
    assert len(str(error)) < 4100
    assert str(error).startswith("begins x")
    assert str(error).endswith("x ends")
    with pytest.raises(merganser.MerganserError) as caught:
        merganser.split("text", pattern="(" * 100_000)
    assert len(str(caught.value)) < 4100
    written = WriteError("cannot write " + "x" * 100_000)
    assert len(str(written)) < 4100


class Untouched:
    """A corpus that fails the test when it is read."""

    def __iter__(self) -> "Untouched":
        raise AssertionError("the work started")


@pytest.mark.parametrize(
    "work",
    [
        lambda out: merganser.count(Untouched(), out=out / "x.counts"),
        lambda out: merganser.train(Untouched(), 300, engine=merganser.Local(work_dir=out)),
        lambda out: merganser.train([TEXT], 260).encode_corpus(Untouched(), out=out),
        lambda out: merganser.train([TEXT], 260).export(out, format="huggingface", on=Untouched()),
        lambda out: reporting.report(out, corpus=Untouched(), vocab_size=300),
        lambda out: embed.train(Untouched(), work_dir=out),
    ],
    ids=["count", "train", "encode_corpus", "export", "report", "embed"],
)
def test_functions_check_the_output_before_they_start(tmp_path: Path, work: Callable[[Path], object]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="file is a file, not a folder"):
        work(tmp_path / "file")
