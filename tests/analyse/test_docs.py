"""The examples of docs/analyse.md run."""

import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[2] / "docs" / "analyse.md").read_text("utf-8")


def test_python_runs(capsys: pytest.CaptureFixture[str]) -> None:
    for code in re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL):
        exec(code, {})
    assert "Rényi efficiency (α = 2.5, V = 270)" in capsys.readouterr().out


def test_commands_are_there() -> None:
    from merganser.cli import merganser

    for line in re.findall(r"^merganser (\w+)(.*)$", TEXT, re.MULTILINE):
        command = merganser.get_command(None, line[0])  # type: ignore[arg-type]
        assert command is not None
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"--[a-z-]+", line[1])) <= known


def test_every_public_name_is_explained() -> None:
    from merganser import analyse

    for name in analyse.__all__:
        if name.isupper() or name == "report":
            continue
        assert getattr(analyse, name).__doc__
        assert re.search(rf"\b{name}\b", TEXT), f"{name} is not in docs/analyse.md"
