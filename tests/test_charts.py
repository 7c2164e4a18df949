"""Charts: images and pages from a specification, without a network."""

import html
import importlib.metadata
import json
import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
from merganser import SettingsError, WriteError, charts
from merganser.charts.drawing import VERSION, vega
from merganser.charts.fonts import DRAWABLE
from merganser.charts.spec import halo, titled
from merganser.charts.theme import PAPER, RAMP, for_dark_page, schemes

SPEC: dict[str, Any] = {
    "title": "Größe",
    "data": {"values": [{"n": 1, "seconds": 0.5, "url": "https://example.org"}, {"n": 10, "seconds": 4}]},
    "mark": "line",
    "encoding": {
        "x": {"field": "n", "type": "quantitative", "scale": {"type": "log"}},
        "y": {"field": "seconds", "type": "quantitative"},
    },
    "width": 200,
    "height": 100,
}


def size(png: bytes) -> tuple[int, int]:
    """Read the width and height of a PNG from its header."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_a_specification_is_saved_in_three_formats(tmp_path: Path) -> None:
    paths = [tmp_path / f"chart{kind}" for kind in (".png", ".svg", ".html")]
    charts.save(SPEC, *paths)
    assert sorted(tmp_path.iterdir()) == sorted(paths), "no other files"
    width, height = size(paths[0].read_bytes())
    assert 400 < width < 700
    assert 200 < height < 500
    assert "Größe" in paths[1].read_text("utf-8")
    assert "Größe" in paths[2].read_text("utf-8")


def test_scale_multiplies_the_size_of_a_png() -> None:
    one, three = size(charts.png(SPEC, scale=1)), size(charts.png(SPEC, scale=3))
    assert three == (3 * one[0], 3 * one[1])


def test_rendering_is_deterministic() -> None:
    assert charts.svg(SPEC) == charts.svg(SPEC)
    assert charts.png(SPEC) == charts.png(SPEC)


@pytest.fixture
def without_cached_vega() -> Iterator[None]:
    """Clear the in-memory copy of Vega before and after the test."""
    vega.cache_clear()
    yield
    vega.cache_clear()


@pytest.mark.usefixtures("without_cached_vega")
def test_vega_is_cached_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version("vl-convert-python")
    cached = tmp_path / f"vega-lite-{VERSION}-vl-convert-{version}.js"
    cached.write_bytes(b"\xff")  # corrupt: bundled again
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path))
    bundle = vega()
    assert len(bundle) > 500_000
    assert list(tmp_path.iterdir()) == [cached]
    assert cached.read_bytes() == bundle.encode()
    cached.write_bytes(b"// cached\r\n")
    vega.cache_clear()
    assert vega() == "// cached\r\n"


@pytest.mark.usefixtures("without_cached_vega")
def test_vega_works_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "file" / "cache"))
    assert len(vega()) > 500_000


def test_the_page_makes_no_requests() -> None:
    page = charts.html(SPEC)
    assert len(page) > 500_000, "contains Vega"
    policy = page.partition('Policy" content="')[2].partition('"')[0]
    assert policy.startswith("default-src 'none'; script-src 'sha256-"), "the browser blocks all requests"
    assert "eval" not in policy and policy.count("unsafe") == 1, "inline styles only"
    assert not re.search(r"\b(import\s*\(?|from)\s*[\"']https?:", page)
    markup = re.sub(r"(?s)<script>.*?</script>", "", page).replace("http-equiv", "")
    assert not re.search(r"http|\ssrc\s*=|\shref\s*=|<link", markup)


def test_data_cannot_end_the_script() -> None:
    evil = "</script><script src='https://example.org'></script><!--"
    page = charts.html({"data": {"values": [{"n": evil}]}, "mark": "bar"})
    assert page.count("</script") == 2
    literal = re.search(r'vegaEmbed\("#chart", (.*), \{"mode"', page)
    assert literal
    assert json.loads(literal[1])["data"][0]["values"] == [{"n": evil}], "the data are unchanged"


def test_a_specification_overrides_the_theme() -> None:
    assert 'fill="white"' in charts.svg(SPEC)
    assert 'fill="#123456"' in charts.svg(SPEC | {"background": "#123456"})


@pytest.mark.parametrize("draw", [charts.svg, charts.png, charts.html])
def test_data_at_a_url_are_rejected(draw: Any) -> None:
    layer = {"data": {"url": "http://127.0.0.1:9/data.json"}, "mark": "bar"}
    with pytest.raises(SettingsError, match=r"refers to 'http://127\.0\.0\.1:9/data\.json'; use 'values'"):
        draw({"layer": [layer]})


def test_an_invalid_specification_is_reported() -> None:
    with pytest.raises(SettingsError, match="cannot draw the Vega-Lite specification"):
        charts.svg({"mark": "no such mark", "encoding": 7})


def test_a_scale_out_of_range_is_rejected() -> None:
    with pytest.raises(SettingsError, match="scale must be greater than 0 and at most 10, got 0"):
        charts.png(SPEC, scale=0)


def test_an_unknown_extension_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"chart\.pdf; use \.html, \.png or \.svg"):
        charts.save(SPEC, tmp_path / "chart.svg", tmp_path / "chart.pdf")
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_path_is_reported(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot write"):
        charts.save(SPEC, tmp_path / "nowhere" / "chart.svg")


def test_a_missing_extra_is_reported_with_the_command_to_install_it() -> None:
    code = "import sys; sys.modules['vl_convert'] = None; import merganser.charts as charts; charts.svg({})"
    done = processes.run([sys.executable, "-c", code])
    assert "drawing charts needs vl_convert: pip install 'merganser[plot]'" in done.stderr


def test_save_all_writes_three_formats(tmp_path: Path) -> None:
    paths = charts.save_all(SPEC, tmp_path, "chart")
    assert [path.name for path in paths] == ["chart.png", "chart.svg", "chart.html"]
    assert all(path.exists() for path in paths)


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("naïve Größe, Žižek, Ωμέγα, Жук", "naïve Größe, Žižek, Ωμέγα, Жук"),
        ("Ġthe → 2×", "Ġthe → 2×"),
        ("中文", "\\u4e2d\\u6587"),
        ("😀\U0001f468\u200d", "\\U0001f600\\U0001f468\\u200d"),
        ("e\u0301 \u0915 \u0e01 \ud800", "e\\u0301 \\u0915 \\u0e01 \\ud800"),
        ("a\nb\tc\r\x00\x7f\xa0\xad", "a\\nb\\tc\\r\\u0000\\u007f\\u00a0\\u00ad"),
        ("\\u4e2d]^-[", "\\\\u4e2d]^-["),
    ],
)
def test_characters_without_a_glyph_are_escaped(text: str, drawn: str) -> None:
    assert charts.drawable(text) == drawn


def test_no_two_texts_look_the_same() -> None:
    every = [chr(code) for code in range(0x3000) if code not in range(0xD800, 0xE000)]
    assert len({charts.drawable(character) for character in every}) == len(every)


def test_the_font_can_draw_every_character_that_is_not_escaped() -> None:
    """The converter draws none of them as a box or as nothing; a character without a glyph is a box."""
    import vl_convert
    from merganser.charts.theme import FONT

    def render(text: str) -> bytes:
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="40">'
            f'<text x="8" y="28" font-size="24" font-family="{FONT}">{html.escape(text)}</text></svg>'
        )
        return bytes(vl_convert.svg_to_png(svg, scale=1))

    box, empty = render("\U0010fffd"), render("")
    assert box != empty
    assert render("\u0378") == box, "a character without a glyph is a box"
    bad = [character for character in sorted(DRAWABLE - {" "}) if render(character) in (box, empty)]
    assert bad == []


def test_a_long_subtitle_is_wrapped_and_drawn() -> None:
    drawn = charts.svg(titled(SPEC, "Lengths", "a tokenizer on 中 " * 20))
    assert ">Lengths<" in drawn and "\\u4e2d" in drawn
    assert size(charts.png(titled(SPEC, "Lengths", "a tokenizer " * 40), 1))[0] < 700


def test_a_halo_is_below_its_text_and_has_the_color_of_the_page() -> None:
    below, text = halo({"mark": {"type": "text"}, "encoding": {"color": {"value": "red"}}})
    assert below["mark"]["stroke"] == PAPER and "color" not in below["encoding"]
    assert for_dark_page(below)["mark"]["stroke"] != PAPER
    assert "stroke" not in text["mark"]


def test_dark_pages_have_as_many_different_colors() -> None:
    """A tokenizer keeps its place among the colors; no two become the same."""
    light, dark = (schemes()[name]["range"]["category"] for name in ("light", "dark"))
    assert len(set(light)) == len(set(dark)) == 7
    assert for_dark_page(light) == dark
    assert len(set(for_dark_page(list(RAMP)))) == len(RAMP)
