"""Child processes of tests: each has a time limit, dies with its test, and can be interrupted by SIGINT.

`run` waits for a command to finish, and `started` yields it while it runs. Both finally kill the whole
process group, so that a child that hangs fails its test, and the message names its command. `wait_until`
polls a condition. The fixture `interruptible` in conftest.py makes children handle SIGINT as in a terminal.
"""

import fcntl
import os
import signal
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE
from typing import Any

#: In seconds: far more than a child needs on a busy machine, and less than pytest's timeout for a test.
LIMIT = 480.0

Command = str | Sequence[str | os.PathLike[str]]
Done = subprocess.CompletedProcess[Any]


@contextmanager
def started(command: Command, *, limit: float = LIMIT, **how: Any) -> Iterator[Any]:
    """Start a child with its output piped as text; `how` is passed to `Popen`.

    After the time limit it is killed, which ends all reads and waits, and the test fails.
    """
    how = {"stdin": subprocess.DEVNULL, "stdout": PIPE, "stderr": PIPE, "text": True} | how
    process = subprocess.Popen(command, start_new_session=True, **how)
    expired = threading.Event()

    def expire() -> None:
        expired.set()
        _kill(process)

    timer = threading.Timer(limit, expire)
    timer.daemon = True
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with suppress(BrokenPipeError):  # its input was never read
                    pipe.close()
        assert not expired.is_set(), f"took longer than {limit:.0f} s: {command}"


def run(command: Command, *, check: bool = False, input: str | bytes | None = None, **how: Any) -> Done:
    """Run a command and return its `CompletedProcess`, as `subprocess.run` does.

    check: whether the command must succeed.
    """
    if input is not None:
        how["stdin"] = PIPE
    with started(command, **how) as process:
        out, err = process.communicate(input)
    assert not check or process.returncode == 0, err
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def _kill(process: subprocess.Popen[Any]) -> None:
    """Kill a child and its descendants; if it has ended, kill the rest of its process group."""
    if process.returncode is not None and _exists(process.pid):
        return  # the pid was reused, so the whole group is gone
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def wait_until(condition: Callable[[], object], process: Any = None) -> None:
    """Wait until a condition is true, which must happen while the process runs."""
    end = time.monotonic() + LIMIT
    while not condition():
        assert process is None or process.poll() is None, f"it ended early with {process.returncode}"
        assert time.monotonic() < end, f"not within {LIMIT:.0f} s"
        time.sleep(0.002)


def joined(*threads: threading.Thread) -> None:
    """Wait until all threads have ended."""
    for thread in threads:
        thread.join(LIMIT)
        assert not thread.is_alive(), f"{thread.name} did not end within {LIMIT:.0f} s"


def processor_time(process: Any) -> float:
    """Return the CPU time of a child in seconds, over all its threads (Linux only)."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def opened(process: Any) -> set[Path]:
    """Return the files that a child has open (Linux only)."""
    found = set()
    for descriptor in Path(f"/proc/{process.pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed in the meantime
            found.add(descriptor.readlink())
    return found


def has_read_all(process: Any) -> bool:
    """Whether a child has read everything written to its standard input."""
    unread = fcntl.ioctl(process.stdin, termios.FIONREAD, bytes(4))
    return not any(unread)


def interrupted(script: str, *arguments: str | os.PathLike[str], **how: Any) -> Done:
    """Run a script that may import interrupting.py."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return run([sys.executable, "-W", "error", "-c", script, *arguments], env=environment, **how)
