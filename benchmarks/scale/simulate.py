"""Simulate counting and training 10 TB on a cluster: where the time goes, and what would move it.

    python -m benchmarks.scale.simulate

Tasks are those of `merganser.engines.shards`: one count task per shard of 1 GB, then merge tasks of 32 runs
for each part until a part is one file; then the driver adds the parts up, and merges pairs on one node. Costs
are measured (`Costs`, with their source); bandwidth and the rate of node losses are assumptions (`Cluster`).
A node works on `cores / 2` tasks of two threads at a time and shares its bandwidth among them. When it is
lost, its task starts again elsewhere, and a new node takes its place after five minutes.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, replace

GB = 1e9
FAN_IN = 32


@dataclass(frozen=True)
class Costs:
    """Measured on two cores of an AMD EPYC; 2026-11-18."""

    #: Processor seconds per GB of plain text: the landmark, 150 GB (without the generator).
    count: float = 4.0
    #: Processor seconds per pre-token that runs are merged from: five files, 44 million.
    combine: float = 0.95 / 44.1e6
    #: Threads that a single merge can use: decoding is 40% of it and one thread per source.
    combine_threads: int = 8
    #: Bytes of a pre-token in a run: the runs of the landmark.
    bytes: float = 4.9
    #: Unique pre-tokens in a shard of 1 GB.
    per_shard: float = 5.5e6
    #: Processor seconds per pre-token of merging pairs out of memory, as if on one thread: the landmark.
    merge: float = 2.8e-6


@dataclass(frozen=True)
class Cluster:
    nodes: int
    cores: int = 16
    #: Bytes per second that a node reads from or writes to the storage; an assumption.
    bandwidth: float = 2 * GB
    #: Losses per node and hour; an assumption.
    losses: float = 0.01


@dataclass(frozen=True)
class Task:
    processor: float
    bytes: float


def natural(size: float) -> float:
    """Return the unique pre-tokens in `size` bytes: `benchmarks/scale/generate.py`."""
    return 1.05e6 * (size / 132e6) ** 0.82


def stage(tasks: list[Task], cluster: Cluster, chance: random.Random) -> tuple[float, int]:
    """Return the seconds that a stage takes, and how many tasks had to start again."""
    slots = cluster.cores // 2
    free = [(0.0, node) for node in range(cluster.nodes) for _ in range(slots)]
    heapq.heapify(free)
    rate = cluster.losses / 3600
    lost_until = [0.0] * cluster.nodes
    next_loss = [chance.expovariate(rate) if rate else float("inf") for _ in range(cluster.nodes)]
    waiting, again, end = list(reversed(tasks)), 0, 0.0
    while waiting:
        now, node = heapq.heappop(free)
        if now < lost_until[node]:
            heapq.heappush(free, (lost_until[node], node))
            continue
        task = waiting.pop()
        # A task reads and computes at the same time, on two threads, with its share of the bandwidth.
        seconds = max(task.processor / 2, task.bytes * slots / cluster.bandwidth)
        if now + seconds > next_loss[node]:
            lost_until[node] = next_loss[node] + 300
            next_loss[node] = lost_until[node] + chance.expovariate(rate)
            waiting.append(task)
            again += 1
            heapq.heappush(free, (lost_until[node], node))
            continue
        end = max(end, now + seconds)
        heapq.heappush(free, (now + seconds, node))
    return end, again


def simulate(size: float, cluster: Cluster, costs: Costs, seed: int = 1) -> dict[str, float]:
    """Return the seconds of each stage."""
    chance = random.Random(seed)
    unique = natural(size)
    shards = max(round(size / GB), 1)
    result: dict[str, float] = {}
    result["counting"], again = stage([Task(costs.count, GB)] * shards, cluster, chance)
    parts, runs, in_run, merging = cluster.nodes * 8, float(shards), costs.per_shard, 0.0
    while runs > 1:
        groups = -(-runs // FAN_IN)
        read = in_run * min(FAN_IN, runs) / parts
        in_run = min(in_run * min(FAN_IN, runs), unique, natural(size / groups))
        task = Task(read * costs.combine, (read + in_run / parts) * costs.bytes)
        seconds, more = stage([task] * int(groups * parts), cluster, chance)
        merging, again, runs = merging + seconds, again + more, groups
    result["merging of runs"] = merging
    one_node = unique * costs.combine / min(costs.combine_threads, cluster.cores)
    transfer = 2 * unique * costs.bytes / cluster.bandwidth
    result["adding up, one node"] = max(one_node, transfer)
    result["training, one node"] = unique * costs.merge
    result["tasks started again"] = again
    return result


def table(size: float = 1e13) -> list[str]:
    """The simulation in Markdown, for docs/scale.md."""
    costs = Costs()
    cases = {
        "16 nodes": (Cluster(16), costs),
        "64 nodes": (Cluster(64), costs),
        "64 nodes, 10 times the losses": (replace(Cluster(64), losses=0.1), costs),
        "64 nodes, storage of 0.2 GB/s per node": (replace(Cluster(64), bandwidth=0.2 * GB), costs),
        "64 nodes, training four times as fast": (Cluster(64), replace(costs, merge=costs.merge / 4)),
    }
    rows = {name: simulate(size, *case) for name, case in cases.items()}
    stages = [name for name in next(iter(rows.values())) if name != "tasks started again"]
    lines = ["| 10 TB | " + " | ".join(stages) + " | total | tasks started again |"]
    lines.append("|---|" + "---:|" * (len(stages) + 2))
    for name, row in rows.items():
        minutes = [row[stage] / 60 for stage in stages]
        cells = [f"{value:,.1f} min" for value in (*minutes, sum(minutes))]
        lines.append(f"| {name} | " + " | ".join(cells) + f" | {row['tasks started again']:,.0f} |")
    return lines


if __name__ == "__main__":
    print("\n".join(table()))
