"""Charts: pictures and pages from a specification, without a network."""

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
from merganser.charts.lettering import DRAWABLE

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
    """Width and height, which stand at the beginning of every PNG."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_one_specification_becomes_all_three(tmp_path: Path) -> None:
    paths = [tmp_path / f"chart{kind}" for kind in (".png", ".svg", ".html")]
    charts.save(SPEC, *paths)
    assert sorted(tmp_path.iterdir()) == sorted(paths), "and nothing else"
    width, height = size(paths[0].read_bytes())
    assert 400 < width < 700
    assert 200 < height < 500
    assert "Größe" in paths[1].read_text("utf-8")
    assert "Größe" in paths[2].read_text("utf-8")


def test_scale_is_dots_for_every_unit() -> None:
    one, three = size(charts.png(SPEC, scale=1)), size(charts.png(SPEC, scale=3))
    assert three == (3 * one[0], 3 * one[1])


def test_drawn_the_same_every_time() -> None:
    assert charts.svg(SPEC) == charts.svg(SPEC)
    assert charts.png(SPEC) == charts.png(SPEC)


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Vega is not in memory, neither at the beginning nor at the end."""
    vega.cache_clear()
    yield
    vega.cache_clear()


@pytest.mark.usefixtures("forgotten")
def test_vega_is_kept_for_other_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    version = importlib.metadata.version("vl-convert-python")
    kept = tmp_path / f"vega-lite-{VERSION}-vl-convert-{version}.js"
    kept.write_bytes(b"\xff")  # damaged: bundled anew
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path))
    bundle = vega()
    assert len(bundle) > 500_000
    assert list(tmp_path.iterdir()) == [kept]
    assert kept.read_bytes() == bundle.encode()
    kept.write_bytes(b"// kept\r\n")
    vega.cache_clear()
    assert vega() == "// kept\r\n"


@pytest.mark.usefixtures("forgotten")
def test_vega_does_without_a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "file" / "cache"))
    assert len(vega()) > 500_000


def test_the_page_fetches_nothing() -> None:
    page = charts.html(SPEC)
    assert len(page) > 500_000, "Vega is in it"
    assert "default-src 'none'" in page, "and a browser would refuse to fetch anything"
    assert not re.search(r"\b(import\s*\(?|from)\s*[\"']https?:", page)
    beside = re.sub(r"(?s)<script>.*?</script>", "", page).replace("http-equiv", "")
    assert not re.search(r"http|\ssrc\s*=|\shref\s*=|<link", beside)


def test_no_text_in_the_data_ends_the_page() -> None:
    evil = "</script><script src='https://example.org'></script><!--"
    page = charts.html({"data": {"values": [{"n": evil}]}, "mark": "bar"})
    assert page.count("</script") == 2
    literal = re.search(r'vegaEmbed\("#chart", (.*), \{"mode"', page)
    assert literal
    assert json.loads(literal[1])["data"][0]["values"] == [{"n": evil}], "and it is what it was"


def test_what_the_specification_says_goes_before_the_look() -> None:
    assert 'fill="white"' in charts.svg(SPEC)
    assert 'fill="#123456"' in charts.svg(SPEC | {"background": "#123456"})


@pytest.mark.parametrize("draw", [charts.svg, charts.png, charts.html])
def test_data_from_elsewhere_are_refused(draw: Any) -> None:
    layer = {"data": {"url": "http://127.0.0.1:9/data.json"}, "mark": "bar"}
    with pytest.raises(SettingsError, match=r"would fetch 'http://127\.0\.0\.1:9/data\.json'"):
        draw({"layer": [layer]})


def test_not_a_specification() -> None:
    with pytest.raises(SettingsError, match="not a Vega-Lite specification"):
        charts.svg({"mark": "no such mark", "encoding": 7})


def test_a_scale_out_of_bounds() -> None:
    with pytest.raises(SettingsError, match="scale is a number above 0"):
        charts.png(SPEC, scale=0)


def test_one_name_that_is_not_known_and_nothing_is_written(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"chart\.pdf: a chart is saved as"):
        charts.save(SPEC, tmp_path / "chart.svg", tmp_path / "chart.pdf")
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="cannot write"):
        charts.save(SPEC, tmp_path / "nowhere" / "chart.svg")


def test_without_the_extra_it_says_what_to_install() -> None:
    code = "import sys; sys.modules['vl_convert'] = None; import merganser.charts as charts; charts.svg({})"
    done = processes.run([sys.executable, "-c", code])
    assert "drawing charts needs vl_convert: pip install 'merganser[plot]'" in done.stderr


def test_all_ways_under_one_name(tmp_path: Path) -> None:
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
def test_what_the_font_cannot_draw_is_escaped(text: str, drawn: str) -> None:
    assert charts.drawable(text) == drawn


def test_no_two_texts_look_the_same() -> None:
    every = [chr(code) for code in range(0x3000) if code not in range(0xD800, 0xE000)]
    assert len({charts.drawable(character) for character in every}) == len(every)


def test_the_font_draws_every_character_that_is_left_as_it_is() -> None:
    """Drawn by the converter itself, none is a box or nothing; one that no font has is a box."""
    import vl_convert
    from merganser.charts.look import FONT

    def picture(text: str) -> bytes:
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="50" height="40">'
            f'<text x="8" y="28" font-size="24" font-family="{FONT}">{html.escape(text)}</text></svg>'
        )
        return bytes(vl_convert.svg_to_png(svg, scale=1))

    box, nothing = picture("\U0010fffd"), picture("")
    assert box != nothing
    assert picture("\u0378") == box, "what has no glyph looks like that"
    bad = [character for character in sorted(DRAWABLE - {" "}) if picture(character) in (box, nothing)]
    assert bad == []
