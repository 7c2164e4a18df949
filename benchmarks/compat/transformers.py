"""Calls of tokenizers, and of transformers' tokenizers, with their own backend and with merganser's.

    python -m benchmarks.compat.transformers

Needs an environment with `merganser[hf]`, and folders of tokenizers (`../shared/tokenizers`, or
MERGANSER_TOKENIZERS). Results are compared before anything is timed. Both backends take turns in one process,
and the best of several rounds counts. Writes `records/DATE-compat-transformers.md` and `.json`.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from benchmarks import corpora, report
from benchmarks.environment import HERE, REPOSITORY, say

FILES = ("gpt2", "qwen3", "llama-3.1-8b-instruct", "llama-2", "mistral-7b-v0.3")
#: What is called, and how many times as fast it must be.
CALLS: dict[str, tuple[str, dict[str, Any], float]] = {
    "ids of documents": ("documents", {}, 5),
    "ids of short texts": ("short texts", {}, 5),
    "documents, padded and truncated, numpy": (
        "documents",
        {"padding": True, "truncation": True, "max_length": 512, "return_tensors": "np"},
        5,
    ),
    "offsets of documents": ("documents", {"return_offsets_mapping": True}, 3),
    "offsets of short texts": ("short texts", {"return_offsets_mapping": True}, 3),
    "one short prompt": ("prompt", {}, 3),
    "one short prompt, offsets": ("prompt", {"return_offsets_mapping": True}, 3),
    "tokenizers: ids of documents": ("documents", {}, 5),
    "tokenizers: ids of short texts": ("short texts", {}, 5),
    "tokenizers: offsets of documents": ("documents", {"offsets": True}, 3),
    "tokenizers: offsets of short texts": ("short texts", {"offsets": True}, 3),
    "tokenizers: one short prompt": ("prompt", {}, 3),
    "tokenizers: one short prompt, offsets": ("prompt", {"offsets": True}, 3),
}
PROMPT = "Write a haiku about the sea in autumn, and explain it."


def texts(megabytes: float) -> dict[str, list[list[str]]]:
    """Return several batches of each kind; no batch has a text of another."""
    folder = corpora.shared()
    text = (folder / "english.txt").read_text("utf-8") if folder else _standard_library()
    size = int(megabytes * 1e6)
    batches = [text[start : start + size] for start in range(0, 4 * size, size)]
    return {
        "documents": [list(parts(batch, 2000)) for batch in batches],
        "short texts": [list(parts(batch[: size // 4], 60)) for batch in batches],
        "prompt": [[f"{number}. {PROMPT}"] for number in range(400)],
    }


def parts(text: str, size: int) -> Iterator[str]:
    return (text[start : start + size] for start in range(0, len(text), size))


def _standard_library() -> str:
    folder = Path(os.__file__).parent
    return "".join(path.read_text("utf-8", "replace") for path in sorted(folder.glob("*.py")))


class Direct:
    """A `Tokenizer` without transformers, called as one with it."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    def __call__(self, given: Any, offsets: bool = False) -> dict[str, Any]:
        one = isinstance(given, str)
        encodings = [self._tokenizer.encode(given)] if one else self._tokenizer.encode_batch(given)
        found = {"ids": [encoding.ids for encoding in encodings]}
        return found | {"offsets": [encoding.offsets for encoding in encodings]} if offsets else found


#: Wall-clock time, and the processor time of all threads: what other processes do matters less to that.
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "processor": time.process_time}


def seconds(call: Callable[[], Any], clock: str) -> float:
    start = CLOCKS[clock]()
    call()
    return CLOCKS[clock]() - start


def per_call(tokenizer: Any, batches: list[list[str]], options: dict[str, Any], clock: str = "wall") -> float:
    """Return the seconds that all batches take; a batch of one is passed as a text."""
    if len(batches[0]) == 1:
        return seconds(lambda: [tokenizer(text, **options) for (text,) in batches], clock)
    return sum(seconds(lambda batch=batch: tokenizer(batch, **options), clock) for batch in batches)


def equal(stock: Any, ours: Any, batch: list[str], options: dict[str, Any]) -> bool:
    """Return whether both return the same for a batch."""
    given: Any = batch if len(batch) > 1 else batch[0]
    expected, found = stock(given, **options), ours(given, **options)
    plain = [
        {key: value.tolist() if hasattr(value, "tolist") else value for key, value in each.items()}
        for each in (expected, found)
    ]
    return plain[0] == plain[1]


def measure(
    folder: Path, batches: dict[str, list[list[str]]], rounds: int, clock: str
) -> list[dict[str, Any]]:
    """Compare and time every call with the tokenizer of one folder."""
    import tokenizers
    from merganser.compat.tokenizers import Tokenizer
    from merganser.compat.transformers import accelerate
    from transformers import AutoTokenizer

    loaded = AutoTokenizer.from_pretrained(folder)
    if loaded.pad_token is None:
        loaded.pad_token = loaded.eos_token or loaded.convert_ids_to_tokens(0)
    pairs: list[tuple[Any, Any]] = [(loaded, accelerate(loaded))]
    file = str(folder / "tokenizer.json")
    pairs.append((Direct(tokenizers.Tokenizer.from_file(file)), Direct(Tokenizer.from_file(file))))
    records = []
    for name, (kind, options, wanted) in CALLS.items():
        stock, ours = pairs[name.startswith("tokenizers")]
        same = all(equal(stock, ours, batch, options) for batch in batches[kind][:2])
        if not same:
            raise SystemExit(f"{folder.name}: {name} differs")
        times: dict[str, list[float]] = {"original": [], "merganser": []}
        for _ in range(rounds):
            times["original"].append(per_call(stock, batches[kind], options, clock))
            times["merganser"].append(per_call(ours, batches[kind], options, clock))
        best = {who: min(found) for who, found in times.items()}
        ratio = best["original"] / best["merganser"]
        say(f"{folder.name}: {name}: {ratio:.1f}×")
        records.append(
            {
                "file": folder.name,
                "call": name,
                "calls": len(batches[kind]),
                "wanted": wanted,
                "ratio": ratio,
                **best,
                "all": times,
            }
        )
    return records


def section(records: list[dict[str, Any]]) -> report.Section:
    rows = [
        [
            record["call"],
            record["file"],
            *(report.seconds(record[who] / record["calls"] * 1e6) for who in ("original", "merganser")),
            f"{record['ratio']:.1f}×",
            f"{record['wanted']:g}×",
        ]
        for record in sorted(records, key=lambda record: list(CALLS).index(record["call"]))
    ]
    note = (
        "Microseconds per call of transformers' tokenizer, or of tokenizers' where it says so, and how many "
        "times as fast merganser's is. Results are equal, key by key."
    )
    columns = ["call", "file", "original", "merganser", "ratio", "wanted"]
    return report.Section("transformers", "transformers", note, columns, rows, records, figures=True)


def main() -> None:
    """Measure, print the tables and write the record."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", default=",".join(FILES), help="comma-separated folders")
    parser.add_argument("--megabytes", type=float, default=1, help="characters of a batch, in millions")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the best of each figure counts")
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help="what is measured")
    parser.add_argument("--out", type=Path, default=HERE / "records")
    arguments = parser.parse_args()
    shared = Path(os.environ.get("MERGANSER_TOKENIZERS", REPOSITORY.parent / "shared/tokenizers"))
    where = report.machine(["merganser", "transformers", "tokenizers"])
    batches = texts(arguments.megabytes)
    records = [
        record
        for name in arguments.files.split(",")
        for record in measure(shared / name, batches, arguments.repeat, arguments.clock)
    ]
    settings = {
        "size": "compat-transformers",
        "repeat": arguments.repeat,
        "command": " ".join(["python -m benchmarks.compat.transformers", *sys.argv[1:]]),
        "how": f"both backends take turns in one process; {arguments.clock} time",
    }
    sections = [section(records)]
    print(report.markdown(where, settings, sections))
    for path in report.save(arguments.out, None, where, settings, sections):
        say(f"written: {path}")


if __name__ == "__main__":
    main()
