"""Long-running work can be monitored and interrupted, and does not block other threads."""

import signal
import sys
import threading
from subprocess import PIPE

import merganser
import processes
import pytest
from merganser import Counts
from ticking import ticks_during

#: Counts endless documents, or merges enough unique pre-tokens to take seconds.
WORK = """
import random, sys, merganser
from interrupting import interrupted
random.seed(1)
letters = "abcdefghijklmnop"
if sys.argv[1] == "merge":
    pretokens = {"".join(random.choices(letters, k=12)).encode(): 1 for _ in range(300_000)}
    counts = merganser.Counts(pretokens)
    interrupted(lambda: merganser.train(counts, 200_000))
else:
    text = " ".join("".join(random.choices(letters, k=6)) for _ in range(200_000))
    def documents():
        while True:
            yield text
    interrupted(lambda: merganser.count(documents(), buffer_size=8))
"""


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_ctrl_c_stops_at_once(stage: str) -> None:
    done = processes.interrupted(WORK, stage)
    assert done.stdout == "stopped\n", done.stderr


def test_ctrl_c_stops_waiting_for_standard_input() -> None:
    script = "import merganser; merganser.count('-')"
    with processes.started([sys.executable, "-c", script], stdin=PIPE) as process:
        process.stdin.write("some text")
        process.stdin.flush()
        processes.wait_until(lambda: processes.has_read_all(process), process)
        process.send_signal(signal.SIGINT)
        process.wait()  # its standard input is still open
        assert process.returncode == -signal.SIGINT
        assert "KeyboardInterrupt" in process.stderr.read()


def test_standard_input_is_read_only_when_data_is_available() -> None:
    """Otherwise a Ctrl-C just before a read would have no effect until more input arrives."""
    script = """
import os, select, threading, time, merganser
read = os.read
def checked(file, size):
    assert select.select([file], [], [], 0)[0], "the read would block"
    return read(file, size)
os.read = checked
source, sink = os.pipe()
os.dup2(source, 0)
def feed():
    time.sleep(0.2)  # make it wait for input, and then for the end
    os.write(sink, b"some text")
    time.sleep(0.2)
    os.close(sink)
threading.Thread(target=feed).start()
assert merganser.count("-").total == 2
"""
    processes.run([sys.executable, "-c", script], check=True)


def many_pretokens() -> Counts:
    return Counts({f"{n * n:x}{n:x}".encode(): 1 + n % 7 for n in range(60_000)})


def test_other_threads_run_during_training() -> None:
    counts = many_pretokens()
    assert ticks_during(lambda: merganser.train(counts, 20_000)) >= 5


def test_progress_is_reported_and_never_decreases() -> None:
    reports: list[tuple[str, int, int]] = []
    texts = [f"word{n} " * 50 for n in range(2000)]
    merganser.train(texts, 400, buffer_size=100, progress=lambda *report: reports.append(report))
    counted = [done for stage, done, _ in reports if stage == "count"]
    merged = [(done, total) for stage, done, total in reports if stage == "merge"]
    assert counted == sorted(counted)
    assert counted[-1] >= sum(map(len, texts))
    assert merged[-1] == (144, 144)
    assert [stage for stage, *_ in reports] == ["count"] * len(counted) + ["merge"] * len(merged)


@pytest.mark.parametrize("stage", ["count", "merge"])
def test_an_exception_in_the_callback_stops_the_work_and_is_raised(stage: str) -> None:
    def watch(now: str, done: int, total: int) -> None:
        if now == stage:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        merganser.train(["some text to learn from " * 100] * 100, 270, progress=watch)


def test_concurrent_trainings_do_not_interfere() -> None:
    counts = many_pretokens()
    expected = merganser.train(counts, 400)
    results: list[bool] = []
    threads = [
        threading.Thread(target=lambda: results.append(merganser.train(counts, 400) == expected), daemon=True)
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    processes.joined(*threads)
    assert results == [True] * 4
