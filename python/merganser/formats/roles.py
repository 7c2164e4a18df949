"""Roles: the special tokens that begin, end, pad or mask a text, known by the names that people give them."""

from collections.abc import Mapping

from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer

#: The names by which a special token is known to have a role, the likeliest first.
NAMES = {
    "bos": ("<|bos|>", "<|begin_of_text|>", "<s>", "<bos>", "[BOS]"),
    "eos": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>", "<|eos|>", "[EOS]"),
    "unk": ("<|unk|>", "<unk>", "[UNK]", "<|unknown|>"),
    "sep": ("<|sep|>", "<sep>", "[SEP]"),
    "pad": ("<|pad|>", "<pad>", "[PAD]", "<|padding|>", "<|finetune_right_pad_id|>"),
    "cls": ("<|cls|>", "<cls>", "[CLS]"),
    "mask": ("<|mask|>", "<mask>", "[MASK]"),
}


def roles(tokenizer: Tokenizer) -> dict[str, str]:
    """The special tokens that have a role, by the role.

    >>> import merganser
    >>> roles(merganser.train(["low"], 259, special_tokens=["<s>", "<|end_of_text|>", "[PAD]"]))
    {'bos': '<s>', 'eos': '<|end_of_text|>', 'pad': '[PAD]'}
    """
    specials = tokenizer.special_tokens
    found = {role: next(filter(specials.__contains__, names), None) for role, names in NAMES.items()}
    return {role: name for role, name in found.items() if name is not None}


def checked(given: Mapping[str, str], tokenizer: Tokenizer) -> dict[str, str]:
    """The roles that were asked for; refuses unknown roles, and tokens that are not special."""
    for role, name in given.items():
        if role not in NAMES:
            raise SettingsError(
                f"{role!r} is not a role of a special token; the roles are {', '.join(NAMES)}"
            )
        if name not in tokenizer.special_tokens:
            known = ", ".join(tokenizer.special_tokens) or "none"
            raise SettingsError(
                f"{name!r} cannot be the {role} token, for it is not a special token of this tokenizer "
                f"({known}); name one of these, or train with it in special_tokens"
            )
    return dict(given)
