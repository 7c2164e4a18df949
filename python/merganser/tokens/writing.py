"""Encode a corpus to a folder of token files, and resume an interrupted run.

`tokens.json` is written first and identifies the tokenizer, the settings and the corpus. Every finished shard
records where in the corpus the next one begins. A run resumes in a folder with the same `tokens.json` and
rejects any other. See docs/format.md.
"""

import hashlib
import json
import os
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from merganser import _core
from merganser.corpus import Corpus, Source, resolve
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.engines.arguments import check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.engines.ray import Ray
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import (
    CorpusError,
    DecodeError,
    EncodeError,
    MerganserError,
    SettingsError,
    TokensError,
)
from merganser.tokens.folders import TokenFolder, folder_at
from merganser.tokens.reading import Tokens
from merganser.tokens.shards import FILE_NAME, VERSION

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from merganser.tokenizer import Tokenizer

Format = Literal["bin", "npy", "llmc", "megatron"]
Dtype = Literal["auto", "uint16", "uint32"]

SHARD_TOKENS = 100_000_000


@dataclass(frozen=True)
class Outcome:
    """The token files, and what happened in this run."""

    tokens: Tokens
    #: The number of shards that an earlier run had finished.
    found: int
    #: Unreadable input that this run skipped.
    skipped: Skipped


def encode_corpus(
    tokenizer: "Tokenizer",
    source: Source,
    *,
    out: str | os.PathLike[str],
    format: Format = "bin",
    dtype: Dtype = "auto",
    separator: Separator = ...,
    prepend: str | int | Sequence[str | int] | None = None,
    append: str | int | Sequence[str | int] | None = None,
    allowed_special: Literal["all"] | Collection[str] = (),
    shard_tokens: int = SHARD_TOKENS,
    overwrite: bool = False,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    buffer_size: int = 8192,
    **reading: "Unpack[ReadKeywords]",
) -> Outcome:
    """See `Tokenizer.encode_corpus`."""
    check_names(encode_corpus, reading)
    settings = TokenSettings(
        format=format,
        dtype=("uint16" if tokenizer.next_id <= 1 << 16 else "uint32") if dtype == "auto" else dtype,
        separator=SplitSettings().replaced_by(None, None, separator).separator,
        prepend=_id(tokenizer, prepend, "prepend"),
        append=_id(tokenizer, append, "append"),
        allowed_special=_allowed(tokenizer, allowed_special),
        shard_tokens=shard_tokens,
    )
    if shard_tokens < 1:
        raise SettingsError(f"shard_tokens must be at least 1, got {shard_tokens}")
    folder = folder_at(out)
    folder.check()
    corpus = resolve(source, buffer_size, ReadOptions(**reading))
    if corpus.counts:
        raise CorpusError(f"{corpus.counts[0]} contains counts, not text; pass the text itself")
    facts = {
        "merganser_tokens": VERSION,
        "tokenizer": _core.fingerprint(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        **asdict(settings),
        "text_key": corpus.reading.text_key,
        "corpus": _corpus_facts(corpus),
    }
    folder.create()
    found, begun = 0, False

    def begin() -> StartPosition | None:
        """Return where to start; called while the folder is locked."""
        nonlocal found, begun
        for name in folder.files():
            # Hidden files were left by a run that was killed: the folder is locked.
            if overwrite or name.startswith("."):
                folder.remove(name)
        if overwrite:
            folder.remove(FILE_NAME)
        # Set before `tokens.json` is written, so that an interrupt right after it removes it.
        begun = not folder.is_begun()
        start = _begin(folder, facts)
        if start is not None and corpus.parts is not None and start.part > corpus.parts:
            raise TokensError(
                f"the last shard of {folder.address} ends after part {start.part:,} of the corpus, which has "
                f"only {corpus.parts:,}; pass the same corpus, or start over with overwrite=True"
            )
        found, begun = start.shard if start else len(folder.finished()), True
        return start

    try:
        engine = engine or Local()
        engine.encode(corpus, tokenizer, settings, folder.address, begin, progress, resume=not overwrite)
    except BaseException:
        if begun:
            _forget(folder)
        folder.discard_new()
        raise
    shards = folder.finished()
    if found < len(shards) or not folder.read_facts()["complete"]:
        totals = {
            "shards": len(shards),
            "tokens": sum(shard.tokens for shard in shards),
            "documents": sum(shard.documents or 0 for shard in shards),
            "bytes": sum(shard.bytes or 0 for shard in shards),
            "invalid_bytes": sum(shard.invalid_bytes or 0 for shard in shards),
        }
        folder.write_facts({**facts, "complete": True, **totals})
    skipped = corpus.skips.skipped
    skipped.warn()
    return Outcome(Tokens.open(folder.address), found, skipped)


def _begin(folder: TokenFolder, facts: dict[str, Any]) -> StartPosition | None:
    """Return where to start or resume; None if the run is complete."""
    if not folder.is_begun():
        if any(not name.startswith(".") for name in folder.files()):
            raise TokensError(
                f"{folder.address} contains shards but no {FILE_NAME}, so they cannot be resumed; "
                "choose another out=, or start over with overwrite=True"
            )
        folder.write_facts({**facts, "complete": False})
        return StartPosition()
    old_facts = folder.read_facts()
    for name, value in facts.items():
        if name != "merganser_tokens" and old_facts.get(name) != value:
            raise TokensError(
                f"{folder.address} was written with a different {name}"
                f"{_difference(old_facts.get(name), value)}; "
                "choose another out=, or start over with overwrite=True"
            )
    if old_facts["complete"]:
        Tokens.open(folder.address)
        return None
    shards = folder.finished()
    return StartPosition(len(shards), **shards[-1].next) if shards else StartPosition()


def _difference(old: object, new: object) -> str:
    """Describe the difference, if it is short."""
    if isinstance(old, dict) and isinstance(new, dict):
        old, new = ({k: v for k, v in facts.items() if k != "sha256"} for facts in (old, new))
        if old == new:
            return ": a file was modified or renamed"
    text = f": {json.dumps(old)}, not {json.dumps(new)}"
    return text if len(text) < 200 else ""


def _forget(folder: TokenFolder) -> None:
    """Remove `tokens.json` if there are no shards, finished or being written."""
    with suppress(OSError, MerganserError):
        if not folder.files():
            folder.remove(FILE_NAME)


def _corpus_facts(corpus: Corpus) -> dict[str, Any]:
    """Return facts that identify a corpus without reading it."""
    digest = hashlib.sha256()
    total = 0
    for file in corpus.files:
        try:
            status = file.stat()
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}") from error
        total += status.st_size
        name = os.fsencode(os.path.abspath(file))  # noqa: PTH100  # keeps links, unlike resolve()
        digest.update(b"%d %s %d %d\n" % (len(name), name, status.st_size, status.st_mtime_ns))
    for origin in corpus.origins:
        digest.update(b"%d %s\n" % (len(origin.encode()), origin.encode()))
    return {
        "files": len(corpus.files),
        "bytes": total,
        "stdin": corpus.stdin,
        "streams": len(corpus.streams),
        "documents": corpus.documents is not None,
        "sha256": digest.hexdigest(),
    }


def _id(tokenizer: "Tokenizer", token: str | int | Sequence[str | int] | None, what: str) -> int | None:
    if isinstance(token, Sequence) and not isinstance(token, str):
        if len(token) > 1:
            raise SettingsError(f"token files take one token to {what}, got {len(token)}; pass one of them")
        token = token[0] if token else None
    if isinstance(token, str):
        id = tokenizer.special_tokens.get(token)
        if id is None:
            known = ", ".join(tokenizer.special_tokens) or "none"
            raise EncodeError(
                f"{what} names {token!r}, which is not a special token; the special tokens are: {known}"
            )
        return id
    if token is not None:
        try:
            tokenizer.decode_bytes([token])
        except DecodeError as error:
            raise EncodeError(f"{what} is {token}, but {error}") from None
    return token


def _allowed(tokenizer: "Tokenizer", allowed: Literal["all"] | Collection[str]) -> list[str]:
    if isinstance(allowed, str):
        if allowed != "all":
            raise EncodeError(
                f'allowed_special must be "all" or a collection, got the str {allowed!r}; write [{allowed!r}]'
            )
        return sorted(tokenizer.special_tokens)
    names = sorted(set(allowed))
    tokenizer.encode("", allowed_special=names)  # rejects names that are not special tokens
    return names
