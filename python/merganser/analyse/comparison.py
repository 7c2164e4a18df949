"""Comparison: how many tokens several tokenizers make of the same corpora.

A corpus is counted once for each pattern, and every unique pre-token is encoded once for each tokenizer: the
numbers are those of encoding it all, because the tokens of a pre-token depend on nothing else. So it costs
what `count` costs, also in memory. It loses to encoding if nearly every pre-token is unique.

Special tokens in the text are ordinary text here, and separators of documents are no part of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from merganser import _core
from merganser.corpus import Source, is_read_once
from merganser.corpus.read_options import ReadKeywords
from merganser.counts import Counts, CountsFile
from merganser.engines.arguments import check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import CorpusError, SettingsError
from merganser.tokenizer import Tokenizer
from merganser.training import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The name of the row that adds up all corpora.
ALL = "all"
#: How many documents are pulled from an iterable at a time.
_BUFFER = 8192


@dataclass(frozen=True)
class Row:
    """One tokenizer on one corpus."""

    corpus: str
    tokenizer: str
    vocab_size: int
    bytes: int
    tokens: int
    #: Tokens as against those of the first tokenizer: -0.1 is a tenth less.
    relative: float

    @property
    def bytes_per_token(self) -> float:
        return self.bytes / self.tokens


def compare(
    tokenizers: Mapping[str, Tokenizer],
    on: Mapping[str, Source],
    *,
    engine: Local | None = None,
    progress: ProgressCallback | None = None,
    **reading: "Unpack[ReadKeywords]",
) -> list[Row]:
    """A row for each tokenizer on each corpus, and on all of them together where there are several.

    tokenizers, on: by the names that they have in the rows. The first tokenizer is what the others are
        measured by.
    progress: called with the stage ("compare" for the corpora, "count" and "pretokens" within one), what is
        done and the total.

    >>> import merganser
    >>> texts = ["low lower lowest"] * 9
    >>> trained = {str(size): merganser.train(texts, size) for size in (256, 260)}
    >>> [(row.tokenizer, row.tokens, f"{row.relative:+.0%}") for row in compare(trained, {"low": texts})]
    [('256', 144, '+0%'), ('260', 54, '-62%')]
    """
    check_names(compare, reading)
    if not tokenizers or not on:
        raise SettingsError("name at least one tokenizer and one corpus to compare them on")
    engine = engine or Local()
    patterns = {tokenizer.pattern: tokenizer.pattern_name for tokenizer in tokenizers.values()}
    if len(patterns) > 1:
        for name, source in on.items():
            _refuse_what_is_read_once(name, source)
    totals: dict[str, list[tuple[int, int]]] = {}
    for nth, (corpus, source) in enumerate(on.items()):
        if progress and len(on) > 1:
            progress("compare", nth, len(on))
        made: dict[str, tuple[int, int]] = {}
        for pattern, preset in patterns.items():
            alike = {name: each for name, each in tokenizers.items() if each.pattern == pattern}
            settings = (preset or pattern, (), ..., engine, progress, _BUFFER, reading)
            with counted(source, *settings) as counts:
                made |= _totals(alike, counts, engine.threads, progress)
        totals[corpus] = [made[name] for name in tokenizers]
        if not totals[corpus][0][0]:
            raise CorpusError(
                f"{corpus} holds no text to compare on; check the path, the glob and the separator"
            )
    if len(on) > 1:
        columns = zip(*totals.values(), strict=True)
        totals[_unused(ALL, on)] = [
            (sum(size for size, _ in column), sum(tokens for _, tokens in column)) for column in columns
        ]
    return list(_rows(tokenizers, totals))


def _rows(tokenizers: Mapping[str, Tokenizer], totals: Mapping[str, list[tuple[int, int]]]) -> Iterator[Row]:
    for corpus, made in totals.items():
        first = made[0][1]
        for (name, tokenizer), (size, tokens) in zip(tokenizers.items(), made, strict=True):
            yield Row(corpus, name, tokenizer.vocab_size, size, tokens, tokens / first - 1)


def _totals(
    tokenizers: Mapping[str, Tokenizer],
    counts: Counts | CountsFile,
    threads: int | None,
    progress: ProgressCallback | None,
) -> dict[str, tuple[int, int]]:
    """Return the bytes and tokens of all pre-tokens, by tokenizer."""
    native = counts.path if isinstance(counts, CountsFile) else counts._native
    size, tokens = _core.token_totals(
        list(tokenizers.values()), native, threads=threads or 0, progress=progress
    )
    return {name: (size, number) for name, number in zip(tokenizers, tokens, strict=True)}


def _refuse_what_is_read_once(name: str, source: Source) -> None:
    if is_read_once(source):
        raise SettingsError(
            f"{name} can be read only once, and these tokenizers split text in different ways; "
            "pass a file, or a list of documents"
        )


def _unused(name: str, names: Mapping[str, object]) -> str:
    while name in names:
        name = f"{name} together"
    return name
