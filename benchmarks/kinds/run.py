"""Benchmark tokenizers of every kind against their owners: `python3 benchmarks/kinds/run.py`, any python3.

--only encode,growth,train   only some sections
--files llama-2,qwen3        only some folders of ../shared/tokenizers (or of MERGANSER_TOKENIZERS)
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

# As a script, Python looks for modules in this folder; the package is two levels up.
sys.path[0] = str(Path(__file__).resolve().parent.parent.parent)

from benchmarks import environment  # noqa: E402

SECTIONS = ("encode", "growth", "train")


def main() -> None:
    """Set up the environment, run the sections and write the report."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(SECTIONS), help="comma-separated sections")
    parser.add_argument("--files", help="comma-separated folders; all by default")
    parser.add_argument("--half", type=int, default=3_000_000, help="bytes of each half of a text")
    parser.add_argument("--train-bytes", type=int, default=100_000_000, help="bytes to train on")
    parser.add_argument("--repeat", type=int, default=3, help="rounds; the best of each figure counts")
    parser.add_argument("--name", default="kinds", help="name of the record")
    parser.add_argument("--out", type=Path, default=environment.HERE / "records")
    arguments = parser.parse_args()
    environment.enter()
    from benchmarks import report
    from benchmarks.kinds import sections

    where = report.machine(["merganser", "tokenizers", "sentencepiece", "gigatoken", "fastokens"])
    chosen = arguments.files.split(",") if arguments.files else None
    files = [file for file in tokenizer_files() if chosen is None or file.parent.name in chosen]
    made: list[Any] = []
    if "encode" in arguments.only:
        made += sections.encode(files, arguments.half, arguments.repeat)
    if "growth" in arguments.only:
        made.append(sections.growth(files, arguments.repeat))
    if "train" in arguments.only:
        made.append(sections.train(arguments.train_bytes, arguments.repeat))
    settings = {
        "size": arguments.name,
        "repeat": arguments.repeat,
        "command": " ".join(["python3 benchmarks/kinds/run.py", *sys.argv[1:]]),
    }
    print(report.markdown(where, settings, made))
    for path in report.save(arguments.out, None, where, settings, made):
        environment.say(f"written: {path}")


def tokenizer_files() -> list[Path]:
    """Return the BPE files whose owners are tokenizers or sentencepiece."""
    import merganser

    folder = Path(os.environ.get("MERGANSER_TOKENIZERS", environment.REPOSITORY.parent / "shared/tokenizers"))
    if not folder.exists():
        raise SystemExit(f"{folder} is missing; set MERGANSER_TOKENIZERS to a folder of tokenizers")
    names = ("*/tokenizer.json", "*/*.model", "*/*.model.v3")
    found = []
    for file in sorted(path for name in names for path in folder.glob(name)):
        try:
            merganser.load(file)
        except merganser.FormatError:
            continue  # not BPE
        found.append(file)
    return found


if __name__ == "__main__":
    main()
