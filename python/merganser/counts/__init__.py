"""Counts: how often each pre-token occurs in a corpus, in memory or on disk."""

from merganser.counts.counts import Counts
from merganser.counts.file import CountsFile

__all__ = ["Counts", "CountsFile"]
