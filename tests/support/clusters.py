"""A real Ray cluster on this machine: a head that runs the driver but no tasks, and two workers."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest


class Cluster:
    """A head that runs the driver but no tasks, and two workers."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={"num_cpus": 0, "object_store_memory": 80_000_000, "include_dashboard": False},
        )
        self.workers = [self.add(), self.add()]

    def add(self) -> Any:
        return self.cluster.add_node(num_cpus=1, object_store_memory=80_000_000)

    def lose_worker(self) -> None:
        self.cluster.remove_node(self.workers.pop(), allow_graceful=False)

    @property
    def address(self) -> str:
        return str(self.cluster.address)


@contextmanager
def started_cluster() -> Iterator[Cluster]:
    import ray

    # All users of a machine share Ray's default folder, and only the first can write there. The name must be
    # short because of the sockets in it. No authentication: Ray's own fixture does not support it.
    with (
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patched,
    ):
        patched.setenv("RAY_TMPDIR", folder)
        patched.setenv("RAY_AUTH_MODE", "disabled")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            cluster = Cluster()
        yield cluster
        ray.shutdown()
        cluster.cluster.shutdown()
