"""Theatre: how a vocabulary comes about, merge by merge, on a text that is shown as tiles.

A play is a list of merges. Each has the pairs that led before it, with their counts, and the offsets at which
it joins two tiles of the text. There are three kinds:

| kind | merges | counts |
|---|---|---|
| `text` | learned from the text itself | in the text |
| `training` | of a tokenizer that was trained in the page | in its training corpus, exact |
| `order` | of another tokenizer, as it encodes the text; the earliest leads | in the text |

The leading pairs come from `_core.leading_pairs`, a training that is played again; the tiles are followed
here, which takes a millisecond for each hundred merges of a short text.
"""

import warnings
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from merganser import _core
from merganser.errors import SettingsError
from merganser.studio.jobs import Job
from merganser.studio.merges import merge_steps, pretoken_boundaries
from merganser.studio.messages import Body
from merganser.studio.state import StudioState, TokenizerEntry, TrainingRecord, state_of
from merganser.studio.train import cancel, events
from merganser.training import count, train

#: Limits of a play: bytes of the text that is shown, merges, and bytes of a text to learn from.
LONGEST_TEXT, MOST_MERGES, LARGEST_TEXT = 1200, 2000, 1_000_000
#: Pairs that are shown before each merge.
LEADERS = 5

Pair = tuple[bytes, bytes]


class Merge(NamedTuple):
    """One merge: its pair, its count, and the leading pairs before it, among them this one."""

    pair: Pair
    times: int
    leaders: list[tuple[Pair, int]]


class Tiles:
    """A text as tiles: its bytes, until merges join them. Tiles of different pre-tokens are never joined."""

    def __init__(self, data: bytes, boundaries: list[int]) -> None:
        self.data = data
        self.starts = [list(range(start, end)) for start, end in pairwise(boundaries)]
        self.ends = boundaries[1:]

    def pairs(self) -> Iterator[Pair]:
        for starts, end in zip(self.starts, self.ends, strict=True):
            for left, middle, right in zip(starts, starts[1:], [*starts[2:], end], strict=False):
                yield self.data[left:middle], self.data[middle:right]

    def join(self, pair: Pair) -> list[tuple[int, int, int]]:
        """Join every occurrence of a pair, leftmost first; return their starts, middles and ends."""
        joined = []
        size, sizes = sum(map(len, pair)), (len(pair[0]), len(pair[1]))
        for starts, last in zip(self.starts, self.ends, strict=True):
            nth = 0
            while nth + 1 < len(starts):
                start, middle = starts[nth], starts[nth + 1]
                end = starts[nth + 2] if nth + 2 < len(starts) else last
                found = (middle - start, end - middle) == sizes and self.data[start:end] == b"".join(pair)
                if found:
                    joined.append((start, middle, start + size))
                    del starts[nth + 1]
                nth += 1
        return joined


def play(kind: str, data: bytes, boundaries: list[int], merges: list[Merge], total: int) -> dict[str, Any]:
    """Follow the tiles through all merges; return what the page shows."""
    tiles = Tiles(data, boundaries)
    present = set(tiles.pairs())
    steps = []
    for pair, seen, leaders in merges:
        joined = []
        if pair in present:
            joined = tiles.join(pair)
            present = set(tiles.pairs())
        rows = [(left.hex(), right.hex(), times) for (left, right), times in leaders]
        steps.append({"pair": [pair[0].hex(), pair[1].hex()], "count": seen, "leaders": rows, "at": joined})
    return {
        "kind": kind,
        "bytes": data.hex(),
        "pretokens": boundaries,
        "steps": steps,
        "merges": total,
    }


def trained(entry: TokenizerEntry, training: TrainingRecord, merges: int, job: Job) -> list[Merge]:
    """Return the first merges of a training, with the leading pairs before each."""
    tokenizer = entry.tokenizer
    pairs = [entry.merges[id] for id in range(256, 256 + min(merges, len(entry.merges)))]

    def progress(stage: str, done: int, total: int) -> None:
        job.check()
        job.progress = {"done": done, "total": total}

    history = _core.leading_pairs(training.counts._native, pairs, LEADERS, progress=progress)
    learned = []
    for id, (pair, leaders) in enumerate(zip(pairs, history, strict=True), 256):
        seen = tokenizer.merge_counts[id]
        # A pair that would form a special token may lead, but is never merged.
        first = [(pair, seen), *(leader for leader in leaders if leader[0] != pair)]
        first.sort(key=lambda leader: (-leader[1], leader[0]))
        named = [((entry.tokens[a], entry.tokens[b]), times) for (a, b), times in first[:LEADERS]]
        learned.append(Merge((entry.tokens[pair[0]], entry.tokens[pair[1]]), seen, named))
    return learned


def ordered(entry: TokenizerEntry, data: bytes, boundaries: list[int]) -> list[Merge]:
    """Return the merges with which a tokenizer encodes a text, the next pairs in its order leading."""
    tiles = Tiles(data, boundaries)
    ranks = entry.ranks
    merges = []
    for id, _ in groupby(merge_steps(entry, data, list(pairwise(boundaries))), key=lambda step: step[2]):
        pairs = Counter(pair for pair in tiles.pairs() if b"".join(pair) in ranks)
        token = entry.tokens[id]
        pair = next((pair for pair in pairs if b"".join(pair) == token), None)
        if pair is None:  # joined with earlier occurrences of the same pair
            continue
        leaders = sorted(
            pairs.items(), key=lambda item: (b"".join(item[0]) != token, ranks[b"".join(item[0])])
        )
        merges.append(Merge(pair, pairs[pair], leaders[:LEADERS]))
        tiles.join(pair)
    return merges


def shortened(text: str) -> bytes:
    """Return the beginning of a text, cut at a character."""
    return text.encode()[:LONGEST_TEXT].decode(errors="ignore").encode()


def learned_play(job: Job, text: str, pattern: str, merges: int) -> dict[str, Any]:
    """Train on a text, as a job."""
    counts = count([text], pattern=pattern)
    job.check()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a short text has fewer merges, as the page shows
        entry = TokenizerEntry(train(counts, 256 + merges, min_frequency=2))
    data = shortened(text)
    boundaries = pretoken_boundaries(entry, data.decode(), data)
    learned = trained(entry, TrainingRecord(counts, text), merges, job)
    return play("text", data, boundaries, learned, len(learned))


def replay(job: Job, state: StudioState, name: str, text: str) -> dict[str, Any]:
    """Play a tokenizer, as a job: its training if it was trained in the page."""
    entry = state.find(name)
    training = state.trainings.get(name)
    data = shortened(text or (training.beginning if training else ""))
    if not data:
        raise SettingsError("the text is empty; write something to merge")
    boundaries = pretoken_boundaries(entry, data.decode(), data)
    if training is None:
        merges = ordered(entry, data, boundaries)
        return play("order", data, boundaries, merges, len(merges))
    return play("training", data, boundaries, trained(entry, training, MOST_MERGES, job), len(entry.merges))


async def start(request: Request) -> Response:
    """Prepare a play. Request: {tokenizer, text} or {pattern, merges, text}; response: {job}."""
    body = await Body.of(request)
    state = state_of(request)
    text = body.text("text", "")
    if len(text) > LARGEST_TEXT:
        raise SettingsError(f"text must have up to {LARGEST_TEXT:,} characters here; train on it instead")
    if name := body.text("tokenizer", ""):
        if state.find(name).has_stages:
            raise SettingsError(
                "this tokenizer has stages of another library, which change the text before it is merged; "
                "choose another to replay"
            )
        job = state.jobs.start(lambda job: replay(job, state, name, text))
        return JSONResponse({"job": job.id}, 202)
    merges = body.get("merges", int, 60)
    if not text:
        raise SettingsError("the text is empty; write something to merge")
    if not 1 <= merges <= MOST_MERGES:
        raise SettingsError(f"merges must be 1 to {MOST_MERGES:,}, got {merges:,}")
    pattern = body.text("pattern", "gpt4")
    job = state.jobs.start(lambda job: learned_play(job, text, pattern, merges))
    return JSONResponse({"job": job.id}, 202)


async def about(request: Request) -> Response:
    """Return the tokenizers whose training can be played, and the limits."""
    state = state_of(request)
    return JSONResponse(
        {
            "trained": list(state.trainings),
            "patterns": _core.preset_names(),
            "longest": LONGEST_TEXT,
            "most_merges": MOST_MERGES,
        }
    )


routes = [
    Route("/about", about),
    Route("/start", start, methods=["POST"]),
    Route("/events", events),
    Route("/cancel", cancel, methods=["POST"]),
]
