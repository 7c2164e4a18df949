"""Speed of the character-level tokenizer, plain and optimized, and the effect of each technique.

Equality comes first: before anything is timed, both must split the texts into the same words and return the
same ids for every unique word. The first pass over a text fills the cache, the second finds it full; they are
reported separately, each as the best of five. Times are CPU times, so that other processes hardly affect
them. The plain tokenizer is timed once, on `plain_words` words; its time for more words is extrapolated and
marked as such.
"""

import gc
import random
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import cycle, islice
from typing import Any

from merganser.errors import InternalError
from merganser.learn import char_bpe
from merganser.learn.char_bpe import CharBPE, Pair
from merganser.learn.char_bpe_fast import WORD, FastCharBPE, Techniques

SIZES = (1_000, 10_000, 75_000, 2_000_000)
#: The default number of words for the comparison of texts and techniques.
COMPARED_WORDS = 75_000
#: In the order in which they are added.
TECHNIQUES = {
    "ranks": "merge ranks",
    "best_pair": "best-pair merging",
    "regex": "compiled regex",
    "unknown": "unknown-token cache",
    "local": "local references",
    "cache": "word cache",
}
_NONE = Techniques(**dict.fromkeys(TECHNIQUES, False))
_ROUNDS = 5
#: The number of words per call of the plain tokenizer, between progress reports.
_CHUNK = 500

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Pass:
    """One pass over a text."""

    seconds: float
    tokens: int
    hits: int
    misses: int

    @property
    def hit_rate(self) -> float:
        return self.hits / max(self.hits + self.misses, 1)


@dataclass(frozen=True, eq=False)
class Speed:
    """Measurements with the words of a text and the merges learned from it."""

    words: list[str]
    merges: list[Pair]
    plain_words: int = COMPARED_WORDS
    #: The number of words for the comparison of texts and techniques.
    compared_words: int = COMPARED_WORDS
    progress: Progress | None = None

    def tokenizer(self, techniques: Techniques | None = None) -> FastCharBPE:
        return FastCharBPE(set().union(*self.words), self.merges, techniques)

    def text(self, size: int) -> str:
        """Return `size` words; a shorter text is repeated."""
        return " ".join(islice(cycle(self.words), size))

    def prove(self, kinds: dict[str, list[str]]) -> int:
        """Raise unless both tokenizers agree; return the number of words compared."""
        plain, fast = CharBPE(set().union(*self.words), self.merges), self.tokenizer()
        unique = sorted(set(self.words))
        for words in kinds.values():
            text = " ".join(words[: self.compared_words])
            if WORD.findall(text) != char_bpe.split(text):
                raise InternalError("the regular expression splits differently from the plain splitter")
            unique += sorted(set(words))[:1000]
        for nth, word in enumerate(unique):
            if fast.encode_word(word) != plain.encode_word(word):
                raise InternalError(
                    f"the optimized and the plain tokenizer return different ids for {word!r}"
                )
            self._report(nth, len(unique))
        for techniques in {*_cumulative().values(), *_each_left_out().values()}:
            tokenizer = self.tokenizer(techniques)
            for word in unique[:: max(len(unique) // 100, 1)]:
                if tokenizer.encode_word(word) != plain.encode_word(word):
                    raise InternalError(f"with {techniques}, the ids for {word!r} are different")
        return len(unique)

    def plain(self, size: int) -> dict[str, Any]:
        """Return the time of the plain tokenizer on `size` words, extrapolated beyond `plain_words`."""
        measured = min(size, self.plain_words)
        seconds = self.plain_seconds(measured) / measured * size
        return {
            "seconds": seconds,
            "words_per_second": size / seconds,
            "extrapolated": measured < size,
            "measured_words": measured,
        }

    @cache  # noqa: B019  # the object lives as long as the command
    def plain_seconds(self, size: int) -> float:
        """Measure the plain tokenizer: a minute for a novel."""
        plain = CharBPE(set().union(*self.words), self.merges)
        words = self.text(size).split(" ")
        total = 0.0
        for at in range(0, len(words), _CHUNK):
            text = " ".join(words[at : at + _CHUNK])
            start = time.process_time()
            plain.encode(text)
            total += time.process_time() - start
            self._report(at, len(words))
        return total

    def sizes(self, sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
        """Measure both passes, the plain tokenizer and the speedup for each size."""
        rows = []
        for size in sizes:
            text = self.text(size)
            plain = self.plain(size)
            row: dict[str, Any] = {
                "words": size,
                "unique_words": len(set(text.split(" "))),
                "times_repeated": round(max(size / len(self.words), 1), 2),
                "plain": plain,
            }
            for name, timed in zip(("first_pass", "second_pass"), _passes(self.tokenizer, text), strict=True):
                row[name] = asdict(timed) | {
                    "hit_rate": timed.hit_rate,
                    "words_per_second": size / timed.seconds,
                    "speed_up": plain["seconds"] / timed.seconds,
                }
            rows.append(row)
        return rows

    def kinds(self, kinds: dict[str, list[str]]) -> list[dict[str, Any]]:
        """Measure the hit rate on each kind of text."""
        rows = []
        for kind, words in kinds.items():
            tokenizer = self.tokenizer()
            text = " ".join(islice(cycle(words), self.compared_words))
            first = _time_pass(tokenizer, text)
            advice = tokenizer.hits.advice
            second = _time_pass(tokenizer, text)
            rows.append(
                {
                    "kind": kind,
                    "words": self.compared_words,
                    "unique_words": tokenizer.hits.words,
                    "first_hit_rate": first.hit_rate,
                    "second_hit_rate": second.hit_rate,
                    "cache": advice,
                }
            )
        return rows

    def breakdown(self, plain: float) -> dict[str, Any]:
        """Measure the techniques added one by one, and each one left out.

        plain: the time of the plain tokenizer on `compared_words` words, in seconds.
        """
        text = self.text(self.compared_words)
        steps = [{"name": "plain", "seconds": plain, "speed_up": 1.0}]
        shares = []
        done = 0
        for name, techniques in _cumulative().items():
            first, second = _passes(lambda on=techniques: self.tokenizer(on), text)  # type: ignore[misc]
            passes = {f"{name}, first pass": first, f"{name}, second pass": second}
            if not techniques.cache:
                passes = {name: second}
            for label, timed in passes.items():
                steps.append({"name": label, "seconds": timed.seconds, "speed_up": plain / timed.seconds})
            done += 1
            self._report(done, 2 * len(TECHNIQUES))
        for name, techniques in _each_left_out().items():
            whole = _passes(self.tokenizer, text)  # measured again each time: the speed of a machine drifts
            without = _passes(lambda on=techniques: self.tokenizer(on), text)  # type: ignore[misc]
            slower = [left.seconds / right.seconds for left, right in zip(without, whole, strict=True)]
            shares.append({"name": name, "first_pass_slower": slower[0], "second_pass_slower": slower[1]})
            done += 1
            self._report(done, 2 * len(TECHNIQUES))
        return {"words": self.compared_words, "cumulative": steps, "each_left_out": shares}

    def cache_memory(self) -> dict[str, Any]:
        """Measure the memory of the cache after `compared_words` words."""
        tokenizer = self.tokenizer()
        text = self.text(self.compared_words)
        gc.collect()
        tracemalloc.start()
        try:
            tokenizer.encode(text)  # the ids are freed at once, the cache is not
            gc.collect()
            allocated = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        hits = tokenizer.hits
        return {
            "words": hits.words,
            "room": hits.room,
            "bytes": allocated,
            "bytes_per_word": allocated / hits.words,
            "bytes_if_full": allocated / hits.words * hits.room,
            "advice": hits.advice,
        }

    def _report(self, done: int, total: int) -> None:
        if self.progress:
            self.progress("words", done, total)


def kinds_of_text(name: str, words: list[str], number: int = COMPARED_WORDS) -> dict[str, list[str]]:
    """Return the words of the text, and `number` words of code, random letters and a repeated phrase."""
    from merganser.learn import text

    source = random.Random(84)
    letters = "abcdefghijklmnopqrstuvwxyz"
    code = char_bpe.split(text.read("python-stdlib", max_mb=1))
    return {
        name: words,
        "code": code[:number],
        "random": ["".join(source.choices(letters, k=source.randint(3, 10))) for _ in range(number)],
        "repetitive": words[:50] * (number // 50),
    }


def _cumulative() -> dict[str, Techniques]:
    """Return each technique together with all before it."""
    on = _NONE
    steps = {}
    for name, title in TECHNIQUES.items():
        on = replace(on, **{name: True})
        steps[f"+ {title}"] = on
    return steps


def _each_left_out() -> dict[str, Techniques]:
    return {title: replace(Techniques(), **{name: False}) for name, title in TECHNIQUES.items()}


def _passes(make: Callable[[], FastCharBPE], text: str) -> tuple[Pass, Pass]:
    """Return the first and the second pass, each the best of five; a slow pass is run once."""
    rounds: list[tuple[Pass, Pass]] = []
    for _ in range(_ROUNDS):
        tokenizer = make()
        first = _time_pass(tokenizer, text)
        second = _time_pass(tokenizer, text) if tokenizer.techniques.cache else first
        rounds.append((first, second))
        if first.seconds > 1:
            break
    first, second = (min(passes, key=lambda one: one.seconds) for passes in zip(*rounds, strict=True))
    return first, second


def _time_pass(tokenizer: FastCharBPE, text: str) -> Pass:
    cached = tokenizer.techniques.cache
    before = tokenizer.hits if cached else None
    with _without_garbage_collection():
        start = time.process_time()
        ids = tokenizer.encode(text)
        seconds = time.process_time() - start
    if not before:
        return Pass(seconds, len(ids), 0, 0)
    after = tokenizer.hits
    return Pass(seconds, len(ids), after.hits - before.hits, after.misses - before.misses)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Disable the garbage collector."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
