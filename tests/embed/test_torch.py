"""The torch backend optimizes the same objective as the core; tested on the CPU."""

from dataclasses import replace
from pathlib import Path

import merganser
import numpy as np
import pytest
from merganser import SettingsError, embed
from merganser.embed.text import Text, read
from merganser.embed.training import Interval, core_trainer

torch = pytest.importorskip("torch")

from merganser.embed.torch import TorchTrainer, choose_device  # noqa: E402

TEXTS = ["the black cat sat on the mat", "the black dog sat on the rug", "a king rules", "a queen rules"] * 60
SETTINGS = embed.EmbedSettings(
    embedding_dim=12, epochs=30, subsample=0, batch_size=64, min_count=2, learning_rate=0.05
)


@pytest.fixture(scope="module")
def tokenizer() -> merganser.Tokenizer:
    torch.set_num_threads(1)
    return merganser.train(TEXTS, 291)


@pytest.mark.parametrize("objective", ["negatives", "shared", "softmax"])
def test_torch_learns_what_the_core_learns(
    tokenizer: merganser.Tokenizer, objective: embed.settings.Objective
) -> None:
    reported: list[Interval] = []
    settings = replace(SETTINGS, objective=objective)
    embeddings = embed.train(
        TEXTS,
        tokenizer,
        settings,
        backend="torch",
        device="cpu",
        on_interval=lambda row, left: reported.append(row),
    )
    assert embeddings.training["device"] == "torch, cpu"
    assert reported[-1].loss < reported[0].loss
    assert embeddings.similarity("cat", "dog") > embeddings.similarity("cat", "rules") + 0.2
    core = embed.train(TEXTS, tokenizer, settings)
    assert embeddings.ids.tolist() == core.ids.tolist()
    assert embeddings.counts.tolist() == core.counts.tolist()


@pytest.mark.parametrize("objective", ["negatives", "softmax"])
def test_a_step_follows_the_gradient_of_the_loss(tokenizer: merganser.Tokenizer, objective: str) -> None:
    """Compare one step with autograd, for pairs with the same negatives."""
    text = Text(np.array([97, 98, 97, 99, 98, 99], np.uint32), np.array([6]))
    settings = replace(SETTINGS, objective=objective, min_count=1, num_negative_samples=3, embedding_dim=4)  # type: ignore[arg-type]
    trainer = TorchTrainer(text, settings, "cpu")
    chance = torch.Generator().manual_seed(5)
    trainer._output += torch.randn(trainer._output.shape, generator=chance)
    before = [trainer._input.clone().requires_grad_(), trainer._output.clone().requires_grad_()]
    neighbors, centers = np.array([0, 1, 1, 2]), np.array([1, 0, 2, 0])
    drawn = np.searchsorted(trainer._noise, np.random.default_rng(3).random((4, 3)))
    scores = before[0][neighbors]
    if objective == "softmax":
        loss = torch.nn.functional.cross_entropy(scores @ before[1].T, torch.tensor(centers), reduction="sum")
    else:
        right = (scores * before[1][centers]).sum(1)
        wrong = torch.einsum("pd,pkd->pk", scores, before[1][drawn])
        counts = torch.tensor(drawn != centers[:, None])
        loss = -torch.nn.functional.logsigmoid(right).sum()
        loss = loss - (torch.nn.functional.logsigmoid(-wrong) * counts).sum()
    loss.backward()
    reported = trainer._step(neighbors, centers, np.random.default_rng(3))
    assert float(reported) == pytest.approx(float(loss.detach()), rel=1e-5)
    for weights, old in zip((trainer._input, trainer._output), before, strict=True):
        assert old.grad is not None
        moved = (weights - old.detach()).numpy()
        assert moved == pytest.approx(-settings.learning_rate * old.grad.numpy(), abs=1e-6)


def test_torch_trains_on_the_same_pairs_as_the_core(tokenizer: merganser.Tokenizer) -> None:
    """With a fixed window, no subsampling and one batch, nothing is random."""
    text = read(TEXTS[:40], tokenizer, 1, None)
    settings = replace(SETTINGS, dynamic_window=False, batch_size=10_000, epochs=1)
    assert TorchTrainer(text, settings, "cpu").advance(1) == core_trainer(text, settings).advance(1)


@pytest.mark.parametrize("objective", ["negatives", "softmax"])
def test_the_loss_is_measured_on_a_fixed_sample_and_decreases(
    tokenizer: merganser.Tokenizer, objective: str
) -> None:
    text = read(TEXTS, tokenizer, 1, None)
    settings = replace(SETTINGS, objective=objective, epochs=20)  # type: ignore[arg-type]
    trainer, core = TorchTrainer(text, settings, "cpu"), core_trainer(text, settings)
    untrained = trainer.mean_loss()
    if objective == "softmax":  # all scores are 0
        assert untrained == pytest.approx(np.log(len(trainer.ids)), rel=1e-5)
        assert untrained == pytest.approx(core.mean_loss(), rel=1e-5)
    else:  # less than the maximum because some negatives equal the center
        most = np.log(2) * (1 + settings.num_negative_samples)
        assert 0.8 * most < untrained < most
    assert trainer.mean_loss() == untrained
    trainer.advance(trainer.batches)
    assert trainer.mean_loss() < 0.9 * untrained


def test_a_resumed_torch_training_ends_with_the_same_vectors(
    tokenizer: merganser.Tokenizer, tmp_path: Path
) -> None:
    settings = replace(SETTINGS, epochs=3)
    whole = embed.train(TEXTS, tokenizer, settings, backend="torch", device="cpu")

    def stop(interval: Interval, left: float) -> None:
        if interval.batches_done > 20:
            raise KeyboardInterrupt

    how = {"backend": "torch", "device": "cpu", "work_dir": tmp_path, "checkpoint_every": 1e-6}
    with pytest.raises(KeyboardInterrupt):
        embed.train(TEXTS, tokenizer, settings, on_interval=stop, **how)  # type: ignore[arg-type]
    embeddings = embed.train(TEXTS, tokenizer, settings, **how)  # type: ignore[arg-type]
    assert embeddings.vectors == pytest.approx(whole.vectors, abs=1e-5)


def test_unavailable_devices_are_refused() -> None:
    assert choose_device("cpu") == "cpu"
    assert choose_device("auto") in ("mps", "cuda", "cpu")
    if not torch.cuda.is_available():
        with pytest.raises(SettingsError, match="torch finds no cuda device on this machine; use auto"):
            choose_device("cuda")
    with pytest.raises(SettingsError, match="device auto, cpu, cuda or mps"):
        embed.train(TEXTS, device="tpu")  # type: ignore[arg-type]
