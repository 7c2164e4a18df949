"""With the template of a tokenizer, ids equal those that its owner gives by default, bos and eos included."""

import json
import pickle
from pathlib import Path
from typing import Any

import kinds
import merganser
import owners
import pytest
from merganser.cli import main
from merganser.tokenizer.template import around_text
from tokenizers import Tokenizer as Library

TEXTS = ["", " ", "Hello, world!", "a<s>b", "中文 text\n"]
#: A template of two tokens before a text and one after it, as Whisper has it.
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"SpecialToken": {"id": "<en>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "</s>", "type_id": 0}},
    ],
    "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
}
NAMES = ["<s>", "</s>", "<en>"]


def file(kind: str, folder: Path, **stages: Any) -> Path:
    """Write the tokenizer.json of a kind with a template; `stages` replace its own."""
    config = json.loads(kinds.hugging_face(kind)) | stages
    ids = {token["content"]: token["id"] for token in config["added_tokens"]}
    top = max([*config["model"]["vocab"].values(), *ids.values()]) + 1
    new = {name: top + n for n, name in enumerate(name for name in NAMES if name not in ids)}
    config["added_tokens"] += [kinds.added(name, special=True) | {"id": id} for name, id in new.items()]
    ids |= new
    tokens = {name: {"id": name, "ids": [id], "tokens": [name]} for name, id in ids.items() if name in NAMES}
    config.setdefault("post_processor", None)
    if config["post_processor"] is None:
        config["post_processor"] = TEMPLATE | {"special_tokens": tokens}
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(config))
    return path


def check_equal(loaded: merganser.Tokenizer, library: Library) -> None:
    library.no_truncation()
    library.no_padding()
    for text in TEXTS:
        ours = loaded.encode(text, allowed_special="all", **loaded.template)
        assert ours == library.encode(text).ids, text
        assert loaded.encode_batch([text], allowed_special="all", **loaded.template) == [ours]
        with_offsets = loaded.encode_with_offsets(text, allowed_special="all", **loaded.template)
        assert with_offsets.ids == ours


@pytest.mark.parametrize("kind", kinds.HUGGING_FACE)
def test_ids_with_the_template_equal_the_owners(kind: str, tmp_path: Path) -> None:
    path = file(kind, tmp_path)
    loaded = merganser.load(path)
    assert loaded.template == {"prepend": ["<s>", "<en>"], "append": ["</s>"]}
    check_equal(loaded, Library.from_file(str(path)))


@pytest.mark.skipif(not owners.TOKENIZERS.exists(), reason="../shared/tokenizers is missing")
def test_ids_of_real_tokenizers_with_the_template_equal_the_owners() -> None:
    with_template = set()
    for path in owners.TOKENIZERS.glob("*/tokenizer.json"):
        try:
            loaded = merganser.load(path)
        except merganser.FormatError:
            continue  # not BPE
        check_equal(loaded, Library.from_file(str(path)))
        if any(loaded.template.values()):
            with_template.add(path.parent.name)
    assert {"llama-2", "llama-3.1-8b-instruct", "roberta-base", "clip-vit-base"} <= with_template


@pytest.mark.parametrize("kind", ["Llama 2", "byte-level with NFC", "plain"])
def test_the_template_is_saved_pickled_and_exported(kind: str, tmp_path: Path) -> None:
    if kind == "plain":
        trained = merganser.train(["low lower lowest"] * 9, 264, special_tokens=["<s>", "</s>"])
        tokenizer = merganser.Tokenizer(
            trained.mergeable_ranks,
            special_tokens=trained.special_tokens,
            template={"prepend": ["<s>"], "append": [trained.token_id(b"low"), "</s>"]},
        )
        assert tokenizer.truncated(261).template["prepend"] == ["<s>"]
    else:
        tokenizer = merganser.load(file(kind, tmp_path))
    ids = tokenizer.encode("low", **tokenizer.template)
    assert ids != tokenizer.encode("low")
    tokenizer.save(tmp_path / "saved.merganser")
    tokenizer.export(tmp_path / "exported", format="huggingface")
    for again in (
        merganser.load(tmp_path / "saved.merganser"),
        pickle.loads(pickle.dumps(tokenizer)),
        merganser.load(tmp_path / "exported"),
    ):
        assert again.encode("low", **again.template) == ids
    assert Library.from_file(str(tmp_path / "exported" / "tokenizer.json")).encode("low").ids == ids


def test_the_command_line_adds_the_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tokenizer = merganser.load(file("Llama 2", tmp_path))
    path = str(tmp_path)
    expected = tokenizer.encode("low", **tokenizer.template)
    for ordinary in ([], ["--ordinary"]):
        assert main(["encode", path, "low", "--add-special-tokens", *ordinary]) == 0
        assert [int(id) for id in capsys.readouterr().out.split()] == expected
    (tmp_path / "a.txt").write_text("low")
    corpus = ["encode", path, str(tmp_path / "a.txt"), "--out", str(tmp_path / "tokens")]
    assert main([*corpus, "--add-special-tokens", "--prepend", "<s>"]) == 2
    assert "cannot be combined" in capsys.readouterr().err
    # Token files have room for one token at each end.
    assert main([*corpus, "--add-special-tokens"]) != 0
    assert "one token" in capsys.readouterr().err


def test_token_files_have_the_template(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    tokenizer = merganser.Tokenizer(
        ranks, special_tokens={"<s>": 256}, template={"prepend": ["<s>"], "append": []}
    )
    tokens = tokenizer.encode_corpus(["ab", "c"], out=tmp_path / "tokens", **tokenizer.template)
    assert [ids.tolist() for ids in tokens.documents()] == [[256, 97, 98], [256, 99]]


def test_an_unknown_token_in_a_template_is_refused() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    with pytest.raises(merganser.TokenizerError, match="template"):
        merganser.Tokenizer(ranks, template={"prepend": ["<s>"], "append": []})


@pytest.mark.parametrize(
    ("single", "reason"),
    [
        ([], "exactly once"),
        ([{"Sequence": {"id": "A"}}, {"Sequence": {"id": "A"}}], "exactly once"),
        ([{"Sequence": {"id": "B"}}], "neither the text"),
        ([{"SpecialToken": {"id": "<x>"}}, {"Sequence": {"id": "A"}}], "neither the text"),
        ([{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}], "no ids"),
    ],
)
def test_a_template_that_does_more_is_refused(single: list[Any], reason: str, tmp_path: Path) -> None:
    template = {"type": "TemplateProcessing", "single": single, "special_tokens": {"<s>": {"ids": ["1"]}}}
    with pytest.raises(ValueError, match=reason):
        around_text(template)
    path = file("Llama 2", tmp_path, post_processor=template)
    with pytest.raises(merganser.FormatError, match=reason):
        merganser.load(path)
