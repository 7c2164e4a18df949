"""tiktoken: its files and encodings produce its ids here, and our exports produce ours there."""

import base64
import json
import os
import sys
from pathlib import Path

import merganser
import processes
import pytest
import tiktoken
import vocabs
from corpora import corpus_text
from hypothesis import given
from merganser import FormatError, PatternError, SettingsError, Tokenizer, TokenizerError
from merganser.formats import native
from strategies import CUSTOM_PATTERNS, PRESETS, texts

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
TRAINED = {
    pattern: merganser.train([TEXT], 262, pattern=pattern, special_tokens=["<s>"])
    for pattern in PRESETS + CUSTOM_PATTERNS
}
EXPORTED = {pattern: tokenizer.to_tiktoken() for pattern, tokenizer in TRAINED.items()}


@pytest.mark.parametrize("pattern", TRAINED)
@given(text=texts)
def test_the_peer_produces_the_same_ids(pattern: str, text: str) -> None:
    ours, theirs = TRAINED[pattern], EXPORTED[pattern]
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)
    assert ours.encode(f"{text}<s>{text}", allowed_special="all") == theirs.encode(
        f"{text}<s>{text}", allowed_special="all"
    )


@pytest.mark.parametrize("corpus", ["english.txt", "multilingual.txt", "code.txt"])
def test_the_peer_produces_the_same_ids_for_real_text(corpus: str) -> None:
    text = corpus_text(corpus, 300_000)
    tokenizer = merganser.train([text], 2000, special_tokens=["<|endoftext|>"])
    encoding = tokenizer.to_tiktoken(name="ours")
    assert encoding.name == "ours"
    assert encoding.n_vocab == 2000
    ids = tokenizer.encode(text, allowed_special="all")
    assert ids == encoding.encode(text, allowed_special="all")
    assert tokenizer.decode(ids) == encoding.decode(ids) == text


def test_without_tiktoken_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    with pytest.raises(ImportError, match=r"pip install 'merganser\[tiktoken\]'"):
        TRAINED["gpt4"].to_tiktoken()


# ── loading ───────────────────────────────────────────────────────────────────

BYTES = {bytes([byte]): byte for byte in range(256)}


def lines(ranks: dict[bytes, int]) -> bytes:
    return b"".join(b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in ranks.items())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "named.anyhow"


@pytest.mark.parametrize("name", vocabs.ALL)
def test_real_rank_files_are_read_completely(name: str) -> None:
    ours, theirs = vocabs.ours(name), vocabs.theirs(name)
    assert ours.mergeable_ranks == theirs._mergeable_ranks
    assert ours.special_tokens == theirs._special_tokens
    assert ours.pattern == theirs._pat_str
    assert ours.pattern_name


@pytest.mark.parametrize("name", vocabs.OPENAI)
def test_a_live_encoding_loads_as_the_same_tokenizer(name: str) -> None:
    assert merganser.load(vocabs.theirs(name)) == vocabs.ours(name)


@pytest.mark.parametrize("pattern", TRAINED)
def test_an_exported_encoding_loads_as_the_same_tokenizer(pattern: str) -> None:
    back = merganser.load(EXPORTED[pattern])
    assert back == TRAINED[pattern]
    assert back.pattern_name == TRAINED[pattern].pattern_name


def test_a_pattern_that_only_looks_like_an_export_is_kept() -> None:
    looks = "(?:a)|(b)|(?s:.)"
    encoding = tiktoken.Encoding("looks", pat_str=looks, mergeable_ranks=BYTES, special_tokens={})
    assert merganser.load(encoding).pattern == looks


def test_ranks_may_be_in_any_order_with_gaps_and_any_line_endings(file: Path) -> None:
    ranks = {b"ab": 901, b"abc": 301} | {token: 2 * rank for token, rank in reversed(BYTES.items())}
    expected = Tokenizer(ranks, pattern="gpt2", special_tokens={"<s>": 1000})
    for data in (
        lines(ranks),
        lines(ranks).removesuffix(b"\n"),
        lines(ranks).replace(b"\n", b"\r\n"),
        lines(ranks).replace(b"\n", b"\n\n") + b"\r\n",
    ):
        file.write_bytes(data)
        assert merganser.load(file, pattern="gpt2", special_tokens={"<s>": 1000}) == expected
        assert merganser.load(str(file), pattern=r"\w+|\W").pattern == r"\w+|\W"


def test_a_rank_file_needs_a_pattern(file: Path) -> None:
    file.write_bytes(lines(BYTES))
    with pytest.raises(SettingsError, match=r"pattern=.* gpt2, gpt4, o200k"):
        merganser.load(file)
    with pytest.raises(PatternError, match=r"unknown split pattern .* The presets are"):
        merganser.load(file, pattern="gpt5")
    with pytest.raises(PatternError):
        merganser.load(file, pattern="(")
    with pytest.raises(SettingsError, match="ordinary token"):
        merganser.load(file, pattern="gpt4", special_tokens={"a": 256})
    with pytest.raises(FormatError, match="named"):
        merganser.load(file, pattern="gpt4", special_tokens={"<s>": 255})
    for id in (-1, 2**32, "256", 1.5):
        with pytest.raises(TokenizerError, match="an id must be a non-negative integer"):
            merganser.load(file, pattern="gpt4", special_tokens={"<s>": id})  # type: ignore[dict-item]


def test_other_sources_refuse_a_pattern(tmp_path: Path) -> None:
    TRAINED["gpt4"].save(tmp_path / "t")
    for source in (tmp_path / "t", EXPORTED["gpt4"]):
        for settings in ({"pattern": "gpt4"}, {"special_tokens": {}}):
            with pytest.raises(SettingsError, match=r"Tokenizer\(loaded\.mergeable_ranks"):
                merganser.load(source, **settings)


@pytest.mark.parametrize("source", [5, None, b"path", {"a": 1}, EXPORTED])
def test_other_objects_are_refused(source: object) -> None:
    with pytest.raises(TokenizerError, match=r"a path, a tiktoken\.Encoding or"):
        merganser.load(source)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"YWI=", "line 257"),
        (b"YWI= ", "line 257"),
        (b"YWI= 256 1", "line 257"),
        (b"YWI=  256", "line 257"),
        (b" 256", "line 257"),
        (b"YWI= -1", "line 257"),
        (b"YWI= 0256", "line 257"),
        (b"YWI= 256.0", "line 257"),
        (b"YWI= 99999999999", "line 257"),
        (b"YWI= 9999999999", "an id must be a non-negative integer"),
        (b"YWI= 16777216", "too high"),
        (b"YW-= 256", "line 257"),
        (b"YWI 256", "not base64"),
        (b"YWI== 256", "not base64"),
        (b"Y=== 256", "line 257"),
        (b"YWI=\xff 256", "line 257"),
        (b"YWI= 256\rYWJj 257", "line 257"),
        (b"YQ== 256", "twice"),
        (b"YWI= 97", "both"),
        (b"YWI= 256\n" * 2, "twice"),
        (b"\x80\x04\x95 cbuiltins", "line 257"),
    ],
)
def test_invalid_rank_files_are_refused(file: Path, line: bytes, message: str) -> None:
    for data in (lines(BYTES) + line, lines(BYTES) + line + b"\n" + lines({b"xy": 300})):
        file.write_bytes(data)
        with pytest.raises(FormatError, match=rf"named\.anyhow.*{message}"):
            merganser.load(file, pattern="gpt4")


def test_the_invalid_line_of_a_long_file_is_named(file: Path) -> None:
    many = BYTES | {b"%05d" % n: 256 + n for n in range(20_000)}
    file.write_bytes(lines(many) + b"?\n" + lines({b"xy": 30_000}))
    with pytest.raises(FormatError, match="line 20257 "):
        merganser.load(file, pattern="gpt4")


@pytest.mark.parametrize("data", [b"", b"\n", b"hello", b"[]", b"merganser", b"GGU", b"\xff\xfe"])
def test_an_unknown_format_is_refused(file: Path, data: bytes) -> None:
    file.write_bytes(data)
    with pytest.raises(FormatError, match="not in a known tokenizer format"):
        merganser.load(file, pattern="gpt4")


def test_rank_files_beyond_the_limits_are_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_bytes(lines(BYTES | {b"ab" * 9: 256}))
    for limit, value in (("MAX_FILE_BYTES", 100), ("MAX_TOKENS", 100), ("MAX_TOKEN_BYTES", 10)):
        with monkeypatch.context() as patch:
            patch.setattr(native, limit, value)
            with pytest.raises(FormatError):
                merganser.load(file, pattern="gpt4")
    merganser.load(file, pattern="gpt4")


def test_a_missing_byte_is_named(file: Path) -> None:
    file.write_bytes(lines({token: rank for token, rank in BYTES.items() if rank != 0x7F}))
    with pytest.raises(FormatError, match="0x7f"):
        merganser.load(file, pattern="gpt4")


# ── writing ───────────────────────────────────────────────────────────────────


def test_a_path_with_the_suffix_gets_the_rank_file_alone(tmp_path: Path) -> None:
    file = tmp_path / "new" / "ours.tiktoken"
    assert TRAINED["gpt4"].export(file, format="tiktoken") == [file]
    assert file.read_bytes() == lines(TRAINED["gpt4"].mergeable_ranks)
    assert merganser.load(file, pattern="gpt4", special_tokens={"<s>": 261}) == TRAINED["gpt4"]
    assert merganser.load(file.parent, pattern="gpt2").pattern_name == "gpt2"


@pytest.mark.parametrize("pattern", TRAINED)
def test_a_plugin_is_read_and_rewritten_identically(tmp_path: Path, pattern: str) -> None:
    first = tmp_path / "1" / "ours"
    files = TRAINED[pattern].export(first, format="tiktoken")
    assert [str(file.relative_to(first)) for file in files] == [
        "tiktoken_ext/ours.tiktoken",
        "tiktoken_ext/ours.json",
        "tiktoken_ext/ours.py",
    ]
    for source in (first, first / "tiktoken_ext" / "ours.json"):
        back = merganser.load(source)
        assert back == TRAINED[pattern]
    again = back.export(tmp_path / "2" / "ours", format="tiktoken")
    assert [file.read_bytes() for file in again] == [file.read_bytes() for file in files]


_ASK = """
import json, sys, tiktoken
encoding = tiktoken.get_encoding(sys.argv[1])
text = json.loads(sys.stdin.read())
ids = encoding.encode(text, allowed_special="all"), encoding.encode_ordinary(text)
print(json.dumps([encoding.name, *ids]))
"""


@pytest.mark.parametrize("name", ["ours", 'my-own 2.0 "quoted" né'])
def test_tiktoken_finds_the_plugin_in_a_fresh_process(tmp_path: Path, name: str) -> None:
    custom = TRAINED[CUSTOM_PATTERNS[3]]
    custom.export(tmp_path / name, format="tiktoken")
    text = TEXT + "<s>'S ſ \n !"
    done = processes.run(
        [sys.executable, "-W", "error", "-c", _ASK, name],
        env={**os.environ, "PYTHONPATH": str(tmp_path / name)},
        input=json.dumps(text),
    )
    assert done.returncode == 0, done.stderr
    expected = [name, custom.encode(text, allowed_special="all"), custom.encode_ordinary(text)]
    assert json.loads(done.stdout) == expected


def test_a_corrupt_plugin_is_detected_by_both_libraries(tmp_path: Path) -> None:
    ranks = TRAINED["gpt4"].export(tmp_path / "ours", format="tiktoken")[0]
    ranks.write_bytes(ranks.read_bytes() + b"YWFhYWFhYWE= 400\n")
    done = processes.run(
        [sys.executable, "-c", _ASK, "ours"],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "ours")},
        input='""',
    )
    assert "its checksum does not match" in done.stderr
    with pytest.raises(FormatError, match=r"ours\.json .*the checksum differs"):
        merganser.load(tmp_path / "ours")
    ranks.unlink()
    with pytest.raises(FormatError, match=r"ours\.tiktoken"):
        merganser.load(tmp_path / "ours")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pattern": 5}, "lacks the pattern or the special tokens"),
        ({"special_tokens": []}, "lacks the pattern or the special tokens"),
        ({"tiktoken_plugin": 2}, "lacks the pattern or the special tokens"),
        ({"pattern": "("}, "no usable tokenizer"),
        ({"special_tokens": {"<s>": -1}}, "an id must be a non-negative integer"),
        ({"special_tokens": {"<s>": 97}}, "no usable tokenizer"),
        ({"sha256": "0"}, "the checksum differs"),
    ],
)
def test_invalid_plugin_metadata_is_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    facts = TRAINED["gpt4"].export(tmp_path / "ours", format="tiktoken")[1]
    facts.write_text(json.dumps(json.loads(facts.read_text("utf-8")) | change), "utf-8")
    with pytest.raises(FormatError, match=rf"ours\.json.*{message}"):
        merganser.load(tmp_path / "ours")


@pytest.mark.parametrize("name", ["openai_public", "-"])
def test_a_plugin_needs_a_usable_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match="cannot be called"):
        TRAINED["gpt4"].export(tmp_path / name, format="tiktoken")


def test_an_encoding_that_may_drop_text_is_refused() -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}

    def encoding(pattern: str) -> tiktoken.Encoding:
        return tiktoken.Encoding("t", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})

    dropping = encoding(r"\p{L}+")
    assert dropping.encode("a1") == [97]
    with pytest.raises(merganser.TokenizerError, match=r"may drop text.*pat_str='\(\?:"):
        merganser.load(dropping)
    fixed = encoding(r"(?:\p{L}+)|(?s:.)")
    assert merganser.load(fixed).encode("a1") == fixed.encode("a1") == [97, 49]
    for whole in (r"\p{L}+|\P{L}", r" ?\S+|\s"):
        assert merganser.load(encoding(whole)).pattern == whole


def test_a_rank_file_with_an_empty_token_needs_every_byte(tmp_path: Path) -> None:
    """Found by fuzzing: bytes without a token were dropped from every text."""
    file = tmp_path / "x.tiktoken"
    lines = [f"{base64.b64encode(bytes([byte])).decode()} {byte}" for byte in range(256)]
    file.write_text("\n".join([*lines, "= 256"]))
    assert merganser.load(file, pattern="gpt2").encode("abc") == [97, 98, 99]
    file.write_text("\n".join([*lines[:98], *lines[99:], "= 256"]))
    with pytest.raises(FormatError, match="the single byte 0x62 is missing"):
        merganser.load(file, pattern="gpt2")
