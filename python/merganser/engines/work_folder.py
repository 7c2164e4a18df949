"""The work folder, in which counting and training store checkpoints.

| file | contents |
|---|---|
| `job.json` | the job: the settings, and the files with their sizes and modification times |
| `log.jsonl` | one line per checkpoint or full memory budget: the runs written, and where to resume |
| `run-00000.counts` | the counts of one thread since its previous run |
| `all.counts` | the sum of the runs, once everything is counted |
| `merges.log` | the merges learned so far (`crates/core/src/train/checkpoint.rs`) |

Every line of the log ends with the CRC-32 of the log up to there, so a changed, missing or repeated line is
found. Version 1 had no checksums; such folders are still resumed.

The core creates the folder (`crates/core/src/count/spill.rs`) with the first checkpoint, so short jobs leave
none. A folder of the same job is resumed; a folder of another job is rejected. Text from an iterable or from
standard input cannot be recognized again, so such jobs always start over.
"""

import json
import os
import re
import shutil
import zlib
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from merganser.corpus import Corpus
from merganser.corpus.split_settings import SplitSettings
from merganser.errors import CorpusError, CountsError
from merganser.files import read_bytes, stored_size

VERSION = 2
JOB, LOG, ALL, MERGES = "job.json", "log.jsonl", "all.counts", "merges.log"

_RUN = re.compile(r"run-[0-9]{5,}\.counts")
_SEAL = re.compile(rb'(.*), "log_crc32": "([0-9a-f]{8})"}\n', re.DOTALL)
_START_OVER = "start over with --no-resume (resume=False)"


@dataclass(frozen=True)
class ResumePoint:
    """The runs that the log lists, and where in the corpus to resume."""

    runs: list[str]
    log_len: int
    log_crc32: int
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


def find(folder: Path, job: dict[str, Any], resume: bool, parts: int | None) -> ResumePoint | None:
    """Return where to resume; if there is nothing to resume, or `resume` is False, empty the folder.

    parts: the number of inputs of the corpus, if it is known.
    The caller must hold the lock of the folder.
    """
    old_job = _read_job(folder)
    is_ours = (folder / JOB).exists()
    if old_job is None and not (is_ours and not resume) and any((folder / n).exists() for n in (LOG, ALL)):
        # Without the file, the counts may belong to the user: they are never removed.
        remedy = _START_OVER if is_ours else f"delete {LOG} and {ALL}"
        raise CountsError(
            f"{folder} contains counts but no valid {JOB}, so they cannot be resumed; "
            f"choose another --work-dir (work_dir), or {remedy}"
        )
    if old_job is not None and resume and job["files"] is not None:
        if what := difference(old_job, job):
            raise CountsError(
                f"{folder} belongs to a different job ({what}); "
                f"choose another --work-dir (work_dir), or {_START_OVER}"
            )
        resume_point = _read_log(folder, old_job["merganser_work"], parts)
        kept = {MERGES}
        if (folder / ALL).exists():
            kept |= {JOB, ALL}
        if resume_point:
            kept |= {JOB, LOG, *resume_point.runs}
        _remove_all_but(folder, kept)
        return resume_point
    if is_ours:
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
    data = _read(folder / JOB)
    try:
        job = json.loads(data) if data is not None else None
    except (ValueError, RecursionError):
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
        if name == "merganser_work" and old == 1 and value == 2:
            continue
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


def _read(file: Path) -> bytes | None:
    """Return the contents of a file, or None if it does not exist."""
    try:
        return read_bytes(file)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise CountsError(
            f"cannot read {file}: {error.strerror}; fix this and run it again to resume, or {_START_OVER}"
        ) from error


def _read_log(folder: Path, version: int, parts: int | None) -> ResumePoint | None:
    """Return the state that the last valid line of the log records."""
    log = _read(folder / LOG)
    if log is None:
        return None
    runs: list[str] = []
    resume_point = None
    offset, checksum = 0, 0
    is_sealed = version != 1
    lines = log.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        seal = _SEAL.fullmatch(line)
        is_sealed = is_sealed or seal is not None  # an older folder that was resumed
        entry = _parse(line, parts)
        if is_sealed and (seal is None or zlib.crc32(seal[1], checksum) != int(seal[2], 16)):
            entry = None
        if entry is None:
            if number == len(lines):
                break  # the run was interrupted while writing this line
            raise CountsError(f"line {number} of {folder / LOG} is corrupt; {_START_OVER}")
        for run in entry["runs"]:
            path = folder / run["name"]
            if stored_size(path) != run["bytes"] or run["name"] in runs:
                raise CountsError(
                    f"{path} is missing or does not have {run['bytes']:,} bytes, as line {number} of the log "
                    f"says; {_START_OVER}"
                )
            runs.append(run["name"])
        offset += len(line)
        checksum = zlib.crc32(line, checksum)
        resume_point = ResumePoint(list(runs), offset, checksum, **entry["next"])
    return resume_point


def _parse(line: bytes, parts: int | None) -> dict[str, Any] | None:
    """Return a line of the log if it is whole and its values are in range."""
    if not line.endswith(b"\n"):
        return None
    try:
        entry: dict[str, Any] = json.loads(line)
        names = [run["name"] for run in entry["runs"]]
        sizes = [run["bytes"] for run in entry["runs"]]
        position = {**entry["next"]}
        inside = position.pop("in_document")
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    is_valid = (
        all(isinstance(name, str) and _RUN.fullmatch(name) for name in names)
        and position.keys() == {"part", "offset", "within"}
        and all(type(n) is int and 0 <= n < 1 << 64 for n in (*sizes, *position.values()))
        and type(inside) is bool
        and (parts is None or position["part"] <= parts)
    )
    return entry if is_valid else None


def _remove_all_but(folder: Path, kept: set[str]) -> None:
    """Remove merganser's files; the log first, so that it never lists a file that is gone."""
    temporary = [*folder.glob("run-*.counts"), *folder.glob(".*.tmp")]
    for file in (folder / MERGES, folder / LOG, folder / ALL, *temporary, folder / JOB):
        if file.name not in kept:
            file.unlink(missing_ok=True)
