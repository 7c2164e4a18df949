"""The same work as merganser's, done by other libraries."""

from collections.abc import Iterable, Iterator

import merganser
import rustbpe
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

#: A private-use character that does not occur in the corpora; it marks the end of a pre-token.
_CUT = "\ue000"


def huggingface_merges(
    counts: merganser.Counts,
    vocab_size: int,
    *,
    min_frequency: int = 1,
    max_token_length: int | None = None,
) -> list[tuple[bytes, bytes]]:
    """Return the merges that Hugging Face learns from the same pre-tokens.

    It gets the pre-tokens, not the text, because its regex engine interprets patterns differently; only
    merging is compared.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(_CUT, "removed"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        initial_alphabet=alphabet,
        show_progress=False,
        min_frequency=min_frequency,
        max_token_length=max_token_length,
    )

    def texts() -> Iterator[str]:
        for pretoken, count in counts.to_dict().items():
            text = pretoken.decode() + _CUT
            # In batches, so that no text becomes too long.
            for _ in range(count // 1000):
                yield text * 1000
            yield text * (count % 1000)

    tokenizer.train_from_iterator(texts(), trainer)
    import json

    merges = json.loads(tokenizer.to_str())["model"]["merges"]
    byte_of = _byte_of_character()
    return [tuple(bytes(byte_of[c] for c in part) for part in pair) for pair in merges]


def _byte_of_character() -> dict[str, int]:
    """Return the byte of each character in Hugging Face's alphabet; unprintable bytes start at U+0100."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(rest)}


def rustbpe_merges(texts: Iterable[str], vocab_size: int, pattern: str) -> dict[bytes, int]:
    """Return the ranks that rustbpe learns."""
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(texts), vocab_size, pattern=pattern)
    return {bytes(token): rank for token, rank in tokenizer.get_mergeable_ranks()}
