"""Memory: how much there is, how much the work may take, and how much was taken.

A budget is a number of bytes or a string with a unit: "2GB" is 2·10⁹ bytes, "2GiB" is 2·2³⁰. Where none is
given it is 60% of what is free now: what the system calls available, or what is left of the container's limit
(cgroup 1 and 2) where that is less.
"""

import sys
from contextlib import suppress
from pathlib import Path

from merganser.corpus.sizes import size_of
from merganser.errors import SettingsError

#: The share of free memory that is taken where nobody says how much.
SHARE = 0.6

#: The interpreter with numpy, and the blocks of text that are being counted.
BESIDE = 32_000_000

_LEAST = 16_000_000


def parse(memory: int | str) -> int:
    """A budget in bytes.

    >>> parse("2GB"), parse("512MiB"), parse(10**9)
    (2000000000, 536870912, 1000000000)
    """
    size = size_of(memory, "memory")
    if size < _LEAST:
        raise SettingsError(f"memory must be at least {_LEAST // 10**6}MB, not {memory!r}")
    return size


def budget(memory: int | str | None) -> int:
    """How many bytes the work may take."""
    return parse(memory) if memory is not None else max(int(SHARE * free()), _LEAST)


def for_tables(memory: int) -> int:
    """How much of a budget tables of counts may take; the rest is for what stands beside them."""
    return max(memory * 3 // 4 - BESIDE, memory // 4)


def for_merging(memory: int) -> int:
    """How much of a budget the merge loop may take."""
    return max(memory * 9 // 10 - BESIDE, memory // 4)


def free() -> int:
    """How many bytes could be taken now without swapping, or without leaving the container's limit."""
    left = [_available()]
    group = Path("/sys/fs/cgroup")
    for limit, used, statistics, inactive in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        ),
    ):
        with suppress(OSError, ValueError):  # as where there is no such group, or the limit is "max"
            taken = int((group / used).read_text())
            # Pages of files that were read are given back when memory is short.
            taken -= _field(group / statistics, inactive)
            left.append(int((group / limit).read_text()) - taken)
    return max(min(left), 0)


def peak() -> int:
    """The most bytes that this process ever had."""
    with suppress(OSError):
        # On Linux, what `getrusage` says begins with the memory of the process that started this one.
        if most := _field(Path("/proc/self/status"), "VmHWM:"):
            return most * 1024
    import resource  # which Windows has not

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def _available() -> int:
    try:
        return _field(Path("/proc/meminfo"), "MemAvailable:") * 1024
    except OSError:
        return 4 * 10**9  # where the system does not say: what most machines have


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        words = line.split()
        if words[:1] == [name]:
            return int(words[1])
    return 0
