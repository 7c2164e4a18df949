"""Count the pre-tokens of a corpus, in memory or into a file."""

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
from merganser.errors import CorpusError, CountsError, SettingsError
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
    """Count the pre-tokens of a corpus.

    Counts can be added, saved, and passed to `merganser.train` any number of times. If the corpus contains
    `.counts` files, settings that are not given are taken from them.

    Parameters
    ----------
    corpus : path, URL, iterable or dataset
        The corpus; see `merganser.corpus`.
    pattern : str, optional
        The split pattern: a preset ("gpt2", "gpt4", "o200k", "nanochat", "qwen2", "llama3", "whitespace") or
        a regular expression. "gpt4" by default.
    special_tokens : iterable of str, optional
        Tokens to remove from the text before it is split. They are not counted.
    separator : str or None, optional
        The text between the documents of a file. "<|endoftext|>" by default; None makes each file one
        document.
    out : path-like, optional
        A `.counts` file to write. The counts are then never in memory as a whole, and may be larger than it.
    engine : Local or Ray, optional
        The threads, memory budget and work folder, or a cluster.
    progress : callable, optional
        Called with the stage ("count"), the number of bytes done, and the total or 0 if unknown. An exception
        in it stops the run.
    buffer_size : int
        The number of documents to pull from an iterable at a time.
    **reading
        The fields of `merganser.ReadOptions`, such as `text_key` and `on_error`.

    Returns
    -------
    Counts or CountsFile
        A `CountsFile` if `out` is given.

    Raises
    ------
    CorpusError
        If the corpus is missing, unreadable or empty.
    CountsError
        If counts files have different settings or are corrupt, or `work_dir` belongs to a different job.
    PatternError
        If the pattern is invalid.
    SettingsError
        If a setting is out of range.
    WriteError
        If `out` or the work folder cannot be written.

    Examples
    --------
    >>> count(["to be or not to be"]).to_dict()[b" be"]
    2
    """
    check_names(count, reading)
    engine = engine or Local()
    target = None if out is None else Path(out)
    if target is not None:
        if target.suffix != ".counts":
            raise SettingsError(
                f"out must end in .counts, got {out}; write out={str(target.with_suffix('.counts'))!r}"
            )
        check_file(target, "choose another out=")
    engine.check()
    with _resolved(corpus, pattern, special_tokens, separator, buffer_size, reading) as (resolved, settings):
        if target is not None:
            file = engine.count_to(resolved, settings, target, progress)
            resolved.skips.skipped.warn()
            return replace(file, skipped=resolved.skips.skipped)
        with engine.counted(resolved, settings, progress) as counts:
            native = _core.Counts.load(counts.path) if isinstance(counts, CountsFile) else counts
        resolved.skips.skipped.warn()
        return Counts._of(native, resolved.skips.skipped)


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
    """Count a corpus; yield the counts in memory, or in a temporary file if they do not fit."""
    with (
        _resolved(corpus, pattern, special_tokens, separator, buffer_size, reading) as (resolved, settings),
        engine.counted(resolved, settings, progress) as counts,
    ):
        skipped = resolved.skips.skipped
        skipped.warn()
        if isinstance(counts, CountsFile):
            yield replace(counts, skipped=skipped)
        else:
            yield Counts._of(counts, skipped)


def counted_in_order(
    corpus: Source,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    separator: Separator,
    engine: Local,
    progress: ProgressCallback | None,
    buffer_size: int,
    reading: ReadKeywords,
) -> Counts:
    """Count a corpus in the order in which its pre-tokens first occur, which counts files do not have."""
    with _resolved(corpus, pattern, special_tokens, separator, buffer_size, reading) as (resolved, settings):
        if resolved.counts:
            raise CorpusError(
                f"{resolved.counts[0]} holds counts, which are not in the order of the text that "
                'tie_break="first" needs; train on the text itself'
            )
        native = engine.counted_in_order(resolved, settings, progress)
        skipped = resolved.skips.skipped
        skipped.warn()
        return Counts._of(native, skipped)


@contextmanager
def _resolved(
    corpus: Source,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    separator: Separator,
    buffer_size: int,
    reading: ReadKeywords,
) -> Iterator[tuple[Corpus, SplitSettings]]:
    """Resolve a corpus, with its counts as local `.counts` files, and the settings to count with.

    Remote counts are downloaded. TSV files have no settings, so they get those of the other counts.
    """
    resolved = resolve(corpus, buffer_size, ReadOptions(**reading))
    with ExitStack() as stack:
        copies = [
            stack.enter_context(file.downloaded()) if isinstance(file, RemoteFile) else file
            for file in resolved.counts
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
            yield replace(resolved, counts=tuple(files)), settings
        except CountsError as error:
            message = str(error)
            for copy, known in zip(copies, resolved.counts, strict=True):
                message = message.replace(str(copy), str(known))
            raise CountsError(message) from error
