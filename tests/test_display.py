"""Display: every token is visible, no character is broken, and no text affects the terminal or page."""

import sys
import unicodedata

import merganser
import pytest
from hypothesis import given
from merganser.tokenizer.display import Segment, TokenDisplay
from merganser.tokenizer.glyphs import visible
from strategies import texts

BYTES = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens={"<end>": 256})
PLAY = merganser.train(["play, sing, ring with tokens"] * 9, 275)
#: Text that could affect a terminal, or reverse the letters next to it.
HOSTILE = "<script>alert(1)</script>&\x1b[31m\x07\x9b\u202eabc\u2066\u200b\ufeff\r\x00"


@given(texts)
def test_segments_contain_the_text_and_its_ids(text: str) -> None:
    for tokenizer in (BYTES, PLAY):
        shown = tokenizer.show(text)
        assert shown.text == text
        assert list(shown.ids) == tokenizer.encode_ordinary(text)
        assert (shown.tokens, shown.characters) == (len(shown.ids), len(text))
        for segment in shown.segments:
            # Only a split character may contain a token boundary that is not drawn.
            if not segment.split:
                assert tokenizer.decode(segment.ids) == segment.text


@given(texts)
def test_hostile_text_is_inert(text: str) -> None:
    shown = PLAY.show(text + HOSTILE)
    for drawn in (shown.plain, shown.ansi.replace("\x1b[", ""), shown.html):
        kinds = {
            unicodedata.category(character) for character in drawn if character not in "\n\u2068\u2069\u200d"
        }
        assert not kinds & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.plain.count("\u2068") == shown.plain.count("\u2069")
    assert "<script" not in shown.html
    assert visible(HOSTILE).isprintable()


def test_segments_are_separated_and_ids_are_aligned_below() -> None:
    ids = PLAY.encode("playing with tokens")
    first, second, *_ = str(PLAY.show("playing with tokens")).split("\n")
    assert first == "play|ing|·with|·tokens"
    assert second == f"{ids[0]:<5}{ids[1]:<4}{ids[2]:<6}{ids[3]}"


def test_the_figures_are_right() -> None:
    shown = BYTES.show("aé")
    assert shown.figures == {
        "tokens": 3,
        "characters": 2,
        "bytes": 3,
        "bytes_per_token": 1.0,
        "compression_ratio": 0.5,
        "average_token_length": 2 / 3,
    }
    assert BYTES.show("").figures["bytes_per_token"] == 0
    assert BYTES.show("").plain.startswith("0 tokens")
    many = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)}, special_tokens={"<end>": 70_000})
    assert many.show("ab").compression_ratio == 0.25


@pytest.mark.parametrize(
    "character",
    ["é", "e\u0301", "👍🏽", "👨\u200d👩\u200d👧", "🇩🇪", "स्", "❤\ufe0f"],
)
def test_a_split_character_is_displayed_whole_and_marked(character: str) -> None:
    before, cut, after = BYTES.show(f"a{character}b").segments
    assert (before, after) == (Segment("a", (97,)), Segment("b", (98,)))
    assert cut.text == character
    assert cut.visible == f"⟨{character}⟩"
    assert f"⟨{character}⟩" in BYTES.show(character).plain
    assert "dashed" in BYTES.show(character).html


def test_two_flags_are_two_characters() -> None:
    assert [segment.text for segment in BYTES.show("🇩🇪🇫🇷").segments] == ["🇩🇪", "🇫🇷"]


def test_white_space_is_visible() -> None:
    assert visible(" \t\n\r\xa0\u2003\u3000") == "·⇥⏎␍⍽‹U+2003›‹U+3000›"
    assert BYTES.show("a\nb").plain.split("\n")[:4] == ["a |⏎", "97 10", "b", "98"]


def test_wide_characters_are_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    merged = (b"\xe6\x9c", "未".encode(), b"\xe6\x9d", "来".encode())
    tokenizer = merganser.Tokenizer(
        BYTES.mergeable_ranks | {token: 256 + nth for nth, token in enumerate(merged)}
    )
    first, second, *_ = tokenizer.show("未来a").plain.split("\n")
    assert (first, second) == ("未 |来 |a", "257 259 97")
    monkeypatch.setenv("COLUMNS", "8")
    assert tokenizer.show("未来a").plain.split("\n")[2] == "a"


def test_right_to_left_text_is_isolated_and_ordered() -> None:
    shown = BYTES.show("שa1")
    assert shown.direction == "rtl"
    assert [(direction, [part.text for part in run]) for direction, run in shown.runs()] == [
        ("rtl", ["ש"]),
        ("ltr", ["a", "1"]),
    ]
    assert shown.plain.startswith("\u2068⟨ש⟩\u2069"), "isolated, so that it does not reverse its neighbors"
    assert '<span dir="rtl"><span' in shown.html
    assert "<bdi" in shown.html
    # Text without a direction takes that of its neighbors if they agree, or else that of the whole text.
    assert [direction for direction, _ in BYTES.show("a.b").runs()] == ["ltr"]
    assert [(direction, len(run)) for direction, run in BYTES.show("ש.ש.a").runs()] == [
        ("rtl", 4),
        ("ltr", 1),
    ]


def test_only_terminals_get_colors(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = PLAY.show("play")
    assert "\033" not in str(shown)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    assert str(shown) == shown.ansi
    assert "\033[30;103mplay\033[0m" in shown.ansi
    assert shown.__rich__().plain == shown.plain
    assert shown._repr_html_() == shown.html
    monkeypatch.setenv("NO_COLOR", "1")
    assert str(shown) == shown.plain


def test_special_tokens_are_ordinary_text_unless_allowed() -> None:
    assert BYTES.show("<end>").tokens == 5
    assert BYTES.show("<end>", allowed_special="all").segments == (Segment("<end>", (256,)),)
    assert TokenDisplay.of(BYTES, "<end>", {"<end>"}) == BYTES.show("<end>", allowed_special={"<end>"})


def test_a_lone_surrogate_is_rejected() -> None:
    with pytest.raises(merganser.EncodeError, match="lone surrogate"):
        BYTES.show("\ud83d")
