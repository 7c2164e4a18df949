"""Tokenizers to export, and the texts that their exports must encode as they do."""

import warnings

import adversarial
import merganser
from strategies import CUSTOM_PATTERNS, PRESETS

_TEXT = (
    "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍\n!!!! "
    * 3
)


def _trained(pattern: str) -> merganser.Tokenizer:
    with warnings.catch_warnings():
        # A pattern that takes single characters leaves little to merge.
        warnings.simplefilter("ignore", merganser.MerganserWarning)
        return merganser.train([_TEXT], 300, pattern=pattern, special_tokens=["<s>", "</s>"])


#: Every preset, and patterns that nobody knows; some leave text unmatched.
TRAINED = {pattern: _trained(pattern) for pattern in PRESETS + CUSTOM_PATTERNS}
#: Shorter than they are for us: the peers are slow, and some of them panic.
ADVERSARIAL = {name: text[:20_000] for name, text in adversarial.TEXTS.items()} | {
    "all code points": adversarial.TEXTS["every code point"]
}
