"""The list of tokenizers to choose from: files nearby, encodings of tiktoken, cached repositories."""

import base64
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import merganser
import pytest
from merganser.studio import create, nearby
from opened import TOKEN
from starlette.testclient import TestClient

Client = Callable[..., TestClient]


@pytest.fixture
def client(small: merganser.Tokenizer) -> Client:
    def started(start: Path | None, *folders: Path) -> TestClient:
        app = create({"small": small}, folders, TOKEN, start=start)
        return TestClient(app, base_url=f"http://127.0.0.1/{TOKEN}/", raise_server_exceptions=False)

    return started


def labels(client: TestClient, group: str = "here") -> list[str]:
    return [entry["label"] for entry in client.get("api/tokenizers/known").json()[group]]


def files(client: TestClient) -> list[str]:
    entries = client.get("api/tokenizers/known").json()["here"]
    return [entry["file"] for entry in entries if "file" in entry]


def chosen(client: TestClient, file: object, **more: Any) -> Any:
    return client.post("api/tokenizers/nearby", json={"file": str(file)} | more)


def rank_file(tokenizer: merganser.Tokenizer, path: Path) -> Path:
    ranks = tokenizer.mergeable_ranks.items()
    path.write_text("".join(f"{base64.b64encode(token).decode()} {id}\n" for token, id in ranks))
    return path


def test_tokenizer_files_are_found_nearest_first(
    client: Client, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    small.save(tmp_path / "mine.merganser")
    small.export(tmp_path / "models" / "hf", format="huggingface")
    rank_file(small, tmp_path / "models" / "ranks.tiktoken")
    (tmp_path / "notes.model").write_text("not a tokenizer")
    (tmp_path / "tokenizer.txt").write_text("not a tokenizer")
    for hidden in (".cache", "node_modules", "a/b/c"):
        (tmp_path / hidden).mkdir(parents=True)
        small.save(tmp_path / hidden / "hidden.merganser")
    found = [Path(file).relative_to(tmp_path).as_posix() for file in files(client(tmp_path))]
    assert found == ["mine.merganser", "models/ranks.tiktoken", "models/hf/tokenizer.json"]


def test_a_chosen_file_encodes_as_its_source_and_is_added_once(
    client: Client, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    other = small.truncated(300)
    (tmp_path / "of-mine").mkdir()
    other.save(tmp_path / "of-mine" / "tokenizer.merganser")
    studio = client(tmp_path)
    (file,) = files(studio)
    assert chosen(studio, file).json() == {"name": "of-mine"}
    assert chosen(studio, file).json() == {"name": "of-mine"}
    saved = studio.get("api/tokenizers/file", params={"tokenizer": "of-mine"}).content
    assert saved == (tmp_path / "of-mine" / "tokenizer.merganser").read_bytes()
    sources = {each["name"]: each["source"] for each in studio.get("api/about").json()["tokenizers"]}
    assert merganser.load(sources["of-mine"].removeprefix("merganser.load('").removesuffix("')")) == other


def test_a_rank_file_is_asked_for_its_pattern(
    client: Client, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    file = rank_file(small.truncated(300), tmp_path / "ranks.tiktoken")
    studio = client(tmp_path)
    assert chosen(studio, file).json()["needs"] == "pattern"
    assert chosen(studio, file, pattern="gpt2").json() == {"name": "ranks"}
    assert "cannot be used" in chosen(studio, file, pattern="(").json()["error"]


def test_only_listed_files_are_loaded(client: Client, small: merganser.Tokenizer, tmp_path: Path) -> None:
    start, outside = tmp_path / "start", tmp_path / "outside"
    start.mkdir()
    outside.mkdir()
    small.truncated(300).save(outside / "secret.merganser")
    (start / "link.merganser").symlink_to(outside / "secret.merganser")
    (start / "folder").symlink_to(outside)
    (start / "notes.txt").write_text("secret")
    studio = client(start)
    assert files(studio) == []
    for name in (
        outside / "secret.merganser",
        start / "link.merganser",
        start / "folder" / "secret.merganser",
        start / ".." / "outside" / "secret.merganser",
        start / "notes.txt",
        "link.merganser",
        "",
        "\0",
    ):
        answer = chosen(studio, name)
        assert answer.status_code == 404 and "is not among the listed tokenizers" in answer.text
    wanted = {"vocab_size": 300, "paths": ["notes.txt"]}
    assert studio.post("api/train/start", json=wanted).status_code == 403, "the start folder is no --folder"


def test_the_search_is_limited(client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for n in range(9):
        (tmp_path / f"{n}.merganser").write_bytes(b"merganser")
    monkeypatch.setattr(nearby, "MOST_SEEN", 5)
    monkeypatch.setattr(nearby, "is_tokenizer", lambda path: True)
    assert len(files(client(tmp_path))) == 5
    monkeypatch.setattr(nearby, "MOST_FOUND", 3)
    assert len(files(client(tmp_path))) == 3


@pytest.mark.skipif(os.name == "nt", reason="names of files are UTF-16")
def test_a_name_that_is_not_text_is_left_out(client: Client, tmp_path: Path) -> None:
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.gguf")).write_bytes(b"GGUF")
    except OSError:
        pytest.skip("this file system has only UTF-8 names")
    assert files(client(tmp_path)) == []


def test_a_folder_is_searched_once(client: Client, small: merganser.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    small.save(tmp_path / "inner" / "mine.merganser")
    assert labels(client(tmp_path, tmp_path / "inner")).count("inner/mine.merganser") == 1
    assert labels(client(None, tmp_path / "inner"))[0] == "mine.merganser"


def test_encodings_are_on_this_machine_if_tiktoken_has_their_file(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tiktoken")
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    studio = client(None)
    assert "cl100k_base" in labels(studio, "downloads")
    url = b"https://openaipublic.blob.core.windows.net/encodings/cl100k_base.tiktoken"
    (tmp_path / hashlib.sha1(url).hexdigest()).write_bytes(b"")
    assert labels(studio) == ["cl100k_base"]
    assert "cl100k_base" not in labels(studio, "downloads")
    entries = studio.get("api/tokenizers/known").json()["downloads"]
    (newest,) = (entry for entry in entries if entry["label"] == "o200k_base")
    assert "gpt-4o" in newest["also"] and newest["name"] == "tiktoken:o200k_base"


def test_cached_repositories_load_without_a_network(
    client: Client, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = pytest.importorskip("huggingface_hub.constants")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    commit = "0" * 40
    for repository, file in (
        ("owner--of-mine", "tokenizer.json"),
        ("owner--weights", "model.safetensors"),
        ("own--er--name", "tokenizer.json"),
        ("..--name", "tokenizer.json"),
    ):
        folder = tmp_path / f"models--{repository}"
        (folder / "refs").mkdir(parents=True)
        (folder / "refs" / "main").write_text(commit)
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "snapshots" / commit / file).write_bytes(b"{}")
    plain = small.truncated(300)
    plain.export(tmp_path / "exported", format="huggingface")
    target = tmp_path / "models--owner--of-mine" / "snapshots" / commit / "tokenizer.json"
    target.write_bytes((tmp_path / "exported" / "tokenizer.json").read_bytes())
    studio = client(None)
    assert [label for label in labels(studio) if "/" in label] == ["owner/of-mine"]
    (entry,) = (
        each for each in studio.get("api/tokenizers/known").json()["here"] if each["label"] == "owner/of-mine"
    )
    assert studio.post("api/tokenizers/name", json={"name": entry["name"]}).json() == {
        "name": "owner/of-mine"
    }
    assert "Qwen/Qwen3-8B" in labels(studio, "downloads")
