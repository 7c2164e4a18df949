"""The native format: lossless, validated on reading, written atomically."""

import hashlib
import resource
import sys
from pathlib import Path

import merganser
import processes
import pytest
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
    assert (first, end) == ("merganser tokenizer 1", "")
    assert last == "sha256 " + hashlib.sha256(saved.read_bytes()[: -len(last) - 1]).hexdigest()
    assert json.loads(header)["special_tokens"] == TOKENIZER.special_tokens
    rows = [line.split(" ") for line in tokens]
    assert {base64.b64decode(token): int(id) for token, id, _ in rows} == TOKENIZER.mergeable_ranks
    assert {int(id): int(seen) for _, id, seen in rows if seen != "-"} == TOKENIZER.merge_counts


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
