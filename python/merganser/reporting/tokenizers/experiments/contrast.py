"""Sections that compare domains, languages and tokenizers."""

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
    """Tokens per 100 characters across domains."""
    rows: list[tuple[Cell, ...]] = []
    if study.own_domain is not None:
        rows.append((study.own_domain, *map(tokens_per_100_characters, study.usages.values())))
    for domain, texts in study.domains.items():
        rows.append((domain, *(_per_100(usage.tokenizer, texts) for usage in study.usages.values())))
    for domain, sample in study.samples.items():
        usages = (use(usage.tokenizer, sample) for usage in study.usages.values())
        rows.append((domain, *map(tokens_per_100_characters, usages)))
    return Section(
        "domains",
        "Across domains",
        "Tokens per 100 characters of the held-out text, if there is one, and of short samples of other "
        "domains; fewer is cheaper. A tokenizer does best on the kind of text it was trained on. Do not rank "
        "languages by this: one needs 100 characters where another needs 40. See parity instead.",
        Table(("domain", *study.usages), tuple(rows)),
        _grouped(rows, list(study.usages), "domain", "tokens per 100 characters"),
    )


def _per_100(tokenizer: Tokenizer, texts: Sequence[str]) -> float:
    return 100 * sum(tokenizer.count_tokens(list(texts), disallowed_special=())) / sum(map(len, texts))


def comparison(study: Study) -> Section:
    """All measures for all tokenizers."""
    compared = study.compared
    figures = {name: measures(usage) for name, usage in compared.items()}
    names = [name for name in next(iter(figures.values())) if not name.startswith("Rényi")]
    rows: list[tuple[Cell, ...]] = []
    rows.append(("V: tokens without special tokens", *(len(usage.ids) for usage in compared.values())))
    rows += [(name, *(by_measure[name] for by_measure in figures.values())) for name in names]
    efficiencies = (renyi_efficiency(usage.frequencies) for usage in compared.values())
    rows.append((f"Rényi efficiency (α = {ALPHA:g}, V as above)", *efficiencies))
    values = [
        {"tokenizer": drawable(name), "bytes per token": round(bytes_per_token(usage), 4)}
        for name, usage in compared.items()
    ]
    return Section(
        "comparison",
        "Comparison",
        f"All measures on the same held-out text. Here {WORD_RULE}; {SENTENCE_RULE}. Coverage is the share "
        "of occurrences that belong to the most frequent tokens. Vocabulary use is the share of the "
        "vocabulary that occurs at all, which grows with the text.",
        Table(("measure", *compared), tuple(rows)),
        pictures.bars(values, "tokenizer", "bytes per token", group="tokenizer"),
        figures_first=True,
    )


def language_parity(study: Study) -> Section:
    """The same sentences in several languages."""
    ratios = {name: parity(usage.tokenizer, study.parallel) for name, usage in study.usages.items()}
    reference = next(iter(study.parallel))
    rows: list[tuple[Cell, ...]] = [
        (language, *(by_language[language] for by_language in ratios.values())) for language in study.parallel
    ]
    return Section(
        "parity",
        "Parity between languages",
        f"Tokens for the same {len(study.parallel[reference])} sentences in each language, relative to "
        f"{reference}: 2 means twice as many.",
        Table(("language", *ratios), tuple(rows)),
        _grouped(rows, list(ratios), "language", f"tokens relative to {reference}"),
    )


def _grouped(rows: Sequence[tuple[Cell, ...]], names: Sequence[str], kind: str, number: str) -> Spec:
    values = [
        {kind: drawable(str(row[0])), number: round(float(value or 0), 4), "tokenizer": drawable(name)}
        for row in rows
        for name, value in list(zip(names, row[1:], strict=True))[: pictures.GROUPS]
    ]
    return pictures.bars(values, kind, number, group="tokenizer")
