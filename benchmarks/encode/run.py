"""Run the encoding benchmarks: `python3 benchmarks/encode/run.py`, with any python3.

--quick              a smoke test: small texts, one round, under two minutes
--only batch,disk    only some sections
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

# As a script, Python looks for modules in this folder; the package is two levels up.
sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks import environment  # noqa: E402

SECTIONS = ("batch", "custom", "short", "strings", "decode", "disk", "million", "growth")
NAME = "encode"


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small texts, one round; the record is apart")
    parser.add_argument("--only", help=f"comma-separated, of {', '.join(SECTIONS)}")
    parser.add_argument("--peers", help="comma-separated; tiktoken is always there for the proof")
    parser.add_argument("--repeat", type=int, help="rounds; the best of each figure counts")
    parser.add_argument("--thread-counts", help="as 1,2")
    parser.add_argument("--json", type=Path, help="write the JSON here too")
    parser.add_argument("--name", help="name of the record, for a run of some sections")
    parser.add_argument("--out", type=Path, default=environment.HERE / "records")
    return parser.parse_args(arguments)


def main() -> None:
    """Set up the environment, prove equality, run the benchmarks and write the report."""
    arguments = parse(sys.argv[1:])
    environment.enter()
    from benchmarks import report
    from benchmarks.encode import peers

    chosen = tuple(arguments.only.split(",")) if arguments.only else SECTIONS
    names = arguments.peers.split(",") if arguments.peers else list(peers.NAMES)
    unknown = [*(set(names) - set(peers.NAMES)), *(set(chosen) - set(SECTIONS))]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; peers are {', '.join(peers.NAMES)}")
    where = report.machine([peers.module(name).PACKAGE for name in names])
    with tempfile.TemporaryDirectory(prefix="merganser-bench-") as folder:
        plan = planned(arguments, names, Path(folder))
        sections = measured(plan, chosen)
    settings = {
        "size": arguments.name or (f"{NAME}-quick" if arguments.quick else NAME),
        "repeat": plan.rounds,
        "command": " ".join(["python3 benchmarks/encode/run.py", *sys.argv[1:]]),
    }
    print(report.markdown(where, settings, sections))
    for path in report.save(arguments.out, arguments.json, where, settings, sections):
        environment.say(f"written: {path}")


def planned(arguments: argparse.Namespace, names: list[str], folder: Path) -> Any:
    """Return the plan for these options."""
    from benchmarks.encode import texts
    from benchmarks.encode.plan import Plan

    quick = arguments.quick
    counts = arguments.thread_counts or ("2" if quick else "1,2")
    return Plan(
        names=names,
        thread_counts=[int(count) for count in counts.split(",")],
        rounds=arguments.repeat or (1 if quick else 3),
        half=1_000_000 if quick else 10_000_000,
        short_documents=1_000 if quick else 14_000,
        strings=2_000 if quick else 20_000,
        kinds=("English", "Chinese") if quick else texts.KINDS,
        patterns=("own words",) if quick else ("nanochat", "nanochat {1,4}", "own words"),
        disk=3_000_000 if quick else 50_000_000,
        growth=1_000_000 if quick else 10_000_000,
        folder=folder,
    )


def measured(plan: Any, chosen: tuple[str, ...]) -> list[Any]:
    """Build the sections in the order of the page; the proofs run first but are listed last."""
    from benchmarks.encode import batches, decoding, disk, goals, growth, strings
    from benchmarks.encode.proof import Prover

    prover = Prover(plan)
    makers = {
        "batch": lambda: batches.by_language(plan, prover),
        "custom": lambda: batches.by_pattern(plan, prover),
        "short": lambda: batches.of_short_documents(plan, prover),
        "strings": lambda: strings.sections(plan, prover),
        "decode": lambda: [decoding.section(plan, prover)],
        "disk": lambda: [disk.section(plan, prover)],
        "million": lambda: [disk.million(plan)],
        "growth": lambda: [growth.section(plan)],
    }
    made = [section for name in SECTIONS if name in chosen for section in makers[name]()]
    first = [goals.section(plan.goals)] if plan.goals else []
    return [*first, *made, how(plan.names), prover.section()]


def how(names: list[str]) -> Any:
    """Build the table of calls to each peer."""
    import importlib.metadata

    from benchmarks.encode import peers
    from benchmarks.report import Section

    rows = [
        [name, importlib.metadata.version(peers.module(name).PACKAGE), peers.module(name).HOW]
        for name in names
    ]
    note = "The fastest exact calls of each."
    return Section("how", "How each encoder was called", note, ["encoder", "version", "calls"], rows)


if __name__ == "__main__":
    main()
