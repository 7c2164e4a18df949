"""The unique pre-tokens of a corpus and how often each occurs, in memory or on disk."""

from merganser.counts.counts import Counts
from merganser.counts.file import CountsFile

__all__ = ["Counts", "CountsFile"]
