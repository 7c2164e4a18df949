"""Hugging Face files of other projects, and live transformers tokenizers, produce their ids here.

The files are built from the shared vocabularies, because tests download nothing; each imitates one project.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import merganser
import pytest
import vocabs
from corpora import corpus_text
from exported import TRAINED
from hypothesis import given
from hypothesis import strategies as st
from merganser import Tokenizer, TokenizerError
from merganser.formats import BadFile, gpt2, huggingface
from strategies import texts
from tokenizers import Tokenizer as Theirs
from transformers import AutoTokenizer, PreTrainedTokenizerFast

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
POST_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False, "use_regex": True}
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|"
    r"\s*[\r\n]+|\s+(?!\S)|\s+"
)


def splitting(*patterns: str, behavior: str = "Isolated", invert: bool = False) -> dict[str, Any]:
    splits = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}
        for pattern in patterns
    ]
    return {"type": "Sequence", "pretokenizers": [*splits, BYTE_LEVEL]}


def adding(name: str, id: int) -> dict[str, Any]:
    """Return a post-processor that prepends a token to each text."""
    return {
        "type": "TemplateProcessing",
        "single": [{"SpecialToken": {"id": name, "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
        "special_tokens": {name: {"id": name, "ids": [id], "tokens": [name]}},
    }


def added(id: int, content: str, **changes: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {"id": id, "content": content, **flags, **changes}


def file(tokenizer: Tokenizer, **changes: Any) -> dict[str, Any]:
    """Return a `tokenizer.json` with changes; those under `model` are merged into its model."""
    whole = json.loads(huggingface.contents(tokenizer)[huggingface.FILE])
    model = whole["model"] | changes.pop("model", {})
    return {**whole, **changes, "model": model}


def check(whole: dict[str, Any], text: str) -> Tokenizer:
    """Check that we encode and decode a file as the library does, and return our tokenizer."""
    ours, theirs = huggingface.parse(json.dumps(whole).encode()), Theirs.from_str(json.dumps(whole))
    ids = theirs.encode(text, add_special_tokens=False).ids
    assert ours.encode(text, allowed_special="all") == ids
    assert ours.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    for name, id in ours.special_tokens.items():
        assert theirs.token_to_id(name) == id
    return ours


def test_a_file_like_gpt2s_is_loaded() -> None:
    """A model without a type, merges as strings, <|endoftext|> in the vocabulary, ByteLevel's pattern."""
    tokenizer = vocabs.ours("gpt2")
    whole = file(
        tokenizer,
        added_tokens=[added(tokenizer.special_tokens["<|endoftext|>"], "<|endoftext|>", normalized=True)],
        pre_tokenizer={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True},
        post_processor={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": False},
        decoder={"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True},
    )
    merges = [" ".join(merge) for merge in whole["model"]["merges"]]
    whole["model"] = {
        "dropout": None,
        "unk_token": "<|endoftext|>",
        "continuing_subword_prefix": "",
        "end_of_word_suffix": "",
        "fuse_unk": False,
        "vocab": gpt2.vocabulary(tokenizer),
        "merges": merges,
    }
    text = corpus_text("english.txt", 20_000) + "<|endoftext|> end"
    assert check(whole, text) == tokenizer


def test_a_file_like_llama3s_is_loaded() -> None:
    """Every pair that forms a token is listed as a merge, and a post-processor adds <|begin_of_text|>."""
    # The first 20,000 tokens suffice; the others only take time.
    every = vocabs.ours("llama3").mergeable_ranks
    size = min(20_000, len(every))
    ranks = {token: id for token, id in every.items() if id < size}
    specials = {name: id - len(every) + size for name, id in vocabs.special_tokens("llama3").items()}
    tokenizer = Tokenizer(ranks, pattern="llama3", special_tokens=specials)
    merges = [
        f"{gpt2.to_printable(token[:cut])} {gpt2.to_printable(token[cut:])}"
        for token in ranks
        for cut in range(1, len(token))
        if token[:cut] in ranks and token[cut:] in ranks
    ]
    assert len(merges) > len(ranks)
    whole = file(
        tokenizer,
        pre_tokenizer=splitting(LLAMA3),
        post_processor={
            "type": "Sequence",
            "processors": [POST_BYTE_LEVEL, adding("<|begin_of_text|>", size)],
        },
        model={"ignore_merges": True, "merges": merges},
    )
    text = corpus_text("multilingual.txt", 20_000) + "<|eot_id|><|begin_of_text|>x"
    assert check(whole, text) == tokenizer


SMALL = TRAINED["llama3"]
TEXT = "the cat's dinner,  2024\n\n naïve <s>café</s> 中文 !!"


def test_a_split_that_removes_unmatched_text_is_loaded_if_it_matches_all() -> None:
    """Some cl100k_base files are written like this."""
    assert check(file(SMALL, pre_tokenizer=splitting(LLAMA3, behavior="Removed", invert=True)), TEXT) == SMALL
    dropping = splitting(r"\p{L}+|\s", behavior="Removed", invert=True)
    ours = check(file(SMALL, pre_tokenizer=dropping), TEXT)
    assert ours.decode(ours.encode("a, b!", allowed_special="all")) == "a b"


def test_a_normalizer_as_in_qwen_is_applied() -> None:
    check(file(TRAINED["qwen2"], normalizer={"type": "NFC"}), f"{TEXT} e\u0301 \u212b")


def test_several_splits_as_in_deepseek_are_applied() -> None:
    check(file(SMALL, pre_tokenizer=splitting(r"\p{N}{1,3}", "[一-龥]+", LLAMA3)), f"{TEXT} 12345中文6x")


def test_byte_level_without_a_regex_does_not_split() -> None:
    ours = check(file(SMALL, pre_tokenizer=BYTE_LEVEL), TEXT)
    assert ours.pattern == "(?s:.)+"


def test_a_post_processor_that_does_more_than_add_tokens_is_loaded() -> None:
    roberta = {"type": "RobertaProcessing", "sep": ["</s>", 299], "cls": ["<s>", 298]}
    roberta |= {"trim_offsets": True, "add_prefix_space": False}
    check(file(SMALL, post_processor=roberta), TEXT)


@given(texts)
def test_a_pattern_that_leaves_text_unmatched_yields_the_same_pretokens(text: str) -> None:
    check(file(SMALL, pre_tokenizer=splitting(r"\p{L}+| ?\p{N}{1,3}|[^\s\p{L}\p{N}]+\n")), text)


# ── added tokens ──────────────────────────────────────────────────────────────


def test_added_tokens_that_are_not_special_are_found_in_any_text() -> None:
    tokens = [added(298, "<s>"), added(299, "</s>", special=False), added(300, "<tool>", special=False)]
    ours = check(file(SMALL, added_tokens=tokens), f"{TEXT}<tool>x")
    assert {299, 300} <= set(ours.encode_ordinary(f"{TEXT}<tool>x"))
    assert 298 not in ours.encode_ordinary(f"{TEXT}<tool>x")


def test_gaps_in_ids_are_kept() -> None:
    vocab = file(SMALL)["model"]["vocab"]
    last = max(vocab, key=vocab.__getitem__)
    vocab |= {last: 5000, "<s>": 6000, "</s>": 7000}
    tokens = [added(6000, "<s>"), added(7000, "</s>")]
    ours = check(file(SMALL, added_tokens=tokens, model={"vocab": vocab}), TEXT)
    assert ours.special_tokens == {"<s>": 6000, "</s>": 7000}
    assert ours.mergeable_ranks[gpt2.from_printable(last)] == 5000


names = st.sampled_from(["<s>", "</s>", "<s", "s>", "<<", "<s>s", "x", "ε"])
tokens = st.lists(
    st.tuples(
        st.integers(290, 310) | st.integers(297, 300), names, st.booleans(), st.booleans(), st.booleans()
    ),
    max_size=4,
)


@given(tokens, st.lists(names | st.sampled_from(["a", " ", "<", ">"])).map("".join))
def test_added_tokens_match_the_library_or_are_ambiguous(
    tokens: list[tuple[int, str, bool, bool, bool]], text: str
) -> None:
    whole = file(SMALL, added_tokens=[])
    for id, name, normalized, special, in_vocabulary in tokens:
        whole["added_tokens"].append(added(id, name, normalized=normalized, special=special))
        if in_vocabulary:
            vocab = whole["model"]["vocab"]
            vocab.setdefault(name, id if id not in vocab.values() else max(vocab.values()) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", merganser.MerganserWarning)  # the library gives a token another id
        try:
            huggingface.parse(json.dumps(whole).encode())
        except BadFile as bad:
            assert "is ambiguous" in str(bad)
            return
        check(whole, text)


# ── transformers ──────────────────────────────────────────────────────────────


def test_a_live_transformers_tokenizer_is_loaded(tmp_path: Path) -> None:
    SMALL.export(tmp_path, format="huggingface")
    auto = AutoTokenizer.from_pretrained(tmp_path)
    assert merganser.load(auto) == SMALL
    # The settings of the last call are not part of the tokenizer.
    auto("a cat", truncation=True, max_length=2)
    assert merganser.load(auto) == SMALL
    auto.add_tokens(["<new>"])
    auto.add_special_tokens({"pad_token": "<pad>"})
    more = merganser.load(auto)
    text = f"{TEXT}<new> x<pad>"
    assert more.encode(text, allowed_special="all") == auto.encode(text, add_special_tokens=False)


def test_a_user_defined_subclass_is_loaded() -> None:
    class Mine(PreTrainedTokenizerFast):  # type: ignore[misc]
        pass

    assert merganser.load(Mine(tokenizer_object=SMALL.to_huggingface())) == SMALL


def test_a_slow_tokenizer_is_refused() -> None:
    from transformers import ByT5Tokenizer

    with pytest.raises(
        TokenizerError, match="this ByT5Tokenizer cannot be represented: it is a slow \\(pure"
    ):
        merganser.load(ByT5Tokenizer())


def test_a_fast_tokenizer_of_another_model_is_refused() -> None:
    from tokenizers import models

    unigram = PreTrainedTokenizerFast(tokenizer_object=Theirs(models.Unigram()))
    with pytest.raises(TokenizerError, match="Unigram"):
        merganser.load(unigram)


# ── limits ────────────────────────────────────────────────────────────────────


def test_very_many_added_tokens_are_loaded(tmp_path: Path) -> None:
    many = [added(298 + n, f"<{n}>", normalized=n % 2 == 0, special=n % 3 == 0) for n in range(20_000)]
    (tmp_path / "tokenizer.json").write_text(json.dumps(file(SMALL, added_tokens=many)), "utf-8")
    loaded = merganser.load(tmp_path)
    assert loaded.encode("<7><19999><12>", allowed_special="all") == [305, 20297, 310]


def test_of_a_merge_that_is_listed_twice_the_last_counts() -> None:
    whole = file(SMALL)
    whole["model"]["merges"] += whole["model"]["merges"][:3]
    check(whole, TEXT)


@pytest.mark.parametrize(
    "change",
    [
        {"added_tokens": [added(298, "\ud800")]},
        {"pre_tokenizer": splitting("\ud800")},
        {"post_processor": json.loads('{"type":"Sequence","processors":[' * 300 + "{}" + "]}" * 300)},
        {"pre_tokenizer": json.loads('{"type":"Sequence","pretokenizers":[' * 300 + "{}" + "]}" * 300)},
    ],
    ids=["lone surrogate", "lone surrogate in the pattern", "deep", "deep pre-tokenizer"],
)
def test_corrupt_files_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(BadFile):
        huggingface.parse(json.dumps(file(SMALL, **change)).encode())
