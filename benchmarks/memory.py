"""Peak resident memory of this process, in MB (10⁶ bytes).

Not `merganser.engines.memory.peak`: whoever measures a peer does not load merganser beside it.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """The high-water mark of the resident set.

    Linux: VmHWM, which belongs to this program alone; `ru_maxrss` there may carry over the mark
    of the process that started it. Elsewhere: `ru_maxrss`.
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
