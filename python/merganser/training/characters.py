"""Train on characters instead of bytes: SentencePiece's kind of BPE, and words that end in `</w>`.

Words are counted as they are, with the engine of byte-level training. The core normalizes each of them once,
cuts them where no token may reach across, and merges characters with the same exact trainer.
"""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from merganser import _core
from merganser.counts import Counts, CountsFile
from merganser.engines.local import Merging, ProgressCallback
from merganser.errors import SettingsError
from merganser.formats import sentencepiece
from merganser.formats.definition import SUFFIX, Definition, added_token
from merganser.formats.oniguruma import preset_patterns
from merganser.formats.sentencepiece import Piece
from merganser.tokenizer import Tokenizer
from merganser.training import normalizing

WordMark = Literal["▁", "</w>"]
WORD_MARKS: tuple[WordMark, ...] = ("▁", "</w>")
#: The patterns that words are counted with. SentencePiece takes nothing but spaces for the ends of words.
_PATTERNS: dict[WordMark, str] = {"▁": r"[^ \n]+|[ \n]+", "</w>": "whitespace"}
_UNKNOWN = "<unk>"


@dataclass(frozen=True)
class Characters:
    """What `merganser.train` starts from if `unit` is not bytes: the characters of words.

    Parameters
    ----------
    word_mark : {"▁", "</w>"}
        "▁" begins each word, as in SentencePiece, and decoding restores single spaces. "</w>" ends each word,
        as in CLIP; with it, `pattern` splits words further.
    character_coverage : float
        The part of the text that the characters of the vocabulary make up. All others are unknown.
    byte_fallback : bool
        Whether unknown characters become the tokens of their bytes instead of `<unk>`.
    user_defined : tuple of str
        Tokens that are always found in text, and never merged with what surrounds them.
    split_digits, split_scripts : bool
        Whether digits are never merged, and whether tokens end where scripts meet.
    max_token_characters : int, optional
        The maximum length of a token, `▁` included.

    Examples
    --------
    >>> import merganser
    >>> unit = merganser.Characters(byte_fallback=True)
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 272, unit=unit)
    >>> tokenizer.decode(tokenizer.encode("lower 字"))
    'lower 字'
    """

    word_mark: WordMark = "▁"
    character_coverage: float = 1.0
    byte_fallback: bool = False
    user_defined: tuple[str, ...] = ()
    split_digits: bool = False
    split_scripts: bool = True
    max_token_characters: int | None = 16

    @property
    def counting_pattern(self) -> str:
        """The pattern to count words with: `merganser.count(…, pattern=unit.counting_pattern)`."""
        return _PATTERNS[self.word_mark]

    def check(self) -> None:
        """Raise a `SettingsError` for options that are out of range or contradict each other."""
        if self.word_mark not in WORD_MARKS:
            raise SettingsError(f"word_mark must be one of {', '.join(WORD_MARKS)}, got {self.word_mark!r}")
        if not 0 < self.character_coverage <= 1:
            raise SettingsError(
                f"character_coverage must be above 0 and at most 1, got {self.character_coverage}"
            )
        if self.max_token_characters is not None and self.max_token_characters < 1:
            raise SettingsError(
                "max_token_characters must be at least 1, or None for no limit, got "
                f"{self.max_token_characters}"
            )
        if spaced := next((token for token in self.user_defined if any(map(str.isspace, token))), None):
            raise SettingsError(f"the user-defined token {spaced!r} has a space in it; leave it out")
        if self.word_mark == "</w>" and (self.byte_fallback or self.user_defined):
            raise SettingsError(
                "byte_fallback and user_defined belong to SentencePiece's kind; use word_mark='▁'"
            )

    def check_normalizer(self, name: str | None) -> None:
        """Raise a `SettingsError` for a normalizer that this kind does not have."""
        if self.word_mark == "▁" and name is not None and name not in sentencepiece.RULES:
            raise SettingsError(
                f"with word_mark='▁', normalizer must be one of {', '.join(sentencepiece.RULES)}, got "
                f"{name!r}"
            )
        if self.word_mark == "</w>" and name is not None:
            normalizing.stage(name)

    def reserved(self, special_tokens: Sequence[str]) -> list[str]:
        """Return the tokens that are neither characters nor merges, in the order of their ids."""
        names = [_UNKNOWN, "<s>", "</s>"] if self.word_mark == "▁" else [_UNKNOWN]
        names += [name for name in special_tokens if name not in names]
        names += [name for name in self.user_defined if name not in names]
        if self.byte_fallback:
            names += [f"<0x{byte:02X}>" for byte in range(256)]
        return names


def train_characters(
    counts: Counts | CountsFile,
    vocab_size: int,
    options: Characters,
    *,
    normalizer: str | None,
    pattern: str | None,
    special_tokens: Sequence[str],
    tie_break: str,
    min_frequency: int,
    merging: Merging,
    progress: ProgressCallback | None,
    facts: dict[str, Any],
) -> Tokenizer:
    """Return the tokenizer; `facts` about the corpus go into what is known about its training."""
    reserved = options.reserved(special_tokens)
    if "" in reserved:
        raise SettingsError("a special or user-defined token is empty; it needs at least one character")
    if vocab_size <= len(reserved):
        raise SettingsError(
            f"vocab_size must be above {len(reserved)}, the number of special, user-defined and byte tokens, "
            f"got {vocab_size}"
        )
    charsmap = b""
    if options.word_mark == "▁":
        charsmap = sentencepiece.rule_charsmap(normalizer or "identity")
        stage: dict[str, Any] | None = _sentencepiece_normalizer(charsmap)
    else:
        stage = None if normalizer is None else normalizing.stage(normalizer)
    alphabet, merges, merge_counts = _core.train_characters(
        counts.path if isinstance(counts, CountsFile) else counts._native,
        vocab_size - len(reserved),
        normalizer=json.dumps(stage),
        pattern=pattern,
        mark="space" if options.word_mark == "▁" else "suffix",
        split_scripts=options.split_scripts,
        split_digits=options.split_digits,
        coverage=options.character_coverage,
        max_alphabet=None,
        tie_break=tie_break,
        min_frequency=min_frequency,
        max_token_characters=options.max_token_characters,
        forbidden=reserved,
        **merging,
        progress=progress,
    )
    if options.word_mark == "▁":
        definition = _sentencepiece(options, reserved, special_tokens, charsmap, alphabet, merges)
        first_id = len(reserved)
    else:
        definition = _suffixed(reserved, stage, pattern, alphabet, merges)
        first_id = len(reserved) + len(alphabet)
    training = {
        "vocab_size": len(reserved) + len(alphabet) + len(merges),
        "unit": "characters",
        "word_mark": options.word_mark,
        "normalizer": normalizer,
        "character_coverage": options.character_coverage,
        "alphabet": len(alphabet),
        "merges": len(merges),
        "tie_break": tie_break,
        "min_frequency": min_frequency,
        **facts,
    }
    return definition.tokenizer(dict(enumerate(merge_counts, first_id)), training)


def _sentencepiece_normalizer(charsmap: bytes) -> dict[str, Any]:
    """Return the normalizer of words before training."""
    return {
        "type": "SentencePiece",
        "charsmap": base64.b64encode(charsmap).decode() if charsmap else None,
        "add_dummy_prefix": False,
        "remove_extra_whitespaces": True,
        "suffix_whitespace": False,
    }


def _sentencepiece(
    options: Characters,
    reserved: Sequence[str],
    special_tokens: Sequence[str],
    charsmap: bytes,
    alphabet: Sequence[tuple[bytes, int]],
    merges: Sequence[tuple[bytes, bytes]],
) -> Definition:
    """Return a model with merges before characters, as SentencePiece orders them."""

    def kind(name: str) -> int:
        if name == _UNKNOWN:
            return sentencepiece.UNKNOWN
        if name in options.user_defined:
            return sentencepiece.USER_DEFINED
        is_control = name in ("<s>", "</s>") or name in special_tokens
        return sentencepiece.CONTROL if is_control else sentencepiece.BYTE

    learned = [left + right for left, right in merges] + [character for character, _ in alphabet]
    pieces = [Piece(name, 0.0, kind(name)) for name in reserved]
    pieces += [
        Piece(piece.decode(), -float(rank), sentencepiece.NORMAL) for rank, piece in enumerate(learned)
    ]
    return sentencepiece.definition(pieces, {35: options.byte_fallback}, {2: charsmap})


def _suffixed(
    reserved: Sequence[str],
    normalizer: dict[str, Any] | None,
    pattern: str | None,
    alphabet: Sequence[tuple[bytes, int]],
    merges: Sequence[tuple[bytes, bytes]],
) -> Definition:
    """Return a vocabulary with characters before merges, as Hugging Face orders them."""
    units = sorted((unit for unit, _ in alphabet), key=lambda unit: (unit.endswith(SUFFIX), unit))
    ids: dict[bytes, int] = {}
    for token in [*units, *(left + right for left, right in merges)]:
        ids[token] = len(reserved) + len(ids)
    splits: list[dict[str, Any]] = [{"type": "WhitespaceSplit"}]
    if pattern is not None:
        regex = {"Regex": preset_patterns().get(pattern, pattern)}
        splits.insert(0, {"type": "Split", "pattern": regex, "behavior": "Isolated", "invert": False})
    return Definition(
        tokens=list(ids.items()),
        merges=[(ids[left], ids[right], ids[left + right]) for left, right in merges],
        unit="characters",
        unknown=0,
        suffix=True,
        suffix_text=" ",
        decode_only=[(_UNKNOWN.encode(), 0)],
        added_tokens=[added_token(name, id, special=True) for id, name in enumerate(reserved) if id > 0],
        normalizer=normalizer,
        pre_tokenizer={"type": "Sequence", "pretokenizers": splits},
        decoder={"type": "BPEDecoder", "suffix": "</w>"},
    )
