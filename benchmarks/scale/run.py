"""Measure the growth of time and memory: `python3 benchmarks/scale/run.py`, with any python3.

--quick                 a smoke test: small texts, one round, under a minute, no picture
--only size,unique      only some sections

Takes about 25 minutes and 5 GB of disk. Draws docs/scale.svg if the sections `size` and `unique` are
measured.
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

SECTIONS = ("size", "unique", "budget")
NAME = "scale"


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the options."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small texts, one round; the record is apart")
    parser.add_argument("--only", help=f"comma-separated, of {', '.join(SECTIONS)}")
    parser.add_argument(
        "--repeat", type=int, default=3, help="rounds, a third of them for the large texts; the best counts"
    )
    parser.add_argument("--keep", action="store_true", help="keep the texts of 2 and 4 GB")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--vocab-size", type=int, default=32_000)
    parser.add_argument("--json", type=Path, help="write the JSON here too")
    parser.add_argument("--out", type=Path, default=environment.HERE / "records")
    return parser.parse_args(arguments)


def main() -> None:
    """Set up the environment, run the benchmarks, write the report and draw the picture."""
    arguments = parse(sys.argv[1:])
    environment.enter()
    from benchmarks import corpora, report
    from benchmarks.scale import picture, plan

    chosen = tuple(arguments.only.split(",")) if arguments.only else SECTIONS
    if unknown := set(chosen) - set(SECTIONS):
        raise SystemExit(f"unknown: {', '.join(unknown)}; sections are {', '.join(SECTIONS)}")
    where = report.machine(["merganser", "vl-convert-python"])
    with tempfile.TemporaryDirectory(prefix="merganser-bench-", dir=corpora.cache()) as name:
        folder, threads, vocab_size = Path(name), arguments.threads, arguments.vocab_size
        todo = (
            plan.quick(threads, vocab_size, folder)
            if arguments.quick
            else plan.full(threads, arguments.repeat, vocab_size, folder, arguments.keep)
        )
        sections = measured(todo, chosen)
    settings = {
        "size": f"{NAME}-quick" if arguments.quick else NAME,
        "repeat": f"{todo.rounds} ({todo.turns(todo.heavy)} from {plan.MANY:,} pre-tokens on)",
        "threads": threads,
        "vocab_size": vocab_size,
        "command": " ".join(["python3 benchmarks/scale/run.py", *sys.argv[1:]]),
    }
    print(report.markdown(where, settings, sections))
    written = report.save(arguments.out, arguments.json, where, settings, sections)
    for path in written:
        environment.say(f"written: {path}")
    if not arguments.quick and {"size", "unique"} <= set(chosen):
        environment.say(f"drawn: {picture.draw(written[1])}")


def measured(todo: Any, chosen: tuple[str, ...]) -> list[Any]:
    """Run the chosen sections, in order."""
    from benchmarks.scale import budget, series

    sections: list[Any] = []
    if "budget" in chosen:
        sections.append(budget.section(todo))
    if "size" in chosen:
        sections += series.by_size(todo)
    if "unique" in chosen:
        sections += series.by_unique(todo)
    return sections


if __name__ == "__main__":
    main()
