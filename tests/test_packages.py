"""The packages: complete metadata, every file that they need and no other."""

import re
import shutil
import sys
import tarfile
from email.message import Message
from email.parser import Parser
from importlib import util
from pathlib import Path
from types import ModuleType
from zipfile import ZipFile

import merganser
import processes
import pytest
from examples import ROOT

IS_CLONE = (ROOT / ".git").exists()


def _maturin() -> str | None:
    beside = Path(sys.executable).with_name("maturin")
    return str(beside) if beside.exists() else shutil.which("maturin")


def _tool(name: str) -> ModuleType:
    spec = util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec and spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tool = _tool("check_packages")


def built(folder: Path, *command: str) -> Path:
    maturin = _maturin()
    if maturin is None:
        pytest.skip("needs maturin")
    done = processes.run([maturin, *command, "--out", folder], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    [path] = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not IS_CLONE:
        pytest.skip("an sdist is built from a clone")
    return built(tmp_path_factory.mktemp("sdist"), "sdist")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of the core that `make` has compiled."""
    if not (ROOT / "target" / "release").is_dir():
        pytest.skip("the core was not compiled here; run make")
    command = ("build", "--release", "--offline", "--interpreter", sys.executable)
    return built(tmp_path_factory.mktemp("wheel"), *command)


def test_the_sdist_holds_the_repository(sdist: Path) -> None:
    assert sdist.name == f"merganser-{merganser.__version__}.tar.gz"
    assert tool.check_sdist(sdist) == []
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "Cargo.lock",
        "LICENSE",
        "Makefile",
        "PKG-INFO",
        "crates/core/src/lib.rs",
        "tests/test_packages.py",
    } <= names


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    assert re.fullmatch(rf"merganser-{re.escape(merganser.__version__)}-cp310-abi3-\w+\.whl", wheel.name)
    assert tool.check_wheel(wheel) == []
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
        info = f"merganser-{merganser.__version__}.dist-info"
        entry_points = archive.read(f"{info}/entry_points.txt").decode()
        check_metadata(Parser().parsestr(archive.read(f"{info}/METADATA").decode()))
    assert "merganser=merganser.cli:run" in entry_points.replace(" ", "")
    assert {"merganser/_core.pyi", "merganser/py.typed", f"{info}/licenses/LICENSE"} <= names
    assert any(name.endswith(".js") for name in names), "the page of the studio"
    assert not [name for name in names if name.startswith(("tests/", "benchmarks/"))]


def test_the_metadata_is_complete(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        found = archive.extractfile(f"merganser-{merganser.__version__}/PKG-INFO")
        assert found
        check_metadata(Parser().parsestr(found.read().decode()))


def check_metadata(metadata: Message) -> None:
    assert metadata["Name"] == "merganser"
    assert metadata["Version"] == merganser.__version__
    assert metadata["License-Expression"] == "MIT"
    assert metadata["License-File"] == "LICENSE"
    assert metadata["Requires-Python"] == ">=3.10"
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert metadata["Author"] and len(metadata["Summary"]) < 80
    assert "tokenizer" in metadata["Keywords"]
    urls = {line.partition(",")[0] for line in metadata.get_all("Project-URL") or ()}
    assert urls == {"Homepage", "Documentation", "Source", "Issues", "Changelog", "Security"}
    classifiers = metadata.get_all("Classifier") or []
    assert len(classifiers) == len(set(classifiers)) > 15
    assert not [line for line in classifiers if line.startswith("License ::")], "the expression says it"


def test_the_readme_of_a_release_has_only_absolute_links() -> None:
    """PyPI shows it, where relative links lead nowhere. Each leads to a file that the release contains."""
    text = _tool("absolute_links").released()
    targets = re.findall(r"\]\(([^)]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
    ours = 0
    for address in (link or picture for link, picture in targets):
        assert address.startswith("https://"), address
        tag = rf"https://(?:github\.com/[\w-]+/\w+/blob|raw\.[\w.]+/[\w-]+/\w+)/v{merganser.__version__}/"
        if found := re.match(tag, address):
            assert (ROOT / address[found.end() :].partition("#")[0]).exists(), address
            ours += 1
    assert ours > 20


def test_strays_and_missing_files_are_found(tmp_path: Path) -> None:
    """A wheel with the files of the package, then one fault at a time."""
    name = f"merganser-{merganser.__version__}"
    info = f"{name}.dist-info"
    right = {*tool._package_files(), "merganser/_core.abi3.so", f"{info}/sboms/a.cyclonedx.json"}
    right |= {f"{info}/{file}" for file in tool.METADATA}
    assert {"merganser/__init__.py", "merganser/_core.pyi", "merganser/py.typed"} <= right

    def problems(names: set[str]) -> list[str]:
        path = tmp_path / f"{name}-cp310-abi3-any.whl"
        with ZipFile(path, "w") as archive:
            for file in names:
                archive.writestr(file, "")
        return [problem.partition(": ")[2] for problem in tool.check_wheel(path)]

    assert problems(right) == []
    assert problems(right - {"merganser/py.typed"}) == ["merganser/py.typed is missing"]
    for stray in ("merganser/__pycache__/a.pyc", "tests/test_a.py", "merganser/notes.orig"):
        assert problems(right | {stray}) == [f"{stray} does not belong there"]
    assert problems(right - {f"{info}/licenses/LICENSE"}) == ["licenses/LICENSE is missing"]
    assert problems(right - {f"{info}/sboms/a.cyclonedx.json"}) == ["no SBOM"]
    assert problems(right - {"merganser/_core.abi3.so"}) == ["0 compiled cores instead of one: "]
    assert tool.main(tmp_path) == 1
    assert tool.main(tmp_path / "missing") == 1
