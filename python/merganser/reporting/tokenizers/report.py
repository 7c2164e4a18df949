"""The report on tokenizers: a page of experiments, from a corpus, from tokenizers, or from both.

Given a corpus, a tokenizer is trained on most of it and measured on the rest, next to any given tokenizers.
Takes the time of counting and training plus about ten seconds.
"""

import math
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from merganser import _core
from merganser.analyse.examples import DOMAINS, PARALLEL, SENTENCES
from merganser.analyse.held_out import hold_out
from merganser.analyse.sample import Sample
from merganser.corpus import Source
from merganser.corpus.read_options import ReadKeywords
from merganser.counts import Counts
from merganser.engines.arguments import check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import MerganserWarning, SettingsError
from merganser.extras import imported
from merganser.files import check_folder
from merganser.reporting import page
from merganser.reporting.tokenizers.experiments import sections
from merganser.reporting.tokenizers.study import study
from merganser.reporting.tokenizers.takeaways import tiles
from merganser.tokenizer import Tokenizer
from merganser.training import count, train

if TYPE_CHECKING:
    from typing_extensions import Unpack

#: Numbers of merges that `default_merges` chooses from.
_MERGES = (500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000)
#: The name of the tokenizer that is trained for the report.
TRAINED = "trained here"


def default_merges(size: int) -> int:
    """Return a number of merges that suits a corpus of `size` bytes.

    It is the one of 500, 1,000, 2,000, 5,000 … 50,000 nearest to three times the square root of the size: the
    number of unique words grows about as fast (Heaps' law), and each merge is learned from enough text.

    >>> [default_merges(size) for size in (10_000, 450_000, 10_000_000, 1_000_000_000)]
    [500, 2000, 10000, 50000]
    """
    wanted = 3 * math.sqrt(max(size, 1))
    return min(_MERGES, key=lambda merges: abs(math.log(merges / wanted)))


def report(
    out: str | os.PathLike[str],
    *,
    corpus: Source | None = None,
    tokenizers: Mapping[str, Tokenizer] | None = None,
    held_out: Source | None = None,
    vocab_size: int | None = None,
    pattern: str | None = None,
    domains: Mapping[str, Source] | None = None,
    sentences: Sequence[str] = SENTENCES,
    parallel: Mapping[str, Sequence[str]] = PARALLEL,
    token: str | None = None,
    engine: Local | None = None,
    progress: ProgressCallback | None = None,
    **reading: "Unpack[ReadKeywords]",
) -> Path:
    """Write a report on tokenizers. Needs the extra `[plot]`.

    Parameters
    ----------
    out
        The folder to write to.
    corpus
        Corpus to train a tokenizer on. A split of it is held out to measure on, unless `held_out` is given.
    tokenizers
        Further tokenizers to measure, by the names to use in the report.
    held_out
        Corpus to measure on.
    vocab_size
        Vocabulary size of the trained tokenizer; smaller if the corpus runs out of pairs. By default, 256
        bytes and a number of merges that suits the corpus: 2,000 for a novel, 50,000 for 100 MB
        (`default_merges`).
        The section on vocabulary sizes then goes up to 50,000 merges, as far as the corpus allows.
    pattern
        Split pattern of the trained tokenizer: a preset or a regular expression.
    domains
        Additional texts for the comparison across domains, by name.
    sentences
        Sentences to show token by token.
    parallel
        The same sentences in several languages, to measure parity.
    token
        The token to draw the family tree of. By default, a notable one is chosen.
    engine
        Threads and memory to use.
    progress
        Called with the stage ("count", "merge", "measure" or "draw"), the amount done and the total.
    **reading
        How the files of all corpora are read; see `merganser.ReadOptions`.

    Returns
    -------
    Path
        The page `index.html` in `out`.

    Raises
    ------
    SettingsError
        If neither `corpus` nor `tokenizers` is given, or if an argument is invalid.
    CorpusError
        If a corpus cannot be read or is too short for a held-out split.
    WriteError
        If `out` cannot be written.
    ImportError
        If the extra `[plot]` is not installed.

    Examples
    --------
    >>> import merganser, tempfile
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     merganser.reporting.report(folder, tokenizers={"small": tokenizer}).name
    'index.html'
    """
    check_names(report, reading)
    engine = engine or Local()
    measured = dict(tokenizers or {})
    if corpus is None and not measured:
        raise SettingsError("nothing to report on; pass corpus=, tokenizers=, or both")
    if empty := next((language for language, texts in parallel.items() if not any(texts)), None):
        raise SettingsError(
            f"the sentences in {empty} are empty; provide the same sentences in every language"
        )
    imported("vl_convert", "plot", "drawing charts")  # fail before the training
    check_folder(Path(out), "choose another out=")
    about: list[str] = []
    grown: Tokenizer | None = None
    learned: Counts | None = None
    own_domain: str | None = "held-out text"
    if corpus is not None:
        training = corpus
        if held_out is None:
            parts = hold_out(corpus, **reading)
            training, held_out = parts.training, parts.held_out
            about.append(f"Held-out split: {parts.rule}.")
        counts = count(training, pattern=pattern, engine=engine, progress=progress, **reading)
        with warnings.catch_warnings():
            # A small corpus runs out of pairs; the report shows the number of merges.
            warnings.simplefilter("ignore", MerganserWarning)
            grown = train(counts, vocab_size or 256 + _MERGES[-1], engine=engine, progress=progress)
        learned, trained = counts, grown
        size, _ = _core.token_totals([], counts._native)
        chosen = ""
        if vocab_size is None and default_merges(size) < len(grown.merges):
            trained = grown.truncated(grown.vocab_size - len(grown.merges) + default_merges(size))
            chosen = f", chosen for a corpus of this size; all {len(grown.merges):,} are in section 5"
        measured = {_unused(TRAINED, measured): trained, **measured}
        about.insert(
            0,
            f"Training corpus: {_count(size, 'byte')}, {_count(counts.documents, 'document')}, "
            f"{_count(counts.total, 'pre-token')}, {len(counts):,} unique. "
            f"Merges: {len(trained.merges):,}{chosen}.",
        )
        own_domain = f"{_title(corpus)}, held out"
    elif held_out is None:
        own_domain = None
        held_out = [*DOMAINS.values(), *(text for texts in PARALLEL.values() for text in texts)]
        about.append(
            "No held-out text was given, so the measurements use a few built-in paragraphs of prose, code, "
            "numbers and several languages: an illustration, not a benchmark."
        )
    sample = Sample.of(held_out, name="the held-out text", engine=engine, progress=progress, **reading)
    about += [
        f"Held-out text: {_count(sample.bytes, 'byte')}, {_count(sample.characters, 'character')}, "
        f"{_count(sample.words, 'word')}, {_count(sample.sentences, 'sentence')}, "
        f"{_count(sample.documents, 'document')}.",
        "All figures are diagnostics: they describe how text is tokenized, not how well a model learns.",
    ]
    domain_samples = {
        name: Sample.of(source, name=f"the domain {name}", engine=engine, progress=progress, **reading)
        for name, source in (domains or {}).items()
    }
    about[:0] = [_description(name, tokenizer) for name, tokenizer in measured.items()]
    results = study(
        measured,
        sample,
        samples=domain_samples,
        sentences=sentences,
        parallel=parallel,
        token=token,
        own_domain=own_domain,
        grown=grown,
        learned=learned,
        corpus="corpus" if corpus is None else _title(corpus),
    )
    return page.write(
        Path(out),
        "Tokenizer report" if len(measured) == 1 else "Tokenizer comparison",
        about,
        sections(results, progress),
        progress,
        tiles(results),
    )


def _description(name: str, tokenizer: Tokenizer) -> str:
    pattern = tokenizer.pattern_name or tokenizer.pattern
    special = len(tokenizer.special_tokens)
    return f"{name}: {tokenizer.vocab_size:,} tokens, {special:,} of them special; pattern {pattern}."


def _title(corpus: Source) -> str:
    """Return the name of a corpus that is one path or data set, without folder, suffix and copy."""
    # A string in a list is a document.
    paths = (
        [item for item in corpus if isinstance(item, os.PathLike)] if isinstance(corpus, list) else [corpus]
    )
    if len(paths) == 1 and isinstance(paths[0], str | os.PathLike):
        return Path(os.fspath(paths[0]).partition("=")[0]).stem or "corpus"
    return "corpus"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _unused(name: str, names: Mapping[str, object]) -> str:
    while name in names:
        name = f"{name} again"
    return name
