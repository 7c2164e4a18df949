"""Sections about single texts and single tokens."""

from collections.abc import Mapping

from merganser.analyse.family import family, find, notable
from merganser.analyse.vocabulary import near_duplicates, rare, undecodable, unreachable
from merganser.reporting.section import Section, TokenizedText
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.pictures import label
from merganser.reporting.tokenizers.study import Study
from merganser.tokenizer import Tokenizer


def hard_texts(study: Study) -> Section:
    """Texts that are hard to tokenize."""
    return Section(
        "pathological",
        "Pathological examples",
        "Texts, their tokens and token counts. A character that is split between several tokens is shown "
        "once, with all its ids, and marked; whitespace and control characters are shown as glyphs.",
        _table("example", study, study.hard),
        texts=[_tokenize(study, f"{name}: {text}", text) for name, text in study.hard.items()],
    )


def sentences(study: Study) -> Section:
    """Sentences token by token."""
    return Section(
        "sentences",
        "Sentences",
        "Sentences token by token, with ids.",
        _table("sentence", study, {str(nth): text for nth, text in enumerate(study.sentences, 1)}),
        texts=[_tokenize(study, text, text) for text in study.sentences],
    )


def _tokenize(study: Study, title: str, text: str) -> TokenizedText:
    return TokenizedText(title, {name: usage.tokenizer.show(text) for name, usage in study.usages.items()})


def _table(heading: str, study: Study, texts: Mapping[str, str]) -> Table:
    rows = tuple(
        (
            name,
            text,
            tokenizer,
            shown.tokens,
            "|".join(segment.visible for segment in shown.segments),
            "|".join(segment.numbers for segment in shown.segments),
        )
        for name, text in texts.items()
        for tokenizer, shown in _tokenize(study, name, text).by_tokenizer.items()
    )
    return Table((heading, "text", "tokenizer", "count", "tokens", "ids"), rows)


def family_tree(study: Study) -> Section:
    """The family tree of a token: the merges that built it."""
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
        "A token, the merge that created it, the two tokens that it joined, and so on down to bytes.",
        Table(("token", "id", "merge", "count in training"), tuple(dict.fromkeys(rows))),
        pictures.tree(members),
    )


def vocabulary(study: Study) -> Section:
    """Unreachable, undecodable, unused and nearly duplicate tokens."""
    rows: list[tuple[Cell, ...]] = []
    for name, usage in study.usages.items():
        tokenizer = usage.tokenizer
        groups = near_duplicates(tokenizer)
        unused = rare(usage)
        by_length = sorted(unused, key=lambda id: len(tokenizer.token_bytes(id)))
        rows += [
            (name, "cannot occur in any text", *_examples(tokenizer, unreachable(tokenizer))),
            (name, "are not valid UTF-8 alone", *_examples(tokenizer, undecodable(tokenizer))),
            (name, "do not occur in the held-out text", len(unused), _examples(tokenizer, by_length)[1]),
            (name, "occur at most twice", len(rare(usage, at_most=2)), ""),
            (
                name,
                "differ only in case or a leading space (groups)",
                len(groups),
                "; ".join(" ".join(label(tokenizer.token_bytes(id)) for id in group) for group in groups[:3]),
            ),
        ]
    return Section(
        "vocabulary",
        "Unusual tokens",
        "Single bytes are included: most bytes from 128 on are not valid UTF-8 alone. Tokens that do not "
        "occur here may occur elsewhere, since the held-out text is small.",
        Table(("tokenizer", "tokens that", "count", "examples"), tuple(rows)),
        figures_first=True,
    )


def _examples(tokenizer: Tokenizer, ids: list[int]) -> tuple[int, str]:
    return len(ids), " ".join(_short(label(tokenizer.token_bytes(id))) for id in ids[-6:])


def _short(token: str) -> str:
    return token if len(token) <= 24 else f"{token[:20]}…"
