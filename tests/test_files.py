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
