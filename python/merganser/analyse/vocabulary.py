"""Find suspicious tokens in a vocabulary.

Each function makes one pass over the vocabulary, some tens of milliseconds for 100,000 tokens.
"""

from collections import defaultdict

import numpy as np

from merganser._core import split
from merganser.analyse.usage import Usage
from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer


def unreachable(tokenizer: Tokenizer) -> list[int]:
    """Return the ids that no text can yield: no merge produces the token, and it is not a pre-token.

    All tokens of a trained tokenizer are reachable; imported vocabularies may contain others. A token that
    merges produce but the pattern always splits is not reported: that would need a proof about the pattern.

    Examples
    --------
    `abc` is `ab` and `c`; `xyz` has no merge, but whole pre-tokens are looked up; `x y` is two pre-tokens:

    >>> ranks = {bytes([byte]): byte for byte in range(256)}
    >>> unreachable(Tokenizer(ranks | {b"ab": 256, b"abc": 257, b"xyz": 258, b"x y": 259}))
    [259]
    """
    merged = set(tokenizer.merges_as_ids.values())
    pattern = tokenizer.pattern_name or tokenizer.pattern
    return [
        id
        for token, id in tokenizer.mergeable_ranks.items()
        if len(token) > 1 and id not in merged and not _is_pretoken(token, pattern)
    ]


def _is_pretoken(token: bytes, pattern: str) -> bool:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return False  # text is split between characters
    return split(text, pattern) == [text]


def undecodable(tokenizer: Tokenizer) -> list[int]:
    """Return the ids that are not valid UTF-8 alone, because they begin or end inside a character.

    Examples
    --------
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
    """Return groups of ids that differ only in case or one leading space, largest groups first.

    Examples
    --------
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
    several = [tuple(group) for group in groups.values() if len(group) > 1]
    return sorted(several, key=lambda group: (-len(group), group))


def rare(usage: Usage, at_most: int = 0) -> list[int]:
    """Return the ids that occur at most `at_most` times, rarest first.

    Parameters
    ----------
    usage
        The tokenizer's usage on a text, from `use`.
    at_most
        The highest frequency to report; by default, only tokens that never occur.

    Examples
    --------
    >>> import merganser
    >>> from merganser.analyse import Sample, use
    >>> usage = use(merganser.train(["low low"] * 9, 259), Sample.of(["low low low"]))
    >>> [usage.tokenizer.token_bytes(id) for id in rare(usage) if id > 255]
    [b'lo']
    """
    if at_most < 0:
        raise SettingsError(f"at_most must be at least 0, got {at_most}")
    order = np.argsort(usage.frequencies, kind="stable")
    few = order[usage.frequencies[order] <= at_most]
    return [int(id) for id in usage.ids[few]]
