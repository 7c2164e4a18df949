"""Reading a GGUF vocabulary: byte-level BPE (`gpt2`) and SentencePiece's BPE by scores (`llama`).

| `tokenizer.ggml.…` | value |
|---|---|
| `model` | "gpt2" or "llama" |
| `pre` | the name of the pre-tokenizer (`formats/llama_patterns.py`); "llama" has none |
| `tokens`, `token_type` | tokens by id; 1 ordinary, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte |
| `merges`, `scores` | merges in order, of "gpt2"; the score of each token, of "llama" |
| `add_bos_token` … | tokens that llama.cpp adds around a text |
| `add_space_prefix` | "llama": a space before the text |

A file of plain byte-level BPE with one of our presets becomes a plain tokenizer, like a trained one; every
other file becomes a definition. llama.cpp decides what a file means: of a
merge listed twice, the first counts; user-defined tokens are found in every text, control tokens only if
special tokens are parsed (`allowed_special="all"`).
"""

import math
from typing import Any

from merganser.errors import MerganserError
from merganser.formats import BadFile, gguf_metadata, gpt2
from merganser.formats.definition import Definition, added_token
from merganser.formats.llama_patterns import PRE_TOKENIZERS, PreTokenizer
from merganser.formats.sentencepiece import inner
from merganser.formats.stages import SPACE_SYMBOL, Stage, around_text_of, template_processing
from merganser.tokenizer import Tokenizer
from merganser.tokenizer.template import named

#: Presets by llama.cpp's name; the first name of a preset is written.
PLAIN_PATTERNS = {
    "gpt-2": "gpt2",
    "llama-bpe": "llama3",
    "llama3": "llama3",
    "llama-v3": "llama3",
    "qwen2": "qwen2",
    "deepseek-r1-qwen": "qwen2",
}
_KEEPS_TOKENS_WHOLE = "llama3"
_NORMAL, _UNKNOWN, _CONTROL, _USER_DEFINED, _UNUSED, _BYTE = range(1, 7)
#: Models that are not BPE, and what they are.
_OTHER_MODELS = {"bert": "WordPiece", "t5": "Unigram", "rwkv": "RWKV", "plamo2": "Unigram"}
#: Lists to keep in memory; model files contain others.
_LISTS = {f"tokenizer.ggml.{name}" for name in ("tokens", "token_type", "merges", "scores")}


def parse(data: bytes) -> Tokenizer:
    """Return the tokenizer in a file or its prefix."""
    metadata = gguf_metadata.parse(data, _LISTS)
    model = _entry(metadata, "model", str)
    if model == "llama":
        return _by_scores(metadata).tokenizer()
    if model != "gpt2":
        kind = _OTHER_MODELS.get(model, "unknown")
        raise BadFile(
            f"is a GGUF vocabulary of model {model[:40]!r} ({kind}), and merganser only does BPE ('gpt2' and "
            "'llama'); load it with llama.cpp"
        )
    pre = metadata.get("tokenizer.ggml.pre", "default")
    try:
        return _plain(metadata, pre)
    except BadFile:
        return _byte_level(metadata, pre).tokenizer()


def _entry(metadata: dict[str, Any], name: str, kind: type) -> Any:
    value = metadata.get(f"tokenizer.ggml.{name}")
    if not isinstance(value, kind):
        raise BadFile(f"holds no usable tokenizer: tokenizer.ggml.{name} is missing or has the wrong type")
    return value


def _tokens(metadata: dict[str, Any]) -> list[tuple[str, int]]:
    """Return the text and type of each token."""
    tokens = _entry(metadata, "tokens", list)
    kinds = metadata.get("tokenizer.ggml.token_type") or [_NORMAL] * len(tokens)
    if len(tokens) != len(kinds):
        raise BadFile(
            f"is corrupt: it has {len(tokens)} tokens but {len(kinds)} token types; get a fresh copy"
        )
    if not all(isinstance(token, str) for token in tokens):
        raise BadFile("is corrupt: its tokens are not strings; get a fresh copy")
    if unknown := next((kind for kind in kinds if kind not in range(_NORMAL, _BYTE + 1)), None):
        raise BadFile(f"is corrupt: it has a token of the unknown type {unknown}; get a fresh copy")
    return list(zip(tokens, kinds, strict=True))


# ── byte-level BPE ────────────────────────────────────────────────────────────


def _plain(metadata: dict[str, Any], pre: object) -> Tokenizer:
    """Return a plain tokenizer; raise a `BadFile` if the file needs a definition."""
    if not isinstance(pre, str) or pre not in PLAIN_PATTERNS:
        raise BadFile("has a pattern that is not a preset")
    ranks: dict[bytes, int] = {}
    specials: dict[str, int] = {}
    listed = _tokens(metadata)
    for id, (token, kind) in enumerate(listed):
        if kind == _NORMAL:
            if ranks.setdefault(_bytes(token), id) != id:
                raise BadFile(f"is corrupt: it has the token {token!r} twice; get a fresh copy")
        elif kind == _CONTROL:
            if specials.setdefault(token, id) != id:
                raise BadFile(f"is corrupt: it has the special token {token!r} twice; get a fresh copy")
        elif kind != _UNUSED:
            raise BadFile(f"has a token of type {kind}")
    defaults = PRE_TOKENIZERS[pre]
    post_processor = _post_processor(metadata, listed, defaults.add_bos, defaults.add_sep)
    merges = [(_bytes(left), _bytes(right)) for left, right in _pairs(metadata)]
    gpt2.check_merged_tokens(merges, ranks)
    try:
        tokenizer = Tokenizer(
            ranks,
            pattern=PLAIN_PATTERNS[pre],
            special_tokens=specials,
            template=named(*around_text_of(post_processor), specials),
        )
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if PLAIN_PATTERNS[pre] != _KEEPS_TOKENS_WHOLE and (unreachable := gpt2.unreachable_tokens(tokenizer)):
        raise gpt2.never_used(unreachable[0])
    return tokenizer


def _byte_level(metadata: dict[str, Any], pre: object) -> Definition:
    pre_tokenizer = PRE_TOKENIZERS.get(pre) if isinstance(pre, str) else None
    if pre_tokenizer is None:
        raise BadFile(
            f"cannot be represented: its pre-tokenizer {str(pre)[:40]!r} is not known; load it with "
            f"llama.cpp. Known are {', '.join(PRE_TOKENIZERS)}"
        )
    listed = _tokens(metadata)
    ids = {token: id for id, (token, _) in enumerate(listed)}  # of equal tokens the last counts
    merges: dict[tuple[int, int], int] = {}
    for left, right in _pairs(metadata):
        parts = ids.get(left), ids.get(right), ids.get(left + right)
        if parts[0] is None or parts[1] is None or parts[2] is None:
            raise BadFile(
                f"is corrupt: it merges {left[:40]!r} and {right[:40]!r}, but these or their concatenation "
                "are not tokens; get a fresh copy"
            )
        merges.setdefault((parts[0], parts[1]), parts[2])
    merged = set(merges.values())
    tokens, decode_only = [], []
    for id, (token, kind) in enumerate(listed):
        try:
            data = gpt2.from_printable(token)
        except KeyError:
            data = b""
        reachable = pre_tokenizer.ignore_merges or id in merged or len(data) == 1
        if data and reachable and ids[token] == id:
            tokens.append((data, id))
        elif kind not in (_CONTROL, _UNKNOWN, _USER_DEFINED):
            decode_only.append((data or token.encode(), id))
    known = {id for _, id in tokens}
    return Definition(
        tokens=tokens,
        merges=[(*pair, id) for pair, id in merges.items() if known.issuperset((*pair, id))],
        decode_only=decode_only,
        ignore_merges=pre_tokenizer.ignore_merges,
        added_tokens=_added_tokens(metadata, listed),
        pre_tokenizer=_stages(pre_tokenizer),
        post_processor=_post_processor(metadata, listed, pre_tokenizer.add_bos, pre_tokenizer.add_sep),
        decoder={"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False},
    )


def _stages(pre_tokenizer: PreTokenizer) -> Stage:
    splits: list[Stage] = [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in pre_tokenizer.patterns
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": False}
    return {"type": "Sequence", "pretokenizers": [*splits, byte_level]}


def _pairs(metadata: dict[str, Any]) -> list[tuple[str, str]]:
    pairs = []
    for merge in _entry(metadata, "merges", list):
        left, space, right = merge.partition(" ") if isinstance(merge, str) else ("", "", "")
        if not left or not space or not right:
            raise BadFile("is corrupt: one of its merges is not two tokens; get a fresh copy")
        pairs.append((left, right))
    return pairs


def _bytes(token: str) -> bytes:
    try:
        return gpt2.from_printable(token)
    except KeyError as error:
        raise gpt2.not_byte_level(error.args[0]) from None


# ── SentencePiece's BPE ───────────────────────────────────────────────────────


def _by_scores(metadata: dict[str, Any]) -> Definition:
    listed = _tokens(metadata)
    scores = metadata.get("tokenizer.ggml.scores") or [0.0] * len(listed)
    if len(scores) != len(listed) or not all(isinstance(score, float) for score in scores):
        raise BadFile("is corrupt: its tokens do not each have a score; get a fresh copy")
    if any(map(math.isnan, scores)):
        raise BadFile("is corrupt: a score is not a number; get a fresh copy")
    ids = {token: id for id, (token, _) in enumerate(listed)}
    byte_tokens = [ids.get(f"<0x{byte:02X}>") for byte in range(256)]
    if None in byte_tokens:
        raise BadFile("is corrupt: it does not have a token for each byte; get a fresh copy")
    usable, decode_only = [], []
    for id, (token, kind) in enumerate(listed):
        if id in byte_tokens:
            continue
        if kind in (_NORMAL, _UNUSED) or (kind in (_CONTROL, _UNKNOWN) and _is_formed(token, ids)):
            if token and " " not in token and ids[token] == id:
                usable.append(id)
            else:
                decode_only.append((token.encode(), id))
    prefix = metadata.get("tokenizer.ggml.add_space_prefix", True) is not False
    to_spaces = {"type": "Replace", "pattern": {"String": SPACE_SYMBOL}, "content": " "}
    prepend = [{"type": "Prepend", "prepend": " "}] if prefix else []
    strip = [{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if prefix else []
    return Definition(
        tokens=[(inner(listed[id][0]), id) for id in usable],
        scores=[scores[id] for id in usable],
        unit="characters",
        byte_tokens=byte_tokens,
        decode_only=decode_only,
        added_tokens=_added_tokens(metadata, listed),
        normalizer={"type": "Sequence", "normalizers": [*prepend, to_spaces]},
        post_processor=_post_processor(metadata, listed, True, False),
        decoder={
            "type": "Sequence",
            "decoders": [to_spaces, {"type": "ByteFallback"}, {"type": "Fuse"}, *strip],
        },
    )


def _is_formed(token: str, ids: dict[str, int]) -> bool:
    """Return whether merging can form a token: llama.cpp does not look at its type."""
    parts = ((token[:at], token[at:]) for at in range(1, len(token)))
    return any(all(len(part) == 1 or part in ids for part in pair) for pair in parts)


# ── special tokens ────────────────────────────────────────────────────────────


def _added_tokens(metadata: dict[str, Any], listed: list[tuple[str, int]]) -> list[Stage]:
    tokens = [
        added_token(token, id, special=kind != _USER_DEFINED)
        for id, (token, kind) in enumerate(listed)
        if token and kind in (_CONTROL, _UNKNOWN, _USER_DEFINED)
    ]
    # llama.cpp knows by these names that spaces beside the tokens belong to them.
    name, pre = (str(metadata.get(key)).lower() for key in ("general.name", "tokenizer.ggml.pre"))
    lstrip = {"jina-v2": "<mask>"}.get(pre[:7]) or ("[MASK]" if "modern-bert" in name else None)
    rstrip = "phi-3" in name or "phi3" in name
    for token in tokens:
        token["lstrip"] = token["content"] == lstrip
        token["rstrip"] = rstrip and token["content"] not in ("<unk>", "<s>", "<|endoftext|>")
    return tokens


def _post_processor(
    metadata: dict[str, Any], listed: list[tuple[str, int]], add_bos: bool, add_sep: bool
) -> Stage | None:
    """Return the template that adds bos and eos, or None if nothing is added."""

    def token(role: str, default: bool) -> dict[str, int]:
        id = metadata.get(f"tokenizer.ggml.{role}_token_id")
        adds = metadata.get(f"tokenizer.ggml.add_{role}_token", default)
        return {listed[id][0]: id} if adds is True and type(id) is int and 0 <= id < len(listed) else {}

    return template_processing(token("bos", add_bos), token("eos", False) | token("seperator", add_sep))
