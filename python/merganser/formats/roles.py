"""Roles: the special tokens that begin and end a text, known by the names that people give them."""

from merganser.tokenizer import Tokenizer

NAMES = {
    "bos": ("<|bos|>", "<|begin_of_text|>", "<s>", "<bos>"),
    "eos": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"),
}


def roles(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens that have a role, by the role.

    >>> import merganser
    >>> roles(merganser.train(["low"], 258, special_tokens=["<s>", "<|end_of_text|>"]))
    {'bos': '<s>', 'eos': '<|end_of_text|>'}
    """
    specials = tokenizer.special_tokens
    found = {role: next(filter(specials.__contains__, names), None) for role, names in NAMES.items()}
    return {role: name for role, name in found.items() if name is not None}
