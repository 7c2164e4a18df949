"""Child processes of tests: they end with their test, within the time limit, and can be interrupted."""

import os
import signal
import sys
from pathlib import Path

import processes
import pytest

ENDLESS = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); input()"
#: Starts another process, which prints its pid, and waits for it.
PARENT = """
import subprocess, sys
script = "import os, time; print(os.getpid(), flush=True); time.sleep(10**6)"
child = subprocess.Popen([sys.executable, "-c", script])
child.wait()
"""


def runs(pid: int) -> bool:
    """Whether a process with this pid exists and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_that_hangs_fails_its_test() -> None:
    with (
        pytest.raises(AssertionError, match="took longer than 1 s"),
        processes.started([sys.executable, "-c", ENDLESS], stdin=processes.PIPE, limit=1) as process,
    ):
        process.wait()
    assert process.returncode == -signal.SIGKILL


def test_no_child_or_grandchild_outlives_its_test() -> None:
    with processes.started([sys.executable, "-c", PARENT]) as process:
        child = int(process.stdout.readline())
        assert runs(process.pid) and runs(child)
    assert not runs(process.pid)
    processes.wait_until(lambda: not runs(child))


def test_processes_left_running_by_a_child_are_killed() -> None:
    script = PARENT.replace("child.wait()", "")
    with processes.started([sys.executable, "-c", script]) as process:
        child = int(process.stdout.readline())
        process.wait()
        assert runs(child)
    processes.wait_until(lambda: not runs(child))


def test_a_failing_test_leaves_no_child() -> None:
    with pytest.raises(ZeroDivisionError), processes.started([sys.executable, "-c", PARENT]) as process:
        raise ZeroDivisionError
    assert not runs(process.pid)


def test_a_failed_check_shows_the_error_output() -> None:
    with pytest.raises(AssertionError, match="no luck"):
        processes.run([sys.executable, "-c", "import sys; sys.exit('no luck')"], check=True)


def test_sigint_interrupts_here_and_in_children() -> None:
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    script = "import signal; assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    processes.run([sys.executable, "-c", script], check=True)


def test_sigint_is_enabled_if_the_parent_ignores_it(tmp_path: Path) -> None:
    """Run the test above as a background script would."""
    names = f"{__file__}::test_sigint_interrupts_here_and_in_children"
    command = f"trap '' INT; exec {sys.executable} -m pytest -p no:cacheprovider -o addopts= -q {names}"
    done = processes.run(["bash", "-c", command], cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stdout + done.stderr


def test_waiting_ends_when_the_process_does() -> None:
    with (
        processes.started([sys.executable, "-c", ""]) as process,
        pytest.raises(AssertionError, match="ended early with 0"),
    ):
        processes.wait_until(lambda: False, process)


def test_input_and_open_files_of_a_child_can_be_observed(tmp_path: Path) -> None:
    script = "import os, sys; kept = open(sys.argv[1]); os.read(0, 4); os.read(0, 4)"
    command = [sys.executable, "-c", script, tmp_path / "file"]
    (tmp_path / "file").touch()
    with processes.started(command, stdin=processes.PIPE) as process:
        process.stdin.write("text")
        process.stdin.flush()
        processes.wait_until(lambda: processes.has_read_all(process), process)
        assert tmp_path / "file" in processes.opened(process)


def test_processor_time_measures_the_child() -> None:
    with processes.started([sys.executable, "-c", "while True: pass"]) as process:
        processes.wait_until(lambda: processes.processor_time(process) > 0.5, process)
