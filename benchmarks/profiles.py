"""Profiles what docs/profile.md describes, and fills its tables from the record.

    .venv/bin/python benchmarks/profiles.py [--page | --check]

Needs py-spy and perf. The record holds shares of samples, which hardly depend on the speed of the machine,
with date and commit. `--page` only writes the tables of the newest record to the page, as `make docs-figures`
does; `--check` only says whether they are out of date. Takes about two minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.environment import REPOSITORY
from benchmarks.report import cell, commit, replace
from benchmarks.scale import generate

PAGE = REPOSITORY / "docs" / "profile.md"
RECORDS = REPOSITORY / "benchmarks" / "records"
TABLE = re.compile(r"(<!-- profile: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
TOPICS = "from pydoc_data.topics import topics; print(*topics.values(), sep='\\n\\n')"
TEXT_BYTES = 56_000_000
#: The command of each table, after `python -m`, and how often it is sampled per second.
PYTHON = {
    "ladder": (100, "merganser.learn.ladder.worker 8 topics.txt 2000"),
    "char": (200, "merganser learn char topics.txt"),
    "train": (100, "merganser train text.txt --vocab-size 32000"),
}
RUST = "merganser train text.txt --vocab-size 32000 --force"
#: How many rows a table has.
ROWS = 6
_FRAME = re.compile(r"(?P<function>\S+) \((?P<file>.+?)(?::(?P<line>\d+))?\)$")
_SYMBOL = re.compile(r"\s*([\d.]+)%\s+\S+\s+\S+\s+\[(.)\]\s+(.*\S)")


def sampled(lines: list[str]) -> dict[str, Any]:
    """Sum the samples of py-spy's raw format by the innermost frame; imports are one row."""
    rows: Counter[tuple[str, str]] = Counter()
    for line in lines:
        stack, _, number = line.rpartition(" ")
        rows[_place(stack)] += int(number)
    total = sum(rows.values())
    return {
        "samples": total,
        "rows": [
            {"share": number / total, "where": where, "code": code}
            for (where, code), number in rows.most_common(ROWS)
        ],
    }


def _place(stack: str) -> tuple[str, str]:
    """Return the function and file of the innermost frame, and its line of code."""
    if "<frozen importlib" in stack:
        return "imports", ""
    frame = _FRAME.match(stack.rpartition(";")[2])
    if frame is None:
        return "no Python frame", ""
    file = Path(frame["file"])
    file = file if file.is_absolute() else REPOSITORY / "python" / file
    ours = REPOSITORY / "python" / "merganser"
    if not (file.is_relative_to(ours) and file.exists()):
        return f"{frame['function']} ({file.name})", ""
    code = file.read_text("utf-8").splitlines()[int(frame["line"]) - 1]
    return f"{frame['function']} ({file.relative_to(ours)})", code.strip()


def functions(report: str) -> list[dict[str, Any]]:
    """Read the table of `perf report`: share and function."""
    rows = []
    for line in report.splitlines():
        if found := _SYMBOL.match(line):
            where = f"{found[3]}{' (kernel)' if found[2] == 'k' else ''}"
            rows.append({"share": float(found[1]) / 100, "where": where, "code": ""})
    return rows[: ROWS + 2]


def measure() -> dict[str, Any]:
    profiles: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        with Path(folder, "topics.txt").open("wb") as file:
            subprocess.run([sys.executable, "-c", TOPICS], stdout=file, check=True)
        generate.write(Path(folder, "text.txt"), TEXT_BYTES, generate.natural(TEXT_BYTES))
        for name, (rate, command) in PYTHON.items():
            out = Path(folder, f"{name}.txt")
            record = ["py-spy", "record", "-r", str(rate), "-f", "raw", "-o", str(out), "--"]
            _run([*record, sys.executable, "-m", *command.split()], folder)
            profiles[name] = {"command": command, **sampled(out.read_text("utf-8").splitlines())}
        data = str(Path(folder, "train.data"))
        _run(["perf", "record", "-F", "2000", "-g", "-o", data, sys.executable, "-m", *RUST.split()], folder)
        report = ["perf", "report", "-i", data, "--no-children", "--stdio", "-g", "none"]
        text = _run(report, folder)
        samples = re.search(r"^# Samples: (\S+)", text, re.MULTILINE)
        profiles["rust"] = {
            "command": RUST,
            "samples": samples[1] if samples else "unknown",
            "rows": functions(text),
        }
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d"),
        "commit": commit(),
        "profiles": profiles,
    }


def _run(command: list[str], folder: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed: {done.stderr}")
    return done.stdout


def table(name: str, record: dict[str, Any]) -> str:
    """The table of one profile, with what it was measured on."""
    profile = record["profiles"][name]
    if name == "rust":
        lines = ["| share | function |", "|---:|---|"]
        lines += [f"| {row['share']:.1%} | `{cell(row['where'])}` |" for row in profile["rows"]]
    else:
        lines = ["| share | where | code |", "|---:|---|---|"]
        for row in profile["rows"]:
            code = f" `{cell(row['code'])}`" if row["code"] else ""
            lines.append(f"| {row['share']:.1%} | {row['where']} |{code} |")
    samples = profile["samples"]  # perf rounds its own
    shown = f"{samples:,}" if isinstance(samples, int) else samples
    about = f"{shown} samples, {record['date']}, commit {record['commit']}."
    return "\n".join([*lines, "", about, ""])


def filled(page: str) -> str:
    """The page with the tables of the newest record."""
    record = json.loads(max(RECORDS.glob("*-profile.json")).read_text("utf-8"))
    return TABLE.sub(lambda part: f"{part[1]}{table(part[2], record)}{part[3]}", page)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", action="store_true", help="write the tables of the newest record only")
    parser.add_argument("--check", action="store_true", help="say whether the page is out of date")
    given = parser.parse_args()
    if not (given.page or given.check):
        if missing := [tool for tool in ("py-spy", "perf") if shutil.which(tool) is None]:
            raise SystemExit(f"{' and '.join(missing)} not found; docs/profile.md says how to install them")
        record = measure()
        replace(RECORDS / f"{record['date']}-profile.json", json.dumps(record, indent=1) + "\n")
    page = PAGE.read_text("utf-8")
    if given.check and filled(page) != page:
        raise SystemExit("docs/profile.md is out of date: make docs-figures")
    replace(PAGE, filled(page))


if __name__ == "__main__":
    main()
