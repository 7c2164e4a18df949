"""Run one task in a fresh process: `python -m benchmarks.worker '{"task": …}' RESULT`.

Imports happen before the clock starts. Peak memory is the high-water mark of this process (resident
pages, including mapped files), read before the result is processed. The result is written to a file,
because peers write to stdout and stderr.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import tasks
from benchmarks.encode import tasks as encode_tasks
from benchmarks.kinds import tasks as kinds_tasks
from benchmarks.scale import tasks as scale_tasks

TASKS = tasks.TASKS | encode_tasks.TASKS | kinds_tasks.TASKS | scale_tasks.TASKS


def main(arguments: list[str]) -> None:
    """Run the task and write {"seconds": …, "peak_mb": …, …} to the result file."""
    parameters = json.loads(arguments[0])
    task = TASKS[parameters.pop("task")]
    result = task(**parameters)
    Path(arguments[1]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
