"""First use: the time from nothing to ids, in fresh processes.

    python -m benchmarks.first_use [--before PYTHON] [--repeat 20] [--out DIR]

Saves each vocabulary of `../shared/vocabs`, then starts a process per run that imports merganser, loads the
file and encodes a short text and a megabyte, and one that runs `merganser encode`. The best of all runs
counts: the cost, not what else the machine did. `--before PYTHON` is the interpreter of an environment with
an earlier merganser, which takes turns with this one on its own files. Ids must be equal.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.environment import REPOSITORY

VOCABS = REPOSITORY.parent / "shared" / "vocabs"
CORPUS = REPOSITORY.parent / "shared" / "corpora" / "english.txt"
FILES = {"gpt2": "gpt2", "cl100k_base": "gpt4", "llama3": "llama3", "qwen3": "qwen2", "o200k_base": "o200k"}
TEXT = "The merganser dives, and 12 ducks follow it."

_SAVE = "import sys, merganser; merganser.load(sys.argv[1], pattern=sys.argv[2]).save(sys.argv[3])"
_USE = """
import json, sys
from time import perf_counter as now, process_time
source, pattern, corpus, short = sys.argv[1:]
start = now()
import merganser
imported = now()
from merganser import Tokenizer, load
named = now()
before = process_time()
tokenizer = load(source, **({"pattern": pattern} if pattern else {}))
loaded, used = now(), process_time() - before
ids = tokenizer.encode(short)
encoded = now()
text = open(corpus, encoding="utf-8").read(1_000_000)
began = now()
long = tokenizer.encode_ordinary(text)
ended = now()
print(json.dumps({
    "import": imported - start, "names": named - start, "load": loaded - named, "encode": encoded - loaded,
    "load, CPU": used, "megabyte": ended - began, "ids": [ids, len(long), sum(long)],
}))
"""


def use(python: str, source: Path, pattern: str) -> dict[str, Any]:
    command = [python, "-c", _USE, str(source), pattern, str(CORPUS), TEXT]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return dict(json.loads(run.stdout))


def command_line(python: str, source: Path) -> dict[str, Any]:
    start = time.perf_counter()
    command = [str(Path(python).with_name("merganser")), "encode", str(source), TEXT]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd="/")
    return {"command": time.perf_counter() - start, "ids": run.stdout.split()}


def measure(pythons: dict[str, str], folder: Path, name: str, repeat: int) -> list[dict[str, Any]]:
    """Return the best figures of each environment on a saved tokenizer and on the rank file."""
    ranks, pattern = VOCABS / f"{name}.tiktoken", FILES[name]
    jobs = {}
    for label, python in pythons.items():
        saved = folder / f"{label}-{name}.merganser"
        subprocess.run([python, "-c", _SAVE, str(ranks), pattern, str(saved)], check=True, cwd="/")
        jobs[label, "saved"] = (python, saved, "")
        jobs[label, "ranks"] = (python, ranks, pattern)
    found: dict[tuple[str, str], list[dict[str, Any]]] = {job: [] for job in jobs}
    for _ in range(repeat):
        for job, (python, source, own) in jobs.items():
            found[job].append(use(python, source, own))
            if not own:
                found[job][-1] |= {"command": command_line(python, source)["command"]}
    ids = [run["ids"] for runs in found.values() for run in runs]
    if any(other != ids[0] for other in ids):
        raise SystemExit(f"the ids of {name} differ")
    rows = []
    for (label, source), runs in found.items():
        times = {key: min(run[key] for run in runs) for key in runs[0] if key != "ids"}
        size = jobs[label, source][1].stat().st_size
        rows.append({"vocabulary": name, "merganser": label, "source": source, "bytes": size, **times})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="the Python of an environment with an earlier merganser")
    parser.add_argument("--repeat", type=int, default=20)
    parser.add_argument("--vocabularies", default=",".join(FILES))
    parser.add_argument("--out", type=Path, default=REPOSITORY / "benchmarks" / "records")
    options = parser.parse_args()
    pythons = {"now": sys.executable} | ({"before": options.before} if options.before else {})
    load = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        rows = [
            row
            for name in options.vocabularies.split(",")
            for row in measure(pythons, Path(folder), name, options.repeat)
        ]
    record = {"repeat": options.repeat, "load_before": load, "load_after": os.getloadavg(), "rows": rows}
    name = f"{time.strftime('%Y-%m-%d')}-first-use"
    (options.out / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n")
    (options.out / f"{name}.md").write_text(markdown(record))
    print(markdown(record))


def markdown(record: dict[str, Any]) -> str:
    columns = ("import", "names", "load", "load, CPU", "encode", "megabyte", "command")
    lines = [
        "# First use",
        "",
        f"Milliseconds, the best of {record['repeat']} fresh processes; load average "
        f"{record['load_before'][0]:.1f} before and {record['load_after'][0]:.1f} after. `import` is `import "
        "merganser`, `names` the same with `from merganser import Tokenizer, load`; `load` a saved tokenizer "
        "(saved) or a .tiktoken file (ranks), by the clock and in CPU time of all threads; `encode` the "
        "first call, of 44 characters; `megabyte` the next one, of a million; `command` is `merganser "
        "encode FILE TEXT` by the clock. Ids are equal.",
        "",
        "| vocabulary | source | MB | merganser | " + " | ".join(columns) + " |",
        "|---|---|--:|---|" + "--:|" * len(columns),
    ]
    for row in record["rows"]:
        figures = [f"{row[column] * 1e3:.1f}" if column in row else "" for column in columns]
        facts = [row["vocabulary"], row["source"], f"{row['bytes'] / 1e6:.1f}", row["merganser"]]
        lines.append("| " + " | ".join([*facts, *figures]) + " |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
