"""Train a tokenizer on a corpus or on its counts.

With a `work_dir`, the merges are logged every `checkpoint_every` seconds and when training is interrupted.
The same call resumes from there and returns the identical tokenizer.
"""

import json
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Literal

from merganser import _core
from merganser.corpus import Source
from merganser.corpus.read_options import ReadKeywords
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.counts import Counts, CountsFile
from merganser.counts.counts import empty
from merganser.engines.arguments import as_int, check_names
from merganser.engines.local import Local, Merging, ProgressCallback
from merganser.engines.ray import Ray
from merganser.errors import CorpusError, CountsError, MerganserWarning, SettingsError
from merganser.tokenizer import Tokenizer
from merganser.training import normalizing
from merganser.training.characters import Characters, train_characters
from merganser.training.counting import counted, counted_in_order

if TYPE_CHECKING:
    from typing_extensions import Unpack

TieBreak = Literal["ids", "huggingface", "bytes", "sentencepiece", "first"]
TIE_BREAKS: tuple[TieBreak, ...] = ("ids", "huggingface", "bytes", "sentencepiece", "first")
#: What merging starts from.
Unit = Literal["bytes", "characters"] | Characters


def train(
    corpus_or_counts: Source | Counts,
    vocab_size: int,
    *,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    tie_break: TieBreak | None = None,
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    max_token_length: int | None = None,
    min_pretoken_count: int = 1,
    certify: bool = True,
    base: Tokenizer | None = None,
    special_tokens_extra: bool = False,
    unit: Unit = "bytes",
    normalizer: str | None = None,
    buffer_size: int = 8192,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    separator: Separator = ...,
    **reading: "Unpack[ReadKeywords]",
) -> Tokenizer:
    """Train a BPE tokenizer, on bytes or on characters.

    The vocabulary consists of the 256 bytes, the merges and the special tokens, whose ids follow the merges;
    or of special tokens, characters and merges.

    Parameters
    ----------
    corpus_or_counts : path, URL, iterable, dataset or Counts
        The corpus (see `merganser.corpus`), or counts of one.
    vocab_size : int
        The size of the vocabulary, including bytes and special tokens; without new special tokens if
        `special_tokens_extra` is set.
    pattern, special_tokens, separator
        As in `merganser.count`. If not given, they are taken from the counts or the base. They must not
        contradict the counts. Special tokens get ids in the order given.
    tie_break : {"ids", "huggingface", "bytes", "sentencepiece", "first"}
        Which of several equally frequent pairs is merged first: the one with the smallest ids, as in rustbpe;
        as in Hugging Face tokenizers; the one with the greatest bytes, as in the CS336 course; the one with
        the fewest characters and then the smallest bytes, as in SentencePiece; or the one that occurs first
        in the corpus, as in minbpe. "sentencepiece" is the default for characters marked by "▁", "ids"
        otherwise. "first" needs the text itself and not counts of it, and trains on one thread and in memory.
    min_frequency : int
        The number of times that a pair must occur to be merged. 0 means 1, as in Hugging Face tokenizers.
    max_token_bytes : int, optional
        The maximum length of a token; unlimited by default.
    max_token_length : int, optional
        The limit of Hugging Face's `BpeTrainer`, which is exclusive, except that two bytes may always be
        merged: `max_token_length=n` is the same as `max_token_bytes=max(2, n - 1)`.
    min_pretoken_count : int
        Drop pre-tokens that occur fewer times. This saves memory but may change merges: the "proven_merges"
        of `tokenizer.training` is the number of merges, from the first, that are proven to equal those of
        training on all pre-tokens.
    certify : bool
        Whether to compute that proof if pre-tokens were dropped. It is usually quick, but takes up to three
        times as long as training on all pre-tokens if nearly all merges can be proven.
    base : Tokenizer, optional
        A tokenizer to extend. All its ids are kept, including special tokens; new merges and then new special
        tokens follow its highest id.
    special_tokens_extra : bool
        Whether new special tokens come on top of `vocab_size`, so that it is the number of bytes and merges
        and the id of the first special token.
    unit : {"bytes", "characters"} or Characters
        What merging starts from. `merganser.Characters` has the options of character-level training, such as
        `character_coverage` and `byte_fallback`; "characters" means its defaults.
    normalizer : str, optional
        How text is normalized before it is split, in training and by the tokenizer: "nfc", "nfd", "nfkc",
        "nfkd", "lowercase", "nfc+lowercase" or "nfkc+lowercase". `pattern` must then be a preset. Characters
        marked by "▁" have SentencePiece's rules instead: "identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf" and
        "nfkc_cf", which need that library.
    buffer_size : int
        The number of documents to pull from an iterable at a time.
    engine : Local or Ray, optional
        The threads, memory budget and work folder, or a cluster.
    progress : callable, optional
        Called with the stage ("count", "merge", "certify"), the amount done, and the total or 0 if unknown.
        An exception in it stops the run.
    **reading
        The fields of `merganser.ReadOptions`, such as `text_key` and `on_error`.

    Returns
    -------
    Tokenizer
        The same for any engine, number of threads and memory budget.

    Raises
    ------
    CorpusError
        If the corpus is missing, unreadable or empty.
    CountsError
        If the settings contradict the counts, or a counts file is corrupt.
    CheckpointError
        If `work_dir` belongs to a different training, or is in use.
    SettingsError
        If a setting is out of range, or `vocab_size` is too small.
    PatternError
        If the pattern is invalid.
    WriteError
        If the work folder cannot be written.

    Warns
    -----
    MerganserWarning
        If no pair is left to merge before `vocab_size` is reached, so the vocabulary is smaller.

    Examples
    --------
    >>> train(["aaab" * 3], 258).merges
    [(b'a', b'a'), (b'a', b'b')]

    Count once, and train several tokenizers:

    >>> import merganser
    >>> counts = merganser.count(["low lower lowest"] * 9)
    >>> [merganser.train(counts, size).vocab_size for size in (258, 260)]
    [258, 260]

    Learn 258 tokens, with the special tokens above them:

    >>> larger = train(["low low"] * 9, 258, special_tokens=["<s>"], special_tokens_extra=True)
    >>> larger.special_tokens, larger.vocab_size
    ({'<s>': 258}, 259)
    """
    check_names(train, reading)
    vocab_size = as_int(vocab_size, "vocab_size")
    if max_token_length is not None and max_token_bytes is not None:
        raise SettingsError(
            "max_token_bytes and max_token_length are two limits of the same length; pass one of them"
        )
    options = _checked_unit(unit, base, max_token_bytes, min_pretoken_count, special_tokens_extra)
    if max_token_length is not None:
        if options:
            raise SettingsError(
                "max_token_length is for training on bytes; limit characters with "
                "unit=Characters(max_token_characters=…)"
            )
        max_token_bytes = _longest_token(max_token_length)
    tie_break = tie_break or ("sentencepiece" if options and options.word_mark == "▁" else "ids")
    _check_rules(tie_break, min_frequency, max_token_bytes, min_pretoken_count)
    min_frequency = max(min_frequency, 1)
    engine = engine or Local()
    if tie_break == "first":
        _check_in_order(corpus_or_counts, engine, options, normalizer, min_pretoken_count)
    engine.check()
    if options:
        return _trained_on_characters(
            corpus_or_counts,
            vocab_size,
            options,
            normalizer,
            pattern,
            tuple(special_tokens or ()),
            tie_break,
            min_frequency,
            buffer_size,
            engine,
            progress,
            separator,
            reading,
        )
    behind = normalizing.stage(normalizer) if normalizer else None
    if behind:
        if base or min_pretoken_count > 1:
            raise SettingsError("a normalizer cannot be combined with base or min_pretoken_count; omit them")
        normalizing.check_pattern(pattern or SplitSettings().pattern)
    pattern, special_tokens = _following_base(base, pattern, special_tokens, corpus_or_counts)
    # Fail now rather than after an hour of counting.
    _room_for_merges(vocab_size, base, special_tokens or (), special_tokens_extra)
    counting = normalizing.CHUNK if behind else pattern
    with _counts_of(
        corpus_or_counts,
        counting,
        special_tokens,
        separator,
        engine,
        progress,
        buffer_size,
        reading,
        in_order=tie_break == "first",
    ) as counts:
        if base:
            _check_goes_on_from(base, counts)
        merges, vocab_size = _room_for_merges(vocab_size, base, counts.special_tokens, special_tokens_extra)
        specials = counts.special_tokens if special_tokens is None else special_tokens
        if progress:
            progress("merge", 0, merges)  # immediately, so that rates and remaining times are right
        trained = _core.train(
            counts.path if isinstance(counts, CountsFile) else counts._native,
            merges,
            list(specials),
            normalizer=json.dumps(behind) if behind else None,
            pattern=(pattern or SplitSettings().pattern) if behind else None,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            min_pretoken_count=min_pretoken_count,
            certify=certify,
            base=base,
            **_merging(engine, tie_break),
            progress=progress,
        )
    if not engine.keep_work:
        engine.clean()
    learned = len(trained.merge_counts)
    training = {
        "vocab_size": vocab_size - merges + learned,
        "merges": learned,
        "tie_break": tie_break,
        "min_frequency": min_frequency,
        "max_token_bytes": max_token_bytes,
        "min_pretoken_count": min_pretoken_count,
        "dropped_pretokens": trained.dropped_pretokens,
        "dropped_total": trained.dropped_total,
        "proven_merges": trained.proven_merges,
        "checked_merges": trained.checked_merges,
        **_facts(counts),
    }
    known_counts = base.merge_counts if base else {}
    tokenizer = Tokenizer._of(trained.model, {**known_counts, **trained.merge_counts}, training)
    if learned < merges:
        _warn_smaller(tokenizer.vocab_size, vocab_size, min_frequency, max_token_bytes, min_pretoken_count)
    return normalizing.with_normalizer(tokenizer, normalizer) if normalizer else tokenizer


def _trained_on_characters(
    corpus_or_counts: Source | Counts,
    vocab_size: int,
    options: Characters,
    normalizer: str | None,
    pattern: str | None,
    special_tokens: tuple[str, ...],
    tie_break: TieBreak,
    min_frequency: int,
    buffer_size: int,
    engine: Local | Ray,
    progress: ProgressCallback | None,
    separator: Separator,
    reading: ReadKeywords,
) -> Tokenizer:
    if pattern is not None and options.word_mark == "▁":
        raise SettingsError(
            "SentencePiece's kind splits at spaces only; omit pattern, or train with word_mark='</w>'"
        )
    options.check_normalizer(normalizer)
    with _counts_of(
        corpus_or_counts, options.counting_pattern, (), separator, engine, progress, buffer_size, reading
    ) as counts:
        if progress:
            progress("merge", 0, vocab_size)
        tokenizer = train_characters(
            counts,
            vocab_size,
            options,
            normalizer=normalizer,
            pattern=pattern,
            special_tokens=special_tokens,
            tie_break=tie_break,
            min_frequency=min_frequency,
            merging=engine.merging(),
            progress=progress,
            facts=_facts(counts),
        )
    if not engine.keep_work:
        engine.clean()
    if tokenizer.vocab_size < vocab_size:
        _warn_smaller(tokenizer.vocab_size, vocab_size, min_frequency, None, 1)
    return tokenizer


def _checked_unit(
    unit: Unit,
    base: Tokenizer | None,
    max_token_bytes: int | None,
    min_pretoken_count: int,
    special_tokens_extra: bool,
) -> Characters | None:
    """Return the options for characters, or None for bytes."""
    if unit == "bytes":
        return None
    if unit != "characters" and not isinstance(unit, Characters):
        raise SettingsError(f'unit must be "bytes", "characters" or a merganser.Characters, got {unit!r}')
    options = Characters() if unit == "characters" else unit
    options.check()
    for given, name in (
        (base, "base"),
        (max_token_bytes, "max_token_bytes"),
        (min_pretoken_count > 1, "min_pretoken_count"),
        (special_tokens_extra, "special_tokens_extra"),
    ):
        if given:
            raise SettingsError(f'{name} is for training on bytes; omit it, or train with unit="bytes"')
    return options


@contextmanager
def _counts_of(
    corpus_or_counts: Source | Counts,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    separator: Separator,
    engine: Local | Ray,
    progress: ProgressCallback | None,
    buffer_size: int,
    reading: ReadKeywords,
    in_order: bool = False,
) -> Iterator[Counts | CountsFile]:
    """Yield the counts to train on, which must not be empty; `in_order` of first occurrence on request."""
    with ExitStack() as stack:
        counts: Counts | CountsFile
        if in_order:
            assert isinstance(engine, Local) and not isinstance(corpus_or_counts, Counts)  # checked before
            counts = counted_in_order(
                corpus_or_counts,
                pattern,
                special_tokens,
                separator,
                engine,
                progress,
                buffer_size,
                reading,
            )
        elif isinstance(corpus_or_counts, Counts):
            counts = corpus_or_counts
            requested = counts.settings.replaced_by(pattern, special_tokens, separator)
            if requested != counts.settings:
                counts = empty(requested) + counts  # the core reports the difference
        else:
            counting = counted(
                corpus_or_counts,
                pattern,
                special_tokens,
                separator,
                engine,
                progress,
                buffer_size,
                reading,
            )
            counts = stack.enter_context(counting)
        if len(counts) == 0:
            raise CorpusError(
                "the corpus contains no text to train on; check the path, the glob and the separator"
            )
        yield counts


def _facts(counts: Counts | CountsFile) -> dict[str, int]:
    """Return what is known about the text that was trained on."""
    return {
        "documents": counts.documents,
        "unique_pretokens": len(counts),
        "pretokens": counts.total,
        "invalid_bytes": counts.invalid_bytes,
        "skipped_records": counts.skipped.records,
        "skipped_files": counts.skipped.files,
    }


def _check_rules(
    tie_break: str, min_frequency: int, max_token_bytes: int | None, min_pretoken_count: int
) -> None:
    if tie_break not in TIE_BREAKS:
        raise SettingsError(f"tie_break must be one of {', '.join(TIE_BREAKS)}, got {tie_break!r}")
    if min_frequency < 0:
        raise SettingsError(f"min_frequency must not be negative, got {min_frequency}")
    if min_pretoken_count < 1:
        raise SettingsError(
            f"min_pretoken_count must be at least 1, which drops nothing, got {min_pretoken_count}"
        )
    if max_token_bytes is not None and max_token_bytes < 1:
        raise SettingsError(
            f"max_token_bytes must be at least 1, or None for no limit, got {max_token_bytes}"
        )


def _longest_token(max_token_length: int) -> int:
    """Return the inclusive limit that equals Hugging Face's exclusive one.

    Its trainer counts a pair that a merge has created only if the two together are shorter than the limit.
    The pairs of single characters that it begins with are not compared with it.
    """
    limit = as_int(max_token_length, "max_token_length")
    if limit < 0:
        raise SettingsError(f"max_token_length must not be negative, or None for no limit, got {limit}")
    return max(2, limit - 1)


def _check_in_order(
    corpus_or_counts: Source | Counts,
    engine: Local | Ray,
    options: Characters | None,
    normalizer: str | None,
    min_pretoken_count: int,
) -> None:
    """Raise an error if the order of the corpus, which `tie_break="first"` needs, would not be known."""
    if isinstance(corpus_or_counts, Counts | CountsFile):
        raise CountsError(
            'counts are not in the order of the text that tie_break="first" needs; pass the corpus itself, '
            "or choose another tie_break"
        )
    if isinstance(engine, Ray) or engine.memory is not None:
        raise SettingsError(
            'tie_break="first" keeps all pre-tokens in memory, in the order of the text; train with Local() '
            "and without memory, or choose another tie_break"
        )
    for given, name in (
        (options, 'unit="characters"'),
        (normalizer, "a normalizer"),
        (min_pretoken_count > 1, "min_pretoken_count"),
    ):
        if given:
            raise SettingsError(f'tie_break="first" cannot be combined with {name}; omit one of them')


def _merging(engine: Local | Ray, tie_break: TieBreak) -> Merging:
    merging = engine.merging()
    # A log is recognized by its counts, which do not tell one order of the text from another.
    return {**merging, "log": None} if tie_break == "first" else merging


def _following_base(
    base: Tokenizer | None,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    corpus_or_counts: Source | Counts,
) -> tuple[str | None, tuple[str, ...] | None]:
    """Return the pattern and special tokens, with those of the base unless counts determine them."""
    given = SplitSettings().replaced_by(pattern, special_tokens, ...).special_tokens
    if base is None:
        return pattern, None if special_tokens is None else given
    if special_tokens is None and isinstance(corpus_or_counts, Counts):
        return pattern, None
    if pattern is None and not isinstance(corpus_or_counts, Counts):
        pattern = base.pattern_name or base.pattern
    known = tuple(base.special_tokens)
    return pattern, known + tuple(token for token in given if token not in known)


def _room_for_merges(
    vocab_size: int, base: Tokenizer | None, special_tokens: Iterable[str], special_tokens_extra: bool
) -> tuple[int, int]:
    """Return the number of merges that fit into the vocabulary, and its size with all special tokens."""
    known = base.special_tokens if base else {}
    new_specials = len({token for token in special_tokens if token not in known})
    known_tokens = base.vocab_size if base else 256
    minimum = known_tokens if special_tokens_extra else known_tokens + new_specials
    if vocab_size < minimum:
        parts = f"{known_tokens} tokens of the base" if base else "256 bytes"
        if not special_tokens_extra:
            parts += f" + {new_specials} special tokens"
        raise SettingsError(f"vocab_size must be at least {minimum} ({parts}), got {vocab_size}")
    merges = vocab_size - minimum
    return merges, known_tokens + new_specials + merges


def _check_goes_on_from(base: Tokenizer, counts: Counts | CountsFile) -> None:
    if counts.pattern != base.pattern:
        raise SettingsError(
            f"the base has the pattern {base.pattern_name or base.pattern!r}, but the text was split with "
            f"{counts.pattern_name or counts.pattern!r}; train with the pattern of the base"
        )
    missing = [token for token in base.special_tokens if token not in counts.special_tokens]
    if missing:
        raise CountsError(
            f"the base has the special token {missing[0]!r}, but the text was counted without it and may "
            "contain it; count again with the special tokens of the base"
        )


def _warn_smaller(
    actual: int, requested: int, min_frequency: int, max_token_bytes: int | None, min_pretoken_count: int
) -> None:
    limits = []
    if min_frequency > 1:
        limits.append(f"min_frequency={min_frequency}")
    if max_token_bytes is not None:
        limits.append(f"max_token_bytes={max_token_bytes}")
    if min_pretoken_count > 1:
        limits.append(f"min_pretoken_count={min_pretoken_count}")
    within = f" within {' and '.join(limits)}" if limits else ""
    message = (
        f"the vocabulary has {actual} tokens instead of {requested}: no pair is left to merge{within}; "
        "train on more text for a larger vocabulary"
    )
    warnings.warn(message, MerganserWarning, stacklevel=3)
