"""Corpus: every kind of source yields the same text, and what is missing is named."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import merganser
import processes
import pytest
from merganser import CorpusError, Counts, SettingsError
from merganser.corpus import Corpus, Source, is_read_once, resolve
from merganser.corpus.named_datasets import python_stdlib
from merganser.corpus.remote import RemoteFile
from strategies import SPECIAL_NAMES

TEXTS = {"a.txt": "one two", "b.txt": "two three\n<|endoftext|>four", "sub/c.txt": "five five"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in TEXTS.items():
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, "utf-8")
    (tmp_path / ".hidden").write_text("never read")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("never read")
    return tmp_path


def test_every_way_to_name_a_corpus_yields_the_same_counts(folder: Path) -> None:
    whole = merganser.count(list(TEXTS.values()))
    files = [folder / name for name in TEXTS]
    assert merganser.count(folder) == whole
    assert merganser.count(str(folder)) == whole
    assert merganser.count(files) == whole
    assert merganser.count(iter(files)) == whole
    assert merganser.count(f"{folder}/**/*.txt") == whole
    assert merganser.count([folder / "[ab].txt", folder / "sub"]) == whole
    assert merganser.count(text.encode() for text in TEXTS.values()) == whole


def test_a_counts_file_is_a_corpus_like_any_other(folder: Path) -> None:
    whole = merganser.count(folder, pattern="gpt2", special_tokens=["<s>"])
    part = merganser.count(folder / "a.txt", pattern="gpt2", special_tokens=["<s>"])
    part.save(folder / "a.counts")
    mixed = merganser.count([folder / "a.counts", folder / "b.txt", folder / "sub"])
    assert mixed == whole
    assert mixed.pattern_name == "gpt2"
    assert merganser.count([folder / "a.counts"] * 2) == part + part
    with pytest.raises(merganser.CountsError):
        merganser.count(folder / "a.counts", pattern="gpt4")
    assert merganser.train(folder / "a.counts", 258) == merganser.train(part, 258)


def test_standard_input_is_read_to_its_end(folder: Path) -> None:
    script = "import merganser, sys; merganser.count('-').save(sys.argv[1])"
    text = "\n".join(TEXTS.values()) * 50_000
    processes.run(
        [sys.executable, "-W", "error", "-c", script, folder / "x.counts"],
        input=text.encode(),
        check=True,
        text=False,
    )
    assert Counts.load(folder / "x.counts") == merganser.count([text])


def test_documents_are_pulled_a_buffer_at_a_time() -> None:
    pulled = 0

    def endless() -> Iterator[str]:
        nonlocal pulled
        while True:
            pulled += 1
            if pulled == 25:
                raise RuntimeError("too many documents were pulled")
            yield "text"

    found = resolve(endless(), 10)
    assert pulled == 1
    buffers = iter(found.documents or ())
    next(buffers)
    assert pulled == 10
    with pytest.raises(RuntimeError, match="too many documents were pulled"):
        merganser.count(endless(), buffer_size=10)


def test_python_stdlib_lists_sources_and_topics_in_sorted_order() -> None:
    files = python_stdlib()
    assert files == sorted(files)
    assert {"argparse.py", "topics.py"} <= {file.name for file in files}
    assert not any("site-packages" in file.parts or "test" in file.parts for file in files)


def test_a_corpus_can_resume_after_any_of_its_parts() -> None:
    streams = [RemoteFile(None, "", name, 0) for name in ("c", "d")]
    corpus = Corpus((Path("a"),), (), True, tuple(streams), [["e", "f"], ["g"]])
    whole = ["a", "-", "c", "d", "e", "f", "g"]
    for parts in range(8):
        rest = corpus.after(parts)
        texts = [text for buffer in rest.documents or () for text in buffer]
        names = [*map(str, rest.files), *["-"] * rest.stdin, *map(str, rest.streams)]
        assert names + texts == whole[parts:]
    with pytest.raises(merganser.TokensError, match=r"1 fewer documents .* pass the same corpus"):
        list(corpus.after(8).documents or ())


def test_python_stdlib_does_not_enter_installed_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("os.py", "json/decoder.py", "site-packages/large/code.py", "json/tests/test_json.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("code")
    entered: list[str] = []
    scandir = os.scandir

    def recorded(folder: str) -> Any:
        entered.append(Path(folder).name)
        return scandir(folder)

    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setattr(os, "scandir", recorded)
    assert python_stdlib() == [tmp_path / "json" / "decoder.py", tmp_path / "os.py"]
    assert sorted(entered) == sorted([tmp_path.name, "json"])


@pytest.mark.parametrize("missing", ["not-there.txt", "not/there/", "*.nothing", "python-stdlibs"])
def test_a_missing_path_is_named(tmp_path: Path, missing: str) -> None:
    with pytest.raises(CorpusError, match=missing.rstrip("/").replace("*", r"\*")):
        merganser.count(tmp_path / missing)
    with pytest.raises(CorpusError, match=missing.rstrip("/").replace("*", r"\*")):
        merganser.count([tmp_path, tmp_path / missing] if list(tmp_path.iterdir()) else [tmp_path / missing])


def test_a_broken_link_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone.txt"
    gone.symlink_to(tmp_path / "nowhere")
    with pytest.raises(CorpusError, match=r"gone\.txt"):
        merganser.count(gone)


@pytest.mark.parametrize("empty", [[], iter(()), {}])
def test_an_empty_iterable_is_an_error(empty: list[str]) -> None:
    with pytest.raises(CorpusError, match="empty"):
        merganser.count(empty)


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="contains no files; check the path"):
        merganser.count(tmp_path)


@pytest.mark.parametrize("wrong", [5, b"one text", None, [1, 2], ["text", Path("file")], [Path("a"), "b"]])
def test_an_object_that_is_not_a_corpus_is_rejected(wrong: object) -> None:
    with pytest.raises(CorpusError):
        merganser.count(wrong)  # type: ignore[arg-type]


def test_a_text_passed_as_a_path_is_explained() -> None:
    with pytest.raises(CorpusError, match=r"to pass a text instead, wrap it in a list: \[text\]"):
        merganser.count("a rather long text " * 1000)
    with pytest.raises(CorpusError, match="check the path"):
        merganser.count("a short text\0")


@pytest.mark.parametrize("document", SPECIAL_NAMES)
def test_a_string_in_an_iterable_is_a_document_whatever_it_says(
    document: str, recwarn: pytest.WarningsRecorder
) -> None:
    """Some cause a warning, none is opened."""
    for documents in ([document], (document,), {document: 1}, {document}):
        found = resolve(documents, 10)
        assert list(found.documents or ()) == [[document]]
        assert not (found.files or found.counts or found.streams or found.stdin)
        assert not is_read_once(documents)
    assert is_read_once(iter([document]))


@pytest.mark.parametrize("once", ["-", Path("-"), [Path("-")], (Path("a"), Path("-")), {Path("-")}])
def test_standard_input_is_read_once(once: Source) -> None:
    assert is_read_once(once)
    assert resolve(Path("-"), 1).stdin


def test_a_document_that_names_a_file_causes_a_warning(folder: Path) -> None:
    with pytest.warns(merganser.MerganserWarning, match=r"a file of that name exists; .* pass Path objects"):
        merganser.count([str(folder / "a.txt")])


def test_special_tokens_as_one_string_are_rejected() -> None:
    with pytest.raises(SettingsError, match=r"must be a list of strings, .* write special_tokens=\['<s>'\]"):
        merganser.count(["text"], special_tokens="<s>")


def test_an_exception_in_the_iterator_propagates() -> None:
    def failing() -> Iterator[str]:
        yield "text"
        raise ZeroDivisionError("the iterator failed")

    with pytest.raises(ZeroDivisionError, match="the iterator failed"):
        merganser.count(failing())


def test_the_first_document_may_be_longer_than_a_file_name() -> None:
    assert merganser.count(["é" * 200]).total == 1
