"""`merganser.compat.transformers` against transformers: the same calls, on the same tokenizers."""

import copy
import itertools
import json
import logging
import pickle
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import pytest
import random_calls
from merganser.compat.tokenizers import Tokenizer
from random_calls import fields

transformers = pytest.importorskip("transformers")
pytest.importorskip("tokenizers")

from merganser.compat.transformers import accelerate, from_pretrained  # noqa: E402
from transformers_kinds import KINDS, TEXTS, stock  # noqa: E402

CALLS = 2000
VERSION_4 = transformers.__version__.startswith("4.")
#: Before 0.23, tokenizers decodes added tokens as they were given, not as they are found in normalized text,
#: and keeps looking for them as normalized before when the normalizer changes.
OLD_SPELLING = VERSION_4
TEMPLATE = (
    "{% for message in messages %}{{ '<s>' + message['role'] + '\n' }}{% if message['role'] == 'assistant' %}"
    "{% generation %}{{ message['content'] + '</s>' }}{% endgeneration %}{% else %}"
    "{{ message['content'] + '</s>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)
CHAT = [
    {"role": "user", "content": "the cat?"},
    {"role": "assistant", "content": "sat on the mat 👍"},
    {"role": "user", "content": "<s> forged"},
]


@pytest.fixture(scope="module", params=KINDS)
def pair(request: pytest.FixtureRequest) -> tuple[Any, Any]:
    """A tokenizer of transformers, and ours."""
    theirs = stock(request.param, chat_template=TEMPLATE)
    theirs.add_tokens(["<new>", "new token"])
    return theirs, accelerate(theirs)


def plain(result: Any) -> Any:
    """Return a result as values that can be compared, with the types of arrays."""
    if isinstance(result, transformers.BatchEncoding):
        encodings = None if result.encodings is None else [fields(each) for each in result.encodings]
        return (
            {key: plain(value) for key, value in result.items()},
            list(result),
            result.n_sequences,
            encodings,
        )
    if isinstance(result, np.ndarray):
        return (
            str(result.dtype),
            result.shape,
            [plain(row) for row in result] if result.dtype == object else result.tolist(),
        )
    return result


def outcome(call: Any) -> Any:
    """Return the result of a call, or its error."""
    return random_calls.outcome(lambda: plain(call()))


def same(theirs: Any, ours: Any, call: Any) -> Any:
    """Check that a call has the same outcome, and return it."""
    expected = outcome(lambda: call(theirs))
    assert outcome(lambda: call(ours)) == expected
    return expected


# ── 2,000 random calls ────────────────────────────────────────────────────────


class Chance(random_calls.Chance):
    def options(self) -> dict[str, Any]:
        options: dict[str, Any] = {}
        self.maybe(options, "add_special_tokens", True, False, chance=0.3)
        self.maybe(options, "padding", True, False, "longest", "max_length", "do_not_pad")
        self.maybe(
            options,
            "truncation",
            True,
            False,
            "longest_first",
            "only_first",
            "only_second",
            "do_not_truncate",
        )
        self.maybe(options, "max_length", 0, 1, 3, 5, 8, 16, 64)
        if options.get("max_length", 40) > 8 and not str(options.get("truncation")).startswith("only"):
            self.maybe(options, "stride", 0, 1, 2, 5)  # a longer one makes the original panic
        self.maybe(options, "pad_to_multiple_of", 4, 8, chance=0.2)
        self.maybe(options, "padding_side", "left", "right", chance=0.2)
        self.maybe(options, "return_tensors", "np", chance=0.2)
        self.maybe(options, "split_special_tokens", True, False, chance=0.1)
        self.maybe(options, "verbose", False, chance=0.1)
        for name in ("token_type_ids", "attention_mask", "overflowing_tokens", "special_tokens_mask"):
            self.maybe(options, f"return_{name}", True, False, chance=0.25)
        for name in ("offsets_mapping", "length"):
            self.maybe(options, f"return_{name}", True, chance=0.3)
        return options

    def inputs(self, options: dict[str, Any]) -> tuple[Any, ...]:  # noqa: PLR0911
        shape = self.randrange(10)
        count = self.randrange(1, 5)
        if shape < 3:
            return (self.text(),)
        if shape < 5:
            return ([self.text() for _ in range(count)],)
        if shape == 5:
            return self.text(), self.text()
        if shape == 6:
            return [self.text() for _ in range(count)], tuple(self.text() for _ in range(count))
        if shape == 7:
            return ([(self.text(), self.text()) for _ in range(count)],)
        options["is_split_into_words"] = True
        if shape == 8:
            return (self.words(),)
        return [self.words() for _ in range(count)], [self.words() for _ in range(count)]


def test_random_calls_have_equal_results(pair: tuple[Any, Any]) -> None:
    theirs, ours = (copy.deepcopy(each) for each in pair)
    chance = Chance(theirs.get_vocab()["<s>"] + len(theirs))
    errors = 0
    for _ in range(-(-CALLS // len(KINDS))):
        options = chance.options()
        inputs = chance.inputs(options)
        name = chance.choice(["__call__"] * 6 + ["encode", "tokenize"])
        if name == "tokenize":
            inputs, options = inputs[:1], {}
        expected = outcome(lambda: getattr(theirs, name)(*inputs, **options))  # noqa: B023
        found = outcome(lambda: getattr(ours, name)(*inputs, **options))  # noqa: B023
        assert found == expected, (name, inputs, options)
        errors += isinstance(expected, tuple) and isinstance(expected[0], type)
        assert ours.backend_tokenizer.truncation == theirs.backend_tokenizer.truncation
        assert ours.backend_tokenizer.padding == theirs.backend_tokenizer.padding
        assert ours.deprecation_warnings == theirs.deprecation_warnings
    assert errors < CALLS // len(KINDS) // 2  # most calls are valid


# ── results ───────────────────────────────────────────────────────────────────


def test_a_result_maps_characters_words_and_tokens(pair: tuple[Any, Any]) -> None:
    texts, others = TEXTS[:2], TEXTS[2:4]
    results = [each(texts, others) for each in pair]
    for index, sequence in itertools.product(range(2), range(2)):
        for at in range(0, 60, 3):
            for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
                same(*results, lambda result: getattr(result, name)(index, at, sequence))  # noqa: B023
            for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
                same(*results, lambda result: getattr(result, name)(index, at))  # noqa: B023
        for name in ("tokens", "word_ids", "sequence_ids"):
            same(*results, lambda result: getattr(result, name)(index))  # noqa: B023
    assert len(results[1].encodings) == 2
    assert results[1][0].ids == results[0][0].ids
    assert results[1].is_fast


def test_a_result_can_be_pickled_and_outlives_changes(pair: tuple[Any, Any]) -> None:
    theirs, ours = (copy.deepcopy(each) for each in pair)
    texts = ["the cat sat", "mat"]
    expected, found = plain(theirs(texts)), ours(texts)
    lazily = ours(texts)
    texts.clear()
    for each in (theirs, ours):
        each.add_tokens(["cat"])
        each("the cat", truncation=True, max_length=1)
    assert plain(lazily) == expected
    assert dict(copy.deepcopy(found)) == expected[0]
    revived = pickle.loads(pickle.dumps(found))
    assert dict(revived) == dict(found)
    assert revived.word_ids(1) == lazily.word_ids(1)
    same(theirs, ours, lambda each: each("the cat sat"))


def test_tensors_of_numpy_are_equal(pair: tuple[Any, Any]) -> None:
    for options in (
        {"padding": True},
        {"padding": "max_length", "max_length": 7, "truncation": True},
        {"padding": True, "padding_side": "left", "return_offsets_mapping": True, "return_length": True},
        {},
    ):
        for texts in (["the cat", "sat on the mat"], "the cat", ["", "x"], [""]):
            same(*pair, lambda each: each(texts, return_tensors="np", **options))  # noqa: B023


def test_tensors_of_torch_are_equal(pair: tuple[Any, Any]) -> None:
    torch = pytest.importorskip("torch")
    theirs, ours = (each(["the cat", "sat on the mat"], padding=True, return_tensors="pt") for each in pair)
    assert list(theirs) == list(ours)
    for key in theirs:
        assert theirs[key].dtype == ours[key].dtype
        assert torch.equal(theirs[key], ours[key])


def test_long_texts_warn_once(pair: tuple[Any, Any]) -> None:
    logger = logging.getLogger("transformers.tokenization_utils_base")
    for original in pair:
        each = copy.deepcopy(original)
        each.deprecation_warnings.clear()
        said: list[str] = []
        handler = logging.Handler()
        handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]  # noqa: B023
        logger.addHandler(handler)
        try:
            each(["the cat"])
            assert not said
            each(["the cat", "the cat " * 100])
            each("the cat " * 100)
        finally:
            logger.removeHandler(handler)
        assert len(said) == 1 and said[0].startswith("Token indices sequence length is longer"), said


# ── decoding, vocabularies, chats ─────────────────────────────────────────────


def test_ids_are_decoded_the_same(pair: tuple[Any, Any]) -> None:
    chance = random.Random(5)
    size = len(pair[0]) - 2 * OLD_SPELLING
    rows = [[chance.randrange(size) for _ in range(chance.randrange(9))] for _ in range(40)]
    rows += [pair[0](text)["input_ids"] for text in TEXTS[:4]]
    for options in (
        {},
        {"skip_special_tokens": True},
        {"clean_up_tokenization_spaces": True},
        {"clean_up_tokenization_spaces": False, "skip_special_tokens": True},
    ):
        for ids in rows:
            same(*pair, lambda each: each.decode(ids, **options))  # noqa: B023
        same(*pair, lambda each: each.batch_decode(rows, **options))  # noqa: B023
    same(*pair, lambda each: each.batch_decode(np.array([[5, 6], [7, 8]])))
    same(*pair, lambda each: each.batch_decode([]))
    same(*pair, lambda each: each.decode(np.array([5, 6])))
    same(*pair, lambda each: each.decode(5))
    same(*pair, lambda each: each.decode([10**6]))
    if not VERSION_4:  # whose tokenizers has another message
        same(*pair, lambda each: each.batch_decode([[5], [-1]]))


def test_tokens_and_ids_are_converted_the_same(pair: tuple[Any, Any]) -> None:
    theirs, ours = pair
    assert ours.get_vocab() == theirs.get_vocab()
    assert (len(ours), ours.vocab_size) == (len(theirs), theirs.vocab_size)
    for call in (
        lambda each: each.convert_tokens_to_ids(["the", "<s>", "absent", "<new>"]),
        lambda each: each.convert_tokens_to_ids("the"),
        lambda each: each.convert_ids_to_tokens([0, 1, 7, 300, 10**6]),
        lambda each: each.convert_ids_to_tokens([0, 1, 7, 300], skip_special_tokens=True),
        lambda each: each.convert_ids_to_tokens(7),
        lambda each: each.convert_tokens_to_string(each.tokenize("the cat sat")),
        lambda each: each.num_special_tokens_to_add(pair=True),
        lambda each: each.get_added_vocab(),
        lambda each: {id: str(token) for id, token in each.added_tokens_decoder.items()},
        lambda each: each.all_special_ids,
        repr,
        lambda each: each.pad({"input_ids": [[1, 2], [3]]}, return_tensors="np"),
        lambda each: each.is_fast,
    ):
        same(theirs, ours, call)


def test_chats_are_rendered_and_encoded_the_same(pair: tuple[Any, Any]) -> None:
    for options in (
        {"tokenize": False},
        {"return_dict": True},
        {"return_dict": False},
        {"add_generation_prompt": True, "return_dict": True, "return_tensors": "np"},
        {"return_dict": True, "return_assistant_tokens_mask": True},
        {"truncation": True, "max_length": 9, "return_dict": True},
    ):
        same(*pair, lambda each: each.apply_chat_template(CHAT, **options))  # noqa: B023
    same(*pair, lambda each: each.apply_chat_template([CHAT, CHAT[:1]], padding=True, return_dict=True))
    if not VERSION_4:
        same(*pair, lambda each: each.apply_chat_template(CHAT, sanitize_control_tokens=True))


# ── changes ───────────────────────────────────────────────────────────────────


def test_added_tokens_are_found(pair: tuple[Any, Any]) -> None:
    theirs, ours = (copy.deepcopy(each) for each in pair)
    text = "a <tool>cat <role> sat</tool> <added>the mat <s>cat"
    for change in (
        lambda each: each.add_tokens(["<tool>", "</tool>", "cat"]),
        lambda each: each.add_tokens(transformers.AddedToken("<added>", lstrip=True, rstrip=True)),
        lambda each: each.add_special_tokens({"additional_special_tokens": ["<role>"]}),
        lambda each: each.add_special_tokens({"mask_token": "<role>", "pad_token": "[PAD]"}),
        lambda each: setattr(each, "padding_side", "left"),
        lambda each: setattr(each, "pad_token", "</s>"),
        lambda each: setattr(each, "split_special_tokens", True),
        lambda each: setattr(each, "split_special_tokens", False),
        lambda each: setattr(each, "model_input_names", ["input_ids", "token_type_ids", "attention_mask"]),
    ):
        same(theirs, ours, change)
        for options in ({}, {"padding": "max_length", "max_length": 30}, {"add_special_tokens": False}):
            same(theirs, ours, lambda each: each(text, **options))  # noqa: B023
        if not OLD_SPELLING:
            same(theirs, ours, lambda each: each.decode(each(text)["input_ids"], skip_special_tokens=True))
        assert len(theirs) == len(ours)


def test_the_backend_can_be_changed(pair: tuple[Any, Any]) -> None:
    from tokenizers import normalizers, pre_tokenizers, processors

    theirs, ours = (copy.deepcopy(each) for each in pair)
    ids = {name: theirs.convert_tokens_to_ids(name) for name in ("<s>", "</s>")}
    for name, value in (
        ("post_processor", processors.TemplateProcessing(single="</s> $A", special_tokens=list(ids.items()))),
        ("normalizer", normalizers.Lowercase()),
        ("pre_tokenizer", pre_tokenizers.ByteLevel(add_prefix_space=True)),
    ):
        if OLD_SPELLING and name == "normalizer":
            return
        for each in (theirs, ours):
            setattr(each.backend_tokenizer, name, value)
        if name == "pre_tokenizer" and ours.backend_tokenizer.model.byte_fallback:
            with pytest.raises(ValueError, match="byte_fallback spells it once more"):
                ours("the cat")
            return
        for text in (TEXTS[1], "<s> The <new>"):
            same(theirs, ours, lambda each: each(text))  # noqa: B023
    if not VERSION_4:
        same(theirs, ours, lambda each: (setattr(each, "add_eos_token", True), each("the cat"))[1])


def test_a_tokenizer_survives_copying_and_pickling(pair: tuple[Any, Any]) -> None:
    theirs, ours = pair
    expected = plain(theirs(TEXTS))
    for again in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), copy.copy(ours)):
        assert type(again) is type(ours)
        assert isinstance(again.backend_tokenizer, Tokenizer)
        assert plain(again(TEXTS)) == expected
    changed = copy.deepcopy(ours)
    changed.add_tokens(["cat"])
    assert plain(ours(TEXTS)) == expected
    assert plain(theirs(TEXTS)) == expected


def test_a_saved_tokenizer_is_read_by_transformers(pair: tuple[Any, Any], tmp_path: Path) -> None:
    theirs, ours = pair
    theirs.save_pretrained(tmp_path / "theirs")
    ours.save_pretrained(tmp_path / "ours")
    names = sorted(path.name for path in (tmp_path / "theirs").iterdir())
    assert sorted(path.name for path in (tmp_path / "ours").iterdir()) == names
    for name in names:
        if name.endswith(".json"):
            first, second = (
                json.loads((tmp_path / who / name).read_text("utf-8")) for who in ("theirs", "ours")
            )
            assert first == second, name
    again = transformers.AutoTokenizer.from_pretrained(tmp_path / "ours")
    assert isinstance(again.backend_tokenizer, type(theirs.backend_tokenizer))
    assert plain(again(TEXTS)) == plain(theirs(TEXTS))
    for loaded in (from_pretrained(tmp_path / "theirs"), type(ours).from_pretrained(tmp_path / "theirs")):
        assert type(loaded) is type(accelerate(again))
        assert plain(loaded(TEXTS)) == plain(theirs(TEXTS))


def test_training_gives_the_same_tokenizer(pair: tuple[Any, Any]) -> None:
    corpus = [TEXTS[:2], TEXTS[2:4], ["new words and newer words"] * 5]

    def train(each: Any) -> Any:
        return each.train_new_from_iterator(corpus, 360, new_special_tokens=["<extra>"], show_progress=False)

    if VERSION_4 and pair[0].backend_tokenizer.pre_tokenizer is None:  # which it requires
        same(*pair, train)
        return
    theirs, ours = map(train, pair)
    assert isinstance(ours.backend_tokenizer, Tokenizer)
    assert type(ours) is type(pair[1])
    same(theirs, ours, len)
    if theirs.backend_tokenizer.model.end_of_word_suffix:  # the original breaks ties at random
        assert ours.decode(ours("the cat")["input_ids"], skip_special_tokens=True) == "the</w>cat</w>"
        return
    assert json.loads(ours.backend_tokenizer.to_str()) == json.loads(theirs.backend_tokenizer.to_str())
    same(theirs, ours, lambda each: each(TEXTS))


# ── classes ───────────────────────────────────────────────────────────────────


def test_the_class_is_that_of_transformers(pair: tuple[Any, Any]) -> None:
    theirs, ours = pair
    assert isinstance(ours, type(theirs))
    assert isinstance(ours, transformers.PreTrainedTokenizerFast)
    assert isinstance(ours, transformers.PreTrainedTokenizerBase)
    assert type(ours).__name__ == type(theirs).__name__
    assert accelerate(ours) is ours
    assert type(accelerate(theirs)) is type(ours)
    assert type(theirs) is transformers.PreTrainedTokenizerFast


def test_other_tokenizers_are_untouched(pair: tuple[Any, Any]) -> None:
    import tokenizers

    theirs, ours = pair
    for each in (theirs, stock("qwen"), copy.deepcopy(theirs)):
        assert type(each.backend_tokenizer) is tokenizers.Tokenizer
        assert type(each("the cat").encodings[0]) is tokenizers.Encoding
    assert isinstance(ours.backend_tokenizer, Tokenizer)


def test_classes_of_models_keep_their_methods(tmp_path: Path) -> None:
    """GPT-2's and Qwen's classes build their backend themselves, from a vocabulary and merges."""
    merganser.train(TEXTS, 300, pattern="gpt2").export(tmp_path, format="gpt2")
    for name in ("GPT2Tokenizer", "Qwen2Tokenizer"):
        cls = getattr(transformers, name + "Fast" * VERSION_4)
        theirs = cls.from_pretrained(tmp_path)
        ours = accelerate(theirs)
        assert isinstance(ours, cls)
        for call in (
            lambda each: each(TEXTS),
            lambda each: each("the cat", "sat"),
            lambda each: each(["the", "cat"], is_split_into_words=True),  # an error of the class of GPT-2
            lambda each: each.encode("the cat"),
            lambda each: each.train_new_from_iterator(TEXTS, 290, show_progress=False)("the cat"),
        ):
            same(theirs, ours, call)
        again = pickle.loads(pickle.dumps(ours))
        assert type(again) is type(ours)
        assert plain(again(TEXTS)) == plain(theirs(TEXTS))


class Shouting(transformers.PreTrainedTokenizerFast):  # type: ignore[misc]
    """A class that overrides what the fast path would skip."""

    def _convert_encoding(self, encoding: Any, **options: Any) -> Any:
        converted, encodings = super()._convert_encoding(encoding, **options)
        converted["shout"] = [[1] * len(ids) for ids in converted["input_ids"]]
        return converted, encodings

    def _get_padding_truncation_strategies(self, **options: Any) -> Any:
        return super()._get_padding_truncation_strategies(**{**options, "truncation": True, "max_length": 3})


def test_overridden_methods_are_called() -> None:
    theirs = Shouting(tokenizer_object=KINDS["qwen"]())
    result = same(theirs, accelerate(theirs), lambda each: each(["the cat sat on the mat"]))
    assert result[0]["shout"] == [[1, 1, 1]]


@pytest.mark.parametrize("model", ["WordPiece", "Unigram", "WordLevel"])
def test_other_models_are_refused(model: str) -> None:
    from tokenizers import Tokenizer as Backend
    from tokenizers import models

    vocab: Any = [("a", 0.0)] if model == "Unigram" else {"a": 0}
    backend = Backend(getattr(models, model)(vocab))
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=backend)
    with pytest.raises(merganser.FormatError, match=rf"{model}.*only does BPE.*transformers\.AutoTokenizer"):
        accelerate(tokenizer)


def test_what_is_no_fast_tokenizer_is_refused() -> None:
    with pytest.raises(merganser.FormatError, match=r"not a fast tokenizer.*use_fast=True"):
        accelerate(object())


# ── processes ─────────────────────────────────────────────────────────────────

IN_A_PROCESS = """
import json, sys
import transformers
if sys.argv[2] == "ours":
    from merganser.compat.transformers import from_pretrained
else:
    from_pretrained = transformers.AutoTokenizer.from_pretrained
tokenizer = from_pretrained(sys.argv[1])
other = transformers.AutoTokenizer.from_pretrained(sys.argv[1])
result = tokenizer(json.loads(sys.argv[3]), return_offsets_mapping=True)
print(json.dumps([
    type(tokenizer.backend_tokenizer).__module__,
    type(other.backend_tokenizer).__module__,
    sorted(name for name in sys.modules if name.partition(".")[0] == "merganser")[:1],
    dict(result),
]))
"""


def test_processes_choose_their_backend(tmp_path: Path) -> None:
    stock("qwen").save_pretrained(tmp_path)
    started = [
        subprocess.Popen(
            [sys.executable, "-c", IN_A_PROCESS, str(tmp_path), who, json.dumps(TEXTS)],
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for who in ("ours", "theirs")
    ]
    ours, theirs = (json.loads(process.communicate(timeout=100)[0].splitlines()[-1]) for process in started)
    assert ours[3] == theirs[3]
    assert ours[0].startswith("merganser.") and ours[1] == "tokenizers"
    assert theirs[:3] == ["tokenizers", "tokenizers", []]


def test_a_missing_transformers_is_named() -> None:
    program = (
        "import sys; sys.modules['transformers'] = None\n"
        "from merganser.compat.transformers import from_pretrained\n"
        "try: from_pretrained('x')\n"
        "except ImportError as error: print(error)\n"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, encoding="utf-8")
    assert said.stdout.strip() == (
        "merganser.compat.transformers needs transformers: pip install 'merganser[hf]'"
    )
