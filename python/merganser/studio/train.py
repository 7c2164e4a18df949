"""Train: train a tokenizer on text or files while the page shows its progress; all views can use the result.

After counting, the core appends merges to a log several times a second, and the page shows those that are in
the log. The last merges, or all merges of a short training, come from the finished tokenizer. A reference
tokenizer is measured on the same corpus, counted again if its pattern differs.
"""

import codecs
import tempfile
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.corpus import Source
from merganser.counts import Counts
from merganser.engines import work_folder
from merganser.engines.local import Local
from merganser.errors import CorpusError, MerganserError, SettingsError
from merganser.files import files_below
from merganser.formats import native
from merganser.studio.jobs import Job
from merganser.studio.messages import Body
from merganser.studio.security import Folders
from merganser.studio.state import StudioState, TrainingRecord, state_of
from merganser.tokenizer import Tokenizer
from merganser.training import count, train

LARGEST_VOCABULARY = 1 << 17
#: How many files are suggested.
MAX_SUGGESTED = 400
#: Merges per event, and points of the final curve.
_BATCH, _POINTS = 500, 40
#: The most characters, or bytes of a file, whose split is previewed.
LONGEST_PREVIEW = 2000

Merge = tuple[int, int, int]


class MergeReporter:
    """Emits the merges of a job in order, from the log and then from the tokenizer."""

    def __init__(self, job: Job, log: Path) -> None:
        self.job = job
        self.log = log
        self.tokens = [bytes([byte]) for byte in range(256)]
        self._offset = 0

    def read_log(self) -> None:
        """Emit the merges that were appended to the log since the last call."""
        try:
            with self.log.open("rb") as file:
                file.seek(self._offset)
                text = file.read()
        except FileNotFoundError:
            return
        complete, newline, _ = text.rpartition(b"\n")  # the last line may be incomplete
        lines = complete.split(b"\n")[0 if self._offset else 1 :]  # the first line of the log is a header
        self._offset += len(complete) + len(newline)
        if newline:
            self.emit((int(left), int(right), int(seen)) for left, right, seen, _ in map(bytes.split, lines))

    def finish(self, tokenizer: Tokenizer) -> None:
        """Emit the remaining merges."""
        pairs = {id: pair for pair, id in tokenizer.merges_as_ids.items()}
        counts = tokenizer.merge_counts
        self.emit((*pairs[id], counts[id]) for id in range(len(self.tokens), 256 + len(pairs)))

    def emit(self, merges: Iterable[Merge]) -> None:
        remaining = iter(merges)
        while batch := list(islice(remaining, _BATCH)):
            rows = []
            for left, right, seen in batch:
                one, two = self.tokens[left], self.tokens[right]
                self.tokens.append(one + two)
                rows.append([one.hex(), two.hex(), seen])
            self.job.emit("merges", rows)


def train_job(job: Job, state: StudioState, source: Source, settings: dict[str, Any]) -> dict[str, Any]:
    """Count, train, and add the tokenizer to the studio, as a job."""
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="merganser-studio-") as folder,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        reporter = MergeReporter(job, Path(folder, "work", work_folder.MERGES))

        def progress(stage: str, done: int, total: int) -> None:
            job.check()
            if stage == "merge":
                reporter.read_log()
            seconds = round(time.perf_counter() - started, 2)
            job.progress = {"stage": stage, "done": done, "total": total, "seconds": seconds}

        counts = count(
            source,
            pattern=settings["pattern"],
            special_tokens=settings["special_tokens"],
            progress=progress,
        )
        job.check()
        size, _ = _core.token_totals([], counts._native)
        job.emit(
            "counted",
            {
                "documents": counts.documents,
                "pretokens": counts.total,
                "different": len(counts),
                "bytes": size,
            },
        )
        if reference := settings.get("reference"):
            job.emit("reference", measured(state, reference, source, counts, progress))
        # The log needs a work folder, which is kept until the log has been read.
        Path(folder, "work").mkdir()
        engine = Local(work_dir=Path(folder, "work"), checkpoint_every=0.05, keep_work=True)
        tokenizer = train(counts, settings["vocab_size"], engine=engine, progress=progress)
        reporter.read_log()
        reporter.finish(tokenizer)
        job.check()
        curve = growth(tokenizer, counts)
    name = state.add(settings["name"], tokenizer)
    state.remember(name, TrainingRecord(counts, beginning_of(source)))
    return {
        "name": name,
        "curve": curve,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(reporter.tokens) - 256,
        "seconds": round(time.perf_counter() - started, 3),
        "warnings": [str(warning.message) for warning in warned],
    }


def measured(state: StudioState, name: str, source: Source, counts: Counts, progress: Any) -> dict[str, Any]:
    """Return the bytes per token of a reference tokenizer on the corpus."""
    tokenizer = state.find(name).tokenizer
    pattern = tokenizer.pattern_name or tokenizer.pattern
    try:
        is_same = tokenizer.pattern == counts.pattern
        own = counts if is_same else count(source, pattern=pattern, progress=progress)
        size, [tokens] = _core.token_totals([tokenizer], own._native)
    except MerganserError as error:  # such as a tokenizer whose normalizer changes the pre-tokens
        return {"name": name, "problem": str(error)}
    return {"name": name, "vocab_size": tokenizer.vocab_size, "bytes_per_token": size / max(tokens, 1)}


def growth(tokenizer: Tokenizer, counts: Counts) -> list[tuple[int, float]]:
    """Return the exact bytes per token of the corpus for several vocabulary sizes of one training."""
    special = len(tokenizer.special_tokens)
    merges = tokenizer.vocab_size - 256 - special
    spaced = np.geomspace(1, merges + 1, _POINTS).round().astype(int) - 1 if merges else [0]
    sizes = sorted({256 + int(size) for size in spaced})
    smaller: list[_core.Tokenizer] = [tokenizer.truncated(size + special) for size in sizes]
    total, tokens = _core.token_totals(smaller, counts._native)
    return [(size, total / max(each, 1)) for size, each in zip(sizes, tokens, strict=True)]


def beginning_of(source: Source) -> str:
    """Return the first characters of a corpus, or nothing if it is not plain text."""
    first = next(iter(source), "") if isinstance(source, list) else ""
    if isinstance(first, Path):
        with suppress(OSError, UnicodeDecodeError), first.open("rb") as file:
            # The last character may be cut.
            return codecs.getincrementaldecoder("utf-8")().decode(file.read(LONGEST_PREVIEW))
        return ""
    return first[:LONGEST_PREVIEW] if isinstance(first, str) else ""


def files_in(folders: Folders, name: str) -> list[Path]:
    """Return a file, or all files in a folder. Links that lead out of the folders are rejected."""
    path = folders.find(name)
    if not path.is_dir():
        return [path]
    files = [folders.find(str(file)) for file in sorted(files_below(path))]
    if not files:
        raise SettingsError(f"{name} contains no files; choose another folder")
    return files


async def corpus_of(state: StudioState, body: Body) -> Source:
    """Return the corpus that a request names: {paths}, files and folders; {path}, one; or {text}."""
    paths = body.get("paths", list, [])
    if body.fields.get("path"):
        paths = [body.text("path")]
    if not all(isinstance(path, str) for path in paths):
        raise SettingsError("paths must be strings")
    if paths:
        checked = [Body({"path": path}).text("path") for path in paths]
        found = await state.slow.run(lambda: [files_in(state.folders, path) for path in checked])
        return list(dict.fromkeys(file for files in found for file in files))
    text = body.text()
    if not text:
        raise SettingsError("the text is empty; paste some text or choose a file")
    return [text]


async def start(request: Request) -> Response:
    """Start training.

    Request: {vocab_size, pattern, name, special_tokens, reference, and text, path or paths}; response: {job}.
    """
    body = await Body.of(request)
    state = state_of(request)
    vocab_size = body.get("vocab_size", int)
    if not 256 <= vocab_size <= LARGEST_VOCABULARY:
        raise SettingsError(f"vocab_size must be 256 to {LARGEST_VOCABULARY:,} here, got {vocab_size:,}")
    specials = body.texts("special_tokens")
    settings = {
        "vocab_size": vocab_size,
        "pattern": body.text("pattern", "gpt4"),
        "special_tokens": specials,
        "name": body.text("name", "").strip()[:60] or "my tokenizer",
    }
    reference = body.text("reference", "")
    if reference:
        state.find(reference)
    source = await corpus_of(state, body)
    settings["reference"] = reference
    job = state.jobs.start(lambda job: train_job(job, state, source, settings))
    return JSONResponse({"job": job.id}, 202)


async def events(request: Request) -> Response:
    jobs = state_of(request).jobs
    last = request.headers.get("last-event-id", "")
    received = int(last) if last.isdecimal() and len(last) < 10 else 0
    return jobs.stream(jobs.find(request.query_params.get("job", "")), received)


async def cancel(request: Request) -> Response:
    body = await Body.of(request)
    job = state_of(request).jobs.find(body.get("job", str))
    job.cancel()
    return JSONResponse({"state": job.state})


async def preview(request: Request) -> Response:
    """Return the pre-tokens of the beginning of a corpus.

    Request: {pattern, and text, path or paths}; response: {pretokens, characters} or {problem}.
    """
    body = await Body.of(request)
    pattern = body.text("pattern")
    state = state_of(request)
    source = await corpus_of(state, body)
    text = await state.slow.run(beginning_of, source)
    pool = state.quick if pattern in _core.preset_names() else state.custom
    try:
        if not text:
            raise SettingsError("the beginning of this file is not plain text, so its split is not shown")
        pretokens = await pool.run(_core.split, text, pattern)
    except MerganserError as error:  # the user may still be typing
        return JSONResponse({"problem": str(error)})
    return JSONResponse({"pretokens": pretokens, "characters": len(text)})


async def save(request: Request) -> Response:
    """Save a tokenizer in a folder that the studio may read. Request: {tokenizer, path}; response: {path}.

    Existing files are never replaced.
    """
    body = await Body.of(request)
    state = state_of(request)
    name = body.get("tokenizer", str)
    tokenizer = state.find(name).tokenizer
    path = state.folders.new(body.text("path"))

    def saved() -> None:
        try:
            path.touch(exist_ok=False)
        except FileExistsError:
            raise HTTPException(409, f"{path} exists already; choose another name") from None
        except OSError as error:
            raise HTTPException(400, f"cannot write {path}: {error.strerror}; choose another path") from None
        try:
            tokenizer.save(path)
        except BaseException:
            path.unlink(missing_ok=True)
            raise

    await state.quick.run(saved)
    request.app.state.sources[name] = f"merganser.load({str(path)!r})"
    return JSONResponse({"path": str(path)}, 201)


async def file(request: Request) -> Response:
    """Return a tokenizer as a file in merganser's format."""
    name = request.query_params.get("tokenizer", "")
    tokenizer = state_of(request).find(name).tokenizer

    def saved() -> bytes:
        with tempfile.TemporaryDirectory(prefix="merganser-studio-") as folder:
            tokenizer.save(Path(folder, native.FILE_NAME))
            return Path(folder, native.FILE_NAME).read_bytes()

    headers = {"Content-Disposition": f'attachment; filename="{native.FILE_NAME}"'}
    data = await state_of(request).quick.run(saved)
    return Response(data, media_type="application/octet-stream", headers=headers)


def suggested_files(folders: Folders) -> list[dict[str, Any]]:
    """Return files to choose from, with their sizes in bytes."""
    found: list[dict[str, Any]] = []
    for root in folders.roots:
        with suppress(CorpusError):  # an unreadable folder must not break the view
            for file in files_below(root):
                with suppress(HTTPException, OSError):  # a link out of the folder, or a deleted file
                    found.append({"path": str(file), "bytes": folders.find(str(file)).stat().st_size})
                if len(found) == MAX_SUGGESTED:
                    return found
    return found


async def about(request: Request) -> Response:
    state = state_of(request)
    files = await state.slow.run(suggested_files, state.folders)
    return JSONResponse({"patterns": _core.preset_names(), "files": files, "largest": LARGEST_VOCABULARY})


routes = [
    Route("/about", about),
    Route("/start", start, methods=["POST"]),
    Route("/events", events),
    Route("/preview", preview, methods=["POST"]),
    Route("/save", save, methods=["POST"]),
    Route("/file", file),
    Route("/cancel", cancel, methods=["POST"]),
]
