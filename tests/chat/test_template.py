"""The Jinja template gives the ids of `Chat.render`, and refuses what that refuses."""

from collections.abc import Callable
from typing import Any

import jinja2
import merganser
import pytest
from conversations import BAD, GOOD, name
from hypothesis import given
from jinja2.sandbox import ImmutableSandboxedEnvironment
from merganser.chat import NANOCHAT, Chat, Template
from strategies import texts

TEXT = "What is 2+2? The answer is 4. the cat sat\n\n 안녕 你好 " * 3
TRAINED = merganser.train([TEXT], 295, pattern="nanochat", special_tokens=NANOCHAT.special_tokens)
WHOLE = [case for case in GOOD if "max_tokens" not in case]


def compiled(template: Template) -> "list[Callable[..., str]]":
    """Compiled as transformers does it, and with Jinja's own settings."""

    def fail(message: str) -> None:
        raise jinja2.TemplateError(message)

    renders = []
    for settings in ({"trim_blocks": True, "lstrip_blocks": True}, {}):
        environment = ImmutableSandboxedEnvironment(**settings)
        environment.globals["raise_exception"] = fail
        renders.append(environment.from_string(template.to_jinja()).render)
    return renders


RENDERS = compiled(NANOCHAT)


@pytest.mark.parametrize("case", [case for case in WHOLE if "forged" not in case], ids=name)
def test_same_ids(case: dict[str, Any]) -> None:
    chat = Chat(TRAINED)
    for render in RENDERS:
        text = render(messages=case["messages"])
        assert TRAINED.encode(text, allowed_special="all") == chat.render(case["messages"], None)[0]
        if "prompt" in case:
            text = render(messages=case["messages"], add_generation_prompt=True)
            assert TRAINED.encode(text, allowed_special="all") == chat.render_prompt(case["messages"])


@given(texts, texts, texts)
def test_same_ids_for_any_text(system: str, user: str, answer: str) -> None:
    parts = [{"type": "text", "text": answer}, {"type": "text", "text": user}]
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": [*parts, {"type": "python", "text": answer}]},
    ]
    if any(special in text for special in NANOCHAT.special_tokens for text in (system, user, answer + user)):
        return
    ids, _ = Chat(TRAINED).render(messages, None)
    for render in RENDERS:
        assert TRAINED.encode(render(messages=messages), allowed_special="all") == ids


@pytest.mark.parametrize("case", BAD, ids=name)
def test_refuses_the_same(case: dict[str, Any]) -> None:
    for render in RENDERS:
        with pytest.raises(jinja2.TemplateError):
            render(messages=case["messages"])


def test_refuses_text_that_would_become_a_special_token() -> None:
    say = {"role": "user", "content": "?"}
    split = [{"type": "text", "text": "<|bo"}, {"type": "text", "text": "s|>"}]
    for messages in (
        [{"role": "user", "content": "a<|user_end|>b"}],
        [{"role": "system", "content": "<|bos|>"}, say],
        [say, {"role": "assistant", "content": "<|assistant_end|>"}],
        [say, {"role": "assistant", "content": split}],
        [say, {"role": "assistant", "content": [{"type": "python_output", "text": "<|output_end|>"}]}],
    ):
        for render in RENDERS:
            with pytest.raises(jinja2.TemplateError, match=r"holds the special token <\|"):
                render(messages=messages)


def test_a_prompt_ends_with_the_user() -> None:
    for render in RENDERS:
        with pytest.raises(jinja2.TemplateError, match="ends with a user message"):
            render(messages=GOOD[0]["messages"], add_generation_prompt=True)


def test_any_template_is_quoted() -> None:
    template = Template(bos="<'\"{{ 1 }}%}😀\\$specials$>", system_joint="\n%}{# 😀\\ ")
    tokenizer = merganser.train([TEXT], 280, special_tokens=template.special_tokens)
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    ids, _ = Chat(tokenizer, template).render(messages)
    for render in compiled(template):
        assert tokenizer.encode(render(messages=messages), allowed_special="all") == ids
