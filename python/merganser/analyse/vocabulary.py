"""Vocabulary: tokens that deserve a second look.

Each costs a pass over the vocabulary, some tens of milliseconds for 100,000 tokens.
"""

from collections import defaultdict

import numpy as np

from merganser._core import split
from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer


def unreachable(tokenizer: Tokenizer) -> list[int]:
    """Ids that no text can yield: no merge makes the token, and it is no pre-token by itself.

    What training makes can always be reached; imported vocabularies may hold others. A token that merges do
    make, but that the pattern always cuts, is not found: that would take a proof about the pattern.

    >>> ranks = {bytes([byte]): byte for byte in range(256)}
    >>> unreachable(Tokenizer(ranks | {b"ab": 256, b"abc": 257, b"xyz": 258, b"x y": 259}))
    [259]

    `abc` is `ab` and `c`; `xyz` has no merge, but the whole pre-token is looked up; `x y` is two pre-tokens.
    """
    made = set(tokenizer.merges_as_ids.values())
    pattern = tokenizer.pattern_name or tokenizer.pattern
    return [
        id
        for token, id in tokenizer.mergeable_ranks.items()
        if len(token) > 1 and id not in made and not _is_pretoken(token, pattern)
    ]


def _is_pretoken(token: bytes, pattern: str) -> bool:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return False  # text is split between characters
    return split(text, pattern) == [text]


def undecodable(tokenizer: Tokenizer) -> list[int]:
    """Ids that are no text alone, because they begin or end inside of a character.

    >>> tokenizer = Tokenizer({bytes([byte]): byte for byte in range(256)} | {"é".encode(): 256})
    >>> undecodable(tokenizer) == list(range(128, 256))
    True
    """
    return [id for token, id in tokenizer.mergeable_ranks.items() if not _decodes(token)]


def _decodes(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def near_duplicates(tokenizer: Tokenizer) -> list[tuple[int, ...]]:
    """Groups of ids that differ only in case or in one leading space; the largest groups first.

    >>> ranks = {bytes([byte]): byte for byte in range(256)}
    >>> words = ("th", "the", "Th", "The", " t", " th", " the")
    >>> vocabulary = Tokenizer(ranks | {word.encode(): 256 + nth for nth, word in enumerate(words)})
    >>> [[vocabulary.token_bytes(id).decode() for id in group] for group in near_duplicates(vocabulary)][:2]
    [['T', 't', ' t'], ['th', 'Th', ' th']]
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for token, id in sorted(tokenizer.mergeable_ranks.items(), key=lambda entry: entry[1]):
        if _decodes(token):
            text = token.decode()
            groups[text if text.isspace() else text.removeprefix(" ").lower()].append(id)
    found = [tuple(group) for group in groups.values() if len(group) > 1]
    return sorted(found, key=lambda group: (-len(group), group))


def rare(usage: Usage, at_most: int = 0) -> list[int]:
    """Ids that occurred at most so often, the rarest first: never, if not said otherwise.

    >>> import merganser
    >>> from merganser.analyse import Sample, use
    >>> usage = use(merganser.train(["low low"] * 9, 259), Sample.of(["low low low"]))
    >>> [usage.tokenizer.token_bytes(id) for id in rare(usage) if id > 255]
    [b'lo']
    """
    if at_most < 0:
        raise SettingsError(f"nothing occurs less than 0 times; at_most is not {at_most}")
    order = np.argsort(usage.frequencies, kind="stable")
    few = order[usage.frequencies[order] <= at_most]
    return [int(id) for id in usage.ids[few]]
