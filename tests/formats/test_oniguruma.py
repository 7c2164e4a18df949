"""Oniguruma: translated patterns split as ours do, and translate back."""

import adversarial
import merganser
import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st
from merganser import ExportError
from merganser.formats import BadFile, coverage, oniguruma, pattern_parts
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
    pattern: pre_tokenizers.Split(Regex(oniguruma.with_fallback(pattern)), "isolated") for pattern in PATTERNS
}


def theirs(pattern: str, text: str) -> list[str]:
    return [pretoken for pretoken, _ in SPLITS[pattern].pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", PATTERNS)
@given(text=texts)
def test_a_translated_pattern_yields_the_same_pretokens(pattern: str, text: str) -> None:
    assert theirs(pattern, text) == merganser.split(text, pattern)


PROPERTIES = [[rf"\p{{{name}}}" for name in line.split()] for line in pattern_parts.PROPERTIES]
ESCAPES = [
    [r"\d", r"\s"],
    [r"\w"],
    ["(?i:s)", "(?i:k)", "(?i:[a-jl-rt-z])"],
    ["."],
    [r"[^\s\p{L}\p{N}]", r"\s"],
]


@pytest.mark.parametrize("classes", [*PROPERTIES, *ESCAPES], ids=lambda classes: classes[0])
def test_character_classes_agree_on_every_code_point(classes: list[str]) -> None:
    # Match runs of one class each: a code point in another class would start or end a run.
    rest = "".join(f"(?!{one})" for one in classes)
    pattern = "|".join(f"(?:{one})+" for one in classes) + f"|(?:{rest}(?s:.))+"
    cutter = pre_tokenizers.Split(Regex(oniguruma.to_oniguruma(pattern)), "isolated")
    code_points = adversarial.TEXTS["every code point"]
    # In chunks, because the library takes quadratic time.
    for start in range(0, len(code_points), 20_000):
        text = code_points[start : start + 20_000] + "a"
        pretokens = [pretoken for pretoken, _ in cutter.pre_tokenize_str(text)]
        assert pretokens == merganser.split(text, pattern)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_translated_patterns_translate_back(pattern: str) -> None:
    back = oniguruma.from_oniguruma(oniguruma.with_fallback(pattern))
    assert oniguruma.to_oniguruma(back) == oniguruma.to_oniguruma(pattern)


@pytest.mark.parametrize("name", PRESETS)
def test_translated_presets_are_recognized_by_name(name: str) -> None:
    assert oniguruma.from_oniguruma(oniguruma.to_oniguruma(pattern_of(name))) == name


@pytest.mark.parametrize(
    "pattern", [r"(?:a|b?c)+", r"(?:(?!x).)+", r"(?:a?)?b", r"(?:a*){1}b", r"(?:x(?:y)?)+"]
)
def test_a_loop_that_always_consumes_a_character_is_portable(pattern: str) -> None:
    assert oniguruma.to_oniguruma(pattern) == pattern


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
        r"a(?:b?|c)+",
        r"(?:b*)*a",
        r"a(?:(?=b)|c)+",
        r"(?:|a)+b",
        r"(?:a?b?){2,3}c",
        r"((a?)+b)*c",
        r"(?:^)*a",
    ],
)
def test_a_pattern_that_is_not_portable_is_refused(pattern: str) -> None:
    with pytest.raises(ExportError, match="pattern"):
        oniguruma.to_oniguruma(pattern)


@pytest.mark.parametrize(
    "pattern",
    [r"\w+|\W", r"\p{N}{1,3}+|\P{N}", r"a$|[^a]", "(", "(?:()|(?m:.)", r"\h+", "a*", "(?<n>a)", "a{2"],
)
def test_a_foreign_pattern_that_is_not_portable_is_refused(pattern: str) -> None:
    with pytest.raises(BadFile, match=r"may interpret .* differently"):
        oniguruma.from_oniguruma(pattern)


# ── foreign patterns ──────────────────────────────────────────────────────────

#: Written for Oniguruma; most leave text unmatched.
FOREIGN = [
    r"\p{L}+",
    r"\p{N}{1,3}|\p{L}+",
    r"\s+\z|\A\d+| ?[^\s\p{L}\p{N}]+",
    r"(?>\p{N}{1,3})|(?<=a)b+|\s+(?!\S)",
    r"(?i)the|an?",
    r"(?m:.){3}",
    r"[A-Za-z]+(?='s)|[^\r\n]",
    r"a|b(?=\n)|(?<!c)c",
    r"(?:\p{Lu}|\p{Ll}+)+|\d",
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s+",
]
FOREIGN_SPLITS = {
    pattern: (pre_tokenizers.Split(Regex(pattern), "isolated"), oniguruma.from_oniguruma(pattern))
    for pattern in FOREIGN
}


@pytest.mark.parametrize("pattern", FOREIGN)
@given(text=texts)
def test_foreign_patterns_yield_the_same_pretokens(pattern: str, text: str) -> None:
    cutter, ours = FOREIGN_SPLITS[pattern]
    assert merganser.split(text, ours) == [pretoken for pretoken, _ in cutter.pre_tokenize_str(text)]


@pytest.mark.parametrize("pattern", FOREIGN)
def test_foreign_patterns_round_trip(pattern: str) -> None:
    ours = FOREIGN_SPLITS[pattern][1]
    assert oniguruma.from_oniguruma(oniguruma.with_fallback(ours)) == ours


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(BadFile, match="more than 8192 characters"):
        oniguruma.from_oniguruma("(" * 5000 + "a" + "){1}+" * 5000)


def test_a_pattern_that_may_drop_text_is_refused() -> None:
    assert oniguruma.from_oniguruma(r" ?\S+|\s", drops_unmatched=True) == r" ?\S+|\s"
    with pytest.raises(BadFile, match="may drop text"):
        oniguruma.from_oniguruma(r" ?\S+|\s\s", drops_unmatched=True)


@pytest.mark.parametrize("pattern", [pattern_of(name) for name in PRESETS])
def test_presets_cover_all_text(pattern: str) -> None:
    assert coverage.covers(pattern)


#: Atoms and repetitions of which many patterns cover all text and many just fail to.
atoms = st.sampled_from(
    ["a", "[^a]", "[^ab]", "[ab]", r"\s", r"\S", r"\w", r"\W", "(?s:.)", "(?:a|b)", r"\b", "."]
)
repeats = st.sampled_from(["", "", "+", "?", "*", "?+", "*+", "++", "{1,2}", "{0,2}+", "{2}"])
branches = st.lists(st.tuples(atoms, repeats).map("".join), min_size=1, max_size=3).map("".join)


@given(st.lists(branches, min_size=1, max_size=4).map("|".join), st.text("ab \n!é", max_size=12))
def test_a_covering_pattern_leaves_nothing_unmatched(pattern: str, text: str) -> None:
    try:
        pretokens = merganser.split(text, pattern)
        covered = coverage.covers(pattern)
    except (merganser.PatternError, ExportError):
        return
    if covered:
        # A fallback after a covering pattern never matches.
        assert merganser.split(text, f"(?:{pattern})|(?s:.)+") == pretokens
        found = regex.findall(f"(?:{pattern})|(?P<rest>(?s:.))", text)
        assert not any(found)
