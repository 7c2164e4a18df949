"""Binary: files that hold no text, found before the work starts.

A file is judged by its first 64 KB, after decompression (`crates/core/src/corpus/binary.rs`): one with a NUL
byte, in UTF-16 or UTF-32, or with more than 30% invalid UTF-8 is binary. One that was named is refused; those
that a folder or a glob has found are skipped with a warning, unless `ReadOptions.allow_binary` is set.

Streams (addresses and standard input) are judged when their first block has arrived.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path

from merganser import _core
from merganser.corpus.read_options import ReadOptions
from merganser.corpus.remote import RemoteFile
from merganser.corpus.skipped import Skips
from merganser.errors import CorpusError, MerganserWarning

#: How much is judged.
_BEGINNING = 1 << 16
#: How many of the skipped files a warning names.
_NAMED = 3
_ALLOW = "pass allow_binary=True (--allow-binary) to read it anyway"


def refuse(file: Path, reading: ReadOptions) -> bool:
    """Refuse a file that was named where it is binary; with `on_error="skip"`, warn and say that it is."""
    reason = None if reading.allow_binary else _core.judge_file(file, reading._native())
    if reason is None:
        return False
    if reading.on_error != "skip":
        raise CorpusError(_message(str(file), reason))
    warnings.warn(f"skipped {file}, a binary file ({reason})", MerganserWarning, stacklevel=2)
    return True


def without_binary(files: list[Path], found: str, reading: ReadOptions) -> list[Path]:
    """The files that hold text; `found` says where they were found, "below texts", for the warning."""
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
        raise CorpusError(f"{what} {found}: binary, not text ({listed}); {_ALLOW.replace(' it ', ' them ')}")
    many = f"{len(binary):,} binary file{'s' if len(binary) > 1 else ''}"
    warnings.warn(f"skipped {many} {found}: {listed}", MerganserWarning, stacklevel=2)
    return kept


def text_of(stream: RemoteFile, reading: ReadOptions, skips: Skips) -> tuple[Iterator[bytes], str]:
    """The chunks and the name of a remote file that holds text; see `judged`."""
    return judged(stream.chunks(), stream.name, reading, skips, may_skip=stream.found)


def judged(
    chunks: Iterator[bytes], name: str, reading: ReadOptions, skips: Skips, *, may_skip: bool
) -> tuple[Iterator[bytes], str]:
    """A stream that holds text, and its name; or an empty one in place of one that is skipped."""
    if reading.allow_binary:
        return chunks, name
    beginning = b""
    failure: Exception | None = None
    try:
        while len(beginning) < _BEGINNING and (chunk := next(chunks, b"")):
            beginning += chunk
    except Exception as error:  # for whoever reads the stream to deal with
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
    return f"{name} is not UTF-8 text ({reason}); convert it first, with iconv for instance, or {_ALLOW}"
