"""Split: lossless, and with the same pre-tokens as the reference engines."""

import sys
from pathlib import Path

import merganser
import pytest
import regex
from corpora import corpus_text
from cuts import tiktoken_pretokens, with_rest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CUSTOM_PATTERNS, PRESETS, texts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = Path(__file__).parents[1] / "cases" / "split.toml"
PATTERN_OF = {name: merganser.Counts({}, pattern=name).pattern for name in PRESETS}


def cases() -> list[dict[str, object]]:
    return tomllib.loads(CASES.read_text("utf-8"))["case"]


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case['pattern']}-{case['text']!r}"[:60])
def test_pretokens_equal_those_in_split_toml(case: dict[str, str]) -> None:
    assert merganser.split(case["text"], case["pattern"]) == case["pretokens"]


def test_every_preset_is_tested() -> None:
    assert tuple(merganser.preset_names()) == PRESETS


@given(texts, st.sampled_from(PRESETS + CUSTOM_PATTERNS))
def test_nothing_is_lost(text: str, pattern: str) -> None:
    assert "".join(merganser.split(text, pattern)) == text


@pytest.mark.parametrize("pattern", PRESETS)
@given(text=texts)
def test_presets_split_as_tiktoken_does(pattern: str, text: str) -> None:
    pretokens = merganser.split(text, pattern)
    assert tiktoken_pretokens(text, PATTERN_OF[pattern], pretokens) == pretokens


@pytest.mark.parametrize("pattern", CUSTOM_PATTERNS)
@given(text=texts)
def test_custom_patterns_split_as_tiktoken_does(pattern: str, text: str) -> None:
    pretokens = merganser.split(text, pattern)
    assert tiktoken_pretokens(text, with_rest(pattern), pretokens) == pretokens


#: Characters that are old enough for every Unicode version to agree on.
_AGREED = st.text(st.sampled_from("abzAZ'sSlLéßñπЖ中ひ한 \t\n\r\u3000019²½!?.,-_()👍"), max_size=40)


@pytest.mark.parametrize("pattern", PRESETS)
@given(text=_AGREED)
def test_presets_split_as_the_regex_module_does(pattern: str, text: str) -> None:
    # In Python, `$` also matches before a final newline; `\Z` does not.
    for_python = PATTERN_OF[pattern].replace("$", r"\Z")
    assert merganser.split(text, pattern) == regex.findall(for_python, text)


@pytest.mark.parametrize("pattern", PRESETS)
@pytest.mark.parametrize("corpus", ["english.txt", "multilingual.txt", "code.txt", "frankenstein_raw.txt"])
def test_presets_split_real_text_as_tiktoken_does(pattern: str, corpus: str) -> None:
    text = corpus_text(corpus, 300_000)
    pretokens = merganser.split(text, pattern)
    assert tiktoken_pretokens(text, PATTERN_OF[pattern], pretokens) == pretokens


def test_the_last_of_three_newlines_is_a_separate_pretoken() -> None:
    assert merganser.split("x\n\n\ny", "gpt2") == ["x", "\n\n", "\n", "y"]


@pytest.mark.parametrize("pattern", ["gpt5", "GPT4", "", "(", "a**", "(?<name", r"\p{Nope}"])
def test_invalid_patterns_are_refused(pattern: str) -> None:
    with pytest.raises(merganser.PatternError):
        merganser.split("some text", pattern)


@pytest.mark.parametrize("pattern", ["a*", "x?", r"\b", r"\Ga", r"a\Kb", "(?=a)"])
def test_patterns_that_match_nothing_are_refused(pattern: str) -> None:
    with pytest.raises(merganser.PatternError):
        merganser.split("aaa b", pattern)


def test_a_pattern_that_rescans_stops_at_a_limit() -> None:
    with pytest.raises(merganser.PatternError, match="rescans"):
        merganser.split("a" * 3_000_000, r"\p{L}*ing|.")


@pytest.mark.parametrize("unit", [" ", "\n", "a", "1", "!", "👍", "中", "\r\n", "\u0301"])
@pytest.mark.parametrize("pattern", PRESETS)
def test_long_runs_of_one_character_do_not_panic(pattern: str, unit: str) -> None:
    text = unit * 200_000 + "x"
    assert "".join(merganser.split(text, pattern)) == text
