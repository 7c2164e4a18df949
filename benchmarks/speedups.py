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
    task = " (10 MB, 8,000 tokens)"
    for label, name in (("naive_python", "naive Python, extrapolated"), ("hf_tokenizers", "Hugging Face")):
        rows.append(_against(f"{name}{task}", seconds[label], ours))
    rows.append(_against(f"rustbpe{task}", seconds["rustbpe"], ours))
    return f"`{source}`, processor time; the last three rows `{peers_source}`, wall time, two threads", rows


def _against(name: str, theirs: float, ours: float, described: str = "") -> Row:
    return Row(f"merganser instead of {name}", _seconds(theirs), _seconds(ours), theirs / ours, described)


def comparison() -> tuple[str, list[Row]]:
    """Training in full beside a minbpe-style trainer, Hugging Face and rustbpe."""
    source, record = newest("comparison")
    section = record["sections"]["comparison"]
    seconds = {row["label"]: row["processor"] for row in section["records"]}
    described = {row["label"]: row["described_seconds"] for row in section["records"]}
    names = {"naive_python": "minbpe-style Python", "hf_tokenizers": "Hugging Face", "rustbpe": "rustbpe"}
    rows = [
        _against(name, seconds[label], seconds["merganser"], _seconds(described[label]))
        for label, name in names.items()
    ]
    return f"`{source}`, processor time; {section['note'].partition(';')[0]}", rows


def splitting() -> tuple[str, list[Row]]:
    """Split and count in Python and in Rust, apart and together."""
    source, record = newest("split-steps")
    steps = {row["label"]: row for row in record["sections"]["split_steps"]["records"] if row["threads"] == 1}
    python, rust = steps["Python: `regex` splits, `Counter` counts"], steps["all Rust: `merganser.count`"]
    split = record["sections"]["split_apart"]["records"][0]["processor"]
    before, after = python["stages"], {"split": split, "count": rust["processor"] - split}
    rows = [
        Row(
            f"Rust instead of Python: {name}",
            _seconds(before[name]),
            _seconds(after[name]),
            before[name] / after[name],
        )
        for name in ("split", "count")
    ]
    both = python["processor"], rust["processor"]
    rows.append(Row("Rust instead of Python: both", *map(_seconds, both), both[0] / both[1]))
    return f"`{source}`, 132 MB, the gpt2 pattern, processor time of one thread", rows


def million() -> tuple[str, list[Row]]:
    """One million tokens beside plain Python, Hugging Face and tiktoken."""
    source, record = newest("encode-million")
    per_million = {
        row["label"]: row["seconds"] * row["cores"] * 1e6 / row["note"][0]
        for row in record["sections"]["million"]["records"]
    }
    peers = (
        ("naive_python", "plain Python", 30.0),
        ("hf_tokenizers", "Hugging Face", 1.2),
        ("tiktoken", "tiktoken", 0.3),
    )
    rows = [
        _against(name, per_million[label], per_million["merganser"], _seconds(described))
        for label, name, described in peers
    ]
    return f"`{source}`, processor time for a million tokens of English, one document at a time, cold", rows


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
    compared, objectives = newest("embed-objectives")
    seconds = {row["objective"]: row["seconds_per_epoch"] for row in objectives["objectives"]}
    softmax = seconds["full softmax"]
    rows = [
        Row(
            f"{name} instead of the full softmax ({objectives['tokens']} tokens, an epoch)",
            _seconds(softmax),
            _seconds(seconds[name]),
            softmax / seconds[name],
            "13× to 20×" if name == "10 negatives" else "",
        )
        for name in ("10 negatives", "10 shared negatives")
    ]
    best = {name: max(run["words_per_second"] for run in runs) for name, runs in record["runs"].items()}
    others = {"a NumPy mini-batch loop": record["numpy_words_per_second"], "gensim": best["gensim"]}
    for name in ("merganser", "merganser, shared negatives"):
        for other, speed in others.items():
            title = f"{name} instead of {other} (2 M words)"
            rows.append(
                Row(title, f"{speed:,.0f} tokens/s", f"{best[name]:,.0f} tokens/s", best[name] / speed)
            )
    return f"`{source}`, two threads; the softmax: `{compared}`, wall time", rows


def filled(page: str) -> str:
    tables = {
        build.__name__: build
        for build in (training, comparison, splitting, characters, encoding, million, embeddings)
    }

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
