"""Round trips of real vocabularies through every format, and the formats that refuse them."""

from pathlib import Path

import merganser
import pytest
import vocabs
from corpora import corpus_text
from merganser.exporting import FORMATS
from stand_in_vocabs import WHOLE_ONLY
from tokenizers import Tokenizer as Theirs

#: Formats that hold a tokenizer.
#: Formats that hold any byte-level tokenizer.
FORMATS_READ = [format for format in FORMATS if format not in ("sentencepiece", "token-lengths")]
#: Settings that a format does not store.
UNSAID = {"gpt2": ("pattern",)}
_BYTES = "requires every byte to be its own id"
#: Encoding: the formats that refuse it, each with the reason. All others can hold it.
REFUSED = {
    "gpt2": {"minbpe": _BYTES},
    "cl100k_base": {"minbpe": _BYTES, "gguf": "no equivalent of the pattern 'gpt4'"},
    "o200k_base": {"minbpe": _BYTES, "gguf": "no equivalent of the pattern 'o200k'"},
    "llama3": {"minbpe": _BYTES, "gpt2": f"{WHOLE_ONLY} tokens.* are not produced by any merge"},
    "qwen3": {"minbpe": _BYTES},
}


def check(folder: Path, name: str, format: str) -> None:
    ours = vocabs.ours(name)
    first, second = folder / "1" / "t", folder / "2" / "t"
    if reason := REFUSED[name].get(format):
        with pytest.raises(merganser.ExportError, match=reason):
            ours.export(first, format=format)  # type: ignore[arg-type]
        assert not first.exists()
        return
    files = ours.export(first, format=format)  # type: ignore[arg-type]
    unsaid = {"pattern": ours.pattern_name} if "pattern" in UNSAID.get(format, ()) else {}
    back = merganser.load(first, **unsaid)
    assert back == ours
    assert back.pattern_name == ours.pattern_name
    again = back.export(second, format=format)  # type: ignore[arg-type]
    assert [file.relative_to(second) for file in again] == [file.relative_to(first) for file in files]
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files]


def check_hugging_face(folder: Path, name: str) -> None:
    """Check that Hugging Face's library reads our export and produces our ids, including special tokens."""
    ours = vocabs.ours(name)
    ours.export(folder, format="huggingface")
    text = corpus_text("multilingual.txt", 50_000) + "".join(ours.special_tokens)
    live = Theirs.from_file(str(folder / "tokenizer.json"))
    assert live.encode(text).ids == ours.encode(text, allowed_special="all")
