"""Hugging Face: exports produce our ids there and round-trip, and unsupported features are refused."""

import json
import sys
from pathlib import Path
from typing import Any

import merganser
import pytest
import round_trips
from corpora import corpus_text
from exported import ADVERSARIAL, TRAINED
from hypothesis import given
from merganser import ExportError, FormatError, SettingsError, Tokenizer, TokenizerError
from strategies import texts
from tokenizers import Tokenizer as Theirs

BYTES = {bytes([byte]): byte for byte in range(256)}
LIVE = {pattern: tokenizer.to_huggingface() for pattern, tokenizer in TRAINED.items()}


@pytest.mark.parametrize("pattern", TRAINED)
@given(text=texts)
def test_the_peer_produces_the_same_ids(pattern: str, text: str) -> None:
    ours, theirs = TRAINED[pattern], LIVE[pattern]
    for written in (text, f"{text}<s>{text}</s>"):
        ids = ours.encode(written, allowed_special="all")
        assert theirs.encode(written).ids == ids
        assert theirs.decode(ids, skip_special_tokens=False) == written


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "o200k", "nanochat", "qwen2", "llama3", r"\w+"])
@pytest.mark.parametrize("name", [name for name in ADVERSARIAL if name != "all code points"])
def test_the_peer_produces_the_same_ids_for_adversarial_texts(pattern: str, name: str) -> None:
    text = ADVERSARIAL[name][:4000]
    assert LIVE[pattern].encode(text).ids == TRAINED[pattern].encode_ordinary(text)


@pytest.mark.parametrize("corpus", ["english.txt", "multilingual.txt", "code.txt"])
def test_auto_tokenizer_produces_the_same_ids(tmp_path: Path, corpus: str) -> None:
    transformers = pytest.importorskip("transformers")
    text = corpus_text(corpus, 200_000)
    tokenizer = merganser.train([text], 2000, special_tokens=["<|bos|>", "<|endoftext|>"])
    assert [file.name for file in tokenizer.export(tmp_path, format="huggingface")] == [
        "tokenizer.json",
        "tokenizer_config.json",
    ]
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (auto.bos_token, auto.eos_token) == ("<|bos|>", "<|endoftext|>")
    assert len(auto) == 2000
    ids = tokenizer.encode(text, allowed_special="all")
    assert auto.encode(text, add_special_tokens=False) == ids
    assert auto.encode("a <|endoftext|>b")[-2] == tokenizer.special_tokens["<|endoftext|>"]
    assert auto.decode(ids) == text


@pytest.mark.parametrize(
    ("pad", "unk", "mask"),
    [
        ("<|pad|>", "<|unk|>", "<|mask|>"),
        ("<pad>", "<unk>", "<mask>"),
        ("[PAD]", "[UNK]", "[MASK]"),
        ("<|padding|>", "<|unknown|>", "<mask>"),
    ],
)
def test_special_tokens_get_the_roles_of_their_conventional_names(
    tmp_path: Path, pad: str, unk: str, mask: str
) -> None:
    transformers = pytest.importorskip("transformers")
    names = ["<|endoftext|>", pad, unk, mask, "[SEP]", "[CLS]", "<|other|>"]
    tokenizer = merganser.train([corpus_text("english.txt", 50_000)], 600, special_tokens=names)
    tokenizer.export(tmp_path, format="huggingface")
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (auto.eos_token, auto.pad_token, auto.unk_token, auto.mask_token) == (names[0], pad, unk, mask)
    assert (auto.sep_token, auto.cls_token, auto.bos_token) == ("[SEP]", "[CLS]", None)
    _check_same_when_padded(auto, tokenizer, tmp_path)


def test_a_role_can_be_given(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    names = ["<|endoftext|>", "<|pad|>", "<|blank|>"]
    tokenizer = merganser.train([corpus_text("english.txt", 50_000)], 600, special_tokens=names)
    roles = {"pad": "<|endoftext|>", "mask": "<|blank|>"}
    tokenizer.export(tmp_path, format="huggingface", roles=roles)
    auto = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert (auto.eos_token, auto.pad_token, auto.mask_token) == (names[0], names[0], names[2])
    assert auto.unk_token is None
    _check_same_when_padded(auto, tokenizer, tmp_path)


def _check_same_when_padded(auto: Any, tokenizer: Tokenizer, folder: Path) -> None:
    """Check that a batch is padded, that ids are ours, and that the export loads as the same tokenizer."""
    texts = ["one", "and one that is much longer", ""]
    batch = auto(texts, padding=True, add_special_tokens=False)
    pad = tokenizer.special_tokens[auto.pad_token]
    assert auto.pad_token_id == pad
    longest = max(map(len, tokenizer.encode_batch(texts)))
    for text, ids, mask in zip(texts, batch["input_ids"], batch["attention_mask"], strict=True):
        ours = tokenizer.encode(text)
        assert ids == ours + [pad] * (longest - len(ours))
        assert mask == [1] * len(ours) + [0] * (longest - len(ours))
    for name in tokenizer.special_tokens:  # unlike BERT's mask token, ours leaves the space before it alone
        text = f" a {name} \u0378\U0010ffff {name}{name}é"
        assert auto.encode(text, add_special_tokens=False) == tokenizer.encode(text, allowed_special="all")
    assert merganser.verify(tokenizer, auto, on=[corpus_text("english.txt", 50_000)])
    assert merganser.load(folder) == tokenizer


def test_no_pad_token_is_invented(tmp_path: Path) -> None:
    merganser.train(["the cat"], 257, special_tokens=["<|endoftext|>"]).export(tmp_path, format="huggingface")
    config = json.loads((tmp_path / "tokenizer_config.json").read_text("utf-8"))
    assert {name for name in config if name.endswith("_token")} == {"eos_token"}


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (
            {"pad": "<|pad|>"},
            r"'<\|pad\|>' cannot be the pad token.*use one of its special tokens \(<s>, </s>\)",
        ),
        ({"pad": "a"}, "'a' cannot be the pad token"),
        ({"padding": "<s>"}, "'padding' is not a role.*bos, eos, unk, sep, pad, cls, mask"),
    ],
)
def test_invalid_roles_are_refused(tmp_path: Path, roles: dict[str, str], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        TRAINED["gpt4"].export(tmp_path / "new", format="huggingface", roles=roles)
    with pytest.raises(SettingsError, match="tiktoken does not support roles; omit roles="):
        TRAINED["gpt4"].export(tmp_path / "new", format="tiktoken", roles={"pad": "<s>"})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("pattern", TRAINED)
def test_a_written_file_is_read_and_rewritten_identically(tmp_path: Path, pattern: str) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    TRAINED[pattern].export(first, format="huggingface")
    for source in (first, first / "tokenizer.json", LIVE[pattern]):
        back = merganser.load(source)
        assert back == TRAINED[pattern]
        back.export(second, format="huggingface")
        for name in ("tokenizer.json", "tokenizer_config.json"):
            assert (first / name).read_bytes() == (second / name).read_bytes()


def test_the_library_reads_a_real_vocabulary(tmp_path: Path) -> None:
    round_trips.check_hugging_face(tmp_path, "llama3")  # has tokens that no merge produces


def test_a_token_that_no_merge_produces_stays_whole() -> None:
    tokenizer = Tokenizer(BYTES | {b"abc": 256}, pattern="gpt2")
    live = tokenizer.to_huggingface()
    for text in ("abc", "abcd", " abc", "abc abc"):
        assert live.encode(text).ids == tokenizer.encode(text)
    assert merganser.load(live) == tokenizer


def test_a_tokenizer_that_the_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    for tokenizer, message in (
        (Tokenizer(BYTES, special_tokens={"é": 256}), "another name"),
        (
            Tokenizer(BYTES | {b"abc": 256}, pattern="whitespace", special_tokens={"<s>": 300}),
            "one pre-token",
        ),
        (Tokenizer(BYTES, pattern=r"(?i)ss|."), "ignores case"),
    ):
        with pytest.raises(ExportError, match=message):
            tokenizer.export(tmp_path / "new", format="huggingface")
        with pytest.raises(ExportError, match=message):
            tokenizer.to_huggingface()
    assert not (tmp_path / "new").exists()


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[hf\]'"):
        TRAINED["gpt4"].to_huggingface()


NO_SPLIT = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}


SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": {"type": "Unknown"}}, "Unknown"),
        ({"normalizer": 5}, "its normalizer is not an object"),
        ({"pre_tokenizer": {"type": "Unknown"}}, "Unknown"),
        ({"pre_tokenizer": SPLIT | {"pattern": {"Regex": r"\Gx"}}}, "interpret its pattern"),
        ({"decoder": {"type": "Unknown"}}, "decoder"),
        ({"post_processor": {"type": "Unknown"}}, "Unknown"),
        ({"model": {"type": "Unigram"}}, "Unigram"),
        ({"model": {"merges": 5}}, "merges"),
        ({"model": {"merges": ["a b c"]}}, "not two tokens"),
        ({"model": {"merges": [["a", "\U0001f600"]]}}, "are not tokens"),
        ({"model": {"merges": [["\u0120", "\u0120"], ["q", "z"]]}}, "are not tokens"),
        ({"model": {"vocab": {"a": "0"}}}, "map every token to an id"),
        ({"added_tokens": [{"id": "4", "content": "x"}]}, "each have a name and an id"),
        ({"added_tokens": 7}, "not a list"),
    ],
)
def test_a_file_that_cannot_be_represented_is_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    whole = json.loads(LIVE["gpt4"].to_str())
    for name, value in change.items():
        whole[name] = whole[name] | value if name == "model" else value
    (tmp_path / "t.json").write_text(json.dumps(whole), "utf-8")
    with pytest.raises(FormatError, match=rf"t\.json.*({message})"):
        merganser.load(tmp_path / "t.json")


@pytest.mark.parametrize(
    "change",
    [
        {"pre_tokenizer": NO_SPLIT},
        {"pre_tokenizer": {"type": "Whitespace"}},
        {"pre_tokenizer": None},
        {"model": {"byte_fallback": True}},
        {"model": {"merges": []}},
        {"model": {"vocab": {"a": 0}, "merges": []}, "added_tokens": []},
        {"added_tokens": [{"id": 298, "content": "<s>", "lstrip": True}]},
        {"added_tokens": [{"id": 298, "content": "<s>"}] * 2},
        {
            "added_tokens": [
                {"id": 298, "content": "<s>", "normalized": True},
                {"id": 299, "content": ">x", "normalized": False},
            ]
        },
    ],
)
def test_a_file_that_is_not_plain_has_the_librarys_ids(change: dict[str, Any]) -> None:
    from tokenizers import Tokenizer as Theirs

    whole = json.loads(LIVE["gpt4"].to_str())
    for name, value in change.items():
        whole[name] = whole[name] | value if name == "model" else value
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
    whole["added_tokens"] = [flags | token for token in whole["added_tokens"]]
    theirs = Theirs.from_str(json.dumps(whole))
    ours = merganser.load(theirs)
    for text in ("the cat  <s>x naïve", " <s> a<s>x", "中文 'll 2024"):
        ids = theirs.encode(text, add_special_tokens=False).ids
        assert ours.encode(text, allowed_special="all") == ids


def test_a_live_tokenizer_that_cannot_be_represented_is_refused() -> None:
    from tokenizers import models

    with pytest.raises(TokenizerError, match="Unigram"):
        merganser.load(Theirs(models.Unigram()))
    with pytest.raises(SettingsError, match="already contains its pattern"):
        merganser.load(LIVE["gpt4"], pattern="gpt4")


def test_the_export_command_writes_the_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from merganser.cli import main

    TRAINED["gpt4"].save(tmp_path / "ours")
    for form in ("huggingface", "gpt2"):
        out = tmp_path / form
        assert main(["export", str(tmp_path / "ours"), "--to", form, "--out", str(out), "--json"]) == 0
        files = json.loads(capsys.readouterr().out)["files"]
        assert sorted(files) == sorted(map(str, out.iterdir()))
    assert merganser.load(tmp_path / "huggingface") == TRAINED["gpt4"]
