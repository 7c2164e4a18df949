"""Related words of the named corpora, compiled by us to assess vectors.

Words that a corpus lacks are ignored, so the lists also suit similar texts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

Groups = dict[str, Sequence[str]]


@dataclass(frozen=True)
class Lists:
    """Lists of words of a corpus."""

    #: Related words, by the name of the group.
    groups: Groups
    #: Words for the heat map besides those of the groups.
    more: Sequence[str]
    #: Words whose neighbors are displayed.
    shown: Sequence[str]
    #: Words that are nearly synonymous in this text.
    synonyms: Sequence[tuple[str, str]]
    #: Words with several meanings.
    ambiguous: Sequence[str] = field(default=("light", "nature", "left"))


_NOVEL = Lists(
    groups={
        "emotion": ("miserable", "wretched", "horror", "despair"),
        "characters": ("victor", "creature", "elizabeth", "clerval"),
        "nature": ("mountains", "ice", "lake", "ocean"),
        "actions": ("felt", "thought", "looked", "spoke"),
    },
    more=(
        *(
            "monster",
            "frankenstein",
            "desolate",
            "misery",
            "grief",
            "joy",
            "hope",
            "fear",
            "father",
            "mother",
        ),
        *("brother", "friend", "night", "day", "morning", "moon", "death", "life", "snow", "sea", "wind"),
        *("saw", "heard"),
    ),
    shown=(
        *("creature", "monster", "miserable", "horror", "father", "elizabeth", "mountains", "night", "felt"),
        "death",
    ),
    synonyms=(
        ("miserable", "wretched"),
        ("horror", "despair"),
        ("misery", "grief"),
        ("sea", "ocean"),
        ("mountains", "valley"),
        ("father", "mother"),
        ("felt", "thought"),
        ("night", "morning"),
        ("fiend", "monster"),
        ("joy", "delight"),
        ("ice", "snow"),
        ("spirits", "mind"),
    ),
)

_ENCYCLOPAEDIA = Lists(
    groups={
        "family": ("father", "mother", "brother", "sister", "son", "daughter"),
        "time": ("year", "month", "week", "day", "hour"),
        "places": ("city", "town", "village", "country", "river"),
        "people": ("king", "queen", "prince", "president", "minister"),
        "numbers": ("two", "three", "four", "five", "six"),
        "war": ("army", "soldiers", "battle", "war", "enemy"),
    },
    more=(
        *(
            "house",
            "street",
            "church",
            "school",
            "book",
            "letter",
            "money",
            "water",
            "fire",
            "white",
            "black",
        ),
        *("red", "man", "woman"),
    ),
    shown=("king", "mother", "city", "river", "war", "three", "week", "school", "water", "red"),
    synonyms=(
        ("big", "large"),
        ("small", "little"),
        ("begin", "start"),
        ("city", "town"),
        ("road", "street"),
        ("father", "mother"),
        ("sea", "ocean"),
        ("happy", "glad"),
        ("king", "prince"),
        ("battle", "war"),
        ("error", "failure"),
        ("large", "huge"),
    ),
)

_CODE = Lists(
    groups={
        "errors": ("ValueError", "TypeError", "KeyError", "RuntimeError", "OSError"),
        "types": ("int", "str", "bytes", "list", "dict", "tuple"),
        "flow": ("for", "while", "if", "elif", "return"),
        "files": ("file", "path", "filename", "directory", "open"),
        "network": ("socket", "host", "port", "server", "address"),
    },
    more=(
        "self",
        "cls",
        "None",
        "True",
        "False",
        "import",
        "class",
        "def",
        "raise",
        "try",
        "except",
        "yield",
    ),
    shown=("ValueError", "int", "for", "path", "socket", "True", "self", "class", "encoding", "thread"),
    synonyms=(
        ("ValueError", "TypeError"),
        ("int", "float"),
        ("list", "tuple"),
        ("filename", "path"),
        ("True", "False"),
        ("host", "port"),
        ("encode", "decode"),
        ("read", "write"),
        ("if", "elif"),
        ("directory", "folder"),
    ),
    ambiguous=("class", "for", "file"),
)

_BY_NAME = {"frankenstein": _NOVEL, "wikitext2": _ENCYCLOPAEDIA, "python-stdlib": _CODE}


def lists(corpus: str | None = None) -> Lists | None:
    """Return the lists of a named corpus, or None if there are none."""
    return _BY_NAME.get(corpus.partition("=")[0]) if corpus else None


def every() -> dict[str, Lists]:
    """Return all lists by the name of their corpus."""
    return dict(_BY_NAME)
