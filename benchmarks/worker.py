"""Runs one task in a fresh process: `python -m benchmarks.worker '{"task": …}' RESULT`.

What is imported is imported before the clock starts; peak memory is the high-water mark of this
very process (its resident pages, mapped files included), read before anything is done with the
result. The answer goes to a file, because peers write to standard output and error.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks import tasks
from benchmarks.encode import tasks as encode_tasks
from benchmarks.scale import tasks as scale_tasks

TASKS = tasks.TASKS | encode_tasks.TASKS | scale_tasks.TASKS


def main(arguments: list[str]) -> None:
    """Do the task and write {"seconds": …, "peak_mb": …, …} to the result file."""
    parameters = json.loads(arguments[0])
    task = TASKS[parameters.pop("task")]
    result = task(**parameters)
    Path(arguments[1]).write_text(json.dumps(result), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
