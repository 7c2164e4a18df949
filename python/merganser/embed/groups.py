"""Related words of the named corpora, compiled by us to assess vectors.

Words that a corpus lacks are ignored, so the lists also suit similar texts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Groups = dict[str, Sequence[str]]

_AMBIGUOUS = {
    "light": ("At last they saw a light on the shore.", "The good news made her feel light-hearted."),
    "nature": ("It is human nature to hope.", "He spoke of the beauty of nature."),
    "left": ("He left the room without a word.", "Turn left at the bridge."),
}


@dataclass(frozen=True)
class Lists:
    """Lists of words of a corpus."""

    #: Related words, by the name of the group.
    groups: Groups
    #: Words for the heat map besides those of the groups.
    more: Sequence[str]
    #: Words whose neighbors are displayed.
    shown: Sequence[str]
    #: Words of the same meaning, the ground truth of a measure.
    synonyms: Sequence[tuple[str, str]]
    #: Words with several meanings, and a sentence for each of two.
    ambiguous: Mapping[str, tuple[str, str]] = field(default_factory=lambda: _AMBIGUOUS)


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
        ("horror", "terror"),
        ("misery", "wretchedness"),
        ("sorrow", "grief"),
        ("anguish", "agony"),
        ("sufferings", "misfortunes"),
        ("fear", "dread"),
        ("joy", "delight"),
        ("feelings", "sensations"),
        ("affection", "love"),
        ("fiend", "monster"),
        ("creature", "being"),
        ("countenance", "face"),
        ("beautiful", "lovely"),
        ("dead", "lifeless"),
        ("sea", "ocean"),
        ("mountains", "hills"),
        ("ship", "vessel"),
        ("journey", "voyage"),
        ("tale", "story"),
        ("moment", "instant"),
        ("began", "commenced"),
        ("desired", "wished"),
        ("endeavoured", "tried"),
        ("resolved", "determined"),
        ("exclaimed", "cried"),
        ("appeared", "seemed"),
        ("quitted", "left"),
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
        ("large", "huge"),
        ("small", "little"),
        ("begin", "start"),
        ("city", "town"),
        ("road", "street"),
        ("sea", "ocean"),
        ("ship", "vessel"),
        ("happy", "glad"),
        ("quick", "fast"),
        ("help", "aid"),
        ("error", "mistake"),
        ("fight", "battle"),
        ("usually", "normally"),
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
        ("filename", "path"),
        ("directory", "folder"),
        ("function", "method"),
        ("remove", "delete"),
        ("error", "exception"),
        ("begin", "start"),
        ("size", "length"),
        ("dict", "mapping"),
        ("argument", "parameter"),
        ("text", "string"),
        ("check", "test"),
        ("make", "create"),
    ),
    ambiguous={
        "class": ("class Point(Shape): pass", "This is a large class of problems."),
        "for": ("for name in names: print(name)", "Wait for the lock."),
        "file": ("with open(path) as file: pass", "Please file a bug report."),
    },
)

_BY_NAME = {"frankenstein": _NOVEL, "wikitext2": _ENCYCLOPAEDIA, "python-stdlib": _CODE}


def lists(corpus: str | None = None) -> Lists | None:
    """Return the lists of a named corpus, or None if there are none."""
    return _BY_NAME.get(corpus.partition("=")[0]) if corpus else None


def every() -> dict[str, Lists]:
    """Return all lists by the name of their corpus."""
    return dict(_BY_NAME)
