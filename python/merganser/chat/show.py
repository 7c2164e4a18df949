"""Shown: tokens with a mask, for people to look at, in a terminal or a browser.

Whatever text the tokens hold, it cannot break out: control characters are escaped, for the terminal and for
HTML alike.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from merganser.errors import ChatError
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.display import use_color
from merganser.tokenizer.escaping import escape

_GREEN, _RED, _GREY, _END = "\033[92m", "\033[91m", "\033[90m", "\033[0m"


@dataclass(frozen=True)
class Shown:
    """Tokens, escaped; whether each is learnt; and the ids, if they are to be seen.

    `str` has colours if standard output is a terminal (and NO_COLOR is not set).
    """

    tokens: tuple[str, ...]
    mask: tuple[bool, ...]
    ids: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, ids: Sequence[int], mask: Sequence[int], with_ids: bool = False
    ) -> "Shown":
        if len(ids) != len(mask):
            raise ChatError(
                f"{len(ids)} ids and a mask of {len(mask)} do not go together; pass both as rendered"
            )
        tokens = tuple(escape(tokenizer.token_bytes(id)) for id in ids)
        return cls(tokens, tuple(bool(learnt) for learnt in mask), tuple(ids) if with_ids else None)

    @property
    def plain(self) -> str:
        """Without colours."""
        return "|".join(f"{token}{number}" for token, number in zip(self.tokens, self._numbers, strict=True))

    @property
    def ansi(self) -> str:
        """With the colours of a terminal."""
        return "|".join(
            f"{_GREEN if learnt else _RED}{token}{_END}" + (f"{_GREY}{number}{_END}" if number else "")
            for token, learnt, number in zip(self.tokens, self.mask, self._numbers, strict=True)
        )

    @property
    def html(self) -> str:
        """A `<pre>` for any page."""
        spans = "|".join(
            f'<span style="color:{"green" if learnt else "red"}">{html.escape(token)}</span>'
            + (f'<span style="color:grey">{number}</span>' if number else "")
            for token, learnt, number in zip(self.tokens, self.mask, self._numbers, strict=True)
        )
        return f'<pre style="white-space:pre-wrap">{spans}</pre>'

    @property
    def _numbers(self) -> list[str]:
        return [""] * len(self.tokens) if self.ids is None else [f"({id})" for id in self.ids]

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.ansi if use_color() else self.plain
