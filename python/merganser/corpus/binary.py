"""Detect binary files before the work starts.

A file is binary if its first 64 KB, after decompression, contain a NUL byte, are UTF-16 or UTF-32, or are
more than 30% invalid UTF-8 (`crates/core/src/corpus/binary.rs`). A binary file is rejected when named
explicitly, and skipped with a warning when a folder or glob includes it, unless `ReadOptions.allow_binary` is
set.

Streams (URLs and standard input) are checked when their first block arrives.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

from merganser import _core
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import RemoteFile
from merganser.corpus.skipped import Skips
from merganser.errors import CorpusError, MerganserWarning

#: The number of bytes that are checked.
_BEGINNING = 1 << 16
#: The number of skipped files that a warning names.
_NAMED = 3
_ALLOW = "pass allow_binary=True (--allow-binary) to read it anyway"


def is_skipped_binary(file: Path, reading: ReadOptions) -> bool:
    """Raise if a file is binary; with `on_error="skip"`, warn and return True instead."""
    reason = None if reading.allow_binary else _core.judge_file(file, reading._native())
    if reason is None:
        return False
    if reading.on_error != "skip":
        raise CorpusError(_message(str(file), reason))
    warnings.warn(f"skipped {file}, a binary file ({reason})", MerganserWarning, stacklevel=2)
    return True


def without_binary(files: list[Path], found: str, reading: ReadOptions) -> list[Path]:
    """Return the text files; `found` says where they were found ("below texts") in the warning."""
    if reading.allow_binary:
        return files
    native = reading._native()
    kept: list[Path] = []
    binary: list[str] = []
    for file in files:
        reason = _core.judge_file(file, native)
        if reason is None:
            kept.append(file)
        else:
            binary.append(file.name if reason.startswith("NUL") else f"{file.name} ({reason})")
    if not binary:
        return files
    listed = ", ".join(binary[:_NAMED]) + (", …" if len(binary) > _NAMED else "")
    if not kept:
        what = "the only file" if len(files) == 1 else f"all {len(files):,} files"
        verb, them = ("is", "it") if len(files) == 1 else ("are", "them")
        raise CorpusError(
            f"{what} {found} {verb} binary, not text ({listed}); {_ALLOW.replace(' it ', f' {them} ')}"
        )
    number = f"{len(binary):,} binary file{'s' if len(binary) > 1 else ''}"
    warnings.warn(f"skipped {number} {found}: {listed}", MerganserWarning, stacklevel=2)
    return kept


def text_of(stream: RemoteFile, reading: ReadOptions, skips: Skips) -> tuple[Iterator[bytes], str]:
    """Return the chunks and the name of a remote file, checked as in `judged`."""
    return judged(stream.chunks(), stream.name, reading, skips, may_skip=stream.from_listing)


def judged(
    chunks: Iterator[bytes], name: str, reading: ReadOptions, skips: Skips, *, may_skip: bool
) -> tuple[Iterator[bytes], str]:
    """Return a text stream and its name, or an empty stream if a binary one is skipped."""
    if reading.allow_binary:
        return chunks, name
    beginning = b""
    failure: Exception | None = None
    try:
        while len(beginning) < _BEGINNING and (chunk := next(chunks, b"")):
            beginning += chunk
    except Exception as error:  # raised again when the stream is read
        failure = error
    reason = _core.judge_beginning(beginning, Path(name), reading._native())
    if reason is None:
        return _replayed(beginning, failure, chunks), name
    shown = "standard input" if name == "-" else name
    if may_skip or reading.on_error == "skip":
        skips.add(0, 1, [f"{shown} is a binary file ({reason})"])
        return iter(()), "skipped"
    raise CorpusError(_message(shown, reason))


def _replayed(beginning: bytes, failure: Exception | None, chunks: Iterator[bytes]) -> Iterator[bytes]:
    if beginning:
        yield beginning
    if failure is not None:
        raise failure
    yield from chunks


def _message(name: str, reason: str) -> str:
    if reason.startswith("UTF-"):
        return f"{name} is {reason}, not UTF-8; convert it first: iconv -f {reason} -t UTF-8"
    if reason.startswith("NUL"):
        return f"{name} is a binary file ({reason}), not text; {_ALLOW}"
    return f"{name} is not UTF-8 text ({reason}); convert it first, for example with iconv, or {_ALLOW}"
