"""Close-up: single texts and single tokens."""

from collections.abc import Mapping

from merganser.analyse.family import family, find, notable
from merganser.analyse.vocabulary import near_duplicates, rare, undecodable, unreachable
from merganser.reporting.section import Cuts, Section
from merganser.reporting.tables import Cell, Table
from merganser.reporting.tokenizers import pictures
from merganser.reporting.tokenizers.pictures import label
from merganser.reporting.tokenizers.study import Study
from merganser.tokenizer import Tokenizer


def hard(study: Study) -> Section:
    """Texts that tokenizers find hard."""
    return Section(
        "pathological",
        "Pathological examples",
        "Text, its tokens, and how many they are. A character that several tokens share is shown whole, with "
        "all its ids, and marked; white space and control characters are drawn.",
        _table("example", study, study.hard),
        cuts=[_cuts(study, f"{name}: {text}", text) for name, text in study.hard.items()],
    )


def sentences(study: Study) -> Section:
    """Sentences, token by token."""
    return Section(
        "sentences",
        "Sentences",
        "Token by token, with the ids below.",
        _table("sentence", study, {str(nth): text for nth, text in enumerate(study.sentences, 1)}),
        cuts=[_cuts(study, text, text) for text in study.sentences],
    )


def _cuts(study: Study, title: str, text: str) -> Cuts:
    return Cuts(title, {name: usage.tokenizer.show(text) for name, usage in study.usages.items()})


def _table(what: str, study: Study, texts: Mapping[str, str]) -> Table:
    rows = tuple(
        (name, text, whose, shown.tokens, "|".join(segment.visible for segment in shown.segments))
        for name, text in texts.items()
        for whose, shown in _cuts(study, name, text).by.items()
    )
    return Table((what, "text", "tokenizer", "count", "tokens"), rows)


def family_tree(study: Study) -> Section:
    """Which merges made a token."""
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


def vocabulary(study: Study) -> Section:
    """Tokens that no text yields, that are no text alone, that never occurred, and that are much alike."""
    rows: list[tuple[Cell, ...]] = []
    for name, usage in study.usages.items():
        tokenizer = usage.tokenizer
        groups = near_duplicates(tokenizer)
        never = rare(usage)
        by_length = sorted(never, key=lambda id: len(tokenizer.token_bytes(id)))
        rows += [
            (name, "no text can yield them", *_some(tokenizer, unreachable(tokenizer))),
            (name, "not decodable alone", *_some(tokenizer, undecodable(tokenizer))),
            (name, "never occurred in the held-out text", len(never), _some(tokenizer, by_length)[1]),
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
        figures_first=True,
    )


def _some(tokenizer: Tokenizer, ids: list[int]) -> tuple[int, str]:
    return len(ids), " ".join(_short(label(tokenizer.token_bytes(id))) for id in ids[-6:])


def _short(token: str) -> str:
    return token if len(token) <= 24 else f"{token[:20]}…"
