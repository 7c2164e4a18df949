"""Training: vectors capture meaning, results are reproducible, and interrupted work is not lost."""

import itertools
import json
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import processes
import pytest
from corpora import corpus_file
from merganser import CheckpointError, CorpusError, EmbeddingsError, SettingsError, embed
from merganser.corpus import Source
from merganser.embed import checkpoint, evaluation, groups
from merganser.embed.text import VOCAB_SIZE, Text, read, tokenizer_for
from merganser.embed.training import CheckpointSettings, Interval, core_trainer, train_on

PAIRS = ["the black cat sat on the mat", "the black dog sat on the rug", "a king rules", "a queen rules"]
TEXTS = PAIRS * 60
SMALL = embed.EmbedSettings(embedding_dim=12, epochs=4, subsample=0, threads=1, batch_size=64, min_count=2)


def tokenizer() -> merganser.Tokenizer:
    return merganser.train(TEXTS, 291)


@pytest.fixture(scope="module")
def words() -> merganser.Tokenizer:
    return tokenizer()


def test_one_thread_with_one_seed_is_reproducible(words: merganser.Tokenizer) -> None:
    first = embed.train(TEXTS, words, SMALL)
    assert np.array_equal(first.vectors, embed.train(TEXTS, words, SMALL).vectors)
    assert not np.array_equal(first.vectors, embed.train(TEXTS, words, replace(SMALL, seed=2)).vectors)


@pytest.mark.parametrize("objective", ["negatives", "shared", "softmax"])
def test_the_loss_decreases_and_words_with_similar_contexts_become_similar(
    words: merganser.Tokenizer, objective: embed.settings.Objective
) -> None:
    reported: list[Interval] = []
    settings = replace(SMALL, objective=objective, epochs=40, learning_rate=0.05)
    embeddings = embed.train(
        TEXTS, words, settings, on_interval=lambda interval, left: reported.append(interval)
    )
    assert reported[-1].loss < 0.95 * reported[0].loss, "the first is measured after eight batches"
    assert embeddings.similarity("cat", "dog") > embeddings.similarity("cat", "rules") + 0.2
    assert sum(interval.tokens for interval in reported) == embeddings.training["tokens"] * settings.epochs
    assert reported[-1].batches_done == reported[-1].batches
    assert [row.epoch for row in reported if row.mean_similarity is not None] == list(range(1, 41))


def epoch_losses(history: list[dict[str, Any]]) -> list[float]:
    """Return the loss at the end of each epoch."""
    return [row["loss"] for row in history if row["mean_similarity"] is not None]


@pytest.mark.parametrize("objective", ["negatives", "shared"])
def test_the_reported_loss_decreases_to_the_end(objective: embed.settings.Objective) -> None:
    """The mean over the pairs of an epoch would increase as the learning rate decreases."""
    settings = embed.EmbedSettings(objective=objective, threads=1)
    losses = epoch_losses(embed.train(topics(), settings=settings).training["history"])
    assert len(losses) == settings.epochs == 10
    assert losses[-1] < losses[0] - 0.1
    assert all(later < earlier for earlier, later in itertools.pairwise(losses[5:])), losses


def topics() -> list[str]:
    """Return documents of 30 words, most of them from one of 40 overlapping topics."""
    random = np.random.default_rng(1)
    words = [
        f"{start}{middle}{end}" for start in "bdfgklmn" for middle in "aeiou" for end in ("st", "rn", "ll")
    ]
    texts = []
    for _ in range(1500):
        topic = 3 * int(random.integers(40))
        inside = topic + random.integers(0, 12, 30)
        chosen = np.where(random.random(30) < 0.8, inside, random.integers(0, len(words), 30)) % len(words)
        texts.append(" ".join(words[number] for number in chosen))
    return texts


@pytest.mark.parametrize("power", [0.75, 0.0])
@pytest.mark.parametrize("backend", ["core", "torch"])
def test_negatives_are_drawn_by_count_to_the_power(backend: str, power: float) -> None:
    """Before training, every score is 0 and costs ln 2, except for a negative that is the center itself."""
    counts = np.array([9000, 500, 300, 100, 50, 30, 20])
    ids = np.random.default_rng(3).permutation(np.repeat(np.arange(7, dtype=np.uint32), counts))
    text = Text(ids, np.array([10_000]))
    settings = replace(SMALL, num_negative_samples=20, noise_power=power)
    if backend == "torch":
        pytest.importorskip("torch")
        from merganser.embed.torch import TorchTrainer

        loss = TorchTrainer(text, settings, "cpu").mean_loss()
    else:
        loss = core_trainer(text, settings).mean_loss()
    assert loss is not None
    noise = counts**power / (counts**power).sum()
    same = (counts / counts.sum()) @ noise
    assert loss / np.log(2) == pytest.approx(1 + 20 * (1 - same), rel=0.05)


def test_a_resumed_training_reports_the_same_losses(words: merganser.Tokenizer, tmp_path: Path) -> None:
    whole = embed.train(TEXTS, words, SMALL).training["history"]
    for limit in (9, 30, 70):

        def stop(interval: Interval, left: float, limit: int = limit) -> None:
            if interval.batches_done >= limit:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            embed.train(TEXTS, words, SMALL, work_dir=tmp_path, checkpoint_every=1e-6, on_interval=stop)
    resumed = embed.train(TEXTS, words, SMALL, work_dir=tmp_path).training["history"]
    assert len(epoch_losses(whole)) == SMALL.epochs
    assert epoch_losses(resumed) == epoch_losses(whole)


def test_a_text_without_pairs_has_no_loss(words: merganser.Tokenizer) -> None:
    text = Text(np.array([97, 98] * 20, np.uint32), np.arange(1, 41))
    embeddings = train_on(text, words, SMALL)
    assert embeddings.training["pairs"] == 0
    assert {row["loss"] for row in embeddings.training["history"]} == {None}


def test_no_pair_spans_two_documents(words: merganser.Tokenizer) -> None:
    text = read(["king queen"] * 50, words, 1, None)
    settings = replace(SMALL, window_size=5, dynamic_window=False, epochs=1, min_count=1)
    apart = train_on(text, words, settings).training["pairs"]
    sizes = np.diff(text.ends, prepend=0)
    assert apart == sum(int(n) * (int(n) - 1) for n in sizes if n <= 6)
    together = Text(text.ids, text.ends[-1:])
    assert train_on(together, words, settings).training["pairs"] > apart


def test_a_resumed_training_ends_with_the_same_vectors(words: merganser.Tokenizer, tmp_path: Path) -> None:
    whole = embed.train(TEXTS, words, SMALL)

    class Stop(Exception):
        pass

    for limit in (9, 30, 70):  # interrupted three times

        def stop(interval: Interval, left: float, limit: int = limit) -> None:
            if interval.batches_done >= limit:
                raise Stop

        with pytest.raises(Stop):
            embed.train(TEXTS, words, SMALL, work_dir=tmp_path, checkpoint_every=1e-6, on_interval=stop)
        found = checkpoint.FILE_NAME
        assert (tmp_path / found).is_file()
    embeddings = embed.train(TEXTS, words, SMALL, work_dir=tmp_path)
    assert np.array_equal(embeddings.vectors, whole.vectors)
    assert embeddings.training["history"][-1]["batches_done"] == whole.training["history"][-1]["batches_done"]
    assert not list(tmp_path.iterdir()), "the checkpoint is removed at the end"


def test_an_interruption_inside_an_interval_loses_nothing(words: merganser.Tokenizer, tmp_path: Path) -> None:
    settings = replace(SMALL, epochs=2000)
    seen: list[int] = []

    def stop(stage: str, done: int, total: int) -> None:
        if stage == "embed":
            seen.append(done)
            if done > 300:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed.train(TEXTS, words, settings, work_dir=tmp_path, checkpoint_every=1000, progress=stop)
    text = read(TEXTS, words, 1, None)
    identity = _identity(tmp_path)
    state = checkpoint.read(tmp_path, identity)
    assert state is not None
    assert state.batches_done >= seen[-1] > 300
    assert text.digest() == identity["text"]


def _identity(folder: Path) -> dict[str, object]:
    from merganser.embed import safetensors

    facts = json.loads(safetensors.read(folder / checkpoint.FILE_NAME)[1]["merganser_checkpoint"])
    identity: dict[str, object] = facts["identity"]
    return identity


def stopped(words: merganser.Tokenizer, folder: Path) -> Path:
    """Return the checkpoint of an interrupted training."""

    def stop(interval: Interval, left: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        embed.train(TEXTS, words, SMALL, work_dir=folder, checkpoint_every=1e-6, on_interval=stop)
    return folder / checkpoint.FILE_NAME


def test_a_corrupt_checkpoint_is_refused(words: merganser.Tokenizer, tmp_path: Path) -> None:
    file = stopped(words, tmp_path)
    good = file.read_bytes()
    places = [0, 3, 8, 20, len(good) // 2, len(good) - 1]
    for bad in [*(good[:place] for place in places), *(_flipped(good, place) for place in places), b"", b"x"]:
        file.write_bytes(bad)
        with pytest.raises(CheckpointError, match=r"(corrupt|another training).*--no-resume"):
            embed.train(TEXTS, words, SMALL, work_dir=tmp_path)
    embeddings = embed.train(TEXTS, words, SMALL, work_dir=tmp_path, resume=False)
    assert len(embeddings) > 10


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 0x41]) + data[place + 1 :]


def test_a_checkpoint_with_nan_is_refused(words: merganser.Tokenizer, tmp_path: Path) -> None:
    stopped(words, tmp_path)
    identity = _identity(tmp_path)
    state = checkpoint.read(tmp_path, identity)
    assert state is not None
    checkpoint.write(tmp_path, identity, replace(state, vectors=np.full_like(state.vectors, np.nan)))
    with pytest.raises(CheckpointError, match="corrupt: it contains NaN or infinity"):
        embed.train(TEXTS, words, SMALL, work_dir=tmp_path)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (lambda tokenizer: (TEXTS[1:], tokenizer, SMALL), "text"),
        (lambda tokenizer: (TEXTS, tokenizer, replace(SMALL, window_size=2)), "window_size"),
        (lambda tokenizer: (TEXTS, tokenizer, replace(SMALL, seed=7)), "seed"),
        (lambda tokenizer: (TEXTS, merganser.train(TEXTS, 280), SMALL), "text"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(
    words: merganser.Tokenizer, tmp_path: Path, change: object, name: str
) -> None:
    stopped(words, tmp_path)
    with pytest.raises(CheckpointError, match=f"belongs to another training: its {name}"):
        embed.train(*change(words), work_dir=tmp_path)  # type: ignore[operator]


def test_a_training_may_be_resumed_with_more_threads(words: merganser.Tokenizer, tmp_path: Path) -> None:
    stopped(words, tmp_path)
    embeddings = embed.train(TEXTS, words, replace(SMALL, threads=2), work_dir=tmp_path)
    assert (
        embeddings.training["history"][0]["batches_done"] < embeddings.training["history"][-1]["batches_done"]
    )


def test_a_corpus_without_enough_text_is_refused(words: merganser.Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "empty.txt").write_text("")
    for source in ([""], tmp_path / "empty.txt"):
        for given in (words, None):
            with pytest.raises(CorpusError, match="no text"):
                embed.train(source, given)
    with pytest.raises(CorpusError, match="empty"):
        embed.train([], words)
    with pytest.raises(SettingsError, match="min_count"):
        embed.train(["ab"], words)


def test_ids_of_another_tokenizer_are_refused(words: merganser.Tokenizer, tmp_path: Path) -> None:
    tokens = words.encode_corpus(TEXTS, out=tmp_path / "tokens")
    embeddings = embed.train(tokens, words, SMALL)
    assert np.array_equal(embeddings.vectors, embed.train(TEXTS, words, SMALL).vectors)
    with pytest.raises(
        EmbeddingsError, match="encoded with another tokenizer; pass the tokenizer that encoded it"
    ):
        embed.train(tokens, merganser.train(TEXTS, 285), SMALL)
    with pytest.raises(SettingsError, match="pass the one that encoded them"):
        embed.train(tokens)
    np.save(tmp_path / "ids.npy", np.array([5, 100_000], np.uint32))
    with pytest.raises(
        EmbeddingsError, match=r"contains the id 100,000.*pass the tokenizer that produced the ids"
    ):
        embed.train(merganser.Tokens.open(tmp_path / "ids.npy"), words, SMALL)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("learning_rate", float("nan")),
        ("learning_rate", float("inf")),
        ("subsample", float("nan")),
        ("noise_power", float("inf")),
        ("objective", "hinge"),
        ("threads", 0),
        ("epochs", -1),
        ("seed", -1),
        ("embedding_dim", 2.5),
    ],
)
def test_invalid_settings_are_refused(setting: str, value: object) -> None:
    with pytest.raises(SettingsError, match=setting):
        embed.EmbedSettings(**{setting: value})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("embedding_dim", 0),
        ("window_size", 0),
        ("num_negative_samples", 0),
        ("epochs", 0),
        ("batch_size", 0),
        ("learning_rate", 0.0),
        ("learning_rate", -1.0),
        ("learning_rate", 11.0),
    ],
)
def test_settings_that_the_core_refuses_are_reported(
    words: merganser.Tokenizer, setting: str, value: float
) -> None:
    with pytest.raises(SettingsError, match=setting):
        embed.train(TEXTS, words, replace(SMALL, **{setting: value}))


def test_without_a_tokenizer_most_words_are_one_token() -> None:
    embeddings = embed.train(iter(TEXTS), settings=SMALL)
    for word in ("cat", "queen", "black"):
        found = embeddings.find(word)
        assert found is not None
        assert found.how == "token"


@pytest.mark.parametrize("once", ["-", Path("-"), [Path("-")]])
def test_standard_input_needs_a_tokenizer(once: Source) -> None:
    with pytest.raises(CorpusError, match="standard input can be read only once"):
        embed.train(once, settings=SMALL)


@pytest.mark.parametrize("threads", [1, 2])
def test_related_words_of_the_novel_are_more_similar(threads: int) -> None:
    """With the defaults, words of a group are more similar than words of different groups, for every seed."""
    novel = f"frankenstein={corpus_file('frankenstein_raw.txt')}"
    named = groups.lists("frankenstein")
    assert named is not None
    tokenizer = tokenizer_for(novel, VOCAB_SIZE, None, None)
    text = read(novel, tokenizer, None, None)
    for seed in (1, 2, 3):
        embeddings = train_on(text, tokenizer, embed.EmbedSettings(threads=threads, seed=seed))
        found = evaluation.separation(embeddings, named.groups)
        assert found.covered == found.words == 16
        assert found.margin > 0.1, f"{found} with seed {seed}"
    # Control: the same words in arbitrary groups.
    words = list(itertools.chain.from_iterable(named.groups.values()))
    mixed = {str(nth): words[nth::4] for nth in range(4)}
    assert abs(evaluation.separation(embeddings, mixed).margin) < 0.1


def test_ctrl_c_saves_at_once_and_kill_loses_one_interval(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n".join(TEXTS * 20))
    command = [sys.executable, "-W", "error", "-m", "merganser", "embed", "a.txt", "--out", "embeddings"]
    command += ["--epochs", "3000", "--threads", "1", "--checkpoint-every"]
    file = tmp_path / "embeddings" / checkpoint.FILE_NAME
    done = []
    for every, send in (("0.2", signal.SIGKILL), ("1000", signal.SIGINT), ("1000", signal.SIGTERM)):
        with processes.started([*command, every], cwd=tmp_path) as process:
            assert process.stdout.readline() == "using core, 1 thread\n"
            assert process.stdout.readline().startswith("epoch"), "at least one epoch is trained"
            processes.wait_until(file.exists, process)
            process.send_signal(send)
            _, stderr = process.communicate()
        assert "Traceback" not in stderr
        if send is not signal.SIGKILL:
            assert "stopped; run the same command again to resume" in stderr
        state = checkpoint.read(file.parent, _identity(file.parent))
        assert state is not None
        done.append(state.batches_done)
    assert done[0] < done[1] < done[2], "each run resumed where the previous one stopped"


def test_an_interruption_between_intervals_writes_a_checkpoint(tmp_path: Path) -> None:
    def stop(interval: Interval, _left: float) -> None:
        if interval.epoch == 2:
            raise KeyboardInterrupt

    settings = embed.EmbedSettings(epochs=3, threads=1)
    with pytest.raises(KeyboardInterrupt):
        embed.train(TEXTS, settings=settings, work_dir=tmp_path, checkpoint_every=1000, on_interval=stop)
    resumed_epochs: list[int] = []
    embed.train(
        TEXTS,
        settings=settings,
        work_dir=tmp_path,
        on_interval=lambda interval, _: resumed_epochs.append(interval.epoch),
    )
    assert set(resumed_epochs) <= {2, 3} and 3 in resumed_epochs


def test_invalid_checkpoint_settings_are_refused() -> None:
    with pytest.raises(SettingsError, match="checkpoint_every"):
        CheckpointSettings(every=0)
