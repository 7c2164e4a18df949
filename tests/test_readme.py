"""README.md: every example runs, the first screen has what a visitor looks for, and figures are current."""

import re
import sys
from pathlib import Path

import processes
import pytest
from examples import ROOT, blocks, furnish, run

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = blocks("README.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder where the examples run in order, as a reader would type them."""
    folder = tmp_path_factory.mktemp("readme")
    furnish(folder)
    return folder


@pytest.mark.parametrize(
    ("language", "code"), BLOCKS, ids=[f"{n}-{block[0]}" for n, block in enumerate(BLOCKS)]
)
def test_every_example_runs(folder: Path, language: str, code: str) -> None:
    run(folder, language, code)


def test_the_first_screen_has_claim_chart_install_and_code() -> None:
    screen = "\n".join(README.splitlines()[:60])
    wanted = (
        "\n**Train ",
        "docs/assets/benchmarks-light.svg",
        "\n## Install\n",
        "make demo",
        "pip install merganser",
    )
    for part in (*wanted, "```python\nimport merganser\n", "```sh\nmerganser train"):
        assert part in screen, f"{part!r} is not on the first screen"
    assert screen.count("```") % 2 == 0, "the first screen ends inside an example"
    assert len(README.splitlines()) < 150


def test_it_says_that_the_package_is_not_published_yet() -> None:
    """Remove this test, and the sentence, with the first release."""
    assert "not on PyPI yet" in README


def test_its_figures_are_those_of_the_newest_records() -> None:
    command = [sys.executable, "-W", "error", "benchmarks/front.py", "--check"]
    done = processes.run(command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    written_by_hand = re.sub(r"<!-- benchmark: .*?<!-- end -->", "", README, flags=re.DOTALL)
    figures = re.findall(r"\d[\d.,]*\s?(?:×|times|seconds|ms|µs|s\b|[kMG]B\b)", written_by_hand)
    assert not figures, (
        f"{figures} cannot be checked; put figures between the comments of benchmarks/front.py"
    )


def test_the_required_versions_are_named() -> None:
    rust = re.search(r'^rust-version = "(.*)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    python = re.search(
        r'^requires-python = ">=(.*)"', (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE
    )
    for page in ("README.md", "docs/index.md", "docs/get-started.md", "docs/guides/install.md"):
        text = " ".join((ROOT / page).read_text("utf-8").split())
        assert rust and f"Rust {rust[1]} or newer" in text, page
        assert python and f"Python {python[1]} or newer" in text, page
