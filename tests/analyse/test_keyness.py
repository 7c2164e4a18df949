"""Keyness: words that a text has more often than general English lead, and other languages have none."""

import pytest
from merganser.analyse.keyness import FILE, keyness


def test_keyness_is_the_smoothed_ratio_of_frequencies() -> None:
    general = dict(line.split()[::-1] for line in FILE.read_text("utf-8").splitlines()[1:])
    assert "clerval" not in general
    found = keyness({"the": 700, "father": 200, "clerval": 100})
    assert found["clerval"] == pytest.approx((100_000 + 100) / 100)
    assert found["father"] == pytest.approx((200_000 + 100) / (int(general["father"]) + 100))
    assert found["the"] == pytest.approx((700_000 + 100) / (int(general["the"]) + 100))


def test_other_languages_have_no_keyness() -> None:
    assert keyness({"der": 5, "vater": 3, "und": 4, "in": 2}) == {}
    assert keyness({}) == {}


def test_frequencies_are_sorted_and_plausible() -> None:
    head, *lines = FILE.read_text("utf-8").splitlines()
    assert "tools/count_english.py" in head
    numbers = [int(line.partition(" ")[0]) for line in lines]
    assert numbers == sorted(numbers, reverse=True)
    assert lines[0].endswith(" the")
    assert 500_000 < sum(numbers) < 1_000_000, "per million words, without the rare ones"
