"""Sections about the lengths and frequencies of tokens."""

from collections import Counter

import numpy as np

from merganser.analyse.keyness import keyness
from merganser.analyse.subwords import FUNCTION_WORDS, Subword, subwords, words_of
from merganser.charts import drawable
from merganser.charts.spec import stacked
from merganser.charts.theme import BLUE, PALE
from merganser.reporting.section import Section
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.pictures import label
from merganser.reporting.tokenizers.study import Study

#: Longer tokens are counted together.
_LONGEST = 16
#: The number of subwords in each panel.
_TOP = 30
_CHARACTERISTIC = 40
_RANKS = [step * 10**power for power in range(6) for step in (1, 2, 5)]


def lengths(study: Study) -> Section:
    """Token lengths in the vocabulary and in the text."""
    usage = study.main
    lengths = np.array([min(len(usage.tokenizer.token_bytes(id)), _LONGEST) for id in usage.ids.tolist()])
    in_vocabulary = np.bincount(lengths, minlength=_LONGEST + 1)
    in_text = np.zeros(_LONGEST + 1, dtype=np.int64)
    np.add.at(in_text, lengths, usage.frequencies)
    names = [str(length) for length in range(1, _LONGEST)] + [f"{_LONGEST}+"]
    values = [
        {"bytes": name, "share": int(part[nth]) / int(part.sum()), "of": of}
        for of, part in (("vocabulary", in_vocabulary), ("held-out text", in_text))
        for nth, name in enumerate(names, 1)
    ]
    return Section(
        "token-lengths",
        "Token length distribution",
        "Token lengths in bytes: of the vocabulary, and of the tokens in the held-out text, where short "
        "tokens dominate.",
        Table(
            ("bytes", "tokens in the vocabulary", "tokens in the text"),
            tuple((name, int(in_vocabulary[nth]), int(in_text[nth])) for nth, name in enumerate(names, 1)),
        ),
        pictures.bars(values, "bytes", "share", group="of", colors=(PALE, BLUE), percent=True),
    )


def top_subwords(study: Study) -> Section:
    """The most frequent tokens within words, those that are whole words, and words of this text alone."""
    token_bytes = study.tokenizer.token_bytes
    within: list[Subword] = []
    whole: list[Subword] = []
    function_words: list[Subword] = []
    tokens: dict[str, Subword] = {}
    for part in subwords(study.tokenizer, study.pretokens):
        word = token_bytes(part.id).decode("utf-8", "replace").strip().lower()
        if part.place != "word":
            within.append(part)
        elif word in FUNCTION_WORDS:
            function_words.append(part)
        else:
            whole.append(part)
            tokens.setdefault(word, part)
    scores = _keyness(study)
    characteristic = sorted((word for word in tokens if word in scores), key=lambda word: -scores[word])
    panels: dict[str, tuple[list[Subword], list[float | None]]] = {
        "within words": (within[:_TOP], [None] * _TOP),
        "whole words": (whole[:_TOP], [None] * _TOP),
        "characteristic words": (
            [tokens[word] for word in characteristic[:_CHARACTERISTIC]],
            [scores[word] for word in characteristic[:_CHARACTERISTIC]],
        ),
        "function words": (function_words[:_TOP], [None] * _TOP),
    }
    rows: list[tuple[Cell, ...]] = []
    charts = []
    for panel, (parts, ratios) in panels.items():
        values = [
            {
                "token": _label(part, token_bytes(part.id)),
                "place": part.place,
                "id": part.id,
                "occurrences": part.occurrences,
                "keyness": ratio,
            }
            for part, ratio in zip(parts, ratios, strict=False)
        ]
        rows += [(panel, rank, *value.values()) for rank, value in enumerate(values, 1)]
        if values and panel != "function words":
            title = {"text": panel, "fontSize": 12, "fontWeight": "normal", "frame": "group"}
            number = "occurrences" if values[0]["keyness"] is None else "keyness"
            charts.append({"title": title, **pictures.bars(values, "token", number)})
    return Section(
        "top-subwords",
        "Top subwords",
        f"The most frequent tokens of more than one letter in the words of {study.pretokens_from}: parts of "
        "words (a hyphen marks where the word continues), and whole words, without the function words of "
        "English, which lead every such list and are in the table. · is a space. If the text is English, the "
        "words that are characteristic of it follow: their keyness is the ratio of their frequencies in it "
        "and in general English, books and documentation, each per million words plus 100.",
        Table(("panel", "rank", "token", "place", "id", "occurrences", "keyness"), tuple(rows)),
        stacked(*charts) if charts else None,
    )


def _keyness(study: Study) -> dict[str, float]:
    """Return the keyness of the words of the text, in lower case."""
    words: Counter[str] = Counter()
    for word, times in words_of(study.pretokens).items():
        words[word.strip().lower()] += times
    return keyness(words)


def _label(part: Subword, token: bytes) -> str:
    before = "-" * (part.place in ("inside", "suffix"))
    return before + label(token) + "-" * (part.place in ("inside", "prefix"))


def frequency_ranks(study: Study) -> Section:
    """Token frequency by rank."""
    values: list[dict[str, object]] = []
    rows: list[tuple[Cell, ...]] = []
    compared = list(study.compared.items())
    counts = {name: np.sort(usage.frequencies[usage.frequencies > 0])[::-1] for name, usage in compared}
    for name, descending in list(counts.items())[: pictures.GROUPS]:
        ranks = np.unique(np.geomspace(1, len(descending), 120).round().astype(int))
        values += [
            {"rank": int(rank), "frequency": int(descending[rank - 1]), "tokenizer": drawable(name)}
            for rank in ranks
        ]
    longest = max(map(len, counts.values()))
    for rank in _RANKS:
        if rank <= longest:
            rows.append((rank, *(int(f[rank - 1]) if rank <= len(f) else None for f in counts.values())))
    return Section(
        "frequency-rank",
        "Frequency by rank",
        "Count of the most frequent token in the held-out text, of the second, and so on. Whole words would "
        "be close to a straight line (Zipf's law); merging lowers the top and raises the middle.",
        Table(("rank", *counts), tuple(rows)),
        pictures.lines(values, "rank", "frequency", "tokenizer"),
    )
