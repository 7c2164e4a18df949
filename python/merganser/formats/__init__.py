"""File formats of tokenizers: each module reads and writes one format, and `loading` picks the reader."""


class BadFile(Exception):
    """What is wrong with a file, worded to follow the file's name, which the caller adds."""
