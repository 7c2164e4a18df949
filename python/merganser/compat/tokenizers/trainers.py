"""Trainers: the options of training."""

import json
from collections.abc import Sequence
from typing import Any

from merganser.compat.tokenizers.added_tokens import AddedToken, as_added
from merganser.compat.tokenizers.components import ALL, compact, shown
from merganser.compat.tokenizers.missing import Missing, NotBpe

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]


class Trainer:
    """What all trainers have in common."""

    __slots__ = ()


class BpeTrainer(Trainer):
    """The options of training BPE.

    Parameters
    ----------
    vocab_size : int
        The size of the vocabulary, with special tokens and alphabet.
    min_frequency : int
        The number of times that a pair must occur to be merged.
    show_progress : bool
        Ignored: nothing is shown.
    special_tokens : list of str or AddedToken
        Special tokens, which get the first ids.
    limit_alphabet : int, optional
        The maximum number of characters; the rarest are left out.
    initial_alphabet : list of str
        Characters that are in the alphabet whether or not they occur.
    continuing_subword_prefix, end_of_word_suffix : str, optional
        What begins tokens inside words, and ends tokens at the end of words.
    max_token_length : int, optional
        Tokens must have fewer characters than this; those of two always may be formed.

    Examples
    --------
    >>> from merganser.compat.tokenizers import Tokenizer, models
    >>> tokenizer = Tokenizer(models.BPE())
    >>> tokenizer.train_from_iterator(["ababa"], BpeTrainer(vocab_size=3))
    >>> tokenizer.get_vocab()
    {'a': 0, 'b': 1, 'ab': 2}
    """

    __slots__ = (
        "_special_tokens",
        "_word_count",
        "continuing_subword_prefix",
        "end_of_word_suffix",
        "initial_alphabet",
        "limit_alphabet",
        "max_token_length",
        "min_frequency",
        "progress_format",
        "show_progress",
        "vocab_size",
    )

    def __init__(
        self,
        vocab_size: int = 30000,
        min_frequency: int = 0,
        show_progress: bool = True,
        special_tokens: "Sequence[str | AddedToken]" = (),
        limit_alphabet: int | None = None,
        initial_alphabet: Sequence[str] = (),
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        max_token_length: int | None = None,
        progress_format: str = "indicatif",
        **ignored: Any,
    ) -> None:
        self.vocab_size = vocab_size
        self.min_frequency = min_frequency
        self.show_progress = show_progress
        self.progress_format = progress_format
        self.special_tokens = list(special_tokens)
        self.limit_alphabet = limit_alphabet
        self.initial_alphabet = [character[0] for character in initial_alphabet if character]
        self.continuing_subword_prefix = continuing_subword_prefix
        self.end_of_word_suffix = end_of_word_suffix
        self.max_token_length = max_token_length
        self._word_count = 0

    def get_word_count(self) -> int:
        """Return how many different words the last training counted."""
        return self._word_count

    @property
    def special_tokens(self) -> list[AddedToken]:
        """The special tokens."""
        return list(self._special_tokens)

    @special_tokens.setter
    def special_tokens(self, tokens: "Sequence[str | AddedToken]") -> None:
        made = []
        for token in tokens:
            if isinstance(token, str):
                made.append(AddedToken(token, special=True))
            else:
                try:
                    made.append(as_added(token, True))
                except TypeError:
                    raise TypeError("Special tokens must be a List[Union[str, AddedToken]]") from None
        self._special_tokens = made

    def _fields(self) -> dict[str, Any]:
        return {
            "min_frequency": self.min_frequency,
            "vocab_size": self.vocab_size,
            "show_progress": self.show_progress,
            "progress_format": self.progress_format.capitalize(),
            "special_tokens": [token.__getstate__() for token in self._special_tokens],
            "limit_alphabet": self.limit_alphabet,
            "initial_alphabet": self.initial_alphabet,
            "continuing_subword_prefix": self.continuing_subword_prefix,
            "end_of_word_suffix": self.end_of_word_suffix,
            "max_token_length": self.max_token_length,
            "words": {},
        }

    def __getstate__(self) -> bytes:
        return compact({"BpeTrainer": self._fields()}).encode()

    def __setstate__(self, state: bytes | str) -> None:
        fields = json.loads(state)["BpeTrainer"]
        fields["special_tokens"] = [AddedToken(**token) for token in fields["special_tokens"]]
        fields["progress_format"] = fields.get("progress_format", "indicatif").lower()
        self.__init__(**fields)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.__getstate__(),)

    def __repr__(self) -> str:
        return shown({"type": "BpeTrainer", **self._fields()}, ALL)


def _restored(state: bytes) -> BpeTrainer:
    made = BpeTrainer.__new__(BpeTrainer)
    made.__setstate__(state)
    return made


class ParityBpeTrainer(Missing):
    """The options of training for several languages at once; merganser does not have it."""

    __slots__ = ()
    what = "it does not weigh languages against each other"


class UnigramTrainer(NotBpe):
    """The options of training Unigram; merganser does not have it."""

    __slots__ = ()


class WordLevelTrainer(NotBpe):
    """The options of training a vocabulary of words; merganser does not have it."""

    __slots__ = ()


class WordPieceTrainer(NotBpe):
    """The options of training WordPiece; merganser does not have it."""

    __slots__ = ()
