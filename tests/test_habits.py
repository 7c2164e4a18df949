"""CONTRIBUTING, SECURITY, RELEASING, CHANGELOG, CITATION and the workflows agree with the project."""

import re
import sys
from pathlib import Path

import merganser
import processes
import pytest
from examples import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PAGES = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "SECURITY.md")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
#: The sections of Keep a Changelog, in its order.
KINDS = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_link_and_path_exists(page: str) -> None:
    text = read(page)
    for link in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / link).exists(), f"{page} links to {link}"
    if page != "CHANGELOG.md":  # it names what no longer exists
        for path in re.findall(
            r"`((?:crates|python|tests|docs|cases|benchmarks|tools|requirements)/[\w./-]+)`", text
        ):
            assert (ROOT / path).exists(), f"{page} names {path}"


@pytest.mark.parametrize("page", PAGES)
def test_every_target_of_make_exists(page: str) -> None:
    targets = set(re.findall(r"^([\w-]+):", MAKEFILE, re.MULTILINE))
    code = re.findall(r"`(make [\w\s=-]+)`|^(make [\w -]+?)(?:  |$)", read(page), re.MULTILINE)
    for words in (first or second for first, second in code):
        for word in words.split()[1:]:
            assert word in targets or "=" in word, f"{page}: {words}"


def test_the_command_for_some_tests_selects_some() -> None:
    commands = re.findall(r"`\.venv/bin/pytest ([^`]+)`", read("CONTRIBUTING.md"))
    assert commands
    for command in commands:
        listed = [
            sys.executable,
            "-m",
            "pytest",
            "--collect-only",
            "-p",
            "no:cacheprovider",
            *command.split(),
        ]
        done = processes.run(listed, cwd=ROOT)
        assert done.returncode == 0, f"{command}: {done.stdout}"


def test_the_changelog_is_by_version_and_kind() -> None:
    text = read("CHANGELOG.md")
    versions = re.findall(r"^## \[(.+?)\](?: - (.+))?$", text, re.MULTILINE)
    assert f"\n## [{merganser.__version__}] - " in text, "the current version has a section"
    for version, date in versions:
        assert version == "Unreleased" or re.fullmatch(r"\d{4}-\d\d-\d\d|Unreleased", date), version
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", section, re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds]


def test_the_citation_has_the_version_and_the_addresses_agree() -> None:
    citation = read("CITATION.cff")
    assert f"\nversion: {merganser.__version__}\n" in citation
    assert f"\nlicense: {PROJECT['license']}\n" in citation
    source = PROJECT["urls"]["Source"]
    assert f"\nrepository-code: {source}\n" in citation
    assert source.removeprefix("https://") in read("RELEASING.md")
    for name, address in PROJECT["urls"].items():
        assert address.startswith(source) or name == "Documentation", name


def test_the_required_versions_are_those_of_the_project() -> None:
    rust = re.search(r'^rust-version = "(.*)"', read("Cargo.toml"), re.MULTILINE)
    assert rust and f"Rust {rust[1]} or newer" in read("CONTRIBUTING.md")
    python = PROJECT["requires-python"].removeprefix(">=")
    assert f"Python {python} or newer" in read("CONTRIBUTING.md")


def test_pre_commit_runs_make_lint() -> None:
    hooks = re.findall(r"^ +entry: (.+)$", read(".pre-commit-config.yaml"), re.MULTILINE)
    assert hooks == ["make lint"]


def test_the_workflows_test_every_supported_version_and_platform() -> None:
    versions = [
        found[1]
        for line in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    assert versions[0] == PROJECT["requires-python"].removeprefix(">=")
    test = read(".github/workflows/test.yml")
    listed = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{listed}]" in test
    for runner in ("ubuntu-24.04", "ubuntu-24.04-arm", "macos-15", "windows-2025"):
        assert runner in test
    assert f"python: {versions[-1]}t" in test, "the free-threaded interpreter"
    packages = read(".github/workflows/packages.yml")
    for target in ("linux-gnu", "linux-musl", "apple-darwin", "pc-windows-msvc"):
        for architecture in ("x86_64", "aarch64"):
            assert re.search(rf"target: {architecture}-\w*-?{target}\b", packages), (architecture, target)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_pin_actions_and_start_without_permissions(workflow: Path) -> None:
    text = workflow.read_text("utf-8")
    assert "\npermissions: {}\n" in text
    for action in re.findall(r"uses: (\S+.*)", text):
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v[\d.]+", action) or action.startswith("$/"), (
            action
        )
    assert text.count("actions/checkout@") == text.count("persist-credentials: false")
    assert "secrets." not in text
