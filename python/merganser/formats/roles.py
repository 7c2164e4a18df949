"""Roles of special tokens (bos, eos, pad, …), recognized by their conventional names."""

from collections.abc import Mapping

from merganser.errors import SettingsError
from merganser.tokenizer import Tokenizer

#: Conventional names of the special token for each role, in order of preference.
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
    """Return the special tokens with a conventional name, by role.

    >>> import merganser
    >>> roles(merganser.train(["low"], 259, special_tokens=["<s>", "<|end_of_text|>", "[PAD]"]))
    {'bos': '<s>', 'eos': '<|end_of_text|>', 'pad': '[PAD]'}
    """
    specials = tokenizer.special_tokens
    found = {role: next(filter(specials.__contains__, names), None) for role, names in NAMES.items()}
    return {role: name for role, name in found.items() if name is not None}


def check_roles(roles: Mapping[str, str], tokenizer: Tokenizer) -> None:
    """Raise a `SettingsError` for an unknown role, or a role whose token is not special."""
    for role, name in roles.items():
        if role not in NAMES:
            raise SettingsError(f"{role!r} is not a role of a special token; use one of {', '.join(NAMES)}")
        if name not in tokenizer.special_tokens:
            known = ", ".join(tokenizer.special_tokens) or "none"
            raise SettingsError(
                f"{name!r} cannot be the {role} token because it is not a special token of this tokenizer; "
                f"use one of its special tokens ({known}), or train with {name!r} in special_tokens"
            )
