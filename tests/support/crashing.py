"""Jobs that are killed: at every operation on files, at random moments, and several at once on one folder.

A script, so that jobs run in copies of a process that has imported everything and started no thread:

    crashing.py JOB FOLDER crash STEP      abort at every STEP-th operation
    crashing.py JOB FOLDER kill TIMES      SIGKILL at random moments
    crashing.py JOB FOLDER terminate TIMES SIGTERM at random moments
    crashing.py JOB FOLDER together TIMES  three at once on one folder

Each prints how many were killed. The next run must give the identical result, or a clear error.
"""

import os
import random
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from faulting import JOBS, STATE, Files, Job, check_left, files_in, operations_of, prepare, runs_again
from merganser import _core


def start(work: Callable[[], object]) -> int:
    """Do something in a copy of this process; return its number."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except SystemExit:
            os._exit(143)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return pid


def status_of(pid: int) -> int:
    """Wait for a copy; return its exit status, or minus a signal."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def done(work: Callable[[], object]) -> None:
    assert status_of(start(work)) == 0


class Killing:
    """A job, its result, and a folder for one run after the other."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.job, self.folder = name, JOBS[name], folder
        self.run = folder / "run"
        done(lambda: prepare(folder))
        done(self._first)
        self.operations, self.seconds = map(float, (folder / "figures").read_text().split())
        self.expected: Files = files_in(folder / "first", *(STATE if name == "embed" else ()))

    def _first(self) -> None:
        operations, _ = operations_of(self.job, self.run)
        (self.folder / "first").mkdir()
        began = time.perf_counter()
        self.job(self.folder / "first")
        (self.folder / "figures").write_text(f"{operations} {time.perf_counter() - began}")

    def check(self, case: str) -> None:
        """Check what is left, and run the job again."""
        check_left(self.run, self.expected, case)

        def again() -> None:
            assert runs_again(self.run, self.job, self.expected, case), f"{case}: not resumed"
            left = [file for file in self.run.rglob(".*.tmp") if "work" not in file.parts]
            assert not left, f"{case}: left {left}"

        done(again)
        shutil.rmtree(self.run)

    def crash(self, step: int) -> int:
        crashes = 0
        for nth in range(0, int(self.operations), step):
            self.run.mkdir()

            def work(nth: int = nth) -> None:
                _core.arm_fault(None, nth, "crash", False)
                self.job(self.run)

            status = status_of(start(work))
            assert status in (0, -signal.SIGABRT), f"{self.name}: crash at {nth} ended with {status}"
            crashes += status != 0
            self.check(f"{self.name}: crash at {nth}")
        return crashes

    def signal(self, number: int, times: int) -> int:
        chance = random.Random(times)
        killed = 0
        while killed < times:
            self.run.mkdir()
            pid = start(self._terminable)
            time.sleep(chance.uniform(0, self.seconds * 1.1))
            os.kill(pid, number)
            status = status_of(pid)
            assert status in (0, 143, -number), f"{self.name}: ended with {status}"
            killed += status != 0
            self.check(f"{self.name}: signal {number}, number {killed}")
        return killed

    def _terminable(self) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        self.job(self.run)

    def together(self, times: int) -> int:
        refused = 0
        for nth in range(times):
            self.run.mkdir()
            pids = [start(lambda: runs_again(self.run, _alone(self.job), {}, "")) for _ in range(3)]
            refused += sum(status_of(pid) != 0 for pid in pids)
            self.check(f"{self.name}: three at once, number {nth}")
        return 3 * times


def _alone(job: Job) -> Job:
    """A job whose result is not looked at, because another process may remove it."""

    def run(folder: Path) -> Files:
        job(folder)
        return {}

    return run


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    name, folder, how, number = sys.argv[1], Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    killing = Killing(name, folder)
    signals = {"kill": signal.SIGKILL, "terminate": signal.SIGTERM}
    if how in signals:
        print(killing.signal(signals[how], number))
    else:
        print(killing.crash(number) if how == "crash" else killing.together(number))
