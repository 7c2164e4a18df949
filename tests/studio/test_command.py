"""The `merganser studio` command: its output, what it serves, and how it stops."""

import asyncio
import json
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import merganser
import processes
import pytest
from generated import drawn
from merganser.cli import main
from merganser.cli.studio import _listen, _load


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: merganser.Tokenizer) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "merganser-out").mkdir()
    small.save(tmp_path / "merganser-out" / "tokenizer.merganser")
    return tmp_path


@contextmanager
def running(*arguments: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    command = [
        sys.executable,
        "-W",
        "error",
        "-m",
        "merganser",
        "studio",
        "--no-browser",
        "--json",
        *arguments,
    ]
    with processes.started(command) as process:
        yield process, json.loads(process.stdout.readline())


@pytest.mark.parametrize(("ending", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_studio_serves_merganser_out_until_it_is_stopped(ending: signal.Signals, code: int) -> None:
    with running("--port", "0") as (process, about):
        assert about["address"].startswith("http://127.0.0.1:")
        assert about["tokenizers"] == ["merganser-out"]
        known = httpx.get(f"{about['address']}api/about", trust_env=False).json()["tokenizers"]
        assert [tokenizer["source"] for tokenizer in known] == ["merganser.load('merganser-out')"]
        assert httpx.get(about["address"], trust_env=False).status_code == 200
        process.send_signal(ending)
        _, stderr = process.communicate()
        assert process.returncode == code
        assert stderr.strip() == "stopped"


def test_tokenizers_get_unique_names(folder: Path, small: merganser.Tokenizer) -> None:
    small.export(folder / "ranks.tiktoken", format="tiktoken")
    (folder / "other").mkdir()
    small.save(folder / "other" / "merganser-out")
    named = ["mine=merganser-out", "ranks.tiktoken@gpt2", "merganser-out", "other/merganser-out"]
    with running("--port", "0", *named) as (_, about):
        assert about["tokenizers"] == ["mine", "ranks.tiktoken", "merganser-out", "merganser-out'"]
        known = httpx.get(f"{about['address']}api/about", trust_env=False).json()["tokenizers"]
        assert known[1]["source"] == "merganser.load('ranks.tiktoken', pattern='gpt2')"


def test_embeddings_in_folders_of_the_same_name_are_all_loaded(
    folder: Path, small: merganser.Tokenizer
) -> None:
    tokenizers = {"one": small, "two": small.truncated(300), "three": small}
    for name, tokenizer in tokenizers.items():
        drawn(tokenizer, 260).save(folder / name / "embeddings")
    given = [part for name in tokenizers for part in ("--embeddings", f"{name}/embeddings")]
    with running("--port", "0", *given) as (_, about):
        maps = httpx.get(f"{about['address']}api/embeddings/about", trust_env=False).json()["maps"]
        assert [entry["name"] for entry in maps] == ["embeddings", "embeddings'", "embeddings''"]


def test_every_start_has_a_new_token() -> None:
    with running("--port", "0") as (_, first), running("--port", "0") as (_, second):
        assert first["address"].rsplit("/", 2)[1] != second["address"].rsplit("/", 2)[1]
        assert len(first["address"].rsplit("/", 2)[1]) >= 32


def test_a_token_gives_a_stable_address() -> None:
    token = "0123456789-abcdefghij_XYZ"
    addresses = []
    for _ in range(2):
        with running("--token", token, "--port", str(free_port())) as (_, about):
            addresses.append(about["address"].split("/")[3])
            assert httpx.get(about["address"]).status_code == 200
    assert addresses == [token, token]


def free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port


@pytest.mark.parametrize("token", ["short", "a" * 40, "with/slash-0123456789-abcdef", "ü" * 30, ""])
def test_a_weak_token_is_refused(token: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "--token", token, "--no-browser"]) == 2
    assert "--token must have 20 to 200 letters" in capsys.readouterr().err


def test_with_a_token_the_port_does_not_change_either(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        monkeypatch.setattr("merganser.cli.studio.PORT", taken.getsockname()[1])
        monkeypatch.setenv("MERGANSER_STUDIO_TOKEN", "0123456789-abcdefghij_XYZ")
        assert main(["studio", "--no-browser"]) == 1
    assert "choose another --port" in capsys.readouterr().err


def test_a_plain_studio_compares_two_different_tokenizers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path / "empty")
    loaded, _ = _load(())
    first, second = loaded.values()
    text = "The merganser dives for tokens."
    assert first.count_tokens(text) < second.count_tokens(text)


def test_the_studio_listens_on_the_loopback_interface_only() -> None:
    with running("--port", "0") as (_, about):
        port = int(about["address"].split(":")[2].split("/")[0])
        others = [
            host for host in socket.gethostbyname_ex(socket.gethostname())[2] if not host.startswith("127.")
        ]
        for host in others:
            with pytest.raises(OSError), socket.create_connection((host, port), timeout=2):
                pass


def test_a_port_in_use_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["studio", "--no-browser", "--port", str(taken.getsockname()[1])]) == 1
    assert "choose another --port, or leave it out" in capsys.readouterr().err


@pytest.mark.parametrize("package", ["starlette", "uvicorn"])
def test_a_missing_extra_is_named(
    package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert main(["studio", "--no-browser"]) == 1
    assert f"the studio needs {package}: pip install 'merganser[studio]'" in capsys.readouterr().err


def test_the_demo_prints_the_studio_command(capsys: pytest.CaptureFixture[str], folder: Path) -> None:
    from merganser.cli import demo
    from rich.console import Console

    demo._suggest_studio(Console(file=sys.stdout, width=200), "merganser", folder / "out")
    assert f"merganser studio {folder / 'out'}" in capsys.readouterr().out


def test_connections_are_accepted_as_soon_as_the_address_is_printed() -> None:
    """The kernel queues them while the server is still starting."""
    with _listen(0) as listening, socket.create_connection(listening.getsockname(), timeout=10):
        pass


def test_responses_are_sent_without_delay() -> None:
    """Without TCP_NODELAY, the body waits up to 40 ms for the acknowledgment of the headers."""

    async def delays() -> int:
        seen: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def connected(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted = writer.get_extra_info("socket")
            seen.set_result(accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        with _listen(0) as listening:
            async with await asyncio.start_server(connected, sock=listening):
                _, writer = await asyncio.open_connection(*listening.getsockname())
                without_delay = await seen
                writer.close()
        return without_delay

    assert asyncio.run(delays())
