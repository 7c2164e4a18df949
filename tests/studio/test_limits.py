"""Limits of the studio: slow work, slow clients and floods of connections do not stop other requests."""

import asyncio
import json
import logging
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import merganser
import processes
import pytest
from merganser.studio.jobs import MAX_STREAMS, Job
from merganser.studio.pool import BoundedPool
from merganser.studio.server import Limits, _MessageLimit
from opened import Studio, served
from starlette.exceptions import HTTPException

#: Short enough for a test. Requests of a busy machine are not affected: they arrive at once.
SHORT = Limits(connections=12, headers=2.0, body=2.0, reading=1.0)


def hostile() -> merganser.Tokenizer:
    """Return a tokenizer that takes quadratic time for a text without `b`."""
    return merganser.train(["the cab sat by the crib"] * 3, 260, pattern="[^b]*b")


@pytest.fixture(scope="module")
def limited(small: merganser.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studio]:
    loaded = {"small": small, "custom": hostile()}
    with served(loaded, tmp_path_factory.mktemp("limits"), limits=SHORT) as studio:
        yield studio


def encode(studio: Studio, tokenizer: str, text: str = "the cat") -> httpx.Response:
    body = {"tokenizer": tokenizer, "text": text}
    return httpx.post(
        f"{studio.address}api/playground/encode", json=body, timeout=processes.LIMIT, trust_env=False
    )


def connect(studio: Studio, text: str = "", **options: int) -> socket.socket:
    parts = urlsplit(studio.address)
    connection = socket.socket()
    for name, value in options.items():
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    connection.settimeout(processes.LIMIT)
    connection.connect((parts.hostname, parts.port))
    connection.sendall(text.format(host=parts.netloc, path=parts.path).encode())
    return connection


def is_closed(connection: socket.socket) -> bool:
    """Read until the server closes the connection; raise `TimeoutError` if it does not."""
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_custom_patterns_and_reports_do_not_delay_other_requests(limited: Studio) -> None:
    ended = threading.Event()
    state = limited.state

    async def occupy() -> None:
        pools = [state.custom, state.custom, state.slow, state.slow]
        await asyncio.gather(*(pool.run(ended.wait, processes.LIMIT) for pool in pools))

    occupied = threading.Thread(target=lambda: asyncio.run(occupy()))
    occupied.start()
    with ThreadPoolExecutor() as threads:
        try:
            waiting = threads.submit(encode, limited, "custom")
            for text in ("the cat", "the cat " * 10_000):
                assert encode(limited, "small", text).status_code == 200
            found = httpx.post(
                f"{limited.address}api/vocabulary/search", json={"tokenizer": "small"}, trust_env=False
            )
            assert found.status_code == 200
            assert not waiting.done(), "a custom pattern uses its own threads"
        finally:
            ended.set()
        assert waiting.result().status_code == 200
    processes.joined(occupied)


def test_a_call_that_takes_too_long_is_answered_and_keeps_its_thread() -> None:
    pool = BoundedPool(1, waiting=1, seconds=0.05)
    ended = threading.Event()

    async def check() -> None:
        for _ in range(3):  # one runs, one waits in turn
            with pytest.raises(HTTPException, match=r"503: this takes longer than 0 s; shorten the text"):
                await pool.run(ended.wait, processes.LIMIT)
        ended.set()
        while True:
            try:
                assert await pool.run(os.getpid) == os.getpid()
                break
            except HTTPException:  # the thread is about to end its first call
                await asyncio.sleep(0.01)

    asyncio.run(check())
    assert pool.close(processes.LIMIT)


def test_closing_reports_calls_that_still_run() -> None:
    pool = BoundedPool(1)
    ended = threading.Event()

    async def start() -> None:
        asyncio.create_task(pool.run(ended.wait, processes.LIMIT))  # noqa: RUF006  # it is never awaited
        await asyncio.sleep(0)

    asyncio.run(start())
    assert not pool.close(0.05)
    ended.set()


#: Requests that never end: nothing at all, half of the headers, half of the body, half of a second request,
#: and no second request.
UNFINISHED = (
    "",
    "GET {path} HTTP/1.1\r\nHost: {host}\r\nX-Slow: ",
    "POST {path}api/about HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
    'Content-Length: 100\r\n\r\n{{"half": ',
    "GET {path}api/about HTTP/1.1\r\nHost: {host}\r\n\r\nGET {path} HTTP/1.1\r\n",
    "GET {path}api/about HTTP/1.1\r\nHost: {host}\r\n\r\n",
)


def test_clients_that_stop_sending_are_disconnected(limited: Studio) -> None:
    with ExitStack() as stack:
        slow = [stack.enter_context(connect(limited, sent)) for sent in UNFINISHED]
        drip = stack.enter_context(connect(limited, UNFINISHED[1]))
        assert encode(limited, "small").status_code == 200
        with pytest.raises(ConnectionError):  # the time limit is for all headers, not for each byte
            for _ in range(100_000):
                drip.sendall(b"x")
                select.select([drip], [], [], 0.01)
        assert all(map(is_closed, slow))


def test_a_client_that_does_not_read_is_disconnected(limited: Studio) -> None:
    body = json.dumps({"tokenizers": ["small", "small"], "text": "the cat " * 100_000})
    head = (
        "POST {path}api/compare/encode HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with connect(limited, head, SO_RCVBUF=4096) as connection:
        connection.sendall(body.encode())
        open_connections = limited.server.server_state.connections
        processes.wait_until(lambda: any(one.flow.write_paused for one in tuple(open_connections)))
        processes.wait_until(lambda: not open_connections)


def test_a_flood_of_connections_does_not_lock_the_page_out(limited: Studio) -> None:
    with ExitStack() as stack:
        flood = [stack.enter_context(connect(limited)) for _ in range(4 * SHORT.connections)]
        assert encode(limited, "small").status_code == 200
        assert all(map(is_closed, flood[: -SHORT.connections]))


def test_the_number_of_event_streams_is_limited(small: merganser.Tokenizer, tmp_path: Path) -> None:
    with ExitStack() as stack:
        ended = threading.Event()
        studio = stack.enter_context(served({"small": small}, tmp_path))

        def work(job: Job) -> dict[str, Any]:
            job.emit("started", {})
            return {"waited": ended.wait(processes.LIMIT)}

        job = studio.state.jobs.start(work)
        stack.callback(ended.set)
        client = stack.enter_context(
            httpx.Client(trust_env=False, timeout=processes.LIMIT, limits=httpx.Limits(max_connections=None))
        )
        url = f"{studio.address}api/train/events?job={job.id}"
        streams: list[Any] = []
        for _ in range(MAX_STREAMS):
            streams.append(stack.enter_context(client.stream("GET", url)).iter_bytes())
            assert next(streams[-1]), "it has started"
        refused = client.get(url)
        assert refused.status_code == 503 and "close some of them" in refused.json()["error"]
        assert encode(studio, "small").status_code == 200
        streams[0].close()

        def is_accepted() -> bool:
            with client.stream("GET", url) as response:
                return response.status_code == 200

        processes.wait_until(is_accepted)


def running(*arguments: str, descriptors: int = 1024) -> Any:
    """Start the command with a limit on open files."""
    command = (
        f"ulimit -n {descriptors}; exec {sys.executable} -m merganser studio --no-browser --json --port 0"
    )
    return processes.started(["bash", "-c", f"{command} {' '.join(arguments)}"])


@pytest.fixture
def hostile_file(tmp_path: Path) -> str:
    path = tmp_path / "hostile.merganser"
    hostile().save(path)
    return str(path)


def test_a_full_descriptor_table_is_reported_briefly_and_passes(hostile_file: str) -> None:
    with running(hostile_file, descriptors=48) as process:
        address = json.loads(process.stdout.readline())["address"]
        studio = Studio(address, None, None)  # type: ignore[arg-type]
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(connect(studio))
            processes.wait_until(lambda: len(list(Path(f"/proc/{process.pid}/fd").iterdir())) >= 48, process)
            select.select([], [], [], 1.5)  # asyncio tries again every second
        assert httpx.get(f"{address}api/about", timeout=processes.LIMIT, trust_env=False).status_code == 200
        process.send_signal(signal.SIGTERM)
        _, stderr = process.communicate()
    assert "Too many open files" in stderr
    assert len(stderr) < 100_000


def test_ctrl_c_stops_a_studio_that_is_busy_with_a_hostile_pattern(hostile_file: str) -> None:
    """The text would take an hour, and native code cannot be interrupted."""
    with running(hostile_file) as process:
        address = json.loads(process.stdout.readline())["address"]
        studio = Studio(address, None, None)  # type: ignore[arg-type]
        name = "hostile.merganser"
        with ThreadPoolExecutor() as threads:
            asked = [threads.submit(encode, studio, name, "a" * 1_000_000) for _ in range(3)]
            processes.wait_until(lambda: processes.processor_time(process) > 1, process)
            assert encode(studio, name, "").status_code in (200, 503)
            assert httpx.get(f"{address}api/about", timeout=60, trust_env=False).status_code == 200
            process.send_signal(signal.SIGINT)
            _, stderr = process.communicate()
            for answer in asked:
                answer.exception()
    assert process.returncode == 130
    assert stderr.splitlines()[-1] == "stopped"


def test_log_messages_are_limited_per_minute() -> None:
    limit = _MessageLimit(3)
    passed = []
    for n in range(10):
        record = logging.LogRecord("x", logging.ERROR, "", 0, "message %d", (n,), None)
        if limit.filter(record):
            passed.append(record.getMessage())
    assert passed == ["message 0", "message 1", "message 2 (further messages of this minute are left out)"]
