"""Report: what a tokenizer does, as one page of experiments; from a corpus, from tokenizers, or from both.

From a corpus, a tokenizer is trained on most of it and measured on the rest. Tokenizers that are named stand
beside it, or by themselves. Costs what counting and training cost, and about ten seconds.
"""

import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

from merganser.analyse.examples import DOMAINS, PARALLEL, SENTENCES
from merganser.analyse.held_out import hold_out
from merganser.analyse.sample import Sample
from merganser.corpus import Source
from merganser.engines.local import Local, ProgressCallback
from merganser.errors import MerganserWarning, SettingsError
from merganser.extras import imported
from merganser.files import check_folder
from merganser.reporting import page
from merganser.reporting.tokenizers.experiments import sections
from merganser.reporting.tokenizers.study import study
from merganser.tokenizer import Tokenizer
from merganser.training import count, train

#: 256 bytes and 50,000 merges, where the corpus has so many.
VOCAB_SIZE = 50_256
#: What the tokenizer that is trained for the report is called in it.
TRAINED = "trained here"


def report(
    out: str | os.PathLike[str],
    *,
    corpus: Source | None = None,
    tokenizers: Mapping[str, Tokenizer] | None = None,
    held_out: Source | None = None,
    vocab_size: int = VOCAB_SIZE,
    pattern: str | None = None,
    domains: Mapping[str, Source] | None = None,
    sentences: Sequence[str] = SENTENCES,
    parallel: Mapping[str, Sequence[str]] = PARALLEL,
    token: str | None = None,
    engine: Local | None = None,
    progress: ProgressCallback | None = None,
) -> Path:
    """Writes a report to the folder `out`, and gives the path of its page.

    corpus: what to train on; a part of it is held back to measure on (see `held_out`).
    tokenizers: to measure as well, by the names that they have in the report.
    held_out: what to measure on instead.
    vocab_size: how many tokens to train; fewer if the corpus has no pair left to merge.
    domains: more kinds of text for the comparison across domains, by name.
    sentences: to be shown token by token. parallel: the same sentences in several languages.
    token: the token whose family is drawn.
    progress: called with the stage ("count", "merge", "measure", "draw"), what is done and the total.

    Needs the extra `[plot]`.
    """
    engine = engine or Local()
    known = dict(tokenizers or {})
    if corpus is None and not known:
        raise SettingsError("name a corpus to train on, or tokenizers to look at")
    if empty := next((language for language, texts in parallel.items() if not any(texts)), None):
        raise SettingsError(f"the sentences in {empty} are empty; write the same ones in every language")
    imported("vl_convert", "plot", "drawing charts")  # what is missing is told before the training
    check_folder(Path(out), "choose another out=")
    about: list[str] = []
    if corpus is not None:
        training = corpus
        if held_out is None:
            parts = hold_out(corpus)
            training, held_out = parts.training, parts.held_out
            about.append(f"Held out, and never trained on: {parts.rule}.")
        counts = count(training, pattern=pattern, engine=engine, progress=progress)
        with warnings.catch_warnings():
            # A small corpus has fewer pairs than were asked for, which the report says itself.
            warnings.simplefilter("ignore", MerganserWarning)
            trained = train(counts, vocab_size, engine=engine, progress=progress)
        known = {_unused(TRAINED, known): trained, **known}
        about.insert(
            0,
            f"Trained on documents: {counts.documents:,}; pre-tokens: {counts.total:,}, of which different: "
            f"{len(counts):,}; merges: {len(trained.merges):,}.",
        )
    elif held_out is None:
        held_out = [*DOMAINS.values(), *(text for texts in PARALLEL.values() for text in texts)]
        about.append(
            "No text was named to measure on, so a few paragraphs of prose, code, numbers and several "
            "languages serve for it: enough to look at, too little to judge by."
        )
    sample = Sample.of(held_out, name="the held-out text", engine=engine, progress=progress)
    about += [
        f"Measured on bytes: {sample.bytes:,}; characters: {sample.characters:,}; words: {sample.words:,}; "
        f"sentences: {sample.sentences:,}; documents: {sample.documents:,}.",
        "All figures are diagnostics: they say how text is cut, not how well a model will learn from it.",
    ]
    more = {
        name: Sample.of(source, name=f"the domain {name}", engine=engine, progress=progress)
        for name, source in (domains or {}).items()
    }
    about[:0] = [_described(name, tokenizer) for name, tokenizer in known.items()]
    found = study(known, sample, samples=more, sentences=sentences, parallel=parallel, token=token)
    return page.write(
        Path(out),
        "What the tokenizer does" if len(known) == 1 else "What the tokenizers do",
        about,
        sections(found, progress),
        progress,
    )


def _described(name: str, tokenizer: Tokenizer) -> str:
    pattern = tokenizer.pattern_name or tokenizer.pattern
    special = len(tokenizer.special_tokens)
    return f"{name}: {tokenizer.vocab_size:,} tokens, {special:,} of them special, pattern {pattern}."


def _unused(name: str, names: Mapping[str, object]) -> str:
    while name in names:
        name = f"{name} again"
    return name
