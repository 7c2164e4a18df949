"""Measurements of the character-level tokenizer."""

import pytest
from merganser import InternalError
from merganser.learn import char_bpe, char_speed
from merganser.learn.char_bpe_fast import FastCharBPE, Techniques
from merganser.learn.char_speed import Speed

WORDS = char_bpe.split("the cat sat on the mat; the other cat, the one that sat on the hat, left. " * 20)
MERGES = [merge.pair for merge in char_bpe.learn(WORDS)][:30]


def test_sizes_report_both_passes_and_mark_extrapolated_times() -> None:
    rows = Speed(WORDS, MERGES, plain_words=300).sizes((100, 1000))
    assert [row["plain"]["extrapolated"] for row in rows] == [False, True]
    assert [row["plain"]["measured_words"] for row in rows] == [100, 300]
    for row in rows:
        first, second = row["first_pass"], row["second_pass"]
        assert first["misses"] == row["unique_words"] == len(set(WORDS))
        assert first["hits"] + first["misses"] == second["hits"] == row["words"]
        assert (second["misses"], second["hit_rate"]) == (0, 1)
        assert first["tokens"] == second["tokens"]
        assert second["speed_up"] == row["plain"]["seconds"] / second["seconds"]


def test_different_ids_are_detected_before_timing(monkeypatch: pytest.MonkeyPatch) -> None:
    speed = Speed(WORDS, MERGES)
    assert speed.prove({"cats": WORDS}) == 2 * len(set(WORDS))
    monkeypatch.setattr(FastCharBPE, "_by_best_pair", lambda _self, symbols: symbols)
    with pytest.raises(InternalError, match="different ids for"):
        speed.prove({})


def test_different_ids_of_one_technique_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FastCharBPE, "_by_rank", lambda _self, symbols: symbols)
    with pytest.raises(InternalError, match=r"with Techniques\(ranks=True, best_pair=False"):
        Speed(WORDS, MERGES).prove({})


def test_a_different_split_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(char_bpe, "split", str.split)
    with pytest.raises(InternalError, match="splits differently from"):
        Speed(WORDS, MERGES).prove({"cats": ["a-b"]})


def test_kinds_of_text_have_the_expected_hit_rates() -> None:
    kinds = char_speed.kinds_of_text("cats", WORDS, 2000)
    rows = {row["kind"]: row for row in Speed(WORDS, MERGES, compared_words=2000).kinds(kinds)}
    assert list(rows) == ["cats", "code", "random", "repetitive"]
    assert rows["random"]["first_hit_rate"] < 0.2 < rows["code"]["first_hit_rate"]
    assert "not full" in rows["random"]["cache"]
    assert rows["repetitive"]["first_hit_rate"] > 0.97
    assert {row["second_hit_rate"] for row in rows.values()} == {1}


def test_the_breakdown_contains_every_technique() -> None:
    breakdown = Speed(WORDS, MERGES, compared_words=500).breakdown(1.0)
    names = [row["name"] for row in breakdown["cumulative"]]
    assert names[:2] == ["plain", "+ merge ranks"]
    assert names[-2:] == ["+ word cache, first pass", "+ word cache, second pass"]
    assert len(breakdown["each_left_out"]) == len(char_speed.TECHNIQUES) == len(vars(Techniques()))


def test_the_memory_of_the_cache_is_measured() -> None:
    cache = Speed(WORDS, MERGES).cache_memory()
    assert cache["words"] == len(set(WORDS))
    assert 100 < cache["bytes_per_word"] < 1000
    assert cache["advice"] == "large enough"
