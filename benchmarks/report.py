"""Write the results as a Markdown page and a JSON file, with a description of the machine."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from benchmarks.environment import REPOSITORY


@dataclass(frozen=True)
class Section:
    """One table: `columns` and `rows` for the page, `records` for the JSON file.

    If `figures` is true, every column but the first is numeric, whatever its name.
    """

    name: str
    title: str
    note: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    records: Sequence[dict[str, Any]] = field(default_factory=list)
    figures: bool = False

    def markdown(self) -> str:
        """Format the table; numeric columns are right-aligned."""
        rule = ["---", *("---:" if self.figures or c in NUMERIC else "---" for c in self.columns[1:])]
        lines = [list(self.columns), rule, *self.rows]
        table = "\n".join("| " + " | ".join(map(cell, line)) + " |" for line in lines)
        return f"## {self.title}\n\n{self.note}\n\n{table}\n"


NUMERIC = {
    "version", "seconds", "× merganser", "peak MB", "MB/s", "unique pre-tokens", "ratio", "× gpt2",
    "1 thread", "2 threads", "8 threads", "4 threads", "split", "split and count", "merge", "total",
    "lines", "described", "processor s", "load s", "merge s", "total s", "s for n", "s for 2n",
    "µs per merge", "merges", "count", "train", "corpus", "encode", "tokenizer", "bindings", "Python",
    "whole package",
}  # fmt: skip


def cell(text: str) -> str:
    """Escape a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def seconds(value: float | None) -> str:
    """Format a time with three significant digits, or a dash."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def number(value: float | None, digits: int = 0) -> str:
    """Format a number with thousands separators, or a dash."""
    return "–" if value is None else f"{value:,.{digits}f}"


def times(value: float | None, unit: float | None) -> str:
    """Format `value` as a multiple of `unit`: 6.3×."""
    if not value or not unit:
        return "–"
    ratio = value / unit
    return f"{ratio:,.0f}×" if ratio >= 100 else f"{ratio:.3g}×"


@dataclass(frozen=True)
class Machine:
    """The machine and versions that were measured."""

    date: str
    cpu: str
    cores: int
    memory_gb: float
    system: str
    python: str
    commit: str
    load_before: float
    versions: dict[str, str]


def machine(packages: Sequence[str]) -> Machine:
    """Describe this machine, this checkout and the versions of the peers."""
    versions = {}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return Machine(
        date=datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        cpu=cpu_name(),
        cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
        memory_gb=round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        python=platform.python_version(),
        commit=commit(),
        load_before=round(os.getloadavg()[0], 2),
        versions=versions,
    )


def cpu_name() -> str:
    """Return the processor name and the relevant instruction sets."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor() or platform.machine()
    lines = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    fields = {key.strip(): value.strip() for key, value in lines.items()}
    flags = fields.get("flags", "").split()
    supported = [flag for flag in ("avx2", "avx512bw") if flag in flags]
    return f"{fields.get('model name', platform.machine())} ({', '.join(supported) or 'no AVX2'})"


def commit() -> str:
    """Return the commit that was measured, marked if the tree has changes outside the records."""
    try:
        head = git("rev-parse", "--short", "HEAD")
        changed = git("status", "--porcelain", "--", ".", ":!benchmarks/records")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{head}, with changes" if changed else head


def git(*arguments: str) -> str:
    """Run git and return its output."""
    command = ["git", *arguments]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def markdown(where: Machine, settings: dict[str, Any], sections: Sequence[Section]) -> str:
    """Format the whole page."""
    command = settings["command"]
    head = (
        f"# Benchmarks, {where.date}: {settings['size']}\n\n"
        f"Generated by `{command}` at commit {where.commit}.\n\n"
        f"{where.cpu}, {where.cores} cores, {where.memory_gb} GB, {where.system}, "
        f"Python {where.python}; load average at the start {where.load_before}. "
        f"Best of {settings['repeat']}; {settings.get('how', 'each run in a fresh process, interleaved')}.\n"
    )
    return "\n".join([head, *(section.markdown() for section in sections)])


def save(
    folder: Path,
    json_path: Path | None,
    where: Machine,
    settings: dict[str, Any],
    sections: Sequence[Section],
) -> list[Path]:
    """Write today's record as Markdown and JSON; `json_path` is an additional copy."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{where.date[:10]}-{settings['size']}"
    data = {
        "machine": asdict(where),
        "settings": settings,
        "sections": {s.name: {"note": s.note, "records": list(s.records)} for s in sections},
    }
    text = json.dumps(data, indent=1, ensure_ascii=False, default=str) + "\n"
    written = [folder / f"{stem}.md", folder / f"{stem}.json"]
    replace(written[0], markdown(where, settings, sections))
    replace(written[1], text)
    if json_path:
        replace(json_path, text)
        written.append(json_path)
    return written


def replace(path: Path, text: str) -> None:
    """Write to a temporary name, then rename, so that a record is complete or absent."""
    temporary = path.with_name(path.name + ".part")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
