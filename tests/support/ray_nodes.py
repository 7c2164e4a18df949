"""A Ray cluster of real processes, as `ray start` starts them, with token authentication."""

import os
import secrets
import socket
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import processes

RAY = [sys.executable, "-m", "ray.scripts.scripts"]


class Nodes:
    """A head; workers are added and killed."""

    def __init__(self, head_cpus: int = 0) -> None:
        self._head_cpus = head_cpus
        self._stack = ExitStack()
        self._workers: list[ExitStack] = []
        self.token = secrets.token_hex(32)

    def __enter__(self) -> "Nodes":
        folder = self._stack.enter_context(
            tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True)
        )
        self._folder = Path(folder)
        kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
        self.environment = kept | {
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self.token,
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        port = _free_port()
        self.address = f"127.0.0.1:{port}"
        head = self._start(
            self._stack,
            "--head",
            f"--port={port}",
            f"--num-cpus={self._head_cpus}",
            "--include-dashboard=false",
        )
        processes.wait_until(lambda: _listens(port), head)
        return self

    def __exit__(self, *_: object) -> None:
        for worker in self._workers:
            worker.close()
        self._stack.close()

    def _start(self, stack: ExitStack, *arguments: str) -> Any:
        command = [*RAY, "start", *arguments, "--block", "--node-ip-address=127.0.0.1"]
        command += ["--object-store-memory=80000000", "--memory=2000000000"]
        log = stack.enter_context((self._folder / f"{secrets.token_hex(4)}.log").open("w"))
        return stack.enter_context(
            processes.started(command, limit=3600, env=self.environment, stdout=log, stderr=log)
        )

    def start_worker(self) -> None:
        worker = ExitStack()
        self._start(worker, f"--address={self.address}", "--num-cpus=1")
        self._workers.append(worker)

    def lose_worker(self) -> None:
        """Kill all processes of the oldest worker."""
        self._workers.pop(0).close()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
