"""Training: count the pre-tokens of a corpus, and learn a tokenizer from the counts."""

from merganser.training.counting import count, counted
from merganser.training.training import TIE_BREAKS, TieBreak, train

__all__ = ["TIE_BREAKS", "TieBreak", "count", "counted", "train"]
