"""Vocabulary checks agree with slow references."""

from collections import Counter
from itertools import chain

import merganser
import pytest
from merganser import SettingsError, analyse
from vocabs import is_real, ours

BYTES = {bytes([byte]): byte for byte in range(256)}
TRAINED = merganser.train(["The the THE they naïve café 中文中文"] * 9, 283, special_tokens=["<end>"])


def test_unreachable_tokens_are_found() -> None:
    tokens = (b"ab", b"abc", b"xyz", b"x y", b"\xc3\xa9\xc3")
    tokenizer = merganser.Tokenizer(BYTES | {token: 256 + nth for nth, token in enumerate(tokens)})
    assert analyse.unreachable(tokenizer) == [259, 260]
    assert tokenizer.encode("xyz") == [258], "a whole pre-token is looked up"
    for text in ("x y", "ax y", "x yz", " x y "):
        assert 259 not in tokenizer.encode(text)


def test_every_token_of_a_trained_tokenizer_is_reachable() -> None:
    assert analyse.unreachable(TRAINED) == []


def test_undecodable_tokens_are_found() -> None:
    found = analyse.undecodable(TRAINED)
    assert set(range(128, 256)) < set(found)
    for id in range(282):
        assert ("\ufffd" in TRAINED.decode([id], errors="replace")) == (id in found)


def test_near_duplicates_are_grouped() -> None:
    words = ("th", "Th", " t", " th", "TH", "  ", "ß", "\xc9")
    ranks = BYTES | {word.encode(): 256 + nth for nth, word in enumerate(words)}
    groups = analyse.near_duplicates(merganser.Tokenizer(ranks))
    assert groups[0] == (256, 257, 259, 260)
    assert groups[1] == (ord("T"), ord("t"), 258)
    assert len(groups) == 27, "the first group, and one for each letter"
    assert not any(261 in group for group in groups), "two spaces are not a variant of one"


def test_rare_tokens_are_listed_rarest_first() -> None:
    usage = analyse.use(TRAINED, analyse.Sample.of(["the the they"]))
    never = analyse.rare(usage)
    seen = Counter(TRAINED.encode("the the they"))
    assert set(range(282)) - set(never) == set(seen)
    assert analyse.rare(usage, at_most=1) == never + sorted(id for id, times in seen.items() if times == 1)
    with pytest.raises(SettingsError, match="at_most must be at least 0, got -1"):
        analyse.rare(usage, at_most=-1)


@pytest.mark.parametrize("name", ["cl100k_base", "llama3"])
def test_real_vocabularies_are_checked(name: str) -> None:
    tokenizer = ours(name)
    for id in analyse.unreachable(tokenizer):
        assert id not in tokenizer.encode_ordinary(tokenizer.decode([id], errors="replace"))
    groups = analyse.near_duplicates(tokenizer)
    assert len(groups) > (10_000 if is_real(name) else 500)
    assert len(set(chain(*groups))) == sum(map(len, groups)), "no token is in two groups"
    for group in groups:
        tokens = [tokenizer.decode([id]) for id in group]
        assert len({token.removeprefix(" ").lower() for token in tokens}) == 1
