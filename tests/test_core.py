"""The functions of the core, called directly, for behavior that the public API does not show."""

import ast
import doctest
import inspect
import operator
from collections.abc import Iterator
from pathlib import Path

import merganser
import numpy as np
import pytest
from merganser import _core

TEXT = "the cat sat on the mat; naïve café 中文 2024" * 5
READING = _core.Reading(
    text_key="text", on_error="stop", max_ratio=1000, max_size=1 << 40, max_window=1 << 27
)
TOKENIZER = merganser.train([TEXT], 280, pattern="gpt2", special_tokens=["<|x|>"])


def native(*documents: bytes) -> _core.Counts:
    counter = _core.Counter("gpt2", [], None, 2, None)
    counter.add_documents(list(documents))
    return counter.finish()


def test_documents_are_read_from_files_streams_and_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one--two\xff----")
    (tmp_path / "b.jsonl").write_text('"three"\n{"text": "four--five"}\n""\n')
    documents = _core.Documents("--")
    files = [tmp_path / "a.txt", tmp_path / "b.jsonl"]
    batches = documents.read_files(files, READING)
    assert iter(batches) is batches
    assert list(batches) == [[b"one", b"two\xff", b"three", b"four", b"five"]]
    assert list(batches) == []
    assert documents.bytes_read == sum(file.stat().st_size for file in files)
    chunks = iter([b"si", b"x-", b"-seven"])
    assert list(documents.read_stream(chunks, "-", READING)) == [[b"six", b"seven"]]
    assert documents.split(["--é--", b"nine", ""]) == ["é".encode(), b"nine"]
    assert documents.skipped() == (0, 0, [])
    with pytest.raises(merganser.SettingsError, match="at least one character"):
        _core.Documents("")


def test_an_exception_in_a_stream_is_raised_even_if_errors_are_skipped() -> None:
    skipping = _core.Reading(
        text_key="text", on_error="skip", max_ratio=1000, max_size=1 << 40, max_window=1 << 27
    )

    def chunks(good: list[bytes]) -> Iterator[bytes]:
        yield from good
        raise KeyboardInterrupt

    documents = _core.Documents(None)
    for good in ([], [b"text"], [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03"]):
        with pytest.raises(KeyboardInterrupt):
            list(documents.read_stream(chunks(good), "-", skipping))
    with pytest.raises(TypeError):
        list(documents.read_stream(iter(["text"]), "-", skipping))  # type: ignore[arg-type]
    assert documents.skipped()[:2] == (0, 1)


def test_a_missing_file_is_named_and_can_be_skipped(tmp_path: Path) -> None:
    with pytest.raises(merganser.CorpusError, match=r"cannot read .*gone\.txt"):
        list(_core.Documents(None).read_files([tmp_path / "gone.txt"], READING))


def test_totals_and_frequencies_equal_those_of_encoding(tmp_path: Path) -> None:
    counts = native(TEXT.encode(), b"the \xff\xff cat")
    ids = TOKENIZER.encode_ordinary(TEXT) + TOKENIZER.encode("the ") + TOKENIZER.encode(" cat")
    tokens = len(ids) + 2
    size = len(TEXT.encode()) + 10
    path = tmp_path / "a.counts"
    counts.save(path)
    for source in (counts, path):
        for threads in (0, 1, 3):
            totals = _core.token_totals([TOKENIZER, TOKENIZER], source, threads=threads)
            assert totals == (size, [tokens, tokens])
            frequencies = _core.token_frequencies(TOKENIZER, source, threads=threads)
            expected = np.bincount([*ids, 255, 255], minlength=TOKENIZER.next_id)
            assert frequencies.dtype == np.uint64
            assert np.array_equal(frequencies, expected)
    assert _core.token_totals([], counts) == (size, [])
    assert _core.token_totals([TOKENIZER], native()) == (0, [0])


def test_totals_are_exact_and_frequencies_refuse_to_overflow() -> None:
    counts = _core.Counts({b"zz": 2**64 - 1}, "gpt2", [], None, 0, 1)
    assert _core.token_totals([TOKENIZER], counts) == (2**65 - 2, [2**65 - 2])
    with pytest.raises(merganser.CountsError):
        _core.token_frequencies(TOKENIZER, counts)


def test_totals_report_progress_and_can_be_stopped() -> None:
    calls: list[tuple[str, int, int]] = []
    counts = native(TEXT.encode())
    _core.token_totals([TOKENIZER], counts, progress=lambda *call: calls.append(call))
    assert calls[-1] == ("pretokens", len(counts), len(counts))

    def stop(stage: str, done: int, total: int) -> None:
        raise StopAsyncIteration(stage, done, total)

    with pytest.raises(StopAsyncIteration):
        _core.token_totals([TOKENIZER], counts, progress=stop)


def test_a_corrupt_file_has_no_totals(tmp_path: Path) -> None:
    path = tmp_path / "a.counts"
    native(TEXT.encode()).save(path)
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with pytest.raises(merganser.CountsError):
        _core.token_totals([TOKENIZER], path)


def test_training_names_an_unknown_tie_break(tmp_path: Path) -> None:
    with pytest.raises(merganser.SettingsError, match='tie_break must be "ids"'):
        _core.train(
            native(b"aa"),
            1,
            [],
            base=None,
            progress=None,
            normalizer=None,
            pattern=None,
            tie_break="dice",
            min_frequency=1,
            max_token_bytes=None,
            min_pretoken_count=1,
            certify=True,
            threads=1,
            memory=None,
            folder=tmp_path,
            log=None,
            restart=False,
            checkpoint_every=60,
        )


def documented() -> Iterator[tuple[str, str]]:
    """Yield the names in the stub that have a docstring, with the docstring."""
    stub = ast.parse(Path(merganser.__file__).with_name("_core.pyi").read_text("utf-8"))
    for node in stub.body:
        inner = node.body if isinstance(node, ast.ClassDef) else []
        for prefix, item in [("", node), *((f"{node.name}.", each) for each in inner)]:
            if isinstance(item, ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(item)):
                yield prefix + item.name, text


@pytest.mark.parametrize(("name", "text"), list(documented()))
def test_the_stub_documents_what_the_core_documents(name: str, text: str) -> None:
    if name.endswith("__"):  # Python has its own docstrings for these
        return
    found = operator.attrgetter(name)(_core)
    assert inspect.cleandoc(found.__doc__ or "") == text


@pytest.mark.parametrize(("name", "text"), [pair for pair in documented() if ">>>" in pair[1]])
def test_every_example_in_the_core_runs(name: str, text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0
