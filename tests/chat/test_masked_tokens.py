"""MaskedTokens: colored only in terminals, and text cannot affect the terminal or page it is displayed on."""

import sys

import merganser
import pytest
from merganser.chat import SPECIAL_TOKENS, Chat, ChatError

CHAT = Chat(merganser.train(["a"], 265, special_tokens=SPECIAL_TOKENS))
IDS, MASK = CHAT.render([{"role": "user", "content": "<\n\x1b"}, {"role": "assistant", "content": "é"}])
PLAIN = r"<|bos|>|<|user_start|>|<|\n|\x1b|<|user_end|>|<|assistant_start|>|\xc3|\xa9|<|assistant_end|>"


def test_no_colors_without_a_terminal() -> None:
    assert str(CHAT.show(IDS, MASK)) == PLAIN
    assert CHAT.show(IDS[:3], MASK[:3], with_ids=True).plain == "<|bos|>(256)|<|user_start|>(257)|<(60)"


def test_learned_tokens_are_green_and_others_red(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    shown = CHAT.show(IDS[-2:], [0, 1])
    assert str(shown) == "\033[91m\\xa9\033[0m|\033[92m<|assistant_end|>\033[0m"
    assert "\033[90m(169)\033[0m" in str(CHAT.show(IDS[-2:], [0, 1], with_ids=True))
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(shown) == shown.plain


def test_control_characters_never_reach_the_terminal() -> None:
    assert CHAT.show(IDS, MASK).ansi.count("\x1b") == 2 * len(IDS)


def test_html_is_escaped() -> None:
    shown = CHAT.show(IDS, MASK, with_ids=True)
    assert '<span style="color:red">&lt;</span><span style="color:gray">(60)</span>' in shown.html
    assert '<span style="color:green">&lt;|assistant_end|&gt;</span>' in shown.html
    assert shown._repr_html_() == shown.html


def test_ids_and_mask_must_have_the_same_length() -> None:
    with pytest.raises(ChatError, match="got 3 ids and a mask of 2; pass both as returned"):
        CHAT.show([1, 2, 3], [0, 1])
    with pytest.raises(merganser.DecodeError):
        CHAT.show([100_000], [0])
