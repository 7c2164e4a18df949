"""Hugging Face: `tokenizer.json` of the byte-level BPE kind, with `tokenizer_config.json` and, for a chat,
`chat_template.jinja` beside it.

The tokens are spelled as in GPT-2's files (`formats/gpt2.py`), the pattern is rewritten for the engine that
reads it (`formats/oniguruma.py`). A token that no merge reaches stays whole by `ignore_merges`. Special
tokens are not in the model's vocabulary if their ids follow it without a gap; otherwise
they are, to keep their ids.

Files are made and read without the library: the extra `[hf]` is for the live object only.
"""

import json
from typing import TYPE_CHECKING, Any

from merganser._core import split
from merganser.errors import ChatError, ExportError, MerganserError
from merganser.extras import imported
from merganser.formats import BadFile, gpt2, native, oniguruma
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import tokenizers

    from merganser.chat.template import Template

FILE, CONFIG, CHAT = "tokenizer.json", "tokenizer_config.json", "chat_template.jinja"
#: How many pairs of added tokens are compared at most.
MAX_MIXED = 1 << 18
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}
#: The names by which special tokens are known to have a role.
_ROLES = {
    "bos_token": ("<|bos|>", "<|begin_of_text|>", "<s>", "<bos>"),
    "eos_token": ("<|endoftext|>", "<|end_of_text|>", "</s>", "<eos>"),
}


def contents(tokenizer: Tokenizer, chat: "Template | None" = None) -> dict[str, bytes]:
    """The files, by name; with a chat template if one is given or the tokenizer has the tokens of nanochat's.

    What ends an answer is then the `eos_token`, for that is where a program that generates text must stop.
    `apply_chat_template` has the ids of `Chat.render`, and its mask. Only where text stands right before the
    output of a tool does transformers leave out what follows the first token of the text's last character.
    """
    from merganser.chat.render import Chat
    from merganser.chat.template import SPECIAL_TOKENS, Template

    if chat is None and tokenizer.special_tokens.keys() >= set(SPECIAL_TOKENS):
        chat = Template()
    roles = {
        role: next((name for name in names if name in tokenizer.special_tokens), None)
        for role, names in _ROLES.items()
    }
    files = {FILE: _json(_as_json(tokenizer))}
    if chat is not None:
        template = Chat(tokenizer, chat).template  # refuses one whose tokens the tokenizer lacks
        roles = {"bos_token": template.bos, "eos_token": template.assistant_end}
        try:
            files[CHAT] = template.to_jinja(tokenizer.special_tokens).encode()
        except ChatError as error:
            raise ExportError(f"the chat template cannot be exported: {error}") from None
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "add_prefix_space": False,
        "clean_up_tokenization_spaces": False,
        "model_max_length": 10**30,
        **{role: name for role, name in roles.items() if name is not None},
    }
    return files | {CONFIG: _json(config)}


def to_huggingface(tokenizer: Tokenizer) -> "tokenizers.Tokenizer":
    library = imported("tokenizers", "hf", "to_huggingface")
    live: tokenizers.Tokenizer = library.Tokenizer.from_str(json.dumps(_as_json(tokenizer)))
    return live


def _json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, indent=2).encode() + b"\n"


def _as_json(tokenizer: Tokenizer) -> dict[str, Any]:
    vocab = {gpt2.printable(token): id for token, id in tokenizer.mergeable_ranks.items()}
    specials = sorted(tokenizer.special_tokens.items(), key=lambda entry: entry[1])
    ignore_merges = bool(gpt2.unreached(tokenizer))
    follows = [id for _, id in specials] == list(range(len(vocab), len(vocab) + len(specials)))
    whole = gpt2.vocabulary(tokenizer)  # refuses a special token that is spelled like another
    if not follows:
        vocab = whole
        if ignore_merges and (
            alone := next((name for name, _ in specials if _is_piece(tokenizer, name)), None)
        ):
            raise ExportError(
                f"the special token {alone!r} is one piece, and Hugging Face would take it for special even "
                "as plain text; give the special tokens ids that follow all others"
            )
    if tokenizer.pattern_name is None:
        pattern = oniguruma.with_rest(tokenizer.pattern)
    else:
        pattern = oniguruma.written(tokenizer.pattern)
    cut = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": id,
                "content": name,
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for name, id in specials
        ],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [cut, _BYTE_LEVEL]},
        "post_processor": None,
        "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": ignore_merges,
            "vocab": vocab,
            "merges": [[gpt2.printable(left), gpt2.printable(right)] for left, right in tokenizer.merges],
        },
    }


def _is_piece(tokenizer: Tokenizer, special: str) -> bool:
    return len(split(special, tokenizer.pattern)) == 1


# ── reading ───────────────────────────────────────────────────────────────────


def from_live(live: Any) -> Tokenizer:
    """The same as a `tokenizers.Tokenizer`, or as a tokenizer of transformers that has one inside."""
    if not any(kind.__module__.startswith("transformers") for kind in type(live).__mro__):
        return _from_json(json.loads(live.to_str()))
    inner = getattr(live, "backend_tokenizer", None)
    if inner is None:
        raise BadFile("cannot be represented: it is a slow one, written in Python; load the fast one instead")
    # transformers leaves there how it was last called; each call sets it anew.
    return _from_json(json.loads(inner.to_str()) | {"truncation": None, "padding": None})


def parse(data: bytes) -> Tokenizer:
    """The tokenizer of a `tokenizer.json`; what it says that ours cannot do is refused."""
    try:
        return _from_json(gpt2.read_json(data))
    except UnicodeEncodeError:
        raise BadFile("is damaged: it has half of a surrogate pair; get a fresh copy") from None


def _from_json(whole: Any) -> Tokenizer:
    """Our `encode(text, allowed_special="all")` has the ids of theirs with `add_special_tokens=False`.

    Hugging Face knows added tokens that are not special, which only its `decode` treats in another way; here
    they are special tokens. What a post-processor adds to each text is left to `prepend` and `append`.
    """
    model = whole.get("model") if isinstance(whole, dict) else None
    if not isinstance(model, dict):
        raise BadFile("is damaged: it has no model; get a fresh copy")
    _refuse_what_we_cannot_do(whole, model)
    ids = dict(gpt2.checked_vocabulary(model.get("vocab")))
    specials = _added(whole.get("added_tokens") or [], ids)
    for name in specials:
        ids.pop(name, None)
    pairs = [_pair(merge) for merge in _list(model.get("merges"), "merges")]
    if len(set(pairs)) < len(pairs):
        raise BadFile("is damaged: it lists a merge twice; get a fresh copy")
    try:
        ranks = {gpt2.unprintable(token): id for token, id in ids.items()}
        merges = gpt2.in_bytes(pairs)
    except KeyError as error:
        raise BadFile(f"is not byte-level: {error} in its tokens is no byte") from None
    if missing := next((pair for pair in merges if pair[0] + pair[1] not in ranks), None):
        raise BadFile(f"is damaged: it merges {missing[0]!r} and {missing[1]!r} to what is no token")
    try:
        tokenizer = Tokenizer(ranks, pattern=_pattern(whole.get("pre_tokenizer")), special_tokens=specials)
    except MerganserError as error:
        raise BadFile(f"holds no usable tokenizer: {error}") from error
    gpt2.check_merges(tokenizer, merges)
    if not model.get("ignore_merges") and (stuck := gpt2.unreached(tokenizer)):
        raise BadFile(f"cannot be represented: no merge makes its token {stuck[0]!r}, which is never used")
    return tokenizer


def _refuse_what_we_cannot_do(whole: dict[str, Any], model: dict[str, Any]) -> None:
    if model.get("type", "BPE") != "BPE":
        raise BadFile(f"cannot be represented: it is {model.get('type')!r}, and only byte-level BPE is known")
    # An unknown token may be named: where every byte is a token, nothing is unknown.
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"):
        if model.get(name):
            raise BadFile(f"cannot be represented: its model has {name}")
    if normalizer := whole.get("normalizer"):
        kind = normalizer.get("type") if isinstance(normalizer, dict) else normalizer
        raise BadFile(f"cannot be represented: its normalizer, {kind}, changes the text before it is encoded")
    for name in ("truncation", "padding"):
        if whole.get(name):
            raise BadFile(f"cannot be represented: it has {name}; save it without")
    if not _only_adds(whole.get("post_processor")):
        raise BadFile("cannot be represented: its post_processor may do more than add special tokens")
    match whole.get("decoder"):
        case None | {"type": "ByteLevel"}:
            return
    raise BadFile("cannot be represented: its decoder is not ByteLevel")


def _only_adds(processor: object) -> bool:
    """Whether a post-processor leaves the ids of a text as they are, and at most puts some around them."""
    match processor:
        case {"type": "Sequence", "processors": [*steps]}:
            return all(map(_adds, steps))
    return _adds(processor)


def _adds(step: object) -> bool:
    match step:
        case None | {"type": "ByteLevel"}:
            return True
        case {"type": "TemplateProcessing", "single": [*parts]}:
            texts = [
                part for part in parts if not (isinstance(part, dict) and part.keys() == {"SpecialToken"})
            ]
            return len(texts) == 1 and isinstance(texts[0], dict) and texts[0].keys() == {"Sequence"}
    return False


def _added(added: object, vocab: dict[str, int]) -> dict[str, int]:
    """The added tokens, by the ids that the library gives them, which must be those of the file.

    It takes a token's id from the vocabulary; if it is not there, it counts on, whatever the file says.
    """
    found: dict[str, int] = {}
    following = len(vocab)
    normalized: dict[bool, list[str]] = {True: [], False: []}
    for token in _list(added, "added tokens"):
        right = isinstance(token, dict) and isinstance(token.get("content"), str)
        if not right or type(token.get("id")) is not int or token["content"] in found:
            raise BadFile("is damaged: its added tokens are not names with an id each; get a fresh copy")
        name, id = token["content"], token["id"]
        if any(token.get(side) for side in ("single_word", "lstrip", "rstrip")):
            raise BadFile(
                f"cannot be represented: its added token {name!r} takes the space around it, or is only "
                "found as a single word"
            )
        if (theirs := vocab.get(name, following)) != id:
            raise BadFile(
                f"is ambiguous: it gives its added token {name!r} the id {id}, and Hugging Face's library "
                f"{theirs}; have the token in the vocabulary too, with the right id"
            )
        found[name] = id
        following = max(following, id + 1)
        normalized[bool(token.get("normalized"))].append(name)
    _refuse_overlaps(normalized[True], normalized[False])
    return found


def _refuse_overlaps(normalized: list[str], others: list[str]) -> None:
    """The library looks for those that are not normalized first, and we for all at once."""
    if len(normalized) * len(others) > MAX_MIXED:
        raise BadFile("cannot be represented: very many of its added tokens are normalized, and many are not")
    for one in normalized:
        if other := next((other for other in others if _overlap(one, other)), None):
            raise BadFile(
                f"cannot be represented: its added tokens {one!r} and {other!r} overlap, and only one of "
                "them is normalized"
            )


def _overlap(one: str, other: str) -> bool:
    """Whether a text could hold both at places that are not apart."""
    ends = (a.endswith(b[:cut]) for a, b in ((one, other), (other, one)) for cut in range(1, len(b) + 1))
    return one in other or other in one or any(ends)


def _list(value: object, what: str) -> list[Any]:
    if not isinstance(value, list) or len(value) > native.MAX_TOKENS:
        raise BadFile(f"is damaged: its {what} are not a list, or too many; get a fresh copy")
    return value


def _pair(merge: object) -> tuple[str, str]:
    """A merge: two tokens, or, as older files have it, a string of two."""
    parts = merge.split(" ") if isinstance(merge, str) else merge
    if not isinstance(parts, list) or len(parts) != 2 or not all(isinstance(part, str) for part in parts):
        raise BadFile("is damaged: one of its merges is not two tokens; get a fresh copy")
    return parts[0], parts[1]


def _pattern(cutter: object) -> str:
    """The pattern of a pre-tokenizer: GPT-2's own in ByteLevel, or one Split before it."""
    match cutter:
        case {"type": "ByteLevel", "add_prefix_space": True}:
            raise BadFile("cannot be represented: its pre-tokenizer puts a space before the text")
        case {"type": "ByteLevel", "add_prefix_space": False, **rest}:
            return "gpt2" if rest.get("use_regex", True) else "(?s:.)+"
        case {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"} as only]}:
            return _pattern(only)
        case {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Split", "pattern": {"Regex": str(pattern)}, "behavior": behavior, "invert": invert},
                {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
            ],
        } if behavior == "Isolated" or (behavior == "Removed" and invert is True):
            return oniguruma.read(pattern, drops_rest=behavior == "Removed")
        case {"type": "Sequence", "pretokenizers": [_, _, *_]}:
            raise BadFile(
                "cannot be represented: its pre-tokenizer splits the text several times, or not by a pattern "
                "that keeps all of it; here one pattern does it all"
            )
    raise BadFile("cannot be represented: its pre-tokenizer is neither ByteLevel nor one Split and ByteLevel")
