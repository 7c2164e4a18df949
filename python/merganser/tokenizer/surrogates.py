"""Lone surrogates, which a Python string can hold but no UTF-8 text can.

`Tokenizer.encode` refuses them, because they usually come from a wrong decoding. tiktoken repairs them, and
so do the modules that have its behavior.
"""


def without_surrogates(text: str) -> str:
    """Join surrogates that belong together, and replace others by U+FFFD.

    >>> without_surrogates("a\\ud83d\\udc4db\\ud83d")
    'a👍b\ufffd'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
