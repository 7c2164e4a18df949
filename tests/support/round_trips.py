"""Real vocabularies in every format: which hold them, and that they come back and are written the same."""

from pathlib import Path

import merganser
import pytest
import vocabs
from corpora import corpus_text
from merganser.exporting import FORMATS
from stand_in_vocabs import WHOLE_ONLY
from tokenizers import Tokenizer as Theirs

#: Those that hold a tokenizer.
FORMATS_READ = [format for format in FORMATS if format != "token-lengths"]
#: What a format does not say.
UNSAID = {"gpt2": ("pattern",)}
_BYTES = "requires every byte to be its own id"
#: Encoding: the formats that cannot hold it, and why. All others hold it.
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
    """Their library gives our ids, special tokens and all, once it has read what we wrote."""
    ours = vocabs.ours(name)
    ours.export(folder, format="huggingface")
    text = corpus_text("multilingual.txt", 50_000) + "".join(ours.special_tokens)
    live = Theirs.from_file(str(folder / "tokenizer.json"))
    assert live.encode(text).ids == ours.encode(text, allowed_special="all")
