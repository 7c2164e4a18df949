"""Embeddings: queries, files, evaluation, and everything that can be wrong with them."""

import json
import re
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import merganser
import numpy as np
import pytest
from merganser import EmbeddingsError, SettingsError, embed
from merganser.embed import Embeddings, evaluation, exports, safetensors, similarities
from merganser.embed.folder import FACTS, TEXT, TOKENIZER, VECTORS, load_text, save
from merganser.embed.text import Text
from merganser.reporting.embeddings import labels

WORDS = ["king", "queen", "man", "woman", "Paris", "apple"]


@pytest.fixture(scope="module")
def tokenizer() -> merganser.Tokenizer:
    return merganser.train([f" {word}" for word in WORDS] * 9, 281)


@pytest.fixture
def embeddings(tokenizer: merganser.Tokenizer) -> Embeddings:
    """Vectors with the same difference between man and woman as between king and queen."""
    vectors = np.array(
        [[1, 0, 1, 0], [1, 1, 1, 0], [0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1], [0, 0.1, 0, 1]], np.float32
    )
    ids = [tokenizer.encode(f" {word}")[0] for word in WORDS]
    return Embeddings(vectors, ids, [60, 50, 40, 30, 20, 10], tokenizer)


def test_similarities_neighbors_and_analogies_are_computed(embeddings: Embeddings) -> None:
    assert embeddings.similarity("king", "king") == pytest.approx(1)
    assert embeddings.similarity("king", "Paris") == 0
    assert [near.word for near in embeddings.most_similar("king", 2)] == ["queen", "man"]
    assert embeddings.analogy("man", "woman", "king", 1)[0].word == "queen"
    assert embeddings.most_similar(embeddings["queen"], 1)[0].word == "queen"
    assert len(embeddings.most_similar("king", 100)) == 5
    assert embeddings.most_similar("king", 0) == []


def test_neighbors_equal_those_of_a_slow_search(tokenizer: merganser.Tokenizer) -> None:
    vectors = np.random.default_rng(1).normal(size=(250, 20)).astype(np.float32)
    embeddings = Embeddings(vectors, np.arange(250), np.ones(250), tokenizer)
    query = vectors[17]
    cosines = [float(query @ row / np.linalg.norm(query) / np.linalg.norm(row)) for row in vectors]
    slow = sorted(range(250), key=lambda row: -cosines[row])[:12]
    assert [near.id for near in embeddings.most_similar(query, 12, only_words=False)] == slow


def test_a_query_on_thirty_thousand_tokens_takes_milliseconds() -> None:
    tokenizer = merganser.Tokenizer(
        {bytes([byte]): byte for byte in range(256)}
        | {bytes([a, b]): 256 + a * 256 + b for a in range(118) for b in range(256)}
    )
    vectors = np.random.default_rng(1).normal(size=(30_000, 100)).astype(np.float32)
    embeddings = Embeddings(vectors, np.arange(30_000), np.ones(30_000), tokenizer)
    embeddings.most_similar(vectors[0])
    taken = []
    for row in range(9):
        start = time.thread_time()
        embeddings.most_similar(vectors[row], only_words=False)
        taken.append(time.thread_time() - start)
    assert min(taken) < 0.05  # CPU time, which does not depend on the load of the machine


def test_a_word_matches_a_token_or_a_variant(embeddings: Embeddings) -> None:
    assert embeddings.find("king") == ((0,), "token")
    assert embeddings.find(" king ") == ((0,), "token")
    assert embeddings.find("KING") == ((0,), "variant")
    assert embeddings.find("paris") == ((4,), "variant")
    assert embeddings.find("xylophone") is None
    assert "king" in embeddings
    assert "xylophone" not in embeddings
    assert 7 not in embeddings
    with pytest.raises(EmbeddingsError, match="'xylophone' has no vector"):
        embeddings.vector("xylophone")


def test_the_vector_of_a_word_of_several_tokens_is_their_mean(tokenizer: merganser.Tokenizer) -> None:
    ids = tokenizer.encode(" kingqueen")
    assert len(ids) > 1
    known = sorted(set(ids))
    vectors = np.random.default_rng(2).normal(size=(len(known), 5)).astype(np.float32)
    embeddings = Embeddings(vectors, known, np.ones(len(known)), tokenizer)
    found = embeddings.find("kingqueen")
    assert found is not None
    assert found.how == "subwords"
    expected = np.mean([vectors[known.index(id)] for id in ids], axis=0)
    assert embeddings["kingqueen"] == pytest.approx(expected)
    partly = Embeddings(vectors[1:], known[1:], np.ones(len(known) - 1), tokenizer)
    assert partly.find("kingqueen") is None


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(tokenizer: merganser.Tokenizer, bad: float) -> None:
    vectors = np.ones((3, 2), np.float32)
    vectors[1, 1] = bad
    with pytest.raises(
        EmbeddingsError, match="row 1 contains NaN or infinity, so the data is corrupt; train again"
    ):
        Embeddings(vectors, [1, 2, 3], [1, 1, 1], tokenizer)
    embeddings = Embeddings(np.ones((3, 2)), [1, 2, 3], [1, 1, 1], tokenizer)
    with pytest.raises(EmbeddingsError, match="NaN or infinity"):
        embeddings.most_similar(vectors[1])
    with pytest.raises(EmbeddingsError, match="a word or a vector of shape"):
        embeddings.most_similar(np.ones(3, np.float32))


def test_ids_counts_and_vectors_must_match(tokenizer: merganser.Tokenizer) -> None:
    with pytest.raises(EmbeddingsError, match=r"got 2 ids, 3 counts and vectors of shape \(3, 2\)"):
        Embeddings(np.ones((3, 2)), [1, 2], [1, 1, 1], tokenizer)
    with pytest.raises(
        EmbeddingsError, match="contains the id 9,999, but the highest id of the tokenizer is"
    ):
        Embeddings(np.ones((1, 2)), [9999], [1], tokenizer)
    with pytest.raises(EmbeddingsError, match="two vectors; pass each id once"):
        Embeddings(np.ones((2, 2)), [5, 5], [1, 1], tokenizer)


def test_embeddings_are_immutable(embeddings: Embeddings) -> None:
    with pytest.raises(ValueError, match="read-only"):
        embeddings.vectors[0, 0] = 5
    with pytest.raises(AttributeError):
        embeddings.ids = embeddings.ids  # type: ignore[misc]


def test_a_saved_folder_loads_unchanged(embeddings: Embeddings, tmp_path: Path) -> None:
    text = Text(np.array([1, 2, 3], np.uint32), np.array([1, 3]))
    save(embeddings, tmp_path / "a", text)
    again = embed.load(tmp_path / "a")
    assert np.array_equal(again.vectors, embeddings.vectors)
    assert again.ids.tolist() == embeddings.ids.tolist()
    assert again.counts.tolist() == embeddings.counts.tolist()
    assert again.tokenizer == embeddings.tokenizer
    kept = load_text(tmp_path / "a")
    assert kept is not None
    assert (kept.ids.tolist(), kept.ends.tolist()) == ([1, 2, 3], [1, 3])
    (tmp_path / "a" / TEXT).unlink()
    assert load_text(tmp_path / "a") is None


def test_files_are_exchanged_with_the_safetensors_package(embeddings: Embeddings, tmp_path: Path) -> None:
    package = pytest.importorskip("safetensors.numpy")
    embeddings.save(tmp_path)
    theirs = package.load_file(tmp_path / VECTORS)
    assert np.array_equal(theirs["vectors"], embeddings.vectors)
    assert np.array_equal(theirs["ids"], embeddings.ids)
    assert np.array_equal(theirs["counts"], embeddings.counts)
    arrays = {"a": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.zeros(0, np.uint64)}
    package.save_file(arrays, tmp_path / "theirs.safetensors", {"say": "hé"})
    ours, metadata = safetensors.read(tmp_path / "theirs.safetensors")
    assert metadata == {"say": "hé"}
    assert {name: array.tolist() for name, array in ours.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }


def test_every_corruption_is_detected(embeddings: Embeddings, tmp_path: Path) -> None:
    embeddings.save(tmp_path)
    good = (tmp_path / VECTORS).read_bytes()
    for place in range(0, len(good), 7):
        for bad in (good[:place], good[:place] + bytes([good[place] ^ 1]) + good[place + 1 :]):
            (tmp_path / VECTORS).write_bytes(bad)
            try:
                again = embed.load(tmp_path)
            except EmbeddingsError:
                continue
            assert np.array_equal(again.vectors, embeddings.vectors), "only padding may change undetected"


def changed(data: bytes) -> Iterator[bytes]:
    """Yield the data with one bit flipped, for every byte."""
    for place in range(len(data)):
        yield data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :]


@pytest.mark.parametrize("name", [VECTORS, FACTS])
def test_every_flipped_bit_is_detected(embeddings: Embeddings, tmp_path: Path, name: str) -> None:
    embeddings.save(tmp_path)
    good = (tmp_path / name).read_bytes()
    accepted = 0
    for bad in changed(good):
        (tmp_path / name).write_bytes(bad)
        try:
            again = embed.load(tmp_path)
        except EmbeddingsError as error:
            assert re.search(r"corrupt|check the path|upgrade merganser", str(error))
            continue
        # Only in the name of the header's checksum: what it protects is whole.
        accepted += 1
        assert np.array_equal(again.vectors, embeddings.vectors)
        assert np.array_equal(again.ids, embeddings.ids)
        assert again.training == embeddings.training
    assert accepted <= len("header_crc32")


def test_a_damaged_name_of_a_checksum_does_not_switch_it_off(embeddings: Embeddings, tmp_path: Path) -> None:
    embeddings.save(tmp_path)
    good = (tmp_path / VECTORS).read_bytes()
    # A file of an earlier version has one checksum.
    start = good.index(b',"header_crc32')
    older = good[:start] + b"}" + good[start + len(b',"header_crc32":"00000000"}') :]
    header = struct.unpack("<Q", good[:8])[0] - (len(good) - len(older))
    older = struct.pack("<Q", header) + older[8:]
    (tmp_path / VECTORS).write_bytes(older)
    assert np.array_equal(embed.load(tmp_path).vectors, embeddings.vectors)
    for data in (good, older):
        for name in (b'"crc32"', b'"header_crc32"'):
            if name in data:
                at = data.index(name) + 2
                damaged = data[:at] + bytes([data[at] ^ 2]) + data[at + 1 : -1] + bytes([data[-1] ^ 1])
                (tmp_path / VECTORS).write_bytes(damaged)
                with pytest.raises(EmbeddingsError, match="checksum"):
                    embed.load(tmp_path)


def test_older_files_without_checksums_are_read(embeddings: Embeddings, tmp_path: Path) -> None:
    embeddings.save(tmp_path)
    facts = json.loads((tmp_path / FACTS).read_bytes())
    del facts["json_crc32"]
    (tmp_path / FACTS).write_text(json.dumps(facts))
    with pytest.raises(EmbeddingsError, match="its checksum does not match"):
        embed.load(tmp_path)
    (tmp_path / FACTS).write_text(json.dumps({**facts, "merganser_embeddings": 1}))
    assert np.array_equal(embed.load(tmp_path).vectors, embeddings.vectors)


def test_incomplete_folders_are_refused(
    embeddings: Embeddings, tmp_path: Path, tokenizer: merganser.Tokenizer
) -> None:
    with pytest.raises(EmbeddingsError, match="pass a folder written by merganser embed"):
        embed.load(tmp_path / "none")
    embeddings.save(tmp_path)
    facts = json.loads((tmp_path / FACTS).read_text()) | {"merganser_embeddings": 1}
    del facts["json_crc32"]
    for text, message in (
        ("{", "not JSON"),
        ("[]", "was not written by merganser embed; check the path"),
        ('{"a": 1}', "was not written by merganser embed; check the path"),
        (json.dumps({**facts, "merganser_embeddings": 99}), "format version 99.*upgrade merganser"),
        (json.dumps({**facts, "training": 5}), "lacks the training or the tokenizer; train again"),
    ):
        (tmp_path / FACTS).write_text(text)
        with pytest.raises(EmbeddingsError, match=message):
            embed.load(tmp_path)
    (tmp_path / FACTS).write_text(json.dumps(facts))
    merganser.train(["other text"], 258).save(tmp_path / TOKENIZER)
    with pytest.raises(EmbeddingsError, match="not the tokenizer of these vectors"):
        embed.load(tmp_path)
    tokenizer.save(tmp_path / TOKENIZER)
    safetensors.write(tmp_path / VECTORS, {"vectors": embeddings.vectors}, {})
    with pytest.raises(EmbeddingsError, match="lacks counts, ids"):
        embed.load(tmp_path)


def test_word2vec_files_are_read_by_gensim(embeddings: Embeddings, tmp_path: Path) -> None:
    gensim = pytest.importorskip("gensim.models")
    for format, binary in (("word2vec", False), ("word2vec-bin", True)):
        [file] = embeddings.export(tmp_path / format, format=format)  # type: ignore[arg-type]
        theirs = gensim.KeyedVectors.load_word2vec_format(str(file), binary=binary)
        assert theirs.index_to_key == [f"▁{word}" for word in WORDS]
        assert np.array_equal(theirs.vectors, embeddings.vectors)


def test_word2vec_files_have_the_documented_layout(embeddings: Embeddings, tmp_path: Path) -> None:
    embeddings.export(tmp_path / "v.txt", format="word2vec")
    lines = (tmp_path / "v.txt").read_text("utf-8").splitlines()
    assert lines[:2] == ["6 4", "▁king 1 0 1 0"]
    embeddings.export(tmp_path / "v.bin", format="word2vec-bin")
    assert (
        (tmp_path / "v.bin").read_bytes().startswith("6 4\n▁king ".encode() + embeddings.vectors[0].tobytes())
    )


def test_the_names_of_tokens_are_unique_and_without_whitespace(tokenizer: merganser.Tokenizer) -> None:
    tokens = [*tokenizer.vocab, "▁".encode(), b"\\x80", b"\x80", "\u2028".encode(), b" \\n", b" \n"]
    names = [exports.name(token) for token in dict.fromkeys(tokens)]
    assert len(set(names)) == len(names)
    assert all(name and not any(character.isspace() for character in name) for name in names)


def test_tsv_and_parquet_files_contain_every_row(embeddings: Embeddings, tmp_path: Path) -> None:
    vectors, metadata = embeddings.export(tmp_path / "tsv", format="tsv")
    rows = [line.split("\t") for line in vectors.read_text().splitlines()]
    assert np.array_equal(np.array(rows, np.float32), embeddings.vectors), (
        "nine digits restore the same floats"
    )
    lines = [line.split("\t") for line in metadata.read_text("utf-8").splitlines()]
    assert lines[0] == ["token", "id", "count"]
    assert [line[0] for line in lines[1:]] == [f"▁{word}" for word in WORDS]
    parquet = pytest.importorskip("pyarrow.parquet")
    [file] = embeddings.export(tmp_path / "v.parquet", format="parquet")
    table = parquet.read_table(file).to_pydict()
    assert table["token"] == [f" {word}".encode() for word in WORDS]
    assert table["count"] == [60, 50, 40, 30, 20, 10]
    assert table["vector"] == embeddings.vectors.tolist()
    with pytest.raises(
        SettingsError, match="format must be one of word2vec, word2vec-bin, tsv, parquet, got 'glove'"
    ):
        embeddings.export(tmp_path / "x", format="glove")  # type: ignore[arg-type]


def test_one_hot_vectors_do_not_separate_groups(embeddings: Embeddings) -> None:
    plain = embed.one_hot(embeddings)
    assert plain.similarity("king", "queen") == 0
    assert plain.similarity("king", "king") == 1
    groups = {"people": ("king", "queen"), "things": ("Paris", "apple")}
    assert evaluation.separation(plain, groups).margin == 0
    assert evaluation.separation(embeddings, groups).margin > 0.5


def test_agreement_with_human_ratings_is_measured(embeddings: Embeddings, tmp_path: Path) -> None:
    file = tmp_path / "pairs.tsv"
    file.write_text(
        "word1\tword2\tscore\n# ours\nking\tqueen\t9\nking\tapple\t1\nking\tman\t5\nking\tzebu\t7\n"
    )
    found = embed.evaluate(embeddings, file)
    assert isinstance(found, embed.Agreement)
    assert (found.covered, found.pairs, found.coverage) == (3, 4, 0.75)
    scipy = pytest.importorskip("scipy.stats")
    ours = [embeddings.similarity("king", word) for word in ("queen", "apple", "man")]
    assert found.spearman == pytest.approx(scipy.spearmanr([9, 1, 5], ours).statistic)
    file.write_text("king,queen,9\nking;apple\n")
    with pytest.raises(EmbeddingsError, match="line 2: a line must be word, word and score, got"):
        embed.evaluate(embeddings, file)
    for text in ("", "one heading only"):
        file.write_text(text)
        with pytest.raises(EmbeddingsError, match="no pairs"):
            embed.evaluate(embeddings, file)
    with pytest.raises(EmbeddingsError, match="cannot read"):
        embed.evaluate(embeddings, tmp_path / "none.tsv")


def test_spearman_agrees_with_scipy_on_ties() -> None:
    scipy = pytest.importorskip("scipy.stats")
    chance = np.random.default_rng(3)
    for _ in range(20):
        one, other = chance.integers(0, 5, 30).astype(float), chance.integers(0, 9, 30).astype(float)
        assert evaluation.spearman(one, other) == pytest.approx(scipy.spearmanr(one, other).statistic)
    assert evaluation.spearman(np.ones(5), np.arange(5.0)) == 0


def test_analogies_are_counted_by_section(embeddings: Embeddings, tmp_path: Path) -> None:
    file = tmp_path / "questions.txt"
    file.write_text(": family\nman woman king queen\nman woman king zebu\n: other\nking queen man woman\n")
    found = embed.evaluate(embeddings, file)
    assert isinstance(found, embed.Analogies)
    assert (found.right, found.covered, found.questions) == (2, 2, 3)
    assert found.sections == {"family": (1, 1), "other": (1, 1)}
    file.write_text(": family\nman woman\n")
    with pytest.raises(EmbeddingsError, match="line 2: a question must be four words, got"):
        embed.evaluate(embeddings, file)


def test_the_test_sets_of_gensim_are_found_without_importing_it(embeddings: Embeddings) -> None:
    import sys

    if evaluation.installed("wordsim353") is None:
        with pytest.raises(EmbeddingsError, match="pip install gensim"):
            embed.evaluate(embeddings, "wordsim353")
        pytest.skip("gensim is not installed")
    before = "gensim" in sys.modules
    sizes = {"wordsim353": 353, "simlex999": 999}
    for name, pairs in sizes.items():
        found = embed.evaluate(embeddings, name)
        assert isinstance(found, embed.Agreement)
        assert found.pairs == pairs
    questions = embed.evaluate(embeddings, "google-analogies")
    assert isinstance(questions, embed.Analogies)
    assert questions.questions == 19_544
    assert ("gensim" in sys.modules) == before


def test_mean_similarity_equals_the_mean_over_all_pairs() -> None:
    rows = np.random.default_rng(4).normal(size=(40, 6)).astype(np.float32)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    slow = [float(unit[a] @ unit[b]) for a in range(40) for b in range(40) if a != b]
    assert similarities.mean_similarity(rows) == pytest.approx(np.mean(slow), abs=1e-6)
    assert sum(similarities.histogram(rows)["pairs"]) == 40 * 39 // 2


def test_labels_never_overlap() -> None:
    chance = np.random.default_rng(5)
    points = [tuple(map(float, point)) for point in chance.uniform(0, 400, (300, 2))]
    texts = ["x" * int(n) for n in chance.integers(2, 12, 300)]
    placed = labels.place(points, texts, size=(400, 400))  # type: ignore[arg-type]
    assert len(placed) > 40
    boxes = []
    for label in placed:
        width, height = len(label.text) * 11 * 0.6, 11 * 1.15
        boxes.append((label.x - width / 2, label.y - height / 2, label.x + width / 2, label.y + height / 2))
    for nth, one in enumerate(boxes):
        assert one[0] >= 0 and one[1] >= 0 and one[2] <= 400 and one[3] <= 400
        for other in boxes[:nth]:
            apart = one[2] <= other[0] or other[2] <= one[0] or one[3] <= other[1] or other[3] <= one[1]
            assert apart
    assert labels.place([(200.0, 200.0)], ["alone"], size=(400, 400))[0].text == "alone"
