"""Display tokens with a loss mask in a terminal or a browser.

Control characters are escaped in both, so that no text can affect the terminal or the page.
"""

import html
from collections.abc import Sequence
from dataclasses import dataclass

from merganser.errors import ChatError
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.display import use_color
from merganser.tokenizer.escaping import escape

_GREEN, _RED, _GRAY, _END = "\033[92m", "\033[91m", "\033[90m", "\033[0m"


@dataclass(frozen=True)
class MaskedTokens:
    """Escaped tokens with a loss mask.

    `str` is colored if standard output is a terminal and NO_COLOR is not set. Notebooks display `html`.

    Attributes
    ----------
    tokens
        The escaped tokens.
    mask
        Whether each token is learned.
    ids
        The ids, if they are to be displayed.

    Examples
    --------
    >>> import merganser
    >>> from merganser.chat import SPECIAL_TOKENS
    >>> tokenizer = merganser.train(["hi"], 265, special_tokens=SPECIAL_TOKENS)
    >>> MaskedTokens.of(tokenizer, [256, 104], [0, 1], with_ids=True).plain
    '<|bos|>(256)|h(104)'
    """

    tokens: tuple[str, ...]
    mask: tuple[bool, ...]
    ids: tuple[int, ...] | None = None

    @classmethod
    def of(
        cls, tokenizer: Tokenizer, ids: Sequence[int], mask: Sequence[int], with_ids: bool = False
    ) -> "MaskedTokens":
        """Combine ids with their mask; `with_ids` displays the ids too."""
        if len(ids) != len(mask):
            raise ChatError(
                f"ids and mask must have the same length, got {len(ids)} ids and a mask of {len(mask)}; "
                "pass both as returned by Chat.render"
            )
        tokens = tuple(escape(tokenizer.token_bytes(id)) for id in ids)
        return cls(tokens, tuple(bool(learned) for learned in mask), tuple(ids) if with_ids else None)

    @property
    def plain(self) -> str:
        """The tokens without color."""
        return "|".join(f"{token}{number}" for token, number in zip(self.tokens, self._numbers, strict=True))

    @property
    def ansi(self) -> str:
        """The tokens in terminal colors: green if learned, red if not."""
        return "|".join(
            f"{_GREEN if learned else _RED}{token}{_END}" + (f"{_GRAY}{number}{_END}" if number else "")
            for token, learned, number in zip(self.tokens, self.mask, self._numbers, strict=True)
        )

    @property
    def html(self) -> str:
        """The tokens as a `<pre>` element: green if learned, red if not."""
        spans = "|".join(
            f'<span style="color:{"green" if learned else "red"}">{html.escape(token)}</span>'
            + (f'<span style="color:gray">{number}</span>' if number else "")
            for token, learned, number in zip(self.tokens, self.mask, self._numbers, strict=True)
        )
        return f'<pre style="white-space:pre-wrap">{spans}</pre>'

    @property
    def _numbers(self) -> list[str]:
        return [""] * len(self.tokens) if self.ids is None else [f"({id})" for id in self.ids]

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.ansi if use_color() else self.plain
