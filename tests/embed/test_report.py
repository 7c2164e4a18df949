"""The report on embeddings: the contexts it chooses, and its progress."""

from pathlib import Path
from typing import Any

import merganser
import numpy as np
import pytest
from merganser import embed
from merganser.embed import groups, study
from merganser.embed.evaluation import synonym_similarity
from merganser.embed.text import Text, read
from merganser.reporting.embeddings import pictures
from merganser.reporting.embeddings.experiments import meaning, sections, similarity
from merganser.reporting.embeddings.report import _about, write
from merganser.reporting.embeddings.takeaways import takeaway
from merganser.reporting.section import Section
from merganser.reporting.tables import Table
from opened import problems, watched

#: Two meanings of one word, each with a vocabulary of its own.
RIVER = ["the bank of the river was green with grass", "fish swim near the bank of the river"] * 80
MONEY = ["the bank lends money and keeps gold", "he took his money and gold to the bank"] * 80


@pytest.fixture(scope="module")
def made() -> tuple[embed.Embeddings, Text]:
    texts = [*RIVER, *MONEY]
    settings = embed.EmbedSettings(embedding_dim=16, epochs=8, subsample=0, threads=1, learning_rate=0.05)
    embeddings = embed.train(texts, settings=settings)
    return embeddings, read(texts, embeddings.tokenizer, 1, None)


def test_the_chosen_occurrences_have_different_meanings(made: tuple[embed.Embeddings, Text]) -> None:
    uses = meaning.Contexts(*made).farthest("bank")
    assert sorted("river" in sentence for sentence in uses.sentences) == [False, True]
    assert sorted("money" in sentence for sentence in uses.sentences) == [False, True]
    assert uses.cosine is not None and uses.cosine < 0


def test_our_sentences_come_first_and_have_a_cosine(made: tuple[embed.Embeddings, Text]) -> None:
    senses = {"bank": ("the bank of the river", "the bank lends money"), "unknown": ("x", "y")}
    lists = groups.Lists(groups={}, more=(), shown=(), synonyms=(), ambiguous=senses)
    section = meaning.ambiguous(*made, lists)
    assert section is not None
    assert [row[2] for row in section.table.rows] == ["example", "example", "text", "text"]
    assert [row[1] for row in section.table.rows][:2] == list(senses["bank"])
    assert all(isinstance(row[4], float) for row in section.table.rows)


def test_synonyms_of_the_novel_are_pairs_of_different_words() -> None:
    for lists in groups.every().values():
        assert len(lists.synonyms) >= 10
        assert len({frozenset(pair) for pair in lists.synonyms}) == len(lists.synonyms)
        assert all(one != other for one, other in lists.synonyms)


def test_the_similarity_of_synonyms(made: tuple[embed.Embeddings, Text]) -> None:
    embeddings, _ = made
    pairs = [("money", "gold"), ("river", "fish"), ("money", "nowhere-in-the-text")]
    expected = np.mean([embeddings.similarity(*pair) for pair in pairs[:2]])
    assert synonym_similarity(embeddings, pairs) == pytest.approx(expected)
    assert synonym_similarity(embeddings, [("x-ray", "zebra")]) is None


def test_progress_reaches_its_total_in_small_steps(
    made: tuple[embed.Embeddings, Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "DIMENSIONS", (4, 8))
    monkeypatch.setattr(study, "_BLOCK", 50)
    steps: list[tuple[int, int]] = []
    sections(*made, lambda stage, done, total: steps.append((done, total)))
    done = [step[0] for step in steps]
    assert done == sorted(done) and len(done) >= 2 * study.SEEDS
    assert steps[-1][0] == steps[-1][1], "complete"
    assert len({total for _, total in steps}) == 1


def test_every_section_has_one_sentence_with_figures_of_its_table(
    made: tuple[embed.Embeddings, Text], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(study, "DIMENSIONS", (4, 8))
    monkeypatch.setattr(study, "_BLOCK", 50)
    embeddings, _ = made
    measured = {section.name: section for section in sections(*made)}
    sentences = {name: takeaway(section) for name, section in measured.items()}
    assert len(sentences) >= 7 and {"similarities", "progress", "objectives", "neighbors"} <= set(sentences)
    for name, sentence in sentences.items():
        if name != "plane_groups":  # without groups in this text
            assert sentence.endswith(".") and "\n" not in sentence, name
    mean = np.mean(embeddings.unit @ embeddings.unit.T - np.eye(len(embeddings)))
    assert f"to {mean * len(embeddings) / (len(embeddings) - 1):.2f};" in sentences["similarities"]
    ranks = [row[1] for row in measured["dimensions"].table.rows]
    assert f"with a mean rank of {min(ranks):.1%}" in sentences["dimensions"]
    word, other = (
        sentences["neighbors"].removeprefix("Of these words, “").split("” has the nearest neighbor: “")
    )
    other, cosine = other.removesuffix(".").split("”, with a cosine of ")
    assert embeddings.similarity(word, other) == pytest.approx(float(cosine), abs=0.006)


def test_the_page_starts_with_figures_and_sentences(
    browser: Any, made: tuple[embed.Embeddings, Text], tmp_path: Path
) -> None:
    made[0].save(tmp_path / "vectors")
    path = write(tmp_path / "vectors", tmp_path / "report")
    for scheme, width in (("light", 1280), ("dark", 390)):
        with watched(browser, path.as_uri(), scheme=scheme, width=width) as page:
            page.wait_for_selector(f"html[data-drawn={scheme}]")
            tiles = page.locator(".figure-tile").all_inner_texts()
            assert set(tiles[0].split()) == {str(len(made[0])), "token", "vectors"}
            assert page.locator(".takeaways li").count() >= 4
            page.locator(".takeaways button", has_text="Nearest neighbors").focus()
            page.keyboard.press("Enter")
            assert page.evaluate("location.hash") == "#neighbors"
            assert problems(page) == []


def test_the_nearest_word_with_a_group_counts() -> None:
    rows = (
        ("a", "one", 9, 0.0, 0.0),
        ("b", "one", 1, 0.0, 1.0),
        ("c", "two", 1, 0.0, 1.5),
        ("d", "two", 2, 5.0, 5.0),
    )
    table = Table(("word", "group", "count", "x", "y"), (*rows, ("e", None, 4, 0.0, 0.1)))
    groups = Section("plane_groups", "", "", table)
    assert takeaway(groups).startswith("For 2 of 4 words in groups")
    frequencies = Section("plane_frequency", "", "", table)
    assert (
        takeaway(frequencies)
        == "Of 5 words, “a” is the most frequent (9×); half of them occur at most 2 times."
    )
    assert takeaway(Section("plane_groups", "", "", Table(table.columns, rows[:2]))) == "", "one group"
    assert takeaway(Section("neighbors", "", "", Table(("", ""), (("a", ""),)))) == ""


def test_the_report_names_backend_and_threads(made: tuple[embed.Embeddings, Text]) -> None:
    assert any("on core, 1 thread." in line for line in _about(made[0]))


def test_tokens_that_cannot_be_looked_up_as_words_are_shown_by_their_labels() -> None:
    """No token is a word, and labels such as `\\xe6\\x96` are not texts; looking them up failed."""
    texts = ["日本語の文章です。猫が好きです。", "漢字がたくさんある文章を書きます。"] * 40
    tokenizer = merganser.train(texts, 262)
    settings = embed.EmbedSettings(embedding_dim=8, epochs=2, threads=1)
    embeddings = embed.train(texts, tokenizer=tokenizer, settings=settings)
    labels = [embeddings.label(row) for row in range(len(embeddings))]
    assert any(label.startswith("\\x") and label not in embeddings for label in labels)
    lists = groups.Lists(groups={}, more=(), shown=("猫",), synonyms=(), ambiguous={})
    heat_map = similarity.heat_map(embeddings, lists)
    neighbors = similarity.neighbors(embeddings, lists)
    assert heat_map is not None
    for section in (heat_map, neighbors):
        shown = [str(row[0]) for row in section.table.rows]
        assert len(shown) == len(set(shown)) and any(label.startswith("\\x") for label in shown)
    for word, nearest in neighbors.table.rows:
        names = [entry.rsplit(" ", 1)[0] for entry in str(nearest).split(", ")]
        assert len(names) == 8 and word not in names and set(names) <= set(labels)


def test_titles_of_panels_fit_a_phone() -> None:
    figures = {
        f"{name}{end}": 0.5
        for name in ("rank", "synonyms", "words", "margin", "seconds_per_epoch")
        for end in ("", "_least", "_most")
    }
    panels = pictures.dimensions([{"dimension": 10, **figures}, {"dimension": 20, **figures}])["vconcat"]
    assert len(panels) == 3
    for panel in panels:
        assert len(panel["title"]["text"]) <= 50
        assert len(panel["title"]["subtitle"]) <= 52
        assert panel["title"]["subtitle"].endswith("axis does not start at 0")
