"""tiktoken's names: `from merganser.compat import tiktoken` in place of `import tiktoken`.

`Encoding` has every public method and property of tiktoken 0.14, with the same results, the same types of
errors, and the same words where programs match on them. Encodings by name come from an installed tiktoken,
which knows where to find and how to cache them; encoding itself is merganser's.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from merganser._core import split
from merganser.errors import DecodeError, EncodeError, MerganserError
from merganser.extras import imported
from merganser.formats import BadFile
from merganser.formats import tiktoken as ranks
from merganser.formats.loading import load
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.surrogates import without_surrogates

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = [
    "Encoding",
    "encoding_for_model",
    "encoding_name_for_model",
    "get_encoding",
    "list_encoding_names",
]

_Special: TypeAlias = 'Literal["all"] | AbstractSet[str]'
_Disallowed: TypeAlias = 'Literal["all"] | Collection[str]'
_BLANK = b" \n\t"


class Encoding:
    """A `tiktoken.Encoding` on merganser's encoder.

    Parameters
    ----------
    name : str
        The name of the encoding.
    pat_str : str
        The split pattern.
    mergeable_ranks : dict of bytes to int
        The tokens with their ranks.
    special_tokens : dict of str to int
        The special tokens with their ids.
    explicit_n_vocab : int, optional
        The number of tokens, which is checked.

    Examples
    --------
    >>> ranks = {bytes([byte]): byte for byte in range(256)} | {b"lo": 256, b"low": 257}
    >>> encoding = Encoding("low", pat_str=r"\\w+|\\W+", mergeable_ranks=ranks, special_tokens={"<end>": 258})
    >>> encoding.encode("low lo")
    [257, 32, 256]
    >>> encoding.n_vocab, encoding.eot_token if "<|endoftext|>" in encoding.special_tokens_set else None
    (259, None)
    """

    def __init__(
        self,
        name: str,
        *,
        pat_str: str,
        mergeable_ranks: dict[bytes, int],
        special_tokens: dict[str, int],
        explicit_n_vocab: int | None = None,
    ) -> None:
        try:
            self._set(name, ranks.tokenizer(mergeable_ranks, pat_str, special_tokens), pat_str)
        except BadFile as bad:
            raise ValueError(f"the encoding {name} {bad}") from None
        if explicit_n_vocab:
            assert len(mergeable_ranks) + len(special_tokens) == explicit_n_vocab
            assert self.max_token_value == explicit_n_vocab - 1

    @classmethod
    def of(cls, name: str, tokenizer: Tokenizer, pat_str: str | None = None) -> "Encoding":
        """Return the encoding of a merganser tokenizer; `pat_str` is the pattern of one that is not plain."""
        if tokenizer.has_stages and pat_str is None:
            raise ValueError(f"{name} has stages of another library, which a tiktoken encoding does not have")
        encoding = cls.__new__(cls)
        encoding._set(name, tokenizer, pat_str or tokenizer.pattern)
        return encoding

    def _set(self, name: str, tokenizer: Tokenizer, pat_str: str) -> None:
        self.name = name
        self.tokenizer = tokenizer
        self._pat_str = pat_str
        self.max_token_value = tokenizer.max_token_value

    def __repr__(self) -> str:
        return f"<Encoding {self.name!r}>"

    @property
    def _mergeable_ranks(self) -> dict[bytes, int]:
        return dict(self.tokenizer.mergeable_ranks)

    @property
    def _special_tokens(self) -> dict[str, int]:
        return dict(self.tokenizer.special_tokens)

    # ── encoding ──────────────────────────────────────────────────────────────

    def encode_ordinary(self, text: str) -> list[int]:
        """Return the ids of a text, with special tokens as plain text."""
        if isinstance(text, bytes):  # which `Tokenizer.encode` takes, but tiktoken does not
            raise TypeError("text must be str, not bytes")
        try:
            return self.tokenizer.encode_ordinary(text)
        except EncodeError:
            return self.tokenizer.encode_ordinary(without_surrogates(text))

    def encode(
        self, text: str, *, allowed_special: _Special = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> list[int]:
        """Return the ids of a text; a special token in it is an error, unless it is allowed or harmless."""
        if isinstance(text, bytes):  # which `Tokenizer.encode` takes, but tiktoken does not
            raise TypeError("text must be str, not bytes")
        try:
            return self.tokenizer.encode(
                text, allowed_special=allowed_special, disallowed_special=disallowed_special
            )
        except EncodeError as error:
            text = self._repaired(text, allowed_special, disallowed_special, error)
            return self.tokenizer.encode(text, allowed_special=allowed_special, disallowed_special=())

    def encode_to_numpy(
        self, text: str, *, allowed_special: _Special = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> "NDArray[np.uint32]":
        """Return the ids of a text as an array."""
        try:
            ids, _ = self.tokenizer.encode_flat(
                [text], allowed_special=allowed_special, disallowed_special=disallowed_special, threads=1
            )
        except EncodeError as error:
            self._repaired(text, allowed_special, disallowed_special, error)
            text.encode()  # raises the error that tiktoken raises here
            raise
        return ids

    def encode_ordinary_batch(self, text: list[str], *, num_threads: int = 8) -> list[list[int]]:
        """Return the ids of several texts, with special tokens as plain text."""
        return self.encode_batch(text, num_threads=num_threads, disallowed_special=())

    def encode_batch(
        self,
        text: list[str],
        *,
        num_threads: int = 8,
        allowed_special: _Special = frozenset(),
        disallowed_special: _Disallowed = "all",
    ) -> list[list[int]]:
        """Return the ids of several texts, encoded on at most `num_threads` threads."""
        try:
            return self.tokenizer.encode_batch(
                text,
                allowed_special=allowed_special,
                disallowed_special=disallowed_special,
                threads=num_threads,
            )
        except EncodeError:  # one by one, to repair or name the text
            how: dict[str, Any] = {
                "allowed_special": allowed_special,
                "disallowed_special": disallowed_special,
            }
            return [self.encode(each, **how) for each in text]

    def encode_single_token(self, text_or_bytes: str | bytes) -> int:
        """Return the id of one token; raise a `KeyError` if it is none."""
        token = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        try:
            return self.tokenizer.encode_single_token(token)
        except MerganserError:
            raise KeyError(token) from None

    def encode_with_unstable(
        self, text: str, *, allowed_special: _Special = frozenset(), disallowed_special: _Disallowed = "all"
    ) -> tuple[list[int], list[list[int]]]:
        """Return the ids that no continuation of the text changes, and what the rest may become."""
        ids = self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)
        length = self._last_pretoken(text, ids, allowed_special)
        if not length:
            return ids, []
        stable = ids[:-length]
        unstable = b"".join(map(self.tokenizer.token_bytes, ids[-length:]))
        return stable, [list(completion) for completion in self._completions(unstable)]

    def _last_pretoken(self, text: str, ids: list[int], allowed: _Special) -> int:
        """Return how many of the last ids belong to the last pre-token, or to the white space at the end."""
        names = self.special_tokens_set if allowed == "all" else self.special_tokens_set & set(allowed)
        end = max((text.rfind(name) + len(name) for name in names if name in text), default=0)
        rest = text[end:]
        if not rest:
            return 0
        length = len(self.tokenizer.encode_ordinary(split(rest, self._pat_str)[-1]))

        def is_blank(id: int) -> bool:
            return not self.tokenizer.token_bytes(id).strip(_BLANK)

        if is_blank(ids[-length]):
            while length < len(ids) and is_blank(ids[-length - 1]):
                length += 1
        return length

    def _completions(self, unstable: bytes) -> set[tuple[int, ...]]:
        """Return the fewest ids that cover the bytes at the end of a text, for each way it may continue."""
        found: set[tuple[int, ...]] = {
            (self.tokenizer.token_id(token),) for token in self._beginning_with(unstable)
        }
        for at in range(1, len(unstable)):
            for token in self._beginning_with(unstable[at:]):
                found.add(self._covering(self._encode_any(unstable[:at] + token), len(unstable)))
        if len(unstable) > 1 and (last := _last_character(unstable)) and last.isspace():
            size = len(last.encode())
            if size < len(unstable):
                found.add((*self._merged(unstable[:-size]), *self._merged(unstable[-size:])))
        return found

    def _encode_any(self, data: bytes) -> list[int]:
        """Return the ids of a text, or of bytes that are none as if they were one pre-token."""
        try:
            return self.tokenizer.encode_ordinary(data.decode())
        except UnicodeDecodeError:
            return self._merged(data)

    def _covering(self, ids: list[int], size: int) -> tuple[int, ...]:
        """Return the first ids that have at least `size` bytes."""
        covered, kept = 0, 0
        while covered < size and kept < len(ids):
            covered += len(self.tokenizer.token_bytes(ids[kept]))
            kept += 1
        return tuple(ids[:kept])

    @cached_property
    def _sorted_tokens(self) -> list[bytes]:
        return sorted(self.tokenizer.mergeable_ranks)

    def _beginning_with(self, start: bytes) -> Iterator[bytes]:
        tokens = self._sorted_tokens
        for at in range(bisect_left(tokens, start), len(tokens)):
            if not tokens[at].startswith(start):
                break
            yield tokens[at]

    # ── decoding ──────────────────────────────────────────────────────────────

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """Return the bytes of ids."""
        try:
            return self.tokenizer.decode_bytes(tokens)
        except DecodeError as error:
            _raise_unknown(error)

    def decode(self, tokens: Sequence[int], errors: str = "replace") -> str:
        """Return the text of ids; by default, bytes that are no text become U+FFFD."""
        return self.decode_bytes(tokens).decode("utf-8", errors=errors)

    def decode_single_token_bytes(self, token: int) -> bytes:
        """Return the bytes of one token; raise a `KeyError` if there is no such id."""
        try:
            return self.tokenizer.decode_single_token_bytes(token)
        except DecodeError:
            raise KeyError(token) from None

    def decode_tokens_bytes(self, tokens: Sequence[int]) -> list[bytes]:
        """Return the bytes of each id."""
        try:
            return self.tokenizer.decode_tokens_bytes(tokens)
        except DecodeError:  # one by one, to name the id
            return [self.decode_single_token_bytes(token) for token in tokens]

    def decode_with_offsets(self, tokens: Sequence[int]) -> tuple[str, list[int]]:
        """Return the text, and the character at which each token begins."""
        try:
            return self.tokenizer.decode_with_offsets(tokens)
        except DecodeError:
            # The errors of Python, which programs expect here.
            self.decode_bytes(tokens).decode("utf-8")
            raise

    def decode_batch(
        self, batch: Sequence[Sequence[int]], *, errors: str = "replace", num_threads: int = 8
    ) -> list[str]:
        """Return the texts of several lists of ids."""
        return [data.decode("utf-8", errors=errors) for data in self.decode_bytes_batch(batch)]

    def decode_bytes_batch(self, batch: Sequence[Sequence[int]], *, num_threads: int = 8) -> list[bytes]:
        """Return the bytes of several lists of ids."""
        return [self.decode_bytes(tokens) for tokens in batch]

    # ── the vocabulary ────────────────────────────────────────────────────────

    def token_byte_values(self) -> list[bytes]:
        """Return all tokens, sorted by their bytes."""
        return list(self._sorted_tokens)

    @property
    def eot_token(self) -> int:
        """The id of `<|endoftext|>`; a `KeyError` if there is none."""
        try:
            return self.tokenizer.eot_token
        except EncodeError:
            raise KeyError("<|endoftext|>") from None

    @cached_property
    def special_tokens_set(self) -> set[str]:
        """The names of the special tokens."""
        return set(self.tokenizer.special_tokens)

    def is_special_token(self, token: int) -> bool:
        """Return whether an id is that of a special token."""
        assert isinstance(token, int)
        return self.tokenizer.is_special_token(token)

    @property
    def n_vocab(self) -> int:
        """One more than the highest id."""
        return self.tokenizer.n_vocab

    # ── what tiktoken keeps to itself, and its tests use ──────────────────────

    def _encode_single_piece(self, text_or_bytes: str | bytes) -> list[int]:
        data = text_or_bytes.encode() if isinstance(text_or_bytes, str) else text_or_bytes
        return self._merged(data)

    def _encode_bytes(self, text: bytes) -> list[int]:
        """Return the ids of the text before the first invalid byte, except that its last pre-token is merged
        with all that follows. `Tokenizer.encode` has another rule, that of files.
        """
        try:
            return self.tokenizer.encode_ordinary(text.decode())
        except UnicodeDecodeError as error:
            valid, rest = text[: error.start].decode(), text[error.start :]
        ids = self.tokenizer.encode_ordinary(valid)
        length = self._last_pretoken(valid, ids, frozenset())
        stable, last = ids[: len(ids) - length], ids[len(ids) - length :]
        return stable + self._merged(self.tokenizer.decode_bytes(last) + rest)

    def _merged(self, text: bytes) -> list[int]:
        """Return the ids of bytes, merged as one pre-token."""
        ranks = self.tokenizer.mergeable_ranks
        if text in ranks:
            return [ranks[text]]
        parts = [text[at : at + 1] for at in range(len(text))]
        while True:
            joined = [left + right for left, right in pairwise(parts)]
            known = [(ranks[part], at) for at, part in enumerate(joined) if part in ranks]
            if not known:
                return [ranks[part] for part in parts]
            _, at = min(known)
            parts[at : at + 2] = [joined[at]]

    def _repaired(self, text: str, allowed: _Special, disallowed: _Disallowed, error: EncodeError) -> str:
        """Return a text without lone surrogates; raise tiktoken's error for a disallowed token."""
        names = set(self.special_tokens_set) if disallowed == "all" else set(disallowed)
        if disallowed == "all":
            names -= self.special_tokens_set if allowed == "all" else set(allowed)
        found = [(text.find(name), name) for name in names if name and name in text]
        if found:
            _raise_disallowed(min(found)[1], error)
        repaired = without_surrogates(text)
        if repaired == text:
            raise error
        return repaired

    def __getstate__(self) -> object:
        return self.name, self.tokenizer, self._pat_str

    def __setstate__(self, state: tuple[str, Tokenizer, str]) -> None:
        self._set(*state)


def _last_character(data: bytes) -> str | None:
    """Return the last character of bytes; None if they end inside one."""
    for size in range(1, min(4, len(data)) + 1):
        try:
            return data[-size:].decode()
        except UnicodeDecodeError:
            continue
    return None


def _raise_disallowed(token: str, error: EncodeError) -> NoReturn:
    raise ValueError(
        f"Encountered text corresponding to disallowed special token {token!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{token!r}, ...}}`.\n"
        "If you want this text to be encoded as normal text, disable the check for this token by passing "
        f"`disallowed_special=(enc.special_tokens_set - {{{token!r}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    ) from error


def _raise_unknown(error: DecodeError) -> NoReturn:
    raise KeyError(f"Invalid token for decoding: {error}") from None


# ── encodings by name ─────────────────────────────────────────────────────────

_encodings: dict[str, Encoding] = {}
_lock = Lock()


def get_encoding(encoding_name: str) -> Encoding:
    """Return an encoding of the installed tiktoken by name, loaded once."""
    if not isinstance(encoding_name, str):
        raise ValueError(f"Expected a string in get_encoding, got {type(encoding_name)}")
    with _lock:
        if encoding_name not in _encodings:
            if encoding_name not in list_encoding_names():
                raise ValueError(f"Unknown encoding {encoding_name}.\nPlugins found: {list_encoding_names()}")
            loaded = load(f"tiktoken:{encoding_name}")  # has the better messages
            theirs = imported("tiktoken", "tiktoken", "an encoding by name").get_encoding(encoding_name)
            _encodings[encoding_name] = Encoding.of(encoding_name, loaded, theirs._pat_str)
        return _encodings[encoding_name]


def list_encoding_names() -> list[str]:
    """Return the names of all encodings that the installed tiktoken knows."""
    names: list[str] = imported("tiktoken", "tiktoken", "an encoding by name").list_encoding_names()
    return names


def encoding_name_for_model(model_name: str) -> str:
    """Return the name of the encoding of an OpenAI model; raise a `KeyError` for others."""
    name: str = imported("tiktoken.model", "tiktoken", "a model by name").encoding_name_for_model(model_name)
    return name


def encoding_for_model(model_name: str) -> Encoding:
    """Return the encoding of an OpenAI model."""
    return get_encoding(encoding_name_for_model(model_name))
