"""Work: a folder in which counting keeps what it has done, so that nothing need be done twice.

| file | what it holds |
|---|---|
| `job.json` | what is counted: the files with their sizes and times, and the settings |
| `log.jsonl` | a line for each time that memory was full or the time had come: runs, and where to go on |
| `run-00000.counts` | what one thread had counted by then |
| `all.counts` | the sum, once there is nothing left to count |
| `merges.log` | the merges learned so far (`crates/core/src/train/checkpoint.rs`) |

The core writes all of it (`crates/core/src/count/spill.rs`) when there is something to write: short work
leaves no folder. A folder of the same job is gone on from, one of another job is refused. Text from an
iterable or from standard input cannot be known again, so work on it always starts afresh.
"""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from merganser.corpus import Corpus
from merganser.corpus.split_settings import SplitSettings
from merganser.errors import CorpusError, CountsError

VERSION = 1
JOB, LOG, ALL, MERGES = "job.json", "log.jsonl", "all.counts", "merges.log"


@dataclass(frozen=True)
class Done:
    """What the log vouches for, and where to go on."""

    runs: list[str]
    log_len: int
    part: int
    offset: int
    within: int
    in_document: bool


def describe(corpus: Corpus, settings: SplitSettings) -> dict[str, Any]:
    """What tells this job from another; what cannot be known again is `null`."""
    return {
        "merganser_work": VERSION,
        "pattern": settings.pattern,
        "special_tokens": sorted(settings.special_tokens),
        "separator": settings.separator,
        "reading": asdict(corpus.reading),
        "files": _facts(corpus.files) if corpus.is_known else None,
        "origins": corpus.origins,
        "counts": [_sum(file) for file in corpus.counts if isinstance(file, Path)],
    }


def _facts(files: tuple[Path, ...]) -> list[list[str | int]]:
    facts: list[list[str | int]] = []
    for file in files:
        try:
            status = file.stat()
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}") from error
        name = os.path.abspath(file)  # noqa: PTH100  # a link stays the link that was named
        facts.append([name, status.st_size, status.st_mtime_ns])
    return facts


def _sum(file: Path) -> list[int]:
    """The size and the checksum of a `.counts` file: its content and not its name, for it may be a copy."""
    with file.open("rb") as counts:
        size = counts.seek(-4, os.SEEK_END) + 4
        return [size, int.from_bytes(counts.read(), "little")]


def find(folder: Path, job: dict[str, Any], resume: bool) -> Done | None:
    """What there is to go on from. Where there is nothing, or it is not wanted, the folder is emptied.

    Only for one who has locked the folder.
    """
    there = _job(folder)
    if there is None and any((folder / name).exists() for name in (LOG, ALL)):
        raise CountsError(
            f"{folder} has counts but no usable {JOB}, so nothing is known about them; "
            "give another --work-dir (work_dir), or --no-resume (resume=False) to start afresh"
        )
    if there is not None and resume and job["files"] is not None:
        _must_equal(folder, there, job)
        done = _read_log(folder)
        _remove_all_but(folder, {JOB, ALL, MERGES, *([LOG, *done.runs] if done else [])})
        return done
    if there is not None:
        _remove_all_but(folder, set())
    return None


def clean(folder: Path) -> None:
    """Takes the folder away, and nothing in it that is not ours."""
    if folder.is_dir():
        _remove_all_but(folder, set())
        with suppress(OSError):  # as where somebody else has put something there
            folder.rmdir()


def remove(folder: Path) -> None:
    """Takes a temporary folder away with all that is in it."""
    shutil.rmtree(folder, ignore_errors=True)


def _job(folder: Path) -> dict[str, Any] | None:
    try:
        job = json.loads((folder / JOB).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return job if isinstance(job, dict) else None


def _must_equal(folder: Path, there: dict[str, Any], job: dict[str, Any]) -> None:
    if what := difference(there, job):
        raise CountsError(
            f"{folder} holds work on {what}; "
            "give another --work-dir (work_dir), or --no-resume (resume=False) to start afresh"
        )


def difference(there: dict[str, Any], job: dict[str, Any]) -> str | None:
    """What the job that is there has otherwise, if anything."""
    for name, value in job.items():
        old = there.get(name)
        if old == value:
            continue
        if name == "files":
            return _changed(old if isinstance(old, list) else [], value)
        if name == "merganser_work":
            return "another version of merganser"
        return f"another {name.replace('_', ' ')}: {json.dumps(old)}, not {json.dumps(value)}"
    return None


def _changed(old: list[list[str | int]], new: list[list[str | int]]) -> str:
    for before, now in zip(old, new, strict=False):
        if before[0] != now[0]:
            return f"another corpus: {before[0]}, not {now[0]}"
        if before != now:
            return f"another corpus: {now[0]} has changed since"
    return f"another corpus: {len(old):,} files, not {len(new):,}"


def _read_log(folder: Path) -> Done | None:
    try:
        log = (folder / LOG).read_bytes()
    except OSError:
        return None
    runs: list[str] = []
    done = None
    at = 0
    lines = log.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        entry = _parse(line)
        if entry is None:
            if number == len(lines):
                break  # torn when the work was stopped
            raise CountsError(
                f"line {number} of {folder / LOG} is damaged; start afresh with --no-resume (resume=False)"
            )
        for run in entry["runs"]:
            path = folder / run["name"]
            if not path.is_file() or path.stat().st_size != run["bytes"]:
                raise CountsError(
                    f"{path} is not there as line {number} of the log has it ({run['bytes']:,} bytes); "
                    "start afresh with --no-resume (resume=False)"
                )
            runs.append(run["name"])
        at += len(line)
        done = Done(list(runs), at, **entry["next"])
    return done


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        entry: dict[str, Any] = json.loads(line)
        Done([str(run["name"]) for run in entry["runs"]], 0, **entry["next"])
        [int(run["bytes"]) for run in entry["runs"]]
    except (ValueError, KeyError, TypeError):
        return None
    return entry


def _remove_all_but(folder: Path, kept: set[str]) -> None:
    """Removes what counting writes; the log first, because nothing may vouch for what is gone."""
    passing = [*folder.glob("run-*.counts"), *folder.glob(".*.tmp")]
    for file in (folder / MERGES, folder / LOG, folder / ALL, *passing, folder / JOB):
        if file.name not in kept:
            file.unlink(missing_ok=True)
