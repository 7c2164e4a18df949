"""A Hugging Face `tokenizer.json` of any BPE kind as a `Definition`.

tokenizers 0.23 decides what a file means where it is not plain: of a merge listed twice, the last rank
counts; the id of an added token is the one in the vocabulary, or the next free one, and not the one in the
file.
"""

import warnings
from collections.abc import Iterator
from typing import Any

from merganser.errors import MerganserWarning
from merganser.formats import BadFile, gpt2, native, stages
from merganser.formats.definition import FLAGS, PREFIX, SUFFIX, Definition, added_token
from merganser.formats.stages import SPACE_SYMBOL, Stage

_SYMBOL = SPACE_SYMBOL.encode()


def definition(config: dict[str, Any], model: dict[str, Any]) -> Definition:
    """Return the definition of a parsed file and its model."""
    vocab = gpt2.checked_vocabulary(model.get("vocab"))
    if len(set(vocab.values())) < len(vocab):
        raise BadFile("is corrupt: it gives one id to both of two tokens; get a fresh copy")
    added = added_tokens(config.get("added_tokens") or [], vocab)
    normalizers = stages.flattened(config.get("normalizer"), "normalizer")
    pre_tokenizers = stages.flattened(config.get("pre_tokenizer"), "pre_tokenizer")
    decoders = stages.flattened(config.get("decoder"), "decoder")
    added = stages.added_after_normalizing(added, normalizers)
    normalizers, pre_tokenizers = stages.bytes_after_normalizing(normalizers, pre_tokenizers)
    byte_level = stages.has(pre_tokenizers, "ByteLevel")
    spaces = None if byte_level else stages.with_spaces(normalizers, pre_tokenizers, decoders, added)
    if spaces:
        normalizers, pre_tokenizers, decoders = spaces
    spelling = _Spelling(
        byte_level,
        bool(spaces),
        _text(model, "end_of_word_suffix"),
        _text(model, "continuing_subword_prefix"),
    )
    byte_tokens = _byte_tokens(vocab, byte_level) if model.get("byte_fallback") else None
    merges = _merges(model.get("merges"), vocab, len(spelling.prefix))
    tokens, decode_only = _tokens(
        vocab, spelling, merges, bool(model.get("ignore_merges")), byte_tokens, added
    )
    if not byte_level or stages.has(decoders, "ByteLevel"):
        decode_only += _decoded_otherwise(added, spelling)
    if not byte_level and not spaces and stages.shows_spaces(decoders):
        # Inner tokens keep their `▁`, and decode to spaces.
        listed = {id for _, id in decode_only}
        decode_only = [(token.replace(_SYMBOL, b" "), id) for token, id in decode_only]
        decode_only += [
            (token.replace(_SYMBOL, b" "), id)
            for token, id in tokens
            if _SYMBOL in token and id not in listed
        ]
    known = {id for _, id in tokens} | {id for id in byte_tokens or () if id is not None}
    return Definition(
        tokens=tokens,
        merges=[merge for merge in merges if known.issuperset(merge)],
        unit="bytes" if byte_level else "characters",
        byte_tokens=byte_tokens,
        decode_only=decode_only,
        unknown=_unknown(model, vocab, byte_level),
        fuse_unknown=bool(model.get("fuse_unk")),
        ignore_merges=bool(model.get("ignore_merges")),
        suffix=bool(spelling.suffix),
        prefix=bool(spelling.prefix),
        suffix_text=stages.decoded_suffix(decoders, spelling.suffix),
        prefix_text=" " if spelling.prefix else "",
        added_tokens=added,
        normalizer=stages.sequence(normalizers, "normalizer"),
        pre_tokenizer=stages.sequence(pre_tokenizers, "pre_tokenizer"),
        post_processor=_post_processor(config.get("post_processor")),
        decoder=stages.sequence(stages.without_prefixes(decoders, spelling.prefix), "decoder"),
    )


_POST_PROCESSORS = ("ByteLevel", "TemplateProcessing", "RobertaProcessing", "BertProcessing")


def _post_processor(stage: object) -> Stage | None:
    parts = stages.flattened(stage, "post_processor")
    if unknown := next((part["type"] for part in parts if part["type"] not in _POST_PROCESSORS), None):
        raise BadFile(
            f"cannot be represented: its post-processor {unknown[:40]!r} is not known; load it with Hugging "
            "Face's tokenizers"
        )
    stages.around_text_of(stage)
    return stages.sequence(parts, "post_processor")


def _text(model: dict[str, Any], name: str) -> str:
    value = model.get(name) or ""
    if not isinstance(value, str):
        raise BadFile(f"is corrupt: its {name} is not a string; get a fresh copy")
    return value


class _Spelling:
    """How tokens of the file are spelled, and their inner bytes."""

    def __init__(self, byte_level: bool, spaces: bool, suffix: str, prefix: str) -> None:
        self.byte_level, self.spaces, self.suffix, self.prefix = byte_level, spaces, suffix, prefix

    def inner(self, token: str) -> bytes | None:
        """Return the inner bytes of a token, or None for one that no text can contain."""
        start = end = b""
        if self.prefix:
            start = b"" if token.startswith(self.prefix) else PREFIX
            token = token.removeprefix(self.prefix)
        if self.suffix and token.endswith(self.suffix):
            end = SUFFIX
            token = token.removesuffix(self.suffix)
        if self.byte_level:
            try:
                inner = gpt2.from_printable(token)
            except KeyError:
                return None
            if (self.suffix or self.prefix) and (PREFIX in inner or SUFFIX in inner):
                return None
        elif self.spaces and " " in token:
            return None
        else:
            inner = (token.replace(SPACE_SYMBOL, " ") if self.spaces else token).encode()
        return start + inner + end if inner else None

    def decoded(self, token: str) -> bytes:
        """Return the bytes that the decoder turns a token into, whether or not text is encoded to it."""
        if self.prefix:  # a space comes before every word
            within = token.startswith(self.prefix)
            return token[len(self.prefix) :].encode() if within else b" " + token.encode()
        if self.byte_level:
            return gpt2.decoded(token)
        return (token.replace(SPACE_SYMBOL, " ") if self.spaces else token).encode()

    def is_unit(self, inner: bytes) -> bool:
        """Return whether a token is one of the units that merging starts with."""
        unit = inner.removeprefix(PREFIX) if self.prefix else inner
        unit = unit.removesuffix(SUFFIX) if self.suffix else unit
        return len(unit) == 1 if self.byte_level else len(unit.decode()) == 1


def _tokens(
    vocab: dict[str, int],
    spelling: _Spelling,
    merges: list[tuple[int, int, int]],
    ignore_merges: bool,
    byte_tokens: list[int | None] | None,
    added: list[Stage],
) -> tuple[list[tuple[bytes, int]], list[tuple[bytes, int]]]:
    """Return the tokens that text can be encoded to, and the others unless they are added tokens."""
    merged = {id for _, _, id in merges}
    elsewhere = {token["id"] for token in added} | {id for id in byte_tokens or () if id is not None}
    tokens, decode_only = [], []
    for token, id in vocab.items():
        inner = spelling.inner(token)
        if (
            inner
            and (ignore_merges or id in merged or spelling.is_unit(inner))
            and not (byte_tokens and _byte(token) is not None)
        ):
            tokens.append((inner, id))
        elif id not in elsewhere:
            decode_only.append((spelling.decoded(token), id))
    return tokens, decode_only


def _decoded_otherwise(added: list[Stage], spelling: _Spelling) -> list[tuple[bytes, int]]:
    """Return the added tokens that do not decode to their content: the decoder treats them as any other."""
    decoded = ((spelling.decoded(token["content"]), token) for token in added)
    return [(text, token["id"]) for text, token in decoded if text != token["content"].encode()]


def is_byte(token: str) -> bool:
    """Return whether a token stands for a byte, such as `<0x0A>`."""
    return _byte(token) is not None


def _byte(token: str) -> int | None:
    """Return the byte of a token such as `<0x0A>`; None for any other token."""
    if len(token) == 6 and token.startswith("<0x") and token.endswith(">"):
        digits = token[3:5]
        if all(digit in "0123456789ABCDEF" for digit in digits):
            return int(digits, 16)
    return None


def _byte_tokens(vocab: dict[str, int], byte_level: bool) -> list[int | None]:
    ids = [vocab.get(f"<0x{byte:02X}>") for byte in range(256)]
    for byte in range(256) if byte_level else ():
        spelled = gpt2.to_printable(bytes([byte]))
        if spelled in vocab or spelled.isascii():
            continue
        # The library falls back to the bytes of the character that spells this one.
        if all(ids[part] is not None for part in spelled.encode()):
            raise BadFile(
                f"cannot be represented: its stages spell the byte {byte} as {spelled!r}, which is no token, "
                "and byte_fallback spells it once more; set byte_fallback to false"
            )
        ids[byte] = None
    return ids


def _unknown(model: dict[str, Any], vocab: dict[str, int], byte_level: bool) -> int | None:
    name = _text(model, "unk_token")
    id = vocab.get(name) if name else None
    if name and id is None and not byte_level:
        raise BadFile(
            f"is corrupt: its unk_token {name!r} is not in the vocabulary; add it, or get a fresh copy"
        )
    return id


def _merges(listed: object, vocab: dict[str, int], prefix: int) -> list[tuple[int, int, int]]:
    """Return the merges as ids; of a merge listed twice, the last."""
    merges: dict[tuple[int, int], int] = {}
    for left, right in pairs(listed):
        ids = vocab.get(left), vocab.get(right), vocab.get(left + right[prefix:])
        if ids[0] is None or ids[1] is None or ids[2] is None:
            raise BadFile(
                f"is corrupt: it merges {left[:40]!r} and {right[:40]!r}, but these or their concatenation "
                "are not tokens; get a fresh copy"
            )
        pair = ids[0], ids[1]
        merges.pop(pair, None)
        merges[pair] = ids[2]
    return [(left, right, merged) for (left, right), merged in merges.items()]


def pairs(listed: object) -> Iterator[tuple[str, str]]:
    """Yield merges: pairs of tokens, or strings of two, as older files have them."""
    for merge in checked_list(listed, "merges"):
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if isinstance(merge, str) and merge.startswith("#version"):
            continue
        if (
            not isinstance(parts, list | tuple)
            or len(parts) != 2
            or not all(isinstance(part, str) for part in parts)
        ):
            raise BadFile("is corrupt: one of its merges is not two tokens; get a fresh copy")
        yield parts[0], parts[1]


def checked_list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > native.MAX_TOKENS:
        raise BadFile(
            f"is corrupt: its {what} are not a list of at most {native.MAX_TOKENS}; get a fresh copy"
        )
    return value


def added_tokens(listed: object, vocab: dict[str, int]) -> list[Stage]:
    """Return the added tokens with the ids that the library gives them."""
    added: dict[str, Stage] = {}
    taken = set(vocab.values())
    highest, moved = -1, []
    for token in checked_list(listed, "added tokens"):
        named = isinstance(token, dict) and isinstance(token.get("content"), str)
        if not named or type(token.get("id")) is not int:
            raise BadFile("is corrupt: its added tokens do not each have a name and an id; get a fresh copy")
        name = token["content"]
        if not name:  # ignored by the library as well
            continue
        flags = {flag: bool(token.get(flag)) for flag in FLAGS}
        if name in added:
            if added[name] == added_token(name, added[name]["id"], **flags):
                continue
            raise BadFile(f"is ambiguous: it lists its added token {name[:40]!r} twice; remove one of them")
        id = vocab.get(name, max(highest + 1, len(vocab)))
        if name not in vocab and id in taken:
            raise BadFile(
                f"is ambiguous: its added token {name[:40]!r} gets the id {id}, which another token has; add "
                "it to the vocabulary with an id of its own"
            )
        if id != token["id"]:
            moved.append((name, token["id"], id))
        if name not in vocab:  # the others do not count for the next id
            highest = max(highest, id)
        added[name] = added_token(name, id, **flags)
    if moved:
        name, given, id = moved[0]
        warnings.warn(
            f"{len(moved)} added tokens have other ids than the file says, the first of them {name!r}: {id} "
            f"instead of {given}; Hugging Face's library gives them these ids too",
            MerganserWarning,
            stacklevel=2,
        )
    return list(added.values())
