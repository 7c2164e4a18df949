"""Memory budgets, free memory and peak memory.

A budget is a number of bytes or a string with a unit: "2GB" is 2·10⁹ bytes, "2GiB" is 2·2³⁰. The default is
60% of the free memory: what the system reports as available, or less if a limit leaves less: the limit of
the process on its address space or data (`ulimit -v`, `ulimit -d`), or that of its control group or of a
group around that (cgroup v1 and v2, as in containers). Without /proc, half of the memory counts as available,
and 4 GB where its size is unknown, as on Windows.
"""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from merganser.corpus.sizes import size_of
from merganser.errors import SettingsError

#: The default budget as a share of the free memory.
SHARE = 0.6

#: Bytes reserved for the interpreter, numpy and the blocks of text being counted.
OVERHEAD = 32_000_000

#: Bytes in memory for each byte of a record while it is counted, and of a pre-token while it is encoded.
COUNTING = 8
ENCODING = 48

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


def for_records(memory: int, threads: int | None, cost: int) -> int:
    """Return the longest record that each thread may hold, if each of its bytes takes `cost` bytes."""
    return memory // (cost * (threads or os.cpu_count() or 1))


def free() -> int:
    """Return the bytes that can be allocated without swapping or exceeding a limit."""
    return max(min([_available(), *_left_by_process_limits(), *_left_by_groups()]), 0)


def _left_by_process_limits() -> Iterator[int]:
    """Yield what the limits on the address space and the data of this process leave."""
    with suppress(ImportError, OSError):  # not available on Windows; no /proc
        import resource

        for limit, used in ((resource.RLIMIT_AS, "VmSize:"), (resource.RLIMIT_DATA, "VmData:")):
            most, _ = resource.getrlimit(limit)
            if most != resource.RLIM_INFINITY:
                yield most - _field(Path("/proc/self/status"), used) * 1024


def _left_by_groups(
    root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")
) -> Iterator[int]:
    """Yield what the limits of the control group of this process, and of all groups around it, leave."""
    lines = [line.split(":", 2) for line in _read(own).splitlines()]
    paths = {kind: path for _, kind, path in lines}
    memory = next((path for kinds, path in paths.items() if "memory" in kinds.split(",")), "/")
    for path, mount, limit, usage, inactive in (
        (paths.get("", "/"), root, "memory.max", "memory.current", "inactive_file"),
        (memory, root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        names = [name for name in path.split("/") if name not in ("", "..")]
        for depth in range(len(names) + 1):
            group = mount.joinpath(*names[:depth])
            with suppress(OSError, ValueError):  # no such group, or the limit is "max"
                most = int((group / limit).read_text())
                # The kernel reclaims inactive file pages when memory is short.
                yield most - int((group / usage).read_text()) + _field(group / "memory.stat", inactive)


def peak() -> int:
    """Return the peak memory of this process in bytes; 0 where it is unknown."""
    with suppress(OSError):
        # On Linux, `getrusage` includes the memory of the parent process at the time of the fork.
        if kilobytes := _field(Path("/proc/self/status"), "VmHWM:"):
            return kilobytes * 1024
    try:
        import resource
    except ImportError:  # Windows
        return 0
    maximum = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return maximum if sys.platform == "darwin" else maximum * 1024


def _available() -> int:
    try:
        return _field(Path("/proc/meminfo"), "MemAvailable:") * 1024
    except OSError:  # no /proc: macOS and Windows
        return _half() or 4 * 10**9


def _half() -> int:
    """Return half of the memory of this machine; 0 where its size is unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):  # Windows has no sysconf
        return 0


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:
        return ""


def _field(file: Path, name: str) -> int:
    for line in file.read_text().splitlines():
        columns = line.split()
        if columns[:1] == [name]:
            return int(columns[1])
    return 0
