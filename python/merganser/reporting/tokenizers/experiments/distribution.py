"""Distribution: which tokens do the work."""

import numpy as np

from merganser.charts import drawable
from merganser.reporting.section import Section
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.pictures import label
from merganser.reporting.tokenizers.study import Study

#: Longer tokens are counted together.
_LONGEST = 16
_RANKS = [step * 10**power for power in range(6) for step in (1, 2, 5)]


def lengths(study: Study) -> Section:
    """How long tokens are, in the vocabulary and in the text."""
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


def top(study: Study) -> Section:
    """The most frequent tokens that are more than a byte."""
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


def ranks(study: Study) -> Section:
    """How the frequency falls from the first token to the last."""
    values: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    compared = list(study.compared.items())
    counts = {name: np.sort(usage.frequencies[usage.frequencies > 0])[::-1] for name, usage in compared}
    for name, falling in list(counts.items())[: pictures.GROUPS]:
        places = np.unique(np.geomspace(1, len(falling), 120).round().astype(int))
        values += [
            {"rank": int(rank), "frequency": int(falling[rank - 1]), "tokenizer": drawable(name)}
            for rank in places
        ]
    longest = max(map(len, counts.values()))
    for rank in _RANKS:
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
