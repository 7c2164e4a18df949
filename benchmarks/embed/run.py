"""Measure the speed and quality of embeddings from merganser, gensim and a NumPy loop.

    python benchmarks/embed/run.py             2 M words of english.txt, 5 seeds: about 15 minutes
    python benchmarks/embed/run.py --words 200000 --seeds 1 --epochs 1     a smoke test
    python benchmarks/embed/run.py --times     seconds per epoch of the presets, for the docs

Requires merganser, gensim and numpy in one environment, and an otherwise idle machine. All engines train on
the same tokens in the same documents of at most 1,000 tokens (gensim truncates documents of more than
10,000), with dimension 100, window 5, 10 negatives, two threads, and gensim's defaults for the rest:
subsampling 1e-3, minimum count 5, power 0.75, learning rate from 0.025 to 0.0001. Only training is timed, in
tokens of text per second; the engines take turns for every seed. Quality is Spearman's correlation on
WordSim-353, from gensim's test data, and the mean rank of held-out neighbors (`merganser.embed.study`); the
same code evaluates all vectors.
"""

import argparse
import json
import statistics
import time
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from merganser import embed
from merganser.embed.study import held_out_rank, split_held_out
from merganser.embed.text import VOCAB_SIZE, Text, read, tokenizer_for
from merganser.embed.training import core_trainer
from merganser.tokenizer import Tokenizer

if __package__:
    from benchmarks.embed.numpy_loop import words_per_second
else:
    from numpy_loop import words_per_second

ROOT = Path(__file__).parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"
RECORDS = ROOT / "benchmarks" / "records"
LONGEST = 1_000


class GensimTrainer:
    """gensim's Word2Vec with the interface of our trainer, so that the same code evaluates both."""

    def __init__(self, text: Text, settings: embed.EmbedSettings) -> None:
        from gensim.models import Word2Vec
        from gensim.models.word2vec import FAST_VERSION

        assert FAST_VERSION >= 0, "gensim must have its C extension to be a fair peer"
        self._sentences = [list(map(str, document.tolist())) for document in text.documents()]
        self._model = Word2Vec(
            sg=1,
            hs=0,
            vector_size=settings.embedding_dim,
            window=settings.window_size,
            negative=settings.num_negative_samples,
            sample=settings.subsample,
            min_count=settings.min_count,
            alpha=settings.learning_rate,
            min_alpha=settings.last_learning_rate,
            ns_exponent=settings.noise_power,
            seed=settings.seed,
            workers=settings.threads,
            epochs=settings.epochs,
        )
        self._model.build_vocab(self._sentences)

    def train(self) -> float:
        start = time.perf_counter()
        self._model.train(self._sentences, total_examples=len(self._sentences), epochs=self._model.epochs)
        return time.perf_counter() - start

    @property
    def ids(self) -> Any:
        return np.array(list(map(int, self._model.wv.index_to_key)), np.uint32)

    @property
    def counts(self) -> Any:
        wv = self._model.wv
        return np.array([wv.get_vecattr(key, "count") for key in wv.index_to_key], np.uint64)

    def vectors(self) -> Any:
        return np.ascontiguousarray(self._model.wv.vectors, np.float32).ravel()

    def outputs(self) -> Any:
        return np.ascontiguousarray(self._model.syn1neg, np.float32).ravel()


class OurTrainer:
    def __init__(self, text: Text, settings: embed.EmbedSettings) -> None:
        self._trainer = core_trainer(text, settings)

    def train(self) -> float:
        start = time.perf_counter()
        self._trainer.advance(self._trainer.batches)
        return time.perf_counter() - start

    def __getattr__(self, name: str) -> Any:
        return getattr(self._trainer, name)


def corpus(words: int) -> list[str]:
    """Return `words` words of English: whole documents, sampled evenly, so that all kinds are included."""
    documents = (CORPORA / "english.txt").read_text("utf-8").split("<|endoftext|>")
    lengths = [len(document.split()) for document in documents]
    step = max(1, int(sum(lengths) / words))
    chosen: list[str] = []
    for first in range(step):
        for place in range(first, len(documents), step):
            if words <= 0:
                return chosen
            chosen.append(documents[place])
            words -= lengths[place]
    return chosen


def cut(text: Text) -> Text:
    """Split documents so that none has more than `LONGEST` tokens."""
    return Text(text.ids, np.unique(np.concatenate([np.arange(LONGEST, len(text.ids), LONGEST), text.ends])))


def measured(
    kind: Any, kept: Text, held_out: Text, settings: embed.EmbedSettings, tokenizer: Tokenizer
) -> dict[str, float]:
    trainer = kind(kept, settings)
    seconds = trainer.train()
    made = embed.Embeddings(
        trainer.vectors().reshape(-1, settings.embedding_dim), trainer.ids, trainer.counts, tokenizer
    )
    found = embed.evaluate(made, "wordsim353")
    assert isinstance(found, embed.Agreement)
    return {
        "words_per_second": len(kept.ids) * settings.epochs / seconds,
        "wordsim353": found.spearman,
        "coverage": found.coverage,
        "rank": held_out_rank(trainer, settings, held_out),
    }


def compare(words: int, seeds: int, epochs: int, threads: int) -> dict[str, Any]:
    documents = corpus(words)
    tokenizer = tokenizer_for(documents, VOCAB_SIZE, None, None)
    kept, held_out = split_held_out(cut(read(documents, tokenizer, None, None)))
    plain = embed.EmbedSettings(epochs=epochs, threads=threads)
    engines = {
        "merganser": (OurTrainer, {}),
        "merganser, shared negatives": (OurTrainer, {"objective": "shared"}),
        "gensim": (GensimTrainer, {}),
    }
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in engines}
    for seed in range(1, seeds + 1):
        for name, (kind, changes) in engines.items():
            settings = embed.EmbedSettings(**{**vars(plain), **changes, "seed": seed})
            runs[name].append(measured(kind, kept, held_out, settings, tokenizer))
            print(seed, name, {key: round(value, 4) for key, value in runs[name][-1].items()}, flush=True)
    trainer = core_trainer(kept, plain)
    row_of = np.full(int(kept.ids.max()) + 1, -1, np.int64)
    row_of[trainer.ids] = np.arange(len(trainer.ids))
    rows = row_of[kept.ids]
    loop = words_per_second(rows[rows >= 0], trainer.counts, vars(plain), 20.0)
    return {
        "words": sum(len(document.split()) for document in documents),
        "tokens": len(kept.ids),
        "epochs": epochs,
        "threads": threads,
        "runs": runs,
        "numpy_words_per_second": loop,
    }


def table(result: dict[str, Any]) -> str:
    peer = result["runs"]["gensim"]
    lines = [
        f"{result['words']:,} words, {result['tokens']:,} tokens, {result['epochs']} epochs, "
        f"{result['threads']} threads, {len(peer)} seeds. Speed is the best of the seeds, and their median; "
        "quality the mean ± standard deviation; place is that of held-out neighbours.",
        "",
        "| engine | tokens/s | × gensim | median | × gensim | WordSim-353 | covered | place |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name, runs in result["runs"].items():
        speed = " | ".join(
            f"{own:,.0f} | {own / other:.2f}" for own, other in zip(_speeds(runs), _speeds(peer), strict=True)
        )
        quality = [_spread([run[key] for run in runs]) for key in ("wordsim353", "rank")]
        covered = f"{runs[0]['coverage']:.0%}"
        lines.append(f"| {name} | {speed} | {quality[0]} | {covered} | {quality[1]} |")
    loop = result["numpy_words_per_second"]
    lines.append(f"| a NumPy mini-batch loop | {loop:,.0f} | {loop / _speeds(peer)[0]:.3f} | | | | | |")
    return "\n".join(lines) + "\n"


def _speeds(runs: list[dict[str, float]]) -> tuple[float, float]:
    """Return the best speed, which other load cannot improve, and the median."""
    speeds = [run["words_per_second"] for run in runs]
    return max(speeds), statistics.median(speeds)


def _spread(values: list[float]) -> str:
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ± {deviation:.3f}"


def times(threads: int) -> str:
    """Return a table of seconds per epoch of the presets, the best of three epochs."""
    lines = [
        "| corpus | tokens | fast | balanced | best | balanced, shared |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    novel = f"frankenstein={CORPORA / 'frankenstein_raw.txt'}"
    for name, source in (
        ("frankenstein", novel),
        ("2 M words", corpus(2_000_000)),
        ("python-stdlib", "python-stdlib"),
    ):
        tokenizer = tokenizer_for(source, VOCAB_SIZE, None, None)
        text = read(source, tokenizer, None, None)
        cells = []
        for preset, objective in (
            ("fast", "negatives"),
            ("balanced", "negatives"),
            ("best", "negatives"),
            ("balanced", "shared"),
        ):
            changes: dict[str, Any] = {**embed.PRESETS[preset], "epochs": 3, "objective": objective}
            trainer = core_trainer(text, embed.EmbedSettings(**changes, threads=threads))
            taken = []
            for _ in range(3):
                start = time.perf_counter()
                trainer.advance(trainer.batches_in_epoch)
                taken.append(time.perf_counter() - start)
            cells.append(f"{min(taken):.2f} s")
        lines.append(f"| {name} | {len(text.ids):,} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--times", action="store_true", help="only seconds per epoch of the presets")
    parser.add_argument("--no-record", action="store_true", help="write nothing to benchmarks/records")
    given = parser.parse_args()
    if given.times:
        print(times(given.threads))
        return
    result = compare(given.words, given.seeds, given.epochs, given.threads)
    text = table(result)
    print(text)
    if not given.no_record:
        base = RECORDS / f"{date.today().isoformat()}-embed"
        base.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
        base.with_suffix(".md").write_text(f"# Embeddings against gensim\n\n{text}")


if __name__ == "__main__":
    main()
