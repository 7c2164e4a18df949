"""What the train view adds to a training: saving to disk, the preview of a split, and the reference."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import merganser
import pytest
from merganser.studio import create
from starlette.testclient import TestClient

TEXT = "the cat sat on the mat and the rat sat on the cat " * 20
SMALL = merganser.train([TEXT], 270)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "one.txt").write_text(TEXT)
    (inside / "two.txt").write_text("dogs " * 50)
    (inside / "binary.gz").write_bytes(b"\x1f\x8b\xff\xfe")
    (inside / "out").symlink_to(tmp_path, target_is_directory=True)
    (inside / "link.merganser").symlink_to(tmp_path / "elsewhere.merganser")
    return inside


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create({"small": SMALL}, [folder], "token")
    yield TestClient(app, base_url="http://127.0.0.1/token/api/", raise_server_exceptions=False)
    app.state.studio.close()


def events(client: TestClient, **settings: Any) -> list[tuple[str, Any]]:
    answer = client.post("train/start", json={"vocab_size": 280, **settings})
    assert answer.status_code == 202, answer.text
    text = client.get("train/events", params={"job": answer.json()["job"]}).text
    parts = [dict(line.split(": ", 1) for line in event.split("\n")) for event in text.strip().split("\n\n")]
    return [(part["event"], json.loads(part["data"])) for part in parts if part["event"] != "progress"]


def save(client: TestClient, path: str, tokenizer: str = "small") -> Any:
    return client.post("train/save", json={"tokenizer": tokenizer, "path": path})


@pytest.mark.parametrize("name", ["mine.merganser", "deep/mine.merganser", "<b>ü.merganser"])
def test_a_tokenizer_is_saved_in_a_folder_of_the_studio(client: TestClient, folder: Path, name: str) -> None:
    answer = save(client, name)
    assert answer.status_code == 201 and answer.json() == {"path": str(folder / name)}
    assert merganser.load(folder / name) == SMALL
    source = client.get("about").json()["tokenizers"][0]["source"]
    assert source == f"merganser.load({str(folder / name)!r})", "Copy Python names the file"


@pytest.mark.parametrize(
    ("name", "status", "message"),
    [
        ("../mine.merganser", 403, "may read; restart it with --folder"),
        ("/etc/mine.merganser", 403, "may read; restart it with --folder"),
        ("out/mine.merganser", 403, "may read; restart it with --folder"),
        ("deep/../../mine.merganser", 403, "may read; restart it with --folder"),
        ("https://example.org/mine", 403, "may read; restart it with --folder"),
        ("none/mine.merganser", 404, "does not exist in the folders"),
        ("one.txt/mine.merganser", 400, "one.txt is not a folder; choose one"),
        ("one.txt", 409, "one.txt exists already; choose another name"),
        ("deep", 409, "deep exists already; choose another name"),
        ("link.merganser", 409, "link.merganser exists already; choose another name"),
        ("deep/..", 400, "choose a file name, such as mine.merganser"),
        ("", 400, "choose a file name, such as mine.merganser"),
        ("a" * 300, 400, "cannot write"),
        ("a\0b", 400, "a file name cannot contain a zero byte; choose another name"),
        ("a\0b/mine", 403, "may read; restart it with --folder"),
        ("\ud800", 400, "'path' has a lone surrogate at index 0; remove it"),
    ],
)
def test_nothing_is_saved_outside_or_over_a_file(
    client: TestClient, folder: Path, name: str, status: int, message: str
) -> None:
    before = {path: path.read_bytes() for path in sorted(folder.parent.rglob("*")) if path.is_file()}
    answer = client.post(
        "train/save",
        content=json.dumps({"tokenizer": "small", "path": name}),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]
    after = {path: path.read_bytes() for path in sorted(folder.parent.rglob("*")) if path.is_file()}
    assert before == after


def test_without_a_folder_nothing_can_be_saved(folder: Path) -> None:
    app = create({"small": SMALL}, [], "token")
    client = TestClient(app, base_url="http://127.0.0.1/token/api/")
    assert save(client, str(folder / "mine.merganser")).status_code == 403


def test_a_file_that_cannot_be_written_leaves_nothing(
    client: TestClient, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(merganser.Tokenizer, "save", full)
    assert save(client, "mine.merganser").status_code == 500
    assert not (folder / "mine.merganser").exists()


def test_several_files_are_trained_on_once_each(client: TestClient, folder: Path) -> None:
    received = events(client, paths=["one.txt", str(folder / "two.txt"), "one.txt"])
    assert received[0][1]["documents"] == 2
    assert received[0][1]["bytes"] == len(TEXT) + 250
    refused = client.post("train/start", json={"vocab_size": 280, "paths": ["one.txt", "/etc/passwd"]})
    assert refused.status_code == 403
    wrong = client.post("train/start", json={"vocab_size": 280, "paths": [1]})
    assert wrong.status_code == 400 and "paths must be strings" in wrong.json()["error"]


def test_the_curve_is_exact_and_the_reference_is_measured_on_the_same_text(client: TestClient) -> None:
    received = dict(events(client, text=TEXT, vocab_size=272, reference="small"))
    size = len(TEXT.encode())
    assert received["reference"] == {
        "name": "small",
        "vocab_size": 270,
        "bytes_per_token": size / len(SMALL.encode(TEXT)),
    }
    trained = merganser.train([TEXT], 272)
    curve = received["done"]["curve"]
    assert curve[0] == [256, 1.0] and curve[-1][0] == 272 and len(curve) > 10
    for vocab_size, per_token in curve:
        assert per_token == size / len(trained.truncated(vocab_size).encode(TEXT))


def test_a_reference_with_another_pattern_is_counted_again(client: TestClient) -> None:
    text = "1234567 " * 40
    received = dict(events(client, text=text, pattern="gpt2", vocab_size=260, reference="small"))
    assert received["reference"]["bytes_per_token"] == len(text) / len(SMALL.encode(text))
    unknown = client.post("train/start", json={"vocab_size": 280, "text": text, "reference": "none"})
    assert unknown.status_code == 404


def test_the_preview_splits_as_training_does(client: TestClient) -> None:
    for pattern in ("gpt2", "gpt4", r"\w+|\W"):
        answer = client.post("train/preview", json={"text": "Hi, 12345 中文!", "pattern": pattern}).json()
        assert answer["pretokens"] == merganser.split("Hi, 12345 中文!", pattern)
    binary = client.post("train/preview", json={"path": "binary.gz", "pattern": "gpt4"}).json()
    assert "is not plain text" in binary["problem"]
    problem = client.post("train/preview", json={"text": "a", "pattern": "("}).json()["problem"]
    assert "(" in problem
    long = client.post("train/preview", json={"text": "a " * 9000, "pattern": "gpt4"}).json()["pretokens"]
    assert sum(map(len, long)) == 2000
    of_file = client.post("train/preview", json={"paths": ["two.txt"], "pattern": "gpt4"}).json()
    assert of_file["pretokens"][:2] == ["dogs", " dogs"] and of_file["characters"] == 250
    assert client.post("train/preview", json={"paths": ["/etc/passwd"], "pattern": "gpt4"}).status_code == 403
