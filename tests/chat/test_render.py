"""Chat: the ids and the mask of every conversation in cases/chat.toml."""

from typing import Any

import merganser
import pytest
from conversations import BAD, GOOD, name, prompted, rendered
from merganser import Tokenizer
from merganser.chat import SPECIAL_TOKENS, Chat, ChatError, Template

TEXT = "What is 2+2? The answer is 4. the cat sat <|bos|> <|user_end|><|assistant_start|> 안녕 你好 " * 3
BYTES = Tokenizer(
    {bytes([byte]): byte for byte in range(256)},
    pattern="nanochat",
    special_tokens={token: 256 + nth for nth, token in enumerate(SPECIAL_TOKENS)},
)
TRAINED = merganser.train([TEXT], 295, pattern="nanochat", special_tokens=SPECIAL_TOKENS)


@pytest.mark.parametrize("case", GOOD, ids=name)
def test_every_conversation_case_is_rendered(case: dict[str, Any]) -> None:
    for tokenizer in (BYTES, TRAINED) if "max_tokens" not in case else (BYTES,):
        chat = Chat(tokenizer)
        ids, mask = chat.render(case["messages"], case.get("max_tokens", 2048))
        assert (ids, mask) == rendered(case, tokenizer)
        assert chat.render({"messages": case["messages"]}, case.get("max_tokens", 2048)) == (ids, mask)
        if "prompt" in case:
            assert chat.render_prompt(case["messages"]) == prompted(case, tokenizer)


@pytest.mark.parametrize("case", BAD, ids=name)
def test_invalid_conversations_are_refused_with_the_reason(case: dict[str, Any]) -> None:
    chat = Chat(BYTES)
    for use in (chat.render, chat.render_prompt):
        with pytest.raises(ChatError) as raised:
            use(case["messages"])
        assert case["error"] in str(raised.value)


@pytest.mark.parametrize("conversation", ["hello", b"hello", None, {}, {"messages": "hello"}, 4])
def test_other_objects_are_refused(conversation: Any) -> None:
    with pytest.raises(ChatError, match="a conversation must be a list of messages"):
        Chat(BYTES).render(conversation)


def test_a_prompt_must_end_with_a_user_message() -> None:
    answered = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    with pytest.raises(ChatError, match="must end with a user message; remove the last assistant message"):
        Chat(BYTES).render_prompt(answered)


def test_a_prompt_is_never_truncated() -> None:
    assert len(Chat(BYTES).render_prompt([{"role": "user", "content": "a" * 5000}])) == 5004


def test_truncation_yields_a_prefix() -> None:
    chat = Chat(TRAINED)
    for case in GOOD:
        ids, mask = chat.render(case["messages"], None)
        assert len(ids) == len(mask)
        for cut in range(1, len(ids) + 2):
            assert chat.render(case["messages"], cut) == (ids[:cut], mask[:cut])
    assert len(chat.render([{"role": "user", "content": "€" * 5000}])[0]) == 2048
    for cut in (0, -1):
        with pytest.raises(merganser.SettingsError, match="max_tokens"):
            chat.render(GOOD[0]["messages"], cut)


def test_rendering_does_not_change_the_conversation() -> None:
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    Chat(BYTES).render(messages)
    assert messages == [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]


def test_a_template_can_have_other_special_tokens() -> None:
    template = Template(bos="<s>", user_end="</s>", assistant_end="</s>", system_joint=" ")
    assert len(template.special_tokens) == 8
    tokenizer = merganser.train([TEXT], 280, special_tokens=template.special_tokens)
    messages = [
        {"role": "system", "content": "Be"},
        {"role": "user", "content": "kind"},
        {"role": "assistant", "content": "Yes"},
    ]
    ids, mask = Chat(tokenizer, template).render(messages)
    assert tokenizer.decode(ids) == "<s><|user_start|>Be kind</s><|assistant_start|>Yes</s>"
    assert mask[-1] == 1
    with pytest.raises(ChatError, match=r"lacks the special tokens <s>, </s>; train it"):
        Chat(TRAINED, template)
    for wrong in ("", None, 3):
        with pytest.raises(ChatError, match="user_end of a template must be a non-empty string"):
            Template(user_end=wrong)  # type: ignore[arg-type]
