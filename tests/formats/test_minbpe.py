"""minbpe: a reference reader of its files produces our ids, and files round-trip."""

from pathlib import Path

import merganser
import pytest
import regex
from corpora import corpus_text
from exported import TRAINED
from hypothesis import given
from merganser import ExportError, FormatError, SettingsError, Tokenizer
from merganser.formats import native
from oracle import merge_pair
from strategies import CUSTOM_PATTERNS, PRESETS, texts

BYTES = {bytes([byte]): byte for byte in range(256)}
#: Patterns that mean the same to Python's `regex`.
WRITTEN = [
    pattern
    for pattern in TRAINED
    if pattern in PRESETS or not any(part in pattern for part in (r"\w", r"\b", "(?s", "(?i)"))
]


class Reference:
    """minbpe's RegexTokenizer with the pattern of the file, implemented in the obvious, slow way."""

    def __init__(self, model: Path) -> None:
        with model.open(encoding="utf-8") as lines:
            assert lines.readline().strip() == "minbpe v1"
            self.pattern = regex.compile(lines.readline().strip())
            pairs = (lines.readline().strip().split() for _ in range(int(lines.readline())))
            self.specials = {special: int(id) for special, id in pairs}
            self.tokens = [bytes([byte]) for byte in range(256)]
            self.merges = []
            for line in lines:
                left, right = map(int, line.split())
                self.merges.append((self.tokens[left], self.tokens[right]))
                self.tokens.append(self.tokens[left] + self.tokens[right])

    def encode_ordinary(self, text: str) -> list[int]:
        ids = []
        for pretoken in self.pattern.findall(text):
            tokens = [bytes([byte]) for byte in pretoken.encode()]
            for pair in self.merges:
                tokens = merge_pair(tokens, pair)
            ids += [self.tokens.index(token) for token in tokens]
        return ids

    def encode(self, text: str) -> list[int]:
        """Encode with all special tokens allowed."""
        cut = "(" + "|".join(regex.escape(special) for special in self.specials) + ")"
        parts = regex.split(cut, text)
        return [
            id
            for part in parts
            for id in ([self.specials[part]] if part in self.specials else self.encode_ordinary(part))
        ]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Reference]:
    folder = tmp_path_factory.mktemp("minbpe")
    for n, pattern in enumerate(WRITTEN):
        TRAINED[pattern].export(folder / f"{n}.model", format="minbpe")
    return {pattern: Reference(folder / f"{n}.model") for n, pattern in enumerate(WRITTEN)}


@pytest.mark.parametrize("pattern", WRITTEN)
@given(text=texts)
def test_the_peer_produces_the_same_ids(references: dict[str, Reference], pattern: str, text: str) -> None:
    ours, theirs = TRAINED[pattern], references[pattern]
    assert theirs.encode_ordinary(text) == ours.encode_ordinary(text)
    both = f"{text}<s>{text}</s><s"
    assert theirs.encode(both) == ours.encode(both, allowed_special="all")


def test_the_peer_produces_the_same_ids_for_real_text(tmp_path: Path) -> None:
    text = corpus_text("multilingual.txt", 20_000)
    tokenizer = merganser.train([text], 600)
    tokenizer.export(tmp_path / "m.model", format="minbpe")
    assert Reference(tmp_path / "m.model").encode_ordinary(text) == tokenizer.encode_ordinary(text)


@pytest.mark.parametrize("pattern", WRITTEN)
def test_a_written_file_is_read_and_rewritten_identically(tmp_path: Path, pattern: str) -> None:
    first = TRAINED[pattern].export(tmp_path / "first", format="minbpe")
    assert [file.name for file in first] == ["tokenizer.model", "tokenizer.vocab"]
    for source in (tmp_path / "first", first[0]):
        back = merganser.load(source)
        assert back == TRAINED[pattern]
    second = back.export(tmp_path / "second.model", format="minbpe")
    assert [file.name for file in second] == ["second.model", "second.vocab"]
    assert [file.read_bytes() for file in first] == [file.read_bytes() for file in second]


def test_the_vocab_file_is_human_readable(tmp_path: Path) -> None:
    tokenizer = merganser.train(["the\n\nthe\n\nthe"], 260, special_tokens=["<s>"])
    vocab = tokenizer.export(tmp_path / "t.model", format="minbpe")[1].read_text("utf-8").splitlines()
    assert vocab[97] == "[a] 97"
    assert vocab[10] == r"[\u000a] 10"
    assert vocab[255] == "[\ufffd] 255"
    assert vocab[256:] == [
        "[h][e] -> [he] 256",
        "[t][he] -> [the] 257",
        r"[\u000a][\u000a] -> [\u000a\u000a] 258",
        "[<s>] 259",
    ]


def test_the_default_pattern_of_minbpe_is_loaded(tmp_path: Path) -> None:
    default = CUSTOM_PATTERNS[1].replace("{1,4}", "{1,3}")
    (tmp_path / "m.model").write_text(f"minbpe v1\n{default}\n1\n<|e|> 100257\n97 98\n256 99\n", "utf-8")
    loaded = merganser.load(tmp_path)
    assert loaded.pattern == default
    assert loaded.special_tokens == {"<|e|>": 100257}
    assert loaded.merges == [(b"a", b"b"), (b"ab", b"c")]


# ── refused exports ───────────────────────────────────────────────────────────

MOVED = {bytes([byte]): (byte + 1) % 256 for byte in range(256)}


@pytest.mark.parametrize(
    ("tokenizer", "message"),
    [
        (Tokenizer(MOVED), r"b'\\x00' has the id 1"),
        (Tokenizer(BYTES | {b"abc": 256}), "the first of them b'abc', are not produced by any merge"),
        (Tokenizer(BYTES | {b"ab": 257}), "256 is missing; export to tiktoken"),
        (
            Tokenizer(BYTES | {b"ab": 256, b"cd": 258}, special_tokens={"<s>": 257}),
            "257 is missing; export to tiktoken",
        ),
        (Tokenizer(BYTES, special_tokens={"<s >": 256}), "contains whitespace; rename it"),
        (Tokenizer(BYTES, special_tokens={"<s\u2003>": 256}), "contains whitespace; rename it"),
        (Tokenizer(BYTES, pattern=r"\w+|\W"), "may interpret .* differently"),
        (Tokenizer(BYTES, pattern=r"[a[bc]]|."), "may interpret .* differently"),
        (Tokenizer(BYTES, pattern="a|\n|b"), "may interpret .* differently"),
        (Tokenizer(BYTES, pattern=r"a|(?i)b"), "may interpret .* differently"),
        (Tokenizer(BYTES, pattern=r"a(?:b?|c)+"), "may interpret .* differently"),
    ],
)
def test_a_tokenizer_that_minbpe_cannot_hold_is_refused(
    tmp_path: Path, tokenizer: Tokenizer, message: str
) -> None:
    with pytest.raises(ExportError, match=message):
        tokenizer.export(tmp_path / "new", format="minbpe")
    assert not (tmp_path / "new").exists()


# ── refused files ─────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("minbpe v2\na\n0\n", "begins with 'minbpe v2'"),
        ("minbpe v1", "line 3"),
        ("minbpe v1\n.\nx\n", "line 3"),
        ("minbpe v1\n.\n-1\n", "line 3"),
        ("minbpe v1\n.\n9999999\n", "fewer than 9999999 special tokens"),
        ("minbpe v1\n.\n1\n", "fewer than 1 special tokens"),
        ("minbpe v1\n.\n1\n<s>\n", "line 4"),
        ("minbpe v1\n.\n2\n<s> 256\n<s> 257\n", "line 5"),
        ("minbpe v1\n.\n1\n<s> 97\n", "no usable tokenizer"),
        ("minbpe v1\n\n0\n", "BasicTokenizer"),
        ("minbpe v1\n(\n0\n", "no usable tokenizer"),
        ("minbpe v1\n\\w+\n0\n", "may interpret .* differently"),
        ("minbpe v1\n.\n0\n97\n", "line 4"),
        ("minbpe v1\n.\n0\n97 98\n257 98\n", "line 5"),
        ("minbpe v1\n\\p{L}+\n0\n97 98\n", "may drop text that its pattern"),
        ("minbpe v1\n.\n0\n256 98\n", "line 4"),
        ("minbpe v1\n.\n0\n-1 98\n", "line 4"),
        ("minbpe v1\n.\n0\n97 98\n97 98\n", "two of its merges produce b'ab'"),
        ("minbpe v1\n.\n0\n97 98\n98 99\n97 257\n", "does not list the merge of b'ab' and b'c'"),
        ("minbpe v1\n.\n0\n97 97\n" + "".join(f"{n} {n}\n" for n in range(256, 300)), "MiB"),
    ],
)
def test_invalid_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "named.anyhow"
    file.write_text(text, "utf-8")
    with pytest.raises(FormatError, match=rf"named\.anyhow.*{message}"):
        merganser.load(file)


def test_files_beyond_the_limits_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TRAINED["gpt4"].export(tmp_path / "t.model", format="minbpe")
    (tmp_path / "broken").write_bytes(b"minbpe v1\n\xff")
    with pytest.raises(FormatError, match="not UTF-8 at byte 10"):
        merganser.load(tmp_path / "broken")
    with pytest.raises(SettingsError, match="already contains its pattern"):
        merganser.load(tmp_path / "t.model", pattern="gpt4")
    monkeypatch.setattr(native, "MAX_TOKENS", 10)
    with pytest.raises(FormatError, match="more than 10 lines"):
        merganser.load(tmp_path / "t.model")
