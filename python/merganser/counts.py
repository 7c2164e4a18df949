"""Counts: how often each pre-token occurs in a corpus, with the settings that made them.

Counts add up (`a + b`), so a corpus can be counted in parts and in many places; training from the sum is
training from the whole. They are kept in files of their own (`save`, `load`: exact and checksummed) or as
`pre-token<TAB>count` lines (`to_tsv`, `from_tsv`) for other programs.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, overload

from merganser import _core
from merganser.arguments import check_names
from merganser.corpus import Corpus, Source, resolve
from merganser.counts_file import CountsFile
from merganser.engines.local import Local, ProgressCallback
from merganser.engines.ray import Ray
from merganser.errors import CountsError, SettingsError
from merganser.files import check_file
from merganser.formats import tsv
from merganser.reading import Reading, ReadingOptions, Skipped
from merganser.remote import RemoteFile
from merganser.settings import PATTERN, SEPARATOR, Separator, Settings

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Counts:
    """Pre-tokens and how often each occurred. Never changes once made.

    >>> a = Counts({b"ab": 3})
    >>> b = Counts({b"ab": 1, b"c": 2**40})
    >>> (a + b).to_dict() == {b"ab": 4, b"c": 2**40}
    True
    """

    __slots__ = ("_native", "skipped")
    _native: _core.Counts
    #: What could not be read when these were counted. Files of counts do not keep it.
    skipped: Skipped

    def __init__(
        self,
        pretokens: Mapping[bytes, int],
        *,
        pattern: str = PATTERN,
        special_tokens: Iterable[str] = (),
        separator: str | None = SEPARATOR,
        invalid_bytes: int = 0,
        documents: int = 0,
    ) -> None:
        settings = Settings().replaced_by(pattern, special_tokens, separator)
        self.skipped = Skipped()
        self._native = _core.Counts(
            dict(pretokens),
            settings.pattern,
            list(settings.special_tokens),
            settings.separator,
            invalid_bytes,
            documents,
        )

    @classmethod
    def _of(cls, native: _core.Counts, skipped: Skipped = Skipped()) -> "Counts":  # noqa: B008  # never changes
        counts = cls.__new__(cls)
        counts._native = native
        counts.skipped = skipped
        return counts

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Counts":
        """Reads counts that `save` wrote."""
        return cls._of(_core.Counts.load(Path(path)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes a `.counts` file, sorted and checksummed; it appears whole or not at all."""
        self._native.save(Path(path))

    def to_dict(self) -> dict[bytes, int]:
        return self._native.to_dict()

    def most_common(self, n: int | None = None) -> list[tuple[bytes, int]]:
        """The `n` most frequent pre-tokens, or all; equally frequent ones in the order of their bytes."""
        return self._native.most_common(len(self) if n is None else max(n, 0))

    def to_tsv(self, path: str | os.PathLike[str]) -> None:
        """Writes a line `pre-token<TAB>count` for each pre-token, the most frequent first.

        `merganser.formats.tsv` says how bytes that are not plain text are written. It has no settings.
        """
        tsv.write(self.most_common(), path)

    @classmethod
    def from_tsv(
        cls,
        path: str | os.PathLike[str],
        *,
        pattern: str = PATTERN,
        special_tokens: Iterable[str] = (),
        separator: str | None = SEPARATOR,
    ) -> "Counts":
        """Reads lines as `to_tsv` writes them, in any order; a pre-token that comes twice is added up."""
        return cls(tsv.read(path), pattern=pattern, special_tokens=special_tokens, separator=separator)

    @property
    def settings(self) -> Settings:
        return Settings(self.pattern_name or self.pattern, self.special_tokens, self.separator)

    @property
    def pattern(self) -> str:
        """The regular expression that split the text, also where a preset was named."""
        return self._native.pattern

    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, if it was one."""
        return self._native.pattern_name

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """Sorted, whatever the order they were given in."""
        return tuple(self._native.special_tokens)

    @property
    def separator(self) -> str | None:
        return self._native.separator

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self._native.total

    @property
    def documents(self) -> int:
        return self._native.documents

    @property
    def invalid_bytes(self) -> int:
        """How many bytes of the corpus were not UTF-8; each of them is a pre-token of its own."""
        return self._native.invalid_bytes

    def __len__(self) -> int:
        """How many unique pre-tokens there are."""
        return len(self._native)

    def __add__(self, other: object) -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        return Counts._of(self._native.plus(other._native), self.skipped + other.skipped)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.settings == other.settings and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]  # as large as a corpus: compared, never looked up

    def __repr__(self) -> str:
        pattern = self.pattern_name or repr(self.pattern)
        return f"<Counts: {len(self):,} unique pre-tokens, {self.total:,} in all, pattern {pattern}>"

    def __reduce__(self) -> tuple[object, ...]:
        settings = (self.pattern_name or self.pattern, list(self.special_tokens), self.separator)
        return _unpickle, (self.to_dict(), *settings, self.invalid_bytes, self.documents)


def _unpickle(
    pretokens: dict[bytes, int],
    pattern: str,
    special_tokens: list[str],
    separator: str | None,
    invalid_bytes: int,
    documents: int,
) -> Counts:
    return Counts._of(_core.Counts(pretokens, pattern, special_tokens, separator, invalid_bytes, documents))


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
    **reading: "Unpack[ReadingOptions]",
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
    **reading: "Unpack[ReadingOptions]",
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
    **reading: "Unpack[ReadingOptions]",
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
        `merganser.Reading`.

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
    reading: ReadingOptions,
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
    reading: ReadingOptions,
) -> Iterator[tuple[Corpus, Settings]]:
    """A corpus whose counts are all files on this machine, and the settings to count with.

    Counts at an address are fetched. Lines of counts have no settings of their own and follow the others.
    """
    found = resolve(corpus, buffer_size, Reading(**reading))
    with ExitStack() as stack:
        copies = [
            stack.enter_context(file.copied()) if isinstance(file, RemoteFile) else file
            for file in found.counts
        ]
        files = list(copies)
        plain = [file for file in files if file.suffix != ".tsv"]
        try:
            default = CountsFile.open(plain[0]).settings if plain else Settings()
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


def empty(settings: Settings) -> Counts:
    """No pre-tokens at all; adding to it checks that the settings agree."""
    return Counts(
        {},
        pattern=settings.pattern,
        special_tokens=settings.special_tokens,
        separator=settings.separator,
    )
