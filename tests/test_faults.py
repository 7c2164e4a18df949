"""A failure of any read, write, flush or rename leaves nothing half-written, and the next run is identical.

A few operations of each job here; all of them in tests/long/test_faults.py.
"""

import sys
from pathlib import Path

import crashing
import faulting
import processes
import pytest


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    faulting.prepare(folder)
    return folder


@pytest.mark.parametrize("job", faulting.JOBS)
def test_a_fault_leaves_nothing_half_written(prepared: Path, job: str) -> None:
    tally = faulting.check_every_fault(prepared, job, step=67, lasting=(False,))
    assert tally.failed, "some faults are errors"
    assert tally.refused_again == 0


@pytest.mark.parametrize("job", ["count", "encode"])
def test_a_flipped_bit_in_what_an_interrupted_run_left_is_found_or_harmless(prepared: Path, job: str) -> None:
    tally = faulting.check_flipped_bits(prepared, job, every=499)
    assert tally.runs > 3


@pytest.mark.parametrize(
    ("job", "how", "number"),
    [("count", "crash", 29), ("encode", "crash", 29), ("train", "kill", 3), ("encode", "terminate", 2)],
)
def test_a_killed_job_is_resumed(tmp_path: Path, job: str, how: str, number: int) -> None:
    command = [sys.executable, crashing.__file__, job, str(tmp_path), how, str(number)]
    done = processes.run(command)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) >= 2


@pytest.mark.parametrize("job", ["count", "encode"])
def test_jobs_that_start_at_once_on_one_folder_do_not_mix(tmp_path: Path, job: str) -> None:
    done = processes.run([sys.executable, crashing.__file__, job, str(tmp_path), "together", "2"])
    assert done.returncode == 0, done.stderr
