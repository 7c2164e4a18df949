"""The public API: its names, and its errors."""

import inspect
import re
import sys
from pathlib import Path

import merganser
import processes
import pytest
from merganser import _core, cli, errors


def test_public_names_change_only_on_purpose() -> None:
    assert merganser.__all__ == [
        "ArgumentError",
        "Characters",
        "ChatError",
        "CheckpointError",
        "CorpusError",
        "Counts",
        "CountsError",
        "CountsFile",
        "DecodeError",
        "EmbeddingsError",
        "EncodeError",
        "EngineError",
        "ExportError",
        "FormatError",
        "IncrementalEncoder",
        "InternalError",
        "Local",
        "MerganserError",
        "MerganserWarning",
        "PatternError",
        "Ray",
        "ReadOptions",
        "SettingsError",
        "Skipped",
        "Spans",
        "StreamDecoder",
        "Tokenizer",
        "TokenizerError",
        "Tokens",
        "TokensError",
        "Verification",
        "WriteError",
        "__version__",
        "compare",
        "count",
        "load",
        "preset_names",
        "split",
        "train",
        "verify",
    ]
    for name in merganser.__all__:
        assert getattr(merganser, name).__doc__


def test_names_are_imported_when_they_are_used() -> None:
    code = "import sys, merganser; print(*(name for name in sys.modules if name.startswith('merganser')))"
    done = processes.run([sys.executable, "-c", code])
    assert done.stdout.split() == ["merganser._core", "merganser"], done.stderr
    assert {*merganser._MODULES, "__version__", "preset_names", "split"} == set(merganser.__all__)
    assert set(merganser.__all__) <= set(dir(merganser))
    with pytest.raises(AttributeError, match="'merganser' has no attribute 'trian'"):
        merganser.trian  # noqa: B018


def test_the_version_equals_the_version_of_the_crate(capsys: pytest.CaptureFixture[str]) -> None:
    cargo = (Path(__file__).parents[1] / "Cargo.toml").read_text("utf-8")
    assert f'version = "{merganser.__version__}"' in cargo
    assert cli.main(["--version"]) == 0
    assert capsys.readouterr().out == f"merganser, version {merganser.__version__}\n"


def test_compare_is_a_public_function() -> None:
    tokenizers = {str(size): merganser.train(["low lower lowest"] * 9, size) for size in (256, 260)}
    rows = merganser.compare(tokenizers, {"low": ["low lower lowest"]})
    assert [(row.tokenizer, row.tokens) for row in rows] == [("256", 16), ("260", 6)]


def test_the_drawn_error_tree_matches_the_classes() -> None:
    assert errors.__doc__
    drawn = re.findall(r"\b(\w+(?:Error|Warning))  ", errors.__doc__)
    defined = [name for name, value in vars(errors).items() if inspect.isclass(value)]
    assert ["MerganserError", *drawn] == defined
    for name in drawn[:-1]:
        assert issubclass(getattr(errors, name), errors.MerganserError)


def test_a_panic_is_an_ordinary_exception(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(merganser.InternalError, match="asked to panic"):
        _core._panic_for_test()
    assert capfd.readouterr().err == ""


def test_lone_surrogates_are_refused_everywhere() -> None:
    broken = "half \ud83d a character"
    tokenizer = merganser.train(["abc"], 257)
    for use, error in (
        (lambda: merganser.split(broken), merganser.EncodeError),
        (lambda: tokenizer.encode(broken), merganser.EncodeError),
        (lambda: tokenizer.encode_ordinary(broken), merganser.EncodeError),
        (lambda: tokenizer.encode_batch([broken]), merganser.EncodeError),
        (lambda: tokenizer.encode_flat([broken]), merganser.EncodeError),
        (lambda: tokenizer.encode_with_offsets(broken), merganser.EncodeError),
        (lambda: tokenizer.count_tokens(broken), merganser.EncodeError),
        (lambda: merganser.count([broken]), merganser.CorpusError),
    ):
        with pytest.raises(error, match="lone surrogate at position 5"):
            use()


def test_only_the_cli_and_the_studio_import_merganser_learn() -> None:
    code = (
        "import sys, merganser\n"
        "merganser.train(['low lower lowest'], 258).encode('low')\n"
        "assert not [name for name in sys.modules if name.startswith('merganser.learn')]"
    )
    processes.run([sys.executable, "-W", "error", "-c", code], check=True)
    package = Path(merganser.__file__).parent
    for file in package.rglob("*.py"):
        place = file.relative_to(package).parts
        shows_it = place == ("studio", "ladder.py") or (place[0] == "cli" and place[1].startswith("learn"))
        if place[0] != "learn" and not shows_it:
            assert "merganser.learn" not in file.read_text("utf-8"), file
