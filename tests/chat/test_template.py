"""The Jinja template renders the ids of `Chat.render` and refuses the same conversations."""

from collections.abc import Callable
from typing import Any, ClassVar

import jinja2
import merganser
import pytest
from conversations import BAD, GOOD, name
from hypothesis import given
from hypothesis import strategies as st
from jinja2.ext import Extension
from jinja2.sandbox import ImmutableSandboxedEnvironment
from merganser import Tokenizer
from merganser.chat import NANOCHAT, Chat, ChatError, Template
from merganser.chat.render import PART_TYPES
from strategies import texts

TEXT = "What is 2+2? The answer is 4. the cat sat\n\n 안녕 你好 " * 3
TRAINED = merganser.train([TEXT], 295, pattern="nanochat", special_tokens=NANOCHAT.special_tokens)
WHOLE = [case for case in GOOD if "max_tokens" not in case]


class Generation(Extension):
    """Renders its content unchanged."""

    tags: ClassVar = {"generation"}

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


def compiled(template: Template) -> "list[Callable[..., str]]":
    """Compile with the settings of transformers and with Jinja's defaults."""

    def fail(message: str) -> None:
        raise jinja2.TemplateError(message)

    renders = []
    for settings in ({"trim_blocks": True, "lstrip_blocks": True}, {}):
        environment = ImmutableSandboxedEnvironment(extensions=[Generation], **settings)
        environment.globals["raise_exception"] = fail
        renders.append(environment.from_string(template.to_jinja()).render)
    return renders


RENDERS = compiled(NANOCHAT)


@pytest.mark.parametrize("case", [case for case in WHOLE if "forged" not in case], ids=name)
def test_the_template_renders_the_same_ids(case: dict[str, Any]) -> None:
    chat = Chat(TRAINED)
    for render in RENDERS:
        text = render(messages=case["messages"])
        assert TRAINED.encode(text, allowed_special="all") == chat.render(case["messages"], None)[0]
        if "prompt" in case:
            text = render(messages=case["messages"], add_generation_prompt=True)
            assert TRAINED.encode(text, allowed_special="all") == chat.render_prompt(case["messages"])


@given(texts, texts, texts)
def test_the_template_renders_the_same_ids_for_any_text(system: str, user: str, answer: str) -> None:
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
def test_the_template_refuses_the_same_conversations(case: dict[str, Any]) -> None:
    for render in RENDERS:
        with pytest.raises(jinja2.TemplateError):
            render(messages=case["messages"])


def test_the_template_refuses_text_that_contains_a_special_token() -> None:
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
            with pytest.raises(jinja2.TemplateError, match=r"contains the special token <\|"):
                render(messages=messages)


def test_a_prompt_must_end_with_a_user_message() -> None:
    for render in RENDERS:
        with pytest.raises(jinja2.TemplateError, match="must end with a user message"):
            render(messages=GOOD[0]["messages"], add_generation_prompt=True)


def test_special_tokens_are_quoted_in_the_template() -> None:
    template = Template(bos="<'\"{{ 1 }}%}😀\\$specials$>", system_joint="\n%}{# 😀\\ ")
    tokenizer = merganser.train([TEXT], 280, special_tokens=template.special_tokens)
    messages = [{"role": "system", "content": "a"}, {"role": "user", "content": "b"}]
    ids, _ = Chat(tokenizer, template).render(messages)
    for render in compiled(template):
        assert tokenizer.encode(render(messages=messages), allowed_special="all") == ids


# All markers are one of two tokens, because more tokens would nearly always overlap.
two_tokens = st.lists(st.text("ab<", min_size=2, max_size=4), min_size=2, max_size=2)
templates = two_tokens.map(lambda tokens: Template(*(tokens * 5)[:9], system_joint="b"))


@given(templates, st.lists(st.text("ab<", max_size=4), min_size=4, max_size=4))
def test_overlapping_special_tokens_are_refused_or_harmless(template: Template, said: list[str]) -> None:
    try:
        (render, _) = compiled(template)
    except ChatError as error:
        assert "do not overlap" in str(error)
        return
    specials = {token: 256 + nth for nth, token in enumerate(template.special_tokens)}
    tokenizer = Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens=specials)
    parts = [{"type": type, "text": text} for type, text in zip(PART_TYPES, said, strict=False)]
    messages = [
        {"role": "system", "content": said[0]},
        {"role": "user", "content": said[1]},
        {"role": "assistant", "content": [*parts, *parts]},
        {"role": "user", "content": said[2]},
        {"role": "assistant", "content": said[3]},
    ]
    try:
        text = render(messages=messages)
    except jinja2.TemplateError:
        return
    assert (
        tokenizer.encode(text, allowed_special="all") == Chat(tokenizer, template).render(messages, None)[0]
    )


def test_special_tokens_that_text_could_complete_are_refused() -> None:
    for bos, user_start in (("<a>", "<a>b"), ("<a>", "x<a>y"), ("<a>", "b<"), ("aXa", "<u>")):
        with pytest.raises(ChatError, match="could form"):
            Template(bos=bos, user_start=user_start).to_jinja()


def test_overlaps_with_other_special_tokens_are_refused() -> None:
    with pytest.raises(ChatError, match=r"could form 'a<\|bos\|>'"):
        NANOCHAT.to_jinja(["a<|bos|>"])
    assert '"<end>"' in NANOCHAT.to_jinja(["<end>", "<|bos|>"])
