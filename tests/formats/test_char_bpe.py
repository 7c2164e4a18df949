"""The tokenizer that `merganser learn char` saves opens like any other, with the same ids and text."""

import json
from pathlib import Path

import merganser
import owners
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser.learn.char_bpe import CharBPE, learn, split

TEXT = " ".join(owners.samples(2)) + " low lower lowest, slow; slower! It's 12 o'clock — naïve café 字"
MERGES = [merge.pair for merge, _ in zip(learn(split(TEXT)), range(300), strict=False)]
PLAIN = CharBPE("".join(split(TEXT)), MERGES)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> merganser.Tokenizer:
    file = tmp_path_factory.mktemp("char") / "char_tokenizer.json"
    file.write_text(PLAIN.to_json(), "utf-8")
    return merganser.load(file)


@given(
    st.text(st.characters(max_codepoint=0x24FF, exclude_categories=("Cs", "Cn"))) | st.text("low es,t 1\n!")
)
def test_ids_and_text_are_the_same(loaded: merganser.Tokenizer, text: str) -> None:
    ids = loaded.encode(text)
    assert ids == PLAIN.encode(text)
    assert loaded.decode(ids) == PLAIN.decode(ids)


def test_ids_of_long_texts_are_the_same(loaded: merganser.Tokenizer) -> None:
    assert loaded.encode(TEXT) == PLAIN.encode(TEXT)
    assert loaded.decode(loaded.encode(TEXT)) == PLAIN.decode(PLAIN.encode(TEXT))


def test_bad_files_are_named(tmp_path: Path) -> None:
    file = tmp_path / "char_tokenizer.json"
    good = json.loads(PLAIN.to_json())
    for change, message in (
        ({"skip_unknown": True}, "without skip_unknown"),
        ({"merges": [["x", "☃"]]}, "no tokens"),
        ({"vocabulary": {"a": 0}}, "lacks <unk> or </w>"),
    ):
        file.write_text(json.dumps(good | change), "utf-8")
        with pytest.raises(merganser.FormatError, match=message):
            merganser.load(file)
