"""Token files joined from pieces are those that one machine writes, wherever the corpus was divided."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import merganser
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from merganser import Local, Tokenizer, TokensError
from merganser.engines.tasks import Call
from merganser.files import sealed
from merganser.tokens.writing import encode_corpus
from pieces_engine import Pieces

END = "<|endoftext|>"


def tokenizer(pattern: str = "gpt4") -> Tokenizer:
    trained = merganser.train(["the cat sat on the mat, and that was that"] * 9, 276)
    return Tokenizer(trained.mergeable_ranks, special_tokens={END: 290, "<s>": 291}, pattern=pattern)


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


words = st.sampled_from(
    ["the cat", " sat", "\n\n", "naïve 字", END, END + END, "<s>", " ", "x" * 40, "<|end", "1", "\x00"]
)
texts = st.lists(words, max_size=30).map("".join)


@settings(max_examples=100, deadline=None)
@given(
    files=st.lists(st.tuples(st.sampled_from([".txt", ".jsonl"]), texts), min_size=1, max_size=5),
    damage=st.booleans(),
    size=st.sampled_from([1, 7, 40, 300, 10_000]),
    shard_tokens=st.sampled_from([1, 3, 20, 100, 10_000]),
    options=st.fixed_dictionaries(
        {
            "format": st.sampled_from(["bin", "npy", "llmc", "megatron"]),
            "dtype": st.sampled_from(["uint16", "uint32"]),
            "separator": st.sampled_from([END, "\n\n", None]),
            "prepend": st.sampled_from([None, "<s>"]),
            "append": st.sampled_from([None, END]),
            "allowed_special": st.sampled_from([(), ["<s>"]]),
        }
    ),
    pattern=st.sampled_from(["gpt4", r"\w+|\W+", r"(?<=t)h|."]),
)
def test_pieces_of_any_size_give_the_same_files(
    tmp_path_factory: pytest.TempPathFactory,
    files: list[tuple[str, str]],
    damage: bool,
    size: int,
    shard_tokens: int,
    options: dict[str, Any],
    pattern: str,
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    corpus = folder / "corpus"
    corpus.mkdir()
    for n, (suffix, text) in enumerate(files):
        data = text.encode() + b"\xff\xfe" * damage
        if suffix == ".jsonl":
            records = [json.dumps({"text": part}) + "\n" for part in (text, "", text[:9])]
            data = "".join(records).encode()
        (corpus / f"{n}{suffix}").write_bytes(data)
    encoder = tokenizer(pattern)

    def encode(name: str, engine: Local) -> dict[str, bytes] | str:
        try:
            encoder.encode_corpus(
                corpus,
                out=folder / name,
                shard_tokens=shard_tokens,
                engine=engine,
                allow_binary=True,
                **options,
            )
        except merganser.MerganserError as error:
            return str(error)
        return contents(folder / name)

    assert encode("pieces", Pieces(storage=folder / "storage", piece_size=size)) == encode("here", Local())
    assert not (folder / "storage").exists()


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for n in range(4):
        text = END.join(f"the cat sat {n} {i} " + "and that was that\n" * (i % 7) for i in range(60))
        (folder / f"{n}.txt").write_text(text)
    return folder


def test_a_run_resumes_wherever_it_was_stopped(corpus: Path, tmp_path: Path) -> None:
    encoder = tokenizer()
    encoder.encode_corpus(corpus, out=tmp_path / "here", shard_tokens=700, append=END)
    expected = contents(tmp_path / "here")

    class Stop(Exception):
        pass

    stopped = 0
    for limit in range(1, 40):
        calls: list[str] = []

        def count(call: Call, calls: list[str] = calls, limit: int = limit) -> None:
            calls.append(call.name)
            if len(calls) > limit:
                raise Stop

        out, storage = tmp_path / f"out-{limit}", tmp_path / f"storage-{limit}"
        engine = Pieces(storage=storage, piece_size=5000, before=count)
        try:
            encoder.encode_corpus(corpus, out=out, shard_tokens=700, append=END, engine=engine)
        except Stop:
            stopped += 1
            before = {file.name for file in storage.glob("*/*.json")}
            calls.clear()
            outcome = encode_corpus(
                encoder,
                corpus,
                out=out,
                shard_tokens=700,
                append=END,
                engine=replace(engine, before=lambda call, calls=calls: calls.append(call.name)),
            )
            # What has a manifest does not run again, except for shards whose `.json` was not yet written.
            assert not {f"{name}.json" for name in calls if name.startswith("piece")} & before
            assert outcome.found <= limit
        assert contents(out) == expected, limit
        assert not storage.exists()
    assert 10 < stopped < 39


def test_one_engine_resumes_what_another_began(corpus: Path, tmp_path: Path) -> None:
    encoder = tokenizer()
    out, here = tmp_path / "out", tmp_path / "here"
    encoder.encode_corpus(corpus, out=here, shard_tokens=700)
    shards = len(list(here.glob("shard-*.json")))

    class Stop(Exception):
        pass

    def stop(call: Call) -> None:
        if call.name == "shard-00004":
            raise Stop

    engine = Pieces(storage=tmp_path / "storage", piece_size=3000, before=stop)
    with pytest.raises(Stop):
        encoder.encode_corpus(corpus, out=out, shard_tokens=700, engine=engine)
    found = len(list(out.glob("shard-*.json")))
    assert 1 < found < shards
    outcome = encode_corpus(encoder, corpus, out=out, shard_tokens=700, engine=Local())
    assert outcome.found == found
    assert contents(out) == contents(here)

    # The other way around, as if the local run had been stopped after each of its shards.
    for kept in range(1, shards):
        for n in range(kept, shards):
            for file in out.glob(f"shard-{n:05}.*"):
                file.unlink()
        facts = json.loads((here / "tokens.json").read_text())
        names = ("shards", "tokens", "documents", "bytes", "invalid_bytes", "json_crc32")
        begun = {name: value for name, value in facts.items() if name not in names}
        (out / "tokens.json").write_bytes(sealed({**begun, "complete": False}))
        engine = Pieces(storage=tmp_path / "new", piece_size=3000)
        outcome = encode_corpus(encoder, corpus, out=out, shard_tokens=700, engine=engine)
        assert outcome.found == kept
        assert contents(out) == contents(here)


def test_damaged_pieces_are_found(corpus: Path, tmp_path: Path) -> None:
    encoder = tokenizer()
    storage = tmp_path / "storage"

    class Stop(Exception):
        pass

    def stop(call: Call) -> None:
        if call.name == "shard-00001":
            raise Stop

    for what in ("ids", "ends"):
        out = tmp_path / what
        with pytest.raises(Stop):
            engine = Pieces(storage=storage, piece_size=5000, before=stop)
            encoder.encode_corpus(corpus, out=out, shard_tokens=700, engine=engine)
        for file in storage.glob(f"*/*/piece.{what}"):
            data = bytearray(file.read_bytes())
            data[len(data) // 2] ^= 1
            file.write_bytes(data)
        engine = Pieces(storage=storage, piece_size=5000)
        with pytest.raises(TokensError, match=rf"piece\.{what}.* is corrupt: its checksum .*overwrite=True"):
            encoder.encode_corpus(corpus, out=out, shard_tokens=700, engine=engine)
        with pytest.raises(TokensError, match="belongs to a different job; choose another storage"):
            encoder.encode_corpus(corpus, out=tmp_path / "other", shard_tokens=70, engine=engine)
        (tmp_path / "other" / "tokens.json").unlink(missing_ok=True)
        encoder.encode_corpus(corpus, out=out, shard_tokens=700, engine=engine, overwrite=True)
        encoder.encode_corpus(corpus, out=tmp_path / f"here-{what}", shard_tokens=700)
        assert contents(out) == contents(tmp_path / f"here-{what}")
