"""Train: a text or files become a tokenizer, while the page watches; every view knows it at once.

Counting comes first. Then the core writes the merges to a log as it learns them, several times a second, and
they are told from there: what the page shows was learned by then, and never more. The last ones, and all of a
training that is over sooner, come from the tokenizer.
"""

import tempfile
import time
import warnings
from collections.abc import Iterable
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.corpus import Source
from merganser.engines import work_folder
from merganser.engines.local import Local
from merganser.errors import CorpusError, SettingsError
from merganser.files import files_below
from merganser.formats import native
from merganser.studio.desk import Desk, desk
from merganser.studio.jobs import Job
from merganser.studio.messages import Body
from merganser.studio.security import Folders
from merganser.tokenizer import Tokenizer
from merganser.training import count, train

LARGEST_VOCABULARY = 1 << 17
#: Files that are offered to choose from.
OFFERED = 400
#: Merges in one event.
_BATCH = 500

Merge = tuple[int, int, int]


class Learned:
    """The merges of a job, told in order as the log and the tokenizer give them."""

    def __init__(self, job: Job, log: Path) -> None:
        self.job = job
        self.log = log
        self.tokens = [bytes([byte]) for byte in range(256)]
        self._read = 0

    def look(self) -> None:
        """Tells what has been added to the log since."""
        try:
            with self.log.open("rb") as file:
                file.seek(self._read)
                text = file.read()
        except FileNotFoundError:
            return
        whole, newline, _ = text.rpartition(b"\n")  # the last line may be written half
        lines = whole.split(b"\n")[0 if self._read else 1 :]  # the first of all says whose log it is
        self._read += len(whole) + len(newline)
        if newline:
            self.tell((int(left), int(right), int(seen)) for left, right, seen, _ in map(bytes.split, lines))

    def finish(self, tokenizer: Tokenizer) -> None:
        """Tells those that are not told yet."""
        made = {id: pair for pair, id in tokenizer.merges_as_ids.items()}
        counts = tokenizer.merge_counts
        self.tell((*made[id], counts[id]) for id in range(len(self.tokens), 256 + len(made)))

    def tell(self, merges: Iterable[Merge]) -> None:
        following = iter(merges)
        while batch := list(islice(following, _BATCH)):
            told = []
            for left, right, seen in batch:
                one, two = self.tokens[left], self.tokens[right]
                self.tokens.append(one + two)
                told.append([one.hex(), two.hex(), seen])
            self.job.tell("merges", told)


def learn(job: Job, shared: Desk, source: Source, asked: dict[str, Any]) -> dict[str, Any]:
    """The work of a job: counts, trains, and makes the result known."""
    started = time.perf_counter()
    with (
        tempfile.TemporaryDirectory(prefix="merganser-studio-") as folder,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        learned = Learned(job, Path(folder, "work", work_folder.MERGES))
        stage_began, now = started, ""

        def progress(stage: str, done: int, total: int) -> None:
            nonlocal stage_began, now
            job.check()
            if stage != now:
                stage_began, now = time.perf_counter(), stage
            if stage == "merge":
                learned.look()
            seconds = round(time.perf_counter() - started, 2)
            job.progress = {"stage": stage, "done": done, "total": total, "seconds": seconds}

        settings = {"pattern": asked["pattern"], "special_tokens": asked["special_tokens"]}
        counts = count(source, **settings, progress=progress)
        job.check()
        job.tell(
            "counted",
            {"documents": counts.documents, "pretokens": counts.total, "different": len(counts)},
        )
        # A log needs a folder that is its own, and is kept here until it was read.
        Path(folder, "work").mkdir()
        engine = Local(work_dir=Path(folder, "work"), checkpoint_every=0.05, keep_work=True)
        tokenizer = train(counts, asked["vocab_size"], engine=engine, progress=progress)
        learned.look()
        learned.finish(tokenizer)
        job.check()
    name = shared.add(asked["name"], tokenizer)
    return {
        "name": name,
        "vocab_size": tokenizer.vocab_size,
        "merges": len(learned.tokens) - 256,
        "seconds": round(time.perf_counter() - started, 3),
        "warnings": [str(warning.message) for warning in warned],
    }


def inside(folders: Folders, name: str) -> list[Path]:
    """The file, or the files of the folder, of that name; links that lead out of the folders are refused."""
    path = folders.find(name)
    if not path.is_dir():
        return [path]
    files = [folders.find(str(file)) for file in sorted(files_below(path))]
    if not files:
        raise SettingsError(f"there are no files in {name}")
    return files


async def start(request: Request) -> Response:
    """{vocab_size, pattern, name, special_tokens} and either {text} or {path}; the answer names the job."""
    body = await Body.of(request)
    shared = desk(request)
    vocab_size = body.get("vocab_size", int)
    if not 256 <= vocab_size <= LARGEST_VOCABULARY:
        raise SettingsError(f"a vocabulary has 256 to {LARGEST_VOCABULARY:,} tokens here, not {vocab_size:,}")
    specials = body.get("special_tokens", list, [])
    if not all(isinstance(token, str) for token in specials):
        raise SettingsError("special tokens are texts")
    asked = {
        "vocab_size": vocab_size,
        "pattern": body.text("pattern", "gpt4"),
        "special_tokens": specials,
        "name": body.text("name", "").strip()[:60] or "trained here",
    }
    source: Source
    if body.fields.get("path"):
        source = await shared.work.run(inside, shared.folders, body.text("path"))
    else:
        text = body.text()
        if not text:
            raise SettingsError("there is no text to learn from; paste some, or name a file")
        source = [text]
    job = shared.jobs.start(lambda job: learn(job, shared, source, asked))
    return JSONResponse({"job": job.id}, 202)


async def events(request: Request) -> Response:
    jobs = desk(request).jobs
    heard = request.headers.get("last-event-id", "")
    number = int(heard) if heard.isdecimal() and len(heard) < 10 else 0
    return jobs.listen(jobs.find(request.query_params.get("job", "")), number)


async def cancel(request: Request) -> Response:
    body = await Body.of(request)
    job = desk(request).jobs.find(body.get("job", str))
    job.cancel()
    return JSONResponse({"state": job.state})


async def file(request: Request) -> Response:
    """A tokenizer as a file of our own format, to keep it."""
    name = request.query_params.get("tokenizer", "")
    tokenizer = desk(request).find(name).tokenizer

    def saved() -> bytes:
        with tempfile.TemporaryDirectory(prefix="merganser-studio-") as folder:
            tokenizer.save(Path(folder, native.FILE_NAME))
            return Path(folder, native.FILE_NAME).read_bytes()

    headers = {"Content-Disposition": f'attachment; filename="{native.FILE_NAME}"'}
    data = await desk(request).work.run(saved)
    return Response(data, media_type="application/octet-stream", headers=headers)


def offered(folders: Folders) -> list[dict[str, Any]]:
    """Files to choose from: path, and size in bytes."""
    found: list[dict[str, Any]] = []
    for root in folders.roots:
        with suppress(CorpusError):  # a folder that cannot be read ends the list, not the view
            for file in files_below(root):
                with suppress(HTTPException, OSError):  # a link that leads out, or a file that is gone by now
                    found.append({"path": str(file), "bytes": folders.find(str(file)).stat().st_size})
                if len(found) == OFFERED:
                    return found
    return found


async def about(request: Request) -> Response:
    shared = desk(request)
    files = await shared.work.run(offered, shared.folders)
    return JSONResponse({"patterns": _core.preset_names(), "files": files, "largest": LARGEST_VOCABULARY})


routes = [
    Route("/about", about),
    Route("/start", start, methods=["POST"]),
    Route("/events", events),
    Route("/file", file),
    Route("/cancel", cancel, methods=["POST"]),
]
