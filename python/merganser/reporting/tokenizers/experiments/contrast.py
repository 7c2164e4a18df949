"""Contrast: kinds of text, languages and tokenizers side by side."""

from collections.abc import Sequence

from merganser.analyse.metrics import (
    ALPHA,
    bytes_per_token,
    measures,
    parity,
    renyi_efficiency,
    tokens_per_100_characters,
)
from merganser.analyse.sample import SENTENCE_RULE, WORD_RULE
from merganser.analyse.usage import use
from merganser.charts import drawable
from merganser.charts.spec import Spec
from merganser.reporting.section import Section
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.study import Study
from merganser.tokenizer import Tokenizer


def domains(study: Study) -> Section:
    """Tokens per 100 characters of several kinds of text."""
    rows: list[tuple[Cell, ...]] = []
    for domain, texts in study.domains.items():
        rows.append((domain, *(_per_100(usage.tokenizer, texts) for usage in study.usages.values())))
    for domain, sample in study.samples.items():
        used = (use(usage.tokenizer, sample) for usage in study.usages.values())
        rows.append((domain, *map(tokens_per_100_characters, used)))
    return Section(
        "domains",
        "Across domains",
        "Tokens per 100 characters of short samples of several kinds; fewer is cheaper. A tokenizer is at "
        "home in what it was trained on. Languages are not to be ranked by this: what one writes in 100 "
        "characters another writes in 40; see parity.",
        Table(("domain", *study.usages), tuple(rows)),
        _grouped(rows, list(study.usages), "domain", "tokens per 100 characters"),
    )


def _per_100(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    return 100 * sum(tokenizer.count_tokens(list(texts), disallowed_special=())) / sum(map(len, texts))


def comparison(study: Study) -> Section:
    """All measures of all tokenizers."""
    compared = study.compared
    found = {name: measures(usage) for name, usage in compared.items()}
    names = [name for name in next(iter(found.values())) if not name.startswith("Rényi")]
    rows: list[tuple[Cell, ...]] = [
        ("V: tokens that are not special", *(len(usage.ids) for usage in compared.values())),
        *(_row(name, [figures[name] for figures in found.values()]) for name in names),
        (
            f"Rényi efficiency (α = {ALPHA:g}, V as above)",
            *(renyi_efficiency(usage.frequencies) for usage in compared.values()),
        ),
    ]
    values = [
        {"tokenizer": drawable(name), "bytes per token": round(bytes_per_token(usage), 4)}
        for name, usage in compared.items()
    ]
    return Section(
        "comparison",
        "Side by side",
        f"All measures on the same held-out text. Here {WORD_RULE}; {SENTENCE_RULE}. Coverage is the share "
        "of all tokens that are among the most frequent ones; vocabulary use, of the whole vocabulary, "
        "that of the tokens that occur at all, which grows with the text.",
        Table(("measure", *compared), tuple(rows)),
        pictures.bars(values, "tokenizer", "bytes per token"),
        figures_first=True,
    )


def _row(name: str, figures: Sequence[float]) -> tuple[Cell, ...]:
    return (name, *figures)


def parity_of_languages(study: Study) -> Section:
    """The same sentences in several languages."""
    ratios = {name: parity(usage.tokenizer, study.parallel) for name, usage in study.usages.items()}
    reference = next(iter(study.parallel))
    rows: list[tuple[Cell, ...]] = [
        (language, *(found[language] for found in ratios.values())) for language in study.parallel
    ]
    return Section(
        "parity",
        "Parity between languages",
        f"Tokens that the same {len(study.parallel[reference])} sentences take in each language, against "
        f"{reference}: 2 is twice as many.",
        Table(("language", *ratios), tuple(rows)),
        _grouped(rows, list(ratios), "language", f"tokens against {reference}"),
    )


def _grouped(rows: Sequence[tuple[Cell, ...]], names: Sequence[str], kind: str, number: str) -> Spec:
    values = [
        {kind: drawable(str(row[0])), number: round(float(value or 0), 4), "tokenizer": drawable(name)}
        for row in rows
        for name, value in list(zip(names, row[1:], strict=True))[: pictures.GROUPS]
    ]
    return pictures.bars(values, kind, number, group="tokenizer")
