"""Real vocabularies: GPT-2 and Llama 3 in every format; tests/long covers the larger ones."""

from pathlib import Path

import pytest
import round_trips
import vocabs
from corpora import corpus_text


@pytest.mark.parametrize("format", round_trips.FORMATS_READ)
@pytest.mark.parametrize("name", ["gpt2", "llama3"])
def test_a_real_vocabulary_round_trips(tmp_path: Path, name: str, format: str) -> None:
    round_trips.check(tmp_path, name, format)


@pytest.mark.parametrize(
    ("name", "format"), [(name, format) for name in vocabs.ALL for format in round_trips.REFUSED[name]]
)
def test_a_refused_export_gives_the_reason(tmp_path: Path, name: str, format: str) -> None:
    round_trips.check(tmp_path, name, format)


@pytest.mark.parametrize("name", vocabs.ALL)
def test_a_real_vocabulary_encodes_as_tiktoken_does(name: str) -> None:
    ours, theirs = vocabs.ours(name), vocabs.theirs(name)
    for corpus in ("english.txt", "multilingual.txt", "code.txt"):
        text = corpus_text(corpus, 200_000)
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    specials = "a ".join(ours.special_tokens)
    assert ours.encode(specials, allowed_special="all") == theirs.encode(specials, allowed_special="all")


@pytest.mark.parametrize("name", vocabs.ALL)
def test_a_rank_file_is_rewritten_identically(tmp_path: Path, name: str) -> None:
    [file] = vocabs.ours(name).export(tmp_path / "t.tiktoken", format="tiktoken")
    assert file.read_bytes() == vocabs.rank_file(name).read_bytes()
