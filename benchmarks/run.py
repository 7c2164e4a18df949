"""Run the benchmarks: `python3 benchmarks/run.py`, with any python3; it creates its own environment.

--size 10MB          (default) all sections but `comparison`, a few minutes
--sections comparison   beside a minbpe-style trainer in Python, in full, a quarter of an hour
--size mixed         132 MB, vocabulary 32,000
--size 1GB           generated text, vocabulary 50,000
--size zipf10m       training from 10 million generated pre-tokens
--size pathological  runs of one character, 25 and 50 MB
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

# As a script, Python looks for modules in this folder; the package is one level up.
sys.path[0] = str(Path(__file__).resolve().parent.parent)

from benchmarks import environment  # noqa: E402

USUAL = ("training", "patterns", "steps", "pathological", "lines")
SECTIONS = (*USUAL, "comparison")
LARGEST_STEPS = 300_000_000
LARGEST_PROOF = 10_000_000


def parse(arguments: list[str]) -> argparse.Namespace:
    """Parse the options; `defaults` fills in those that depend on the size."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", default="10MB", help="10MB, mixed, 1GB, zipf10m or pathological")
    parser.add_argument("--peers", help="comma-separated; merganser is always included")
    parser.add_argument("--repeat", type=int, help="runs of each job; the best counts")
    parser.add_argument("--threads", type=int, default=2, help="threads for the main table")
    parser.add_argument("--thread-counts", help="thread counts to compare, such as 1,2")
    parser.add_argument("--vocab-size", type=int)
    parser.add_argument("--sections", help=f"comma-separated: {', '.join(SECTIONS)}")
    parser.add_argument("--json", type=Path, help="also write the JSON to this path")
    parser.add_argument("--name", help="name of the record, for a run of some sections; the size by default")
    parser.add_argument("--out", type=Path, default=environment.HERE / "records")
    return parser.parse_args(arguments)


def defaults(size: int) -> dict[str, Any]:
    """Return settings for a size in bytes that finish in reasonable time."""
    if size <= 20_000_000:
        peers = "gigatoken,ffbpe,rustbpe,hf_tokenizers,naive_python"
        return {"vocab_size": 8_000, "repeat": 3, "thread_counts": "1,2", "peers": peers,
                "sections": USUAL}  # fmt: skip
    if size <= 300_000_000:
        peers = "gigatoken,ffbpe,rustbpe,hf_tokenizers,naive_python"
        return {"vocab_size": 32_000, "repeat": 3, "thread_counts": "1,2", "peers": peers,
                "sections": ("training", "patterns", "steps")}  # fmt: skip
    # HF tokenizers takes half an hour at this size; its equality is proven at smaller sizes.
    return {"vocab_size": 50_000, "repeat": 2, "thread_counts": "2",
            "peers": "gigatoken,ffbpe,rustbpe", "sections": ("training", "patterns")}  # fmt: skip


def main() -> None:
    """Set up the environment, run the benchmarks and write the report."""
    arguments = parse(sys.argv[1:])
    environment.enter()
    from benchmarks import report
    from benchmarks.peers import NAMES

    packages = [line.split("==")[0] for line in requirements()]
    where = report.machine(["merganser", *packages])
    with tempfile.TemporaryDirectory(prefix="merganser-bench-") as folder:
        if re.fullmatch(r"zipf\d+[mk]", arguments.size):
            sections, settings = from_counts(arguments)
        elif arguments.size == "pathological":
            sections, settings = runs(arguments)
        else:
            sections, settings = from_text(arguments, Path(folder), NAMES)
    settings |= {
        "size": arguments.name or arguments.size,
        "threads": arguments.threads,
        "command": " ".join(["python3 benchmarks/run.py", *sys.argv[1:]]),
    }
    print(report.markdown(where, settings, sections))
    for path in report.save(arguments.out, arguments.json, where, settings, sections):
        environment.say(f"written: {path}")


def requirements() -> list[str]:
    """Return the pinned peers."""
    lines = (environment.HERE / "requirements.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def from_counts(arguments: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """Run `zipf10m`: train from generated pre-tokens."""
    from benchmarks import growth

    digits, unit = arguments.size[4:-1], arguments.size[-1]
    n = int(digits) * {"m": 10**6, "k": 10**3}[unit]
    repeat = arguments.repeat or 2
    vocab_size = arguments.vocab_size or 50_000
    sections = [
        growth.pretokens(n, vocab_size, arguments.threads, repeat),
        growth.unrelated(n, vocab_size, arguments.threads, repeat),
    ]
    return sections, {"repeat": repeat, "vocab_size": vocab_size}


def runs(arguments: argparse.Namespace) -> tuple[list[Any], dict[str, Any]]:
    """Run `pathological`: 25 and 50 MB of one character."""
    from benchmarks import growth

    repeat = arguments.repeat or 3
    return [growth.pathological(25_000_000, arguments.threads, repeat)], {"repeat": repeat}


def from_text(
    arguments: argparse.Namespace, folder: Path, names: tuple[str, ...]
) -> tuple[list[Any], dict[str, Any]]:
    """Run the benchmarks on a corpus: training, patterns and splitting."""
    from benchmarks import comparison, corpora, growth, lines_of_code, split_steps, splitting, training

    path = corpora.corpus(arguments.size)
    size = path.stat().st_size
    usual = defaults(size)
    repeat = arguments.repeat or usual["repeat"]
    vocab_size = arguments.vocab_size or usual["vocab_size"]
    wanted = (arguments.peers or usual["peers"]).split(",")
    chosen = arguments.sections.split(",") if arguments.sections else usual["sections"]
    counts = [int(n) for n in (arguments.thread_counts or usual["thread_counts"]).split(",")]
    unknown = [*(set(wanted) - set(names)), *(set(chosen) - set(SECTIONS))]
    if unknown:
        raise SystemExit(
            f"unknown: {', '.join(unknown)}; peers are {', '.join(names)}, sections {', '.join(SECTIONS)}"
        )

    small = size <= LARGEST_PROOF
    plan = training.Training(
        path=path,
        vocab_size=vocab_size,
        proof_path=path if small else corpora.corpus("10MB"),
        proof_vocab_size=vocab_size if small else min(vocab_size, 8_000),
        names=["merganser", *(name for name in wanted if name != "merganser")],
        threads=arguments.threads,
        thread_counts=sorted({*counts, arguments.threads}),
        repeat=repeat,
        folder=folder,
    )
    steps_path = path if size <= LARGEST_STEPS else corpora.corpus("mixed")
    sections: list[Any] = []
    if "training" in chosen:
        sections += training.sections(plan)
    if "patterns" in chosen:
        sections.append(splitting.section(path, arguments.threads, max(repeat, 5)))
    if "steps" in chosen:
        sections += split_steps.sections(
            steps_path, min(vocab_size, 8_000), arguments.threads, repeat, folder
        )
    if "pathological" in chosen:
        sections.append(growth.pathological(max(size // 2, 1_000_000), arguments.threads, repeat))
    if "comparison" in chosen:
        vocab_size = arguments.vocab_size or 512
        threads = arguments.threads
        plain = comparison.Comparison(path, vocab_size, threads, repeat, folder)
        sections.append(comparison.section(plain))
    if "lines" in chosen:
        sections.append(lines_of_code.section())
    return sections, {"repeat": repeat, "vocab_size": vocab_size, "bytes": size, "peers": plan.names}


if __name__ == "__main__":
    main()
