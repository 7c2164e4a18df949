"""Uploads, names and downloads of tokenizers, known vocabularies, and stages that change the text."""

import json
import os
import tempfile
import threading
from pathlib import Path
from typing import Any

import httpx
import merganser
import pytest
import vocabs
from merganser.studio import create, security, tokenizers
from merganser.studio.known import completed, recognized, suggested_pattern
from merganser.studio.merges import nodes_of, steps_around
from merganser.studio.playground import encoded, located
from merganser.studio.state import TokenizerEntry
from opened import TOKEN, served
from starlette.testclient import TestClient

BYTES = {"Content-Type": "application/octet-stream"}


def body(files: dict[str, bytes], **header: Any) -> bytes:
    listed = [{"name": name, "size": len(data)} for name, data in files.items()]
    start = json.dumps({"files": listed} | header).encode()
    return len(start).to_bytes(4, "little") + start + b"".join(files.values())


@pytest.fixture
def client(small: merganser.Tokenizer, tmp_path: Path) -> TestClient:
    app = create({"small": small}, [tmp_path], TOKEN)
    return TestClient(app, base_url=f"http://127.0.0.1/{TOKEN}/", raise_server_exceptions=False)


def added(client: TestClient, data: bytes) -> Any:
    return client.post("api/tokenizers/add", content=data, headers=BYTES)


def native(tokenizer: merganser.Tokenizer, folder: Path) -> bytes:
    tokenizer.save(folder / "saved.merganser")
    return (folder / "saved.merganser").read_bytes()


def test_an_upload_encodes_as_its_source_and_leaves_no_file(
    client: TestClient, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    data = native(small.truncated(300), tmp_path)
    answer = added(client, body({"a.merganser": data}))
    assert (answer.status_code, answer.json()) == (200, {"name": "a"})
    assert client.get("api/tokenizers/file", params={"tokenizer": "a"}).content == data
    assert added(client, body({"bad.json": b"{}"})).status_code == 400
    assert list(scratch.iterdir()) == []


@pytest.mark.parametrize(
    "name", ["../a.json", "/etc/passwd", "a/b.json", "a\\b.json", "..", ".", "", "a\0b", "a" * 300]
)
def test_names_of_uploaded_files_cannot_leave_their_folder(client: TestClient, name: str) -> None:
    answer = added(client, body({name: b"{}"}))
    assert answer.status_code == 400
    assert "cannot be the name of an uploaded file" in answer.json()["error"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xff\xff\xff",
        b"\x02\x00\x00\x00[]",
        b"\x02\x00\x00\x00{}",
        body({"a.json": b"12345"})[:-3],
        body({f"{n}.json": b"" for n in range(40)}),
        (2).to_bytes(4, "little") + b"\xff\xfe",
        body({"a.json": b"{}"}, pattern=7),
        body({"a.merganser": os.urandom(100)}),
        body({"a.gguf": b"GGUF" + os.urandom(60)}),
        body({"a.model": os.urandom(200)}),
        body({"tokenizer.json": b'{"model": {"type": "WordPiece"}}'}),
    ],
)
def test_damaged_uploads_are_refused(client: TestClient, data: bytes) -> None:
    answer = added(client, data)
    assert answer.status_code == 400, answer.text
    assert "merganser-upload" not in answer.text, "the temporary folder is not revealed"


def test_uploads_need_their_type_and_are_limited(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    content = body({"a.json": b"{}"})
    json_type = {"Content-Type": "application/json"}
    assert client.post("api/tokenizers/add", content=content, headers=json_type).status_code == 415
    assert client.post("api/playground/encode", content=content, headers=BYTES).status_code == 415
    foreign = BYTES | {"Origin": "https://evil.example"}
    assert client.post("api/tokenizers/add", content=content, headers=foreign).status_code == 403
    monkeypatch.setattr(security, "LARGEST_UPLOAD", 1000)
    assert added(client, b"0" * 1001).status_code == 413
    assert added(client, iter([b"0" * 600] * 2)).status_code == 413  # type: ignore[arg-type]


def test_one_upload_at_a_time_and_a_limited_number(
    small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = body({"a.merganser": native(small.truncated(300), tmp_path)})
    monkeypatch.setattr(tokenizers, "MOST", 2)
    with served({"small": small}) as studio:
        begun, may_end = threading.Event(), threading.Event()

        def slowly() -> Any:
            yield data[:10]
            begun.set()
            may_end.wait(60)
            yield data[10:]

        answers = []
        where = f"{studio.address}api/tokenizers/add"
        first = threading.Thread(
            target=lambda: answers.append(httpx.post(where, content=slowly(), headers=BYTES, timeout=60))
        )
        first.start()
        assert begun.wait(60)
        busy = httpx.post(where, content=data, headers=BYTES, timeout=60)
        while busy.status_code == 200:  # the first has not reached the application yet
            studio.state.entries.popitem()
            busy = httpx.post(where, content=data, headers=BYTES, timeout=60)
        assert busy.status_code == 503 and "another upload" in busy.json()["error"]
        may_end.set()
        first.join(60)
        assert answers[0].status_code == 200
        full = httpx.post(where, content=data, headers=BYTES, timeout=60)
        assert full.status_code == 400 and "the studio holds 2 tokenizers" in full.json()["error"]


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd",
        "../outside.merganser",
        "hf:../../etc",
        "hf:/etc",
        "transformers:/etc",
        "transformers:owner/name",
        "file:///etc/passwd",
        "~/.ssh/id_rsa",
        "\0",
        "",
    ],
)
def test_a_name_never_reads_a_file_outside_the_folders(client: TestClient, tmp_path: Path, name: str) -> None:
    (tmp_path.parent / "outside.merganser").write_bytes(b"secret")
    answer = client.post("api/tokenizers/name", json={"name": name})
    assert answer.status_code in (400, 403, 404), answer.text
    assert "secret" not in answer.text


def test_a_name_in_the_working_folder_is_not_read_instead(
    client: TestClient, small: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (work / "owner").mkdir(parents=True)
    small.save(work / "owner" / "name")
    monkeypatch.chdir(work)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    answer = client.post("api/tokenizers/name", json={"name": "owner/name"})
    assert answer.status_code == 400, "it is the repository, which is not here"


def test_a_path_in_a_folder_can_be_named(
    client: TestClient, small: merganser.Tokenizer, tmp_path: Path
) -> None:
    small.truncated(300).save(tmp_path / "mine.merganser")
    for _ in range(2):
        answer = client.post("api/tokenizers/name", json={"name": "mine.merganser"})
        assert answer.json() == {"name": "mine.merganser"}
    assert len(client.get("api/about").json()["tokenizers"]) == 2, "the same one is added once"


def _ranks(size: int, last: bytes, more: list[bytes]) -> dict[bytes, int]:
    tokens = [*(bytes([byte]) for byte in range(256)), *more]
    tokens += [b"\xff" + n.to_bytes(3, "big") for n in range(size - len(tokens) - 1)]
    return {token: id for id, token in enumerate([*tokens, last])}


def test_known_vocabularies_come_with_pattern_and_special_tokens() -> None:
    ranks = _ranks(50_256, b" gazed", [])
    found = recognized(ranks)
    assert found is not None and suggested_pattern(ranks) == ("gpt2", "This is the vocabulary of GPT-2.")
    plain = merganser.Tokenizer(ranks, pattern="gpt2")
    assert dict(completed(plain).special_tokens) == {"<|endoftext|>": 50_256}
    other = merganser.Tokenizer(ranks, pattern="gpt4")
    assert completed(other) is other, "another pattern makes it another tokenizer"
    assert recognized(_ranks(50_256, b" other", [])) is None


@pytest.mark.parametrize(
    ("digits", "pattern"),
    [([b"12", b"123"], "gpt4"), ([b"12"], "nanochat"), ([], "qwen2"), ([b"2024"], "gpt2")],
)
def test_a_pattern_is_suggested_by_the_digits(digits: list[bytes], pattern: str) -> None:
    assert suggested_pattern(_ranks(300, b"last", digits))[0] == pattern


def test_views_refuse_stages_that_they_cannot_show(with_stages: merganser.Tokenizer) -> None:
    app = create({"stages": with_stages}, [], TOKEN)
    client = TestClient(app, base_url=f"http://127.0.0.1/{TOKEN}/")
    messages = [{"role": "user", "content": "hi"}]
    answer = client.post("api/chat/render", json={"tokenizer": "stages", "messages": messages})
    assert "cannot be added to it" in answer.json()["problem"]
    answer = client.post("api/theatre/start", json={"tokenizer": "stages", "text": "the cat"})
    assert answer.status_code == 400 and "choose another to replay" in answer.json()["error"]


@pytest.mark.parametrize("name", vocabs.ALL)
def test_published_vocabularies_are_recognized(name: str) -> None:
    """And nothing else: a stand-in for a missing file is not taken for it."""
    from merganser.formats import tiktoken

    known = recognized(tiktoken.parse(vocabs.rank_file(name).read_bytes()))
    assert (known is not None) == vocabs.is_real(name)
    if known is not None and name in ("cl100k_base", "o200k_base", "llama3"):
        assert dict(known.special_tokens) == vocabs.special_tokens(name)


@pytest.fixture(scope="module")
def with_stages() -> merganser.Tokenizer:
    """A tokenizer of characters that puts a space before the text, as SentencePiece's do."""
    text = ["the cat sat on the mat, the naïve café; playing with tokens"] * 20
    return merganser.train(text, 60, unit="characters")


@pytest.mark.parametrize(
    "text", ["the cat  sat", "naïve 👍🏽 東京", "", " ", "a\n\nb", "the cat\u00a0sat ﬁn"]
)
def test_stages_that_change_the_text_leave_every_token_with_its_text(
    with_stages: merganser.Tokenizer, text: str
) -> None:
    entry = TokenizerEntry(with_stages)
    assert entry.has_stages
    data = text.encode()
    encoding = encoded(entry, text, data, False)
    ids, ends, cuts = located(entry, data, encoding)
    assert ids.tolist() == with_stages.encode(text, disallowed_special=())
    assert all(one <= other for one, other in zip(ends.tolist(), ends.tolist()[1:], strict=False))
    if len(ids):
        assert ends[-1] == len(data) and cuts[-1] == len(text.encode("utf-16-le")) // 2
    answer = steps_around(entry, text, False, 0)
    assert set(answer) >= {"start", "bytes", "steps", "chosen"}
    for id in set(ids.tolist()):
        assert nodes_of(entry, id)[-1]["id"] == id
