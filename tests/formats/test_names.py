"""Tokenizers by name: tiktoken's encodings, and the Hugging Face hub as a local server and a cache."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import merganser
import pytest
from merganser.formats import names
from web import Page, Web, serving

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER = "fedcba9876543210fedcba9876543210fedcba98"


@pytest.fixture(scope="module")
def tokenizer() -> merganser.Tokenizer:
    return merganser.train(
        ["the cat sat on the mat; a dog ran after the cat " * 9], 270, pattern="gpt2", special_tokens=["<s>"]
    )


@pytest.fixture
def hub(tokenizer: merganser.Tokenizer, tmp_path: Path) -> Iterator[Web]:
    """A hub with `owner/name` at two revisions, one of them with a smaller tokenizer."""
    with serving() as web:
        for revision, commit, exported in (
            ("main", COMMIT, tokenizer),
            ("v1", OTHER, tokenizer.truncated(265)),
        ):
            folder = tmp_path / revision
            exported.export(folder, format="huggingface")
            files = {file.name: file.read_bytes() for file in folder.iterdir()}
            tree = [
                {"type": "file", "path": name, "size": len(files.get(name, b"")), "oid": commit}
                for name in [*files, "evil.pkl", "modeling.py"]
            ]
            web.pages[f"/api/models/owner/name/tree/{revision}"] = Page(json.dumps(tree).encode())
            for name, data in files.items():
                headers = {"ETag": f'"{hashlib.sha1(data).hexdigest()}"', "X-Repo-Commit": commit}
                web.pages[f"/owner/name/resolve/{revision}/{name}"] = Page(data, headers=headers)
                web.pages[f"/owner/name/resolve/{commit}/{name}"] = Page(data, headers=headers)
        yield web


def load(name: str, home: Path, endpoint: str, **settings: str) -> subprocess.CompletedProcess[str]:
    """Load in a process of its own: huggingface_hub reads its settings when it is imported."""
    code = f"import merganser; print(merganser.load({name!r}, **{settings!r}).vocab_size)"
    return _run([sys.executable, "-c", code], home, endpoint)


def _run(command: list[str], home: Path, endpoint: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    environment |= {"HF_HOME": str(home), "HF_ENDPOINT": endpoint, "HF_HUB_DISABLE_XET": "1", "NO_PROXY": "*"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)


def nowhere() -> str:
    """Return the address of a port at which nothing listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_a_repository_is_downloaded_once_and_then_read_from_the_cache(hub: Web, tmp_path: Path) -> None:
    home = tmp_path / "home"
    first = load("owner/name", home, hub.url)
    assert first.stdout == "270\n", first.stderr
    assert not any("evil" in request or "modeling" in request for request in hub.seen)
    offline = load("hf:owner/name", home, nowhere())
    assert offline.stdout == "270\n", offline.stderr


def test_a_revision_is_pinned(hub: Web, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert load("owner/name", home, hub.url, revision="v1").stdout == "265\n"
    assert load("owner/name", home, hub.url).stdout == "270\n"
    command = [sys.executable, "-m", "merganser", "inspect", "owner/name", "--revision", "v1", "--json"]
    result = _run(command, home, nowhere())
    assert json.loads(result.stdout)["vocab_size"] == 265, result.stderr


def test_offline_and_not_cached_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    result = load("owner/name", tmp_path, nowhere())
    assert "not in huggingface_hub's cache" in result.stderr
    assert "pass the path of its tokenizer.json" in result.stderr


def test_a_missing_repository_or_revision_is_named(hub: Web, tmp_path: Path) -> None:
    missing = {"X-Error-Code": "RepoNotFound"}
    hub.pages["/api/models/owner/other/tree/main"] = Page(b"{}", 404, missing)
    hub.pages["/api/models/owner/name/tree/v2"] = Page(b"{}", 404, {"X-Error-Code": "RevisionNotFound"})
    hub.pages["/api/models/owner/gated/tree/main"] = Page(b"{}", 403, {"X-Error-Code": "GatedRepo"})
    for name, settings, reason in (
        ("owner/other", {}, "there is no repository owner/other"),
        ("owner/name", {"revision": "v2"}, "has no revision v2"),
        ("owner/gated", {}, "is gated"),
    ):
        result = load(name, tmp_path / "home", hub.url, **settings)
        assert f"FormatError: {reason}" in result.stderr or reason in result.stderr.splitlines()[-1]


def test_encodings_and_models_of_tiktoken(
    tokenizer: merganser.Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tiktoken

    encoding = tokenizer.to_tiktoken()
    monkeypatch.setattr(
        tiktoken, "get_encoding", {"cl100k_base": encoding, "o200k_base": encoding}.__getitem__
    )
    monkeypatch.setattr(names, "_is_cached", lambda _: True)
    for name in ("cl100k_base", "gpt-4o", "tiktoken:gpt-4o", "tiktoken:cl100k_base"):
        assert merganser.load(name) == tokenizer


def test_an_encoding_that_is_not_cached_needs_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("https_proxy", nowhere())  # as if there were no network
    monkeypatch.delenv("no_proxy", raising=False)
    with pytest.raises(
        merganser.FormatError, match=r"not in tiktoken's cache.*pass the path of its rank file"
    ):
        merganser.load("cl100k_base")


def test_a_path_takes_precedence(
    tokenizer: merganser.Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tokenizer.export("cl100k_base", format="huggingface")
    Path("owner").mkdir()
    shutil.copytree("cl100k_base", "owner/name")
    for name in ("cl100k_base", "owner/name"):
        assert merganser.load(name) == tokenizer


@pytest.mark.parametrize("name", ["missing", "missing.json", "missing/tokenizer.json", "/missing/tokenizer"])
def test_the_path_of_a_missing_file_is_not_a_name(name: str) -> None:
    assert not names.is_name(name)
    with pytest.raises(merganser.FormatError, match="No such file"):
        merganser.load(name)


def test_only_names_of_the_hub_have_revisions(tokenizer: merganser.Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "t.merganser")
    with pytest.raises(merganser.SettingsError, match="revision is for repositories"):
        merganser.load(tmp_path / "t.merganser", revision="main")
    with pytest.raises(merganser.FormatError, match="has no revisions"):
        merganser.load("tiktoken:cl100k_base", revision="main")


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "find_spec", lambda _: None)
    for name, library in (
        ("o200k_base", "tiktoken"),
        ("gpt-4o", "tiktoken"),
        ("owner/name", "huggingface_hub"),
    ):
        monkeypatch.setitem(sys.modules, library, None)
        with pytest.raises(ImportError, match=f"needs {library}: pip install"):
            merganser.load(name)
