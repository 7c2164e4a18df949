"""Tokenizers: add one to the studio by upload or by name, and download one.

An upload is the files of one tokenizer, after a JSON header with their names and sizes. They are written to a
temporary folder, read with `merganser.load`, which executes nothing, and removed. The page sends only the
start of a GGUF file. A name is one of tiktoken's or of the Hugging Face hub, never a path; a path must be in
a folder that the studio may read, or a file that nearby.py lists. Reading 30 MB takes about three seconds, in
the pool for slow work.
"""

import json
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.errors import MerganserError
from merganser.formats import BadFile, names
from merganser.formats import tiktoken as rank_files
from merganser.formats.loading import load
from merganser.formats.overrides import HasPattern, NeedsPattern
from merganser.formats.reading import read
from merganser.studio.known import completed, recognized, suggested_pattern
from merganser.studio.messages import Body
from merganser.studio.nearby import listed, title
from merganser.studio.state import StudioState, state_of
from merganser.tokenizer import Tokenizer

#: Tokenizers in one studio, and files in one upload.
MOST, MOST_FILES = 24, 32
#: Characters of the name of a tokenizer.
LONGEST_NAME = 60

_FILE_NAME = re.compile(r"[^/\\\0]{1,200}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class Upload:
    """The files of an upload, by name, and the answers of the user."""

    def __init__(self, body: bytes) -> None:
        size = int.from_bytes(body[:4], "little")
        try:
            header = Body(json.loads(body[4 : 4 + size]))
            listed = header.get("files", list)
            sizes = [(Body(file).get("name", str), Body(file).get("size", int)) for file in listed]
        except (ValueError, RecursionError, AttributeError):
            raise HTTPException(400, "the header of the upload is not valid JSON; reload the page") from None
        self.name = header.get("name", str, "")
        self.pattern = header.get("pattern", str, "") or None
        self.files: dict[str, bytes] = {}
        at = 4 + size
        if not 1 <= len(sizes) <= MOST_FILES:
            raise HTTPException(400, f"an upload has 1 to {MOST_FILES} files, got {len(sizes)}")
        for name, length in sizes:
            if not _FILE_NAME.fullmatch(name) or name in (".", "..") or name in self.files:
                raise HTTPException(400, f"{name!r} cannot be the name of an uploaded file; rename it")
            if not 0 <= length <= len(body) - at:
                raise HTTPException(400, f"the upload of {name} is incomplete; try again")
            self.files[name] = body[at : at + length]
            at += length


def _loaded(upload: Upload) -> Tokenizer:
    """Load the tokenizer of an upload. Errors name the uploaded files, not where they are for a moment."""
    with tempfile.TemporaryDirectory(prefix="merganser-upload-") as folder:
        for name, data in upload.files.items():
            try:
                (Path(folder) / name).write_bytes(data)
            except OSError as error:
                raise HTTPException(400, f"cannot store {name}: {error.strerror}; rename it") from None
        source = Path(folder) / next(iter(upload.files)) if len(upload.files) == 1 else Path(folder)
        try:
            try:
                return _completed(source, upload.pattern, upload.files.values())
            except NeedsPattern:
                raise
            except MerganserError as error:
                message = str(error).replace(f"the folder {folder}", "the upload")
                raise HTTPException(400, message.replace(f"{folder}/", "")) from None
        except UnicodeEncodeError:
            raise HTTPException(400, "the pattern contains a lone surrogate; remove it") from None


def _rank_tables(contents: Iterable[bytes]) -> Iterator[dict[bytes, int]]:
    """Return the vocabularies of the rank files among these contents."""
    for data in contents:
        if rank_files.looks_like_ranks(data):
            with suppress(BadFile):
                yield rank_files.parse(data)


def _completed(source: Path, pattern: str | None, contents: Iterable[bytes]) -> Tokenizer:
    """Load a file; a known vocabulary comes with its pattern and its special tokens."""
    try:
        return completed(load(source, pattern=pattern))
    except HasPattern:
        return load(source)
    except NeedsPattern:
        known = next(filter(None, map(recognized, _rank_tables(contents))), None)
        if known is None:
            raise
        return completed(load(source, pattern=known.pattern))


def _question(contents: Iterable[bytes]) -> dict[str, Any]:
    """Return what the page asks the user for: the pattern, with a suggestion."""
    pattern, reason = "gpt2", "Most files of this kind have the pattern of GPT-2."
    for ranks in _rank_tables(contents):
        pattern, reason = suggested_pattern(ranks)
    return {"needs": "pattern", "patterns": _core.preset_names(), "suggested": pattern, "reason": reason}


def _title(upload: Upload) -> str:
    """Return the name of an upload: the given one, else the name of its first file without its ending."""
    first = next(iter(upload.files)) if len(upload.files) == 1 else "upload"
    title = upload.name or first.split(".")[0] or first
    return _CONTROL.sub("", title)[:LONGEST_NAME] or "upload"


def _check_room(state: StudioState) -> None:
    if len(state.entries) >= MOST:
        raise HTTPException(400, f"the studio holds {MOST} tokenizers; restart it to add others")


async def add(request: Request) -> Response:
    """Add an uploaded tokenizer; respond with its name, or with a question."""
    state = state_of(request)
    _check_room(state)
    if state.is_uploading:  # each may fill 160 MiB
        raise HTTPException(503, "another upload is running; try again", headers={"Retry-After": "1"})
    state.is_uploading = True
    try:
        return JSONResponse(await _added(state, await request.body()))
    finally:
        state.is_uploading = False


async def _added(state: StudioState, body: bytes) -> dict[str, Any]:
    def added() -> dict[str, Any]:
        upload = Upload(body)
        try:
            tokenizer = _loaded(upload)
        except NeedsPattern:
            return _question(upload.files.values())
        return {"name": state.add(_title(upload), tokenizer)}

    return await state.slow.run(added)


async def name(request: Request) -> Response:
    """Add a tokenizer by its name in tiktoken or on the hub, or by its path in a folder that may be read."""
    state = state_of(request)
    wanted = (await Body.of(request)).text("name").strip()
    library, rest = names.split_prefix(wanted)
    _check_room(state)

    def added() -> tuple[str, bool]:
        known = library != "transformers" and names.is_name(wanted)
        if known and library == "hf":
            known = names.is_repository(rest)
        # Not `load(wanted)`: a file with such a name in the working folder would be read instead.
        found = names.resolve(wanted, None) if known else state.folders.find(wanted)
        tokenizer = completed(load(found))
        called = rest if known else Path(rest).name
        return _found_or_added(state, called, tokenizer), known

    try:
        result, is_name = await state.slow.run(added)
    except NeedsPattern:
        raise HTTPException(400, f"{wanted} has no split pattern; upload it, and choose one") from None
    except ImportError as error:
        raise HTTPException(400, str(error)) from None
    if is_name:
        request.app.state.sources.setdefault(result, f"merganser.load({wanted!r})")
    return JSONResponse({"name": result})


async def nearby(request: Request) -> Response:
    """Add a file that `known` has listed; respond with its name, or with a question."""
    state = state_of(request)
    body = await Body.of(request)
    wanted, pattern = body.text("file"), body.text("pattern", "") or None
    _check_room(state)

    def added() -> dict[str, Any]:
        path = state.nearby.find(wanted)
        contents = [read(path)] if path.suffix == ".tiktoken" else []
        try:
            tokenizer = _completed(path, pattern, contents)
        except NeedsPattern:
            return _question(contents)
        return {"name": _found_or_added(state, title(path), tokenizer)}

    result = await state.slow.run(added)
    if "name" in result and not wanted.endswith(".tiktoken"):  # whose pattern is not in the file
        request.app.state.sources.setdefault(result["name"], f"merganser.load({wanted!r})")
    return JSONResponse(result)


def _found_or_added(state: StudioState, called: str, tokenizer: Tokenizer) -> str:
    """Return the name of a tokenizer: if an equal one is loaded, choosing it twice must not add another."""
    for loaded, entry in tuple(state.entries.items()):
        if entry.tokenizer == tokenizer:
            return loaded
    return state.add(_CONTROL.sub("", called)[:LONGEST_NAME], tokenizer)


async def known(request: Request) -> Response:
    """Return the tokenizers that can be chosen from a list."""
    state = state_of(request)
    return JSONResponse(await state.slow.run(listed, state.nearby))


async def file(request: Request) -> Response:
    """Return a tokenizer as the file that `Tokenizer.save` writes."""
    entry = state_of(request).find(request.query_params.get("tokenizer", ""))

    def contents() -> bytes:
        with tempfile.TemporaryDirectory(prefix="merganser-download-") as folder:
            path = Path(folder) / "tokenizer.merganser"
            entry.tokenizer.save(path)
            return path.read_bytes()

    data = await state_of(request).slow.run(contents)
    return Response(data, media_type="application/octet-stream")


routes = [
    Route("/known", known),
    Route("/nearby", nearby, methods=["POST"]),
    Route("/add", add, methods=["POST"]),
    Route("/name", name, methods=["POST"]),
    Route("/file", file),
]
