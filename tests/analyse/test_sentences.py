"""Sentences: the built-in ones, and files of the user."""

from pathlib import Path

import pytest
from merganser import CorpusError, SettingsError
from merganser.analyse.examples import HARD, PARALLEL, SENTENCES
from merganser.analyse.sentences import read_sentences

DOCS = Path(__file__).parents[2] / "docs" / "analyse.md"
#: Sentences that the report must contain verbatim.
REQUIRED = (
    "The monster approached with terrifying deliberation.",
    "Victor felt overwhelming remorse for his creation.",
    "The desolate landscape stretched endlessly before them.",
    "123-456-7890",
    "https://example.com/path?query=value",
    "未来世界",
)


def test_every_example_sentence_is_in_the_docs() -> None:
    ours = {*SENTENCES, *HARD.values()}
    text = DOCS.read_text("utf-8")
    for name in REQUIRED:
        assert name in ours
        assert name in text


def test_every_language_has_ten_sentences() -> None:
    assert len(PARALLEL) >= 8
    assert {len(sentences) for sentences in PARALLEL.values()} == {10}
    every = [sentence for sentences in PARALLEL.values() for sentence in sentences]
    assert len(set(every)) == len(every)


def test_files_with_and_without_languages_are_read(tmp_path: Path) -> None:
    file = tmp_path / "lines.txt"
    file.write_text("One.\n\n  Two  \n\u2028\x85Three\r\n", "utf-8", newline="")
    assert read_sentences(file) == {"sentences": ("One.", "  Two  ", "\u2028\x85Three")}
    file.write_text("English\tYes\nGerman\tJa\nEnglish\tNo\nGerman\tNein\n", "utf-8")
    assert read_sentences(file) == {
        "sentences": ("Yes", "Ja"),
        "parallel": {"English": ("Yes", "No"), "German": ("Ja", "Nein")},
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "contains no sentences; write one per line"),
        (b"a\tb\nc\n", "line 2: either every line must start with a language and a tab"),
        (b"c\na\tb\n", "line 2: either every line must start with a language and a tab"),
        (b"a\tb\na\tc\nd\te\n", "1 sentences in d but 2 in a; write the same sentences"),
    ],
)
def test_files_that_cannot_be_compared_are_refused(tmp_path: Path, text: bytes, message: str) -> None:
    file = tmp_path / "lines.txt"
    file.write_bytes(text)
    with pytest.raises(SettingsError, match=message):
        read_sentences(file)


def test_unreadable_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="cannot read"):
        read_sentences(tmp_path / "nowhere")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    with pytest.raises(CorpusError, match="not UTF-8 at byte 3"):
        read_sentences(tmp_path / "latin")
