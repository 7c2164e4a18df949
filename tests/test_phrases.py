"""The list of forbidden phrases: what it matches, and what it does not."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import processes
import pytest

TOOLS = Path(__file__).parents[1] / "tools"
PHRASES = {"as a rule": "usually", "mend it": "fix it", "mend": "fix", "colour": "color"}


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_phrases", TOOLS / "check_phrases.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("text", "hits"),
    [
        ("It is, as a rule, exact.", [(1, "as a rule")]),
        ("one\nAs  a\trule.\nColour", [(2, "as a rule"), (3, "colour")]),
        ("# it is as\n# a rule exact", [(1, "as a rule")]),
        ("    /// as a\n    /// rule", [(1, "as a rule")]),
        ("    //! as\n    //! a rule", [(1, "as a rule")]),
        (" * as\n * a rule", [(1, "as a rule")]),
        ("mend it, then mend.", [(1, "mend it"), (1, "mend")]),
        ("as a ruler, amend, colourful, recolour, has a rule", []),
        ("as a\n\nrule", []),
        ("", []),
    ],
)
def test_phrases_match_whole_words_across_line_breaks(
    tool: ModuleType, text: str, hits: list[tuple[int, str]]
) -> None:
    assert list(tool.find(text, PHRASES)) == hits


def test_the_documentation_and_sources_are_checked(tool: ModuleType, tmp_path: Path) -> None:
    for name in (
        *("README.md", "docs/a.md", "python/a.py", "python/a.pyi", "python/static/a.js"),
        *("crates/core/src/lib.rs", "tests/test_a.py", "python/a.svg", "CHANGELOG.md"),
        "python/merganser/analyse/examples.py",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("mend it", "utf-8")
    hits = tool.check(tmp_path, PHRASES)
    assert {hit.file for hit in hits} == {
        *("README.md", "docs/a.md", "python/a.py", "python/a.pyi", "python/static/a.js"),
        "crates/core/src/lib.rs",
    }
    assert str(hits[0]) == "README.md:1: mend it (write: fix it)"


@pytest.mark.parametrize(("text", "code"), [("Nobody can forge it.\n", 1), ("It cannot be forged.\n", 0)])
def test_the_script_prints_hits_and_exits_with_1(text: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text(text, "utf-8")
    done = processes.run([sys.executable, "-W", "error", str(TOOLS / "check_phrases.py"), str(tmp_path)])
    assert done.returncode == code, done.stderr
    assert done.stdout == "README.md:1: nobody can (write: cannot be)\n" * code


def test_the_list_is_sorted_and_every_phrase_has_a_replacement(tool: ModuleType) -> None:
    phrases = tool.read_phrases(TOOLS / "phrases.txt")
    assert all(phrases.values())
    for section in (TOOLS / "phrases.txt").read_text("utf-8").split("\n\n")[1:]:
        listed = [line.partition(" → ")[0] for line in section.splitlines() if not line.startswith("#")]
        assert listed == sorted(listed)
    for phrase in ("gone on with", "so many bytes", "told apart", "mend it", "what comes of", "as a rule"):
        assert phrase in phrases


def test_a_phrase_without_a_replacement_is_reported(tool: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "phrases.txt").write_text("as a rule\n", "utf-8")
    with pytest.raises(SystemExit, match="'as a rule' has no replacement"):
        tool.read_phrases(tmp_path / "phrases.txt")
