"""Named datasets: downloaded once, verified on every use, and identical when read from a local copy."""

import hashlib
import os
import re
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import datasets
import merganser
import processes
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from corpora import corpus_text
from merganser import CorpusError
from merganser.corpus import named_datasets
from web import Page, Web, serving

NOVEL = (
    "Letter 1\n\n_To Mrs. Saville, England._\n\nRejoice… Letter 1 of four.\n"
    "lost in darkness and distance.\n\n\n"
)
CONTENTS = " Letter 1\n Letter 2\n Chapter 1\n\n\n\n"
BOOK = "The Project Gutenberg eBook of Frankenstein\n\n" + CONTENTS + NOVEL
ENDINGS = (
    "End of the Project Gutenberg EBook of Frankenstein, by\n*** END OF THIS PROJECT GUTENBERG EBOOK ***\n",
    "*** END OF THE PROJECT GUTENBERG EBOOK FRANKENSTEIN; OR, THE MODERN PROMETHEUS ***\nlicence\n",
    "***END OF THIS PROJECT GUTENBERG EBOOK FRANKENSTEIN***\nlicence\n",
    "End of Project Gutenberg's Frankenstein, by Mary Wollstonecraft Shelley\n",
    "End of the Project Gutenberg EBook",
    "",
)
FILE = ("\ufeff" + BOOK + ENDINGS[1]).replace("\n", "\r\n").encode()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    with serving() as web:
        monkeypatch.setattr(named_datasets, "FRANKENSTEIN_URL", f"{web.url}/pg84.txt")
        web.pages["/pg84.txt"] = Page(FILE)
        yield web


def test_frankenstein_is_downloaded_once_and_cached_with_its_checksum(web: Web, cache: Path) -> None:
    expected = merganser.count([NOVEL])
    for _ in range(2):
        counts = merganser.count("frankenstein")
        assert counts == expected
        assert counts.documents == 1
    assert web.seen == ["/pg84.txt"]
    assert (cache / "pg84.txt").read_bytes() == FILE
    assert (cache / "pg84.txt.sha256").read_text() == f"{hashlib.sha256(FILE).hexdigest()}  pg84.txt\n"
    assert sorted(file.name for file in cache.iterdir()) == ["pg84.txt", "pg84.txt.sha256"]


@pytest.mark.parametrize("start", [BOOK, CONTENTS + NOVEL, NOVEL])
@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_edition_of_frankenstein_yields_the_same_text(
    tmp_path: Path, start: str, ending: str, newline: str
) -> None:
    """Whether or not the header, the table of contents and the footer have been removed from it."""
    file = tmp_path / "book.txt"
    file.write_bytes((start + ending).replace("\n", newline).encode("utf-8-sig"))
    assert named_datasets.frankenstein(file).documents == (NOVEL,)
    assert merganser.count(f"frankenstein={file}") == merganser.count([NOVEL])
    assert merganser.count([Path(f"frankenstein={file}")]) == merganser.count([NOVEL])


def test_frankenstein_is_extracted_from_the_published_file(tmp_path: Path) -> None:
    raw = corpus_text("frankenstein_raw.txt")
    (tmp_path / "raw.txt").write_text(raw, "utf-8", newline="")
    (tmp_path / "cut.txt").write_text(corpus_text("frankenstein.txt"), "utf-8", newline="")
    texts = [named_datasets.frankenstein(tmp_path / name).documents[0] for name in ("raw.txt", "cut.txt")]
    assert texts[0] == texts[1]
    text = str(texts[0])
    assert text.startswith("Letter 1\n\n") and "Mrs. Saville" in text[:60]
    assert text.rstrip().endswith("lost in darkness and distance.")
    assert "Gutenberg" not in text and "\r" not in text and "CONTENTS" not in text
    assert text in raw.replace("\r\n", "\n")

    # Cut by hand: at the first heading, which is in the table of contents, or at the second.
    plain = raw.replace("\r\n", "\n")
    first = plain.index("Letter 1")
    end = plain.index("End of the Project Gutenberg EBook")
    for start in (first, plain.index("Letter 1", first + 1)):
        for stop in (end, end + len("End of the Project Gutenberg EBook")):
            (tmp_path / "frankenstein.txt").write_text(plain[start:stop], "utf-8")
            assert named_datasets.frankenstein(tmp_path / "frankenstein.txt").documents == (text,)


def test_another_text_is_not_mistaken_for_frankenstein(tmp_path: Path) -> None:
    file = tmp_path / "book.txt"
    file.write_text("Letter 1\n")
    with pytest.raises(CorpusError, match=r"book\.txt is not Project Gutenberg 84.*pass its path alone"):
        merganser.count(f"frankenstein={file}")
    for text in (BOOK, NOVEL):
        file.write_text(text.replace(" and distance.", ""))
        with pytest.raises(CorpusError, match=r"book\.txt is incomplete: .* download it again"):
            merganser.count(f"frankenstein={file}")
    with pytest.raises(CorpusError, match=r"cannot read .*gone.txt"):
        merganser.count(f"frankenstein={tmp_path}/gone.txt")


def is_empty(cache: Path) -> bool:
    return not cache.exists() or not list(cache.iterdir())


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (Page(status=404), "returned 404 .* pass a local copy"),
        (Page(status=503, headers={"Retry-After": "1"}), "returned 503"),
        (Page(FILE, cuts=9), r"returned [\d,]+ bytes, but its Content-Length is"),
        (Page(b""), "not Project Gutenberg 84"),
        (Page(b"<html>please log in</html>"), "not Project Gutenberg 84"),
        (Page(bytes(5 << 20)), "returned 4,194,305 bytes"),
        (Page(status=302, headers={"Location": "/pg84.txt"}), "returned 302"),
    ],
)
def test_a_failed_download_caches_nothing(web: Web, cache: Path, page: Page, message: str) -> None:
    web.pages["/pg84.txt"] = page
    with pytest.raises(CorpusError, match=message):
        merganser.count("frankenstein")
    assert is_empty(cache)
    web.pages["/pg84.txt"] = Page(FILE)
    assert merganser.count("frankenstein") == merganser.count([NOVEL])


def test_redirects_are_followed(web: Web, cache: Path) -> None:
    web.pages["/new.txt"] = Page(FILE)
    web.pages["/pg84.txt"] = Page(status=301, headers={"Location": "/new.txt"})
    assert merganser.count("frankenstein") == merganser.count([NOVEL])
    assert (cache / "pg84.txt").read_bytes() == FILE


def test_a_corrupt_cached_file_is_rejected(web: Web, cache: Path) -> None:
    merganser.count("frankenstein")
    for corrupt in (FILE.replace(b"darkness", b"darkest!"), b""):
        (cache / "pg84.txt").write_bytes(corrupt)
        with pytest.raises(CorpusError, match=r"pg84\.txt is corrupt: .* delete it to download it again"):
            merganser.count("frankenstein")
    (cache / "pg84.txt").unlink()
    assert merganser.count("frankenstein") == merganser.count([NOVEL])
    (cache / "pg84.txt.sha256").unlink()  # as if the first download had been interrupted
    assert merganser.count("frankenstein") == merganser.count([NOVEL])
    assert len(web.seen) == 3


@contextmanager
def silent_server() -> Iterator[str]:
    """The address of a server that completes no connection: its backlog is full and it accepts none."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        address = server.getsockname()
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(address)
        yield f"http://127.0.0.1:{address[1]}"


@pytest.fixture(params=["refused", "unknown name", "no answer"])
def unreachable(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that cannot be reached."""
    if request.param == "no answer":
        with silent_server() as url:
            yield url
    else:
        yield {"refused": "http://127.0.0.1:9", "unknown name": "http://nowhere.invalid"}[request.param]


def failure_without_a_network(call: str, folder: Path, **variables: str) -> str:
    """The error of a call in a new process, which must come in under two seconds.

    Imports are not timed: on a busy machine they alone can take longer.
    """
    script = (
        "import time, datasets, merganser\n"
        "from merganser.corpus import named_datasets\n"
        "start = time.perf_counter()\n"
        f"try: {call}\n"
        "except merganser.CorpusError as error: print(time.perf_counter() - start, error, sep='\\n')\n"
    )
    env = {"MERGANSER_CACHE": str(folder / "cache"), "HF_HOME": str(folder), **variables}
    done = processes.run([sys.executable, "-c", script], cwd=folder, env={**os.environ, **env})
    seconds, message = done.stdout.splitlines()
    assert float(seconds) < 2
    assert not done.stderr
    return str(message)


def test_frankenstein_without_a_network_suggests_a_local_copy_at_once(
    unreachable: str, tmp_path: Path
) -> None:
    call = f"named_datasets.FRANKENSTEIN_URL = '{unreachable}/pg84.txt'; merganser.count('frankenstein')"
    message = failure_without_a_network(call, tmp_path)
    assert re.fullmatch(
        r"cannot download http://\S+: (\w+ ){1,3}.*; "
        r"check the network, or pass a local copy: frankenstein=/path/to/pg84\.txt",
        message,
    )
    assert is_empty(tmp_path / "cache")


def test_a_proxy_is_tried_instead_of_the_server(
    web: Web, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("no_proxy", "NO_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", web.url)
    monkeypatch.setattr("urllib.request._opener", None)  # it keeps the proxies of the first request
    monkeypatch.setattr(named_datasets, "FRANKENSTEIN_URL", "http://nowhere.invalid/pg84.txt")
    web.pages["http://nowhere.invalid/pg84.txt"] = Page(FILE)
    assert merganser.count("frankenstein") == merganser.count([NOVEL])


def test_the_time_to_connect_can_be_set(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with silent_server() as url:
        monkeypatch.setattr(named_datasets, "FRANKENSTEIN_URL", f"{url}/pg84.txt")
        monkeypatch.setenv("MERGANSER_CONNECT_TIMEOUT", "0.1")
        with pytest.raises(CorpusError, match=r"no answer from 127\.0\.0\.1 within 0\.1 s"):
            merganser.count("frankenstein")
        for wrong in ("soon", "0", "-1", "inf", "nan"):
            monkeypatch.setenv("MERGANSER_CONNECT_TIMEOUT", wrong)
            with pytest.raises(merganser.ArgumentError, match=f"positive number of seconds, got '{wrong}'"):
                merganser.count("frankenstein")


def test_a_cache_that_cannot_be_written_is_named(
    web: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MERGANSER_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(merganser.WriteError, match="set MERGANSER_CACHE to another folder"):
        merganser.count("frankenstein")


def test_environment_variables_set_the_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MERGANSER_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    assert named_datasets.cache_folder() == Path.home() / ".cache" / "merganser"
    monkeypatch.setenv("XDG_CACHE_HOME", "/x")
    assert named_datasets.cache_folder() == Path("/x/merganser")
    monkeypatch.setenv("MERGANSER_CACHE", "/y")
    assert named_datasets.cache_folder() == Path("/y")


def test_a_file_of_the_same_name_takes_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("frankenstein").write_text("the monster")
    Path("wikitext2").mkdir()
    Path("wikitext2", "a.txt").write_text("an article")
    assert merganser.count("frankenstein") == merganser.count(["the monster"])
    assert merganser.count("wikitext2") == merganser.count(["an article"])


ROWS = ["", " = Robert Boulter = \n", "", " Robert is an English naïve actor . \n", ""]


def test_wikitext2_is_the_same_from_every_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Use the real `datasets`, which loads a local folder `wikitext` instead of the dataset of that name."""
    expected = merganser.count(ROWS)
    raw = tmp_path / "wiki.train.raw"
    raw.write_text("".join(row or " \n" for row in ROWS), "utf-8")
    config = tmp_path / "wikitext" / "wikitext-2-raw-v1"
    config.mkdir(parents=True)
    for split, rows in (("train", ROWS), ("test", ["never read"])):
        pq.write_table(pa.table({"text": rows}), config / f"{split}-00000-of-00001.parquet")
    (tmp_path / "wikitext" / "README.md").write_text(
        "---\nconfigs:\n- config_name: wikitext-2-raw-v1\n  data_files:\n"
        "  - split: train\n    path: wikitext-2-raw-v1/train-*\n"
        "  - split: test\n    path: wikitext-2-raw-v1/test-*\n---\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    for name in ("wikitext2", f"wikitext2={raw}", f"wikitext2={config}/train-00000-of-00001.parquet"):
        counts = merganser.count(name)
        assert counts == expected, name
        assert counts.documents == expected.documents


def test_wikitext2_without_a_network_suggests_a_local_copy_at_once(unreachable: str, tmp_path: Path) -> None:
    message = failure_without_a_network("merganser.count('wikitext2')", tmp_path, HF_ENDPOINT=unreachable)
    assert re.fullmatch(
        r"cannot download wikitext2 through datasets: (\w+ ){1,3}.*; "
        r"if you have a local copy, pass wikitext2=/path/to/wiki\.train\.raw",
        message,
    )


def test_wikitext2_without_datasets_says_what_to_install(tmp_path: Path) -> None:
    script = "import sys; sys.modules['datasets'] = None; import merganser; merganser.count('wikitext2')"
    done = processes.run([sys.executable, "-c", script], cwd=tmp_path)
    assert "wikitext2 needs datasets: pip install 'merganser[hf]'" in done.stderr.splitlines()[-1]
