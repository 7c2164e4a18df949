"""Token files: the same ids as in memory, in every format, even if the run was interrupted."""

import json
import os
import random
import signal
import struct
import sys
import zlib
from collections.abc import Callable, Iterable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import processes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import Local, Tokenizer, Tokens, TokensError
from merganser.tokens import folders
from strategies import texts

END = "<|endoftext|>"
FORMATS = ("bin", "npy", "llmc", "megatron")


def small_tokenizer(more: int = 0) -> Tokenizer:
    """Return a small tokenizer; `more` raises the ids of its special tokens."""
    trained = merganser.train(["the cat sat on the mat, and that was that"] * 9, 276)
    ranks = trained.mergeable_ranks
    return Tokenizer(ranks, special_tokens={END: 290 + more, "<s>": 291 + more}, pattern="gpt4")


SMALL, LARGE = small_tokenizer(), small_tokenizer(70_000)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


# ── readers that do not depend on merganser ──────────────────────────────────


def read_bin(file: Path, width: int) -> list[int]:
    data = file.read_bytes()
    return list(struct.unpack(f"<{len(data) // width}{'H' if width == 2 else 'I'}", data))


def read_npy(file: Path, width: int) -> list[int]:
    array = np.load(file)
    assert array.dtype == f"<u{width}"
    return [int(id) for id in array]


def read_llmc(file: Path, width: int) -> list[int]:
    data = file.read_bytes()
    header = struct.unpack("<256i", data[:1024])
    ids = list(struct.unpack(f"<{header[2]}{'H' if width == 2 else 'I'}", data[1024:]))
    assert header[:2] == ((20240520, 1) if width == 2 else (20240801, 7))
    assert not any(header[3:])
    return ids


def read_megatron(file: Path, width: int) -> list[int]:
    ids = np.frombuffer(file.read_bytes(), "<u2" if width == 2 else "<i4").tolist()
    documents = megatron_documents(file)
    assert [id for document in documents for id in document] == ids
    return ids


def megatron_documents(file: Path) -> list[list[int]]:
    """Read as Megatron's IndexedDataset: sequences by pointer and length, documents by their sequences."""
    index = file.with_suffix(".idx").read_bytes()
    assert index[:9] == b"MMIDIDX\x00\x00"
    version, code, sequences, bounds = struct.unpack_from("<QBQQ", index, 9)
    assert version == 1
    at = 34
    sizes = struct.unpack_from(f"<{sequences}i", index, at)
    pointers = struct.unpack_from(f"<{sequences}q", index, at + 4 * sequences)
    firsts = struct.unpack_from(f"<{bounds}q", index, at + 12 * sequences)
    assert len(index) == at + 12 * sequences + 8 * bounds
    data, dtype = file.read_bytes(), {8: "<u2", 4: "<i4"}[code]
    read = [
        np.frombuffer(data, dtype, size, pointer).tolist()
        for size, pointer in zip(sizes, pointers, strict=True)
    ]
    return [list(chain(*read[a:b])) for a, b in pairwise(firsts)]


READERS: dict[str, Callable[[Path, int], list[int]]] = {
    "bin": read_bin,
    "npy": read_npy,
    "llmc": read_llmc,
    "megatron": read_megatron,
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("tokenizer", [SMALL, LARGE], ids=["uint16", "uint32"])
def test_every_format_can_be_read_without_merganser(
    format: Any, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    documents = ["the cat", "", "sat on\nthe mät ", "that", "字" * 30]
    end = tokenizer.special_tokens[END]
    expected = [[*tokenizer.encode(text), end] for text in documents if text]
    width = 2 if tokenizer is SMALL else 4
    tokens = tokenizer.encode_corpus(documents, out=tmp_path, format=format, append=END, shard_tokens=10)
    assert tokens.complete
    assert len(tokens.shards) > 1
    files = sorted({*tmp_path.glob("shard-*.bin"), *tmp_path.glob("shard-*.npy")})
    files = [file for file in files if ".docs" not in file.name]
    ids = [id for file in files for id in READERS[format](file, width)]
    assert ids == [id for document in expected for id in document]
    assert [document.tolist() for document in tokens.documents()] == expected
    if format == "megatron":
        assert [document for file in files for document in megatron_documents(file)] == expected
    assert np.concatenate([tokens.ids(n) for n in range(len(tokens.shards))]).tolist() == ids
    assert tokens.token_count == len(ids)
    assert tokens.document_count == 4

    # Each shard ends with the document that reaches ten tokens.
    for shard in tokens.shards[:-1]:
        assert shard.tokens >= 10 > shard.bounds()[-2]
    for file, shard in zip(files, tokens.shards, strict=True):
        assert shard.path == file
        facts = json.loads(file.with_suffix(".json").read_text())
        assert facts["crc32"] == f"{zlib.crc32(file.read_bytes()):08x}"
        assert facts["tokens"] == shard.tokens == len(shard.ids())
        shard.check()
    facts = json.loads((tmp_path / "tokens.json").read_text())
    assert facts["documents"] == 4
    assert facts["bytes"] == sum(len(text.encode()) for text in documents)
    assert not list(tmp_path.glob(".*"))


@given(st.lists(texts, min_size=1, max_size=8), st.integers(1, 50), st.integers(1, 3), st.booleans())
def test_documents_on_disk_equal_those_in_memory(
    tmp_path_factory: pytest.TempPathFactory,
    documents: list[str],
    shard_tokens: int,
    threads: int,
    mark: bool,
) -> None:
    if not any(documents):
        return
    tokens = SMALL.encode_corpus(
        documents,
        out=tmp_path_factory.mktemp("tokens"),
        separator=None,
        shard_tokens=shard_tokens,
        prepend=END if mark else None,
        append=65 if mark else None,
        engine=Local(threads=threads),
    )
    before, after = ([290], [65]) if mark else ([], [])
    expected = [before + SMALL.encode_ordinary(text) + after for text in documents if text]
    assert [document.tolist() for document in tokens.documents()] == expected
    assert b"".join(tokens.decode(SMALL)) == "".join(documents).encode()
    assert b"".join(tokens.decode(SMALL, separator="\n")).decode() == "\n".join(filter(None, documents))


def test_documents_end_at_separators_and_at_the_end_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(f"{END}one{END}{END}two <s>{END}")
    (tmp_path / "b").write_text("")
    (tmp_path / "c").write_text("three")
    files = [tmp_path / name for name in "abc"]
    expected = [SMALL.encode_ordinary(text) for text in ("one", "two <s>", "three")]
    tokens = SMALL.encode_corpus(files, out=tmp_path / "x")
    assert [document.tolist() for document in tokens.documents()] == expected
    assert b"".join(tokens.decode(SMALL)).decode() == f"one{END}two <s>{END}three"

    allowed = SMALL.encode_corpus(
        files, out=tmp_path / "y", separator=None, allowed_special="all", prepend="<s>"
    )
    whole = SMALL.encode((tmp_path / "a").read_text(), allowed_special="all")
    assert [document.tolist() for document in allowed.documents()] == [[291, *whole], [291, *expected[2]]]
    only = SMALL.encode_corpus(files, out=tmp_path / "z", allowed_special=["<s>"])
    assert next(iter(only.documents())).tolist() == expected[0]
    assert list(only.documents())[1].tolist() == [*SMALL.encode("two "), 291]


def test_invalid_utf8_round_trips(tmp_path: Path) -> None:
    data = b"caf\xe9 the \xff\xfe cat\xc3"
    (tmp_path / "odd").write_bytes(data)
    tokens = SMALL.encode_corpus(tmp_path / "odd", out=tmp_path / "x")
    assert b"".join(tokens.decode(SMALL)) == data
    assert SMALL.encode_corpus([data], out=tmp_path / "y").ids(0).tolist() == tokens.ids(0).tolist()
    assert tokens.facts["invalid_bytes"] == 4


# ── interruption ──────────────────────────────────────────────────────────────

#: Encodes 4 MB in shards of 0.3 MB of text, slowly because the pattern has a lookbehind. A signal, if one is
#: given, arrives in the middle.
WORK = """
import sys, merganser
from interrupting import send, stopped
from pathlib import Path
tokenizer = merganser.load("tokenizer")
number = int(sys.argv[4])
def watch(stage, done, total):
    global number
    if number and stage == "encode" and done > 600_000 and Path(sys.argv[1], "shard-00000.json").exists():
        send(number)
        number = 0
source = Path("corpus")
if sys.argv[2] == "documents":
    source = (text for file in sorted(source.iterdir()) for text in file.read_text().split("<|endoftext|>"))
try:
    tokenizer.encode_corpus(source, out=sys.argv[1], append="<|endoftext|>", shard_tokens=100_000,
        engine=merganser.Local(threads=int(sys.argv[3])), progress=watch)
    print("done", flush=True)
except KeyboardInterrupt:
    stopped()
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("interrupted")
    pattern = r"(?<=\w)\W|\w+|\W"
    Tokenizer(SMALL.mergeable_ranks, pattern=pattern, special_tokens={END: 290}).save(folder / "tokenizer")
    (folder / "corpus").mkdir()
    words = ["the", "cat", "sat", "on", "the", "mat", "zebra", "quick", "Fox", "1234", "don't\n"]
    for n in range(4):
        texts = [" ".join(words[(i * i + n) % len(words)] for i in range(k, k + 400)) for k in range(500)]
        (folder / "corpus" / f"{n}.txt").write_text(END.join(texts))
    return folder


def encode(corpus: Path, out: str, kind: str = "files", threads: int = 2, number: int = 0) -> processes.Done:
    return processes.interrupted(WORK, out, kind, str(threads), str(number), cwd=corpus)


@pytest.fixture(scope="module")
def whole(corpus: Path) -> dict[str, dict[str, bytes]]:
    for kind in ("files", "documents"):
        assert encode(corpus, f"whole-{kind}", kind).stdout.endswith("done\n")
    return {kind: contents(corpus / f"whole-{kind}") for kind in ("files", "documents")}


@pytest.mark.parametrize("kind", ["files", "documents"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_resumes_and_writes_identical_files(
    how: signal.Signals, kind: str, corpus: Path, whole: dict[str, dict[str, bytes]]
) -> None:
    out = corpus / f"{how.name}-{kind}"
    shards_before = 0
    for attempt in range(3):
        done = encode(corpus, out.name, kind, attempt + 1, how)
        if how == signal.SIGINT:
            assert done.stdout == "stopped\n", done.stderr
        else:
            assert done.returncode == -how, done.stderr
        shards = len(list(out.glob("shard-*.json")))
        assert shards_before <= shards < len(Tokens.open(corpus / f"whole-{kind}").shards)
        shards_before = shards
        left = Tokens.open(out)
        assert not left.complete
        # Files with their final names are complete.
        for shard in left.shards:
            shard.check()
    assert shards_before
    done = encode(corpus, out.name, kind, threads=3)
    assert done.stdout.endswith("done\n"), done.stderr
    assert contents(out) == whole[kind]


def test_a_finished_run_is_not_repeated(corpus: Path, whole: dict[str, dict[str, bytes]]) -> None:
    folder = corpus / "whole-files"
    before = {file: file.stat().st_mtime_ns for file in folder.iterdir()}
    assert encode(corpus, folder.name).stdout == "done\n"
    assert {file: file.stat().st_mtime_ns for file in folder.iterdir()} == before


def test_an_exception_in_the_callback_keeps_finished_shards(tmp_path: Path) -> None:
    def watch(stage: str, done: int, total: int) -> None:
        assert stage == "encode"
        if (tmp_path / "x" / "shard-00001.json").exists():
            raise RuntimeError("enough")

    def documents() -> Iterable[str]:
        while True:
            yield "the cat sat on the mat " * 100

    with pytest.raises(RuntimeError, match="enough"):
        SMALL.encode_corpus(
            documents(), out=tmp_path / "x", shard_tokens=5000, progress=watch, buffer_size=20
        )
    assert len(Tokens.open(tmp_path / "x").shards) >= 2
    assert not Tokens.open(tmp_path / "x").complete


def test_memory_does_not_grow_with_the_corpus(tmp_path: Path) -> None:
    """Encode a document of 96 MB and 300,000 short ones in 64 MB, not counting the tokenizer."""
    line = "the cat sat on the mat and that was that; " * 8 + "\n"
    with (tmp_path / "long").open("w") as file:
        for _ in range(64):
            file.write(line * (1_500_000 // len(line)))
    with (tmp_path / "short").open("w") as file:
        for _ in range(300):
            file.write(f"the cat{END}" * 1000)
    SMALL.save(tmp_path / "tokenizer")
    script = (
        "import resource, sys, merganser, numpy\n"
        "from pathlib import Path\n"
        "tokenizer = merganser.load('tokenizer')\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "files = list(map(Path, sys.argv[1:]))\n"
        "tokenizer.encode_corpus(files, out='x', dtype='uint32')\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    done = processes.run([sys.executable, "-c", script, "long", "short"], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 64 << 10, f"{int(done.stdout) >> 10} MB"
    assert Tokens.open(tmp_path / "x").document_count == 300_001
    assert (tmp_path / "long").stat().st_size > 90 << 20


# ── errors ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"format": "gguf"}, merganser.SettingsError, "unknown token format .gguf.; use one of bin"),
        ({"dtype": "int8"}, merganser.SettingsError, "dtype must be"),
        ({"shard_tokens": 0}, merganser.SettingsError, "at least 1"),
        ({"separator": ""}, merganser.SettingsError, "at least one character"),
        ({"append": "<|no|>"}, merganser.EncodeError, "not a special token; the special tokens are"),
        ({"prepend": 292}, merganser.EncodeError, "no token with id"),
        ({"prepend": -1}, merganser.EncodeError, "no token with id"),
        ({"allowed_special": ["<|no|>"]}, merganser.EncodeError, "not a special token of this tokenizer"),
        ({"allowed_special": END}, merganser.EncodeError, 'must be "all" or a collection, .* write '),
        ({"source": ["", END]}, merganser.CorpusError, "no text"),
        ({"source": "missing"}, merganser.CorpusError, "no file or folder"),
        ({"source": ["\ud83d"]}, merganser.CorpusError, "lone surrogate"),
        ({"source": ["a", 3]}, merganser.CorpusError, "must be str or bytes"),
    ],
)
def test_invalid_settings_are_rejected_and_leave_no_files(
    settings: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    source = settings.pop("source", ["the cat"])
    with pytest.raises(error, match=message):
        SMALL.encode_corpus(source, out=tmp_path / "x" / "y", **settings)
    assert not (tmp_path / "x" / "y").exists()


def test_ids_that_do_not_fit_the_dtype_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(merganser.SettingsError, match="do not fit in uint16"):
        LARGE.encode_corpus(["the cat"], out=tmp_path / "x", dtype="uint16")
    wide = SMALL.encode_corpus(["the cat"], out=tmp_path / "x", dtype="uint32")
    assert wide.ids(0).dtype == np.uint32


def test_an_unused_id_cannot_be_appended(tmp_path: Path) -> None:
    with pytest.raises(merganser.EncodeError, match="append is 1000, but this tokenizer has no token"):
        LARGE.encode_corpus(["the cat"], out=tmp_path / "x", append=1000)


def test_counts_cannot_be_encoded(tmp_path: Path) -> None:
    merganser.count(["the cat"]).save(tmp_path / "a.counts")
    with pytest.raises(merganser.CorpusError, match="contains counts, not text; pass the text itself"):
        SMALL.encode_corpus(tmp_path / "a.counts", out=tmp_path / "x")


def test_a_folder_from_a_different_run_is_rejected(tmp_path: Path) -> None:
    corpus, out = tmp_path / "corpus", tmp_path / "out"
    corpus.write_text("the cat")
    SMALL.encode_corpus(corpus, out=out)
    before = contents(out)
    for tokenizer, source, settings, what in (
        (LARGE, corpus, {}, "tokenizer"),
        (SMALL, corpus, {"format": "npy"}, 'format: "bin", not "npy"'),
        (SMALL, corpus, {"dtype": "uint32"}, "dtype"),
        (SMALL, corpus, {"append": END}, "append: null, not 290"),
        (SMALL, corpus, {"separator": None}, "separator"),
        (SMALL, corpus, {"shard_tokens": 5}, "shard_tokens"),
        (SMALL, corpus, {"allowed_special": "all"}, "allowed_special"),
        (SMALL, ["the cat"], {}, "corpus"),
    ):
        with pytest.raises(
            merganser.TokensError, match=rf"written with a different {what}.*choose another out="
        ):
            tokenizer.encode_corpus(source, out=out, **settings)  # type: ignore[arg-type]
    corpus.write_text("the mat")
    with pytest.raises(merganser.TokensError, match="a file was modified or renamed"):
        SMALL.encode_corpus(corpus, out=out)
    assert contents(out) == before
    # An invalid setting must not delete existing files.
    with pytest.raises(merganser.SettingsError):
        SMALL.encode_corpus(corpus, out=out, overwrite=True, format="gguf")  # type: ignore[arg-type]
    assert contents(out) == before
    (out / "mine.txt").write_text("mine")
    again = SMALL.encode_corpus(corpus, out=out, overwrite=True, format="npy")
    assert b"".join(again.decode(SMALL)) == b"the mat"
    assert not (out / "shard-00000.bin").exists()
    assert (out / "mine.txt").exists()


def test_shards_without_metadata_are_rejected(tmp_path: Path) -> None:
    (tmp_path / "shard-00000.bin").write_bytes(b"mine")
    with pytest.raises(merganser.TokensError, match=r"no tokens\.json, .* start over with overwrite=True"):
        SMALL.encode_corpus(["the cat"], out=tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["shard-00000.bin"]


def test_a_corpus_that_became_shorter_is_rejected(tmp_path: Path) -> None:
    def interrupted() -> Iterable[str]:
        yield from ["the cat sat"] * 10
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SMALL.encode_corpus(interrupted(), out=tmp_path, shard_tokens=5, buffer_size=5)
    with pytest.raises(merganser.TokensError, match=r"fewer documents than .*overwrite=True"):
        SMALL.encode_corpus(["the cat sat"], out=tmp_path, shard_tokens=5)
    without_checksums(tmp_path)
    last = max(tmp_path.glob("shard-*.json"))
    last.write_text(last.read_text().replace('"offset": 0', '"offset": 99'))
    with pytest.raises(merganser.TokensError, match=r"ends before the offset .* pass the same corpus"):
        SMALL.encode_corpus(["the cat sat"] * 20, out=tmp_path, shard_tokens=5)


def test_a_folder_that_cannot_be_created_is_a_write_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(merganser.WriteError, match="is a file, not a folder"):
        SMALL.encode_corpus(["the cat"], out=tmp_path / "file")


def test_a_full_disk_is_a_write_error(tmp_path: Path) -> None:
    script = (
        "import resource, signal, merganser\n"
        "tokenizer = merganser.train(['the cat'], 258)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        "try:\n"
        "    tokenizer.encode_corpus(['the cat '] * 50_000, out='x', separator=None)\n"
        "except merganser.WriteError as error:\n"
        "    print(error)"
    )
    command = [sys.executable, "-W", "error", "-c", script]
    done = processes.run(command, cwd=tmp_path)
    assert "nothing was left half-written" in done.stdout, done.stderr
    assert not (tmp_path / "x").exists()


def test_two_writers_do_not_share_a_folder(tmp_path: Path) -> None:
    import fcntl

    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        script = "import merganser; merganser.train(['ab'], 257).encode_corpus(['ab'], out='.')"
        with processes.started([sys.executable, "-c", script], cwd=tmp_path) as waiting:
            # The folder is opened to be locked.
            processes.wait_until(lambda: tmp_path in processes.opened(waiting), waiting)
            waiting.send_signal(signal.SIGINT)
            _, stderr = waiting.communicate()
        assert "KeyboardInterrupt" in stderr
    finally:
        os.close(handle)
    assert list(tmp_path.iterdir()) == []


# ── reading ───────────────────────────────────────────────────────────────────


def test_every_corruption_of_a_folder_is_detected(tmp_path: Path) -> None:
    SMALL.encode_corpus(["the cat", "sat"], out=tmp_path)
    whole = contents(tmp_path)
    corruptions: list[tuple[str, Callable[[bytes], bytes] | None, str]] = [
        ("tokens.json", None, "check that this is a folder of token files"),
        ("tokens.json", lambda data: data[:-5], "not JSON"),
        ("tokens.json", lambda data: b"[]", "not a JSON object"),
        ("tokens.json", lambda data: b"{}", "not written by merganser"),
        ("tokens.json", lambda data: data.replace(b'tokens": 2,', b'tokens": 3,'), "checksum"),
        ("tokens.json", lambda data: data.replace(b'"complete": true', b'"complete": 1'), "checksum"),
        ("shard-00000.json", None, "has 0 of its 1 shards; encode the corpus again"),
        ("shard-00000.json", lambda data: data.replace(b'"tokens": ', b'"tokens": -'), "checksum"),
        ("shard-00000.bin", None, "is missing, .*; encode the corpus again"),
        ("shard-00000.bin", lambda data: data[:-1], "its size is not that of"),
        ("shard-00000.bin", lambda data: bytes([data[0] ^ 1]) + data[1:], "checksum"),
        ("shard-00000.bin", lambda data: b"", "its size is not that of"),
        ("shard-00000.docs.npy", None, "is missing"),
        ("shard-00000.docs.npy", lambda data: data[:-9], "its size is not that of 2 documents"),
        ("shard-00000.docs.npy", lambda data: data[:-8] + bytes(8), "checksum"),
    ]
    for name, corrupt, message in corruptions:
        file = tmp_path / name
        if corrupt:
            file.write_bytes(corrupt(whole[name]))
        else:
            file.unlink()
        with pytest.raises(merganser.TokensError, match=message):
            tokens = Tokens.open(tmp_path)
            list(tokens.documents())
            list(tokens.decode(SMALL))
        file.write_bytes(whole[name])
    with pytest.raises(merganser.TokensError, match="encoded with a different tokenizer; decode it with"):
        list(Tokens.open(tmp_path).decode(LARGE))
    with pytest.raises(merganser.TokensError, match="no file or folder"):
        Tokens.open(tmp_path / "missing")


def without_checksums(folder: Path, **changes: Any) -> None:
    """Rewrite a folder as an earlier version wrote it; `changes` are made to the shards' JSON."""
    facts = json.loads((folder / "tokens.json").read_bytes())
    (folder / "tokens.json").write_text(
        json.dumps({**{k: v for k, v in facts.items() if k != "json_crc32"}, "merganser_tokens": 1})
    )
    for file in folder.glob("shard-*.json"):
        shard = json.loads(file.read_bytes())
        old = {k: v for k, v in shard.items() if k not in ("json_crc32", "bounds_crc32")}
        file.write_text(json.dumps(old | changes))


def decoded(folder: Path) -> bytes:
    tokens = Tokens.open(folder)
    documents = [document.tolist() for document in tokens.documents()]
    text = b"".join(tokens.decode(SMALL))
    assert [id for document in documents for id in document] == [
        id for n in range(len(tokens.shards)) for id in tokens.ids(n).tolist()
    ]
    return text


@pytest.mark.parametrize("format", ["bin", "npy", "megatron"])
def test_every_flipped_bit_of_a_folder_is_found_or_harmless(format: Any, tmp_path: Path) -> None:
    SMALL.encode_corpus(["the cat", "sat on", "that"], out=tmp_path, format=format, append=END)
    text = decoded(tmp_path)
    whole = contents(tmp_path)
    found = 0
    for name, data in whole.items():
        for at in range(len(data)):
            (tmp_path / name).write_bytes(data[:at] + bytes([data[at] ^ 1 << at % 8]) + data[at + 1 :])
            try:
                assert decoded(tmp_path) == text
            except TokensError as error:
                assert len(str(error)) < 1000
                found += 1
        (tmp_path / name).write_bytes(data)
    # All but the ids of appended tokens and the last bytes of JSON, which change nothing.
    assert found > 0.97 * sum(map(len, whole.values()))


def test_a_finished_shard_that_was_cut_is_not_resumed_over(tmp_path: Path) -> None:
    def interrupted() -> Iterable[str]:
        yield from ["the cat sat"] * 10
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SMALL.encode_corpus(interrupted(), out=tmp_path, shard_tokens=5, buffer_size=5)
    for name in ("shard-00000.bin", "shard-00001.docs.npy"):
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(
            TokensError, match=rf"{name} is corrupt: its size is not that of .* encode .*again"
        ):
            SMALL.encode_corpus(["the cat sat"] * 20, out=tmp_path, shard_tokens=5, buffer_size=5)
        (tmp_path / name).write_bytes(data)


def test_an_older_folder_without_checksums_is_read_and_resumed(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.write_text("the cat sat" + END + "on the mat" * 9)
    SMALL.encode_corpus(corpus, out=tmp_path / "x", shard_tokens=5)
    whole = contents(tmp_path / "x")
    without_checksums(tmp_path / "x")
    assert decoded(tmp_path / "x") == corpus.read_bytes()
    facts = json.loads((tmp_path / "x" / "tokens.json").read_bytes()) | {"complete": False}
    (tmp_path / "x" / "tokens.json").write_text(json.dumps(facts))
    for file in (tmp_path / "x").glob("shard-00001.*"):
        file.unlink()
    SMALL.encode_corpus(corpus, out=tmp_path / "x", shard_tokens=5)
    resumed = contents(tmp_path / "x")
    assert {name for name in whole if whole[name] != resumed[name]} == {"shard-00000.json"}

    # What checksums would find is refused where it is out of range.
    without_checksums(tmp_path / "x", next={"part": 9, "offset": 0, "within": 0})
    (tmp_path / "x" / "tokens.json").write_text(json.dumps(facts))
    with pytest.raises(TokensError, match="part 9 of the corpus, which has only 1"):
        SMALL.encode_corpus(corpus, out=tmp_path / "x", shard_tokens=5)


def test_boundaries_out_of_order_are_refused(tmp_path: Path) -> None:
    SMALL.encode_corpus(["the cat", "sat on", "that"], out=tmp_path)
    without_checksums(tmp_path)
    file = tmp_path / "shard-00000.docs.npy"
    bounds = np.load(file)
    for wrong in ([0, 5, 3], [0, -1, 2], [0, 2**62, 3]):
        np.save(file, np.array([*wrong, bounds[-1]], np.int64))
        with pytest.raises(TokensError, match="does not match"):
            list(Tokens.open(tmp_path).documents())


def test_files_of_other_programs_can_be_opened(tmp_path: Path) -> None:
    ids = SMALL.encode("the cat sat")
    np.save(tmp_path / "a.npy", np.array(ids, np.int64))
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(ids)
    (tmp_path / "b.bin").write_bytes(header.tobytes() + np.array(ids, np.uint16).tobytes())
    (tmp_path / "c.bin").write_bytes(np.array(ids, np.int32).tobytes())
    (tmp_path / "c.idx").write_bytes(
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, 4, 2, 2)
        + struct.pack("<2i2q2q", 1, len(ids) - 1, 0, 4, 0, 2)
    )
    for name in ("a.npy", "b.bin", "c.bin"):
        tokens = Tokens.open(tmp_path / name)
        assert tokens.ids(0).tolist() == ids
        assert b"".join(tokens.decode(SMALL)) == b"the cat sat"
    with pytest.raises(merganser.TokensError, match="does not record where its documents end"):
        list(Tokens.open(tmp_path / "a.npy").documents())
    assert [document.tolist() for document in Tokens.open(tmp_path / "c.bin").documents()] == [ids]

    (tmp_path / "d.bin").write_bytes(np.array(ids, np.uint16).tobytes())
    with pytest.raises(merganser.TokensError, match=r"cannot determine how .*; read it with numpy\.fromfile"):
        Tokens.open(tmp_path / "d.bin")
    np.save(tmp_path / "e.npy", np.zeros((2, 2)))
    with pytest.raises(merganser.TokensError, match="must be a one-dimensional array of integers"):
        Tokens.open(tmp_path / "e.npy")
    for corrupt in (b"", b"MMIDIDX\x00\x00", (tmp_path / "c.idx").read_bytes()[:-1]):
        (tmp_path / "c.idx").write_bytes(corrupt)
        with pytest.raises(merganser.TokensError, match=r"c\.idx"):
            Tokens.open(tmp_path / "c.bin")


@pytest.mark.parametrize("name", ["a.npy", "b.idx", "c.bin"])
def test_damaged_files_of_other_programs_raise_our_errors(name: str, tmp_path: Path) -> None:
    ids = np.array(SMALL.encode("the cat sat on the mat"), np.int32)
    np.save(tmp_path / "a.npy", ids)
    (tmp_path / "b.bin").write_bytes(ids.tobytes())
    (tmp_path / "b.idx").write_bytes(
        b"MMIDIDX\x00\x00"
        + struct.pack("<QBQQ", 1, 4, 2, 3)
        + struct.pack("<2i2q3q", 1, len(ids) - 1, 0, 4, 0, 1, 2)
    )
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, len(ids)
    (tmp_path / "c.bin").write_bytes(header.tobytes() + ids.astype(np.uint16).tobytes())
    good = (tmp_path / name).read_bytes()
    chance = random.Random(name)
    refused = 0
    for _ in range(400):
        data = bytearray(good)
        for _ in range(chance.choice((1, 1, 2, 4))):
            data[chance.randrange(min(len(data), 160))] = chance.choice(
                (0, 1, 0x7F, 0xFF, chance.randrange(256))
            )
        (tmp_path / name).write_bytes(data[: chance.choice((len(data), chance.randrange(len(data))))])
        try:
            tokens = Tokens.open(
                (tmp_path / name).with_suffix(".bin" if name == "b.idx" else Path(name).suffix)
            )
            tokens.ids(0)
            if tokens.shards[0].documents is not None:
                assert sum(map(len, tokens.documents())) == tokens.token_count
        except TokensError as error:
            assert len(str(error)) < 1000
            refused += 1
    assert refused > 200


def test_one_shard_can_be_opened_alone(tmp_path: Path) -> None:
    SMALL.encode_corpus(["the cat", "sat"], out=tmp_path, shard_tokens=1, append=END)
    assert b"".join(Tokens.open(tmp_path / "shard-00001.bin").decode(SMALL)) == b"sat"


def test_an_interrupt_right_after_the_facts_are_written_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = folders._LocalFolder.write_facts

    def interrupted(folder: folders._LocalFolder, facts: dict[str, Any]) -> None:
        write(folder, facts)
        raise KeyboardInterrupt

    monkeypatch.setattr(folders._LocalFolder, "write_facts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SMALL.encode_corpus(["the cat"], out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tokens.json").write_text("{}")
    with pytest.raises(TokensError):
        SMALL.encode_corpus(["the cat"], out=tmp_path / "out")
    assert (tmp_path / "out" / "tokens.json").exists(), "an existing file is kept"
