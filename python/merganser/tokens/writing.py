"""Encoding: a corpus becomes a folder of tokens, and an interrupted run goes on where it was.

`tokens.json` is written first and says what the folder is made of: tokenizer, settings, corpus. Every shard
that is finished says where in the corpus the next one begins. A run that finds a folder made of the same
things goes on there; one that finds a folder made of others refuses. docs/format.md has the rest.
"""

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from merganser import _core
from merganser.corpus import Corpus, Source, resolve
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.skipped import Skipped
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.engines.arguments import check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.engines.token_files import StartPosition, TokenSettings
from merganser.errors import CorpusError, DecodeError, EncodeError, SettingsError, TokensError
from merganser.files import check_folder, make_folder, written_whole
from merganser.tokens.reading import FILE_NAME, VERSION, Tokens, finished_shards, read_facts, shard_files

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from merganser.tokenizer import Tokenizer

Format = Literal["bin", "npy", "llmc", "megatron"]
Dtype = Literal["auto", "uint16", "uint32"]

SHARD_TOKENS = 100_000_000


@dataclass(frozen=True)
class Outcome:
    tokens: Tokens
    #: How many shards were there already.
    found: int
    #: What could not be read, in this run.
    skipped: Skipped


def encode_corpus(
    tokenizer: "Tokenizer",
    source: Source,
    *,
    out: str | os.PathLike[str],
    format: Format = "bin",
    dtype: Dtype = "auto",
    separator: Separator = ...,
    prepend: str | int | None = None,
    append: str | int | None = None,
    allowed_special: Literal["all"] | Collection[str] = (),
    shard_tokens: int = SHARD_TOKENS,
    overwrite: bool = False,
    engine: Local | None = None,
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
        raise SettingsError(f"shard_tokens must be at least 1, not {shard_tokens}")
    check_folder(Path(out), "choose another out=")
    corpus = resolve(source, buffer_size, ReadOptions(**reading))
    if corpus.counts:
        raise CorpusError(f"{corpus.counts[0]} holds counts and no text that could be encoded")
    facts = {
        "merganser_tokens": VERSION,
        "tokenizer": _core.fingerprint(tokenizer),
        "vocab_size": tokenizer.vocab_size,
        **asdict(settings),
        "text_key": corpus.reading.text_key,
        "corpus": _corpus_facts(corpus),
    }
    folder = Path(out)
    is_new = not folder.exists()
    make_folder(folder)

    found, begun = 0, False

    def begin() -> StartPosition | None:
        """Called when nobody else writes to the folder."""
        nonlocal found, begun
        if overwrite:
            _empty(folder)
        # Before `tokens.json` is written: an interrupt right after it must not leave it behind.
        begun = not (folder / FILE_NAME).exists()
        start = _begin(folder, facts)
        found, begun = len(finished_shards(folder)), True
        return start

    try:
        engine = engine or Local()
        engine.encode(corpus, tokenizer, settings, folder, begin, progress)
    except BaseException:
        if begun:
            _forget(folder)
        if is_new:
            with suppress(OSError):  # as it does where a shard is in it
                folder.rmdir()
        raise
    shards = finished_shards(folder)
    if found < len(shards) or not read_facts(folder)["complete"]:
        totals = {
            "shards": len(shards),
            "tokens": sum(shard.tokens for shard in shards),
            "documents": sum(shard.documents or 0 for shard in shards),
            "bytes": sum(shard.bytes or 0 for shard in shards),
            "invalid_bytes": sum(shard.invalid_bytes or 0 for shard in shards),
        }
        _write_facts(folder, {**facts, "complete": True, **totals})
    skipped = corpus.skips.skipped
    skipped.warn()
    return Outcome(Tokens.open(folder), found, skipped)


def _empty(folder: Path) -> None:
    """Removes all tokens: backwards, and `tokens.json` last, so that an interrupted folder can be read."""
    for file in shard_files(folder):
        file.unlink(missing_ok=True)
    (folder / FILE_NAME).unlink(missing_ok=True)


def _begin(folder: Path, facts: dict[str, Any]) -> StartPosition | None:
    """Where to resume; None where all is done."""
    if not (folder / FILE_NAME).exists():
        if any(not file.name.startswith(".") for file in shard_files(folder)):
            raise TokensError(
                f"{folder} has shards but no {FILE_NAME}, so nothing is known about them; "
                "choose another out=, or start afresh with overwrite=True"
            )
        _write_facts(folder, {**facts, "complete": False})
        return StartPosition()
    there = read_facts(folder)
    for name, value in facts.items():
        if there.get(name) != value:
            raise TokensError(
                f"{folder} was made with another {name}{_shown(there.get(name), value)}; "
                "choose another out=, or start afresh with overwrite=True"
            )
    if there["complete"]:
        Tokens.open(folder)
        return None
    shards = finished_shards(folder)
    return StartPosition(len(shards), **shards[-1].next) if shards else StartPosition()


def _shown(there: object, here: object) -> str:
    """The difference, where a line has room for it."""
    if isinstance(there, dict) and isinstance(here, dict):
        there, here = ({k: v for k, v in facts.items() if k != "sha256"} for facts in (there, here))
        if there == here:
            return ": a file has changed, or its name or time"
    text = f": {json.dumps(there)}, not {json.dumps(here)}"
    return text if len(text) < 200 else ""


def _forget(folder: Path) -> None:
    """Takes `tokens.json` away again where no shard came of it; a shard that is being flushed counts."""
    with suppress(OSError):
        if not shard_files(folder):
            (folder / FILE_NAME).unlink()


def _write_facts(folder: Path, facts: dict[str, Any]) -> None:
    with written_whole(folder / FILE_NAME) as file:
        file.write(json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n")


def _corpus_facts(corpus: Corpus) -> dict[str, Any]:
    """What tells this corpus from another, as far as it can be known before reading it."""
    digest = hashlib.sha256()
    total = 0
    for file in corpus.files:
        try:
            status = file.stat()
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}") from error
        total += status.st_size
        name = os.fsencode(os.path.abspath(file))  # noqa: PTH100  # a link stays the link that was named
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


def _id(tokenizer: "Tokenizer", token: str | int | None, what: str) -> int | None:
    if isinstance(token, str):
        id = tokenizer.special_tokens.get(token)
        if id is None:
            known = ", ".join(tokenizer.special_tokens) or "none"
            raise EncodeError(f"{what} names {token!r}, but the special tokens are: {known}")
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
            raise EncodeError(f'name special tokens in a collection, [{allowed!r}], or say "all"')
        return sorted(tokenizer.special_tokens)
    names = sorted(set(allowed))
    tokenizer.encode("", allowed_special=names)  # refuses names that are no special tokens
    return names
