"""Assembly: from the ids of texts to encodings, through truncation, the post-processor and padding.

Most encodings are a text with known tokens around it. Their ids come from the core, a whole batch in one
call; other fields are assembled when they are read, by the general path that pairs and words always take.
"""

from collections.abc import Callable
from typing import Any

from merganser.compat.tokenizers.encoding import Built, Encoding, Overflow, lazy
from merganser.compat.tokenizers.engine import Batch, Engine, Unknown, WholeText, Words
from merganser.compat.tokenizers.parts import Offsets, Part, Sequence, Special, Text
from merganser.compat.tokenizers.processors import Process, processed
from merganser.compat.tokenizers.settings import PaddingSettings, Truncation

#: The offsets of a token that is not in the text.
_NOWHERE = (0, 0)


class Assembly:
    """All that decides how texts are encoded, as it is at the time of a call. Never changes."""

    __slots__ = ("_plans", "added", "engine", "padding", "plain", "process", "truncation")

    def __init__(
        self,
        engine: Engine,
        process: Process | None,
        added: tuple[int, int],
        truncation: Truncation | None,
        padding: PaddingSettings | None,
        plain: bool,
    ) -> None:
        self.engine = engine
        self.process = process
        #: How many tokens the post-processor adds to a text and to a pair.
        self.added = added
        self.truncation, self.padding = truncation, padding
        #: Whether special tokens in texts are plain text.
        self.plain = plain
        self._plans: dict[bool, Plan | None] = {}

    # ── one text after the other ──────────────────────────────────────────────

    def finished(self, encodings: list[Encoding], add_special_tokens: bool) -> Encoding:
        """Return the encoding of a text or a pair: truncated, post-processed and padded."""
        if self.truncation is not None:
            added = self.added[len(encodings) - 1] if add_special_tokens else 0
            room = self.truncation.room(added)
            if room is not None:
                encodings = self.truncation.applied(encodings, room)
        made = processed(self.process, encodings, add_special_tokens)
        if self.padding is not None:
            made = self.padding.applied(made, self.padding.target(len(made)))
        return made

    def assembled(
        self, inputs: list[tuple[Any, ...]], pretokenized: bool, add_special_tokens: bool, fast: bool
    ) -> list[Encoding]:
        """Return the encodings of texts or pairs, each with all of its parts."""
        texts: list[str] = []
        for given in inputs:
            for one in given:
                texts += one if pretokenized else [one]
        ids = self.engine.native.encode_batch(texts, **self.engine.policy(self.plain))
        batch = Batch(self.engine, texts, self.plain)
        next_text = iter(range(len(texts)))

        def sequence(one: Any) -> Any:
            if not pretokenized:
                at = next(next_text)
                return Unknown(ids[at]) if fast else WholeText(batch, at, ids[at])
            found = [next(next_text) for _ in one]
            if fast:
                return Unknown([id for at in found for id in ids[at]])
            return Words([WholeText(batch, at, ids[at]) for at in found])

        made = []
        for given in inputs:
            encodings = []
            for n, one in enumerate(given):
                text = sequence(one)
                # The fast way of the library does not number texts.
                encodings.append(Encoding._of([Text(text, 0, len(text.ids()), 0 if fast else n)]))
            made.append(self.finished(encodings, add_special_tokens))
        return self.padded(made)

    def padded(self, encodings: list[Encoding]) -> list[Encoding]:
        """Return encodings of one length, if padding is on."""
        if self.padding is None or not encodings:
            return encodings
        length = self.padding.target(max(map(len, encodings)))
        return [self.padding.applied(encoding, length) for encoding in encodings]

    # ── texts with known tokens around them ───────────────────────────────────

    def plan(self, add_special_tokens: bool) -> "Plan | None":
        """Return how the ids of single texts come about, if they are those of the text with some around."""
        if add_special_tokens not in self._plans:
            self._plans[add_special_tokens] = self._planned(add_special_tokens)
        return self._plans[add_special_tokens]

    def _planned(self, add_special_tokens: bool) -> "Plan | None":
        # A text of one token shows what is put around any text.
        made = processed(self.process, [Encoding._of([Text(Unknown([-1]), 0, 1, 0)])], add_special_tokens)
        texts = [at for at, part in enumerate(made._parts) if isinstance(part, Text)]
        if len(texts) != 1 or not all(isinstance(part, Text | Special) for part in made._parts):
            return None
        plan = Plan(self, made, texts[0], add_special_tokens)
        known = all(id in self.engine.native for id in (*plan.before, *plan.after))
        return plan if known else None


class Plan:
    """How single texts are encoded: tokens that are known before and after those of the text."""

    __slots__ = (
        "_arguments",
        "_at",
        "_made",
        "add_special_tokens",
        "after",
        "assembly",
        "before",
        "encode",
        "is_usable",
        "leads",
        "limit",
        "n_sequences",
        "prefixed",
    )

    def __init__(self, assembly: Assembly, made: Encoding, at: int, add_special_tokens: bool) -> None:
        self.assembly = assembly
        self._made, self._at = made, at
        self.before = [id for part in made._parts[:at] for id in part.ids()]
        self.after = [id for part in made._parts[at + 1 :] for id in part.ids()]
        self.add_special_tokens = add_special_tokens
        text = made._parts[at]
        assert isinstance(text, Text)
        #: How the offsets of the text are trimmed; see `Text`.
        self.prefixed, self.leads = text.prefixed, text.leads
        self.n_sequences = made.n_sequences
        truncation = assembly.truncation
        added = assembly.added[0] if add_special_tokens else 0
        #: The most ids that an encoding may have.
        self.limit: int | None = None
        #: Whether truncation, if it is needed, is that of one text at one end.
        self.is_usable = True
        if truncation is not None and truncation.room(added) is not None:
            self.limit = truncation.max_length
            room = self.limit - len(self.before) - len(self.after)
            self.is_usable = truncation.strategy != "only_second" and room > truncation.stride
        arguments: dict[str, Any] = dict(assembly.engine.policy(assembly.plain))
        if self.before:
            arguments["prepend"] = self.before
        if self.after:
            arguments["append"] = self.after
        self._arguments = arguments
        self.encode = assembly.engine.native.encode

    def one(self, text: str) -> Encoding:
        """Return the encoding of a text."""
        return self._all([text], [self.encode(text, **self._arguments)], False)[0]

    def many(self, texts: list[str], fast: bool) -> list[Encoding]:
        """Return the encodings of texts; with `fast`, nothing but ids is known of them."""
        ids = self.assembly.engine.native.encode_batch(texts, **self._arguments)
        return self._all(texts, ids, fast)

    def _all(self, texts: list[str], whole: list[list[int]], fast: bool) -> list[Encoding]:
        assembly = self.assembly
        shown = whole
        limit = self.limit
        if limit is not None:
            shown = [ids if len(ids) <= limit else self._cut(ids, limit) for ids in whole]
        length = 0
        padding = assembly.padding
        if padding is not None and shown:
            length = padding.target(max(map(len, shown)))
            shown = [ids if len(ids) >= length else padding.extended(ids, length) for ids in shown]
        batch = None if fast else Batch(assembly.engine, texts, assembly.plain)
        return [lazy(ids, PlannedText(self, batch, at, whole[at], length)) for at, ids in enumerate(shown)]

    def kept(self, size: int) -> tuple[int, int]:
        """Return which tokens of a text of this many are kept."""
        if self.limit is None or len(self.before) + size + len(self.after) <= self.limit:
            return 0, size
        room = self.limit - len(self.before) - len(self.after)
        assert self.assembly.truncation is not None
        return (0, room) if self.assembly.truncation.direction == "right" else (size - room, size)

    def _cut(self, ids: list[int], limit: int) -> list[int]:
        """Return ids cut to the limit, with the same ids around them."""
        before = len(self.before)
        start, stop = self.kept(len(ids) - before - len(self.after))
        return [*self.before, *ids[before + start : before + stop], *self.after]

    def filled(
        self, sequence: Sequence, start: int, stop: int
    ) -> tuple[list[Part], dict[int, tuple[int, int]]]:
        """Return the parts of the encoding of a text, of which some tokens are kept, and where it is."""
        parts = list(self._made._parts)
        text = parts[self._at]
        assert isinstance(text, Text)
        parts[self._at] = Text(sequence, start, stop, text.type_id, text.prefixed, text.leads)
        grown, first = stop - start - 1, len(self.before)
        ranges = {
            n: (begin + grown * (begin > first), end + grown * (end > first))
            for n, (begin, end) in self._made._ranges.items()
        }
        return parts, ranges

    def cut_size(self, size: int) -> int:
        """Return how many of so many ids, with those around the text, are kept."""
        return size if self.limit is None else min(size, self.limit)

    def around(self, text: int, of: Callable[[Part], int], size: int) -> list[int]:
        """Return a value for each of `size` ids: that of its part, `text` for the text."""
        made: list[int] = []
        for at, part in enumerate(self._made._parts):
            count = size - len(self.before) - len(self.after) if at == self._at else len(part)
            made += [text if at == self._at else of(part)] * count
        return made

    @property
    def text_type(self) -> int:
        """The type id of the text."""
        return self._made._parts[self._at].type_id


class PlannedText:
    """A text that was encoded by a plan, and what its encoding consists of."""

    __slots__ = ("at", "batch", "length", "plan", "whole")

    def __init__(self, plan: Plan, batch: Batch | None, at: int, whole: list[int], length: int) -> None:
        self.plan, self.batch, self.at, self.whole = plan, batch, at, whole
        #: The length of the batch, with padding.
        self.length = length

    def _padded(self, values: list[int], size: int, pad: int) -> list[int]:
        padding = self.plan.assembly.padding
        missing = [pad] * (size - len(values))
        if padding is None or not missing:
            return values
        return values + missing if padding.direction == "right" else missing + values

    @property
    def n_sequences(self) -> int:
        return self.plan.n_sequences

    def attention_mask(self, size: int) -> list[int]:
        return self._padded([1] * self.plan.cut_size(len(self.whole)), size, 0)

    def type_ids(self, size: int) -> list[int]:
        plan = self.plan
        padding = plan.assembly.padding
        types = plan.around(plan.text_type, lambda part: part.type_id, plan.cut_size(len(self.whole)))
        return self._padded(types, size, padding.pad_type_id if padding else 0)

    def special_tokens_mask(self, size: int) -> list[int]:
        plan = self.plan
        return self._padded(plan.around(0, lambda part: 1, plan.cut_size(len(self.whole))), size, 1)

    def offsets(self, size: int) -> Offsets | None:
        plan, whole = self.plan, self.whole
        is_cut = plan.limit is not None and len(whole) > plan.limit
        if self.batch is None or is_cut or not plan.leads:
            return None
        if plan.prefixed is not None and self.batch.engine.respells(whole):
            return None
        spans = self.batch.details(self.at).offsets(plan.prefixed)
        if plan.before or plan.after:
            spans = [*[_NOWHERE] * len(plan.before), *spans, *[_NOWHERE] * len(plan.after)]
        if size > len(spans):
            padding = plan.assembly.padding
            missing = [_NOWHERE] * (size - len(spans))
            spans = missing + spans if padding and padding.direction == "left" else spans + missing
        return spans

    def build(self) -> Built:
        """Return all that belongs to the encoding."""
        plan, whole = self.plan, self.whole
        size = len(whole) - len(plan.before) - len(plan.after)
        ids = whole[len(plan.before) : len(plan.before) + size]
        sequence = Unknown(ids) if self.batch is None else WholeText(self.batch, self.at, ids)
        start, stop = plan.kept(size)
        parts, ranges = plan.filled(sequence, start, stop)

        def overflowing() -> list[Encoding]:
            given = [Encoding._of([Text(sequence, 0, size, 0)])]
            return plan.assembly.finished(given, plan.add_special_tokens)._rest()

        overflow: Overflow = [] if stop - start == size else overflowing
        made = Encoding._of(parts, ranges, overflow)
        padding = plan.assembly.padding
        if padding is not None:
            made = padding.applied(made, self.length)
        return made._parts, made._ranges, made._overflowing
