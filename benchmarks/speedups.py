"""Fills docs/speedups.md with the factor of every technique, from the newest records.

    python3 benchmarks/speedups.py [--check]

The record of the character-level tokenizer, `…-char.json`, holds what `merganser learn speed CORPUS --json`
prints, and the machine; the other scripts in this folder write theirs. `--check` only says whether the page
is out of date.
"""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # run as a script, Python looks for modules beside this file
    sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks.environment import REPOSITORY

PAGE = REPOSITORY / "docs" / "speedups.md"
RECORDS = REPOSITORY / "benchmarks" / "records"
EMBEDDINGS = REPOSITORY / "docs" / "learn" / "embeddings.md"
TABLE = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)

#: The factors of the techniques in the document that the character-level tokenizer follows.
DESCRIBED = {
    "+ merge ranks": "5×",
    "+ best-pair merging": "1.6×",
    "+ compiled regex": "1.5×",
    "+ unknown-token cache": "1.04×",
    "+ local references": "1.04×",
    "+ word cache, first pass": "50×",
}


class Row(NamedTuple):
    technique: str
    before: str
    after: str
    factor: float
    described: str = ""

    def line(self, with_described: bool) -> str:
        described = f" {self.described or '–'} |" if with_described else ""
        return f"| {self.technique} | {self.before} | {self.after} | {_factor(self.factor)} |{described}"


def newest(name: str) -> tuple[str, dict[str, Any]]:
    """The name and the contents of the newest record of a kind; names begin with the date."""
    path = max(RECORDS.glob(f"*-{name}.json"))
    contents: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return path.name, contents


def training() -> tuple[str, list[Row]]:
    """Each step of the ladder against the previous one, then the core against the last step and the peers."""
    source, ladder = newest("ladder")
    rows = []
    for section, steps in (("claims-1-8", range(2, 9)), ("claims-9-14-many-tokens", range(10, 15))):
        measured = ladder["sections"][section]
        runs = measured["runs"]
        size = f"{measured['megabytes']:g} MB, {measured['vocab_size']:,} tokens"
        for step in steps:
            before, after = (runs[str(number)]["cpu_seconds"] for number in (step - 1, step))
            name = runs[str(step)]["name"].partition(" ")[2]
            rows.append(Row(f"{name} ({size})", _seconds(before), _seconds(after), before / after))
    last, core = runs["14"]["cpu_seconds"], runs["core"]["cpu_seconds"]
    rows.append(Row(f"Rust core instead of step 14 ({size})", _seconds(last), _seconds(core), last / core))
    peers_source, peers = newest("10MB")
    seconds = {row["label"]: row["scaled_seconds"] for row in peers["sections"]["training"]["records"]}
    ours = seconds["merganser"]
    for label, name in (("naive_python", "naive Python, extrapolated"), ("hf_tokenizers", "Hugging Face")):
        rows.append(_against(name, seconds[label], ours))
    rows.append(_against("rustbpe", seconds["rustbpe"], ours))
    return f"`{source}`, processor time; the last three rows `{peers_source}`, wall time, two threads", rows


def _against(name: str, theirs: float, ours: float) -> Row:
    row = f"merganser instead of {name} (10 MB, 8,000 tokens)"
    return Row(row, _seconds(theirs), _seconds(ours), theirs / ours)


def characters() -> tuple[str, list[Row]]:
    """Each technique of the character-level tokenizer, added to the ones before it, and all together."""
    source, record = newest("char")
    steps = record["breakdown"]["cumulative"]
    rows = []
    for before, after in pairwise(steps):
        base = steps[-3] if after is steps[-1] else before  # both passes with the cache, against none
        factor = base["seconds"] / after["seconds"]
        described = DESCRIBED.get(after["name"], "")
        rows.append(
            Row(after["name"], _seconds(base["seconds"]), _seconds(after["seconds"]), factor, described)
        )
    for size in record["sizes"]:
        plain = size["plain"]["seconds"]
        about = ", extrapolated" if size["plain"]["extrapolated"] else ""
        for name in ("first", "second"):
            after = size[f"{name}_pass"]["seconds"]
            title = f"all techniques, {size['words']:,} words, {name} pass{about}"
            claim = {1_000: "625×", 10_000: "588×", 75_000: "590×", 2_000_000: "580×"}.get(size["words"], "")
            rows.append(Row(title, _seconds(plain), _seconds(after), plain / after, claim))
    return f"`{source}`, processor time, Frankenstein, 2,000 merges", rows


def encoding() -> tuple[str, list[Row]]:
    """merganser against the encoders that the other documents compare, on text it has not seen."""
    source, record = newest("encode")
    measured = record["sections"]["Batch of documents to lists, 1 thread"]["records"]
    speed = {row["peer"]: row["MB/s"]["held-out"] for row in measured if row["case"] == "English"}
    rows = [
        Row(
            f"merganser instead of {name}",
            f"{speed[peer]:.1f} MB/s",
            f"{speed['merganser']:.1f} MB/s",
            speed["merganser"] / speed[peer],
        )
        for peer, name in (("hf_tokenizers", "Hugging Face"), ("tiktoken", "tiktoken"))
    ]
    return f"`{source}`, unseen English to lists, one thread", rows


def embeddings() -> tuple[str, list[Row]]:
    """Negative sampling against the softmax, and merganser against other implementations."""
    source, record = newest("embed")
    seconds = {
        name: float(value)
        for name, value in re.findall(
            r"^\| (full softmax|10 negatives|10 negatives, shared) \| [\d.]+ M \| ([\d.]+) \|",
            EMBEDDINGS.read_text("utf-8"),
            re.MULTILINE,
        )
    }
    softmax = seconds.pop("full softmax")
    rows = [
        Row(
            f"{name} instead of the full softmax (427 tokens, an epoch)",
            _seconds(softmax),
            _seconds(value),
            softmax / value,
            "13× to 20×" if name == "10 negatives" else "",
        )
        for name, value in seconds.items()
    ]
    best = {name: max(run["words_per_second"] for run in runs) for name, runs in record["runs"].items()}
    others = {"a NumPy mini-batch loop": record["numpy_words_per_second"], "gensim": best["gensim"]}
    for name in ("merganser", "merganser, shared negatives"):
        for other, speed in others.items():
            title = f"{name} instead of {other} (2 M words)"
            rows.append(
                Row(title, f"{speed:,.0f} tokens/s", f"{best[name]:,.0f} tokens/s", best[name] / speed)
            )
    return f"`{source}`, two threads; the softmax: [embeddings](learn/embeddings.md), wall time", rows


def filled(page: str) -> str:
    tables = {build.__name__: build for build in (training, characters, encoding, embeddings)}

    def table(match: re.Match[str]) -> str:
        begin, name, end = match.groups()
        source, rows = tables[name]()
        with_described = any(row.described for row in rows)
        heading = "| technique | before | after | factor |" + " described |" * with_described
        rule = "|---|---:|---:|---:|" + "---:|" * with_described
        lines = "\n".join([heading, rule, *(row.line(with_described) for row in rows)])
        return f"{begin}\nSource: {source}.\n\n{lines}\n\n{end}"

    return TABLE.sub(table, page)


def _seconds(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f} s"
    return f"{value:.1f} s" if value >= 1 else f"{value * 1000:.3g} ms"


def _factor(value: float) -> str:
    return f"{value:,.0f}×" if value >= 100 else f"{value:.3g}×"


def main() -> None:
    page = PAGE.read_text("utf-8")
    if "--check" not in sys.argv:
        PAGE.write_text(filled(page), "utf-8")
    elif filled(page) != page:
        raise SystemExit(f"{PAGE.name} is out of date; run python3 benchmarks/speedups.py")


if __name__ == "__main__":
    main()
