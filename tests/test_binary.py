"""Binary files: rejected when named, skipped with a warning when a folder or glob includes them."""

import gzip
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import merganser
import processes
import pytest
from merganser import CorpusError, Local, MerganserWarning, ReadOptions
from merganser.corpus import resolve
from merganser.corpus.binary import judged, text_of
from merganser.corpus.remote import find
from merganser.corpus.skipped import Skips

TEXT = "the cat sat on the mat\n" * 5
BINARY = {
    "image.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "late.dat": b"a" * 60_000 + b"\0",
    "wide.txt": TEXT.encode("utf-16"),
    "big.txt": TEXT.encode("utf-16-be").join([b"\xfe\xff", b""]),
    "wider.txt": TEXT.encode("utf-32"),
    "russian.txt": ("привет как дела " * 9).encode("koi8-r"),
    "packed.gz": gzip.compress(b"\x7fELF\2\1\1\0\0"),
    "lines.jsonl": b'{"text": "a\0b"}\n',
}
REASON = {
    "image.png": r"image\.png is a binary file \(NUL byte at offset 8\), not text; .*--allow-binary",
    "wide.txt": r"wide\.txt is UTF-16, not UTF-8; convert it first: iconv -f UTF-16 -t UTF-8",
    "wider.txt": r"wider\.txt is UTF-32, not UTF-8; convert it first: iconv -f UTF-32 -t UTF-8",
    "russian.txt": r"russian\.txt is not UTF-8 text \(8\d% invalid UTF-8\); convert .*iconv.*--allow-binary",
}
TEXTS = {
    "plain.txt": TEXT.encode(),
    "french.txt": ("Où est le garçon, là-bas ? " * 9).encode("latin-1"),
    "later.txt": b"a" * 70_000 + b"\0",
    "text.gz": gzip.compress(TEXT.encode()),
    "empty": b"",
}


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "use",
    [
        lambda file, tmp: merganser.train(file, 300),
        lambda file, tmp: merganser.count(file),
        lambda file, tmp: merganser.count([file]),
        lambda file, tmp: merganser.count(file, out=tmp / "x.counts"),
        lambda file, tmp: BYTES.encode_corpus(file, out=tmp / "tokens"),
        lambda file, tmp: merganser.verify(BYTES, BYTES, on=file),
    ],
)
def test_a_binary_file_that_is_named_is_rejected(
    name: str, use: Callable[[Path, Path], object], tmp_path: Path
) -> None:
    file = tmp_path / name
    file.write_bytes(BINARY[name])
    with pytest.raises(CorpusError, match=REASON.get(name, "binary file|not UTF-8")):
        use(file, tmp_path)
    assert list(tmp_path.iterdir()) == [file]


BYTES = merganser.Tokenizer({bytes([byte]): byte for byte in range(256)})


@pytest.mark.parametrize("name", TEXTS)
def test_text_with_a_few_invalid_bytes_is_read(name: str, tmp_path: Path) -> None:
    file = tmp_path / name
    file.write_bytes(TEXTS[name])
    assert resolve(file, 1).files == (file,)
    assert resolve(tmp_path, 1).files == (file,)
    counts = merganser.count(file)
    assert bool(counts.invalid_bytes) == (name == "french.txt")


def test_binary_files_in_a_folder_are_skipped_with_one_warning(tmp_path: Path) -> None:
    for name, data in (BINARY | TEXTS).items():
        (tmp_path / name).write_bytes(data)
    kept = tuple(sorted(tmp_path / name for name in TEXTS))
    for source, found in ((tmp_path, f"below {tmp_path}"), (tmp_path / "*", f"that match {tmp_path / '*'}")):
        with pytest.warns(MerganserWarning) as warned:
            assert resolve(source, 1).files == kept
        assert [str(warning.message) for warning in warned] == [
            f"skipped 8 binary files {found}: big.txt (UTF-16), image.png, late.dat, …"
        ]


def test_a_folder_of_nothing_but_binary_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(b"\x7fELF\0")
    with pytest.raises(CorpusError, match=rf"the only file below {tmp_path} is binary, not text \(a\.so\)"):
        merganser.train(tmp_path, 300)
    (tmp_path / "b.so").write_bytes(b"\x7fELF\0")
    with pytest.raises(CorpusError, match=r"all 2 files below .* are .*\(a\.so, b\.so\); .*--allow-binary"):
        merganser.train(tmp_path, 300)


def test_on_error_skip_skips_binary_files_that_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(TEXT)
    (tmp_path / "b.bin").write_bytes(b"a\0b")
    files = [tmp_path / "a.txt", tmp_path / "b.bin"]
    with pytest.warns(MerganserWarning, match=r"skipped .*b\.bin, a binary file \(NUL byte at offset 1\)"):
        counts = merganser.count(files, on_error="skip")
    assert counts == merganser.count(files[0])


def test_allow_binary_reads_binary_files(tmp_path: Path) -> None:
    file = tmp_path / "a.bin"
    file.write_bytes(b"a\0b")
    assert merganser.count(file, allow_binary=True) == merganser.count([b"a\0b"])
    assert merganser.count(tmp_path, allow_binary=True) == merganser.count([b"a\0b"])
    with pytest.raises(merganser.SettingsError, match="allow_binary must be True or False, got 'no'"):
        ReadOptions(allow_binary="no")  # type: ignore[arg-type]


def test_the_binary_check_does_not_consume_a_pipe(tmp_path: Path) -> None:
    script = "import merganser, sys; print(merganser.count(sys.argv[1]).total)"
    command = f'"{sys.executable}" -W error -c \'{script}\' <(printf "one two")'
    done = processes.run(["bash", "-c", command])
    assert (done.stdout, done.stderr) == ("2\n", "")


def test_binary_standard_input_is_rejected() -> None:
    script = "import merganser; print(merganser.count('-').total)"
    done = processes.run([sys.executable, "-c", script], input=b"\x7fELF\0", text=False)
    assert b"CorpusError: standard input is a binary file (NUL byte at offset 4), not text" in done.stderr
    done = processes.run([sys.executable, "-W", "error", "-c", script], input=b"one two", text=False)
    assert (done.stdout, done.stderr) == (b"2\n", b"")


def test_remote_files_are_checked_when_they_are_read(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    for name, data in (("a.txt", TEXT.encode()), ("b.png.gz", gzip.compress(b"a\0b")), ("c.txt", b"dog")):
        with memory.open(f"/judged/{name}", "wb") as file:
            file.write(data)
    with pytest.raises(CorpusError, match=r"judged/b\.png\.gz is a binary file \(NUL byte at offset 1\)"):
        merganser.count("memory://judged/b.png.gz")
    for source in ("memory://judged", "memory://judged/*"):
        with pytest.warns(MerganserWarning, match=r"skipped 1 file .*b\.png\.gz is a binary file"):
            counts = merganser.count(source)
        assert counts == merganser.count([TEXT, "dog"])
        assert counts.skipped.files == 1
    read = merganser.count("memory://judged", allow_binary=True)
    assert read == merganser.count([TEXT, "a\0b", "dog"])
    with pytest.warns(MerganserWarning, match="binary"):
        tokens = BYTES.encode_corpus("memory://judged", out=tmp_path / "tokens")
    assert (
        b"".join(BYTES.decode_bytes(ids) for shard in tokens.shards for ids in shard.each_document())
        == TEXT.encode() + b"dog"
    )


def test_streams_are_checked_where_they_are_read() -> None:
    fsspec = pytest.importorskip("fsspec")
    memory = fsspec.filesystem("memory")
    with memory.open("/shards/a.bin", "wb") as file:
        file.write(b"a\0b")
    skips = Skips()
    (found,) = find("memory://shards")
    assert b"".join(text_of(found, ReadOptions(), skips)[0]) == b""
    assert skips.skipped.files == 1
    (named,) = find("memory://shards/a.bin")
    with pytest.raises(CorpusError, match="binary"):
        text_of(named, ReadOptions(), skips)


def test_a_lost_stream_raises_when_it_is_read() -> None:
    def broken() -> Iterator[bytes]:
        yield b"some text"
        raise CorpusError("lost")

    chunks, name = judged(broken(), "x", ReadOptions(), Skips(), may_skip=True)
    assert (next(chunks), name) == (b"some text", "x")
    with pytest.raises(CorpusError, match="lost"):
        next(chunks)


def test_resumed_counting_skips_the_same_binary_files(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(6):
        (texts / f"{number}.txt").write_text(f"file {number} " * 200_000)
    (texts / "3.bin").write_bytes(b"a\0b")

    class Stop(Exception):
        pass

    def stop(_stage: str, done: int, _total: int) -> None:
        if done > 3_000_000:
            raise Stop

    engine = Local(threads=1, work_dir=tmp_path / "work", checkpoint_every=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MerganserWarning)
        with pytest.raises(Stop):
            merganser.count(texts, engine=engine, progress=stop)
        assert (tmp_path / "work").is_dir()
        resumed = merganser.count(texts, engine=engine)
        assert resumed == merganser.count(texts)
