"""merganser report: its arguments, output and errors."""

import json
from pathlib import Path

import merganser
import pytest
from merganser.cli import main
from merganser.reporting import report

TEXT = "The cat sat on the mat. Did the dog see it? The other cat did!\n\n" * 40


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.txt").write_text(TEXT.upper())
    merganser.train([TEXT], 280).save("t.merganser")
    merganser.count([TEXT]).save("b.counts")
    return tmp_path


def test_a_corpus_and_a_tokenizer_are_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "own.txt").write_text("English\tYes.\nGerman\tJa.\n")
    more = ("--domain", "LOUD=b.txt", "--sentences", "own.txt", "--token", " cat", "--out", "out", "--json")
    assert main(["report", "a.txt", "t.merganser", "--vocab-size", "270", *more]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["report"] == "out/index.html"
    assert result["seconds"] > 0
    table = {row["domain"]: row for row in json.loads(Path("out/tables/domains.json").read_text("utf-8"))}
    expected = 100 * len(merganser.load("t.merganser").encode(TEXT.upper())) / len(TEXT)
    assert table["LOUD"]["t.merganser"] == expected
    assert set(table["LOUD"]) == {"domain", "trained here", "t.merganser"}
    parity = json.loads(Path("out/tables/parity.json").read_text("utf-8"))
    assert [row["language"] for row in parity] == ["English", "German"]
    assert "Family tree of ·cat" in Path("out/tables/family-tree.md").read_text("utf-8")


def test_a_tokenizer_in_the_current_folder_is_labeled_with_a_dot() -> None:
    Path("t.merganser").rename("tokenizer.merganser")
    assert main(["report", ".", "--held-out", "a.txt", "--out", "out"]) == 0
    table = json.loads(Path("out/tables/comparison.json").read_text("utf-8"))
    assert "." in table[0]


def test_the_held_out_option_is_used(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "t.merganser", "--held-out", "a.txt"]) == 0
    assert capsys.readouterr().out.startswith("merganser-out/report/index.html (")
    table = json.loads(Path("merganser-out/report/tables/comparison.json").read_text("utf-8"))
    figures = {row["measure"]: row["t.merganser"] for row in table}
    assert figures["tokens per word"] == len(merganser.load("t.merganser").encode(TEXT)) / len(TEXT.split())


def test_records_are_read_with_the_given_options(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [json.dumps({"body": TEXT}), "{broken", json.dumps({"body": TEXT.upper()})]
    Path("a.jsonl").write_text("\n".join(lines), "utf-8")
    assert main(["report", "a.jsonl", "--out", "out"]) == 1
    assert "with --text-key" in capsys.readouterr().err
    reading = ("--text-key", "body", "--on-error", "skip")
    files = ("--held-out", "a.jsonl", "--domain", "both=a.jsonl")
    for names in (["a.jsonl"], ["a.jsonl", *files], ["t.merganser", *files]):
        assert main(["report", *names, *reading, "--out", "out"]) == 0
        assert "warning: skipped 1 record" in capsys.readouterr().err
    table = json.loads(Path("out/tables/domains.json").read_text("utf-8"))
    both = next(row for row in table if row["domain"] == "both")
    tokens = sum(len(merganser.load("t.merganser").encode(text)) for text in (TEXT, TEXT.upper()))
    assert both["t.merganser"] == 100 * tokens / (2 * len(TEXT))
    with pytest.raises(merganser.ArgumentError, match="did you mean 'text_key'"):
        report("out", corpus="a.jsonl", textkey="body")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["nowhere.txt"], 1, "no file or folder nowhere.txt"),
        (["t.merganser", "--vocab-size", "300"], 2, "--vocab-size requires a CORPUS"),
        (["a.txt", "--domain", "b.txt"], 2, "--domain takes NAME=FILE"),
        (
            ["a.txt", "--domain", "b=b.txt", "--domain", "b=a.txt"],
            2,
            "--domain b is given twice; give each domain a different name",
        ),
        (["a.txt", "--sentences", "nowhere"], 1, "cannot read nowhere"),
        (["b.counts"], 1, "b.counts holds counts"),
    ],
)
def test_wrong_usage_is_reported(
    arguments: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", *arguments, "--out", "out"]) == code
    assert message in capsys.readouterr().err
    assert not Path("out").exists()
