"""Update the code and figures in docs/learn: `python3 benchmarks/ladder/pages.py`.

This script fills the text between `<!-- code: FILE -->` or `<!-- table: SECTION -->` and `<!-- end -->` in
the pages with the code of a step or a table of the record. It also draws the two charts from the record,
which requires merganser[plot]. `--check` only reports outdated pages.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

if __name__ == "__main__":  # as a script, Python looks for modules in this folder
    sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks.environment import REPOSITORY
from benchmarks.ladder.run import RECORD, table

PAGES = REPOSITORY / "docs" / "learn"
STEPS = REPOSITORY / "python" / "merganser" / "learn" / "ladder"
CHARTS = {"steps-1-8": "claims-1-8", "steps-9-14": "claims-9-14-many-tokens"}
PART = re.compile(r"(<!-- (code|table): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, record: dict[str, Any]) -> str:
    def part(match: re.Match[str]) -> str:
        begin, kind, name, end = match.groups()
        if kind == "code":
            body = f"```python\n{(STEPS / name).read_text('utf-8')}```\n"
        elif name in record["sections"]:
            body = "\n" + "\n".join(table(record["sections"][name])) + "\n\n"
        else:
            body = "\nNot measured yet.\n\n"
        return begin + body + end

    return PART.sub(part, page)


def draw(record: dict[str, Any]) -> None:
    from merganser import charts
    from merganser.learn.ladder.pictures import per_step

    for picture, name in CHARTS.items():
        if name not in record["sections"]:
            continue
        section = record["sections"][name]
        runs = section["runs"].values()
        result = {
            "corpus": "English",
            "bytes": section["megabytes"] * 1e6,
            "vocab_size": section["vocab_size"],
            "steps": sorted(runs, key=lambda run: run["step"].zfill(4) if run["step"].isdecimal() else ""),
        }
        charts.save(per_step(result), PAGES / f"{picture}.svg")


def main() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    check = "--check" in sys.argv
    stale = []
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text("utf-8")
        if (made := filled(page, record)) != page:
            stale.append(path.name)
            if not check:
                path.write_text(made, "utf-8")
    if not check:
        draw(record)
    elif stale:
        raise SystemExit(f"out of date: {', '.join(stale)}; run python3 benchmarks/ladder/pages.py")


if __name__ == "__main__":
    main()
