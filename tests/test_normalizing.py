"""Byte-level training behind a normalizer equals training on the normalized corpus."""

import unicodedata
from pathlib import Path
from typing import Any

import merganser
import owners
import pytest
from merganser import Local

TEXT = [*owners.samples(4), "Ｄｕｃｋ ﬁne é e\u0301  x\n\ny ½ Å\r\n  z! Ärger", "naïve CAFÉ\u00a0X " * 20]


def lowered(text: str) -> str:
    return "".join(c.lower() for c in text)


WAYS: dict[str, Any] = {
    "nfc": lambda text: unicodedata.normalize("NFC", text),
    "nfkd": lambda text: unicodedata.normalize("NFKD", text),
    "nfkc+lowercase": lambda text: lowered(unicodedata.normalize("NFKC", text)),
}


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "o200k"])
@pytest.mark.parametrize("name", WAYS)
def test_merges_and_ids_equal_those_of_the_normalized_corpus(name: str, pattern: str, tmp_path: Path) -> None:
    normalized = [WAYS[name](text) for text in TEXT]
    plain = merganser.train(normalized, 400, pattern=pattern, special_tokens=["<|end|>"])
    ours = merganser.train(TEXT, 400, pattern=pattern, special_tokens=["<|end|>"], normalizer=name)
    assert list(ours.merges) == list(plain.merges)
    assert ours.training["normalizer"] == name
    for text, same in zip(TEXT, normalized, strict=True):
        assert ours.encode(text) == plain.encode(same)
        assert ours.decode(ours.encode(text)) == same
    small = Local(memory="20MB", threads=2, work_dir=tmp_path / "work")
    again = merganser.train(
        TEXT, 400, pattern=pattern, special_tokens=["<|end|>"], normalizer=name, engine=small
    )
    assert again == ours
    live = pytest.importorskip("tokenizers")
    ours.export(tmp_path / "hf", format="huggingface")
    library = live.Tokenizer.from_file(str(tmp_path / "hf" / "tokenizer.json"))
    for text in TEXT:
        assert library.encode(text).ids == ours.encode(text)


def test_wrong_settings_are_named() -> None:
    for arguments, message in (
        ({"normalizer": "nfx"}, "normalizer must be one of nfc"),
        ({"normalizer": "nfc", "pattern": r"\w+"}, "needs a preset as pattern"),
        ({"normalizer": "nfc", "min_pretoken_count": 2}, "cannot be combined with"),
    ):
        with pytest.raises(merganser.SettingsError, match=message):
            merganser.train(TEXT, 300, **arguments)  # type: ignore[arg-type]
