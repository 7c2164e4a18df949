"""Mistral's tekken.json: ids equal tiktoken's, which mistral-common uses, after the special tokens."""

import base64
import json
from pathlib import Path
from typing import Any

import merganser
import pytest
import tiktoken
from merganser.formats import tekken

PATTERN = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
TRAINED = merganser.train(["the cat sat on the mat; 2024 the other cat"] * 9, 270, pattern="qwen2")


def content(**changes: Any) -> dict[str, Any]:
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(TRAINED.mergeable_ranks)
    ]
    config = {
        "pattern": PATTERN,
        "default_vocab_size": 286,
        "default_num_special_tokens": 20,
        "version": "v3",
    }
    return {"config": config, "vocab": vocab, **changes}


def test_ids_equal_tiktokens_after_the_special_tokens(tmp_path: Path) -> None:
    (tmp_path / "tekken.json").write_text(json.dumps(content()), "utf-8")
    loaded = merganser.load(tmp_path)
    ranks = {token: rank for token, rank in TRAINED.mergeable_ranks.items() if rank < 266}
    theirs = tiktoken.Encoding("tekken", pat_str=PATTERN, mergeable_ranks=ranks, special_tokens={})
    for text in ("the cat's <s> mat/\n", "naïve 中文 2024", ""):
        ids = [id + 20 for id in theirs.encode_ordinary(text)]
        assert loaded.encode_ordinary(text) == ids
        assert loaded.decode(ids) == text


def test_special_tokens_have_the_first_ids_and_missing_names_are_filled_in() -> None:
    named = [{"rank": 0, "token_str": "<unk>"}, {"rank": 1, "token_str": "<s>"}]
    assert list(tekken.parse(content()).special_tokens.items())[:3] == [("<unk>", 0), ("<s>", 1), ("</s>", 2)]
    filled = tekken.parse(content(special_tokens=named)).special_tokens
    assert [filled["<s>"], filled["<SPECIAL_2>"], filled["<SPECIAL_19>"]] == [1, 2, 19]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config": {"pattern": 5}}, "lacks the pattern"),
        ({"config": content()["config"] | {"default_vocab_size": 10**9}}, "lacks the pattern"),
        ({"config": content()["config"] | {"default_vocab_size": 19}}, "lacks the pattern"),
        ({"config": content()["config"] | {"version": "v13"}}, "lacks its special tokens"),
        ({"config": content()["config"] | {"pattern": r"\p{L}+"}}, "may drop text"),
        ({"config": content()["config"] | {"pattern": "("}}, "no usable tokenizer"),
        ({"vocab": [5] * 300}, "a rank and bytes"),
        ({"vocab": content()["vocab"][1:] * 2}, "without gaps"),
        ({"vocab": [token | {"token_bytes": "*"} for token in content()["vocab"]]}, "not base64"),
        ({"special_tokens": [{"rank": 99, "token_str": "x"}]}, "a rank and a name"),
        ({"special_tokens": [{"rank": 0, "token_str": "x"}] * 2}, "a rank and a name"),
    ],
)
def test_corrupt_files_are_refused(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps(content(**changes)), "utf-8")
    with pytest.raises(merganser.FormatError, match=rf"t\.json.*{reason}"):
        merganser.load(tmp_path / "t.json")
