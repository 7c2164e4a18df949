"""A vocabulary and a list of merges in memory, as CS336's assignments and Hugging Face's models have them.

If merging in the order of ids is the same as merging in the order of the list, the tokenizer is plain: it can
be trained further and exported to every format. Otherwise it keeps the list, as a `Definition`.
"""

from collections.abc import Iterable, Mapping
from typing import TypeAlias, TypeGuard

from merganser.errors import TokenizerError
from merganser.formats import BadFile, gpt2
from merganser.formats.definition import Definition, added_token
from merganser.formats.tiktoken import BYTE_LEVEL, byte_level_split
from merganser.tokenizer import Tokenizer

#: A merge: two tokens as bytes, or in GPT-2's spelling; or both in one str, with a space between.
Pair: TypeAlias = tuple[bytes, bytes] | tuple[str, str] | str


def tokenizer(
    vocab: Mapping[int, bytes] | Mapping[bytes, int] | Mapping[str, int],
    merges: Iterable[Pair],
    special_tokens: Iterable[str] | Mapping[str, int] | None,
    pattern: str,
) -> Tokenizer:
    """Return the tokenizer; raise a `TokenizerError` if it is none."""
    names = _checked_names(special_tokens)
    ids = _ids(vocab, names)
    specials = _special_ids(ids, names, special_tokens)
    missing = [byte for byte in range(256) if bytes([byte]) not in ids]
    if missing:
        raise TokenizerError(
            f"vocab lacks {len(missing)} of the 256 single bytes, the first of them {bytes(missing[:1])!r}; "
            "add them, or text that contains them could not be encoded"
        )
    pairs = _checked_merges(merges, ids)
    merged = {left + right for left, right in pairs}
    used = {token: id for token, id in ids.items() if len(token) == 1 or token in merged}
    if len(used) == len(ids):
        plain = Tokenizer(used, pattern=pattern, special_tokens=specials)
        try:
            gpt2.check_merges(plain, pairs)
            return plain
        except BadFile:  # the order of the merges is not that of the ids
            pass
    return _listed(ids, used, pairs, specials, pattern)


def _listed(
    ids: dict[bytes, int],
    used: dict[bytes, int],
    pairs: list[tuple[bytes, bytes]],
    specials: dict[str, int],
    pattern: str,
) -> Tokenizer:
    """Return a tokenizer that keeps the list of merges."""
    Tokenizer(used, pattern=pattern, special_tokens=specials)  # has the better messages
    definition = Definition(
        tokens=list(used.items()),
        merges=[(ids[left], ids[right], ids[left + right]) for left, right in pairs],
        unit="bytes",
        decode_only=[(token, id) for token, id in ids.items() if token not in used],
        added_tokens=[added_token(name, id, special=True) for name, id in specials.items()],
        pre_tokenizer=byte_level_split(pattern),
        decoder=BYTE_LEVEL,
    )
    try:
        return definition.tokenizer()
    except BadFile as bad:
        raise TokenizerError(f"the vocabulary {bad}") from bad.__cause__


def _checked_names(special_tokens: Iterable[str] | Mapping[str, int] | None) -> list[str]:
    if isinstance(special_tokens, str | bytes):
        raise TokenizerError(f"pass special tokens in a list: special_tokens=[{special_tokens!r}]")
    names = list(special_tokens or ())
    for name in names:
        if not isinstance(name, str) or not name:
            raise TokenizerError(f"a special token must be a str with at least one character, got {name!r}")
    return names


def _ids(
    vocab: Mapping[int, bytes] | Mapping[bytes, int] | Mapping[str, int], names: list[str]
) -> dict[bytes, int]:
    """Return the id of each token; special tokens are UTF-8."""
    entries: list[tuple[bytes, int]] = []
    for key, value in vocab.items():
        if isinstance(key, bytes) and _is_id(value):
            entries.append((key, value))
        elif _is_id(key) and isinstance(value, bytes):
            entries.append((value, key))
        elif isinstance(key, str) and _is_id(value):
            entries.append((key.encode() if key in names else _spelled(key, "vocab"), value))
        else:
            raise TokenizerError(
                "vocab must map ids to bytes, or tokens (bytes, or str in GPT-2's spelling) to ids that are "
                f"not negative, got {key!r}: {value!r}"
            )
    ids = dict(entries)
    if len(ids) < len(entries) or len(set(ids.values())) < len(ids):
        seen_tokens: dict[bytes, int] = {}
        seen_ids: dict[int, bytes] = {}
        for token, id in entries:
            if token in seen_tokens:
                raise TokenizerError(
                    f"vocab gives the token {token!r} two ids, {seen_tokens[token]} and {id}; remove one"
                )
            if id in seen_ids:
                raise TokenizerError(
                    f"vocab gives the id {id} to both {seen_ids[id]!r} and {token!r}; change one"
                )
            seen_tokens[token], seen_ids[id] = id, token
    if b"" in ids:
        raise TokenizerError(f"vocab has an empty token, with the id {ids[b'']}; remove it")
    return ids


def _is_id(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _special_ids(
    ids: dict[bytes, int], names: list[str], given: Iterable[str] | Mapping[str, int] | None
) -> dict[str, int]:
    """Return the ids of the special tokens, and remove them from the others."""
    specials: dict[str, int] = {}
    next_id = max(ids.values(), default=-1) + 1
    for name in names:
        known = ids.pop(name.encode(), None)
        asked = given[name] if isinstance(given, Mapping) else None
        if known is not None and asked is not None and known != asked:
            raise TokenizerError(
                f"the special token {name!r} has the id {known} in vocab, but {asked} in special_tokens; "
                "change one"
            )
        if known is None and asked is None:
            asked, next_id = next_id, next_id + 1
        id = known if known is not None else asked
        assert id is not None
        specials.setdefault(name, id)
    taken = {id: token for token, id in ids.items()}
    if clash := next((name for name, id in specials.items() if id in taken), None):
        id = specials[clash]
        raise TokenizerError(
            f"the special token {clash!r} has the id {id}, which {taken[id]!r} has in vocab; choose another"
        )
    return specials


def _checked_merges(merges: Iterable[Pair], ids: dict[bytes, int]) -> list[tuple[bytes, bytes]]:
    pairs: dict[tuple[bytes, bytes], int] = {}
    for number, merge in enumerate(merges):
        if isinstance(merge, str) and merge.startswith("#version"):
            continue
        parts = merge.split(" ") if isinstance(merge, str) else merge
        if not isinstance(parts, tuple | list) or len(parts) != 2:
            raise TokenizerError(f"a merge must be two tokens, but number {number} (from 0) is {merge!r}")
        left, right = (_token(part, number) for part in parts)
        unknown = next((token for token in (left, right, left + right) if token not in ids), None)
        if unknown is not None:
            raise TokenizerError(
                f"merge number {number} (from 0) joins {left!r} and {right!r}, but {unknown!r} is not a "
                "token of vocab; add it, or remove the merge"
            )
        if (left, right) in pairs:
            raise TokenizerError(
                f"the merge of {left!r} and {right!r} is listed twice, as number {pairs[left, right]} and "
                f"{number} (from 0); remove one"
            )
        pairs[left, right] = number
    return list(pairs)


def _token(part: object, number: int) -> bytes:
    if isinstance(part, bytes):
        return part
    if isinstance(part, str):
        return _spelled(part, f"merge number {number} (from 0)")
    raise TokenizerError(f"merge number {number} (from 0) has {part!r}, which is neither bytes nor str")


def _spelled(token: str, where: str) -> bytes:
    try:
        return gpt2.from_printable(token)
    except KeyError as error:
        raise TokenizerError(
            f"{where} has the token {token!r}, in which {error.args[0]!r} does not spell a byte in GPT-2's "
            "alphabet; if it is a special token, name it in special_tokens, or else pass all tokens as bytes"
        ) from None
