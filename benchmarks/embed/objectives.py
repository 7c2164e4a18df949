"""Time and quality of the full softmax and of negative sampling, on the novel.

    python -m benchmarks.embed.objectives --corpora ../shared/corpora

Writes `records/DATE-embed-objectives.json` and fills the table in docs/learn/embeddings.md from it. `--check`
only says whether the table is that of the newest record.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

from benchmarks.environment import HERE, REPOSITORY
from benchmarks.report import commit

PAGE = REPOSITORY / "docs" / "learn" / "embeddings.md"
TABLE = re.compile(r"(<!-- objectives -->\n).*?(<!-- end -->)", re.DOTALL)


def measured(corpus: str) -> dict[str, Any]:
    """Train with every objective and return the record."""
    from merganser import embed
    from merganser.embed.study import SOFTMAX_EPOCHS, lists_for, objectives
    from merganser.embed.text import read

    made = embed.train(corpus)
    text = read(corpus, made.tokenizer, None, None)
    rows = objectives(text, embed.EmbedSettings(), made.tokenizer, lists_for(made))
    return {
        "machine": {"date": f"{date.today()}", "cores": os.cpu_count(), "commit": commit()},
        "command": "python -m benchmarks.embed.objectives",
        "corpus": "frankenstein",
        "epochs": SOFTMAX_EPOCHS,
        "tokens": rows[0]["vocabulary"],
        "objectives": rows,
    }


def table(record: dict[str, Any]) -> str:
    """Return the table of a record, and what it was measured on."""
    lines = [
        f"Measured on the {record['tokens']} tokens that occur 20 times or more, for a batch of 512 tokens:",
        "",
        "| | multiplications | seconds per epoch | rank of held-out neighbors |",
        "|---|---:|---:|---:|",
    ]
    for row in record["objectives"]:
        lines.append(
            f"| {row['objective']} | {row['operations_per_batch'] / 1e6:.1f} M "
            f"| {row['seconds_per_epoch']:.3f} | {row['rank']:.1%} |"
        )
    machine = record["machine"]
    seconds = {row["objective"]: row["seconds_per_epoch"] for row in record["objectives"]}
    ratio = seconds["full softmax"] / seconds["10 negatives"]
    lines += [
        "",
        f"With {record['tokens']} tokens the softmax takes {ratio:.0f} times as long as 10 negatives; with "
        "30,000 it would be thousands.",
        f"(Wall time, {machine['cores']} cores, the fastest of {record['epochs']} epochs; {machine['date']}, "
        f"commit {machine['commit']}.)",
    ]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, help="the folder of frankenstein.txt")
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    if not arguments.check:
        corpus = (
            f"frankenstein={arguments.corpora / 'frankenstein.txt'}" if arguments.corpora else "frankenstein"
        )
        path = HERE / "records" / f"{date.today()}-embed-objectives.json"
        path.write_text(json.dumps(measured(corpus), indent=1) + "\n", "utf-8")
    newest = max((HERE / "records").glob("*-embed-objectives.json"))
    record = json.loads(newest.read_text("utf-8"))
    before = PAGE.read_text("utf-8")
    after = TABLE.sub(lambda found: f"{found[1]}{table(record)}\n{found[2]}", before)
    if arguments.check:
        return int(before != after)
    PAGE.write_text(after, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
