"""Memory budgets, free memory and peak memory.

A budget is a number of bytes or a string with a unit: "2GB" is 2·10⁹ bytes, "2GiB" is 2·2³⁰. The default is
60% of the free memory: what the system reports as available, or what remains of the container's limit (cgroup
v1 and v2) if that is less.
"""

import sys
from contextlib import suppress
from pathlib import Path

from merganser.corpus.sizes import size_of
from merganser.errors import SettingsError

#: The default budget as a share of the free memory.
SHARE = 0.6

#: Bytes reserved for the interpreter, numpy and the blocks of text being counted.
OVERHEAD = 32_000_000

_MINIMUM = 16_000_000


def parse(memory: int | str) -> int:
    """Parse a budget into bytes.

    >>> parse("2GB"), parse("512MiB"), parse(10**9)
    (2000000000, 536870912, 1000000000)
    """
    size = size_of(memory, "memory")
    if size < _MINIMUM:
        raise SettingsError(f"memory must be at least {_MINIMUM // 10**6}MB, got {memory!r}")
    return size


def budget(memory: int | str | None) -> int:
    """Return the budget in bytes; None is the default budget."""
    return parse(memory) if memory is not None else max(int(SHARE * free()), _MINIMUM)


def for_tables(memory: int) -> int:
    """Return the part of a budget for the tables of counts."""
    return max(memory * 3 // 4 - OVERHEAD, memory // 4)


def for_merging(memory: int) -> int:
    """Return the part of a budget for the merge loop."""
    return max(memory * 9 // 10 - OVERHEAD, memory // 4)


def free() -> int:
    """Return the bytes that can be allocated without swapping or exceeding the container's limit."""
    candidates = [_available()]
    group = Path("/sys/fs/cgroup")
    for limit, usage, statistics, inactive in (
        ("memory.max", "memory.current", "memory.stat", "inactive_file"),
        (
            "memory/memory.limit_in_bytes",
            "memory/memory.usage_in_bytes",
            "memory/memory.stat",
            "total_inactive_file",
        ),
    ):
        with suppress(OSError, ValueError):  # no such cgroup, or the limit is "max"
            used = int((group / usage).read_text())
            # The kernel reclaims inactive file pages when memory is short.
            used -= _field(group / statistics, inactive)
            candidates.append(int((group / limit).read_text()) - used)
    return max(min(candidates), 0)


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    with suppress(OSError):
        # On Linux, `getrusage` includes the memory of the parent process at the time of the fork.
        if kilobytes := _field(Path("/proc/self/status"), "VmHWM:"):
            return kilobytes * 1024
    import resource  # not available on Windows

    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum if sys.platform == "darwin" else maximum * 1024


def _available() -> int:
    try:
        return _field(Path("/proc/meminfo"), "MemAvailable:") * 1024
    except OSError:
        return 4 * 10**9  # an assumption for systems without /proc


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        columns = line.split()
        if columns[:1] == [name]:
            return int(columns[1])
    return 0
