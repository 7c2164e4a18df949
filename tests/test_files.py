"""Files: whether a result can be written is known before the work, and the advice fits what is wrong."""

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
def test_a_folder_that_can_be_written_to_passes_and_stays_as_it_was(tmp_path: Path, below: str) -> None:
    check_folder(tmp_path / below)
    assert list(tmp_path.iterdir()) == []


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    file, link = tmp_path / "file", tmp_path / "link"
    file.touch()
    link.symlink_to("nowhere")
    for folder, wrong in (
        (file, f"cannot write to {file}: {file} is a file, not a folder; choose another"),
        (file / "below", f"cannot write to {file / 'below'}: {file} is a file, not a folder; choose another"),
        (link / "below", f"cannot write to {link / 'below'}: {link} is a broken link; choose another"),
    ):
        with pytest.raises(WriteError) as caught:
            check_folder(folder)
        assert str(caught.value) == wrong
    for path, wrong in (
        (tmp_path, f"cannot write {tmp_path}: it is a folder, not a file; choose another"),
        (
            tmp_path / "no/x",
            f"cannot write {tmp_path / 'no/x'}: there is no folder {tmp_path / 'no'}; create it",
        ),
    ):
        with pytest.raises(WriteError) as caught:
            check_file(path)
        assert str(caught.value).startswith(wrong)


def without_privileges(folder: Path, script: str) -> str:
    """What a program prints for whom the permissions of files bind, as they do not for root."""
    bound = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    command = [*bound, sys.executable, "-W", "error", "-c", script]
    return str(processes.run(command, cwd=folder, check=True).stdout)


def test_permission_is_missing(tmp_path: Path) -> None:
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
    checked, made, written = without_privileges(tmp_path, script).splitlines()
    helps = "get write permission, or choose another"
    assert checked == f"cannot write to locked/below: Permission denied; {helps}"
    assert made == f"cannot create the folder locked/below: Permission denied; {helps}"
    assert written == (
        f"cannot write locked/file: Permission denied; nothing was left half-written; {helps} place"
    )


def test_a_locked_folder_costs_no_work(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    # There is no such corpus, but nobody gets as far as that.
    script = (
        "from merganser.cli import main\n"
        "import sys\n"
        "sys.stderr = sys.stdout\n"
        "assert main(['train', 'gone.txt', '--vocab-size', '300', '--out', 'locked/out']) == 1\n"
        "assert main(['count', 'gone.txt', '--out', 'locked/x.counts']) == 1\n"
    )
    helps = "Permission denied; get write permission, or choose another --out"
    assert without_privileges(tmp_path, script).splitlines() == [
        f"error: cannot write to locked/out: {helps}",
        f"error: cannot write to locked: {helps}",
    ]


@pytest.mark.parametrize(
    ("number", "helps"),
    [
        (errno.ENOSPC, "half-written; free some space, or choose another place"),
        (errno.EDQUOT, "half-written; free some space, or choose another place"),
        (errno.EACCES, "half-written; get write permission, or choose another place"),
        (errno.EROFS, "half-written; choose another place"),
        (errno.EIO, "half-written; choose another place"),
    ],
)
def test_what_helps_depends_on_what_went_wrong(tmp_path: Path, number: int, helps: str) -> None:
    with pytest.raises(WriteError) as caught, written_whole(tmp_path / "x"):
        raise OSError(number, os.strerror(number))
    assert str(caught.value).startswith(
        f"cannot write {tmp_path / 'x'}: {os.strerror(number)}; nothing was left"
    )
    assert str(caught.value).endswith(helps)
    assert list(tmp_path.iterdir()) == []


class Untouched:
    """A corpus that must not be read."""

    def __iter__(self) -> "Untouched":
        raise AssertionError("the work began")


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
def test_python_asks_before_the_work(tmp_path: Path, work: Callable[[Path], object]) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match="file is a file, not a folder"):
        work(tmp_path / "file")
