"""Formats: a file or two each, read and write side by side. `merganser.load` finds out which one it is."""


class BadFile(Exception):
    """What is wrong with a file; the caller knows its name."""
