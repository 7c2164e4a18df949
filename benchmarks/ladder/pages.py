"""Update the code and figures in docs/learn: `python3 benchmarks/ladder/pages.py`.

In the pages, these comments begin a part that is written here, up to `<!-- end -->`:
- `<!-- code: FILE -->`: the code of a step;
- `<!-- table: SECTION -->`: a section of the records of `documented.py` or `run.py`;
- `<!-- claims: STEP -->`: the verdicts of `documented.py` about a step, or about `all`;
- `<!-- effect: approximate -->`: the record of `approximation.py`.
The charts are drawn from the records as well, with merganser[plot]. `--check` only reports what is out of
date.
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
from benchmarks.ladder import approximation, documented
from benchmarks.ladder.run import RECORD, table

PAGES = REPOSITORY / "docs" / "learn"
STEPS = REPOSITORY / "python" / "merganser" / "learn" / "ladder"
CHARTS = {"steps-1-8": "claims-1-8", "steps-9-14": "claims-9-14-many-tokens", "approximate": "approximate"}
PART = re.compile(r"(<!-- (code|table|claims|effect): (\S+) -->\n).*?(<!-- end -->)", re.DOTALL)


def filled(page: str, record: dict[str, Any], large: dict[str, Any]) -> str:
    """Fill the parts of a page from the records of `run.py` and `documented.py`."""

    def part(match: re.Match[str]) -> str:
        begin, kind, name, end = match.groups()
        if kind == "code":
            body = f"```python\n{(STEPS / name).read_text('utf-8')}```\n"
        else:
            lines = lines_of(kind, name)
            body = "\n" + "\n".join(lines) + "\n\n"
        return begin + body + end

    def lines_of(kind: str, name: str) -> list[str]:
        if kind == "claims":
            return documented.claims_table(large, None if name == "all" else int(name))
        if kind == "effect":
            return approximation.table(json.loads(approximation.RECORD.read_text("utf-8")))
        if any(large["sections"].get(name, {}).get("runs", {}).values()):
            return documented.table(large["sections"][name])
        if name in record["sections"]:
            return table(record["sections"][name])
        return ["Not measured yet."]

    return PART.sub(part, page)


def draw(record: dict[str, Any], folder: Path = PAGES) -> None:
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
        charts.save(per_step(result), folder / f"{picture}.svg")


def main() -> None:
    record = json.loads(RECORD.read_text("utf-8"))
    large = documented.read(documented.RECORD)
    check = "--check" in sys.argv
    stale = []
    for path in sorted(PAGES.glob("*.md")):
        page = path.read_text("utf-8")
        if (made := filled(page, record, large)) != page:
            stale.append(path.name)
            if not check:
                path.write_text(made, "utf-8")
    if not check:
        draw(record)
    elif stale:
        raise SystemExit(f"out of date: {', '.join(stale)}; run python3 benchmarks/ladder/pages.py")


if __name__ == "__main__":
    main()
