"""Peak resident memory of this process, in MB (10⁶ bytes).

`merganser.engines.memory.peak` is not used, because measuring a peer must not load merganser.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Return the high-water mark of the resident set.

    On Linux this is VmHWM, because `ru_maxrss` may include the mark of the parent process;
    elsewhere it is `ru_maxrss`.
    """
    try:
        with Path("/proc/self/status").open(encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024 / 1e6
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 1e6 if sys.platform == "darwin" else peak * 1024 / 1e6
