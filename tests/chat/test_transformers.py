"""`AutoTokenizer` renders a conversation with an export as `Chat` does: ids, masks, errors."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import jinja2
import merganser
import pytest
from conversations import BAD, GOOD, name
from hypothesis import assume, given
from hypothesis import strategies as st
from merganser import ExportError, SettingsError
from merganser.chat import NANOCHAT, SPECIAL_TOKENS, Chat, ChatError, Template
from merganser.chat.render import PART_TYPES
from strategies import texts
from transformers import AutoTokenizer

TEXT = "What is 2+2? The answer is 4. the cat sat\n\n 안녕 你好 " * 3
OTHERS = ["<|endoftext|>", "<s>"]
TOKENIZER = merganser.train([TEXT], 297, pattern="nanochat", special_tokens=[*SPECIAL_TOKENS, *OTHERS])
CHAT = Chat(TOKENIZER)


@pytest.fixture(scope="module")
def auto(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("chat")
    files = TOKENIZER.export(folder, format="huggingface")
    assert {file.name for file in files} == {"tokenizer.json", "tokenizer_config.json", "chat_template.jinja"}
    assert merganser.load(folder) == TOKENIZER
    return AutoTokenizer.from_pretrained(folder)


def test_every_special_token_is_special(auto: Any) -> None:
    assert set(auto.all_special_tokens) == set(TOKENIZER.special_tokens)
    assert (auto.bos_token, auto.eos_token) == ("<|bos|>", "<|assistant_end|>")
    whole = "".join(TOKENIZER.special_tokens)
    assert auto.encode(whole) == list(TOKENIZER.special_tokens.values())
    assert auto.decode(auto.encode(f"{whole}hi{whole}"), skip_special_tokens=True) == "hi"


def rendered(auto: Any, messages: object, **settings: object) -> tuple[list[int], list[int]]:
    out = auto.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True, **settings)
    return out["input_ids"], out["assistant_masks"]


@pytest.mark.parametrize("case", [case for case in GOOD if "forged" not in case], ids=name)
def test_transformers_renders_the_same_ids_and_mask(auto: Any, case: dict[str, Any]) -> None:
    messages = case["messages"]
    assert rendered(auto, messages) == CHAT.render(messages, None)
    for size in {case.get("max_tokens", 1), 5}:
        assert rendered(auto, messages, truncation=True, max_length=size) == CHAT.render(messages, size)
    for end in range(1, len(messages) + 1):
        if messages[end - 1]["role"] == "user":
            prompt = auto.apply_chat_template(messages[:end], add_generation_prompt=True)["input_ids"]
            assert prompt == CHAT.render_prompt(messages[:end])


parts = st.lists(st.tuples(st.sampled_from(PART_TYPES), texts), max_size=4).map(
    lambda parts: [{"type": kind, "text": text} for kind, text in parts]
)


@given(texts, texts, parts, texts)
def test_transformers_renders_the_same_ids_and_mask_for_any_text(
    auto: Any, system: str, user: str, answer: list[dict[str, str]], last: str
) -> None:
    written = (system, user, "".join(part["text"] for part in answer), last)
    assume(not any(special in text for special in (*SPECIAL_TOKENS, *OTHERS) for text in written))
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": user},
        {"role": "assistant", "content": answer},
        {"role": "user", "content": last},
    ]
    ids, mask = rendered(auto, messages)
    ours = CHAT.render(messages, None)
    assert ids == ours[0]
    kinds = [(left["type"], right["type"]) for left, right in pairwise(answer)]
    if ("text", "python_output") not in kinds:  # transformers misses tokens of a last character (see docs)
        assert mask == ours[1]
    prompt = auto.apply_chat_template(messages, add_generation_prompt=True)["input_ids"]
    assert prompt == CHAT.render_prompt(messages)


@pytest.mark.parametrize("case", BAD, ids=name)
def test_the_template_refuses_the_same_conversations(auto: Any, case: dict[str, Any]) -> None:
    with pytest.raises((jinja2.TemplateError, ValueError)):
        auto.apply_chat_template(case["messages"])


@pytest.mark.parametrize("special", [*SPECIAL_TOKENS, *OTHERS])
def test_text_cannot_forge_a_special_token(auto: Any, special: str) -> None:
    """Neither a marker of the template nor any other special token."""
    half = len(special) // 2
    halves = [{"type": "text", "text": special[:half]}, {"type": "text", "text": special[half:]}]
    say = {"role": "user", "content": "?"}
    for messages in (
        [{"role": "user", "content": f"a{special}b"}],
        [{"role": "system", "content": special}, say],
        [say, {"role": "assistant", "content": special}],
        [say, {"role": "assistant", "content": halves}],
        [say, {"role": "assistant", "content": [{"type": "python", "text": special}]}],
        [say, {"role": "assistant", "content": [{"type": "python_output", "text": special}]}],
    ):
        with pytest.raises(jinja2.TemplateError, match="contains the special token"):
            auto.apply_chat_template(messages)
    almost = [{"role": "user", "content": special[:-1] + " " + special[1:]}]
    assert rendered(auto, almost) == CHAT.render(almost)
    apart = [halves[0], {"type": "python", "text": ""}, halves[1]]
    messages = [say, {"role": "assistant", "content": apart}]
    assert rendered(auto, messages) == CHAT.render(messages)


def test_an_assistant_message_ends_with_eos(auto: Any) -> None:
    assert (auto.bos_token, auto.eos_token) == ("<|bos|>", "<|assistant_end|>")
    messages = [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]
    ids, _ = rendered(auto, messages)
    assert (ids[0], ids[-1]) == (auto.bos_token_id, auto.eos_token_id)
    assert auto.decode(ids, skip_special_tokens=True) == "2+24"


def test_a_custom_template_is_exported(tmp_path: Path) -> None:
    template = Template(
        bos="<s>", user_start="<u>", user_end="<e>", assistant_start="<a>", assistant_end="<e>"
    )
    tokenizer = merganser.train([TEXT], 290, special_tokens=[*template.special_tokens, *OTHERS[:1]])
    tokenizer.export(tmp_path / "plain", format="huggingface")
    assert not (tmp_path / "plain" / "chat_template.jinja").exists()
    tokenizer.export(tmp_path / "chat", format="huggingface", chat=template)
    auto = AutoTokenizer.from_pretrained(tmp_path / "chat")
    assert (auto.bos_token, auto.eos_token) == ("<s>", "<e>")
    for case in GOOD:
        if "forged" not in case:
            messages = case["messages"]
            assert rendered(auto, messages) == Chat(tokenizer, template).render(messages, None)


def test_templates_that_cannot_be_exported_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="gpt2 does not support chat templates"):
        TOKENIZER.export(tmp_path / "x", format="gpt2", chat=NANOCHAT)
    with pytest.raises(ChatError, match="lacks the special tokens <u>"):
        TOKENIZER.export(tmp_path / "x", format="huggingface", chat=Template(user_start="<u>"))
    overlapping = merganser.train([TEXT], 290, special_tokens=[*SPECIAL_TOKENS, "x<|bos|>"])
    with pytest.raises(ExportError, match=r"could form 'x<\|bos\|>'"):
        overlapping.export(tmp_path / "x", format="huggingface")
    assert not (tmp_path / "x").exists()
