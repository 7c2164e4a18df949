"""Merge trees: every member is the concatenation of its two parents."""

import merganser
import pytest
from merganser import SettingsError, analyse
from merganser.analyse.family import family, find, notable

TEXT = "lower lowest slower slow low; naïve café"
TOKENIZER = merganser.train([TEXT] * 9, 279, special_tokens=["<end>"])


def test_a_hand_computed_tree_is_reproduced() -> None:
    tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    tree = [(m.token, m.start, m.end, m.depth, m.merge, m.seen) for m in family(tokenizer, 258)]
    assert tree == [
        (b" low", 0, 4, 0, 3, 18),
        (b" ", 0, 1, 1, None, None),
        (b"low", 1, 4, 1, 2, 27),
        (b"lo", 1, 3, 2, 1, 27),
        (b"l", 1, 2, 3, None, None),
        (b"o", 2, 3, 3, None, None),
        (b"w", 3, 4, 2, None, None),
    ]


@pytest.mark.parametrize("id", range(0, 278, 3))
def test_the_leaves_are_the_bytes_of_the_token(id: int) -> None:
    members = family(TOKENIZER, id)
    leaves = sorted((member for member in members if member.merge is None), key=lambda member: member.start)
    assert b"".join(leaf.token for leaf in leaves) == TOKENIZER.token_bytes(id)
    assert all(len(leaf.token) == 1 for leaf in leaves)
    for member in members:
        if member.merge is not None:
            assert (b"".join(TOKENIZER.merges[member.merge - 1])) == member.token


def test_the_longest_word_in_the_text_is_notable() -> None:
    usage = analyse.use(TOKENIZER, analyse.Sample.of(["slower, slower, low"]))
    assert TOKENIZER.token_bytes(notable(usage)) in (b" slower", b" slow", b"slow")
    bytes_only = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})
    assert notable(analyse.use(bytes_only, analyse.Sample.of(["a"]))) == 0


def test_a_token_is_found_by_its_text() -> None:
    assert find(TOKENIZER, "low") == TOKENIZER.encode("low")[0]
    with pytest.raises(
        SettingsError, match="'nowhere' is not a token of this vocabulary; words mostly need a space"
    ):
        find(TOKENIZER, "nowhere")
