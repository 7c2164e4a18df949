"""How fast the character-level tokenizer is, plain and made fast, and what each technique brings.

Equality comes first: every different word must have the same ids from both, and the texts must be split into
the same words, before anything is timed. The first pass over a text fills the cache, the second finds it
full; they are kept apart, and each is the best of five. Time is that of the processor, so that other work on
the machine hardly disturbs it. The plain tokenizer is timed once, on as many words as `plain_words` says; its
time for more of them is reckoned from that and marked `extrapolated`.
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
#: The size at which kinds of text and techniques are compared.
USUAL = 75_000
#: In the order in which they are switched on.
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
#: The plain tokenizer is called on so many words at a time, for progress to be shown.
_CHUNK = 500

Progress = Callable[[str, int, int], object]


@dataclass(frozen=True)
class Timed:
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
    """What to measure with: the words of a text, and the merges learnt from it."""

    words: list[str]
    merges: list[Pair]
    plain_words: int = USUAL
    progress: Progress | None = None

    def tokenizer(self, techniques: Techniques | None = None) -> FastCharBPE:
        return FastCharBPE(set().union(*self.words), self.merges, techniques)

    def text(self, size: int) -> str:
        """So many words; a text that is too short comes again and again."""
        return " ".join(islice(cycle(self.words), size))

    def prove(self, kinds: dict[str, list[str]]) -> int:
        """Raises an error unless both tokenizers agree; gives the number of words that were compared."""
        plain, fast = CharBPE(set().union(*self.words), self.merges), self.tokenizer()
        distinct = sorted(set(self.words))
        for words in kinds.values():
            text = " ".join(words[:USUAL])
            if WORD.findall(text) != char_bpe.split(text):
                raise InternalError("the regular expression splits into other words than the plain splitter")
            distinct += sorted(set(words))[:1000]
        for nth, word in enumerate(distinct):
            if fast.encode_word(word) != plain.encode_word(word):
                raise InternalError(f"the fast tokenizer has other ids for {word!r} than the plain one")
            self._report(nth, len(distinct))
        for techniques in {*_cumulative().values(), *_each_left_out().values()}:
            tokenizer = self.tokenizer(techniques)
            for word in distinct[:: max(len(distinct) // 100, 1)]:
                if tokenizer.encode_word(word) != plain.encode_word(word):
                    raise InternalError(f"with {techniques} there are other ids for {word!r}")
        return len(distinct)

    def plain(self, size: int) -> dict[str, Any]:
        """The time of the plain tokenizer on so many words, reckoned from `plain_words` if that is less."""
        measured = min(size, self.plain_words)
        seconds = self.plain_seconds(measured) / measured * size
        return {
            "seconds": seconds,
            "words_per_second": size / seconds,
            "extrapolated": measured < size,
            "measured_words": measured,
        }

    @cache  # noqa: B019  # lives as long as the command
    def plain_seconds(self, size: int) -> float:
        """The time of the plain tokenizer, measured: a minute for a novel."""
        plain = CharBPE(set().union(*self.words), self.merges)
        words = self.text(size).split(" ")
        taken = 0.0
        for at in range(0, len(words), _CHUNK):
            text = " ".join(words[at : at + _CHUNK])
            start = time.process_time()
            plain.encode(text)
            taken += time.process_time() - start
            self._report(at, len(words))
        return taken

    def sizes(self, sizes: tuple[int, ...] = SIZES) -> list[dict[str, Any]]:
        """For each size: both passes, the plain tokenizer, and how many times as fast."""
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
        """Hits by kind of text, the tokenizer being the same."""
        rows = []
        for kind, words in kinds.items():
            tokenizer = self.tokenizer()
            text = " ".join(islice(cycle(words), USUAL))
            first = _timed(tokenizer, text)
            advice = tokenizer.hits.advice
            second = _timed(tokenizer, text)
            rows.append(
                {
                    "kind": kind,
                    "words": USUAL,
                    "unique_words": tokenizer.hits.words,
                    "first_hit_rate": first.hit_rate,
                    "second_hit_rate": second.hit_rate,
                    "cache": advice,
                }
            )
        return rows

    def breakdown(self, plain: float) -> dict[str, Any]:
        """The techniques switched on one after the other, and each one left out of all.

        plain: the seconds of the plain tokenizer on as many words.
        """
        text = self.text(USUAL)
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
            whole = _passes(self.tokenizer, text)  # again each time, for a machine changes its speed
            without = _passes(lambda on=techniques: self.tokenizer(on), text)  # type: ignore[misc]
            slower = [left.seconds / right.seconds for left, right in zip(without, whole, strict=True)]
            shares.append({"name": name, "first_pass_slower": slower[0], "second_pass_slower": slower[1]})
            done += 1
            self._report(done, 2 * len(TECHNIQUES))
        return {"words": USUAL, "cumulative": steps, "each_left_out": shares}

    def cache_memory(self) -> dict[str, Any]:
        """What the cache takes after the usual number of words."""
        tokenizer = self.tokenizer()
        text = self.text(USUAL)
        gc.collect()
        tracemalloc.start()
        try:
            tokenizer.encode(text)  # the list of ids is gone at once, what the cache keeps is not
            gc.collect()
            taken = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
        hits = tokenizer.hits
        return {
            "words": hits.words,
            "room": hits.room,
            "bytes": taken,
            "bytes_per_word": taken / hits.words,
            "bytes_if_full": taken / hits.words * hits.room,
            "advice": hits.advice,
        }

    def _report(self, done: int, total: int) -> None:
        if self.progress:
            self.progress("words", done, total)


def kinds_of_text(name: str, words: list[str]) -> dict[str, list[str]]:
    """The words of the text under its name, of code, of random letters, and of one phrase repeated."""
    from merganser.learn import text

    source = random.Random(84)
    letters = "abcdefghijklmnopqrstuvwxyz"
    code = char_bpe.split(text.read("python-stdlib", max_mb=1))
    return {
        name: words,
        "code": code[:USUAL],
        "random": ["".join(source.choices(letters, k=source.randint(3, 10))) for _ in range(USUAL)],
        "repetitive": words[:50] * (USUAL // 50),
    }


def _cumulative() -> dict[str, Techniques]:
    """Every technique with all before it."""
    on = _NONE
    steps = {}
    for name, shown in TECHNIQUES.items():
        on = replace(on, **{name: True})
        steps[f"+ {shown}"] = on
    return steps


def _each_left_out() -> dict[str, Techniques]:
    return {shown: replace(Techniques(), **{name: False}) for name, shown in TECHNIQUES.items()}


def _passes(make: Callable[[], FastCharBPE], text: str) -> tuple[Timed, Timed]:
    """The first pass and the second, each the best of five; what takes seconds is done once."""
    rounds: list[tuple[Timed, Timed]] = []
    for _ in range(_ROUNDS):
        tokenizer = make()
        first = _timed(tokenizer, text)
        second = _timed(tokenizer, text) if tokenizer.techniques.cache else first
        rounds.append((first, second))
        if first.seconds > 1:
            break
    first, second = (min(passes, key=lambda one: one.seconds) for passes in zip(*rounds, strict=True))
    return first, second


def _timed(tokenizer: FastCharBPE, text: str) -> Timed:
    cached = tokenizer.techniques.cache
    before = tokenizer.hits if cached else None
    with _undisturbed():
        start = time.process_time()
        ids = tokenizer.encode(text)
        taken = time.process_time() - start
    if not before:
        return Timed(taken, len(ids), 0, 0)
    after = tokenizer.hits
    return Timed(taken, len(ids), after.hits - before.hits, after.misses - before.misses)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """No garbage is collected meanwhile."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
