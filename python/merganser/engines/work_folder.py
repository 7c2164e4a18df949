"""The work folder, in which counting and training store checkpoints.

| file | contents |
|---|---|
| `job.json` | the job: the settings, and the files with their sizes and modification times |
| `log.jsonl` | one line per checkpoint or full memory budget: the runs written, and where to resume |
| `run-00000.counts` | the counts of one thread since its previous run |
| `all.counts` | the sum of the runs, once everything is counted |
| `merges.log` | the merges learned so far (`crates/core/src/train/checkpoint.rs`) |

The core creates the folder (`crates/core/src/count/spill.rs`) with the first checkpoint, so short jobs leave
none. A folder of the same job is resumed; a folder of another job is rejected. Text from an iterable or from
standard input cannot be recognized again, so such jobs always start over.
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
class ResumePoint:
    """The runs that the log lists, and where in the corpus to resume."""

    runs: list[str]
    log_len: int
    part: int
    offset: int
    within: int
    in_document: bool


def describe(corpus: Corpus, settings: SplitSettings) -> dict[str, Any]:
    """Return the facts that identify a job; `files` is None if the corpus cannot be recognized again."""
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
    """Return the size and checksum of a `.counts` file, which identify a downloaded copy too."""
    with file.open("rb") as counts:
        size = counts.seek(-4, os.SEEK_END) + 4
        return [size, int.from_bytes(counts.read(), "little")]


def find(folder: Path, job: dict[str, Any], resume: bool) -> ResumePoint | None:
    """Return where to resume; if there is nothing to resume, or `resume` is False, empty the folder.

    The caller must hold the lock of the folder.
    """
    old_job = _read_job(folder)
    if old_job is None and any((folder / name).exists() for name in (LOG, ALL)):
        raise CountsError(
            f"{folder} contains counts but no valid {JOB}, so they cannot be resumed; "
            "choose another --work-dir (work_dir), or start over with --no-resume (resume=False)"
        )
    if old_job is not None and resume and job["files"] is not None:
        if what := difference(old_job, job):
            raise CountsError(
                f"{folder} belongs to a different job ({what}); "
                "choose another --work-dir (work_dir), or start over with --no-resume (resume=False)"
            )
        resume_point = _read_log(folder)
        _remove_all_but(folder, {JOB, ALL, MERGES, *([LOG, *resume_point.runs] if resume_point else [])})
        return resume_point
    if old_job is not None:
        _remove_all_but(folder, set())
    return None


def clean(folder: Path) -> None:
    """Remove merganser's files, and the folder if nothing else is in it."""
    if folder.is_dir():
        _remove_all_but(folder, set())
        with suppress(OSError):  # not empty
            folder.rmdir()


def remove(folder: Path) -> None:
    """Remove a temporary folder with all its files."""
    shutil.rmtree(folder, ignore_errors=True)


def _read_job(folder: Path) -> dict[str, Any] | None:
    try:
        job = json.loads((folder / JOB).read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return job if isinstance(job, dict) else None


def difference(old_job: dict[str, Any], job: dict[str, Any]) -> str | None:
    """Describe the first difference between two jobs; None if they are the same."""
    for name, value in job.items():
        old = old_job.get(name)
        if old == value:
            continue
        if name == "files":
            return _changed_files(old if isinstance(old, list) else [], value)
        if name == "merganser_work":
            return "of another version of merganser"
        return f"{name.replace('_', ' ')}: {json.dumps(old)}, not {json.dumps(value)}"
    return None


def _changed_files(old: list[list[str | int]], new: list[list[str | int]]) -> str:
    for before, now in zip(old, new, strict=False):
        if before[0] != now[0]:
            return f"corpus: {before[0]}, not {now[0]}"
        if before != now:
            return f"corpus: {now[0]} has changed since"
    return f"corpus: {len(old):,} files, not {len(new):,}"


def _read_log(folder: Path) -> ResumePoint | None:
    try:
        log = (folder / LOG).read_bytes()
    except OSError:
        return None
    runs: list[str] = []
    resume_point = None
    offset = 0
    lines = log.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        entry = _parse(line)
        if entry is None:
            if number == len(lines):
                break  # the run was interrupted while writing this line
            raise CountsError(
                f"line {number} of {folder / LOG} is corrupt; start over with --no-resume (resume=False)"
            )
        for run in entry["runs"]:
            path = folder / run["name"]
            if not path.is_file() or path.stat().st_size != run["bytes"]:
                raise CountsError(
                    f"{path} is missing or does not have {run['bytes']:,} bytes, as line {number} of the log "
                    "says; start over with --no-resume (resume=False)"
                )
            runs.append(run["name"])
        offset += len(line)
        resume_point = ResumePoint(list(runs), offset, **entry["next"])
    return resume_point


def _parse(line: bytes) -> dict[str, Any] | None:
    if not line.endswith(b"\n"):
        return None
    try:
        entry: dict[str, Any] = json.loads(line)
        ResumePoint([str(run["name"]) for run in entry["runs"]], 0, **entry["next"])
        [int(run["bytes"]) for run in entry["runs"]]
    except (ValueError, KeyError, TypeError):
        return None
    return entry


def _remove_all_but(folder: Path, kept: set[str]) -> None:
    """Remove merganser's files; the log first, so that it never lists a file that is gone."""
    temporary = [*folder.glob("run-*.counts"), *folder.glob(".*.tmp")]
    for file in (folder / MERGES, folder / LOG, folder / ALL, *temporary, folder / JOB):
        if file.name not in kept:
            file.unlink(missing_ok=True)
