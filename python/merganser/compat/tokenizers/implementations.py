"""Implementations: three kinds of BPE tokenizers, ready to be trained."""

from collections.abc import Iterable, Sequence
from typing import Any

from merganser.compat.tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers
from merganser.compat.tokenizers.added_tokens import AddedToken
from merganser.compat.tokenizers.missing import NotBpe
from merganser.compat.tokenizers.tokenizer import Tokenizer

__all__ = [
    "BaseTokenizer",
    "BertWordPieceTokenizer",
    "ByteLevelBPETokenizer",
    "CharBPETokenizer",
    "SentencePieceBPETokenizer",
    "SentencePieceUnigramTokenizer",
]

_STAGES = ("model", "normalizer", "pre_tokenizer", "post_processor", "decoder")


class BaseTokenizer:
    """A tokenizer with the parameters that it was created with; it has all methods of `Tokenizer`.

    Parameters
    ----------
    tokenizer : Tokenizer
        The tokenizer.
    parameters : dict, optional
        What `repr` shows.

    Examples
    --------
    >>> base = BaseTokenizer(Tokenizer(models.BPE()), {"model": "BPE"})
    >>> base, base.get_vocab_size()
    (Tokenizer(vocabulary_size=0, model=BPE), 0)
    """

    def __init__(self, tokenizer: Tokenizer, parameters: "dict[str, Any] | None" = None) -> None:
        self._tokenizer = tokenizer
        self._parameters = parameters or {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._tokenizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _STAGES:
            setattr(self._tokenizer, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        shown = [f"vocabulary_size={self._tokenizer.get_vocab_size()}"]
        shown += [f"{name}={value}" for name, value in self._parameters.items()]
        return f"Tokenizer({', '.join(shown)})"

    def normalize(self, sequence: str) -> str:
        """Return the normalized text."""
        normalized: str = self.normalizer.normalize_str(sequence)
        return normalized

    def save_model(self, directory: str, prefix: str | None = None) -> list[str]:
        """Write the vocabulary and the merges to a folder; return the paths."""
        model = self._tokenizer.model
        assert isinstance(model, models.BPE)
        return model.save(directory, prefix)

    def _train(self, texts: "Iterable[Any] | None", files: "str | list[str]", **options: Any) -> None:
        trainer = trainers.BpeTrainer(**options)
        if texts is not None:
            self._tokenizer.train_from_iterator(texts, trainer)
        else:
            self._tokenizer.train([files] if isinstance(files, str) else files, trainer)


def _model(vocab: Any, merges: Any, **options: Any) -> models.BPE:
    return (
        models.BPE(vocab, merges, **options)
        if vocab is not None and merges is not None
        else models.BPE(**options)
    )


def _normalizer(parts: list[normalizers.Normalizer]) -> normalizers.Normalizer | None:
    if len(parts) < 2:
        return parts[0] if parts else None
    return normalizers.Sequence(parts)


def _unicode_and_lowercase(form: str | None, lowercase: bool) -> list[normalizers.Normalizer]:
    parts: list[normalizers.Normalizer] = []
    if form:
        parts.append(normalizers.unicode_normalizer_from_str(form))
    if lowercase:
        parts.append(normalizers.Lowercase())
    return parts


class ByteLevelBPETokenizer(BaseTokenizer):
    """Byte-level BPE, as GPT-2's.

    Examples
    --------
    >>> tokenizer = ByteLevelBPETokenizer()
    >>> tokenizer.train_from_iterator(["low low lower"], vocab_size=258)
    >>> tokenizer.encode("low").tokens
    ['low']
    """

    def __init__(
        self,
        vocab: "str | dict[str, int] | None" = None,
        merges: "str | list[tuple[str, str]] | None" = None,
        add_prefix_space: bool = False,
        lowercase: bool = False,
        dropout: float | None = None,
        unicode_normalizer: str | None = None,
        continuing_subword_prefix: str | None = None,
        end_of_word_suffix: str | None = None,
        trim_offsets: bool = False,
    ) -> None:
        affixes = {
            "continuing_subword_prefix": continuing_subword_prefix or None,
            "end_of_word_suffix": end_of_word_suffix or None,
        }
        tokenizer = Tokenizer(_model(vocab, merges, dropout=dropout, **affixes))
        tokenizer.normalizer = _normalizer(_unicode_and_lowercase(unicode_normalizer, lowercase))
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
        tokenizer.decoder = decoders.ByteLevel()
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=trim_offsets)
        parameters = {
            "model": "ByteLevelBPE",
            "add_prefix_space": add_prefix_space,
            "lowercase": lowercase,
            "dropout": dropout,
            "unicode_normalizer": unicode_normalizer,
            "continuing_subword_prefix": continuing_subword_prefix,
            "end_of_word_suffix": end_of_word_suffix,
            "trim_offsets": trim_offsets,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "ByteLevelBPETokenizer":
        """Return the tokenizer in a vocab.json and a merges.txt."""
        return ByteLevelBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: "str | list[str]",
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: "Sequence[str | AddedToken]" = (),
    ) -> None:
        """Train on files."""
        self._train_bytes(None, files, vocab_size, min_frequency, special_tokens)

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        show_progress: bool = True,
        special_tokens: "Sequence[str | AddedToken]" = (),
        length: int | None = None,
    ) -> None:
        """Train on texts."""
        self._train_bytes(iterator, [], vocab_size, min_frequency, special_tokens)

    def _train_bytes(self, texts: Any, files: Any, size: int, frequency: int, specials: Any) -> None:
        self._train(
            texts,
            files,
            vocab_size=size,
            min_frequency=frequency,
            special_tokens=specials,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        )


class CharBPETokenizer(BaseTokenizer):
    """BPE on the characters of words that end in `</w>`, as OpenAI's GPT.

    Examples
    --------
    >>> tokenizer = CharBPETokenizer()
    >>> tokenizer.train_from_iterator(["low low lower"])
    >>> tokenizer.encode("low").tokens
    ['low</w>']
    """

    def __init__(
        self,
        vocab: "str | dict[str, int] | None" = None,
        merges: "str | list[tuple[str, str]] | None" = None,
        unk_token: "str | AddedToken" = "<unk>",
        suffix: str = "</w>",
        dropout: float | None = None,
        lowercase: bool = False,
        unicode_normalizer: str | None = None,
        bert_normalizer: bool = True,
        split_on_whitespace_only: bool = False,
    ) -> None:
        model = _model(vocab, merges, dropout=dropout, unk_token=str(unk_token), end_of_word_suffix=suffix)
        tokenizer = Tokenizer(model)
        if tokenizer.token_to_id(str(unk_token)) is not None:
            tokenizer.add_special_tokens([unk_token])
        parts = _unicode_and_lowercase(unicode_normalizer, False)
        if bert_normalizer:
            parts.append(normalizers.BertNormalizer(lowercase=False))
        if lowercase:
            parts.append(normalizers.Lowercase())
        tokenizer.normalizer = _normalizer(parts)
        whole = split_on_whitespace_only
        tokenizer.pre_tokenizer = (
            pre_tokenizers.WhitespaceSplit() if whole else pre_tokenizers.BertPreTokenizer()
        )
        tokenizer.decoder = decoders.BPEDecoder(suffix=suffix)
        parameters = {
            "model": "BPE",
            "unk_token": unk_token,
            "suffix": suffix,
            "dropout": dropout,
            "lowercase": lowercase,
            "unicode_normalizer": unicode_normalizer,
            "bert_normalizer": bert_normalizer,
            "split_on_whitespace_only": split_on_whitespace_only,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "CharBPETokenizer":
        """Return the tokenizer in a vocab.json and a merges.txt."""
        return CharBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: "str | list[str]",
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: "Sequence[str | AddedToken]" = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
    ) -> None:
        """Train on files."""
        self._train(
            None,
            files,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
            end_of_word_suffix=suffix,
        )

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: "Sequence[str | AddedToken]" = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        suffix: str | None = "</w>",
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train on texts."""
        self._train(
            iterator,
            [],
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
            end_of_word_suffix=suffix,
        )


class SentencePieceBPETokenizer(BaseTokenizer):
    """BPE on characters, with `▁` for spaces.

    Examples
    --------
    >>> tokenizer = SentencePieceBPETokenizer()
    >>> tokenizer.train_from_iterator(["low low lower"])
    >>> tokenizer.encode("low").tokens
    ['▁low']
    """

    def __init__(
        self,
        vocab: "str | dict[str, int] | None" = None,
        merges: "str | list[tuple[str, str]] | None" = None,
        unk_token: "str | AddedToken" = "<unk>",
        replacement: str = "▁",
        add_prefix_space: bool = True,
        dropout: float | None = None,
        fuse_unk: bool = False,
    ) -> None:
        model = _model(vocab, merges, dropout=dropout, unk_token=str(unk_token), fuse_unk=fuse_unk)
        tokenizer = Tokenizer(model)
        if tokenizer.token_to_id(str(unk_token)) is not None:
            tokenizer.add_special_tokens([unk_token])
        tokenizer.normalizer = normalizers.NFKC()
        scheme = "always" if add_prefix_space else "never"
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(replacement=replacement, prepend_scheme=scheme)
        tokenizer.decoder = decoders.Metaspace(replacement=replacement, prepend_scheme=scheme)
        parameters = {
            "model": "SentencePieceBPE",
            "unk_token": unk_token,
            "replacement": replacement,
            "add_prefix_space": add_prefix_space,
            "dropout": dropout,
        }
        super().__init__(tokenizer, parameters)

    @staticmethod
    def from_file(vocab_filename: str, merges_filename: str, **kwargs: Any) -> "SentencePieceBPETokenizer":
        """Return the tokenizer in a vocab.json and a merges.txt."""
        return SentencePieceBPETokenizer(*models.BPE.read_file(vocab_filename, merges_filename), **kwargs)

    def train(
        self,
        files: "str | list[str]",
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: "Sequence[str | AddedToken]" = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
    ) -> None:
        """Train on files."""
        self._train(
            None,
            files,
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
        )

    def train_from_iterator(
        self,
        iterator: Iterable[Any],
        vocab_size: int = 30000,
        min_frequency: int = 2,
        special_tokens: "Sequence[str | AddedToken]" = ("<unk>",),
        limit_alphabet: int = 1000,
        initial_alphabet: Sequence[str] = (),
        show_progress: bool = True,
        length: int | None = None,
    ) -> None:
        """Train on texts."""
        self._train(
            iterator,
            [],
            vocab_size=vocab_size,
            min_frequency=min_frequency,
            special_tokens=special_tokens,
            limit_alphabet=limit_alphabet,
            initial_alphabet=initial_alphabet,
        )


class BertWordPieceTokenizer(NotBpe):
    """A WordPiece tokenizer; merganser does not have it."""

    __slots__ = ()


class SentencePieceUnigramTokenizer(NotBpe):
    """A Unigram tokenizer; merganser does not have it."""

    __slots__ = ()
