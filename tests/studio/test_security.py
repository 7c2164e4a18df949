"""Requests that must be rejected, each with its status, before any view sees them."""

import json
import os
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import processes
import pytest
from merganser.cli.studio import sample
from merganser.studio import create
from merganser.studio.pool import BoundedPool
from merganser.studio.security import Folders
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def folder_of_studio(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    (folder / "inside").mkdir()
    (folder / "inside" / "text.txt").write_text("words")
    (folder / "secret.txt").write_text("not to be read")
    (folder / "inside" / "link").symlink_to(folder / "secret.txt")
    (folder / "inside" / "circle").symlink_to("circle")
    return folder


def raw(address: str, request: str) -> tuple[int, bytes]:
    """Send a request exactly as written, which an HTTP library might not."""
    parts = urlsplit(address)
    with socket.create_connection((parts.hostname, parts.port), timeout=10) as connection:
        connection.sendall(request.encode())
        data = b""
        while b"\r\n\r\n" not in data:
            received = connection.recv(65536)
            if not received:
                break
            data += received
    return int(data.split()[1]), data


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1.evil.example:{port}", "127.0.0.1:1", "0.0.0.0", ""],
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS", "HEAD"])
def test_a_foreign_host_name_is_refused(address: str, host: str, method: str) -> None:
    parts = urlsplit(address)
    named = host.format(port=parts.port)
    status, _ = raw(address, f"{method} {parts.path} HTTP/1.1\r\nHost: {named}\r\nConnection: close\r\n\r\n")
    assert status == 421


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "https://127.0.0.1"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_a_foreign_origin_is_refused(address: str, origin: str, method: str) -> None:
    answer = httpx.request(
        method, f"{address}api/about", headers={"Origin": origin, **JSON}, content=b"{}", trust_env=False
    )
    assert answer.status_code == 403
    assert "access-control-allow-origin" not in answer.headers


def test_sec_fetch_headers_of_other_sites_are_respected(address: str) -> None:
    for site in ("cross-site", "same-site"):
        fetched = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "no-cors"}
        assert httpx.get(f"{address}api/about", headers=fetched, trust_env=False).status_code == 403
        clicked = {"Sec-Fetch-Site": site, "Sec-Fetch-Mode": "navigate"}
        assert httpx.get(address, headers=clicked, trust_env=False).status_code == 200, (
            "a link may be clicked"
        )
        assert (
            httpx.post(
                f"{address}api/playground/encode", headers=clicked | JSON, content=b"{}", trust_env=False
            ).status_code
            == 403
        )


def test_the_studio_page_is_allowed(address: str) -> None:
    home = address.rsplit("/", 2)[0]
    answer = httpx.get(f"{address}api/about", headers={"Origin": home}, trust_env=False)
    assert answer.status_code == 200
    local = address.replace("127.0.0.1", "localhost")
    assert httpx.get(f"{local}api/about", trust_env=False).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/api/about", "/static/main.js", "/wrong-token/", "/wrong-token/api/about", "/{token}"]
)
def test_nothing_is_revealed_without_the_token(address: str, path: str) -> None:
    parts = urlsplit(address)
    path = path.format(token=parts.path.strip("/"))
    answer = httpx.get(f"http://{parts.netloc}{path}", trust_env=False)
    assert answer.status_code == 403
    assert "open the address that `merganser studio` printed" in answer.json()["error"]
    assert parts.path.strip("/") not in answer.text


@pytest.mark.parametrize(
    "path",
    [
        "static/../app.py",
        "static/%2e%2e/app.py",
        "static/..%2fapp.py",
        "static/views/../../security.py",
        "static//etc/passwd",
        "static/%2fetc%2fpasswd",
        "static/..\\app.py",
        "static/%00",
    ],
)
def test_no_file_outside_static_is_served(address: str, path: str) -> None:
    parts = urlsplit(address)
    host = f"Host: {parts.netloc}\r\nConnection: close\r\n\r\n"
    status, data = raw(address, f"GET {parts.path}{path} HTTP/1.1\r\n{host}")
    assert status in (400, 403, 404)
    assert b"Starlette" not in data and b"root:" not in data


@pytest.mark.parametrize(
    "name",
    [
        "../secret.txt",
        "inside/../../secret.txt",
        "link",
        "/etc/passwd",
        "file:///etc/passwd",
        "a\0b",
        "~/.ssh",
        "a" * 300,
        "circle",
    ],
)
def test_paths_outside_the_folders_are_refused(folder_of_studio: Path, name: str) -> None:
    folders = Folders([folder_of_studio / "inside"])
    with pytest.raises(HTTPException) as refused:
        folders.find(name)
    assert refused.value.status_code in (403, 404)
    if "secret" in name or name == "link":
        assert refused.value.status_code == 403


def test_paths_inside_the_folders_are_found(folder_of_studio: Path) -> None:
    inside = folder_of_studio / "inside"
    folders = Folders([inside])
    for name in ("text.txt", str(inside / "text.txt"), "../inside/text.txt"):
        assert folders.find(name) == (inside / "text.txt").resolve()
    with pytest.raises(HTTPException, match="404"):
        folders.find("nothing.txt")
    with pytest.raises(HTTPException, match="403"):
        Folders([]).find("text.txt")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(address: str) -> None:
    parts = urlsplit(address)
    head = (
        f"POST {parts.path}api/playground/encode HTTP/1.1\r\nHost: {parts.netloc}\r\n"
        "Content-Type: application/json\r\n"
    )
    assert raw(address, f"{head}Content-Length: {1 << 40}\r\n\r\n")[0] == 413


def test_a_body_without_a_length_is_limited() -> None:
    client = TestClient(
        create({"a": sample()}, [], "token", largest_body=1000), base_url="http://127.0.0.1:80/token/"
    )
    answer = client.post("api/playground/encode", content=(b"x" * 100 for _ in range(11)), headers=JSON)
    assert answer.status_code == 413
    assert client.post("api/playground/encode", content=b"x" * 1000, headers=JSON).status_code == 400


def test_only_json_can_be_posted(address: str) -> None:
    where = f"{address}api/playground/encode"
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = httpx.post(where, content=b"{}", headers={"Content-Type": kind}, trust_env=False)
        assert answer.status_code == 415
        assert "set Content-Type to application/json" in answer.json()["error"]
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 100_000, b'{"tokenizer": 1}', b'{"tokenizer": "small"}'):
        assert httpx.post(where, content=body, headers=JSON, trust_env=False).status_code == 400
    half = json.dumps({"tokenizer": "small", "text": "\ud800"}).encode()
    assert (
        "a lone surrogate at index 0; remove it"
        in httpx.post(where, content=half, headers=JSON, trust_env=False).json()["error"]
    )
    unknown = httpx.post(where, content=b'{"tokenizer": "?", "text": ""}', headers=JSON, trust_env=False)
    assert unknown.status_code == 404


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "OPTIONS", "BREW"])
def test_other_methods_are_refused(address: str, method: str) -> None:
    answer = httpx.request(method, f"{address}api/about", trust_env=False)
    assert answer.status_code == 405
    assert "use GET, HEAD or POST" in answer.json()["error"]


def test_every_response_has_the_security_headers(address: str) -> None:
    for path in ("", "api/about", "static/main.js", "nothing"):
        headers = httpx.get(f"{address}{path}", trust_env=False).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "set-cookie" not in headers


def test_no_script_parses_markup() -> None:
    static = Path(__file__).parents[2] / "python/merganser/studio/static"
    for file in [*static.rglob("*.js"), *static.rglob("*.html")]:
        code = file.read_text("utf-8")
        for word in (
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "eval(",
            "new Function",
            "onclick=",
        ):
            assert word not in code, f"{file.name} has {word}"


@pytest.mark.anyio
async def test_the_pool_rejects_calls_beyond_its_limits() -> None:
    import anyio

    pool = BoundedPool(running=2, waiting=3)
    ended = threading.Event()
    statuses: list[int] = []

    async def one() -> None:
        try:
            await pool.run(ended.wait, processes.LIMIT)
            statuses.append(200)
        except HTTPException as refused:
            statuses.append(refused.status_code)

    async with anyio.create_task_group() as group:
        for _ in range(50):
            group.start_soon(one)
        try:
            with anyio.fail_after(processes.LIMIT):
                while len(statuses) < 45:
                    await anyio.sleep(0.001)
            assert statuses == [503] * 45
        finally:
            ended.set()
    assert sorted(statuses) == [200] * 5 + [503] * 45
    await pool.run(os.getpid)


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"
