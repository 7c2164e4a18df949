"""Tokenizing and embedding before and after the optimizations, on the novel and on parts of WikiText-2.

Before: the plain character tokenizer, and the full softmax. After: the optimized character tokenizer and the
core, and negative sampling. All times are processor seconds of one thread, so that other processes hardly
affect them. The slow variants run on a part, which the record states, and are extrapolated in proportion.

WikiText-2 is read from FOLDER/wikitext-2: `train.txt` if it exists, else the valid and test parts.

    python -m benchmarks.embed.impact --corpora ../shared/corpora
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from itertools import islice
from pathlib import Path
from typing import Any

from merganser import embed
from merganser.embed.embeddings import Embeddings
from merganser.embed.study import lists_for
from merganser.embed.text import VOCAB_SIZE, read, tokenizer_for
from merganser.embed.training import core_trainer
from merganser.learn import char_bpe_fast
from merganser.learn.char_bpe import CharBPE
from merganser.learn.char_bpe_fast import WORD, FastCharBPE

from benchmarks.environment import HERE

MERGES = 2_000
#: The number of words for the plain tokenizer, and the share of an epoch for the softmax.
PLAIN_WORDS = 5_000
SOFTMAX_SHARE = {"frankenstein": 0.1, "wikitext-2": 0.004}
EPOCHS = 10
SETTINGS = embed.EmbedSettings(epochs=EPOCHS, threads=1)


def seconds_of(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = work()
    return time.process_time() - start, result


def tokenizing(text: str) -> dict[str, Any]:
    """Time both character tokenizers and the core; the ids of the first two are compared."""
    words = WORD.findall(text)
    merges = [merge.pair for merge in islice(char_bpe_fast.learn(words), MERGES)]
    characters = set(text)
    plain, fast = CharBPE(characters, merges), FastCharBPE(characters, merges)
    part = " ".join(words[:PLAIN_WORDS])
    before, expected = seconds_of(lambda: plain.encode(part))
    assert FastCharBPE(characters, merges).encode(part) == expected
    after, ids = seconds_of(lambda: fast.encode(text))
    hits = fast.hits
    tokenizer = tokenizer_for([text], VOCAB_SIZE, 1, None)
    core = min(seconds_of(lambda: tokenizer.encode_ordinary(text))[0] for _ in range(3))
    return {
        "words": len(words),
        "tokens": len(ids),
        "hits": hits.hits,
        "misses": hits.misses,
        "hit_rate": hits.rate,
        "plain_words": PLAIN_WORDS,
        "plain_seconds": before / PLAIN_WORDS * len(words),
        "optimized_seconds": after,
        "core_seconds": core,
        "core_tokens": len(tokenizer.encode_ordinary(text)),
    }


def embedding(source: Any, name: str) -> dict[str, Any]:
    """Time a part of an epoch of the softmax, and all epochs of both kinds of negatives."""
    tokenizer = tokenizer_for(source, VOCAB_SIZE, 1, None)
    text = read(source, tokenizer, 1, None)
    softmax = core_trainer(text, replace(SETTINGS, objective="softmax"))
    batches = max(1, round(softmax.batches_in_epoch * SOFTMAX_SHARE[name]))
    before, _ = seconds_of(lambda: softmax.advance(batches))
    result: dict[str, Any] = {
        "tokens": len(text.ids),
        "softmax_share": batches / softmax.batches_in_epoch,
        "softmax_seconds": before / batches * softmax.batches_in_epoch,
    }
    for objective in ("shared", "negatives"):
        trainer = core_trainer(text, replace(SETTINGS, objective=objective))  # type: ignore[arg-type]
        epochs = [seconds_of(lambda t=trainer: t.advance(t.batches_in_epoch)) for _ in range(EPOCHS)]  # type: ignore[misc]
        result[f"{objective}_seconds"] = sum(taken for taken, _ in epochs) / EPOCHS
        result["pairs_per_epoch"] = epochs[-1][1][2]
        result["pairs"] = sum(counts[2] for _, counts in epochs)
    vectors = trainer.vectors().reshape(-1, SETTINGS.embedding_dim)
    corpus = {"wikitext-2": "wikitext2"}.get(name, name)
    made = Embeddings(vectors, trainer.ids, trainer.counts, tokenizer, {"corpus": corpus})
    result["vectors"] = len(made)
    result["neighbors"] = {
        word: [neighbor.word for neighbor in made.most_similar(word, 5)]
        for word in lists_for(made).shown
        if word in made
    }
    return result


def table(results: dict[str, Any]) -> str:
    lines = [
        "| text | stage | before | after | factor |",
        "|---|---|---:|---:|---:|",
    ]
    for name, found in results.items():
        chars, vectors = found["tokenizing"], found["embedding"]
        stages = {
            "tokenizing, characters": (chars["plain_seconds"], chars["optimized_seconds"]),
            "tokenizing, core": (chars["plain_seconds"], chars["core_seconds"]),
            "one epoch, negatives": (vectors["softmax_seconds"], vectors["negatives_seconds"]),
            "one epoch, shared negatives": (vectors["softmax_seconds"], vectors["shared_seconds"]),
        }
        stages[f"total, core and {EPOCHS} epochs of negatives"] = (
            chars["plain_seconds"] + EPOCHS * vectors["softmax_seconds"],
            chars["core_seconds"] + EPOCHS * vectors["negatives_seconds"],
        )
        for stage, (before, after) in stages.items():
            factor = float(f"{before / after:.2g}")
            lines.append(f"| {name} | {stage} | {before:,.0f} s | {after:.2g} s | {factor:,.0f} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--corpora", type=Path, default=HERE.parent.parent / "shared" / "corpora")
    parser.add_argument("--no-record", action="store_true", help="write nothing to benchmarks/records")
    given = parser.parse_args()
    novel = given.corpora / "frankenstein.txt"
    wikitext = given.corpora / "wikitext-2"
    parts = [wikitext / name for name in ("train.txt",) if (wikitext / name).exists()]
    parts = parts or [wikitext / "valid.txt", wikitext / "test.txt"]
    results: dict[str, Any] = {}
    for name, files in (("frankenstein", [novel]), ("wikitext-2", parts)):
        text = "\n".join(file.read_text("utf-8") for file in files)
        print(name, flush=True)
        tokenized = tokenizing(text)
        print(json.dumps(tokenized, indent=1), flush=True)
        embedded = embedding(files, name)
        print(json.dumps(embedded, indent=1), flush=True)
        results[name] = {
            "files": [file.name for file in files],
            "tokenizing": tokenized,
            "embedding": embedded,
        }
    written = table(results)
    print(written)
    if not given.no_record:
        base = HERE / "records" / f"{date.today().isoformat()}-impact"
        base.with_suffix(".json").write_text(json.dumps(results, indent=1) + "\n")
        base.with_suffix(".md").write_text(f"# Before and after the optimizations\n\n{written}")


if __name__ == "__main__":
    main()
