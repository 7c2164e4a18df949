"""The ladder: fourteen steps and the Rust core return the same merges. A failure message names the step."""

import io
import json
import re
import sys
import warnings
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import merganser
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from merganser import MerganserWarning, SettingsError
from merganser.learn.ladder import STEPS, LadderSettings, Merges, approximate, load_step, step07_memory_lean
from merganser.learn.ladder.step01_naive import split_words
from merganser.learn.ladder.step03_streamed_counting import split_words as split_lines
from merganser.learn.ladder.words import PATTERN, TIE_BREAK, WHITESPACE, as_bytes, lines, visible

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
CASES: list[dict[str, Any]] = tomllib.loads((ROOT / "cases" / "ladder.toml").read_text("utf-8"))["case"]

#: Few letters, so that pairs repeat and overlap; then arbitrary text.
texts = st.text(st.sampled_from("aaab \n"), max_size=80) | st.text(
    st.sampled_from("abcé中\t\r\x0b\x0c\x1c\x1f\x85\u00a0\u2028 \n"), max_size=60
)
texts |= st.text(max_size=30)


def core(text: str, vocab_size: int) -> Merges:
    if not text:
        return []  # the core rejects an empty corpus
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        return merganser.train(
            [text], vocab_size, pattern=PATTERN, tie_break=TIE_BREAK, separator=None
        ).merges


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
@pytest.mark.parametrize("step", STEPS)
def test_every_step_returns_the_merges_of_every_case(step: int, case: dict[str, Any]) -> None:
    merges = load_step(step)(case["text"], LadderSettings(case["vocab_size"]))
    expected = [(left.encode("latin-1"), right.encode("latin-1")) for left, right in case["merges"]]
    assert merges == expected, f"step {step}, {STEPS[step]}"


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_the_core_returns_the_merges_of_every_case(case: dict[str, Any]) -> None:
    expected = [(left.encode("latin-1"), right.encode("latin-1")) for left, right in case["merges"]]
    assert core(case["text"], case["vocab_size"]) == expected


@given(texts, st.integers(0, 40))
@example("aaaa aaa aa a ababab\nbababa", 40)
@settings(deadline=None)
def test_every_step_returns_the_merges_of_the_core(text: str, merges: int) -> None:
    expected = core(text, 256 + merges)
    for step, name in STEPS.items():
        assert load_step(step)(text, LadderSettings(256 + merges)) == expected, (
            f"step {step}, {name}, differs"
        )


@pytest.mark.parametrize("step", STEPS)
def test_every_step_returns_the_merges_of_the_core_on_long_text(step: int) -> None:
    """Train on the docs and on repetitive text, which is long enough for stale entries."""
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").glob("*.md")))[:12_000]
    text += "".join(f" {'ab' * (n % 7)}{n % 97}" for n in range(3000))
    stream = io.BytesIO(text.encode())
    assert load_step(step)(stream, LadderSettings(450)) == core(text, 450), (
        f"step {step}, {STEPS[step]}, differs"
    )


@pytest.mark.parametrize("step", [9, 10, 11, 12, 13])
def test_compaction_and_rebuilding_change_nothing(
    step: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With thresholds so low that lists are compacted and heaps rebuilt all the time."""
    module = import_module(f"merganser.learn.ladder.{STEPS[step]}")
    low = {"SIZE_THRESHOLD": 1, "MIN_TOUCHED_FOR_WASTE": 1, "LIVE_RATIO_THRESHOLD": 0.9}
    low |= {"MIN_SIZE": 1, "COOL_DOWN": 0}
    for name, value in low.items():
        if hasattr(module, f"COMPACTION_{name}"):
            monkeypatch.setattr(module, f"COMPACTION_{name}", value)
    if step >= 10:
        monkeypatch.setattr(module, "REBUILD_FACTOR", 0)
    text = "".join(f" {'ab' * (n % 7)}{n % 97}ab{n % 89}" for n in range(3000))
    assert module.train(text, LadderSettings(600, debug_logging=True)) == core(text, 600), (
        f"step {step} differs"
    )
    counters = json.loads(capsys.readouterr().err)
    assert counters["compactions"] > 10
    assert step < 10 or counters["heap_rebuilds"] > 0


def test_all_engines_agree_on_every_code_point() -> None:
    """`re` on text and on bytes, the loop and the core find the same words around every character."""
    for start in range(0, 0x110000, 0x4000):
        codes = [code for code in range(start, start + 0x4000) if not 0xD800 <= code < 0xE000]
        text = "".join(f"a{chr(code)}b {chr(code)}" for code in codes)
        words = re.findall(PATTERN, text)
        assert merganser.split(text, pattern=PATTERN) == words
        assert split_words(text) == words
        assert [word.decode() for word in re.findall(PATTERN.encode(), text.encode())] == words


@given(texts)
def test_words_by_line_equal_the_words_of_the_text(text: str) -> None:
    words = re.findall(PATTERN, text)
    assert "".join(words) == text, "nothing is lost"
    assert split_words(text) == words
    by_line = [line.decode() for line in lines(text, LadderSettings())]
    assert [word for line in by_line for word in split_lines(line)] == words
    assert [word for line in by_line for word in re.findall(PATTERN, line)] == words
    assert merganser.split(text, pattern=PATTERN) == words


def test_every_byte_is_visible_and_round_trips() -> None:
    for byte in range(256):
        shown = visible(bytes([byte]))
        assert len(shown) == 1
        assert shown.isprintable()
        assert shown not in WHITESPACE
        assert as_bytes(shown) == bytes([byte])


@given(st.text(max_size=30), st.integers(1, 60))
def test_max_mb_cuts_at_a_whole_character(text: str, size: int) -> None:
    data = b"".join(lines(text, LadderSettings(max_mb=size / 1e6)))
    assert text.encode().startswith(data)
    assert text.startswith(data.decode())
    assert len(data) == len(text.encode()) or size - 4 < len(data) <= size


@pytest.mark.parametrize("step", STEPS)
def test_counters_are_logged_on_request(step: int, capsys: pytest.CaptureFixture[str]) -> None:
    load_step(step)("low lower lowest", LadderSettings(260))
    assert capsys.readouterr().err == ""
    load_step(step)("low lower lowest", LadderSettings(260, debug_logging=True))
    assert json.loads(capsys.readouterr().err)["merges"] == 4


def test_settings_out_of_range_are_rejected() -> None:
    with pytest.raises(SettingsError, match="vocab_size must be between 256 and 1,114,112, got 255"):
        LadderSettings(255)
    with pytest.raises(SettingsError, match="max_mb must be greater than 0, got 0"):
        LadderSettings(max_mb=0)


@pytest.mark.parametrize("vocab_size", [0xD7FF, 0xD801, 0xDFFF, 0x10FFFF])
def test_step_7_packs_every_id_into_bytes_that_cannot_be_misread(vocab_size: int) -> None:
    """Ids of one to four bytes, surrogates included; a pair is found only where its ids are."""
    ids = [0, 127, 128, 255, 256, 0x7FF, 0x800, vocab_size - 1, vocab_size, vocab_size, 97]
    packed = step07_memory_lean.pack_ids(*ids)
    assert step07_memory_lean.unpack_ids(packed) == ids
    for at, pair in enumerate(pairwise(ids)):
        merged = packed.replace(step07_memory_lean.pack_ids(*pair), step07_memory_lean.pack_ids(300))
        assert step07_memory_lean.unpack_ids(merged) == [*ids[:at], 300, *ids[at + 2 :]]


def test_step_7_stores_types_as_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every pair is read from packed bytes, before and after a merge."""
    seen: list[bytes] = []

    def unpack(packed: bytes) -> list[int]:
        seen.append(packed)
        return unpack_ids(packed)

    unpack_ids = step07_memory_lean.unpack_ids
    monkeypatch.setattr(step07_memory_lean, "unpack_ids", unpack)
    step07_memory_lean.train("élan élan", LadderSettings(257))
    assert seen == ["Ã©lan".encode(), " Ã©lan".encode(), "Ã©lĀ".encode(), "Ã©lan".encode(), " Ã©lĀ".encode(),
                    " Ã©lan".encode()]  # fmt: skip


def test_step_12_applies_the_net_change_of_a_type_once(capsys: pytest.CaptureFixture[str]) -> None:
    """abcabcabcabc: merging ab changes (c, a) three times and creates (ab, c) four times; step 12 updates
    each pair once."""
    text = "abcabcabcabc"
    for step, applied in ((11, None), (12, 4)):
        load_step(step)(text, LadderSettings(257, debug_logging=True))
        counters = json.loads(capsys.readouterr().err)
        assert counters["pairs_changed"] == 7
        assert counters.get("deltas_applied") == applied


def test_the_approximate_trainer_can_choose_a_wrong_pair() -> None:
    """Four of forty pairs are cached: ab (75 times), and bc, bd, be (30 times each, 25 of them after a).
    Merging ab, ab+c, ab+d and ab+e uses them up. What is left of the list is bc (5 times); xy (20 times) was
    never in it, and no merge updates it."""
    words = {"abc": 25, "abd": 25, "abe": 25, "bc": 5, "bd": 5, "be": 5, "xy": 20}
    words |= {f"{chr(0x61 + n)}{chr(0x41 + n)}": 1 for n in range(26)} | {f"{n}!": 1 for n in range(9)}
    text = "\n".join("\n".join([word] * times) for word, times in words.items())
    right = [(b"a", b"b"), (b"ab", b"c"), (b"ab", b"d"), (b"ab", b"e"), (b"x", b"y")]
    assert core(text, 261) == load_step(8)(text, LadderSettings(261)) == right
    assert approximate.train(text, LadderSettings(261)) == [*right[:4], (b"b", b"c")]


def test_the_approximate_trainer_sorts_only_updated_pairs() -> None:
    counts = dict.fromkeys(range(40), 1) | {5: 10, 7: 6, 30: 8}
    cached = [(-12, 5), (-9, 6), (-3, 8)]
    assert approximate.resort(cached, {5, 30}, counts) == [(-10, 5), (-9, 6), (-8, 30), (-3, 8)], (
        "6 and 8 keep their places although their counts have changed, and 7 is missed: neither is updated"
    )
    assert approximate.resort(cached, set(range(40)), counts)[:3] == [(-10, 5), (-8, 30), (-6, 7)]


def test_the_approximate_trainer_is_mostly_right() -> None:
    text = (ROOT / "docs" / "how-bpe-works.md").read_text("utf-8")
    wrong, right = approximate.train(text, LadderSettings(400)), core(text, 400)
    assert len(wrong) == len(right)
    assert len(set(wrong) & set(right)) > 100


def test_a_step_needs_only_the_standard_library_and_no_other_step() -> None:
    folder = ROOT / "python" / "merganser" / "learn" / "ladder"
    for name in (*STEPS.values(), "approximate"):
        source = (folder / f"{name}.py").read_text("utf-8")
        for module in re.findall(r"^(?:from|import) ([\w.]+)", source, re.MULTILINE):
            shared = module in ("merganser.learn.ladder.settings", "merganser.learn.ladder.words")
            assert shared or module.partition(".")[0] in sys.stdlib_module_names, f"{name} imports {module}"
        for part in ("What changes", "Why it", "Cost:", "When it"):
            assert part in source or name == STEPS[1], f"{name} lacks: {part}"
