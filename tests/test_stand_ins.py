"""Stand-ins: generated texts and vocabularies have the properties of the shared ones that tests rely on."""

import hashlib
import re
import sys
from pathlib import Path

import merganser
import processes
import pytest
import regex
import stand_in_texts
import stand_in_vocabs
import vocabs
from merganser.corpus import named_datasets
from oracle import encode_pretoken

TESTS = Path(__file__).parent


def test_texts_depend_only_on_their_names() -> None:
    names = [name for name in stand_in_texts.NAMES if name != "code.txt"]
    script = "import hashlib, stand_in_texts, sys\nfor name in sys.argv[1:]:\n"
    script += "    print(hashlib.sha256(stand_in_texts.text(name).encode()).hexdigest())"
    done = processes.run([sys.executable, "-c", script, *reversed(names)], check=True, cwd=TESTS / "support")
    here = [hashlib.sha256(stand_in_texts.text(name).encode()).hexdigest() for name in reversed(names)]
    assert done.stdout.split() == here


@pytest.mark.parametrize(
    ("name", "patterns"),
    [
        ("english.txt", [r"\bthe\b", r"n't\b", r"\d,\d{3}", r"\r\n", r"“", r"<\|endoftext\|>"]),
        (
            "code.txt",
            [r"\n    def ", r"\n    (pub )?fn ", r'\n  "\w+": ', r"={64}", r"\r\n", r"[^\x00-\x7f]"],
        ),
        (
            "multilingual.txt",
            [
                *(
                    r"\p{Han}{9}",
                    r"\p{Hiragana}{2}",
                    r"\p{Arabic}{4}",
                    r"\p{Cyrillic}{4}",
                    r"\p{Devanagari}{4}",
                ),
                *(r"\p{Hangul}{4}", r"\p{Greek}{4}", r"\p{Hebrew}{4}", r"\p{Thai}{4}"),
                *("👍🏽", "\u200d", r"e\u0301", r"\u3000", r"\r\n", r"<\|endoftext\|>"),
            ],
        ),
        ("tinyshakespeare.txt", [r"\n\n[A-Z]+:\n[A-Z][a-z]*"]),
        ("wikitext-2/valid.txt", [r"\n = [A-Z].* = \n", "<unk>", "@-@"]),
        ("wikitext-2/test.txt", [r"\n = [A-Z].* = \n", "<unk>", "@-@"]),
    ],
)
def test_every_text_has_the_expected_features(name: str, patterns: list[str]) -> None:
    text = stand_in_texts.text(name)
    assert len(text) > 300_000
    for pattern in patterns:
        assert len(regex.findall(pattern, text)) > 1, pattern


def test_the_novel_has_the_form_of_the_published_file(tmp_path: Path) -> None:
    raw = stand_in_texts.text("frankenstein_raw.txt")
    assert raw.startswith("\ufeff") and not re.search(r"(?<!\r)\n", raw)
    (tmp_path / "raw.txt").write_text(raw, "utf-8", newline="")
    [text] = named_datasets.frankenstein(tmp_path / "raw.txt").documents
    assert re.findall(r"^(?:Letter|Chapter) \d+$", str(text), re.MULTILINE) == [
        *(f"Letter {number}" for number in range(1, 5)),
        *(f"Chapter {number}" for number in range(1, 25)),
    ]


@pytest.mark.parametrize("name", vocabs.ALL)
def test_vocabularies_have_the_properties_of_the_real_ones(name: str) -> None:
    ranks = stand_in_vocabs.ranks(name)
    assert sorted(ranks.values()) == list(range(len(ranks)))
    assert [ranks[bytes([byte])] for byte in (33, 97, 255, 0)] == [0, 64, 187, 188], "GPT-2's order"
    assert max(map(len, ranks)) > 60, "one token is a long run of one character"
    # The slow way: a merge produces a token if tokens of lower rank encode it as two tokens.
    whole = []
    for token, rank in ranks.items():
        lower = {part: ranks[part] for start in range(len(token)) for end in range(start + 1, len(token) + 1)
                 if (part := token[start:end]) in ranks and ranks[part] < rank}  # fmt: skip
        if len(token) > 1 and len(encode_pretoken(token, lower)) != 2:
            whole.append(token)
    assert len(whole) == (stand_in_vocabs.WHOLE_ONLY if name == "llama3" else 0)

    special = stand_in_vocabs.special_tokens(name, len(ranks))
    gaps = {"gpt2": 0, "cl100k_base": 16, "o200k_base": 19, "llama3": 0, "qwen3": 0}
    assert max(special.values()) + 1 - len(ranks) - len(special) == gaps[name]
    tokenizer = merganser.Tokenizer(ranks, pattern=vocabs.pattern(name), special_tokens=special)
    for token in whole:
        assert tokenizer.encode_ordinary(token.decode()) == [ranks[token]], "matches a whole pre-token"


def test_only_modules_with_stand_ins_open_shared_files() -> None:
    """Otherwise tests would be skipped, or their cases would vanish, in a clone without `../shared`.

    The two exceptions run snippets that may not be copied, and without them test the names that they use; and
    compare real tokenizers, of which each kind is also trained (`kinds.py`).
    """
    naming = {file.name for file in TESTS.rglob("*.py") if '/ "shared"' in file.read_text("utf-8")}
    assert naming == {"corpora.py", "vocabs.py", "test_stand_ins.py", "test_sources.py", "owners.py"}
