"""Sentences and tiles of a report: each figure in them is computed again from the tokenizers."""

import merganser
import numpy as np
import pytest
from merganser.analyse.sample import Sample
from merganser.reporting.tokenizers.experiments import sections
from merganser.reporting.tokenizers.study import Study, study
from merganser.reporting.tokenizers.takeaways import tiles

TEXT = "the cat sat on the mat, and the rat sat on the cat. The cat is fat. " * 9


@pytest.fixture(scope="module")
def measured() -> Study:
    large = merganser.train([TEXT], 278)
    return study({"large": large, "small": large.truncated(265)}, Sample.of([TEXT]), own_domain="mine")


def test_every_section_has_one_sentence(measured: Study) -> None:
    sentences = {section.name: section.takeaway for section in sections(measured)}
    assert len(sentences) == 12
    for name, sentence in sentences.items():
        assert sentence.endswith(".") and "\n" not in sentence, name
    tokens = [len(merganser.train([TEXT], 278).truncated(size).encode(TEXT)) for size in (278, 265)]
    per_token = [len(TEXT) / n for n in tokens]
    assert sentences["comparison"] == (
        f"“large” needs the fewest tokens, {per_token[0]:.2f} bytes each; “small” has {per_token[1]:.2f} and "
        f"needs {tokens[1] / tokens[0] - 1:.0%} more."
    )
    top = np.sort(measured.main.frequencies)[::-1][:100].sum() / tokens[0]
    assert (
        sentences["frequency-rank"] == f"The 100 most frequent tokens of “large” are {top:.0%} of the text."
    )
    assert sentences["merge-progression"].startswith("22 merges of “large” shorten a word from")


def test_tiles_have_a_figure_for_each_tokenizer(measured: Study) -> None:
    by_title = {tile.title: tile.values for tile in tiles(measured)}
    assert by_title["tokens in the vocabulary"] == {"large": "278", "small": "265"}
    used = np.mean(measured.main.frequencies > 0)
    assert by_title["of them occur in the text"]["large"] == f"{used:.0%}"
    assert list(by_title) == [
        "bytes per token",
        "tokens per word",
        "tokens in the vocabulary",
        "of them occur in the text",
    ]
