"""SentencePiece's `tokenizer.model`: a protocol buffer with pieces, scores and a normalizer. BPE only.

`parse` reads a model, `model` writes one, and `contents` exports a tokenizer of this kind.

| field | content |
|---|---|
| 1 | a piece: its text (1), score (2) and type (3) |
| 2 | training: kind (3), size (4), spaces after words (24), byte fallback (35), `<unk>` as text (44) |
| 3 | normalizer: map of characters (2), leading space (3), extra spaces removed (4), `▁` for spaces (5) |
| 5 | the denormalizer, which has no effect on ids; only models that were trained with one have it |

Pieces are found in text by their scores: of all adjacent pairs that form a piece, the one with the highest
score merges first, and of equal ones the leftmost. There are no merges in the file, and no pre-tokens.

Control pieces, such as `<s>`, become special tokens: SentencePiece never finds them in a text.
"""

import base64
import io
import json
import math
import struct
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from merganser.errors import ExportError, MerganserWarning
from merganser.extras import imported
from merganser.formats import BadFile, native
from merganser.formats.definition import Definition, added_token
from merganser.formats.protobuf import Value, fields, message
from merganser.formats.stages import SPACE_SYMBOL
from merganser.tokenizer import Tokenizer

#: The file of an export.
FILE = "tokenizer.model"
#: The normalizers that SentencePiece has by name; all but the first need the library.
RULES = ("identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")

#: A model begins with its first piece, and pieces are the longest part of it.
_FIRST_BYTE = b"\n"
_KINDS = {1: "Unigram", 2: "BPE", 3: "Word", 4: "Char"}
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6
#: SentencePiece prints this for `<unk>`.
_UNKNOWN_SURFACE = " \u2047 "
_MAX_CHARSMAP = 1 << 24


class Piece(NamedTuple):
    text: str
    score: float
    kind: int


def looks_like_model(data: bytes) -> bool:
    """Return whether the data begins with a piece: a field 1 of which the first field is a text."""
    if not data.startswith(_FIRST_BYTE) or len(data) < 4:
        return False
    at = 2 if data[1] < 0x80 else 3
    return data[at] == 0x0A and 2 + data[at + 1] <= data[1] | (data[2] << 7 if at == 3 else 0)


def parse(data: bytes) -> Definition:
    """Return the definition of a model."""
    pieces, training, normalizing, denormalizing = _messages(data)
    kind = training.get(3, 1)
    if kind != 2:
        raise BadFile(
            f"is a SentencePiece {_KINDS.get(int(kind), kind)} model, and merganser only does BPE; load it "
            "with sentencepiece: sentencepiece.SentencePieceProcessor(model_file=…)"
        )
    if denormalizing.get(2):
        warnings.warn(
            "the model has a denormalizer, which merganser leaves out: decoding returns the normalized text",
            MerganserWarning,
            stacklevel=2,
        )
    if not normalizing.get(5, 1):
        raise BadFile(
            "cannot be represented: it was trained without escape_whitespaces; load it with sentencepiece"
        )
    return definition(pieces, training, normalizing)


def definition(
    pieces: Sequence[Piece], training: Mapping[int, Value], normalizing: Mapping[int, Value]
) -> Definition:
    """Return the definition of pieces, whose ids are their places, and of the fields of the two messages."""
    by_kind: dict[int, list[tuple[Piece, int]]] = {kind: [] for kind in range(1, 7)}
    for id, piece in enumerate(pieces):
        by_kind[piece.kind].append((piece, id))
    if len(by_kind[UNKNOWN]) != 1:
        raise _corrupt("it does not have exactly one unknown piece")
    surface = training.get(44, _UNKNOWN_SURFACE.encode())
    [(_, unknown)] = by_kind[UNKNOWN]
    usable = [(piece, id) for piece, id in by_kind[NORMAL] if " " not in piece.text]
    decode_only = [(piece.text.encode(), id) for piece, id in by_kind[NORMAL] if " " in piece.text]
    decode_only.append((surface if isinstance(surface, bytes) else b"", unknown))
    _check_unused(by_kind[UNUSED], {piece.text for piece in pieces})
    decode_only += [(inner(piece.text), id) for piece, id in by_kind[UNUSED]]
    prefix, removes = bool(normalizing.get(3, 1)), bool(normalizing.get(4, 1))
    suffix = bool(training.get(24, 0))
    return Definition(
        tokens=[(inner(piece.text), id) for piece, id in usable],
        scores=[piece.score for piece, _ in usable],
        unit="characters",
        byte_tokens=_byte_tokens(by_kind[BYTE], bool(training.get(35, 0))),
        decode_only=decode_only,
        unknown=unknown,
        fuse_unknown=True,
        added_tokens=[
            *(added_token(piece.text, id, special=True) for piece, id in by_kind[CONTROL]),
            # Found in the normalized text, and never merged with what surrounds them.
            *(
                added_token(inner(piece.text).decode(), id, normalized=True, kind="user_defined")
                for piece, id in by_kind[USER_DEFINED]
            ),
        ],
        normalizer={
            "type": "SentencePiece",
            "charsmap": _charsmap(normalizing.get(2, b"")),
            "add_dummy_prefix": prefix,
            "remove_extra_whitespaces": removes,
            "suffix_whitespace": suffix,
        },
        # With spaces after words and none at the start, a text begins with a space only in `<unk>`'s.
        decoder={
            "type": "SentencePiece",
            "add_dummy_prefix": prefix and not (suffix and removes),
            "remove_extra_whitespaces": removes,
        },
    )


def inner(text: str) -> bytes:
    """Return the inner bytes of a piece: spaces where SentencePiece has `▁`."""
    return text.replace(SPACE_SYMBOL, " ").encode()


def _check_unused(unused: list[tuple[Piece, int]], texts: set[str]) -> None:
    """Raise a `BadFile` for an unused piece that merging can pass through: it is split again at the end."""
    for piece, _ in unused:
        text = piece.text
        for at in range(1, len(text)):
            if all(len(part) == 1 or part in texts for part in (text[:at], text[at:])):
                raise BadFile(
                    f"cannot be represented: its unused piece {text!r} is formed by other pieces; load it "
                    "with sentencepiece"
                )


def _byte_tokens(pieces: list[tuple[Piece, int]], fallback: bool) -> list[int | None] | None:
    if not fallback and not pieces:
        return None
    ids: list[int | None] = [None] * 256
    for piece, id in pieces:
        digits = piece.text[3:5]
        if piece.text != f"<0x{digits.upper()}>" or not set(digits) <= set("0123456789ABCDEF"):
            raise _corrupt(f"its byte piece {piece.text[:40]!r} is no byte")
        ids[int(digits, 16)] = id
    if not fallback or None in ids:
        raise _corrupt("it does not have a piece for each byte, or does not use them")
    return ids


def _charsmap(data: Value) -> str | None:
    if not isinstance(data, bytes) or len(data) > _MAX_CHARSMAP:
        raise _corrupt("its map of characters is not binary data of at most 16 MiB")
    return base64.b64encode(data).decode() if data else None


# ── writing ───────────────────────────────────────────────────────────────────


def model(
    pieces: Sequence[Piece],
    *,
    charsmap: bytes = b"",
    rule: str = "identity",
    add_dummy_prefix: bool = True,
    remove_extra_whitespaces: bool = True,
    suffix_whitespace: bool = False,
    unknown_surface: str = _UNKNOWN_SURFACE,
) -> bytes:
    """Return a model with these pieces, whose ids are their places."""
    ids = {piece.text: id for id, piece in enumerate(pieces)}
    [unknown] = [piece.text for piece in pieces if piece.kind == UNKNOWN]
    training: list[tuple[int, int | str]] = [
        (3, 2),  # BPE
        (4, len(pieces)),
        (24, suffix_whitespace),
        (35, any(piece.kind == BYTE for piece in pieces)),
        *((40 + nth, ids.get(name, -1)) for nth, name in enumerate((unknown, "<s>", "</s>", "<pad>"))),
        (44, unknown_surface),
        (45, unknown),
    ]
    normalizing: list[tuple[int, int | str | bytes]] = [
        (1, rule),
        (2, charsmap),
        (3, add_dummy_prefix),
        (4, remove_extra_whitespaces),
        (5, True),
    ]
    return message(
        [
            *((1, message([(1, piece.text), (2, piece.score), (3, piece.kind)])) for piece in pieces),
            (2, message((number, value) for number, value in training)),
            (3, message((number, value) for number, value in normalizing)),
        ]
    )


def rule_charsmap(rule: str) -> bytes:
    """Return the map of characters of a normalizer that SentencePiece knows by name.

    >>> rule_charsmap("identity")
    b''
    """
    if rule == "identity":
        return b""
    library = imported("sentencepiece", "hf", f"the normalizer {rule}")
    written = io.BytesIO()
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(["a b"]),
        model_writer=written,
        model_type="char",
        vocab_size=6,
        normalization_rule_name=rule,
        minloglevel=2,
    )
    _, _, normalizing, _ = _messages(written.getvalue())
    charsmap = normalizing[2]
    assert isinstance(charsmap, bytes)
    return charsmap


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """Return the file of an export."""
    return {name if name.endswith(".model") else FILE: from_tokenizer(tokenizer)}


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the file holds the tokenizer."""
    [data] = files.values()
    return parse(data).tokenizer() == tokenizer


def from_tokenizer(tokenizer: Tokenizer) -> bytes:
    """Return the model of a tokenizer that was read from one or trained as one."""
    known = tokenizer.definition
    settings: dict[str, Any] = json.loads(known[3]) if known else {}
    normalizer = settings.get("normalizer") or {}
    if known is None or normalizer.get("type") != "SentencePiece" or known[2] is None:
        raise ExportError(
            'this tokenizer is not of SentencePiece\'s kind; train one with unit="characters", or export '
            "it to huggingface"
        )
    tokens, _, scores, _ = known
    assert scores is not None
    pieces: dict[int, Piece] = {
        id: Piece(_outer(token), score, NORMAL) for (token, id), score in zip(tokens, scores, strict=True)
    }
    for byte, id in enumerate(settings["byte_tokens"] or ()):
        pieces[id] = Piece(f"<0x{byte:02X}>", 0.0, BYTE)
    for token in settings["added_tokens"]:
        kind = USER_DEFINED if token.get("kind") == "user_defined" else CONTROL
        text = token["content"] if kind == CONTROL else _outer(token["content"].encode())
        pieces[token["id"]] = Piece(text, 0.0, kind)
    surface = _UNKNOWN_SURFACE
    for digits, id in settings["decode_only"]:
        text = bytes.fromhex(digits).decode()
        if id == settings["unknown"]:
            surface = text
        else:
            pieces[id] = Piece(_outer(text.encode()), 0.0, UNUSED)
    pieces[settings["unknown"]] = Piece("<unk>", 0.0, UNKNOWN)
    if sorted(pieces) != list(range(len(pieces))):
        raise ExportError("SentencePiece has no gaps between ids, but this tokenizer does")
    charsmap = normalizer.get("charsmap")
    return model(
        [pieces[id] for id in range(len(pieces))],
        charsmap=base64.b64decode(charsmap) if charsmap else b"",
        rule="user_defined" if charsmap else "identity",
        add_dummy_prefix=normalizer["add_dummy_prefix"],
        remove_extra_whitespaces=normalizer["remove_extra_whitespaces"],
        suffix_whitespace=normalizer["suffix_whitespace"],
        unknown_surface=surface,
    )


def _outer(token: bytes) -> str:
    """Return the piece of inner bytes."""
    return token.decode().replace(" ", SPACE_SYMBOL)


# ── messages ──────────────────────────────────────────────────────────────────


def _messages(data: bytes) -> tuple[list[Piece], dict[int, Value], dict[int, Value], dict[int, Value]]:
    """Return the pieces and the last value of each field of the three other messages."""
    pieces: list[Piece] = []
    settings: dict[int, dict[int, Value]] = {2: {}, 3: {}, 5: {}}
    for number, part in fields(data):
        if number == 1 and isinstance(part, bytes):
            pieces.append(_piece(part))
            if len(pieces) > native.MAX_TOKENS:
                raise _corrupt(f"it has more than {native.MAX_TOKENS} pieces")
        elif number in settings and isinstance(part, bytes):
            settings[number].update(fields(part))
    if len({piece.text for piece in pieces}) < len(pieces):
        raise _corrupt("it has the same piece twice")
    for number, kinds in (
        (2, {3: int, 24: int, 35: int, 44: bytes}),
        (3, {2: bytes, 3: int, 4: int, 5: int}),
    ):
        if any(not isinstance(settings[number].get(field, kind()), kind) for field, kind in kinds.items()):
            raise _corrupt("one of its settings has the wrong type")
    return pieces, settings[2], settings[3], settings[5]


def _piece(message: bytes) -> Piece:
    text, score, kind = b"", 0.0, NORMAL
    for number, value in fields(message):
        if number == 1 and isinstance(value, bytes):
            text = value
        elif number == 2 and isinstance(value, bytes) and len(value) == 4:
            [score] = struct.unpack("<f", value)
        elif number == 3 and isinstance(value, int):
            kind = value
    if not text or len(text) > native.MAX_TOKEN_BYTES or math.isnan(score) or not NORMAL <= kind <= BYTE:
        raise _corrupt("a piece has no text, score or type")
    try:
        return Piece(text.decode(), score, kind)
    except UnicodeDecodeError:
        raise _corrupt(f"its piece {text[:40]!r} is not UTF-8") from None


def _corrupt(reason: str) -> BadFile:
    return BadFile(f"is corrupt: {reason}; get a fresh copy")
