"""Counting: a corpus becomes counts, in memory or in a file."""

import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from merganser import _core
from merganser.corpus import Corpus, Source, resolve
from merganser.corpus.read_options import ReadKeywords, ReadOptions
from merganser.corpus.remote import RemoteFile
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.counts import Counts, CountsFile
from merganser.engines.arguments import check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.engines.ray import Ray
from merganser.errors import CountsError, SettingsError
from merganser.files import check_file

if TYPE_CHECKING:
    from typing_extensions import Unpack


@overload
def count(
    corpus: Source,
    *,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    separator: Separator = ...,
    out: None = None,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    buffer_size: int = 8192,
    **reading: "Unpack[ReadKeywords]",
) -> Counts: ...
@overload
def count(
    corpus: Source,
    *,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    separator: Separator = ...,
    out: str | os.PathLike[str],
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    buffer_size: int = 8192,
    **reading: "Unpack[ReadKeywords]",
) -> CountsFile: ...
def count(
    corpus: Source,
    *,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    separator: Separator = ...,
    out: str | os.PathLike[str] | None = None,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    buffer_size: int = 8192,
    **reading: "Unpack[ReadKeywords]",
) -> Counts | CountsFile:
    """Counts the pre-tokens of a corpus; see `merganser.corpus` for what a corpus can be.

    pattern: a preset ("gpt2", "gpt4", "o200k", "nanochat", "qwen2", "llama3", "whitespace") or a regular
        expression; "gpt4" if not given.
    special_tokens: cut out of the text before it is split, and never counted.
    separator: what stands between the documents of a file; "<|endoftext|>" if not given, None for none.
    out: a `.counts` file to write. Then the counts are never in memory as a whole, however many they are, and
        what comes back is the file.
    engine: threads, memory and where to keep work, `Local(...)`; or a cluster, `Ray(...)`.
    progress: called with the stage, what is done and the total; an exception in it stops the work.
    text_key, on_error, max_ratio, max_size, max_window, allow_binary: how files are read, see
        `merganser.ReadOptions`.

    Where the corpus has `.counts` files, the settings that are not given follow theirs.

    >>> count(["to be or not to be"]).to_dict()[b" be"]
    2
    """
    check_names(count, reading)
    engine = engine or Local()
    target = None if out is None else Path(out)
    if target is not None:
        if target.suffix != ".counts":
            raise SettingsError(f"name the file .counts, so that it is known for what it is, not {out}")
        check_file(target, "choose another out=")
    engine.check()
    with _found(corpus, pattern, special_tokens, separator, buffer_size, reading) as (found, settings):
        if target is not None:
            file = engine.count_to(found, settings, target, progress)
            found.skips.skipped.warn()
            return replace(file, skipped=found.skips.skipped)
        with engine.counted(found, settings, progress) as counts:
            native = _core.Counts.load(counts.path) if isinstance(counts, CountsFile) else counts
        found.skips.skipped.warn()
        return Counts._of(native, found.skips.skipped)


@contextmanager
def counted(
    corpus: Source,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    separator: Separator,
    engine: Local | Ray,
    progress: ProgressCallback | None,
    buffer_size: int,
    reading: ReadKeywords,
) -> Iterator[Counts | CountsFile]:
    """The counts of a corpus: in memory where they fit, or in a file that lasts as long as this."""
    with (
        _found(corpus, pattern, special_tokens, separator, buffer_size, reading) as (found, settings),
        engine.counted(found, settings, progress) as counts,
    ):
        skipped = found.skips.skipped
        skipped.warn()
        if isinstance(counts, CountsFile):
            yield replace(counts, skipped=skipped)
        else:
            yield Counts._of(counts, skipped)


@contextmanager
def _found(
    corpus: Source,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    separator: Separator,
    buffer_size: int,
    reading: ReadKeywords,
) -> Iterator[tuple[Corpus, SplitSettings]]:
    """A corpus whose counts are all files on this machine, and the settings to count with.

    Counts at an address are fetched. Lines of counts have no settings of their own and follow the others.
    """
    found = resolve(corpus, buffer_size, ReadOptions(**reading))
    with ExitStack() as stack:
        copies = [
            stack.enter_context(file.downloaded()) if isinstance(file, RemoteFile) else file
            for file in found.counts
        ]
        files = list(copies)
        plain = [file for file in files if file.suffix != ".tsv"]
        try:
            default = CountsFile.open(plain[0]).settings if plain else SplitSettings()
            settings = default.replaced_by(pattern, special_tokens, separator)
            for nth, file in enumerate(files):
                if file.suffix == ".tsv":
                    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="merganser-"))
                    files[nth] = Path(folder, f"{file.stem}.counts")
                    Counts.from_tsv(file, **asdict(settings)).save(files[nth])
            yield replace(found, counts=tuple(files)), settings
        except CountsError as error:
            message = str(error)
            for copy, known in zip(copies, found.counts, strict=True):
                message = message.replace(str(copy), str(known))
            raise CountsError(message) from error
