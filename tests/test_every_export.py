"""Every preset and a custom pattern: all exports produce our ids, for any text and special tokens.

tests/long/test_every_export.py repeats this with the complete shared corpora.
"""

from collections.abc import Collection

import merganser
import pytest
from corpora import corpus_text
from everywhere import PATTERNS, SPECIAL_TOKENS, Everywhere
from hypothesis import given
from hypothesis import strategies as st
from strategies import texts

FILES = ["code.txt", "english.txt", "multilingual.txt", "tinyshakespeare.txt"]


@pytest.fixture(scope="module")
def samples() -> list[str]:
    return [corpus_text(file, 50_000) for file in FILES]


@pytest.fixture(scope="module", params=PATTERNS)
def exports(
    request: pytest.FixtureRequest, samples: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Everywhere:
    tokenizer = merganser.train(samples, 2000, pattern=request.param, special_tokens=SPECIAL_TOKENS)
    return Everywhere.of(tokenizer, tmp_path_factory.mktemp("export"))


def test_real_text_has_the_same_ids_everywhere(exports: Everywhere, samples: list[str]) -> None:
    documents = [document for sample in samples for document in sample.split("<|endoftext|>")]
    assert exports.check(documents) > 200_000
    for sample in samples:
        exports.check_by_hand(sample[:5000])


@given(st.lists(texts, max_size=5))
def test_any_text_has_the_same_ids_everywhere(exports: Everywhere, documents: list[str]) -> None:
    exports.check(document for document in documents if not holds_special(document))


def holds_special(text: str) -> bool:
    return any(special in text for special in SPECIAL_TOKENS)


#: Whole, partial and overlapping special tokens.
fragments = st.lists(
    st.sampled_from(
        [*SPECIAL_TOKENS, "<|end", "|end|>", "oftext|>", "<|", "|>", "<|bo", "s|>", " a", "é", "\n"]
    )
).map("".join)
some = st.sets(st.sampled_from(SPECIAL_TOKENS))


@given(fragments, some | st.just("all"), some | st.just("all"))
def test_every_special_token_policy_matches_tiktoken(
    exports: Everywhere, text: str, allowed: Collection[str], disallowed: Collection[str]
) -> None:
    policy = {"allowed_special": allowed, "disallowed_special": disallowed}
    try:
        expected = exports.tiktoken.encode(text, **policy)
    except ValueError:
        with pytest.raises(merganser.EncodeError):
            exports.ours.encode(text, **policy)
    else:
        assert exports.ours.encode(text, **policy) == expected


@given(fragments)
def test_both_special_token_policies_of_hugging_face_are_available(exports: Everywhere, text: str) -> None:
    special = exports.ours.encode(text, allowed_special="all")
    assert exports.tokenizers.encode(text).ids == special
    assert exports.transformers.encode(text) == special
    ordinary = exports.ours.encode_ordinary(text)
    assert exports.transformers.encode(text, split_special_tokens=True) == ordinary
