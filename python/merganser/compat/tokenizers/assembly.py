"""Assembly: from the ids of texts to encodings, through truncation, the post-processor and padding.

Most encodings are a text with known tokens around it. Their ids come from the core, a whole batch in one
call; other fields are assembled when they are read, by the general path that pairs and words always take.
"""

from typing import Any

from merganser import _core
from merganser.compat.tokenizers.encoding import Built, Encoding
from merganser.compat.tokenizers.engine import Engine, Unknown, WholeText, Words
from merganser.compat.tokenizers.parts import Special, Text
from merganser.compat.tokenizers.processors import Process, processed
from merganser.compat.tokenizers.settings import PaddingSettings, Truncation


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
        encoded = self.engine.frame(self.plain).encode_batch(texts)
        next_text = iter(range(len(texts)))

        def sequence(one: Any) -> Any:
            if not pretokenized:
                at = next(next_text)
                return Unknown(encoded.text_ids(at)) if fast else WholeText(self.engine, encoded, at)
            found = [next(next_text) for _ in one]
            if fast:
                return Unknown([id for at in found for id in encoded.text_ids(at)])
            return Words([WholeText(self.engine, encoded, at) for at in found])

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

    def limit(self, around: int, add_special_tokens: bool) -> tuple[int | None, bool]:
        """Return the most ids of an encoding, `around` of them added, and whether one end is cut off."""
        truncation = self.truncation
        added = self.added[0] if add_special_tokens else 0
        if truncation is None or truncation.room(added) is None:
            return None, True
        room = truncation.max_length - around
        return truncation.max_length, truncation.strategy != "only_second" and room > truncation.stride

    def _planned(self, add_special_tokens: bool) -> "Plan | None":
        # A text of one token shows what is put around any text.
        made = processed(self.process, [Encoding._of([Text(Unknown([-1]), 0, 1, 0)])], add_special_tokens)
        texts = [at for at, part in enumerate(made._parts) if isinstance(part, Text)]
        if len(texts) != 1 or not all(isinstance(part, Text | Special) for part in made._parts):
            return None
        around = [id for at, part in enumerate(made._parts) if at != texts[0] for id in part.ids()]
        if not all(id in self.engine.native for id in around):
            return None
        return Plan(self, made, texts[0], add_special_tokens)


class Plan(_core.Frame):
    """How single texts are encoded: tokens that are known before and after those of the text."""

    __slots__ = ("_assembly", "_at", "_made", "_special", "is_usable", "n_sequences")
    _assembly: Assembly
    _at: int
    _made: Encoding
    _special: bool
    #: Whether truncation, if it is needed, is that of one text at one end.
    is_usable: bool
    n_sequences: int

    def __new__(cls, assembly: Assembly, made: Encoding, at: int, add_special_tokens: bool) -> "Plan":
        text = made._parts[at]
        assert isinstance(text, Text)
        limit, is_usable = assembly.limit(len(made) - 1, add_special_tokens)
        truncation = assembly.truncation
        plan = super().__new__(
            cls,
            assembly.engine.native,
            specials=not assembly.plain,
            before=[(id, part.type_id) for part in made._parts[:at] for id in part.ids()],
            type_id=text.type_id,
            after=[(id, part.type_id) for part in made._parts[at + 1 :] for id in part.ids()],
            trims=text.prefixed,
            offsets=text.leads,
            respells=assembly.engine.respells_some,
            limit=limit,
            keeps_end=truncation is not None and truncation.direction == "left",
            padding=assembly.padding,
        )
        plan.is_usable = is_usable
        plan.n_sequences = made.n_sequences
        plan._assembly, plan._made, plan._at, plan._special = assembly, made, at, add_special_tokens
        return plan

    def built(self, texts: _core.EncodedTexts, index: int) -> Built:
        """Return all that belongs to the encoding of a text."""
        engine = self._assembly.engine
        sequence: Unknown | WholeText = WholeText(engine, texts, index)
        if texts.fast:
            sequence = Unknown(sequence.ids())
        size = len(sequence.ids())
        start, stop = self.kept(size)
        parts = list(self._made._parts)
        first = sum(map(len, parts[: self._at]))
        text = parts[self._at]
        assert isinstance(text, Text)
        parts[self._at] = Text(sequence, start, stop, text.type_id, text.prefixed, text.leads)
        grown = stop - start - 1
        ranges = {
            n: (begin + grown * (begin > first), end + grown * (end > first))
            for n, (begin, end) in self._made._ranges.items()
        }

        def overflowing() -> list[Encoding]:
            given = [Encoding._of([Text(sequence, 0, size, 0)])]
            return self._assembly.finished(given, self._special)._rest()

        made = Encoding._of(parts, ranges, [] if stop - start == size else overflowing)
        padding = self._assembly.padding
        return (made if padding is None else padding.applied(made, texts.length))._whole()
