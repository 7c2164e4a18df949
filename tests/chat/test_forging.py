"""Text from strangers stays text: a special token comes only from where it is allowed by name."""

import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser.chat import SPECIAL_TOKENS, Chat

TEXT = "<|bos|> <|user_start|><|user_end|><|assistant_start|> <|python_end|>" * 3
TRAINED = merganser.train([TEXT, "a cat sat"], 268, pattern="nanochat", special_tokens=SPECIAL_TOKENS)
FIRST_SPECIAL = min(TRAINED.special_tokens.values())

fragments = st.lists(
    st.sampled_from([*SPECIAL_TOKENS, "<|", "|>", "<|bos", "user_", "end|>", "_start", "|", " a", "é", "\n"])
).map("".join)


@given(fragments, fragments, fragments, fragments)
def test_no_text_forges_a_special_token(system: str, user: str, call: str, output: str) -> None:
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
def test_a_special_token_is_one_only_where_allowed(text: str, allowed: set[str]) -> None:
    assert max(TRAINED.encode_ordinary(text), default=0) < FIRST_SPECIAL
    assert TRAINED.decode(TRAINED.encode_ordinary(text)) == text
    if any(special in text for special in set(SPECIAL_TOKENS) - allowed):
        with pytest.raises(merganser.EncodeError):
            TRAINED.encode(text, allowed_special=allowed)
    ids = TRAINED.encode(text, allowed_special=allowed, disallowed_special=())
    assert TRAINED.decode(ids) == text
    for special in SPECIAL_TOKENS:
        # None of them overlaps another, so each that stands in the text is one.
        seen = text.count(special) if special in allowed else 0
        assert ids.count(TRAINED.special_tokens[special]) == seen
