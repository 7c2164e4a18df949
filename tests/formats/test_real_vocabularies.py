"""Real vocabularies in every format: written, read and written again the same, or refused for a reason."""

from pathlib import Path

import merganser
import pytest
import vocabs
from corpora import corpus_text
from merganser.exporting import FORMATS

#: Encoding: the formats that cannot hold it, and why. All others hold it.
_BYTES = "ids of the bytes are the bytes themselves"
REFUSED = {
    "gpt2": {"minbpe": _BYTES},
    "cl100k_base": {"minbpe": _BYTES, "gguf": "no pattern that is the same as 'gpt4'"},
    "o200k_base": {"minbpe": _BYTES, "gguf": "no pattern that is the same as 'o200k'"},
    "llama3": {"minbpe": _BYTES, "gpt2": "588 tokens.* are not made by any merge"},
    "qwen3": {"minbpe": _BYTES},
}
#: What a format does not say.
UNSAID = {"gpt2": ("pattern",)}


@pytest.mark.parametrize("format", [format for format in FORMATS if format != "token-lengths"])
@pytest.mark.parametrize("name", vocabs.ALL)
def test_written_read_and_written_the_same(tmp_path: Path, name: str, format: str) -> None:
    ours = vocabs.ours(name)
    first, second = tmp_path / "1" / "t", tmp_path / "2" / "t"
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


@pytest.mark.parametrize("name", vocabs.ALL)
def test_they_encode_as_tiktoken_does(name: str) -> None:
    ours, theirs = vocabs.ours(name), vocabs.theirs(name)
    for corpus in ("english.txt", "multilingual.txt", "code.txt"):
        text = corpus_text(corpus, 200_000)
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    specials = "a ".join(ours.special_tokens)
    assert ours.encode(specials, allowed_special="all") == theirs.encode(specials, allowed_special="all")


@pytest.mark.parametrize("name", vocabs.ALL)
def test_a_file_of_ranks_is_written_as_it_was(tmp_path: Path, name: str) -> None:
    [file] = vocabs.ours(name).export(tmp_path / "t.tiktoken", format="tiktoken")
    assert file.read_bytes() == vocabs.rank_file(name).read_bytes()
