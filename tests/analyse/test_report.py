"""Report: all its files, from one training, and no active content."""

import json
import re
import sys
import unicodedata
from pathlib import Path
from typing import Any

import merganser
import pytest
from corpora import CORPORA, corpus_file
from hostile import CORPUS, HOSTILE, tokenizers
from merganser import CorpusError, SettingsError, WriteError, charts, reporting
from merganser.analyse.examples import HARD, SENTENCES
from merganser.reporting.tokenizers.report import TRAINED, default_merges

CHARTS = {
    *("merge-progression", "token-lengths", "top-subwords", "domains", "vocabulary-size", "comparison"),
    *("frequency-rank", "family-tree", "parity"),
}
TABLES = CHARTS | {"pathological", "sentences", "vocabulary"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    reporting.report(
        folder,
        corpus=CORPUS,
        tokenizers=tokenizers(),
        vocab_size=900,
        domains={"<b>mine</b>\x1b\u202e": [*HOSTILE, "the cat"]},
        sentences=HOSTILE,
    )
    return folder


def data_of(folder: Path) -> Any:
    page = (folder / "index.html").read_text("utf-8")
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match
    return json.loads(match[1])


def test_every_chart_and_table_is_a_file(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {"index.html", "charts", "tables"}
    assert {path.name for path in (folder / "charts").iterdir()} == {
        f"{name}.{kind}" for name in CHARTS for kind in ("png", "svg")
    }
    assert {path.name for path in (folder / "tables").iterdir()} == {
        f"{name}.{kind}" for name in TABLES for kind in ("json", "md")
    }
    assert [section["name"] for section in data_of(folder)["sections"]][:9] == [
        *("merge-progression", "token-lengths", "top-subwords", "domains", "vocabulary-size"),
        *("pathological", "comparison", "frequency-rank", "family-tree"),
    ]
    for path in (folder / "charts").glob("*.png"):
        assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_page_is_self_contained_and_not_cut_by_its_data(folder: Path) -> None:
    page = (folder / "index.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert page.count("</script") == 3
    markup = re.sub(r"(?s)<script[^>]*>.*?</script>|<style>.*?</style>", "", page).replace("http-equiv", "")
    assert not re.search(r"https?:|\ssrc\s*=|<link(?! rel=\"icon\" href=\"data:,\")", markup)
    assert "owned" not in markup


def test_markdown_json_and_charts_have_no_active_content(folder: Path) -> None:
    for path in [*folder.rglob("*.md"), *folder.rglob("*.json"), *folder.rglob("*.svg")]:
        text = path.read_text("utf-8")
        kinds = {unicodedata.category(character) for character in text if character not in "\n\u200d"}
        assert not kinds & {"Cc", "Cf", "Zl", "Zp"}, path
        if path.suffix == ".md":
            assert not re.search(r"(?<!\\)<", text.partition("\n|")[2]), path
        if path.suffix == ".svg":
            assert not re.search(r"<(script|b|img)\b", text), path


def test_tables_contain_the_unchanged_texts(folder: Path) -> None:
    rows = json.loads((folder / "tables" / "sentences.json").read_text("utf-8"))
    assert [row["text"] for row in rows[::2]] == list(HOSTILE)
    assert {row["tokenizer"] for row in rows} == {TRAINED, *tokenizers()}
    for row in rows:
        if row["tokenizer"] != TRAINED:
            ids = tokenizers()[row["tokenizer"]].encode(row["text"])
            assert row["count"] == len(ids)
            assert re.split(r"[|+]", row["ids"]) == [str(id) for id in ids], "ids below their tokens"


def test_the_default_vocabulary_suits_a_novel(tmp_path: Path) -> None:
    corpus = corpus_file("frankenstein.txt")
    reporting.report(tmp_path, corpus=corpus)

    def table(name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = json.loads((tmp_path / "tables" / f"{name}.json").read_text("utf-8"))
        return rows

    compared = table("comparison")[0]
    assert compared[TRAINED] == 256 + 2_000
    assert [row["merges"] for row in table("vocabulary-size")][:4] == [500, 2_000, 5_000, 10_000]
    assert "first 500 merges" in compared and "first 5,000 merges" in compared
    # The tokenizer is the one that a training of this size yields, and English is the corpus' own text.
    text = corpus.read_text("utf-8")
    cut = text.rindex("\nChapter 24") + 1
    small = merganser.train([text[:cut]], 256 + 2_000)
    domains = {row["domain"]: row[TRAINED] for row in table("domains")}
    assert next(iter(domains)) == "frankenstein, held out"
    assert "English prose" not in domains
    assert domains["frankenstein, held out"] == pytest.approx(
        100 * len(small.encode(text[cut:])) / len(text[cut:])
    )
    subwords = table("top-subwords")
    within = {row["token"] for row in subwords if row["panel"] == "within words"}
    whole = [row["token"] for row in subwords if row["panel"] == "whole words"]
    assert {"-ing", "-ed", "-ly"} <= within
    assert any(token.endswith("-") and not token.startswith("-") for token in within), "prefixes"
    assert len(whole) == 30 and not {"·the", "·and", "·of"} & set(whole)
    characteristic = [row for row in subwords if row["panel"] == "characteristic words"]
    assert [row["keyness"] for row in characteristic] == sorted(
        (row["keyness"] for row in characteristic), reverse=True
    )
    if (CORPORA / "frankenstein.txt").exists():
        assert {"·creature", "·monster", "·Victor"} <= {row["token"] for row in characteristic}
    assert any("Merges: 2,000, chosen for" in line for line in data_of(tmp_path)["about"])


@pytest.mark.parametrize(
    ("size", "merges"),
    [(0, 500), (1, 500), (424_000, 2_000), (1_115_394, 5_000), (4_000_000, 5_000), (132_000_000, 50_000)],
)
def test_default_merges_grow_with_the_corpus(size: int, merges: int) -> None:
    assert default_merges(size) == merges


def test_the_figures_of_frankenstein_equal_those_of_separate_trainings(tmp_path: Path) -> None:
    corpus = corpus_file("frankenstein.txt")
    reporting.report(tmp_path, corpus=corpus, vocab_size=256 + 10_500, token=" monster")
    rows = json.loads((tmp_path / "tables" / "vocabulary-size.json").read_text("utf-8"))
    assert [row["merges"] for row in rows] == [500, 2_000, 5_000, 10_000, 10_500]
    per_sentence = [row["tokens per sentence"] for row in rows]
    saved = [row["saved per 1,000 more merges"] for row in rows][1:]
    assert per_sentence == sorted(per_sentence, reverse=True)
    assert saved == sorted(saved, reverse=True), "diminishing returns"
    # The figures equal those of a training of that size.
    text = corpus.read_text("utf-8")
    cut = text.rindex("\nChapter 24") + 1
    smaller = merganser.train([text[:cut]], 256 + 2_000)
    progression = json.loads((tmp_path / "tables" / "merge-progression.json").read_text("utf-8"))
    assert len(smaller.encode(text[cut:])) / len(text[cut:].split()) == pytest.approx(
        next(row["tokens per word"] for row in progression if row["merges"] == 2_000), abs=1e-4
    )
    data = data_of(tmp_path)
    assert any("the final chapter (Chapter 24)" in line for line in data["about"])
    assert any("diagnostics" in line for line in data["about"])
    page = json.dumps(data, ensure_ascii=False)
    hard = [HARD[name] for name in ("phone number", "URL", "Chinese", "long word")]
    for text in (*SENTENCES, *hard, "Family tree of ·monster"):
        assert text in page


def test_a_missing_extra_is_reported_before_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    stages: list[str] = []
    with pytest.raises(ImportError, match="drawing charts needs vl_convert: pip install"):
        reporting.report(tmp_path, corpus=CORPUS, progress=lambda stage, *_: stages.append(stage))
    assert stages == []


def test_a_report_needs_no_corpus(tmp_path: Path) -> None:
    page = reporting.report(tmp_path, tokenizers={"one": merganser.train(CORPUS, 300)})
    assert page == tmp_path / "index.html"
    assert any("an illustration, not a benchmark" in line for line in data_of(tmp_path)["about"])
    reporting.report(tmp_path, tokenizers={"one": merganser.train(CORPUS, 300)}, held_out=["the cat. A dog!"])
    assert any("4 words, 2 sentences, 1 document." in line for line in data_of(tmp_path)["about"])


def test_a_tokenizer_without_merges_can_be_reported_on(tmp_path: Path) -> None:
    bytes_only = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})
    reporting.report(tmp_path, tokenizers={"bytes": bytes_only})
    assert (tmp_path / "charts" / "family-tree.svg").exists()


def test_invalid_arguments_are_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="sentences in German are empty"):
        reporting.report(tmp_path / "out", corpus=CORPUS, parallel={"English": ["Yes."], "German": [""]})
    with pytest.raises(SettingsError, match="nothing to report on; pass corpus=, tokenizers=, or both"):
        reporting.report(tmp_path / "out")
    with pytest.raises(CorpusError, match="too short for a held-out split"):
        reporting.report(tmp_path / "out", corpus=["x"])
    with pytest.raises(SettingsError, match="'zebra' is not a token of this vocabulary"):
        reporting.report(tmp_path / "out", corpus=CORPUS, vocab_size=300, token="zebra")
    assert not (tmp_path / "out").exists(), "nothing is written"
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match="is a file, not a folder"):
        reporting.report(tmp_path / "file", tokenizers={"one": merganser.train(CORPUS, 300)})


def test_tokens_may_be_keywords_of_javascript() -> None:
    pytest.importorskip("vl_convert")
    from merganser.reporting.tokenizers import pictures

    values = [{"token": "if", "n": 3, "of": "for"}, {"token": "var", "n": 2, "of": "if"}]
    for spec in (
        pictures.bars(values, "token", "n", group="of"),
        pictures.bars(values, "token", "n", group="of", colors=("red", "blue"), percent=True),
        pictures.lines([{"x": 1, "y": 2, "of": "if"}, {"x": 9, "y": 3, "of": "for"}], "x", "y", "of"),
    ):
        assert ">if<" in charts.svg(spec)


def test_the_progression_starts_at_no_merges_and_ends_at_the_last() -> None:
    from merganser.reporting.tokenizers import pictures

    values = [{"merges": n, "tokens per word": 5 / (n + 1)} for n in (0, 7, 90, 1234)]
    spec = pictures.progression(values, "merges", "tokens per word")
    x, y = spec["encoding"]["x"], spec["encoding"]["y"]
    assert x["scale"]["domain"] == [0, 1234] and x["axis"]["values"] == [0, 10, 100, 1234]
    assert y["scale"]["domain"][0] == 0
    assert [value["merges"] for value in spec["data"]["values"] if value["label"]] == [0, 7, 90, 1234]


def test_a_tokenizer_has_the_same_color_in_every_chart() -> None:
    """Its place in the domain decides the color, so the order of the domains has to be the same."""
    from merganser.reporting.tokenizers import pictures

    values = [{"tokenizer": name, "n": 1, "x": 1} for name in ("b", "a", "c")]
    specs = [
        pictures.bars(values, "tokenizer", "n", group="tokenizer"),
        pictures.bars([{**value, "domain": "code"} for value in values], "domain", "n", group="tokenizer"),
        pictures.lines(values, "x", "n", "tokenizer"),
    ]
    assert [spec["encoding"]["color"]["scale"]["domain"] for spec in specs] == [["b", "a", "c"]] * 3


def test_pictures_name_the_tokenizer_and_the_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "novel.txt"
    corpus.write_text("the cat sat on the mat. the dog ate the cat. " * 200, "utf-8")
    reporting.report(tmp_path / "out", corpus=[corpus], held_out=[corpus], vocab_size=280)
    for path in (tmp_path / "out" / "charts").glob("*.svg"):
        drawn = path.read_text("utf-8")
        assert "trained here" in drawn, path.name
        if path.stem not in ("family-tree", "parity"):
            assert "novel" in drawn, path.name
