"""Sections: the experiments of a report. Each is a few figures, a picture of them, and what to see in it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from merganser.analyse import pictures
from merganser.analyse.family import family, find, notable
from merganser.analyse.measures import (
    ALPHA,
    bytes_per_token,
    measures,
    parity,
    renyi_efficiency,
    tokens_per_100_characters,
    tokens_per_sentence,
    tokens_per_word,
)
from merganser.analyse.pictures import Spec, label
from merganser.analyse.sample import SENTENCE_RULE, WORD_RULE
from merganser.analyse.study import MERGES, Study
from merganser.analyse.tables import Cell, Table
from merganser.analyse.usage import Usage, use
from merganser.analyse.vocabulary import near_duplicates, rare, undecodable, unreachable
from merganser.display import Shown
from merganser.tokenizer import Tokenizer

#: More than that in one chart cannot be told apart; tables have all.
_IN_CHARTS = 5
_LONGEST = 16


@dataclass(frozen=True)
class Section:
    """One experiment. Its name is that of its files."""

    name: str
    title: str
    text: str
    table: Table
    chart: Spec | None = None
    #: Texts cut into tokens: what it is, and by whom.
    shown: Sequence[tuple[str, Mapping[str, Shown]]] = field(default=())


def sections(study: Study) -> list[Section]:
    """All of them, in order."""
    makers: tuple[Callable[[Study], Section], ...] = (
        _progression,
        _lengths,
        _top,
        _domains,
        _sizes,
        _hard,
        _comparison,
        _ranks,
        _family,
        _parity,
        _sentences,
        _vocabulary,
    )
    return [make(study) for make in makers]


def _progression(study: Study) -> Section:
    values = [
        {"merges": step.merges, "tokens per word": round(tokens_per_word(step.usage), 4)}
        for step in study.steps
    ]
    return Section(
        "merge-progression",
        "Merge progression",
        f"Average tokens per word of the held-out text after so many merges of one training ({WORD_RULE}). "
        "The first merges do the most.",
        Table(("merges", "tokens per word"), tuple(tuple(value.values()) for value in values)),
        pictures.curve([value for value in values if value["merges"]], "merges", "tokens per word", log=True),
    )


def _lengths(study: Study) -> Section:
    usage = study.main
    lengths = np.array([min(len(usage.tokenizer.token_bytes(id)), _LONGEST) for id in usage.ids.tolist()])
    in_vocabulary = np.bincount(lengths, minlength=_LONGEST + 1)
    in_text = np.zeros(_LONGEST + 1, dtype=np.int64)
    np.add.at(in_text, lengths, usage.frequencies)
    names = [str(length) for length in range(1, _LONGEST)] + [f"{_LONGEST}+"]
    values = [
        {"bytes": name, "share": int(part[nth]) / int(part.sum()), "of": of}
        for of, part in (("the vocabulary", in_vocabulary), ("the held-out text", in_text))
        for nth, name in enumerate(names, 1)
    ]
    return Section(
        "token-lengths",
        "Token length distribution",
        "How long tokens are, in bytes: of all tokens in the vocabulary, and of those that the held-out text "
        "became, where short ones occur most.",
        Table(
            ("bytes", "tokens in the vocabulary", "tokens in the text"),
            tuple((name, int(in_vocabulary[nth]), int(in_text[nth])) for nth, name in enumerate(names, 1)),
        ),
        pictures.columns(values, "bytes", "share", "of"),
    )


def _top(study: Study) -> Section:
    usage = study.main
    long = [(id, seen) for id, seen in usage.top(5_000) if len(usage.tokenizer.token_bytes(id)) > 1 and seen][
        :30
    ]
    rows = tuple(
        (nth, label(usage.tokenizer.token_bytes(id)), id, seen) for nth, (id, seen) in enumerate(long, 1)
    )
    values = [{"token": token, "occurrences": seen, "id": id} for _, token, id, seen in rows]
    return Section(
        "top-subwords",
        "Top thirty subwords",
        "The tokens of more than one byte that the held-out text holds most often; · is a space.",
        Table(("rank", "token", "id", "occurrences"), rows),
        pictures.bars(values, "token", "occurrences"),
    )


def _domains(study: Study) -> Section:
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


def _sizes(study: Study) -> Section:
    steps = [step for step in study.steps if step.merges in MERGES or step is study.steps[-1]]
    rows: list[tuple[Cell, ...]] = []
    for nth, step in enumerate(steps):
        here = tokens_per_sentence(step.usage)
        before = steps[nth - 1] if nth else None
        saved = None
        if before is not None:
            more = (step.merges - before.merges) / 1000
            saved = (tokens_per_sentence(before.usage) - here) / more
        rows.append(
            (step.merges, here, saved, bytes_per_token(step.usage), renyi_efficiency(step.usage.frequencies))
        )
    columns = (
        "merges",
        "tokens per sentence",
        "saved by each 1,000 merges more",
        "bytes per token",
        f"Rényi efficiency (α = {ALPHA:g}, V = 256 + merges)",
    )
    values = [{"merges": row[0], "tokens per sentence": row[1]} for row in rows]
    return Section(
        "vocabulary-size",
        "Vocabulary size against efficiency",
        f"Tokens per sentence of the held-out text ({SENTENCE_RULE}), for several sizes out of one training. "
        "Each thousand merges more saves less than the one before.",
        Table(columns, tuple(rows)),
        pictures.labelled_curve(values, "merges", "tokens per sentence"),
    )


def _hard(study: Study) -> Section:
    shown = _shown(study, study.hard)
    return Section(
        "pathological",
        "Pathological examples",
        "Text, its tokens, and how many they are. A character that several tokens share is shown whole, with "
        "all its ids, and marked; white space and control characters are drawn.",
        _token_table("example", study, shown, study.hard.values()),
        shown=shown,
    )


def _comparison(study: Study) -> Section:
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
        {"tokenizer": name, "bytes per token": round(bytes_per_token(usage), 4)}
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
    )


def _row(name: str, figures: Sequence[float]) -> tuple[Cell, ...]:
    return (name, *figures)


def _ranks(study: Study) -> Section:
    values: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    compared = list(study.compared.items())
    counts = {name: np.sort(usage.frequencies[usage.frequencies > 0])[::-1] for name, usage in compared}
    for name, falling in list(counts.items())[:_IN_CHARTS]:
        places = np.unique(np.geomspace(1, len(falling), 120).round().astype(int))
        values += [
            {"rank": int(rank), "frequency": int(falling[rank - 1]), "tokenizer": name} for rank in places
        ]
    longest = max(map(len, counts.values()))
    for rank in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000):
        if rank <= longest:
            rows.append((rank, *(int(f[rank - 1]) if rank <= len(f) else None for f in counts.values())))
    return Section(
        "frequency-rank",
        "Frequency by rank",
        "How often the most frequent token occurs in the held-out text, the second, and so on. Words alone "
        "would lie near a straight line (Zipf's law); merging takes from the top and gives to the middle.",
        Table(("rank", *counts), tuple(rows)),
        pictures.lines(values, "rank", "frequency", "tokenizer"),
    )


def _family(study: Study) -> Section:
    tokenizer = study.tokenizer
    id = notable(study.main) if study.token is None else find(tokenizer, study.token)
    members = family(tokenizer, id)
    rows = tuple(
        (
            label(member.token),
            member.id,
            member.merge,
            member.seen,
        )
        for member in sorted(members, key=lambda member: (member.merge or 0, member.start))
    )
    return Section(
        "family-tree",
        f"Family tree of {label(members[0].token)}",
        "A token, below it the two tokens that the merge of that number joined, and so on down to bytes.",
        Table(("token", "id", "merge", "seen in training"), tuple(dict.fromkeys(rows))),
        pictures.tree(members),
    )


def _parity(study: Study) -> Section:
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


def _sentences(study: Study) -> Section:
    texts = {str(nth): text for nth, text in enumerate(study.sentences, 1)}
    shown = _shown(study, texts)
    return Section(
        "sentences",
        "Sentences",
        "Token by token, with the ids below.",
        _token_table("sentence", study, shown, study.sentences),
        shown=[(text, cut) for text, (_, cut) in zip(study.sentences, shown, strict=True)],
    )


def _vocabulary(study: Study) -> Section:
    rows: list[tuple[Cell, ...]] = []
    for name, usage in study.usages.items():
        tokenizer = usage.tokenizer
        groups = near_duplicates(tokenizer)
        never = rare(usage)
        # Those that training made last are the likeliest to be strange.
        long = sorted((id for id in never if id > 255), key=lambda id: -len(tokenizer.token_bytes(id)))
        rows += [
            (name, "no text can yield them", *_some(tokenizer, unreachable(tokenizer))),
            (name, "not decodable alone", *_some(tokenizer, undecodable(tokenizer))),
            (name, "never occurred in the held-out text", len(never), _some(tokenizer, long)[1]),
            (name, "occurred at most twice", len(rare(usage, at_most=2)), ""),
            (
                name,
                "groups that differ in case or a leading space",
                len(groups),
                "; ".join(" ".join(label(tokenizer.token_bytes(id)) for id in group) for group in groups[:3]),
            ),
        ]
    return Section(
        "vocabulary",
        "Tokens that deserve a look",
        "Single bytes count as well: most of those from 128 on are no text alone. What never occurred here "
        "may occur elsewhere: the held-out text is small.",
        Table(("tokenizer", "tokens that", "how many", "such as"), tuple(rows)),
    )


def _some(tokenizer: Tokenizer, ids: list[int]) -> tuple[int, str]:
    return len(ids), " ".join(label(tokenizer.token_bytes(id)) for id in ids[-6:])


def _shown(study: Study, texts: Mapping[str, str]) -> list[tuple[str, dict[str, Shown]]]:
    return [
        (name, {whose: usage.tokenizer.show(text) for whose, usage in study.usages.items()})
        for name, text in texts.items()
    ]


def _token_table(
    what: str, study: Study, shown: Sequence[tuple[str, Mapping[str, Shown]]], texts: object
) -> Table:
    rows = tuple(
        (name, one.text, whose, one.tokens, "|".join(segment.visible for segment in one.segments))
        for name, cut in shown
        for whose, one in cut.items()
    )
    return Table((what, "text", "tokenizer", "count", "tokens"), rows)


def _grouped(rows: Sequence[tuple[Cell, ...]], names: Sequence[str], kind: str, number: str) -> Spec:
    values = [
        {kind: str(row[0]), number: round(float(value or 0), 4), "tokenizer": name}
        for row in rows
        for name, value in list(zip(names, row[1:], strict=True))[:_IN_CHARTS]
    ]
    return pictures.bars(values, kind, number, group="tokenizer")


__all__ = ["Section", "Usage", "sections"]
