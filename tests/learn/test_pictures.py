"""Charts of the ladder and of the character-level tokenizer."""

import re
from typing import Any

import pytest
from merganser import charts
from merganser.charts.theme import GRAY, PALE
from merganser.learn import speed_pictures
from merganser.learn.ladder import pictures

pytest.importorskip("vl_convert")


def run(step: str, seconds: float, megabytes: float = 50) -> dict[str, Any]:
    return {
        "step": step,
        "name": "the Rust core" if step == "core" else f"{step} step",
        "cpu_seconds": seconds,
        "peak_bytes": int(megabytes * 1e6),
        "timed_out": False,
    }


LADDER = {
    "corpus": "novel",
    "bytes": 2e6,
    "vocab_size": 1000,
    "steps": [run("core", 0.01), *(run(str(n), 1000 / n**n) for n in range(1, 9))],
    "sweep": [],
}


def test_five_steps_are_highlighted_and_all_others_are_gray() -> None:
    time, _ = pictures.per_step(LADDER)["hconcat"]
    colors = {figure["name"]: figure["color"] for figure in time["data"]["values"]}
    assert list(colors.values()).count(PALE) == 4, "the core and the steps that gain least"
    assert len(set(colors.values())) == 6
    assert colors["8 step"] != PALE and colors["1 step"] == PALE


def test_the_ladder_prints_factors_and_starts_memory_at_zero() -> None:
    time, memory = pictures.per_step(LADDER)["hconcat"]
    labels = [figure["label"] for figure in time["data"]["values"]]
    assert labels[0].endswith("100,000×") and labels[1] == "1,000 s" and labels[2] == "250 s · 4.0×"
    scale = memory["layer"][0]["encoding"]["x"]["scale"]
    assert scale["domain"][0] == 0 and "type" not in scale, "linear"
    drawn = charts.svg(pictures.per_step(LADDER))
    assert "novel, 2.0 MB, 1,000 tokens" in drawn and "speedup over 1 step" in drawn


def test_a_single_step_has_no_factor() -> None:
    time, _ = pictures.per_step({**LADDER, "steps": [run("14", 3.0)]})["hconcat"]
    assert [figure["label"] for figure in time["data"]["values"]] == ["3 s"]


def test_lines_of_other_steps_are_pale() -> None:
    sweep = [one | {"bytes": 1e6, "vocab_size": 1000} for one in LADDER["steps"]]
    spec = pictures.by_size({**LADDER, "sweep": sweep})
    scale = spec["hconcat"][0]["encoding"]["color"]["scale"]
    assert scale["domain"][-2:] == ["the Rust core", "other steps"]
    assert scale["range"][-2:] == [GRAY, PALE] and len(scale["domain"]) == 7
    assert ">other steps<" in charts.svg(spec)


def rows_of(sizes: list[int]) -> list[dict[str, Any]]:
    def part(words: int, rate: float) -> dict[str, Any]:
        return {"seconds": words / rate, "words_per_second": rate}

    return [
        {
            "words": words,
            "plain": part(words, 2e3) | {"extrapolated": words > 10_000},
            "first_pass": part(words, 5e5) | {"speed_up": 250.0},
            "second_pass": part(words, 5e6) | {"speed_up": 2500.0},
        }
        for words in sizes
    ]


@pytest.mark.parametrize("count", range(1, 13))
def test_speed_is_drawn_for_any_number_of_sizes(count: int) -> None:
    sizes = [500 * 2**n + 1 for n in range(count)]
    kinds = [
        {"kind": kind, "words": 100, "first_hit_rate": 0.9, "second_hit_rate": 1.0}
        for kind in ("novel", "code", "random", "repetitive")
    ]
    spec = speed_pictures.optimization_results("novel", 2000, rows_of(sizes), kinds)
    drawn = charts.svg(spec)
    assert drawn.count(">second pass<") >= 2, "each panel of lines names its lines"
    assert drawn.count(">2,500×<") == count, "each bar has its value"
    assert drawn.startswith('<svg xmlns="http://www.w3.org/2000/svg"')
    width = re.search(r' width="(\d+)"', drawn)
    assert width and 880 < int(width[1]) < 960, "the bars of one panel are not as wide as those of another"
    assert "NaN" not in drawn and "novel, 2,000 merges" in drawn
