"""A job of 200 shards loses a worker three times and the driver once, and ends byte-identical.

The cluster is real: `ray start` for a head and two workers, with token authentication. Prints the figures.
"""

import json
import random
import signal
import sys
import time
from pathlib import Path

import merganser
import processes
import pytest
from ray_nodes import Nodes

pytest.importorskip("ray")

SHARDS = 200

DRIVER = """
import sys, merganser
tokenizer = merganser.load(sys.argv[2])
engine = merganser.Ray(sys.argv[1], sys.argv[4], memory="100MB", shard_size=int(sys.argv[6]))
tokens = tokenizer.encode_corpus(sys.argv[3], out=sys.argv[5], shard_tokens=50_000, append="<|endoftext|>",
                                 engine=engine, format="megatron")
print(len(tokens.shards), tokens.token_count)
"""


def test_a_job_survives_three_workers_and_a_driver(tmp_path: Path) -> None:
    words = "".join(file.read_text("utf-8") for file in Path(merganser.__file__).parent.rglob("*.py")).split()
    generator = random.Random(1)
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    size = 200_000
    for n in range(20):
        text = " ".join(generator.choices(words, k=SHARDS * size // 20 // 7))
        documents = [text[at : at + 3000] for at in range(0, len(text), 3000)]
        (corpus / f"{n:02}.txt").write_text("<|endoftext|>".join(documents))
    tokenizer = merganser.train(corpus / "00.txt", 1000, special_tokens=["<|endoftext|>"])
    tokenizer.save(tmp_path / "x.merganser")
    settings = {"shard_tokens": 50_000, "append": "<|endoftext|>", "format": "megatron"}
    tokenizer.encode_corpus(corpus, out=tmp_path / "here", **settings)
    expected = {file.name: file.read_bytes() for file in (tmp_path / "here").iterdir()}

    storage, out = tmp_path / "storage", tmp_path / "out"
    began = time.monotonic()
    events: list[str] = []
    with Nodes() as nodes:
        nodes.start_worker()
        nodes.start_worker()
        arguments = [nodes.address, tmp_path / "x.merganser", corpus, storage, out, size]
        command = [sys.executable, "-c", DRIVER, *map(str, arguments)]

        def pieces() -> int:
            return len(list(storage.glob("*/piece-*.json")))

        def lose_worker(at: int, driver: object) -> None:
            processes.wait_until(lambda: pieces() >= at, driver)
            events.append(f"{time.monotonic() - began:.0f} s: lost a worker at {pieces()} pieces")
            nodes.lose_worker()
            nodes.start_worker()

        with processes.started(command, limit=1800, env=nodes.environment) as driver:
            lose_worker(20, driver)
            lose_worker(60, driver)
            processes.wait_until(lambda: pieces() >= 90, driver)
            driver.send_signal(signal.SIGKILL)
            driver.wait()
        events.append(f"{time.monotonic() - began:.0f} s: lost the driver at {pieces()} pieces")
        before = {file.name: file.read_text() for file in storage.glob("*/*.json")}
        published = len(merganser.Tokens.open(out).shards)
        with processes.started(command, limit=1800, env=nodes.environment) as driver:
            lose_worker(130, driver)
            printed, errors = driver.communicate()
            assert driver.returncode == 0, errors
    events.append(f"{time.monotonic() - began:.0f} s: done, {printed.strip()} shards and tokens")
    print(json.dumps({"pieces before": len(before), "published before": published, "events": events}))
    assert {file.name: file.read_bytes() for file in out.iterdir()} == expected
    assert not storage.exists()
