"""The character-level tokenizer of `merganser learn char`: `char_tokenizer.json`.

An object with a `vocabulary` of ids by token, the `merges` as pairs, and `skip_unknown`. Words are runs of
letters and digits, or single other characters; `</w>` is a symbol that follows the last character of each.
"""

from typing import Any

from merganser.formats import BadFile, gpt2
from merganser.formats.definition import SUFFIX, Definition
from merganser.formats.huggingface_definition import pairs

_END, _UNKNOWN = "</w>", "<unk>"
#: A word, as that tokenizer splits text.
_WORD = r"[\p{L}\p{N}_]+|[^\p{L}\p{N}_\s\x1c-\x1f]"


def is_char_bpe(json: dict[str, Any]) -> bool:
    """Return whether a parsed file is such a tokenizer."""
    return json.keys() >= {"vocabulary", "merges", "skip_unknown"}


def parse(json: dict[str, Any]) -> Definition:
    """Return the definition of a parsed file."""
    vocabulary = gpt2.checked_vocabulary(json["vocabulary"])
    if vocabulary.get(_UNKNOWN) is None or vocabulary.get(_END) is None:
        raise BadFile(f"is corrupt: its vocabulary lacks {_UNKNOWN} or {_END}; train it again")
    if json["skip_unknown"]:
        raise BadFile(
            "skips unknown characters after merging, which merganser does not do; train it without "
            "skip_unknown"
        )
    merges = []
    for left, right in pairs(json["merges"]):
        ids = vocabulary.get(left), vocabulary.get(right), vocabulary.get(left + right)
        if ids[0] is None or ids[1] is None or ids[2] is None:
            raise BadFile(f"is corrupt: it merges {left[:40]!r} and {right[:40]!r}, which are no tokens")
        merges.append((ids[0], ids[1], ids[2]))
    return Definition(
        tokens=[(_inner(token), id) for token, id in vocabulary.items() if token != _UNKNOWN],
        merges=merges,
        unit="characters",
        decode_only=[(_UNKNOWN.encode(), vocabulary[_UNKNOWN])],
        unknown=vocabulary[_UNKNOWN],
        suffix=True,
        suffix_text=" ",
        pre_tokenizer={
            "type": "Split",
            "pattern": {"Regex": _WORD},
            "behavior": "Removed",
            "invert": True,
        },
        decoder={"type": "BPEDecoder", "suffix": _END},
    )


def _inner(token: str) -> bytes:
    if token.endswith(_END):
        return token.removesuffix(_END).encode() + SUFFIX
    return token.encode()
