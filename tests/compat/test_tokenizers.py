"""`merganser.compat.tokenizers` against tokenizers: the same calls, on the same tokenizers."""

import asyncio
import copy
import itertools
import json
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kinds
import numpy as np
import pytest
from merganser.compat import tokenizers as ours
from random_calls import Chance, fields, outcome

theirs = pytest.importorskip("tokenizers")

from transformers_kinds import KINDS, TEXTS  # noqa: E402

CALLS = 2000
LIBRARIES = (theirs, ours)
NAMES = [*KINDS, *kinds.HUGGING_FACE]


@pytest.fixture(scope="module", params=NAMES)
def saved(request: pytest.FixtureRequest) -> str:
    """The tokenizer.json of a kind."""
    name = request.param
    return KINDS[name]().to_str() if name in KINDS else kinds.hugging_face(name)


@pytest.fixture
def pair(saved: str) -> tuple[Any, Any]:
    """A tokenizer of the original, and ours."""
    both = tuple(each.Tokenizer.from_str(saved) for each in LIBRARIES)
    for each in both:
        each.add_tokens(["<new>", "new token"])
    return both


def plain(value: Any) -> Any:
    """Return a result as values that can be compared."""
    if type(value).__name__ == "Encoding":
        return fields(value)
    if type(value).__name__ == "AddedToken":
        return repr(value)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


class Panic:
    """What the original returns where it fails an assertion: it equals whatever ours returns."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


def result(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or its error; a panic of the original as the `ValueError` that ours is."""
    try:
        return outcome(lambda: plain(call()))
    except BaseException as error:
        assert type(error).__name__ == "PanicException", error
        return (ValueError, str(error)) if str(error).startswith("`stride`") else Panic()


def same(pair: tuple[Any, Any], call: Callable[[Any], Any]) -> Any:
    """Check that a call has the same result with both, and return it."""
    expected = result(lambda: call(pair[0]))
    assert result(lambda: call(pair[1])) == expected
    return expected


def same_in_both(call: Callable[[Any], Any]) -> Any:
    """Check that a call has the same result with both libraries, and return it."""
    return same(LIBRARIES, call)


# ── 2,000 random calls ────────────────────────────────────────────────────────


class Calls(Chance):
    """Random changes of a tokenizer, and random calls, as functions of the library and the tokenizer."""

    def template(self, size: int) -> Callable[[Any, Any], Any]:
        ids = [(name, self.randrange(size)) for name in ("<a>", "<b>")]
        single = self.choice(["$A", "<a> $A", "<a> $A:1 <b>:2", "$A <b>", "<a> $A $A", "<a>"])
        double = self.choice(["$A $B:1", "<a> $A <b> $B:1 <b>:1", "$B <a>:3 $A:1", "$A:2 <a> $B:2"])

        def processor(library: Any, _: Any) -> Any:
            kinds = library.processors
            return [
                kinds.TemplateProcessing(single=single, pair=double, special_tokens=ids),
                kinds.ByteLevel(trim_offsets=True),
                kinds.ByteLevel(trim_offsets=True, add_prefix_space=False),
                kinds.BertProcessing(*ids),
                kinds.RobertaProcessing(*ids),
                kinds.RobertaProcessing(*ids, trim_offsets=False, add_prefix_space=False),
                kinds.Sequence(
                    [
                        kinds.ByteLevel(trim_offsets=True),
                        kinds.TemplateProcessing(single=single, pair=double, special_tokens=ids),
                    ]
                ),
                None,
            ][which]

        which = self.randrange(8)
        return lambda library, each: setattr(each, "post_processor", processor(library, each))

    def added(self, normalizer: Any) -> Callable[[Any, Any], Any]:
        content = self.choice(["<new>", " the", "cat", "x", "<s>", "New", "  ", "é", "sat on", "", "<role>"])
        flags = {name: self.random() < 0.3 for name in ("lstrip", "rstrip", "single_word", "normalized")}
        if "ByteLevel" in str(normalizer) and flags["normalized"]:
            flags["single_word"] = False  # which is refused
        if normalizer and not normalizer.normalize_str(content):
            content = "x"  # the original finds an empty token everywhere
        method = self.choice(["add_tokens", "add_special_tokens"])
        if self.random() < 0.3:
            return lambda _, each: getattr(each, method)([content])
        return lambda library, each: getattr(each, method)([library.AddedToken(content, **flags)])

    def change(self, size: int, normalizer: Any) -> Callable[[Any, Any], Any]:  # noqa: PLR0911
        match self.randrange(8):
            case 0:
                return lambda _, each: each.no_truncation()
            case 1 | 2:
                options: dict[str, Any] = {"max_length": self.choice([0, 1, 2, 3, 5, 8, 16, 64])}
                self.maybe(options, "stride", 0, 1, 2, 5)
                self.maybe(options, "strategy", "longest_first", "only_first", "only_second")
                self.maybe(options, "direction", "left", "right")
                return lambda _, each: each.enable_truncation(**options)
            case 3:
                return lambda _, each: each.no_padding()
            case 4:
                padding: dict[str, Any] = {}
                self.maybe(padding, "direction", "left", "right")
                self.maybe(padding, "pad_id", 0, 3)
                self.maybe(padding, "pad_type_id", 1)
                self.maybe(padding, "pad_token", "<pad>")
                self.maybe(padding, "length", 0, 7, 40)
                self.maybe(padding, "pad_to_multiple_of", 4, 8)
                return lambda _, each: each.enable_padding(**padding)
            case 5:
                return self.template(size)
            case 6:
                plain = self.random() < 0.5
                return lambda _, each: setattr(each, "encode_special_tokens", plain)
        return self.added(normalizer)

    def call(self, size: int) -> Callable[[Any, Any], Any]:
        special = self.random() < 0.7
        words = self.random() < 0.25
        one = self.words if words else self.text
        match self.randrange(10):
            case 0 | 1 | 2:
                first, second = one(), one() if self.random() < 0.5 else None
                return lambda _, each: each.encode(
                    first, second, is_pretokenized=words, add_special_tokens=special
                )
            case 3 | 4 | 5:
                batch = [one() if self.random() < 0.6 else (one(), one()) for _ in range(self.randrange(5))]
                name = self.choice(["encode_batch", "encode_batch", "encode_batch_fast"])
                return lambda _, each: getattr(each, name)(
                    batch, is_pretokenized=words, add_special_tokens=special
                )
            case 6:
                ids = [self.randrange(size + 3) for _ in range(self.randrange(12))]
                return lambda _, each: (
                    each.decode(ids),
                    each.decode(ids, skip_special_tokens=False),
                    [each.id_to_token(id) for id in ids],
                )
            case 7:
                batch = [[self.randrange(size) for _ in range(self.randrange(6))] for _ in range(3)]
                return lambda _, each: each.decode_batch(batch, skip_special_tokens=special)
            case 8:
                first, second = self.text(), self.text() if self.random() < 0.6 else None
                return lambda _, each: each.post_process(
                    each.encode(first, add_special_tokens=False),
                    None if second is None else each.encode(second, add_special_tokens=False),
                    special,
                )
        text, skips = self.text(), self.random() < 0.5

        def stream(library: Any, each: Any) -> Any:
            stream = library.decoders.DecodeStream(skip_special_tokens=skips)
            return [stream.step(each, id) for id in each.encode(text).ids]

        return stream


def test_random_calls_have_equal_results(pair: tuple[Any, Any]) -> None:
    chance = Calls(len(pair[0].to_str()))
    errors = count = 0
    settings = ("truncation", "padding", "encode_special_tokens")
    while count < CALLS / len(NAMES):
        size = pair[0].get_vocab_size()
        if chance.random() < 0.4:
            step = chance.change(size, pair[0].normalizer)
        else:
            step = chance.call(size)
            count += 1
        expected, found = (
            result(lambda: step(library, each))  # noqa: B023
            for library, each in zip(LIBRARIES, pair, strict=True)
        )
        errors += isinstance(expected, tuple)
        if "Truncation error" in str(expected) and isinstance(expected, tuple):
            found, expected = found[0], expected[0]  # of several errors in a batch, any is reported
        assert found == expected
        for name in settings:
            assert getattr(pair[1], name) == getattr(pair[0], name)
    assert errors < count // 3  # most calls are valid
    assert pair[1].to_str() == pair[0].to_str()


# ── encodings ─────────────────────────────────────────────────────────────────


def encoded(pair: tuple[Any, Any], *inputs: Any, **options: Any) -> tuple[Any, Any]:
    first, second = (each.encode(*inputs, **options) for each in pair)
    return first, second


def test_an_encoding_maps_characters_words_and_tokens(pair: tuple[Any, Any]) -> None:
    words = ["the", " cat", "", "sat  on"], ["中文", "x"]
    for both in (
        encoded(pair, TEXTS[0]),
        encoded(pair, TEXTS[1], TEXTS[3]),
        encoded(pair, *words, is_pretokenized=True),
        encoded(pair, ""),
    ):
        for at, sequence in itertools.product(range(0, 70, 3), range(3)):
            for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
                same(both, lambda each: getattr(each, name)(at, sequence))  # noqa: B023
        for at in range(70):
            for name in ("token_to_chars", "token_to_word", "token_to_sequence"):
                same(both, lambda each: getattr(each, name)(at))  # noqa: B023
        same(both, repr)


def test_encodings_are_padded_truncated_and_merged_the_same(pair: tuple[Any, Any]) -> None:
    chance = Calls(7)
    for _ in range(40):
        texts = [chance.text() for _ in range(chance.randrange(1, 4))]
        both = [[each.encode(text) for text in texts] for each in pair]
        for _ in range(chance.randrange(1, 5)):
            at, length = chance.randrange(len(texts)), chance.randrange(12)
            match chance.randrange(3):
                case 0:
                    padding: dict[str, Any] = {}
                    chance.maybe(padding, "direction", "left", "right", "up")
                    chance.maybe(padding, "pad_id", 5)
                    chance.maybe(padding, "pad_token", "<pad>")
                    same(both, lambda each: each[at].pad(length, **padding))  # noqa: B023
                case 1:
                    cut: dict[str, Any] = {"max_length": length, "stride": chance.randrange(max(length, 1))}
                    chance.maybe(cut, "direction", "left", "right")
                    same(both, lambda each: each[at].truncate(**cut))  # noqa: B023
                case 2:
                    same(both, lambda each: each[at].set_sequence_id(length))  # noqa: B023
        growing = chance.random() < 0.5
        merged = [
            library.Encoding.merge(each, growing_offsets=growing)
            for library, each in zip(LIBRARIES, both, strict=True)
        ]
        assert plain(merged[1]) == plain(merged[0])
        assert plain(both[1]) == plain(both[0])


def test_an_encoding_can_be_pickled_and_outlives_changes(pair: tuple[Any, Any]) -> None:
    for each in pair:
        each.enable_truncation(6, stride=2)
    batches = [each.encode_batch([TEXTS[0], "the cat"]) for each in pair]
    later = pair[1].encode_batch([TEXTS[0], "the cat"])
    for each in pair:
        each.add_tokens(["cat"])
        each.no_truncation()
    assert plain(later) == plain(batches[0])
    for first, second in zip(*batches, strict=True):
        assert json.loads(second.__getstate__()) == json.loads(first.__getstate__())
        for again in (pickle.loads(pickle.dumps(second)), copy.copy(second), copy.deepcopy(second)):
            assert plain(again) == plain(first)
        read = theirs.Encoding()
        read.__setstate__(second.__getstate__())
        assert plain(read) == plain(first)
    with pytest.warns(DeprecationWarning, match="word_ids"):
        assert batches[1][0].words == batches[0][0].word_ids
    assert plain(ours.Encoding()) == plain(theirs.Encoding())


def test_lists_of_an_encoding_are_copies() -> None:
    tokenizer = ours.Tokenizer.from_str(KINDS["byte_level"]().to_str())
    encoding = tokenizer.encode("the cat")
    expected = fields(encoding)
    for name in ("ids", "tokens", "offsets", "word_ids", "type_ids", "attention_mask", "overflowing"):
        getattr(encoding, name).append(7)
    assert fields(encoding) == expected


# ── decoding and the vocabulary ───────────────────────────────────────────────


def test_arrays_are_taken(pair: tuple[Any, Any]) -> None:
    texts = np.array(["the cat", "sat"])
    for call in (
        lambda each: each.encode_batch(texts),
        lambda each: each.encode_batch_fast(texts),
        lambda each: each.encode_batch(np.array([["the cat", "sat"], ["on", "mat"]])),
        lambda each: each.encode_batch([np.array(["the cat", "sat"])]),
        lambda each: each.encode(texts.astype(object), is_pretokenized=True),
        lambda each: each.encode(texts[0]),
        lambda each: each.decode(np.array([40, 41])),
        lambda each: each.decode_batch(np.array([[40, 41], [42, 43]])),
        lambda each: each.id_to_token(np.int64(40)),
        lambda each: each.encode_batch(np.array([1, 2])),
        lambda each: each.encode((word for word in "ab"), is_pretokenized=True),
        lambda each: each.decode({1: 2}),
    ):
        same(pair, call)


def test_streams_decode_the_same(pair: tuple[Any, Any]) -> None:
    chance = random.Random(6)
    size = pair[0].get_vocab_size()
    rows = [[chance.randrange(size) for _ in range(30)] for _ in range(10)]
    rows += [pair[0].encode(text).ids for text in TEXTS[:4]]
    for ids, start, skips in itertools.product(rows, (0, 3), (False, True)):
        found = []
        for library, each in zip(LIBRARIES, pair, strict=True):
            stream = library.decoders.DecodeStream(ids[:start], skip_special_tokens=skips)
            steps = []
            for at, id in enumerate(ids[start:]):
                steps.append(result(lambda: stream.step(each, [id, id] if at % 7 == 6 else id)))  # noqa: B023
                if at == 4:
                    stream = copy.deepcopy(copy.copy(stream))
            found.append(steps)
        assert found[0] == found[1]


def test_the_vocabulary_is_the_same(pair: tuple[Any, Any]) -> None:
    for flag in (True, False):
        same(pair, lambda each: each.get_vocab(flag))  # noqa: B023
        same(pair, lambda each: each.get_vocab_size(with_added_tokens=flag))  # noqa: B023
        same(pair, lambda each: each.num_special_tokens_to_add(flag))  # noqa: B023
    size = pair[0].get_vocab_size() + 3
    same(pair, lambda each: [each.id_to_token(id) for id in range(size)])
    same(pair, lambda each: [each.model.id_to_token(id) for id in range(size)])
    for token in (*pair[0].get_vocab(), "absent", ""):
        assert pair[1].token_to_id(token) == pair[0].token_to_id(token)
        assert pair[1].model.token_to_id(token) == pair[0].model.token_to_id(token)
    same(pair, lambda each: each.get_added_tokens_decoder())
    same(pair, lambda each: list(each.get_added_tokens_decoder()))


def test_words_are_tokenized_by_the_model_the_same(pair: tuple[Any, Any]) -> None:
    for word in ("the", "Ġthe", "x", "ÃŃ", "catsat", "中"):
        same(pair, lambda each: [token.as_tuple() for token in each.model.tokenize(word)])  # noqa: B023


def test_async_methods_return_the_same(pair: tuple[Any, Any]) -> None:
    async def all_of_them(each: Any) -> Any:
        ids = each.encode(TEXTS[0]).ids
        return [
            # The original has offsets in bytes here.
            {name: v for name, v in fields(await each.async_encode(TEXTS[0])).items() if name != "offsets"},
            plain(await each.async_encode_batch(TEXTS[:2], add_special_tokens=False)),
            plain(await each.async_encode_batch_fast(TEXTS[:2])),
            await each.async_decode_batch([ids, ids[:3]]),
        ]

    expected, found = (asyncio.run(all_of_them(each)) for each in pair)
    assert found == expected


# ── files, copies, pickles ────────────────────────────────────────────────────


def test_saved_tokenizers_are_read_by_the_original(pair: tuple[Any, Any], tmp_path: Path) -> None:
    first, second = pair
    for each in pair:
        each.enable_truncation(9, stride=1, direction="left")
        each.enable_padding(length=12, pad_token="<pad>")
    for pretty in (False, True):
        assert second.to_str(pretty) == first.to_str(pretty)
        second.save(str(tmp_path / "tokenizer.json"), pretty)
        assert (tmp_path / "tokenizer.json").read_text("utf-8") == first.to_str(pretty)
    expected = plain(first.encode_batch(TEXTS))
    text = second.to_str()
    for library in LIBRARIES:
        for again in (
            library.Tokenizer.from_str(text),
            library.Tokenizer.from_buffer(text.encode()),
            library.Tokenizer.from_file(str(tmp_path / "tokenizer.json")),
        ):
            assert plain(again.encode_batch(TEXTS)) == expected
            assert again.to_str() == text
    from_folder = ours.Tokenizer.from_pretrained(str(tmp_path))
    assert from_folder.to_str() == text


def test_copies_and_pickles_encode_the_same(pair: tuple[Any, Any]) -> None:
    first, second = pair
    expected = plain(first.encode_batch(TEXTS))
    for again in (pickle.loads(pickle.dumps(second)), copy.copy(second), copy.deepcopy(second)):
        assert plain(again.encode_batch(TEXTS)) == expected
        again.add_tokens(["cat"])
        again.pre_tokenizer = None
    assert plain(second.encode_batch(TEXTS)) == expected
    assert second.__getstate__() == first.__getstate__()
    assert (str(second), repr(second)) == (str(first), repr(first))


def test_models_are_saved_and_read_as_two_files(pair: tuple[Any, Any], tmp_path: Path) -> None:
    models = [each.model for each in pair]
    for prefix in (None, "small"):
        found = []
        for name, model in zip(("theirs", "ours"), models, strict=True):
            (tmp_path / name).mkdir(exist_ok=True)
            files = model.save(str(tmp_path / name), prefix)
            found.append([(Path(file).name, Path(file).read_text("utf-8")) for file in files])
        assert found[0] == found[1]
    files = [str(tmp_path / "ours" / name) for name in ("vocab.json", "merges.txt")]
    if any(" " in token or "\n" in token for token in pair[0].get_vocab()):
        return  # such merges cannot be read again
    same_in_both(lambda library: library.models.BPE.read_file(*files))
    options = {"unk_token": "<unk>"} if models[0].unk_token else {}
    same_in_both(lambda library: library.models.BPE.from_file(*files, **options).__getstate__())


# ── components ────────────────────────────────────────────────────────────────

#: Components as expressions, by what is done with them.
NORMALIZERS = [
    r"NFC()",
    r"NFD()",
    r"NFKC()",
    r"NFKD()",
    r"Nmt()",
    r"Lowercase()",
    r"StripAccents()",
    r"ByteLevel()",
    r"BertNormalizer()",
    r"BertNormalizer(False,False,True,False)",
    r"BertNormalizer(strip_accents=False)",
    r"Strip()",
    r"Strip(left=False)",
    r"Strip(True,False)",
    r"Prepend()",
    r'Prepend("x")',
    r'Replace("a","b")',
    r'Replace(Regex("[a-c]+"),"")',
    r"Sequence([])",
    r"Sequence([NFD(),StripAccents(),Lowercase()])",
    r'Sequence([Replace("\x20","▁"),ByteLevel()])',
]
PRE_TOKENIZERS = [
    r"BertPreTokenizer()",
    r"Whitespace()",
    r"WhitespaceSplit()",
    r"ByteLevel()",
    r"ByteLevel(False)",
    r"ByteLevel(add_prefix_space=False,use_regex=False)",
    r"ByteLevel(trim_offsets=False)",
    r'CharDelimiterSplit("a")',
    r"Digits()",
    r"Digits(individual_digits=True)",
    r"FixedLength()",
    r"FixedLength(length=2)",
    r"Metaspace()",
    r'Metaspace("_","first",False)',
    r'Metaspace(prepend_scheme="never")',
    r"Punctuation()",
    r'Punctuation("contiguous")',
    r'Punctuation("merged_with_next")',
    r'Split("a","removed")',
    r'Split(Regex("[a-c]+"),"merged_with_previous")',
    r'Split(Regex("a|b"),"contiguous",invert=True)',
    r'Split("\x20","isolated")',
    r"Sequence([])",
    r"Sequence([Whitespace(),Digits(True)])",
    r"Sequence([WhitespaceSplit(),Punctuation(),ByteLevel(False)])",
]
DECODERS = [
    r"ByteLevel()",
    r"ByteLevel(add_prefix_space=False)",
    r"BPEDecoder()",
    r'BPEDecoder(suffix="_")',
    r"ByteFallback()",
    r"CTC()",
    r'CTC(pad_token="a",cleanup=False)',
    r"Fuse()",
    r"Metaspace()",
    r'Metaspace("_","never")',
    r'Replace("a","b")',
    r'Replace(Regex("[a-c]+"),"x")',
    r"Strip()",
    r'Strip("a",0,1)',
    r'Strip(content="▁",left=1)',
    r"WordPiece()",
    r'WordPiece(prefix="a",cleanup=False)',
    r"Sequence([])",
    r'Sequence([Replace("▁","_"),ByteFallback(),Fuse()])',
]
PROCESSORS = [
    r"ByteLevel()",
    r"ByteLevel(trim_offsets=False)",
    r'BertProcessing(("[SEP]",1),("[CLS]",0))',
    r'RobertaProcessing(("</s>",1),("<s>",0))',
    r'RobertaProcessing(("</s>",1),("<s>",0),trim_offsets=False)',
    r"TemplateProcessing()",
    r'TemplateProcessing("$A","$A\x20$B:1")',
    r'TemplateProcessing(single="<s>\x20$0\x20</s>:3",pair="$A\x20$B",special_tokens=[("</s>",1),(0,"<s>")])',
    r'TemplateProcessing(["<s>","$A"],["$A","<s>:2","$B:2"],[{"id":"<s>","ids":[3,4],"tokens":["a","b"]}])',
    r"Sequence([])",
    r'Sequence([ByteLevel(),BertProcessing(("[SEP]",1),("[CLS]",0))])',
]
COMPONENTS = {
    "normalizers": NORMALIZERS,
    "pre_tokenizers": PRE_TOKENIZERS,
    "decoders": DECODERS,
    "processors": PROCESSORS,
}
ALL = [(kind, text) for kind, texts in COMPONENTS.items() for text in texts]
STRINGS = [
    "",
    "abc abc",
    " Ääß  e\u0301\u0301 ﬁ\x00\u2028x ",
    "a1b22 c-d?! \n_▁x 中文👍🏽",
    "İ don't do not ' s",
    "\u00a0\t",
]


def built(library: Any, kind: str, text: str) -> Any:
    module = getattr(library, kind)
    return eval(text, {**vars(module), "Regex": library.Regex})


@pytest.mark.parametrize(("kind", "text"), ALL, ids=[f"{kind}.{text}" for kind, text in ALL])
def test_components_are_the_same(kind: str, text: str) -> None:
    both = [built(library, kind, text) for library in LIBRARIES]
    for shown in (repr, str, lambda each: json.loads(each.__getstate__())):
        same(both, shown)
    for again in (pickle.loads(pickle.dumps(both[1])), copy.copy(both[1]), copy.deepcopy(both[1])):
        assert type(again) is type(both[1])
        assert repr(again) == repr(both[0])
    names = [name for name in dir(both[0]) if not name.startswith("_")]
    for name in names:
        value = result(lambda: getattr(both[0], name))  # noqa: B023
        if callable(value):
            assert callable(getattr(both[1], name)), name
            continue
        assert result(lambda: getattr(both[1], name)) == value, name  # noqa: B023
        if not isinstance(value, tuple) and value is not None and name != "single":
            value = tuple(value) if isinstance(value, list) else value
            same(both, lambda each: setattr(each, name, value))  # noqa: B023
    same(both, repr)
    for string in STRINGS:
        if kind == "normalizers":
            same(both, lambda each: each.normalize_str(string))  # noqa: B023
        elif kind == "pre_tokenizers":
            same(both, lambda each: each.pre_tokenize_str(string))  # noqa: B023
        elif kind == "decoders":
            tokens = [*string, "<0xE4>", "<0xB8>", "<0x61>", "▁", *string.split(), "##a", " n't"]
            same(both, lambda each: each.decode(tokens))  # noqa: B023
    if kind == "processors":
        inputs = [
            [each.encode(string) for string in STRINGS]
            for each in (library.Tokenizer.from_str(KINDS["byte_level"]().to_str()) for library in LIBRARIES)
        ]
        for first, second, special in itertools.product(range(3), (None, 1, 3), (True, False)):
            found = [
                plain(each.process(given[first], None if second is None else given[second], special))
                for each, given in zip(both, inputs, strict=True)
            ]
            assert found[0] == found[1]
        same(both, lambda each: [each.num_special_tokens_to_add(flag) for flag in (True, False)])


def test_components_of_the_original_are_taken() -> None:
    tokenizer = ours.Tokenizer(theirs.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")]))
    tokenizer.pre_tokenizer = theirs.pre_tokenizers.Split(theirs.Regex("[ab]+"), "isolated")
    tokenizer.normalizer = theirs.normalizers.Sequence([theirs.normalizers.Lowercase()])
    tokenizer.add_tokens([theirs.AddedToken("<new>", lstrip=True)])
    assert tokenizer.encode("AB <new>").tokens == ["ab", " <new>"]
    trainer = theirs.trainers.BpeTrainer(vocab_size=5, show_progress=False)
    tokenizer.train_from_iterator(["abab ab"], trainer)
    assert tokenizer.get_vocab_size() == 6  # with the added token


def test_a_changed_component_changes_its_tokenizers() -> None:
    both = [library.Tokenizer.from_str(KINDS["qwen"]().to_str()) for library in LIBRARIES]
    for change in (
        lambda each: setattr(each.pre_tokenizer[1], "add_prefix_space", True),
        lambda each: setattr(each.model, "unk_token", "x"),
        lambda each: setattr(each.model, "ignore_merges", True),
    ):
        same(both, change)
        same(both, lambda each: each.encode(TEXTS[1]))
        same(both, lambda each: each.to_str())
    chain = [library.normalizers.Sequence([library.normalizers.NFC()]) for library in LIBRARIES]
    for library, each, stages in zip(LIBRARIES, both, chain, strict=True):
        each.normalizer = stages
        each.normalizer[0] = library.normalizers.Lowercase()
    same(both, lambda each: each.encode(TEXTS[1]))
    same(both, lambda each: each.normalizer.normalize_str("ABC"))


def test_added_tokens_are_the_same() -> None:
    for flags in itertools.product((False, True), repeat=5):
        options = dict(zip(("single_word", "lstrip", "rstrip", "normalized", "special"), flags, strict=True))
        tokens = [library.AddedToken("<a>", **options) for library in LIBRARIES]
        same(tokens, repr)
        same(tokens, str)
        same(tokens, lambda each: each.__getstate__())
        same(tokens, lambda each: [getattr(each, name) for name in ("content", *options)])  # noqa: B023
        assert pickle.loads(pickle.dumps(tokens[1])) == tokens[1]
        assert tokens[1] != ours.AddedToken("<b>", **options)
        assert len({tokens[1], copy.copy(tokens[1])}) == 1
    for tokens in (
        [library.AddedToken("x") for library in LIBRARIES],
        [each.AddedToken() for each in LIBRARIES],
    ):
        same(tokens, repr)
        same(tokens, lambda each: (setattr(each, "special", True), repr(each))[1])
        same(tokens, lambda each: (setattr(each, "content", "y"), repr(each))[1])


# ── training ──────────────────────────────────────────────────────────────────

#: Words whose pairs occur differently often, so that the order of a hash table does not matter.
WITHOUT_TIES = " ".join(
    " ".join([word] * 3**at) for at, word in enumerate(["abc", "bcd", "cabd", "dda", "xyz"])
)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"vocab_size": 90, "special_tokens": ["<s>", "</s>", "<unk>"]},
    {"vocab_size": 300, "min_frequency": 3},
    {"vocab_size": 150, "initial_alphabet": ["z", "é", "words"], "special_tokens": ["z", "<unk>"]},
    {"vocab_size": 400, "max_token_length": 4},
    {"vocab_size": 60, "limit_alphabet": 40, "min_frequency": 2},
    {"vocab_size": 0},
]


def untrained(library: Any, saved: str) -> Any:
    state = json.loads(saved)
    state["model"] |= {"vocab": {}, "merges": [], "unk_token": None}
    return library.Tokenizer.from_str(json.dumps(state | {"added_tokens": [], "post_processor": None}))


def marks(saved: str) -> dict[str, Any]:
    model = json.loads(saved)["model"]
    names = ("continuing_subword_prefix", "end_of_word_suffix")
    return {name: model[name] for name in names if model[name]}


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: " ".join(options) or "defaults")
def test_training_gives_the_same_tokenizer(saved: str, options: dict[str, Any], tmp_path: Path) -> None:
    marked = marks(saved)
    corpus = [WITHOUT_TIES] if marked else [*TEXTS, kinds.text()[:3000], "", WITHOUT_TIES]
    if "limit_alphabet" in options:  # of equally frequent characters, the original keeps random ones
        corpus = [WITHOUT_TIES]
        options = options | {"limit_alphabet": 5}
    file = tmp_path / "corpus.txt"
    file.write_text("\n".join(corpus) + "\r\nlast", "utf-8", newline="")
    found = []
    for library in LIBRARIES:
        for way in ("texts", "batches", "file"):
            tokenizer = untrained(library, saved)
            special = [library.AddedToken(token, lstrip=True) for token in options.get("special_tokens", [])]
            given = options | {"special_tokens": special, "show_progress": False} | marked
            trainer = library.trainers.BpeTrainer(**given)
            if way == "texts":
                tokenizer.train_from_iterator(iter(corpus), trainer, length=len(corpus))
            elif way == "batches":
                tokenizer.train_from_iterator([corpus[:2], tuple(corpus[2:])], trainer=trainer)
            else:
                tokenizer.train([str(file)], trainer)
            state = json.loads(tokenizer.to_str())
            if marked:  # the ids depend on the order of a hash table
                state["model"]["vocab"] = sorted(state["model"]["vocab"])
            found.append(state)
    assert found[3:] == found[:3]


def test_trainers_have_the_same_options() -> None:
    for options in (*OPTIONS, {"continuing_subword_prefix": "##", "end_of_word_suffix": "</w>"}):
        trainers = [library.trainers.BpeTrainer(**options) for library in LIBRARIES]
        names = [name for name in dir(trainers[0]) if not name.startswith("_")]
        for name in names:
            if name == "get_word_count":
                continue
            if name == "initial_alphabet":  # in no order
                same(trainers, lambda each: sorted(each.initial_alphabet))
                continue
            same(trainers, lambda each: getattr(each, name))  # noqa: B023
            if name not in ("special_tokens", "initial_alphabet", "progress_format"):
                same(trainers, lambda each: setattr(each, name, getattr(each, name)))  # noqa: B023
        states = [json.loads(each.__getstate__())["BpeTrainer"] for each in trainers]
        for state in states:
            state["initial_alphabet"].sort()
        assert states[1] == states[0]
        again = pickle.loads(pickle.dumps(trainers[1]))
        assert again.__getstate__() == trainers[1].__getstate__()
    same_in_both(lambda library: type(library.models.BPE().get_trainer()).__name__)


def test_a_special_token_that_merges_would_form_is_refused() -> None:
    tokenizer = ours.Tokenizer(ours.models.BPE())
    trainer = ours.trainers.BpeTrainer(special_tokens=["ab"])
    with pytest.raises(ValueError, match=r"a merge forms 'ab'.*leave it out of special_tokens"):
        tokenizer.train_from_iterator(["ababab"], trainer)


@pytest.mark.parametrize("name", ["ByteLevelBPETokenizer", "CharBPETokenizer", "SentencePieceBPETokenizer"])
def test_implementations_are_the_same(name: str, tmp_path: Path) -> None:
    both = [getattr(library, name)() for library in LIBRARIES]
    corpus = [WITHOUT_TIES] * 2
    for each in both:
        each.train_from_iterator(corpus, vocab_size=280, show_progress=False)
    same(both, lambda each: sorted(each.get_vocab()))
    for call in (
        repr,
        lambda each: each.encode("abcd xyz").tokens,
        lambda each: each.encode("abcd", "xyz").offsets,
        lambda each: [one.tokens for one in each.encode_batch(["abc", "x y"])],
        lambda each: each.decode(each.encode("abc xyz").ids),
        lambda each: each.add_special_tokens(["<s>"]),
        lambda each: each.add_tokens(["cab"]),
        lambda each: each.get_vocab_size(with_added_tokens=True),
        lambda each: each.enable_truncation(3),
        lambda each: each.enable_padding(length=5),
        lambda each: each.encode("abcabd dda xyz").tokens,
        lambda each: each.truncation,
        lambda each: each.padding,
        lambda each: (each.no_truncation(), each.no_padding())[0],
        lambda each: each.normalize("ÀbC"),
        lambda each: each.num_special_tokens_to_add(True),
        lambda each: type(each.model).__name__,
    ):
        same(both, call)
    both[0].save_model(str(tmp_path))
    files = [str(tmp_path / file) for file in ("vocab.json", "merges.txt")]
    again = [getattr(library, name).from_file(*files) for library in LIBRARIES]
    same(again, lambda each: each.encode("abcd xyz").ids)
    file = tmp_path / "corpus.txt"
    file.write_text(WITHOUT_TIES, "utf-8")
    for each in again:
        each.train(str(file), vocab_size=270, show_progress=False)
    same(again, lambda each: sorted(each.get_vocab()))


# ── errors ────────────────────────────────────────────────────────────────────

WRONG_CALLS: dict[str, Callable[[Any], Any]] = {
    "encode an int": lambda t: t.encode(5),
    "encode None": lambda t: t.encode(None),
    "encode a list": lambda t: t.encode(["a"]),
    "encode an int as the pair": lambda t: t.encode("a", 5),
    "encode a text as words": lambda t: t.encode("a", is_pretokenized=True),
    "encode words of ints": lambda t: t.encode([1], is_pretokenized=True),
    "encode a lone surrogate": lambda t: t.encode("a\ud800"),
    "encode a batch that is a text": lambda t: t.encode_batch("a"),
    "encode a batch that is an int": lambda t: t.encode_batch(5),
    "encode a batch that is an iterator": lambda t: t.encode_batch(iter(["a"])),
    "encode a batch of ints": lambda t: t.encode_batch([5]),
    "encode a batch of triples": lambda t: t.encode_batch([("a", "b", "c")]),
    "encode a batch with a lone surrogate": lambda t: t.encode_batch(["a", "\ud800"]),
    "encode a batch of texts as words": lambda t: t.encode_batch(["a"], is_pretokenized=True),
    "encode a batch of a text and words": lambda t: t.encode_batch([(["a"], "b")], is_pretokenized=True),
    "decode a negative id": lambda t: t.decode([-1]),
    "decode an id that is too large": lambda t: t.decode([2**32]),
    "decode a str": lambda t: t.decode("a"),
    "decode an int": lambda t: t.decode(5),
    "decode None": lambda t: t.decode(None),
    "decode strs": lambda t: t.decode(["a"]),
    "decode floats": lambda t: t.decode([1.5]),
    "decode an iterator": lambda t: t.decode(iter([0])),
    "decode a batch of ints": lambda t: t.decode_batch([1]),
    "decode a batch with a negative id": lambda t: t.decode_batch([[0], [-1]]),
    "the token of a negative id": lambda t: t.id_to_token(-1),
    "the token of an id that is too large": lambda t: t.id_to_token(2**32),
    "the token of a str": lambda t: t.id_to_token("a"),
    "the id of an int": lambda t: t.token_to_id(5),
    "the model's token of a negative id": lambda t: t.model.id_to_token(-1),
    "the model's id of an int": lambda t: t.model.token_to_id(5),
    "a negative token": lambda t: t.encode("a").token_to_chars(-1),
    "a negative character": lambda t: t.encode("a").char_to_token(-1),
    "a character that is a str": lambda t: t.encode("a").char_to_token("a"),
    "a token that is too large": lambda t: t.encode("a").token_to_word(2**70),
    "a negative word": lambda t: t.encode("a").word_to_chars(-1),
    "a word that is too large": lambda t: t.encode("a").word_to_tokens(2**40),
    "a negative sequence": lambda t: t.encode("a").word_to_tokens(0, -1),
    "a negative id of a sequence": lambda t: t.encode("a").set_sequence_id(-1),
    "a negative length of padding": lambda t: t.encode("a").pad(-1),
    "a negative id of padding": lambda t: t.encode("a").pad(9, pad_id=-1),
    "a direction of padding": lambda t: t.encode("a").pad(9, direction="up"),
    "a negative length of truncation": lambda t: t.encode("a").truncate(-1),
    "a direction of truncation": lambda t: t.encode("a").truncate(0, 0, "up"),
    "a stride of an encoding": lambda t: t.encode("the cat sat").truncate(1, 3),
    "padding with a negative id": lambda t: t.enable_padding(pad_id=-1),
    "padding in a direction": lambda t: t.enable_padding(direction="up"),
    "padding to a str": lambda t: t.enable_padding(length="9"),
    "padding with another option": lambda t: t.enable_padding(other=9),
    "truncation to a negative length": lambda t: t.enable_truncation(-1),
    "truncation to a str": lambda t: t.enable_truncation("9"),
    "truncation with a strategy": lambda t: t.enable_truncation(9, strategy="all"),
    "truncation in a direction": lambda t: t.enable_truncation(9, direction="up"),
    "truncation with a stride": lambda t: t.enable_truncation(5, stride=9),
    "truncation with another option": lambda t: t.enable_truncation(9, other=9),
    "added tokens as a str": lambda t: t.add_tokens("a"),
    "added tokens as a tuple": lambda t: t.add_tokens(("a",)),
    "an added token that is an int": lambda t: t.add_tokens([5]),
    "a special token that is an int": lambda t: t.add_special_tokens([5]),
    "a model that is none": lambda t: setattr(t, "model", None),
    "a normalizer that is a str": lambda t: setattr(t, "normalizer", "NFC"),
    "a pre-tokenizer that is a normalizer": lambda t: setattr(t, "pre_tokenizer", t.normalizer or 5),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_errors_are_the_same(name: str) -> None:
    saved = KINDS["qwen"]().to_str()
    same([library.Tokenizer.from_str(saved) for library in LIBRARIES], WRONG_CALLS[name])


@pytest.mark.parametrize(
    "text",
    [
        'models.BPE({"a": 0}, None)',
        'models.BPE({"a": 0}, [("a", "b")])',
        "models.BPE(dropout=2.0)",
        'models.BPE.from_file("absent.json", "absent.txt")',
        'pre_tokenizers.Split("a", "away")',
        'pre_tokenizers.Metaspace("ab")',
        'pre_tokenizers.Metaspace(prepend_scheme="sometimes")',
        'pre_tokenizers.CharDelimiterSplit("")',
        'pre_tokenizers.Punctuation("away")',
        "pre_tokenizers.Sequence([1])",
        'normalizers.unicode_normalizer_from_str("nfx")',
        'processors.TemplateProcessing("$A <s>")',
        'processors.TemplateProcessing("$A", "$A $A")',
        'processors.TemplateProcessing("$C")',
        'processors.TemplateProcessing("$A:x")',
        'processors.TemplateProcessing("$A", special_tokens=[5])',
        'processors.BertProcessing("a", "b")',
        'decoders.Metaspace("ab")',
        "decoders.DecodeStream().step(tokenizer, -1)",
        'decoders.DecodeStream().step(tokenizer, "a")',
        'decoders.DecodeStream("ab")',
        "AddedToken(5)",
        'Tokenizer.from_file("absent.json")',
        'Tokenizer.from_str("{}")',
        'Tokenizer.from_str("[")',
        'Tokenizer.from_buffer(b"{}")',
        'Tokenizer("BPE")',
    ],
)
def test_wrong_arguments_have_errors_of_the_same_type(text: str) -> None:
    def call(library: Any) -> Any:
        return eval(text, {**vars(library), "tokenizer": library.Tokenizer(library.models.BPE())})

    expected, found = (result(lambda: call(library)) for library in LIBRARIES)  # noqa: B023
    assert isinstance(expected, tuple)
    assert found[0] is expected[0], (found, expected)


def test_what_is_not_bpe_says_so() -> None:
    for name in ("models.WordPiece", "models.WordLevel", "models.Unigram", "trainers.WordPieceTrainer"):
        module, _, kind = name.partition(".")
        with pytest.raises(NotImplementedError, match=rf"no {kind}.*only does BPE.*tokenizers package"):
            getattr(getattr(ours, module), kind)()
    saved = theirs.Tokenizer(theirs.models.WordLevel({"a": 0}, "a")).to_str()
    with pytest.raises(NotImplementedError, match=r"WordLevel model.*only has BPE"):
        ours.Tokenizer.from_str(saved)
    for custom in (ours.normalizers.Normalizer, ours.pre_tokenizers.PreTokenizer, ours.decoders.Decoder):
        with pytest.raises(NotImplementedError, match="in Python"):
            custom.custom(object())
    with pytest.raises(NotImplementedError, match="no stages in Python"):
        ours.NormalizedString("a")


def test_dropout_is_kept_but_not_used() -> None:
    model = ours.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], dropout=0.5)
    tokenizer = ours.Tokenizer(model)
    assert json.loads(tokenizer.to_str())["model"]["dropout"] == 0.5
    with pytest.raises(NotImplementedError, match=r"dropout.*set dropout to None"):
        tokenizer.encode("ab")
    tokenizer.model.dropout = None
    assert tokenizer.encode("ab").ids == [2]


# ── names and processes ───────────────────────────────────────────────────────


def test_every_public_name_exists() -> None:
    modules = (
        "decoders",
        "models",
        "normalizers",
        "pre_tokenizers",
        "processors",
        "trainers",
        "implementations",
    )
    for first, second in [(theirs, ours), *((getattr(theirs, n), getattr(ours, n)) for n in modules)]:
        for name, value in vars(first).items():
            inherited = not str(getattr(value, "__module__", "")).startswith("tokenizers")
            if name.startswith("_") or type(value).__name__ == "module" or inherited:
                continue
            assert hasattr(second, name), (first.__name__, name)
            other = ours.models.BPE if name == "Model" else getattr(second, name)
            if not isinstance(value, type) or issubclass(other, ours.missing.Missing):
                continue
            lacking = {attribute for attribute in dir(value) if not attribute.startswith("_")} - set(
                dir(other)
            )
            lacking -= set(getattr(other, "FIELDS", ())) | {"custom"}
            if issubclass(other, ours.implementations.BaseTokenizer):  # which passes on what it lacks
                lacking -= set(dir(ours.Tokenizer))
            assert not lacking, (name, lacking)
    assert ours.__version__ == theirs.__version__


NOTHING_IS_PATCHED = """
import sys
import tokenizers, transformers

def seen():
    found = {}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] not in ("tokenizers", "transformers"):
            continue
        for key, value in list(vars(module).items()):
            found[name, key] = id(value)
            if isinstance(value, type):
                found.update(((name, key, member), id(vars(value)[member])) for member in vars(value))
    return found

transformers.PreTrainedTokenizerFast, transformers.AutoTokenizer  # which it loads on first access
before = seen()
import merganser.compat.tokenizers
import merganser.compat.transformers
stock = transformers.PreTrainedTokenizerFast(tokenizer_file=sys.argv[1])
fast = merganser.compat.transformers.accelerate(stock)
assert fast("the cat") == stock("the cat")
backend = merganser.compat.tokenizers.Tokenizer.from_file(sys.argv[1])
assert backend.encode("the cat").ids == tokenizers.Tokenizer.from_file(sys.argv[1]).encode("the cat").ids
after = seen()
changed = [name for name, value in before.items() if after.get(name) != value]
print(changed)
"""


def test_nothing_is_patched(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    file = tmp_path / "tokenizer.json"
    file.write_text(KINDS["qwen"]().to_str(), "utf-8")
    said = subprocess.run(
        [sys.executable, "-c", NOTHING_IS_PATCHED, str(file)],
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    assert said.stdout.splitlines()[-1] == "[]"


def test_the_original_is_not_needed(tmp_path: Path) -> None:
    file = tmp_path / "tokenizer.json"
    file.write_text(KINDS["llama"]().to_str(), "utf-8")
    program = (
        "import sys; sys.modules['tokenizers'] = None; sys.modules['transformers'] = None\n"
        "from merganser.compat.tokenizers import Tokenizer\n"
        "print(Tokenizer.from_file(sys.argv[1]).encode('the cat').ids)"
    )
    said = subprocess.run(
        [sys.executable, "-c", program, str(file)], capture_output=True, check=True, encoding="utf-8"
    )
    assert json.loads(said.stdout) == theirs.Tokenizer.from_file(str(file)).encode("the cat").ids


def test_two_modules_of_one_process_use_different_backends(pair: tuple[Any, Any]) -> None:
    first, second = (each.encode_batch(TEXTS) for each in pair)
    assert type(first[0]) is theirs.Encoding
    assert type(second[0]) is ours.Encoding
    second_changed = copy.deepcopy(pair[1])
    second_changed.add_tokens(["cat"])
    second_changed.enable_truncation(2)
    assert plain(pair[0].encode_batch(TEXTS)) == plain(first) == plain(second)
