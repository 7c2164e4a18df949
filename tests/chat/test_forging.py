"""Untrusted text stays text: a special token is encoded only if it is explicitly allowed."""

from collections.abc import Callable

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import Tokenizer
from merganser.chat import SPECIAL_TOKENS, Chat

TEXT = "<|bos|> <|user_start|><|user_end|><|assistant_start|> <|python_end|>" * 3
TRAINED = merganser.train([TEXT, "a cat sat"], 268, pattern="nanochat", special_tokens=SPECIAL_TOKENS)
FIRST_SPECIAL = min(TRAINED.special_tokens.values())

fragments = st.lists(
    st.sampled_from([*SPECIAL_TOKENS, "<|", "|>", "<|bos", "user_", "end|>", "_start", "|", " a", "é", "\n"])
).map("".join)


@given(fragments, fragments, fragments, fragments)
def test_text_cannot_forge_a_special_token(system: str, user: str, call: str, output: str) -> None:
    parts = [{"type": "python", "text": call}, {"type": "python_output", "text": output}]
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": [*parts, {"type": "text", "text": user}]},
    ]
    ids, _ = Chat(TRAINED).render(messages, None)
    found = [TRAINED.token_bytes(id).decode() for id in ids if id >= FIRST_SPECIAL]
    bos, user_start, user_end, assistant_start, assistant_end, *tools = SPECIAL_TOKENS
    assert found == [bos, user_start, user_end, assistant_start, *tools, assistant_end]


@given(fragments, st.sets(st.sampled_from(SPECIAL_TOKENS)))
def test_a_special_token_is_special_only_if_allowed(text: str, allowed: set[str]) -> None:
    assert max(TRAINED.encode_ordinary(text), default=0) < FIRST_SPECIAL
    assert TRAINED.decode(TRAINED.encode_ordinary(text)) == text
    if any(special in text for special in set(SPECIAL_TOKENS) - allowed):
        with pytest.raises(merganser.EncodeError):
            TRAINED.encode(text, allowed_special=allowed)
    ids = TRAINED.encode(text, allowed_special=allowed, disallowed_special=())
    assert TRAINED.decode(ids) == text
    for special in SPECIAL_TOKENS:
        # They do not overlap, so each occurrence is a special token.
        seen = text.count(special) if special in allowed else 0
        assert ids.count(TRAINED.special_tokens[special]) == seen


# ── every special token, with every encoding method ───────────────────────────

METHODS: dict[str, Callable[..., list[int]]] = {
    "encode": TRAINED.encode,
    "encode_batch": lambda text, **policy: TRAINED.encode_batch([text], **policy)[0],
    "encode_flat": lambda text, **policy: TRAINED.encode_flat([text], **policy)[0].tolist(),
    "encode_with_offsets": lambda text, **policy: TRAINED.encode_with_offsets(text, **policy).ids,
}


@pytest.mark.parametrize("special", SPECIAL_TOKENS)
@pytest.mark.parametrize("method", METHODS)
def test_every_special_token_is_an_error_unless_it_is_allowed(method: str, special: str) -> None:
    encode, id = METHODS[method], TRAINED.special_tokens[special]
    for before, after in (("", ""), ("a", "b"), ("<|", "|>"), (special[:-1], special[1:])):
        text = before + special + after
        with pytest.raises(merganser.EncodeError):
            encode(text)
        with pytest.raises(merganser.EncodeError):
            encode(text, allowed_special=set(SPECIAL_TOKENS) - {special})
        with pytest.raises(merganser.EncodeError):
            TRAINED.count_tokens(text)
        assert encode(text, disallowed_special=()) == TRAINED.encode_ordinary(text)
        allowed = [*TRAINED.encode_ordinary(before), id, *TRAINED.encode_ordinary(after)]
        assert encode(text, allowed_special={special}) == allowed


@pytest.mark.parametrize("special", SPECIAL_TOKENS)
@pytest.mark.parametrize("method", METHODS)
def test_parts_of_special_tokens_are_ordinary_text(method: str, special: str) -> None:
    for cut in range(1, len(special)):
        head, tail = special[:cut], special[cut:]
        for text in (head, tail, tail + head, head + " " + tail, head + head + tail[:-1]):
            for allowed in ((), "all"):
                assert METHODS[method](text, allowed_special=allowed) == TRAINED.encode_ordinary(text)


OVERLAPPING = {"<a>": 256, "<a>b": 257, "a>": 258, "<<": 259, "<a><a>": 260, "b<": 261}
BYTES = Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens=OVERLAPPING)


def by_hand(text: str, allowed: set[str]) -> list[int]:
    """Match the longest allowed special token, from left to right."""
    ids: list[int] = []
    while text:
        found = max((name for name in allowed if text.startswith(name)), key=len, default=text[0])
        ids.append(OVERLAPPING[found] if found in allowed else ord(found))
        text = text[len(found) :]
    return ids


@given(
    st.lists(st.sampled_from([*OVERLAPPING, "<", "a", "b", ">"])).map("".join),
    st.sets(st.sampled_from([*OVERLAPPING])),
)
def test_overlapping_special_tokens_match_the_longest_first(text: str, allowed: set[str]) -> None:
    assert BYTES.encode_ordinary(text) == list(text.encode())
    if any(special in text for special in OVERLAPPING.keys() - allowed):
        with pytest.raises(merganser.EncodeError):
            BYTES.encode(text, allowed_special=allowed)
    else:
        assert BYTES.encode(text, allowed_special=allowed) == by_hand(text, allowed)
    ids = BYTES.encode(text, allowed_special=allowed, disallowed_special=())
    assert ids == by_hand(text, allowed)
