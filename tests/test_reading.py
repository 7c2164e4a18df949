"""Reading: every format and compression yields the same documents, and unreadable input is named."""

import bz2
import csv
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import merganser
import processes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from interrupted import mark_incomplete
from merganser import CorpusError, Local, MerganserWarning, ReadOptions, SettingsError, Skipped
from merganser.cli import COMMANDS, main, options
from merganser.corpus.read_options import ReadKeywords

DOCUMENTS = [
    "one two\nthree",
    'a "quoted" word, a\ttab',
    "naïve café 字 😀",
    "",
    "two documents<|endoftext|>in one",
    "\\backslash\\ {braces} [brackets]",
    *(f"number {n} of many" for n in range(300)),
]


def as_lines(documents: list[str]) -> str:
    return "".join(json.dumps({"id": 1, "text": text}) + "\n" for text in documents)


def as_pretty_array(documents: list[str]) -> str:
    return json.dumps([{"text": text, "more": [{"text": 5}]} for text in documents], indent=2)


def as_strings(documents: list[str]) -> str:
    return json.dumps(documents, ensure_ascii=False)


def as_table(documents: list[str], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=delimiter, lineterminator="\r\n")
    writer.writerows([["id", "text"], *([n, text] for n, text in enumerate(documents))])
    return out.getvalue()


FORMATS: dict[str, Callable[[list[str]], str]] = {
    "x.jsonl": as_lines,
    "x.ndjson": lambda texts: "\n".join(map(json.dumps, texts)),
    "x.json": as_pretty_array,
    "strings.json": as_strings,
    "values.json": as_lines,
    "x.csv": as_table,
    "x.tsv": lambda texts: as_table(texts, "\t"),
}


def zstd(data: bytes) -> bytes:
    return processes.run(["zstd", "-q", "-c"], input=data, check=True, text=False).stdout


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstd,
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_every_format_and_compression_yields_the_same_counts(tmp_path: Path, name: str, suffix: str) -> None:
    expected = merganser.count(DOCUMENTS)
    data = FORMATS[name](DOCUMENTS).encode()
    half = len(data) // 2
    # In two members, as parallel compressors write them.
    members = [data] if not suffix else [data[:half], data[half:]]
    file = tmp_path / (name + suffix)
    file.write_bytes(b"".join(map(COMPRESSIONS[suffix], members)))
    counts = merganser.count(file)
    assert counts == expected
    assert counts.documents == expected.documents
    assert not counts.skipped


@pytest.mark.parametrize("suffix", COMPRESSIONS)
def test_standard_input_is_decompressed_as_well(tmp_path: Path, suffix: str) -> None:
    text = "\n".join(DOCUMENTS)
    data = COMPRESSIONS[suffix](text.encode())
    (tmp_path / f"x.txt{suffix}").write_bytes(data)
    (tmp_path / "no-suffix").write_bytes(data)
    expected = merganser.count([text])
    assert merganser.count(tmp_path / f"x.txt{suffix}") == expected
    assert merganser.count(tmp_path / "no-suffix") == expected
    script = "import merganser, sys; merganser.count('-').save(sys.argv[1])"
    command = [sys.executable, "-W", "error", "-c", script, tmp_path / "x.counts"]
    processes.run(command, input=data, check=True, text=False)
    assert merganser.Counts.load(tmp_path / "x.counts") == expected


def test_a_folder_of_all_formats_yields_the_same_tokenizer_and_tokens(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, write in FORMATS.items():
        (folder / f"{name}.gz").write_bytes(gzip.compress(write(DOCUMENTS).encode()))
    tokenizer = merganser.train(folder, 400)
    assert tokenizer == merganser.train(DOCUMENTS * len(FORMATS), 400)
    from_files = tokenizer.encode_corpus(folder, out=tmp_path / "a", shard_tokens=500, append=0)
    from_memory = tokenizer.encode_corpus(
        DOCUMENTS * len(FORMATS), out=tmp_path / "b", shard_tokens=500, append=0
    )
    assert from_files.facts["shards"] > 10
    assert list(map(list, from_files.documents())) == list(map(list, from_memory.documents()))


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.json", "x.csv", "x.tsv.xz"])
def test_encoding_resumes_inside_a_file_of_records(tmp_path: Path, name: str) -> None:
    documents = ["a<|endoftext|>bc<|endoftext|>d", *DOCUMENTS[:9]] * 5
    plain = Path(name)
    compress = COMPRESSIONS.get(plain.suffix, bytes)
    write = FORMATS[name if plain.suffix not in COMPRESSIONS else plain.stem]
    file = tmp_path / name
    file.write_bytes(compress(write(documents).encode()))
    tokenizer = merganser.train(DOCUMENTS, 300)
    whole = tmp_path / "whole"
    options = {"shard_tokens": 2, "append": 1}
    tokenizer.encode_corpus(file, out=whole, **options)  # type: ignore[arg-type]
    expected = {path.name: path.read_bytes() for path in whole.iterdir()}
    shards = sorted(name for name in expected if name.startswith("shard") and name.endswith(".json"))
    positions = [json.loads(expected[shard])["next"] for shard in shards]
    assert any(position["within"] for position in positions)
    for kept in range(1, len(shards), 7):
        again = tmp_path / f"again-{kept}"
        again.mkdir()
        for part, data in expected.items():
            if part == "tokens.json" or int(part[6:11]) < kept:
                (again / part).write_bytes(data)
        mark_incomplete(again)
        tokenizer.encode_corpus(file, out=again, **options)  # type: ignore[arg-type]
        assert {path.name: path.read_bytes() for path in again.iterdir()} == expected


@given(st.lists(st.text(), max_size=6))
def test_texts_written_by_python_are_read_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("read")
    expected = merganser.count([*texts, "end"])
    for name, write in FORMATS.items():
        file = folder / name
        file.write_bytes(write([*texts, "end"]).encode())
        # The texts may contain NUL characters.
        assert merganser.count(file, allow_binary=True) == expected, name


def test_text_key_names_both_json_keys_and_columns(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"body": {"en": "one"}}\n')
    (tmp_path / "b.csv").write_text("x,body.en\n1,one\n")
    counts = merganser.count(tmp_path, text_key="body.en")
    assert counts.to_dict() == {b"one": 2}


def test_a_missing_key_is_reported_with_those_that_exist(tmp_path: Path) -> None:
    """The first line without the key is named, with any number of threads."""
    file = tmp_path / "a.jsonl"
    lines = ['{"id": 1, "body": "one", "meta": {"lang": "en", "src": "web"}}\n'] * 40_000
    file.write_text("".join(lines))
    for key, message in (
        (
            "text",
            r'a\.jsonl, line 1: there is no key "text", the keys are "body", "id", "meta"; name the one',
        ),
        ("meta.text", r'line 1: there is no key "text", the keys are "lang", "src"; name the one'),
    ):
        for engine in (Local(threads=1), Local(threads=8)):
            with pytest.raises(CorpusError, match=message):
                merganser.count(file, text_key=key, engine=engine)
        with pytest.raises(CorpusError, match=message):
            merganser.train(["x"], 256).encode_corpus(
                file, out=tmp_path / "out", text_key=key, engine=Local(threads=8)
            )
    lines[123] = lines[30_000] = '{"id": 1}\n'
    file.write_text("".join(lines))
    with pytest.raises(CorpusError, match=r'line 124: there is no key "body", the only key is "id"; name'):
        merganser.count(file, text_key="body", engine=Local(threads=8))
    (tmp_path / "a.json").write_text('["one",\n{\n"id": 1,\n"body": "two"\n}]')
    with pytest.raises(CorpusError, match=r'a\.json, line 2: there is no key "text"'):
        merganser.count(tmp_path / "a.json")
    file.write_text("{}\n")
    with pytest.raises(CorpusError, match=r'line 1: there is no key "text", there are none; name'):
        merganser.count(file)
    file.write_text(json.dumps({"x": {f"k{n:02}": n for n in range(25)}}))
    with pytest.raises(CorpusError, match=r'the keys are "k00", .*, "k19" and 5 more; name'):
        merganser.count(file, text_key="x.text")


BAD = {
    "json": ("bad.jsonl", b'"good"\n{"text": oops}\n"good"\n', r"bad\.jsonl, line 2: not valid JSON", 2),
    "key": ("bad.jsonl", b'"good"\n{"txt": "a"}\n"good"\n', r"line 2: there is no key \"text\".*text_key", 2),
    "type": ("bad.jsonl", b'"good"\n{"text": 1}\n"good"\n', "line 2: invalid type: integer `1`", 2),
    "surrogate": ("bad.jsonl", b'"good"\n"\\ud800"\n"good"\n', "line 2: .*surrogate", 2),
    "column": ("bad.csv", b"a,b\n1,2\n", r'bad\.csv has no column "text", only "a", "b"', 0),
    "short": ("bad.csv", b'a,text\n"1\n1",good\n2\n3,good\n', r"bad\.csv, line 4: the record ends before", 2),
    "quote": ("bad.csv", b'text\ngood\n"good\n', r"bad\.csv, line 3: a quote .* is never closed", 1),
    "array": ("bad.json", b'["good",\n"good"', r"bad\.json, line 2: the array is never closed", 2),
    "empty": ("bad.gz", b"", r"bad\.gz is corrupt after byte 0 .* begin like a gzip", 0),
    "not gzip": ("bad.gz", b"good", r"bad\.gz is corrupt", 0),
    "truncated": ("bad.txt.gz", gzip.compress(b"good")[:-1], r"bad\.txt\.gz is corrupt after byte 4 ", 1),
    "member": ("bad.txt.gz", gzip.compress(b"good") + b"\x1f\x8b\x08junk", "corrupt after byte 4 ", 1),
}


@pytest.mark.parametrize("case", BAD)
def test_unreadable_input_is_named_and_can_be_skipped(tmp_path: Path, case: str) -> None:
    name, data, message, good = BAD[case]
    (tmp_path / name).write_bytes(data)
    (tmp_path / "after.txt").write_text("fine")
    with pytest.raises(CorpusError, match=message):
        merganser.count(tmp_path)
    with pytest.warns(MerganserWarning, match=message.split(r".*text_key")[0]) as warned:
        counts = merganser.count(tmp_path, on_error="skip")
    assert "--on-error" not in str(warned[0].message)
    assert counts.to_dict() == ({b"good": good, b"fine": 1} if good else {b"fine": 1})
    assert counts.skipped.records + counts.skipped.files == 1
    with pytest.warns(MerganserWarning, match="skipped 1"):
        tokens = merganser.train(["good"], 256).encode_corpus(tmp_path, out=tmp_path / "out", on_error="skip")
    assert tokens.facts["bytes"] == 4 * good + 4


def test_one_unreadable_file_among_a_thousand_is_named(tmp_path: Path) -> None:
    for n in range(1000):
        (tmp_path / f"{n:03}.txt").write_text("good")
    unreadable = tmp_path / "500.txt"
    unreadable.unlink()
    unreadable.symlink_to("/proc/self/mem")  # opens, and fails to read
    with pytest.raises(CorpusError, match=r"cannot read .*500\.txt"):
        merganser.count(tmp_path)
    with pytest.warns(MerganserWarning, match=r"skipped 1 file that .*500\.txt"):
        counts = merganser.count(tmp_path, on_error="skip")
    assert (counts.total, counts.skipped.files) == (999, 1)


def test_the_warning_stays_short_when_thousands_of_records_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("oops\n" * 5000)
    with pytest.warns(MerganserWarning, match="skipped 5,000 records that could not be read") as warned:
        counts = merganser.count(tmp_path / "x.jsonl", on_error="skip")
    message = str(warned[0].message)
    assert "line 1:" in message
    assert "line 3:" in message
    assert message.endswith("…")
    assert len(message) < 1000
    assert len(counts.skipped.first) == 10
    doubled = counts + counts
    assert (doubled.skipped.records, len(doubled.skipped.first)) == (10_000, 10)


def test_a_decompression_bomb_is_rejected_until_the_limit_is_raised(tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.gz"
    bomb.write_bytes(gzip.compress(b"a" * 100_000_000, 9))
    with pytest.raises(CorpusError, match=r"bomb\.gz decompresses to more than 1000 times .*--max-ratio"):
        merganser.count(bomb)
    with pytest.raises(CorpusError, match=r"decompresses to more than 50000000 bytes; .*--max-size"):
        merganser.count(bomb, max_ratio=5000, max_size="50MB")
    assert merganser.count(bomb, max_ratio=5000, pattern="whitespace").documents == 1


def test_a_wide_window_must_be_allowed(tmp_path: Path) -> None:
    text = tmp_path / "x.txt"
    text.write_bytes(b"word " * 1_000_000)
    processes.run(["zstd", "-q", "--long=28", text, "-o", tmp_path / "x.zst"], check=True)
    # A short file gets a short window; when piped, zstd does not know the length.
    with text.open("rb") as piped, (tmp_path / "wide.zst").open("wb") as out:
        processes.run(["zstd", "-q", "--long=28", "-c"], stdin=piped, stdout=out, check=True)
    with pytest.raises(CorpusError, match=r"wide\.zst needs more than 134217728 bytes .*--max-window"):
        merganser.count(tmp_path / "wide.zst")
    assert merganser.count(tmp_path / "wide.zst", max_window="256MiB") == merganser.count(text)
    assert merganser.count(tmp_path / "x.zst") == merganser.count(text)


@pytest.mark.parametrize(
    "wrong",
    [
        {"on_error": "ignore"},
        {"max_ratio": 0},
        {"max_size": 0},
        {"max_size": "many"},
        {"max_size": -5},
        {"max_window": 1.5},
        {"max_window": 2**64},
        {"text_key": 5},
    ],
)
def test_invalid_options_are_rejected(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        ReadOptions(**wrong)  # type: ignore[arg-type]
    with pytest.raises(SettingsError):
        merganser.count(["text"], **wrong)  # type: ignore[arg-type]


def test_commands_accept_the_same_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"body": "good good"}\noops\n' * 20)
    counts, out, tokens = tmp_path / "x.counts", tmp_path / "out", tmp_path / "tokens"
    reading = ["--text-key", "body", "--on-error", "skip", "--max-ratio", "50", "--max-size", "1GB", "--json"]
    assert main(["count", str(file), "--out", str(counts), "--text-key", "body"]) == 1
    assert f"{file}, line 2: not valid JSON" in capsys.readouterr().err
    assert not counts.exists()

    assert main(["count", str(file), "--out", str(counts), *reading]) == 0
    captured = capsys.readouterr()
    assert "warning: skipped 20 records" in captured.err
    skipped = json.loads(captured.out)["skipped"]
    assert (skipped["records"], skipped["files"]) == (20, 0)
    assert skipped["first"][0].startswith(f"{file}, line 2: ")

    assert main(["train", str(file), "--vocab-size", "258", "--out", str(out), *reading]) == 0
    assert json.loads(capsys.readouterr().out)["training"]["skipped_records"] == 20

    assert main(["encode", str(out), str(file), "--out", str(tokens), *reading]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert (facts["documents"], facts["skipped"]["records"]) == (20, 20)
    assert main(["encode", str(out), "text", "--text-key", "body"]) == 2


def test_encoding_that_stopped_at_a_bad_record_resumes_without_it(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('"good good"\n' * 200_000 + "oops\n" + '"more"\n')
    tokenizer = merganser.train(["good"], 256)
    with pytest.raises(CorpusError, match="line 200001: "):
        tokenizer.encode_corpus(file, out=tmp_path / "out", shard_tokens=100_000)
    assert list((tmp_path / "out").glob("shard-*.json"))
    with pytest.warns(MerganserWarning, match="line 200001: "):
        tokens = tokenizer.encode_corpus(file, out=tmp_path / "out", shard_tokens=100_000, on_error="skip")
    assert tokens.facts["documents"] == 200_001


def test_progress_of_compressed_files_is_in_stored_bytes(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl.gz"
    file.write_bytes(gzip.compress(as_lines(DOCUMENTS * 50).encode()))
    reports: list[tuple[str, int, int]] = []
    merganser.count(file, progress=lambda *report: reports.append(report))
    size = file.stat().st_size
    assert reports[-1] == ("count", size, size)


INTERRUPTED = """
import sys, merganser
from interrupting import interrupted
interrupted(lambda: merganser.count(sys.argv[1], max_ratio=10**9, on_error="skip"))
"""


@pytest.mark.parametrize("name", ["x.txt.zst", "x.jsonl.zst", "x.csv.zst"])
def test_ctrl_c_stops_reading_at_once(tmp_path: Path, name: str) -> None:
    """The files decompress to gigabytes; on_error="skip" must not treat the interrupt as a corrupt file."""
    line = {
        "x.txt.zst": b"some words ",
        "x.jsonl.zst": b'{"text": "some words"}\n',
        "x.csv.zst": b"some words\n",
    }[name]
    member = zstd(line * 2_000_000)
    head = zstd(b"text\n") if "csv" in name else b""
    (tmp_path / name).write_bytes(head + member * 200)
    done = processes.interrupted(INTERRUPTED, tmp_path / name)
    assert done.stdout == "stopped\n", done.stderr


def test_functions_and_commands_have_every_read_option() -> None:
    names = tuple(field.name for field in fields(ReadOptions))
    assert names == tuple(ReadKeywords.__annotations__) == options.READ_OPTIONS
    readers = set()
    for name in COMMANDS:
        command = import_module(f"merganser.cli.{name}").command
        if options.CORPUS_HELP in (command.epilog or ""):
            assert set(names) <= {parameter.name for parameter in command.params}, name
            readers.add(name)
    assert readers == {"train", "count", "encode", "verify", "compare", "embed", "report", "bench"}


def test_skipped_can_be_added_and_compared() -> None:
    assert not Skipped()
    assert Skipped(1) + Skipped(0, 2, ("x",)) == Skipped(1, 2, ("x",))
