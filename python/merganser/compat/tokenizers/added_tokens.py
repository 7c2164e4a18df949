"""Added tokens: those that are found in the text itself, with the ids that the library gives them."""

from collections.abc import Iterable
from typing import Any

from merganser.formats.definition import FLAGS


class AddedToken:
    """A token that is found in text before anything is merged.

    Parameters
    ----------
    content : str
        The token.
    single_word : bool
        Whether it is found only where no word character is next to it.
    lstrip, rstrip : bool
        Whether it includes the white space before and after it.
    normalized : bool
        Whether it is found in normalized text; true by default unless it is special.
    special : bool
        Whether decoding leaves it out by default.

    Examples
    --------
    >>> AddedToken("<s>", special=True)
    AddedToken("<s>", rstrip=False, lstrip=False, single_word=False, normalized=False, special=True)
    """

    __slots__ = ("_normalized", "content", "lstrip", "rstrip", "single_word", "special")

    def __init__(
        self,
        content: str = "",
        single_word: bool = False,
        lstrip: bool = False,
        rstrip: bool = False,
        normalized: bool | None = None,
        special: bool = False,
        **ignored: Any,
    ) -> None:
        if not isinstance(content, str):
            raise TypeError(f"the content of an AddedToken must be a str, not {type(content).__name__}")
        self.content = content
        self.single_word = bool(single_word)
        self.lstrip = bool(lstrip)
        self.rstrip = bool(rstrip)
        self.special = bool(special)
        self._normalized = normalized

    @property
    def normalized(self) -> bool:
        """Whether the token is found in normalized text."""
        return not self.special if self._normalized is None else bool(self._normalized)

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("content", *FLAGS)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.__getstate__(),)

    def __str__(self) -> str:
        return self.content

    def __repr__(self) -> str:
        flags = ("rstrip", "lstrip", "single_word", "normalized", "special")
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in flags)
        return f'AddedToken("{self.content}", {shown})'

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AddedToken) and self.__getstate__() == other.__getstate__()

    def __lt__(self, other: "AddedToken") -> bool:
        return self.content < other.content

    def __hash__(self) -> int:
        return hash(self.content)


def as_added(token: Any, special: bool) -> AddedToken:
    """Return a token given as a str or as an `AddedToken`, also of the library's own class.

    >>> as_added("<s>", True).special
    True
    """
    if isinstance(token, str):
        return AddedToken(token, special=special)
    if type(token).__name__ != "AddedToken":
        raise TypeError("Input must be a List[Union[str, AddedToken]]")
    if special:
        token.special = True
    return AddedToken(**{name: getattr(token, name) for name in ("content", *FLAGS)})


def _restored(state: dict[str, Any]) -> AddedToken:
    return AddedToken(**state)


class AddedVocabulary:
    """The added tokens of a tokenizer.

    A token that is in the vocabulary keeps its id; the others are numbered after it. A token may be added
    again with other flags, and then has these; but what was special once stays special.
    """

    def __init__(self) -> None:
        #: The token of each id, and the id of each content.
        self.tokens: dict[int, AddedToken] = {}
        self.ids: dict[str, int] = {}
        #: The contents that were added as special.
        self.specials: set[str] = set()
        #: The ids of tokens that were added as normalized: they are spelled so until the normalizer changes,
        #: even if they are added again with other flags.
        self.normalized: set[int] = set()

    def add(self, tokens: Iterable[AddedToken], vocab: dict[str, int]) -> int:
        """Add tokens to those of a vocabulary; return how many are new or have new flags."""
        size, highest = len(vocab), max(self.tokens, default=-1)
        free = highest + 1 if highest >= size or (size == 0 and self.tokens) else size
        count = 0
        for token in tokens:
            content = token.content
            id = self.ids.get(content, vocab.get(content, -1))
            if not content or (content in self.ids and self.tokens[id] == token):
                continue
            if id < 0:
                id, free = free, free + 1
            count += 1
            self.ids[content] = id
            self.tokens[id] = token
            if token.special:
                self.specials.add(content)
            if token.normalized:
                self.normalized.add(id)
        return count

    def normalize_again(self) -> None:
        """Forget which tokens were normalized before."""
        self.normalized = {id for id, token in self.tokens.items() if token.normalized}

    def listed(self) -> list[dict[str, Any]]:
        """Return the objects of a tokenizer.json, lowest id first."""
        return [{"id": id, **token.__getstate__()} for id, token in sorted(self.tokens.items())]

    def searched(self) -> list[dict[str, Any]]:
        """Return the tokens to look for."""
        return [token | {"special": token["content"] in self.specials} for token in self.listed()]
