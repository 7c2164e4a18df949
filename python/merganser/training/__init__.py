"""Count the pre-tokens of a corpus, and train a tokenizer on the counts."""

from merganser.training.characters import Characters
from merganser.training.counting import count, counted
from merganser.training.training import TIE_BREAKS, TieBreak, train

__all__ = ["TIE_BREAKS", "Characters", "TieBreak", "count", "counted", "train"]
