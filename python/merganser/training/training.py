"""Train: a corpus, or counts of one, becomes a tokenizer.

In an engine's `work_dir` a training keeps its merges in a log, written every `checkpoint_every` seconds and
when it is stopped. Started again in the same way it goes on from there, to the identical tokenizer.
"""

import warnings
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal

from merganser import _core
from merganser.corpus import Source
from merganser.corpus.read_options import ReadKeywords
from merganser.corpus.split_settings import Separator, SplitSettings
from merganser.counts import Counts, CountsFile
from merganser.counts.counts import empty
from merganser.engines.arguments import as_int, check_names
from merganser.engines.local import Local, ProgressCallback
from merganser.engines.ray import Ray
from merganser.errors import CorpusError, CountsError, MerganserWarning, SettingsError
from merganser.tokenizer import Tokenizer
from merganser.training.counting import counted

if TYPE_CHECKING:
    from typing_extensions import Unpack

TieBreak = Literal["ids", "huggingface", "bytes"]
TIE_BREAKS: tuple[TieBreak, ...] = ("ids", "huggingface", "bytes")


def train(
    corpus_or_counts: Source | Counts,
    vocab_size: int,
    *,
    pattern: str | None = None,
    special_tokens: Iterable[str] | None = None,
    tie_break: TieBreak = "ids",
    min_frequency: int = 1,
    max_token_bytes: int | None = None,
    min_pretoken_count: int = 1,
    certify: bool = True,
    base: Tokenizer | None = None,
    buffer_size: int = 8192,
    engine: Local | Ray | None = None,
    progress: ProgressCallback | None = None,
    separator: Separator = ...,
    **reading: "Unpack[ReadKeywords]",
) -> Tokenizer:
    """Learns a vocabulary of `vocab_size` tokens: the 256 bytes, the merges and the special tokens.

    corpus_or_counts: see `merganser.corpus` for what a corpus can be.
    pattern, special_tokens, separator: as in `merganser.count`. Where they are not given they follow the
        counts or the base; given otherwise than the counts have them, they are an error. The ids of special
        tokens follow the merges, in the order given here, or in that of the counts.
    tie_break: which of several equally frequent pairs comes first: "ids", the smallest ids, as rustbpe;
        "huggingface", as Hugging Face tokenizers; "bytes", the greatest bytes, as the CS336 course.
    min_frequency: pairs seen less often are not merged. max_token_bytes: the longest token that may be made.
    min_pretoken_count: pre-tokens seen less often are dropped before training, which saves memory and may
    change
        merges. `tokenizer.training` says what was dropped, and as "proven_merges" how many of the first
        merges are proven to be those of all pre-tokens; from there on they are only likely.
    certify: False saves the time of that proof: little as a rule, but three times that of training on all
        pre-tokens where nearly all merges can be proven.
    base: a tokenizer to go on from. Every id that it has stays, special tokens included; new merges follow
        its highest id, and new special tokens follow them.
    buffer_size: how many documents of an iterable are handed over at a time.
    engine: threads, memory and where to keep work, `Local(...)`; or a cluster, `Ray(...)`.
    progress: called with the stage ("count", "merge", "certify"), what is done and the total (0 where it is
        not known); an exception in it stops the work.
    text_key, on_error, max_ratio, max_size, max_window, allow_binary: how files are read, see
        `merganser.ReadOptions`.

    Where the pairs run out first, the tokenizer is smaller, and a `MerganserWarning` says so.

    >>> train(["aaab" * 3], 258).merges
    [(b'a', b'a'), (b'a', b'b')]
    """
    check_names(train, reading)
    vocab_size = as_int(vocab_size, "vocab_size")
    _check_rules(tie_break, min_frequency, max_token_bytes, min_pretoken_count)
    engine = engine or Local()
    engine.check()
    pattern, special_tokens = _following_base(base, pattern, special_tokens, corpus_or_counts)
    # Found out now rather than after an hour of counting.
    _room_for_merges(vocab_size, base, special_tokens or ())
    with ExitStack() as stack:
        counts: Counts | CountsFile
        if isinstance(corpus_or_counts, Counts):
            counts = corpus_or_counts
            asked = counts.settings.replaced_by(pattern, special_tokens, separator)
            if asked != counts.settings:
                counts = empty(asked) + counts  # the core says what differs
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
                "the corpus holds no text to learn from; check the path, the glob and the separator"
            )
        if base:
            _check_goes_on_from(base, counts)
        merges = _room_for_merges(vocab_size, base, counts.special_tokens)
        known = base.special_tokens if base else {}
        specials = counts.special_tokens if special_tokens is None else special_tokens
        new_specials = [token for token in specials if token not in known]
        if progress:
            progress("merge", 0, merges)  # at once, so that a watcher's clock is right
        model, seen, dropped, certificate = _core.train(
            counts.path if isinstance(counts, CountsFile) else counts._native,
            merges,
            new_specials,
            tie_break=tie_break,
            min_frequency=min_frequency,
            max_token_bytes=max_token_bytes,
            min_pretoken_count=min_pretoken_count,
            certify=certify and min_pretoken_count > 1,
            base=base,
            **engine.merging(),
            progress=progress,
        )
    if not engine.keep_work:
        engine.clean()
    first_id = base.next_id if base else 256
    merge_counts = dict(base.merge_counts) if base else {}
    merge_counts |= {first_id + nth: times for nth, times in enumerate(seen)}
    training = {
        "vocab_size": (base.vocab_size if base else 256) + len(seen) + len(new_specials),
        "merges": len(seen),
        "tie_break": tie_break,
        "min_frequency": min_frequency,
        "max_token_bytes": max_token_bytes,
        **_pruning(min_pretoken_count, len(seen), dropped, certificate),
        "documents": counts.documents,
        "unique_pretokens": len(counts),
        "pretokens": counts.total,
        "invalid_bytes": counts.invalid_bytes,
        "skipped_records": counts.skipped.records,
        "skipped_files": counts.skipped.files,
    }
    tokenizer = Tokenizer._of(model, merge_counts, training)
    if len(seen) < merges:
        _warn_smaller(tokenizer.vocab_size, vocab_size, min_frequency, max_token_bytes, min_pretoken_count)
    return tokenizer


def _pruning(
    min_pretoken_count: int, merges: int, dropped: tuple[int, int], certificate: tuple[int, int] | None
) -> dict[str, Any]:
    """What was dropped, and which merges that cannot have changed; None where nobody looked."""
    dropped_pretokens, dropped_total = dropped
    if not dropped_pretokens:
        certificate = (merges, merges)
    proven, checked = certificate or (None, None)
    return {
        "min_pretoken_count": min_pretoken_count,
        "dropped_pretokens": dropped_pretokens,
        "dropped_total": dropped_total,
        "proven_merges": proven,
        "checked_merges": checked,
    }


def _check_rules(
    tie_break: str, min_frequency: int, max_token_bytes: int | None, min_pretoken_count: int
) -> None:
    if tie_break not in TIE_BREAKS:
        raise SettingsError(f"tie_break is one of {', '.join(TIE_BREAKS)}, not {tie_break!r}")
    if min_frequency < 1:
        raise SettingsError(f"min_frequency must be at least 1, not {min_frequency}")
    if min_pretoken_count < 1:
        raise SettingsError(
            f"min_pretoken_count must be at least 1, which drops nothing, not {min_pretoken_count}"
        )
    if max_token_bytes is not None and max_token_bytes < 1:
        raise SettingsError(
            f"max_token_bytes must be at least 1, or None for no limit, not {max_token_bytes}"
        )


def _following_base(
    base: Tokenizer | None,
    pattern: str | None,
    special_tokens: Iterable[str] | None,
    corpus_or_counts: Source | Counts,
) -> tuple[str | None, tuple[str, ...] | None]:
    """Pattern and special tokens with those of the base, unless counts decide."""
    given = SplitSettings().replaced_by(pattern, special_tokens, ...).special_tokens
    if base is None:
        return pattern, None if special_tokens is None else given
    if special_tokens is None and isinstance(corpus_or_counts, Counts):
        return pattern, None
    if pattern is None and not isinstance(corpus_or_counts, Counts):
        pattern = base.pattern_name or base.pattern
    known = tuple(base.special_tokens)
    return pattern, known + tuple(token for token in given if token not in known)


def _room_for_merges(vocab_size: int, base: Tokenizer | None, special_tokens: Iterable[str]) -> int:
    """How many merges fit beside what must be in the vocabulary."""
    known = base.special_tokens if base else {}
    new_specials = len({token for token in special_tokens if token not in known})
    least = (base.vocab_size if base else 256) + new_specials
    if vocab_size < least:
        what = "all of the base" if base else "the 256 bytes"
        raise SettingsError(
            f"a vocabulary of {vocab_size} has no room for {what} and {new_specials} new special tokens; "
            f"ask for at least {least}"
        )
    return vocab_size - least


def _check_goes_on_from(base: Tokenizer, counts: Counts | CountsFile) -> None:
    if counts.pattern != base.pattern:
        raise SettingsError(
            f"the base splits text with {base.pattern_name or base.pattern!r}, and a tokenizer has one: "
            f"train with that one, not with {counts.pattern_name or counts.pattern!r}"
        )
    missing = [token for token in base.special_tokens if token not in counts.special_tokens]
    if missing:
        raise CountsError(
            f"the base has the special token {missing[0]!r}, but these counts were made without it and may "
            "hold it as text; count again with the special tokens of the base"
        )


def _warn_smaller(
    got: int, asked: int, min_frequency: int, max_token_bytes: int | None, min_pretoken_count: int
) -> None:
    limits = []
    if min_frequency > 1:
        limits.append(f"min_frequency={min_frequency}")
    if max_token_bytes is not None:
        limits.append(f"max_token_bytes={max_token_bytes}")
    if min_pretoken_count > 1:
        limits.append(f"min_pretoken_count={min_pretoken_count}")
    why = (
        f"no pair is left that {' and '.join(limits)} would let merge"
        if limits
        else "no pair is left to merge"
    )
    message = f"the vocabulary has {got} tokens, not the {asked} asked for: {why}; more text would give more"
    warnings.warn(message, MerganserWarning, stacklevel=3)
