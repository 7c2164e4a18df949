"""Compare the number of tokens that several tokenizers need for the same corpora.

A corpus is counted once per pattern, and every unique pre-token is encoded once per tokenizer. The result
equals that of encoding the whole text, because the tokens of a pre-token depend on nothing else, at the cost
in time and memory of `count`. It is slower than encoding only if nearly every pre-token is unique.

Special tokens in the text are ordinary text, and document separators are not part of it.
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
from merganser.engines.ray import Ray
from merganser.errors import CorpusError, SettingsError
from merganser.tokenizer import Tokenizer
from merganser.training import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: The corpus name of the rows for all corpora together.
ALL = "all"
#: The number of documents of an iterable that are buffered.
_BUFFER = 8192


@dataclass(frozen=True)
class Row:
    """One tokenizer on one corpus.

    Attributes
    ----------
    corpus, tokenizer
        The names of the corpus and the tokenizer.
    vocab_size
        The size of the tokenizer's vocabulary.
    bytes, tokens
        The size of the corpus in bytes and tokens.
    relative
        The number of tokens relative to the first tokenizer: -0.1 means 10% fewer.
    """

    corpus: str
    tokenizer: str
    vocab_size: int
    bytes: int
    tokens: int
    relative: float

    @property
    def bytes_per_token(self) -> float:
        """The compression: bytes of text per token."""
        return self.bytes / self.tokens


def compare(
    tokenizers: Mapping[str, Tokenizer],
    on: Mapping[str, Source],
    *,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    **reading: "Unpack[ReadKeywords]",
) -> list[Row]:
    """Compare tokenizers on corpora.

    Parameters
    ----------
    tokenizers
        The tokenizers by name; the first is the reference for the others.
    on
        The corpora by name; see `merganser.corpus` for what each can be.
    engine
        Where to count: `Local` or `Ray`; all local threads by default.
    progress
        Called with the stage ("compare" for the corpora, "count" and "pretokens" within one), the amount done
        and the total.
    **reading
        How files are read; see `merganser.ReadOptions`.

    Returns
    -------
    list[Row]
        A row for each tokenizer on each corpus and, if there are several corpora, on all of them together.

    Raises
    ------
    CorpusError
        If a corpus cannot be read or contains no text.
    SettingsError
        If there is nothing to compare, or a corpus can be read only once and the patterns differ.

    Examples
    --------
    >>> import merganser
    >>> texts = ["low lower lowest"] * 9
    >>> trained = {str(size): merganser.train(texts, size) for size in (256, 260)}
    >>> [(row.tokenizer, row.tokens, f"{row.relative:+.0%}") for row in compare(trained, {"low": texts})]
    [('256', 144, '+0%'), ('260', 54, '-62%')]
    """
    check_names(compare, reading)
    if not tokenizers or not on:
        raise SettingsError("compare needs at least one tokenizer and one corpus; pass both")
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
            raise CorpusError(f"{corpus} contains no text; check the path, the glob and the separator")
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
            f"{name} can be read only once, but these tokenizers have different patterns; "
            "pass a file or a list of documents"
        )


def _unused(name: str, names: Mapping[str, object]) -> str:
    while name in names:
        name = f"{name} together"
    return name
