"""Training on characters: SentencePiece's pieces, its ids after an export, and words that end in `</w>`."""

import io
import json
import warnings
from pathlib import Path
from typing import Any

import merganser
import owners
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import Characters, Local
from merganser.formats import sentencepiece as format

spm = pytest.importorskip("sentencepiece")

TEXT = [
    "The merganser dives, 12 ducks dive; naïve cafés 3.5 times.",
    "潜水する鴨はカモ科ー the DUCKS' 2024 dive",
    "Ducks dive deep. Утки ныряют глубоко, утка ныряет.",
    "  spaces   and\ttabs ﬁne Ｆｕｌｌ ½ ① é e\u0301",
    "low lower lowest slow slower slowest <dive> <dive>duck",
] * 3


def pieces_of(model: bytes) -> list[tuple[str, float, int]]:
    pieces, _, _, _ = format._messages(model)
    return [tuple(piece) for piece in pieces]


def theirs(texts: list[str], size: int, **options: Any) -> bytes:
    """Train with SentencePiece."""
    written = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=written,
        model_type="bpe",
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        **options,
    )
    return written.getvalue()


CASES: dict[str, tuple[Characters, dict[str, Any]]] = {
    "identity": (Characters(), {"normalization_rule_name": "identity", "character_coverage": 1.0}),
    "nmt_nfkc": (
        Characters(),
        {"normalization_rule_name": "nmt_nfkc", "character_coverage": 1.0},
    ),
    "coverage": (
        Characters(character_coverage=0.985),
        {"normalization_rule_name": "identity", "character_coverage": 0.985},
    ),
    "bytes": (
        Characters(byte_fallback=True, character_coverage=0.98),
        {"normalization_rule_name": "identity", "byte_fallback": True, "character_coverage": 0.98},
    ),
    "digits": (
        Characters(split_digits=True),
        {"normalization_rule_name": "identity", "split_digits": True, "character_coverage": 1.0},
    ),
    "scripts": (
        Characters(split_scripts=False, max_token_characters=5),
        {
            "normalization_rule_name": "identity",
            "split_by_unicode_script": False,
            "max_sentencepiece_length": 5,
            "character_coverage": 1.0,
        },
    ),
    "user defined": (
        Characters(user_defined=("<dive>",)),
        {
            "normalization_rule_name": "identity",
            "user_defined_symbols": ["<dive>"],
            "character_coverage": 1.0,
        },
    ),
}


#: Small enough that pairs are left to merge.
SIZES = {"bytes": 420}


def normalizer(name: str) -> str | None:
    return "nmt_nfkc" if name == "nmt_nfkc" else None


@pytest.mark.parametrize("name", CASES)
def test_pieces_and_scores_equal_those_of_sentencepiece(name: str) -> None:
    options, spelled = CASES[name]
    ours = merganser.train(TEXT, SIZES.get(name, 165), unit=options, normalizer=normalizer(name))
    expected = pieces_of(theirs(TEXT, SIZES.get(name, 165), **spelled))
    assert pieces_of(format.from_tokenizer(ours)) == expected


@given(
    st.lists(st.text(st.sampled_from("abcdé字ー1 ж"), max_size=30), min_size=1, max_size=8),
    st.sampled_from(["identity", "digits", "scripts"]),
)
def test_pieces_of_any_text_equal_those_of_sentencepiece(texts: list[str], name: str) -> None:
    texts = [" ".join(text.split()) for text in texts if text.strip()]
    if not texts:
        return
    options, spelled = CASES[name]
    with warnings.catch_warnings():  # small texts have few pairs
        warnings.simplefilter("ignore", merganser.MerganserWarning)
        ours = merganser.train(texts, 60, unit=options)
    # With no pair left, SentencePiece would go on and add pieces that do not occur.
    assert pieces_of(format.from_tokenizer(ours)) == pieces_of(theirs(texts, ours.vocab_size, **spelled))


@pytest.mark.parametrize("name", CASES)
def test_an_export_has_the_same_ids_in_the_library(name: str, tmp_path: Path) -> None:
    tokenizer = merganser.train(TEXT, SIZES.get(name, 165), unit=CASES[name][0], normalizer=normalizer(name))
    [file] = tokenizer.export(tmp_path / "tokenizer.model", format="sentencepiece")
    processor = spm.SentencePieceProcessor(model_file=str(file))
    for text in [*owners.AWKWARD, *TEXT]:
        assert tokenizer.encode_ordinary(text) == processor.encode(text), text
    assert merganser.load(file) == tokenizer
    tokenizer.save(tmp_path / "saved.merganser")
    assert merganser.load(tmp_path / "saved.merganser") == tokenizer


@pytest.mark.parametrize("name", ["identity", "bytes", "digits"])
def test_a_tokenizer_json_has_the_same_ids(name: str, tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = merganser.train(TEXT, SIZES.get(name, 165), unit=CASES[name][0], normalizer=normalizer(name))
    tokenizer.export(tmp_path, format="huggingface")
    live = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXT:
        assert live.encode(text, add_special_tokens=False).ids == tokenizer.encode_ordinary(text), text
        if "\t" not in text:  # unknown, and spelled differently
            assert live.decode(live.encode(text).ids) == tokenizer.decode(tokenizer.encode_ordinary(text))


@pytest.mark.parametrize("mark", ["▁", "</w>"])
def test_memory_and_threads_do_not_change_the_result(mark: Any, tmp_path: Path) -> None:
    text = [*TEXT, *owners.samples(3)]
    unit = Characters(word_mark=mark, character_coverage=0.97)  # generated texts have many characters
    expected = merganser.train(text, 700, unit=unit)
    for engine in (Local(threads=1), Local(memory="20MB", threads=2, work_dir=tmp_path / "work")):
        assert merganser.train(text, 700, unit=unit, engine=engine) == expected
    counts = merganser.count(text, pattern=unit.counting_pattern)
    assert merganser.train(counts, 700, unit=unit) == expected


def test_words_that_end_in_a_suffix(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = merganser.train(
        TEXT,
        160,
        unit=Characters(word_mark="</w>"),
        normalizer="lowercase",
        pattern=r"\w+|[^\w\s]",
        special_tokens=["<end>"],
    )
    assert tokenizer.decode(tokenizer.encode("Low lowest;")) == "low lowest ;"
    assert tokenizer.special_tokens == {"<end>": 1}
    tokenizer.export(tmp_path, format="huggingface")
    live = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    for text in TEXT:
        assert live.encode(text, add_special_tokens=False).ids == tokenizer.encode_ordinary(text), text


def test_merges_of_suffixed_words_equal_those_of_hugging_face() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = ["low", "low", "low", "lower", "lower", "newest", "newest", "newest", "widest", "wider", "new"]
    live = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    live.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=60,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        show_progress=False,
        min_frequency=2,
    )
    live.train_from_iterator([" ".join(words)], trainer)
    with pytest.warns(merganser.MerganserWarning, match="no pair is left"):
        ours = merganser.train([" ".join(words)], 60, unit=Characters(word_mark="</w>"), min_frequency=2)
    theirs = [tuple(pair) for pair in json.loads(live.to_str())["model"]["merges"]]
    mine = [tuple(part.decode().replace(" ", "</w>") for part in pair) for pair in ours.merges]
    # Which of two equally frequent pairs comes first depends on the order of a hash map there.
    assert sorted(map("".join, mine)) == sorted(map("".join, theirs))


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"unit": "words"}, "unit must be"),
        ({"unit": Characters(character_coverage=0)}, "character_coverage"),
        ({"unit": Characters(word_mark="##")}, "word_mark must be one of"),  # type: ignore[arg-type]
        ({"unit": "characters", "normalizer": "nfd"}, "normalizer must be one of identity, nmt_nfkc"),
        ({"unit": Characters(max_token_characters=0)}, "max_token_characters"),
        ({"unit": Characters(word_mark="</w>", byte_fallback=True)}, "belong to SentencePiece's kind"),
        ({"unit": "characters", "special_tokens": [""]}, "token is empty"),
        ({"unit": "characters", "pattern": "gpt2"}, "splits at spaces only"),
        ({"unit": "characters", "max_token_bytes": 9}, "max_token_bytes is for training on bytes"),
        ({"unit": "characters", "vocab_size": 3}, "vocab_size must be above 3"),
        ({"unit": "characters", "vocab_size": 9}, "the alphabet has .* raise vocab_size or lower"),
    ],
)
def test_wrong_settings_are_named(arguments: dict[str, Any], message: str) -> None:
    size = arguments.pop("vocab_size", 300)
    with pytest.raises(merganser.SettingsError, match=message):
        merganser.train(TEXT, size, **arguments)
