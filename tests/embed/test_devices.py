"""Backends and devices, as far as they can be tested without torch."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from merganser import SettingsError, embed
from merganser.embed.text import Text
from merganser.embed.torch import choose_device, initial_vectors
from merganser.embed.training import choose, core_trainer, described


def torch_with(*devices: str) -> SimpleNamespace:
    """A stand-in for torch on a machine with these devices."""
    return SimpleNamespace(
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: "mps" in devices)),
        cuda=SimpleNamespace(is_available=lambda: "cuda" in devices),
    )


@pytest.mark.parametrize(
    ("devices", "chosen"), [((), "cpu"), (("cuda",), "cuda"), (("mps",), "mps"), (("cuda", "mps"), "mps")]
)
def test_auto_is_the_best_device_of_torch(
    devices: tuple[str, ...], chosen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", torch_with(*devices))
    assert choose_device("auto") == chosen
    assert choose("torch", "auto") == ("torch", chosen)
    assert choose("torch", "cpu") == ("torch", "cpu")
    assert choose("core", "auto") == ("core", "cpu"), "the core has no other device"
    if "cuda" in devices:
        assert choose("core", "cuda") == ("torch", "cuda"), "only torch has it"
    else:
        with pytest.raises(SettingsError, match="torch finds no cuda device on this machine; use auto or"):
            choose("core", "cuda")


def test_torch_that_is_not_installed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[torch\]'"):
        choose("torch", "auto")


def test_backend_and_device_are_described() -> None:
    assert described("core", "cpu", 1) == "core, 1 thread"
    assert described("core", "cpu", 8) == "core, 8 threads"
    assert described("torch", "cuda", 8) == "torch, cuda"
    made = embed.train(["one two three four five six seven"] * 60, settings=embed.EmbedSettings(threads=2))
    assert made.training["device"] == "core, 2 threads"


@pytest.mark.parametrize("dimension", [10, 100])
def test_torch_starts_on_the_scale_of_the_core(dimension: int) -> None:
    text = Text(np.arange(2_000, dtype=np.uint32), np.array([2_000]))
    core = core_trainer(text, embed.EmbedSettings(embedding_dim=dimension, min_count=1))
    expected, ours = core.vectors(), initial_vectors(2_000, dimension, seed=1)
    assert ours.dtype == np.float32
    assert ours.shape == (2_000, dimension)
    assert not core.outputs().any(), "the other matrix starts at zero, in both backends"
    for vectors in (expected, ours):
        assert abs(float(vectors.mean())) < 0.05 / dimension
        assert np.abs(vectors).max() == pytest.approx(4 / dimension, rel=0.01)
        assert vectors.std() == pytest.approx(8 / dimension / np.sqrt(12), rel=0.02)
