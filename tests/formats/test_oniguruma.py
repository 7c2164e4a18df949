"""Patterns: Hugging Face's engine splits with ours, as we write them, where we do; and they come back."""

import adversarial
import merganser
import pytest
from hypothesis import given
from merganser import ExportError
from merganser.formats import BadFile, oniguruma
from strategies import CUSTOM_PATTERNS, PRESETS, texts
from tokenizers import Regex, pre_tokenizers


def pattern_of(name: str) -> str:
    return merganser.Counts({}, pattern=name).pattern


MORE = (
    r"\x41+|\W",
    r"(?i:x{2,3}+)|(?:ab|c){1,2}+|\B.|[\w-]+|[^\w\s]",
    r"^a+|b+$|\s",
    r"[\x61-\x63]{2}+|(?s:.)",
)
PATTERNS = [pattern_of(name) for name in PRESETS] + list(CUSTOM_PATTERNS) + list(MORE)
SPLITS = {
    pattern: pre_tokenizers.Split(Regex(oniguruma.with_rest(pattern)), "isolated") for pattern in PATTERNS
}


def theirs(pattern: str, text: str) -> list[str]:
    return [piece for piece, _ in SPLITS[pattern].pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=texts)
def test_pieces_are_the_same_there(pattern: str, text: str) -> None:
    assert theirs(pattern, text) == merganser.split(text, pattern)


PROPERTIES = [[rf"\p{{{name}}}" for name in line.split()] for line in oniguruma.PROPERTIES]
ESCAPES = [
    [r"\d", r"\s"],
    [r"\w"],
    ["(?i:s)", "(?i:k)", "(?i:[a-jl-rt-z])"],
    ["."],
    [r"[^\s\p{L}\p{N}]", r"\s"],
]


@pytest.mark.parametrize("classes", [*PROPERTIES, *ESCAPES], ids=lambda classes: classes[0])
def test_every_code_point_is_in_the_same_classes_there(classes: list[str]) -> None:
    # As stretches of one class each: a code point in another class would begin or end one.
    rest = "".join(f"(?!{one})" for one in classes)
    pattern = "|".join(f"(?:{one})+" for one in classes) + f"|(?:{rest}(?s:.))+"
    cutter = pre_tokenizers.Split(Regex(oniguruma.written(pattern)), "isolated")
    code_points = adversarial.TEXTS["every code point"]
    # In parts: the library takes time that grows with the square of a text.
    for start in range(0, len(code_points), 20_000):
        text = code_points[start : start + 20_000] + "a"
        pieces = [piece for piece, _ in cutter.pre_tokenize_str(text)]
        assert pieces == merganser.split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_come_back(pattern: str) -> None:
    back = oniguruma.read(oniguruma.with_rest(pattern))
    assert oniguruma.written(back) == oniguruma.written(pattern)


@pytest.mark.parametrize("name", PRESETS)
def test_presets_come_back_by_name(name: str) -> None:
    assert oniguruma.read(oniguruma.written(pattern_of(name))) == name


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?x) a b",
        r"(?m)^a$",
        r"(a)\1",
        r"(?P<name>a)",
        r"[[:alpha:]]+",
        r"[\w--a]",
        r"[a-z&&b]",
        r"a(?i)b|c",
        r"\R",
        r"a\Z",
        r"(?i)strasse",
        r"(?i)é",
        r"\p{Cherokee}",
        r"[\s\PX]",
    ],
)
def test_what_might_mean_something_else_is_refused(pattern: str) -> None:
    with pytest.raises(ExportError, match="pattern"):
        oniguruma.written(pattern)


@pytest.mark.parametrize(
    "pattern", [r"\w+|\W", r"\p{N}{1,3}+|\P{N}", r"a$|[^a]", r"\p{L}+", "(", "(?:()|(?m:.)"]
)
def test_patterns_of_others_that_may_mean_something_else_are_refused(pattern: str) -> None:
    with pytest.raises(BadFile, match="something else"):
        oniguruma.read(pattern)
