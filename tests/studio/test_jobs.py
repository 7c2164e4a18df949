"""Jobs of the studio: the queue, events, cancellation, failures, and the files that training may read."""

import json
import random
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any

import merganser
import pytest
from killing import word
from merganser.studio import create
from merganser.studio.jobs import MAX_FINISHED, MAX_WAITING, Job, Jobs
from merganser.studio.security import Folders
from merganser.studio.train import suggested_files, train_job
from processes import LIMIT, wait_until
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

TEXT = "the cat sat on the mat and the rat sat on the cat " * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "one.txt").write_text(TEXT)
    (inside / "deep" / "two.txt").write_text(TEXT)
    (tmp_path / "secret.txt").write_text("secret " * 99)
    return inside


@pytest.fixture
def client(folder: Path) -> Iterator[TestClient]:
    app = create({"small": merganser.train([TEXT], 270)}, [folder], "token")
    yield TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    app.state.studio.jobs.close()


def start(client: TestClient, **settings: Any) -> Any:
    return client.post("/token/api/train/start", json={"vocab_size": 280, "text": TEXT} | settings)


def received(client: TestClient, job: str, after: int = 0) -> list[tuple[str, Any]]:
    """Return all events of a job until it is over, except progress, which depends on timing."""
    headers = {"Last-Event-ID": str(after)} if after else {}
    with client.stream("GET", "/token/api/train/events", params={"job": job}, headers=headers) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        text = answer.read().decode()
    events = [
        dict(line.split(": ", 1) for line in event.split("\n")) for event in text.split("\n\n") if event
    ]
    return [(event["event"], json.loads(event["data"])) for event in events if event["event"] != "progress"]


def trained(client: TestClient, **settings: Any) -> list[tuple[str, Any]]:
    answer = start(client, **settings)
    assert answer.status_code == 202, answer.text
    return received(client, answer.json()["job"])


@contextmanager
def occupied(jobs: Jobs) -> Iterator[Job]:
    """Run a job until the context exits."""
    go = threading.Event()
    job = jobs.start(lambda job: {"waited": go.wait(LIMIT)})
    try:
        wait_until(lambda: job.state == "running")
        yield job
    finally:
        go.set()


def test_merges_equal_those_of_train_and_all_views_get_the_tokenizer(client: TestClient) -> None:
    events = trained(client, vocab_size=272, name="mine", special_tokens=["<|end|>"])
    expected = merganser.train([TEXT], 272, special_tokens=["<|end|>"])
    emitted = [merge for kind, batch in events if kind == "merges" for merge in batch]
    assert [(bytes.fromhex(left), bytes.fromhex(right)) for left, right, _ in emitted] == expected.merges
    assert [seen for _, _, seen in emitted] == list(expected.merge_counts.values())
    facts = {"documents": 1, "pretokens": 261, "different": 9, "bytes": len(TEXT)}
    assert events[0] == ("counted", facts)
    assert events[-1][0] == "done" and events[-1][1]["name"] == "mine"
    assert "mine" in [known["name"] for known in client.get("/token/api/about").json()["tokenizers"]]
    saved = client.get("/token/api/train/file", params={"tokenizer": "mine"})
    assert "tokenizer.merganser" in saved.headers["content-disposition"]
    kept = Path(client.app.state.studio.folders.roots[0], "kept.merganser")  # type: ignore[attr-defined]
    kept.write_bytes(saved.content)
    assert merganser.load(kept) == expected


def test_a_long_training_emits_merges_while_it_runs(client: TestClient) -> None:
    """The merges come from the log. The job is cancelled early: all merges would take ten seconds."""
    state = client.app.state.studio  # type: ignore[attr-defined]
    chance = random.Random(1)
    words = " ".join(word(chance.getrandbits(80)) for _ in range(400_000))
    settings = {"vocab_size": 2_000_000, "pattern": "gpt2", "special_tokens": [], "name": "long"}
    running = state.jobs.start(lambda job: train_job(job, state, [words], settings))
    wait_until(lambda: any(kind == "merges" for kind, _ in running.events))
    assert running.state == "running", running.events[-1]
    running.cancel()
    wait_until(lambda: running.is_over)
    assert running.state == "cancelled"
    emitted = [merge for kind, batch in running.events if kind == "merges" for merge in batch]
    expected = merganser.train([words], 256 + len(emitted), pattern="gpt2")
    assert [(bytes.fromhex(left), bytes.fromhex(right)) for left, right, _ in emitted] == expected.merges


def test_a_late_listener_receives_the_events_it_missed(client: TestClient) -> None:
    job = start(client).json()["job"]
    events = received(client, job)
    assert received(client, job) == events
    assert received(client, job, after=1) == events[1:]
    assert received(client, job, after=10**4000) == events, "an event number that never existed"


def test_warnings_and_failures_are_reported(client: TestClient) -> None:
    done = trained(client, vocab_size=5000)[-1]
    assert done[0] == "done" and "train on more text for a larger vocabulary" in done[1]["warnings"][0]
    assert trained(client, pattern="(")[-1][0] == "failed"


@pytest.mark.parametrize(
    ("settings", "status", "message"),
    [
        ({"vocab_size": 255}, 400, "vocab_size must be 256 to 131,072 here, got 255"),
        ({"vocab_size": 1 << 30}, 400, "vocab_size must be 256 to 131,072 here, got 1,073,741,824"),
        ({"vocab_size": "many"}, 400, "'vocab_size' must be of type int"),
        ({"text": ""}, 400, "the text is empty; paste some text or choose a file"),
        ({"text": "\ud800"}, 400, "'text' has a lone surrogate at index 0; remove it"),
        ({"special_tokens": [1]}, 400, "must be a list of strings"),
        ({"special_tokens": ["<|x|>", "\ud83d"]}, 400, "has half a character (a lone surrogate)"),
        ({"path": "/etc/passwd"}, 403, "may read; restart it with --folder"),
        ({"path": "../secret.txt"}, 403, "may read; restart it with --folder"),
        ({"path": "https://example.org/text.txt"}, 403, "may read; restart it with --folder"),
        ({"path": "nothing.txt"}, 404, "nothing.txt does not exist in the folders"),
        ({"path": "a" * 300}, 404, "does not exist in the folders"),
        ({"path": "\ud800"}, 400, "'path' has a lone surrogate"),
        ({"name": "\ud800"}, 400, "'name' has a lone surrogate"),
        ({"pattern": "\ud800"}, 400, "'pattern' has a lone surrogate"),
    ],
)
def test_invalid_settings_are_refused(
    client: TestClient, settings: dict[str, Any], status: int, message: str
) -> None:
    answer = client.post(
        "/token/api/train/start",
        content=json.dumps({"vocab_size": 280, "text": TEXT} | settings),
        headers={"Content-Type": "application/json"},
    )
    assert answer.status_code == status, answer.text
    assert message in answer.json()["error"]


def test_only_files_inside_the_folders_are_suggested(client: TestClient, folder: Path) -> None:
    (folder / "link.txt").symlink_to(folder.parent / "secret.txt")
    files = client.get("/token/api/train/about").json()["files"]
    assert sorted((file["path"], file["bytes"]) for file in files) == [
        (str(folder / "deep" / "two.txt"), len(TEXT)),
        (str(folder / "one.txt"), len(TEXT)),
    ]


def test_a_deleted_folder_does_not_hide_the_files_of_others(folder: Path) -> None:
    deleted = folder.parent / "deleted"
    deleted.mkdir()
    folders = Folders([deleted, folder])
    deleted.rmdir()
    assert len(suggested_files(folders)) == 2


def test_a_folder_is_read_recursively_and_links_out_of_it_are_refused(
    client: TestClient, folder: Path
) -> None:
    events = trained(client, path=str(folder))
    assert events[0][1]["documents"] == 2
    (folder / "deep" / "link.txt").symlink_to(folder.parent / "secret.txt")
    assert start(client, path=str(folder)).status_code == 403
    assert start(client, path="deep/link.txt").status_code == 403


def test_fifty_trainings_at_once_are_queued_or_refused(client: TestClient) -> None:
    jobs = client.app.state.studio.jobs  # type: ignore[attr-defined]
    with occupied(jobs), ThreadPoolExecutor(50) as pool:
        answers = list(pool.map(lambda nth: start(client, name=str(nth)), range(50)))
    statuses = Counter(answer.status_code for answer in answers)
    assert statuses == {202: MAX_WAITING, 429: 50 - MAX_WAITING}
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert int(refused.headers["retry-after"]) > 0 and "cancel a job or try again" in refused.json()["error"]
    for answer in answers:
        if answer.status_code == 202:
            assert received(client, answer.json()["job"])[-1][0] == "done"


def test_waiting_and_running_jobs_can_be_cancelled(client: TestClient) -> None:
    state = client.app.state.studio  # type: ignore[attr-defined]
    settings = {"vocab_size": 280, "pattern": "gpt4", "special_tokens": [], "name": "endless"}
    running = state.jobs.start(lambda job: train_job(job, state, repeat(TEXT), settings))
    wait_until(lambda: running.progress.get("done"))
    first, second = running.id, start(client).json()["job"]
    for job in (second, first):
        assert client.post("/token/api/train/cancel", json={"job": job}).status_code == 200
    assert received(client, second)[-1][0] == received(client, first)[-1][0] == "cancelled"
    assert [known["name"] for known in client.get("/token/api/about").json()["tokenizers"]] == ["small"]
    assert client.post("/token/api/train/cancel", json={"job": "other"}).status_code == 404
    assert trained(client)[-1][0] == "done", "the queue continues"


def test_one_job_runs_while_others_wait() -> None:
    jobs = Jobs(waiting=2)
    with occupied(jobs) as running:
        waiting = [jobs.start(lambda job: {}) for _ in range(2)]
        with pytest.raises(HTTPException, match="429"):
            jobs.start(lambda job: {})
        assert [jobs.ahead_of(job) for job in waiting] == [1, 2]
    wait_until(lambda: waiting[-1].is_over)
    assert [job.state for job in (running, *waiting)] == ["done"] * 3


def test_a_job_that_is_cancelled_while_it_starts_ends_once() -> None:
    class Starting(Job):
        cancelling = False

        @property
        def is_over(self) -> bool:
            over = super().is_over
            if not self.cancelling:
                self.cancelling = True
                cancel = threading.Thread(target=self.cancel, daemon=True)
                cancel.start()
                cancel.join(0.1)  # either it ends here, or it waits for the lock
            return over

    job = Starting(lambda job: {})
    job.run()
    assert job.state == "cancelled"
    assert [kind for kind, _ in job.events] == ["cancelled"]


def test_old_jobs_are_dropped() -> None:
    jobs = Jobs()
    first: Job | None = None
    for _ in range(MAX_FINISHED + 3):
        job = jobs.start(lambda job: {})
        first = first or job
        wait_until(lambda job=job: job.is_over)  # type: ignore[misc]
    assert first is not None
    with pytest.raises(HTTPException, match="404"):
        jobs.find(first.id)
