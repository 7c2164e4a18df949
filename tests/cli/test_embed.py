"""merganser embed, and the report on embeddings."""

import json
import sys
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import processes
import pytest
from corpora import corpus_file
from merganser import charts, embed
from merganser.cli import main
from merganser.corpus import named_datasets
from merganser.embed import projection, safetensors
from merganser.reporting.embeddings import pictures

TEXT = "the black cat sat on the mat\nthe black dog sat on the rug\na king rules\na queen rules\n" * 60
CHARTS = (
    *("similarities", "heat_map", "plane_groups", "plane_frequency", "dimensions", "progress"),
    "objectives",
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(named_datasets, "FRANKENSTEIN_URL", "http://127.0.0.1:9/pg84.txt")
    Path("a.txt").write_text(TEXT, "utf-8")
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["embed", *arguments, "--json"]) == 0, capsys.readouterr().err
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_results_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "a.txt", "--epochs", "3", "--threads", "2", "--out", "made"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("using core, 2 threads\n"), "before the training"
    assert "\ndevice       core, 2 threads\n" in out
    for part in ("epoch  3/3", "loss", "tokens/s", "pairs/s", "s left", "device", "per epoch", "peak memory"):
        assert part in out
    made = embed.load("made")
    assert made.dimension == 100
    assert made.training["settings"]["num_negative_samples"] == 10


def test_defaults_and_presets_are_applied(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("embedding_dim", "batch_size", "num_negative_samples", "window_size", "epochs", "learning_rate")
    for given, expected in (
        ([], (100, 512, 10, 5, 10, 0.025)),
        (["--preset", "fast"], (100, 2048, 5, 3, 10, 0.025)),
        (["--preset", "balanced"], (100, 512, 10, 5, 10, 0.025)),
        (["--preset", "best"], (100, 512, 20, 7, 15, 0.025)),
        (["--preset", "best", "--window-size", "4", "--epochs", "2"], (100, 512, 20, 4, 2, 0.025)),
    ):
        run(capsys, "--dataset", "a.txt", "--out", "made", "--force", *given)
        settings = embed.load("made").training["settings"]
        assert tuple(settings[name] for name in names) == expected


def test_negatives_are_drawn_by_count_or_uniformly(capsys: pytest.CaptureFixture[str]) -> None:
    made = {}
    for name, power in (("unigram", 0.75), ("uniform", 0.0)):
        run(capsys, "a.txt", "--negatives", name, "--threads", "1", "--epochs", "2", "--out", name)
        made[name] = embed.load(name)
        assert made[name].training["settings"]["noise_power"] == power
    run(capsys, "a.txt", "--threads", "1", "--epochs", "2", "--out", "default")
    assert np.array_equal(embed.load("default").vectors, made["unigram"].vectors)
    assert not np.array_equal(made["uniform"].vectors, made["unigram"].vectors)


def test_records_are_read_with_the_given_options(capsys: pytest.CaptureFixture[str]) -> None:
    Path("a.jsonl").write_text(json.dumps({"body": TEXT}) + "\n{broken\n", "utf-8")
    options = ("--threads", "1", "--epochs", "2")
    assert main(["embed", "a.jsonl", *options, "--out", "made"]) == 1
    assert (
        'the only key is "body"; name the one that holds the text with --text-key' in capsys.readouterr().err
    )
    run(capsys, "a.jsonl", "--text-key", "body", "--on-error", "skip", *options, "--out", "made")
    run(capsys, "a.txt", *options, "--out", "plain")
    assert np.array_equal(embed.load("made").vectors, embed.load("plain").vectors)
    settings = embed.EmbedSettings(threads=1, epochs=2)
    with pytest.warns(merganser.MerganserWarning, match="skipped 1 record"):
        trained = embed.train("a.jsonl", settings=settings, text_key="body", on_error="skip")
    assert np.array_equal(trained.vectors, embed.load("plain").vectors)
    with pytest.raises(merganser.ArgumentError, match="did you mean 'text_key'"):
        embed.train("a.jsonl", textkey="body")  # type: ignore[call-arg]


def test_help_explains_a_batch(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["embed", "--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "Tokens that a thread processes at a time, at one learning rate." in text


def test_the_given_tokenizer_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "a.txt", "--vocab-size", "280", "--out", "tokenizer"]) == 0
    capsys.readouterr()
    assert run(capsys, "a.txt", "--tokenizer", "tokenizer", "--epochs", "1")["vocab_size"] == 280


def test_embeddings_are_exported_and_evaluated(capsys: pytest.CaptureFixture[str]) -> None:
    Path("pairs.tsv").write_text("cat\tdog\t9\ncat\tking\t1\ncat\tzebu\t5\n")
    formats = [word for name in ("word2vec", "word2vec-bin", "tsv") for word in ("--export", name)]
    result = run(capsys, "a.txt", "--out", "made", "--evaluate", "pairs.tsv", *formats)
    assert result["evaluation"]["pairs.tsv"]["covered"] == 2
    for name in ("vectors.txt", "vectors.bin", "vectors.tsv", "metadata.tsv", "embeddings.safetensors"):
        assert str(Path("made", name)) in result["files"]
    assert not list(Path("made").glob("checkpoint*"))


def test_without_a_network_the_standard_library_is_the_corpus(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_datasets, "python_stdlib", lambda: [Path("a.txt").absolute()])
    assert main(["embed", "--epochs", "1", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["corpus"] == "python-stdlib"
    assert "using python-stdlib, because frankenstein is not available" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.txt", "--dataset", "a.txt"], "the corpus is given twice; pass CORPUS or --dataset, not both"),
        (["empty.txt"], "no text"),
        (["none.txt"], "none.txt"),
        (["a.txt", "--learning-rate", "nan"], "--learning-rate must be a finite number"),
        (["a.txt", "--window-size", "0"], "--window-size"),
        (["a.txt", "--evaluate", "none.tsv"], "cannot read none.tsv"),
        (["-"], "standard input can be read only once"),
    ],
)
def test_errors_are_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    Path("empty.txt").write_text("")
    assert main(["embed", *arguments]) in (1, 2)
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err


def test_a_novel_needs_little_memory_and_its_report_has_all_charts(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("vl_convert")
    novel = corpus_file("frankenstein_raw.txt")
    command = [sys.executable, "-W", "error", "-m", "merganser", "embed", f"frankenstein={novel}"]
    command += ["--out", "made", "--epochs", "4", "--min-count", "20", "--json"]
    done = processes.run(command, check=True)
    assert json.loads(done.stdout)["peak_memory_mb"] < 500
    monkeypatch.setattr("merganser.embed.study.SEEDS", 1)
    monkeypatch.setattr("merganser.embed.study.SOFTMAX_SIZE", 20_000)
    monkeypatch.setattr("merganser.embed.study.DIMENSIONS", (10, 25))
    assert main(["report", "made", "--out", "report", "--json"]) == 0, capsys.readouterr().err
    for name in CHARTS:
        for kind in ("png", "svg"):
            assert Path("report/charts", f"{name}.{kind}").stat().st_size > 2000
    page = Path("report/index.html").read_text("utf-8")
    assert "Embeddings report" in page
    neighbors = json.loads(Path("report/tables/neighbors.json").read_text("utf-8"))
    assert len(neighbors) >= 8
    ambiguous = json.loads(Path("report/tables/ambiguous.json").read_text("utf-8"))
    for word in ("light", "nature", "left"):
        uses = [row for row in ambiguous if row["word"] == word]
        assert [row["source"] for row in uses] == ["example", "example", "text", "text"]
        assert len({row["sentence"] for row in uses}) == 4
        assert all(word in row["sentence"].lower() for row in uses)
        assert uses[2]["cosine of the contexts"] < 0.7, "the two occurrences differ"
    for row in json.loads(Path("report/tables/dimensions.json").read_text("utf-8")):
        assert 0 < row["mean cosine of all pairs of words"] < row["mean cosine of synonyms"] < 1
    drawn = Path("report/charts/dimensions.svg").read_text("utf-8")
    assert "all pairs of words" in drawn and "margin between word groups" in drawn
    assert main(["report", "made", "a.txt"]) == 2
    assert "a report on embeddings takes one folder; pass it alone" in capsys.readouterr().err


def test_a_report_on_a_small_text_leaves_out_sections_without_data(
    capsys: pytest.CaptureFixture[str],
) -> None:
    pytest.importorskip("vl_convert")
    run(capsys, "a.txt", "--out", "made", "--epochs", "1")
    Path("made/text.safetensors").unlink()
    assert main(["report", "made", "--out", "report"]) == 0, capsys.readouterr().err
    assert Path("report/charts/similarities.png").exists()
    assert not Path("report/charts/dimensions.png").exists()


def test_the_plane_keeps_neighbors_together() -> None:
    random = np.random.default_rng(1)
    centers = random.normal(size=(4, 20)) * 5
    vectors = np.repeat(centers, 30, axis=0) + random.normal(size=(120, 20))
    plane = projection.project(vectors.astype(np.float32))
    group = np.repeat(np.arange(4), 30)
    nearest = np.linalg.norm(plane[:, None] - plane[None], axis=2)
    np.fill_diagonal(nearest, np.inf)
    assert (group[nearest.argmin(axis=1)] == group).mean() > 0.95


def test_the_safetensors_file_has_the_expected_arrays(capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, "a.txt", "--out", "made", "--epochs", "1")
    arrays, _ = safetensors.read("made/embeddings.safetensors")
    assert {name: str(array.dtype) for name, array in arrays.items()} == {
        "vectors": "float32",
        "ids": "uint32",
        "counts": "uint64",
    }


def test_a_heat_map_may_contain_keywords_of_vega() -> None:
    pytest.importorskip("vl_convert")
    words = ["if", "for", "datum", "signal", "</script>", "中"]
    cosines = np.corrcoef(np.random.default_rng(2).normal(size=(6, 9)))
    svg = charts.svg(pictures.heat_map(words, cosines) | {"width": 300})
    assert ">if<" in svg
    assert "\\u4e2d" in svg
    assert sorted(pictures.clustered(cosines)) == list(range(6))
