"""Every operation on files fails, in every way; kills at random moments; every file with flipped bits.

Run with -s to see the figures.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import crashing
import faulting
import processes
import pytest
from merganser import MerganserError

EVERY = pytest.mark.parametrize("job", faulting.JOBS)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faults")
    faulting.prepare(folder)
    return folder


@EVERY
def test_a_fault_at_every_operation(prepared: Path, job: str) -> None:
    tally = faulting.check_every_fault(prepared, job, step=1, lasting=(False, True))
    print(f"\n{job}: {tally}")
    assert tally.refused_again == 0


@EVERY
def test_a_flipped_bit_in_every_seventh_byte(prepared: Path, job: str) -> None:
    if job == "export":
        pytest.skip("nothing is resumed")
    tally = faulting.check_flipped_bits(prepared, job, every=7)
    print(f"\n{job}: {tally.runs} flips, {tally.failed} refused, the others harmless")
    assert tally.runs > 50


@EVERY
@pytest.mark.parametrize(("how", "number"), [("crash", 1), ("kill", 40), ("terminate", 10), ("together", 10)])
def test_killed_jobs_are_resumed(tmp_path: Path, job: str, how: str, number: int) -> None:
    if how == "together" and job in ("embed", "export"):
        pytest.skip("files are replaced one by one, and the last one wins")
    done = processes.run([sys.executable, crashing.__file__, job, str(tmp_path), how, str(number)])
    assert done.returncode == 0, done.stderr
    print(f"\n{job}: {how} {done.stdout.strip()}")


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path]:
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(folder)]
    if os.geteuid() != 0 or processes.run(mount).returncode != 0:
        pytest.skip("only root can make a small disk")
    try:
        yield folder
    finally:
        processes.run(["umount", str(folder)], check=True)


@EVERY
def test_a_disk_of_any_size_is_full_or_suffices(prepared: Path, job: str, tmp_path: Path) -> None:
    _, expected = faulting.operations_of(faulting.JOBS[job], prepared / "run")
    failed = 0
    disk = prepared / "disk"
    disk.mkdir(exist_ok=True)
    for size in (4, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 512, 1024, 4096):
        with small_disk(disk, size):
            try:
                assert faulting.JOBS[job](disk) == expected
            except MerganserError as error:
                assert "space" in str(error), error
                failed += 1
            faulting.check_left(disk, expected, f"{job} on {size} kB")
            grow = ["mount", "-o", "remount,size=64m", str(disk)]
            processes.run(grow, check=True)
            assert faulting.runs_again(disk, faulting.JOBS[job], expected, f"{job} on {size} kB")
    print(f"\n{job}: 17 sizes, full {failed} times")
    assert failed
