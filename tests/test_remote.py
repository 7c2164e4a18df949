"""Remote files: counted like local files, and resumed after a lost connection."""

import pickle
import shutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import fsspec
import merganser
import processes
import pytest
from interrupted import mark_incomplete
from merganser import CorpusError, Counts
from merganser.corpus import remote, resolve
from merganser.corpus.addresses import Address, redacted
from web import Page, Web, serving

TEXTS = {"a.txt": "one two", "b.txt": "two three\n<|endoftext|>four", "sub/c.txt": "five naïve five"}
WHOLE = merganser.count(list(TEXTS.values()))
#: Several chunks, all different.
LONG = "".join(f"line {n} of many\n" for n in range(200_000))


@pytest.fixture
def memory() -> Iterator[str]:
    """Return the URL of a folder in memory with the texts."""
    files = fsspec.filesystem("memory")
    for name, text in TEXTS.items():
        files.pipe(f"/texts/{name}", text.encode())
    files.pipe("/texts/.hidden/d.txt", b"never read")
    files.pipe("/texts/sub/.e.txt", b"never read")
    yield "memory://texts"
    files.rm("/", recursive=True)


@pytest.fixture
def web() -> Iterator[Web]:
    with serving() as web:
        for name, text in TEXTS.items():
            web.pages[f"/texts/{name}"] = Page(text.encode())
        web.pages["/long.txt"] = Page(LONG.encode())
        yield web


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAITS", (0.0, 0.0, 0.0))


def test_the_next_chunk_is_read_while_one_is_used(memory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read_again = threading.Event()
    fsspec.filesystem("memory").pipe("/texts/long.txt", LONG.encode())
    (file,) = remote.find(f"{memory}/long.txt")
    read = remote._ReconnectingFile._read

    def noted(self: remote._ReconnectingFile, size: int) -> bytes:
        if self.tell() > 0:
            read_again.set()
        return read(self, size)

    monkeypatch.setattr(remote._ReconnectingFile, "_read", noted)
    chunks = file.chunks()
    first = next(chunks)
    assert read_again.wait(60)
    assert b"".join([first, *chunks]) == LONG.encode()


def test_every_way_to_name_a_remote_corpus_yields_the_same_counts(memory: str) -> None:
    names = [f"{memory}/{name}" for name in TEXTS]
    for source in (
        memory,
        f"{memory}/",
        f"{memory}/**/*.txt",
        [Path(name) for name in names],
        [Address(name) for name in names],
        [Path(memory, "a.txt"), Address(f"{memory}/[b].txt"), Path(memory, "sub")],
    ):
        counts = merganser.count(source)
        assert counts == WHOLE, source
        assert counts.documents == WHOLE.documents


def test_local_files_and_archive_members_can_be_named_by_url(tmp_path: Path) -> None:
    for name, text in TEXTS.items():
        file = tmp_path / "texts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    archive = shutil.make_archive(str(tmp_path / "texts"), "zip", tmp_path / "texts")
    for source in (
        f"file://{tmp_path}/texts",
        Path(f"file://{tmp_path}/texts"),
        f"zip://**/*.txt::file://{archive}",
    ):
        assert merganser.count(source) == WHOLE, source


def test_remote_and_local_files_can_be_mixed(memory: str, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("more")
    assert merganser.count([tmp_path, Path(memory)]) == WHOLE + merganser.count(["more"])


def test_remote_counts_are_a_corpus_like_any_other(memory: str, tmp_path: Path) -> None:
    WHOLE.save(tmp_path / "x.counts")
    WHOLE.to_tsv(tmp_path / "x.counts.tsv")
    for name in ("x.counts", "x.counts.tsv"):
        fsspec.filesystem("memory").pipe(f"/{name}", (tmp_path / name).read_bytes())
        assert merganser.count(f"memory://{name}") == WHOLE
    fsspec.filesystem("memory").pipe("/bad.counts.tsv", b"one\t1\ntwo\n")
    with pytest.raises(merganser.CountsError, match=r"memory://.*bad\.counts\.tsv, line 2"):
        merganser.count("memory://bad.counts.tsv")
    assert merganser.count([Path("memory://x.counts"), Path("memory://x.counts.tsv"), Path(memory)]) == (
        WHOLE + WHOLE + WHOLE
    )


def test_remote_text_is_encoded_and_resumed_as_local_text_is(memory: str, tmp_path: Path) -> None:
    tokenizer = merganser.train(memory, 270)
    for name, text in TEXTS.items():
        file = tmp_path / "texts" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    here = tokenizer.encode_corpus(tmp_path / "texts", out=tmp_path / "here", shard_tokens=3)
    there = tokenizer.encode_corpus(memory, out=tmp_path / "there", shard_tokens=3)
    assert len(there.shards) > 2
    assert [ids.tolist() for ids in there.documents()] == [ids.tolist() for ids in here.documents()]

    mark_incomplete(tmp_path / "there")
    for file in there.path.glob("shard-*"):
        if not file.name.startswith(("shard-00000", "shard-00001")):
            file.unlink()
    again = tokenizer.encode_corpus(memory, out=tmp_path / "there", shard_tokens=3)
    assert [shard.crc32 for shard in again.shards] == [shard.crc32 for shard in here.shards]

    fsspec.filesystem("memory").pipe("/texts/a.txt", b"another text")
    with pytest.raises(merganser.TokensError, match="different corpus"):
        tokenizer.encode_corpus(memory, out=tmp_path / "there", shard_tokens=3)


def test_a_resolved_corpus_can_be_pickled(memory: str) -> None:
    found = resolve(memory, 10)
    again = pickle.loads(pickle.dumps(found))
    assert again.origins == found.origins
    assert b"".join(again.streams[0].chunks()) == TEXTS["a.txt"].encode()


def test_files_from_the_web_yield_the_same_counts(web: Web) -> None:
    names = [Address(f"{web.url}/texts/{name}?token=1") for name in TEXTS]
    assert merganser.count(names) == WHOLE
    assert merganser.count(f"{web.url}/long.txt") == merganser.count([LONG])
    assert web.seen.count("/long.txt") == 1


def test_a_page_of_links_is_read_as_a_folder(web: Web) -> None:
    links = ("a.txt", "b.txt", "sub/", "none/")
    web.pages["/texts/"] = Page("".join(f'<a href="{link}">{link}</a>\n' for link in links).encode())
    web.pages["/texts/none/"] = Page(b"nothing here")
    web.pages["/texts/sub/"] = Page(b'<a href="../">up</a> <a href="c.txt">c</a>')
    assert merganser.count(f"{web.url}/texts/") == WHOLE
    assert merganser.count(f"{web.url}/texts/*.txt") == merganser.count([TEXTS["a.txt"], TEXTS["b.txt"]])
    web.pages["/texts/sub/"] = Page(status=500)
    with pytest.raises(CorpusError, match=rf"cannot read {web.url}/texts/: 500"):
        merganser.count(f"{web.url}/texts/")


@pytest.mark.usefixtures("impatient")
def test_a_lost_connection_resumes_at_the_byte_it_had_reached(web: Web) -> None:
    web.pages["/long.txt"].cuts = 3
    assert merganser.count(f"{web.url}/long.txt") == merganser.count([LONG])
    assert web.pages["/long.txt"].cuts == 0
    assert any("bytes=" in request for request in web.seen)


@pytest.mark.usefixtures("impatient")
def test_a_connection_that_stays_lost_is_named(web: Web) -> None:
    web.pages["/long.txt"].cuts = 1000
    with pytest.raises(CorpusError, match=rf"{web.url}/long.txt at byte [1-9].*try again later"):
        merganser.count(f"{web.url}/long.txt?signature=secret")


@pytest.mark.usefixtures("impatient")
def test_a_server_that_cannot_resume_is_named(web: Web) -> None:
    web.pages["/long.txt"] = Page(LONG.encode(), cuts=1, ranges=False)
    with pytest.raises(CorpusError, match=rf"lost the connection to {web.url}/long.txt at byte [1-9]"):
        merganser.count(f"{web.url}/long.txt")


@pytest.mark.usefixtures("impatient")
def test_a_file_that_shrinks_is_detected(memory: str) -> None:
    found = resolve(memory, 10)
    fsspec.filesystem("memory").pipe("/texts/a.txt", b"one")
    with pytest.raises(CorpusError, match=r"a\.txt at byte 3 .* ended early, at byte 3 of 7"):
        list(found.streams[0].chunks())


def test_a_missing_file_is_named(memory: str, web: Web) -> None:
    for missing in ("not-there.txt", "not-there", "*.nothing"):
        with pytest.raises(CorpusError, match=f"{memory}/{missing}".replace("*", r"\*")):
            merganser.count(f"{memory}/{missing}")
    with pytest.raises(CorpusError, match=f"{web.url}/gone.txt does not exist; check the URL"):
        merganser.count(f"{web.url}/gone.txt")
    web.pages["/closed.txt"] = Page(status=403)
    with pytest.raises(CorpusError, match=f"cannot read {web.url}/closed.txt: 403") as refused:
        merganser.count(f"{web.url}/closed.txt?signature=secret")
    assert "secret" not in str(refused.value)
    with pytest.raises(CorpusError, match=r"cannot read http://127\.0\.0\.1:9/a\.txt"):
        merganser.count("http://127.0.0.1:9/a.txt")


def test_an_unknown_protocol_is_named() -> None:
    with pytest.raises(CorpusError, match=r"cannot open the URL quack://pond/a.txt: .* check its protocol"):
        merganser.count("quack://pond/a.txt")


@pytest.mark.parametrize(
    ("url", "blocked", "remedy"),
    [
        ("memory://texts", "fsspec", r"merganser\[data\]"),
        ("https://host/a.txt", "aiohttp", "aiohttp"),
        ("s3://bucket/a.txt", "s3fs", "pip install s3fs"),
        ("gs://bucket/a.txt", "gcsfs", "pip install gcsfs"),
        ("hf://datasets/a/b/c.txt", "huggingface_hub", "pip install huggingface_hub"),
    ],
)
def test_a_missing_package_is_named_with_its_install_command(url: str, blocked: str, remedy: str) -> None:
    script = f"import sys; sys.modules[{blocked!r}] = None; import merganser; merganser.count({url!r})"
    done = processes.run([sys.executable, "-c", script])
    assert f"ImportError: reading {url} needs" in done.stderr
    assert remedy.replace("\\", "") in done.stderr.splitlines()[-1]


def test_secrets_are_not_shown() -> None:
    assert redacted("https://me:secret@host/a.txt?signature=secret#x") == "https://host/a.txt"
    assert redacted("simplecache::https://me:secret@host/a.txt?x=secret") == "simplecache::https://host/a.txt"
    assert redacted("github://who:what@main/a.txt") == "github://who:what@main/a.txt"
    assert redacted("s3://bucket/what?.txt") == "s3://bucket/what?.txt"
    assert redacted("hf://datasets/who/what@main/a.txt") == "hf://datasets/who/what@main/a.txt"


def test_a_document_that_looks_like_a_url_causes_a_warning() -> None:
    with pytest.warns(merganser.MerganserWarning, match="it looks like a URL; .* pass Path objects"):
        merganser.count(["s3://bucket/a.txt"])


def test_the_command_line_accepts_urls(web: Web, tmp_path: Path) -> None:
    from merganser.cli import main

    out = str(tmp_path / "x.counts")
    assert main(["count", f"{web.url}/texts/a.txt", f"{web.url}/texts/b.txt", "--out", out]) == 0
    assert Counts.load(out) == merganser.count([TEXTS["a.txt"], TEXTS["b.txt"]])
    assert main(["count", f"{web.url}/gone.txt", "--out", out]) == 1
