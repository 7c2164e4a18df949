"""Tokenizers to export, and texts for which every export must produce the same ids."""

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
        # A pattern that matches single characters leaves few pairs to merge.
        warnings.simplefilter("ignore", merganser.MerganserWarning)
        return merganser.train([_TEXT], 300, pattern=pattern, special_tokens=["<s>", "</s>"])


#: Every preset, and custom patterns; some leave text unmatched.
TRAINED = {pattern: _trained(pattern) for pattern in PRESETS + CUSTOM_PATTERNS}
#: Shorter than in our own tests, because the peers are slow and some of them panic.
ADVERSARIAL = {name: text[:20_000] for name, text in adversarial.TEXTS.items()} | {
    "all code points": adversarial.TEXTS["every code point"]
}
