"""The native format: lossless, validated on reading, written atomically."""

import hashlib
import resource
import sys
from pathlib import Path

import corpora
import merganser
import processes
import pytest
import vocabs
from merganser import FormatError, Tokenizer, WriteError
from merganser.formats import native

TOKENIZER = merganser.train(
    ["the cat sat on the mat, the naïve café 中文"] * 2,
    270,
    special_tokens=["<|endoftext|>", "<ünï>"],
    tie_break="bytes",
)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "t.merganser"
    TOKENIZER.save(path)
    return path


def test_a_saved_tokenizer_loads_unchanged(saved: Path) -> None:
    loaded = merganser.load(saved)
    assert loaded == TOKENIZER
    assert loaded.merge_counts == TOKENIZER.merge_counts
    assert loaded.training == TOKENIZER.training
    assert loaded.pattern_name == "gpt4"
    loaded.save(saved.with_name("again"))
    assert saved.with_name("again").read_bytes() == saved.read_bytes()


def test_custom_patterns_and_gaps_in_ids_are_kept(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"ab": 1000, b"abab": 70_000}
    tokenizer = Tokenizer(ranks, pattern=r"\w+|\W", special_tokens={"<s>": 500})
    tokenizer.save(tmp_path / "t")
    assert merganser.load(tmp_path / "t") == tokenizer


def test_a_folder_loads_the_file_in_it(tmp_path: Path) -> None:
    TOKENIZER.save(tmp_path / native.FILE_NAME)
    assert merganser.load(tmp_path) == TOKENIZER


def test_the_specification_suffices_to_read_a_file(saved: Path) -> None:
    """Read the file with a few lines written from docs/format.md alone."""
    import base64
    import json

    first, header, *tokens, last, end = saved.read_text("utf-8").split("\n")
    assert (first, end) == ("merganser tokenizer 3", "")
    assert last == "sha256 " + hashlib.sha256(saved.read_bytes()[: -len(last) - 1]).hexdigest()
    assert json.loads(header)["special_tokens"] == TOKENIZER.special_tokens
    rows = [line.split(" ") for line in tokens]
    vocab = {base64.b64decode(token): int(id) for token, id, _, _ in rows}
    assert vocab == TOKENIZER.mergeable_ranks
    assert {int(id): int(seen) for _, id, seen, _ in rows if seen != "-"} == TOKENIZER.merge_counts
    divided = [(base64.b64decode(token), int(left)) for token, _, _, left in rows if left != "-"]
    assert [(token[:left], token[left:]) for token, left in divided] == TOKENIZER.merges


def test_a_truncated_file_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in [*range(0, len(whole), 13), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=r"t\.merganser"):
            merganser.load(saved)


def test_a_file_with_any_byte_changed_is_refused(saved: Path) -> None:
    whole = saved.read_bytes()
    for at in range(0, len(whole), 7):
        saved.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        with pytest.raises(FormatError):
            merganser.load(saved)


def sealed(text: str) -> bytes:
    """Return a file with a valid checksum, whatever else is wrong."""
    body = text.encode()
    return body + f"sha256 {hashlib.sha256(body).hexdigest()}\n".encode()


HEADER = '{"pattern": "\\\\w+", "pattern_name": null, "special_tokens": {}, "training": {}}'


@pytest.mark.parametrize(
    "body",
    [
        "",
        "merganser tokenizer 2\n",
        "merganser tokenizer 1\n",
        "merganser tokenizer 1\n{}\n",
        "merganser tokenizer 1\nnull\n",
        "merganser tokenizer 1\n[1]\n",
        f"merganser tokenizer 1\n{'[' * 100_000}\n",
        f"merganser tokenizer 1\n{HEADER}\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 97 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 97\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ=== 97 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 097 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 99999999999999999999 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 9999999999 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 97 99999999999999999999\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 97 -1\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 98 -\nYg== 97 -\n",
        f"merganser tokenizer 1\n{HEADER}\nYQ== 97 -\nYQ== 98 -\n",
        f"merganser tokenizer 1\n{HEADER}\n\n\n",
        "merganser tokenizer 3",
        "merganser tokenizer 3\n",
        f"merganser tokenizer 3\n{HEADER}\nYQ== 97 -\n",
        f"merganser tokenizer 3\n{HEADER}\nYQ== 97 - 0\n",
        f"merganser tokenizer 3\n{HEADER}\nYQ== 97 - 4294967296\n",
        "merganser tokenizer 4\n",
    ],
)
def test_an_invalid_file_with_a_valid_checksum_is_refused(tmp_path: Path, body: str) -> None:
    (tmp_path / "t").write_bytes(sealed(body))
    with pytest.raises(FormatError):
        merganser.load(tmp_path / "t")


@pytest.mark.parametrize(
    "wrong",
    [
        ('"pattern": "', '"pattern": "('),
        ('"pattern": "', '"pattern": 5, "x": "'),
        ('"<|endoftext|>": 268', '"<|endoftext|>": "268"'),
        ('"<|endoftext|>": 268', '"<|endoftext|>": true'),
        ('"<|endoftext|>": 268', '"<|endoftext|>": 97'),
        ('"<|endoftext|>": 268', '"": 268'),
    ],
)
def test_invalid_headers_are_refused(saved: Path, wrong: tuple[str, str]) -> None:
    body = saved.read_text("utf-8").rpartition("sha256")[0]
    assert wrong[0] in body
    saved.write_bytes(sealed(body.replace(*wrong, 1)))
    with pytest.raises(FormatError):
        merganser.load(saved)


def test_files_beyond_the_limits_are_refused(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit, value in (("MAX_FILE_BYTES", 100), ("MAX_TOKENS", 100), ("MAX_HEADER_BYTES", 10)):
        with monkeypatch.context() as patch:
            patch.setattr(native, limit, value)
            with pytest.raises(FormatError):
                merganser.load(saved)


def lines_of(saved: Path) -> tuple[list[str], list[list[str]]]:
    """Return the first two lines of a file, and the fields of its tokens."""
    first, header, *tokens, _, _ = saved.read_text("utf-8").split("\n")
    return [first, header], [line.split(" ") for line in tokens]


def seal(head: list[str], rows: list[list[str]]) -> bytes:
    return sealed("\n".join([*head, *map(" ".join, rows)]) + "\n")


def test_a_file_of_version_1_loads_as_the_same_tokenizer(saved: Path) -> None:
    """Files written before tokens were stored with their parts."""
    (_, header), rows = lines_of(saved)
    saved.write_bytes(seal(["merganser tokenizer 1", header], [row[:3] for row in rows]))
    loaded = merganser.load(saved)
    assert loaded == TOKENIZER
    assert loaded.merges == TOKENIZER.merges
    assert loaded.merge_counts == TOKENIZER.merge_counts
    assert loaded.training == TOKENIZER.training


def test_parts_that_no_merge_joins_are_refused(saved: Path) -> None:
    """Whatever a file with a valid checksum says: its ids are those of its ranks."""
    head, rows = lines_of(saved)
    for at, (_, _, _, left) in enumerate(rows):
        for stated in {"-", "1", "2", "3", "4294967295"} - {left}:
            changed = [*rows[:at], [*rows[at][:3], stated], *rows[at + 1 :]]
            saved.write_bytes(seal(head, changed))
            with pytest.raises(FormatError, match="is not merged from the parts"):
                merganser.load(saved)


def test_tokens_that_no_merge_forms_are_kept(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"bc": 256, b"xyz": 257, b"abc": 258}
    tokenizer = Tokenizer(ranks)
    tokenizer.save(tmp_path / "t")
    head, rows = lines_of(tmp_path / "t")
    assert (head[0], [row[3] for row in rows[256:]]) == ("merganser tokenizer 3", ["1", "-", "1"])
    loaded = merganser.load(tmp_path / "t")
    assert loaded == tokenizer
    assert loaded.encode("xyz") == [257]
    assert loaded.encode("xyzabc") == tokenizer.encode("xyzabc")


def test_a_token_below_its_parts_is_kept(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"abc": 256, b"ab": 257}
    tokenizer = Tokenizer(ranks)
    tokenizer.save(tmp_path / "t")
    loaded = merganser.load(tmp_path / "t")
    assert loaded.merges == tokenizer.merges == [(b"ab", b"c"), (b"a", b"b")]
    assert loaded.encode("abcab") == tokenizer.encode("abcab") == [256, 257]


def test_a_lone_surrogate_in_the_header_is_refused(saved: Path) -> None:
    head, rows = lines_of(saved)
    saved.write_bytes(seal([head[0], head[1].replace('"<|endoftext|>"', r'"\ud800"')], rows))
    with pytest.raises(FormatError, match="lone surrogate"):
        merganser.load(saved)


@pytest.mark.parametrize("name", vocabs.ALL)
def test_a_vocabulary_in_use_loads_the_same_with_and_without_parts(tmp_path: Path, name: str) -> None:
    tokenizer = vocabs.ours(name)
    tokenizer.save(tmp_path / "t")
    (first, header), rows = lines_of(tmp_path / "t")
    assert first == "merganser tokenizer 3"
    with_parts = merganser.load(tmp_path / "t")
    (tmp_path / "t").write_bytes(seal(["merganser tokenizer 1", header], [row[:3] for row in rows]))
    without = merganser.load(tmp_path / "t")
    assert with_parts == without == tokenizer
    assert with_parts.merges_as_ids == without.merges_as_ids == tokenizer.merges_as_ids
    for corpus in ("english.txt", "code.txt", "multilingual.txt"):
        text = corpora.corpus_text(corpus, 300_000)
        ids = tokenizer.encode_ordinary(text)
        assert with_parts.encode_ordinary(text) == without.encode_ordinary(text) == ids


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="nothing-here"):
        merganser.load(tmp_path / "nothing-here")
    with pytest.raises(FormatError, match=native.FILE_NAME):
        merganser.load(tmp_path)


def test_a_full_disk_leaves_the_old_file_and_no_other(saved: Path) -> None:
    """A file size limit simulates the full disk."""
    before = saved.read_bytes()
    script = (
        "import sys, signal, resource, merganser\n"
        "tokenizer = merganser.load(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "counts = merganser.Counts({bytes([b, c]): 1 for b in range(99) for c in range(99)})\n"
        "for save in (tokenizer.save, counts.save):\n"
        "    try:\n"
        "        save(sys.argv[1])\n"
        "    except merganser.WriteError as error:\n"
        "        print(error)\n"
    )
    run = processes.run([sys.executable, "-W", "error", "-c", script, saved], check=True)
    assert run.stdout.count("nothing was left half-written") == 2, run.stdout
    assert saved.read_bytes() == before
    assert [file.name for file in saved.parent.iterdir()] == [saved.name]
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="nowhere"):
        TOKENIZER.save(tmp_path / "nowhere" / "t")
    assert isinstance(WriteError("x"), OSError)


def test_the_file_has_default_permissions(saved: Path) -> None:
    plain = saved.with_name("plain")
    plain.touch()
    assert saved.stat().st_mode == plain.stat().st_mode


def test_loading_never_imports_pickle(saved: Path) -> None:
    script = "import sys, merganser; merganser.load(sys.argv[1]); assert 'pickle' not in sys.modules"
    processes.run([sys.executable, "-W", "error", "-c", script, saved], check=True)


def test_tokens_of_two_megabytes_are_saved_and_loaded(tmp_path: Path) -> None:
    tokenizer = merganser.train(["a" * (1 << 21)], 277)
    tokenizer.save(tmp_path / "long.merganser")
    assert max(map(len, tokenizer.vocab)) == 1 << 21
    assert merganser.load(tmp_path / "long.merganser") == tokenizer


def test_training_facts_under_their_old_names_are_read(saved: Path) -> None:
    """Files written when pre-tokens were called pieces."""
    body = saved.read_bytes().rpartition(b"sha256 ")[0]
    for new, old in ((b'"unique_pretokens"', b'"different_pieces"'), (b'"pretokens"', b'"pieces"')):
        assert new in body
        body = body.replace(new, old)
    saved.write_bytes(body + b"sha256 " + hashlib.sha256(body).hexdigest().encode() + b"\n")
    facts = merganser.load(saved).training
    assert facts["pretokens"] >= facts["unique_pretokens"] > 0
    assert not any("piece" in name for name in facts)
