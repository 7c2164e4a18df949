"""Encode: every method returns the ids of tiktoken and of the oracle."""

import gc
import random
import sys
import tempfile
import threading
from collections.abc import Iterator
from itertools import chain, pairwise
from pathlib import Path

import merganser
import numpy as np
import processes
import pytest
import regex
import tiktoken
import vocabs
from adversarial import TEXTS as ADVERSARIAL
from corpora import corpus_text
from hypothesis import given
from hypothesis import strategies as st
from merganser import EncodeError, SettingsError, Spans, Tokenizer
from oracle import encode_pretoken
from strategies import CUSTOM_PATTERNS, PRESETS, texts
from ticking import ticks_during

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
END = "<|endoftext|>"
TRAINED = {
    pattern: merganser.train([TEXT], 262, pattern=pattern, special_tokens=[END])
    for pattern in PRESETS + CUSTOM_PATTERNS
}
RANKS = {pattern: tokenizer.mergeable_ranks for pattern, tokenizer in TRAINED.items()}
ONE = merganser.train([TEXT], 300, special_tokens=[END, "<|end|>"])

batches = st.lists(texts | st.just(END) | st.just(f"a{END}b"), max_size=8)


def tokenizers() -> list[Tokenizer]:
    """Return a small tokenizer, and one with thousands of tokens."""
    return [ONE, vocabs.ours("cl100k_base")]


# ── ids equal to those of other libraries ─────────────────────────────────────


@pytest.mark.parametrize("name", vocabs.ALL)
@given(text=texts)
def test_ids_equal_those_of_tiktoken(name: str, text: str) -> None:
    ours, theirs = vocabs.ours(name), vocabs.theirs(name)
    ids = ours.encode_ordinary(text)
    assert ids == theirs.encode_ordinary(text)
    assert ours.decode(ids) == text
    special = next(iter(ours.special_tokens))
    mixed = f"{text}{special}{text}{special}"
    for allowed in ("all", {special}):
        assert ours.encode(mixed, allowed_special=allowed) == theirs.encode(mixed, allowed_special=allowed)
    assert ours.encode(mixed, disallowed_special=()) == theirs.encode(mixed, disallowed_special=())


@pytest.mark.parametrize("name", vocabs.OPENAI)
@pytest.mark.parametrize("corpus", ["english.txt", "code.txt", "multilingual.txt"])
def test_ids_of_real_text_equal_those_of_tiktoken(name: str, corpus: str) -> None:
    text = corpus_text(corpus, 1_000_000)[-400_000:]
    ids = vocabs.ours(name).encode_ordinary(text)
    assert ids == vocabs.theirs(name).encode_ordinary(text)
    assert vocabs.ours(name).decode(ids) == text


def tiktoken_ids(encoding: tiktoken.Encoding, text: str) -> list[int]:
    """Return tiktoken's ids; where it panics, its ids of the pre-tokens that another regex engine finds."""
    try:
        return encoding.encode_ordinary(text)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
    pretokens = regex.findall(encoding._pat_str, text)
    return [id for pretoken in pretokens for id in encoding._encode_single_piece(pretoken)]


@pytest.mark.parametrize("name", vocabs.OPENAI)
@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_ids_of_long_runs_equal_those_of_tiktoken(name: str, text: str) -> None:
    ours = vocabs.ours(name)
    ids = ours.encode_ordinary(text)
    assert ids == tiktoken_ids(vocabs.theirs(name), text)
    assert ours.decode(ids) == text


@pytest.mark.parametrize("text", ADVERSARIAL.values(), ids=ADVERSARIAL)
def test_ids_of_long_runs_equal_those_of_the_oracle(text: str) -> None:
    for tokenizer in tokenizers():
        ranks = tokenizer.mergeable_ranks
        short = text[:400] + text[-400:]
        pretokens = merganser.split(short, tokenizer.pattern)
        tokens = [token for pretoken in pretokens for token in encode_pretoken(pretoken.encode(), ranks)]
        assert tokenizer.encode_ordinary(short) == [ranks[token] for token in tokens]


@pytest.mark.parametrize("pattern", TRAINED)
@given(text=texts)
def test_ids_of_every_pattern_equal_those_of_the_oracle(pattern: str, text: str) -> None:
    tokenizer, ranks = TRAINED[pattern], RANKS[pattern]
    pretokens = merganser.split(text, pattern)
    tokens = [token for pretoken in pretokens for token in encode_pretoken(pretoken.encode(), ranks)]
    ids = tokenizer.encode_ordinary(text)
    assert ids == [ranks[token] for token in tokens]
    assert tokenizer.decode(ids) == text


def test_ids_with_gaps_are_kept() -> None:
    ranks = {bytes([byte]): 7 * byte for byte in range(256)} | {b"ab": 5000, b"abc": 9000}
    tokenizer = Tokenizer(ranks, pattern="gpt2", special_tokens={"<s>": 1_000_000})
    assert tokenizer.encode("abcd<s>", allowed_special="all") == [9000, 700, 1_000_000]
    assert tokenizer.encode_batch(["ab", "<s>"], allowed_special="all") == [[5000], [1_000_000]]


# ── equal ids from every method ───────────────────────────────────────────────


@given(batch=batches, allowed=st.sampled_from([(), "all", {END}, [END]]))
def test_a_batch_equals_its_texts_encoded_one_by_one(batch: list[str], allowed: str | set[str]) -> None:
    for tokenizer in tokenizers():
        policy = {"allowed_special": allowed, "disallowed_special": (), "prepend": END, "append": 65}
        single = [tokenizer.encode(text, **policy) for text in batch]
        for threads in (None, 1, 2, 3, 4):
            assert tokenizer.encode_batch(batch, **policy, threads=threads) == single
            ids, offsets = tokenizer.encode_flat(batch, **policy, threads=threads)
            assert [ids[a:b].tolist() for a, b in pairwise(offsets)] == single
            assert offsets[0] == 0
            assert offsets[-1] == len(ids)
            assert tokenizer.count_tokens(batch, **policy, threads=threads) == [len(ids) for ids in single]
        assert [tokenizer.count_tokens(text, **policy) for text in batch] == [len(ids) for ids in single]


@pytest.mark.parametrize("kind", [list, tuple, iter, dict.fromkeys, lambda texts: (text for text in texts)])
def test_any_iterable_of_texts_is_accepted(kind: type) -> None:
    batch = ["one", "two", "", "drei"]
    single = [ONE.encode(text) for text in batch]
    assert ONE.encode_batch(kind(batch)) == single
    assert ONE.encode_flat(kind(batch))[0].tolist() == list(chain(*single))
    assert ONE.count_tokens(kind(batch)) == [len(ids) for ids in single]


def test_empty_input_yields_empty_output() -> None:
    assert ONE.encode("") == ONE.encode_ordinary("") == []
    assert ONE.encode_batch([]) == ONE.count_tokens([]) == []
    assert ONE.count_tokens("") == 0
    ids, offsets = ONE.encode_flat([])
    assert (ids.tolist(), offsets.tolist()) == ([], [0])
    assert ONE.encode_with_offsets("") == Spans([], [], [])


def long_text() -> str:
    """Return more than 1 MB with many kinds of pre-tokens and special tokens."""
    words = random.Random(3).choices(TEXT.split(" "), k=250_000)
    return " ".join(words) + END + "中文" * 10_000 + " " * 50_000 + END


def test_a_long_text_equals_its_documents_encoded_one_by_one() -> None:
    text = long_text()
    documents = [f"{document}{END}" for document in text.split(END)[:-1]]
    for tokenizer in tokenizers():
        single = [tokenizer.encode(document, allowed_special="all") for document in documents]
        expected = list(chain(*single))
        assert tokenizer.encode(text, allowed_special="all") == expected
        assert tokenizer.decode(expected) == text
        for threads in (1, 2, 3, 4):
            policy = {"allowed_special": "all", "threads": threads}
            assert tokenizer.encode_batch([text, "", text], **policy) == [expected, [], expected]
            assert tokenizer.encode_flat([text], **policy)[0].tolist() == expected
            assert tokenizer.count_tokens(text, **policy) == len(expected)
            assert tokenizer.count_tokens([text, "a"], **policy) == [len(expected), 1]


def test_flat_arrays_are_plain_numpy_arrays() -> None:
    ids, offsets = ONE.encode_flat([TEXT, TEXT])
    assert (ids.dtype, offsets.dtype) == (np.uint32, np.int64)
    assert ids.flags.c_contiguous
    assert ids.flags.writeable
    copy = ids.copy()
    del offsets
    gc.collect()
    assert (ids == copy).all()


def test_texts_of_every_size_are_encoded_identically() -> None:
    # Around the sizes where the bindings switch strategy: 4 KiB and 1 MiB.
    unit = "the cat's 中文 "
    for size in (4096, 1 << 20):
        for length in range(size // len(unit.encode()) - 1, size // len(unit.encode()) + 2):
            text = unit * length
            ids = ONE.encode(text)
            assert ids == ONE.encode_ordinary(text) == ONE.encode_batch([text])[0]
            assert ONE.count_tokens(text) == len(ids)
            assert ONE.decode(ids) == text


# ── offsets ───────────────────────────────────────────────────────────────────


@given(text=texts | texts.map(lambda text: f"{text}{END}{text}"))
def test_offsets_locate_every_token(text: str) -> None:
    data = text.encode()
    for tokenizer in tokenizers():
        spans = tokenizer.encode_with_offsets(text, allowed_special="all")
        assert spans.ids == tokenizer.encode(text, allowed_special="all")
        assert len(spans.ids) == len(spans.chars) == len(spans.bytes)
        at = 0
        for id, (first, last), (start, end) in zip(spans.ids, spans.chars, spans.bytes, strict=True):
            assert start == at
            assert data[start:end] == tokenizer.decode_bytes([id])
            at = end
            # The characters that the token overlaps, computed from the text itself.
            edges = [0]
            for character in text:
                edges.append(edges[-1] + len(character.encode()))
            touched = [n for n in range(len(text)) if edges[n] < end and edges[n + 1] > start]
            assert (first, last) == (touched[0], touched[-1] + 1)
        assert at == len(data)


def test_prepended_and_appended_ids_have_empty_spans() -> None:
    spans = ONE.encode_with_offsets("é!", prepend=END, append="<|end|>")
    end = ONE.special_tokens
    assert spans.ids == [end[END], *ONE.encode("é!"), end["<|end|>"]]
    assert (spans.chars[0], spans.chars[-1]) == ((0, 0), (2, 2))
    assert (spans.bytes[0], spans.bytes[-1]) == ((0, 0), (3, 3))
    only = ONE.encode_with_offsets("", prepend=65, append=66)
    assert only == Spans([65, 66], [(0, 0), (0, 0)], [(0, 0), (0, 0)])


# ── invalid arguments ─────────────────────────────────────────────────────────


def test_prepend_and_append_mark_every_document() -> None:
    ids = ONE.encode(TEXT)
    end = ONE.special_tokens[END]
    assert ONE.encode(TEXT, prepend=END) == [end, *ids]
    assert ONE.encode(TEXT, append=END) == [*ids, end]
    assert ONE.encode(TEXT, prepend=end, append=65) == [end, *ids, 65]
    assert ONE.encode(TEXT, prepend=None, append=None) == ids
    assert ONE.encode(TEXT, prepend=[END, 65], append=(END,)) == [end, 65, *ids, end]
    assert ONE.encode(TEXT, prepend=[], append=()) == ids
    assert ONE.encode_batch(["a", ""], append=END) == [[97, end], [end]]
    assert ONE.count_tokens("a", prepend=END, append=END) == 3


@pytest.mark.parametrize(
    "token", ["<|nobody|>", "", "\ud800", 300, -1, 2**40, 1.5, b"a", [END, "<|nobody|>"], {END}]
)
@pytest.mark.parametrize("end", ["prepend", "append"])
def test_an_unknown_token_to_prepend_or_append_is_rejected(token: object, end: str) -> None:
    with pytest.raises(EncodeError, match=r"special tokens are \[.*endoftext"):
        ONE.encode("a", **{end: token})
    with pytest.raises(EncodeError, match="special tokens"):
        ONE.encode_batch(["a"], **{end: token})


@pytest.mark.parametrize("encode", [ONE.encode_batch, ONE.encode_flat])
def test_a_single_text_is_not_accepted_as_a_batch(encode: object) -> None:
    with pytest.raises(EncodeError, match=r"\[text\]"):
        encode("abc")


@pytest.mark.parametrize("encode", [ONE.encode_batch, ONE.encode_flat, ONE.count_tokens])
def test_batch_elements_that_are_not_texts_are_rejected(encode: object) -> None:
    with pytest.raises(EncodeError, match=r"number 1 \(counted from 0\) is bytes"):
        encode(["abc", b"abc"])
    with pytest.raises(EncodeError, match=r"number 2 .* is NoneType"):
        encode(text for text in ("abc", "", None))
    with pytest.raises(EncodeError, match="got int"):
        encode(5)
    with pytest.raises(EncodeError, match=r"text number 1 .*lone surrogate at position 1"):
        encode(["abc", "a\ud83d"])
    with pytest.raises(EncodeError, match="endoftext"):
        encode(["abc", f"a{END}"])
    with pytest.raises(ZeroDivisionError):
        encode(str(1 // n) for n in (1, 0))


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2"])
def test_an_invalid_number_of_threads_is_rejected(threads: object) -> None:
    for encode in (ONE.encode_batch, ONE.encode_flat, ONE.count_tokens):
        with pytest.raises(SettingsError, match="threads"):
            encode(["abc"], threads=threads)


@pytest.mark.parametrize("name", ["allowed_special", "disallowed_special"])
@pytest.mark.parametrize("choice", [END, "ALL", "\ud800", None, 5, [5], [b"all"], ["\ud800"]])
def test_special_tokens_must_be_named_in_a_collection(name: str, choice: object) -> None:
    for encode in (ONE.encode, ONE.encode_with_offsets, ONE.count_tokens):
        with pytest.raises(EncodeError):
            encode("abc", **{name: choice})


@given(texts, st.sampled_from(["all", "none"]))
def test_bytes_have_the_ids_of_their_text(text: str, allowed: str) -> None:
    data = text.encode()
    how = {"allowed_special": "all" if allowed == "all" else (), "disallowed_special": (), "append": END}
    assert ONE.encode(data, **how) == ONE.encode(text, **how)  # type: ignore[arg-type]
    assert ONE.encode_ordinary(data) == ONE.encode_ordinary(text)
    assert ONE.count_tokens(data, disallowed_special=()) == len(ONE.encode_ordinary(text))


@given(st.lists(st.binary(max_size=8) | texts.map(str.encode), max_size=6).map(b"".join))
def test_bytes_that_are_no_text_have_the_ids_of_a_file(data: bytes) -> None:
    ids = ONE.encode_ordinary(data)
    assert ONE.decode_bytes(ids) == data
    assert ONE.encode(data, disallowed_special=()) == ids
    if data:
        expected = []
        for valid, invalid in _chunks(data):
            expected += ONE.encode_ordinary(valid) + [ONE.token_id(bytes([byte])) for byte in invalid]
        assert ids == expected
        with tempfile.TemporaryDirectory() as folder:
            written = ONE.encode_corpus([data], out=folder, separator=None)
            assert [id for document in written.documents() for id in document.tolist()] == ids


def _chunks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield valid text and the invalid bytes after it, by Python's decoder."""
    while data:
        try:
            yield data.decode(), b""
            return
        except UnicodeDecodeError as error:
            yield data[: error.start].decode(), data[error.start : error.end]
            data = data[error.end :]


def test_special_tokens_are_found_in_bytes() -> None:
    data = b"the\xff" + END.encode() + b"\xe4\xb8cat"
    assert ONE.encode(data, allowed_special="all", prepend=END) == [
        ONE.eot_token,
        *ONE.encode("the"),
        255,
        ONE.eot_token,
        0xE4,
        0xB8,
        *ONE.encode("cat"),
    ]
    with pytest.raises(EncodeError, match=r"endoftext.* at byte 4;"):
        ONE.encode(data)
    assert ONE.decode_bytes(ONE.encode(data, disallowed_special=())) == data
    long = b"the cat \xff" * 200_000
    assert ONE.decode_bytes(ONE.encode(long)) == long


def test_bytes_must_be_text_if_the_tokenizer_has_stages() -> None:
    staged = merganser.train([TEXT], 300, normalizer="nfc")
    assert staged.encode("café".encode()) == staged.encode("café")
    for encode in (staged.encode, staged.encode_ordinary, staged.count_tokens):
        with pytest.raises(EncodeError, match=r"not valid UTF-8 at byte 3, .*decode them first"):
            encode(b"caf\xe9")


@pytest.mark.parametrize("text", [bytearray(b"abc"), memoryview(b"abc")])
def test_only_bytes_are_accepted_beside_text(text: object) -> None:
    with pytest.raises(TypeError, match="must be one str"):
        ONE.encode(text)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", [None, 5, ["abc"]])
def test_encode_accepts_only_one_text(text: object) -> None:
    for encode in (ONE.encode, ONE.encode_ordinary, ONE.encode_with_offsets):
        with pytest.raises(TypeError, match="str"):
            encode(text)


# ── memory, threads, processes, signals ───────────────────────────────────────


def test_ids_outlive_their_tokenizer() -> None:
    tokenizer = Tokenizer({bytes([byte]): 5000 + byte for byte in range(256)})
    lists = [tokenizer.encode("abc"), *tokenizer.encode_batch(["abc"] * 3)]
    del tokenizer
    gc.collect()
    assert lists == [[5097, 5098, 5099]] * 4


def test_lists_hold_one_reference_per_element() -> None:
    tokenizer = Tokenizer({bytes([byte]): 5000 + byte for byte in range(256)})
    kept = tokenizer.encode("a")
    a = kept[0]
    before = sys.getrefcount(a)
    many = [tokenizer.encode("aa" * 50), tokenizer.encode_batch(["aaa"] * 10), tokenizer.encode_ordinary("a")]
    now = sys.getrefcount(a)
    assert now == before + 131
    del many
    for _ in range(100):
        tokenizer.encode("aaa")
        with pytest.raises(EncodeError):
            tokenizer.encode_batch(["aaa", 5])  # type: ignore[list-item]
    now = sys.getrefcount(a)
    assert now == before


def test_the_garbage_collector_state_is_preserved() -> None:
    assert gc.isenabled()
    ONE.encode_batch(["abc"] * 10)
    assert gc.isenabled()
    gc.disable()
    try:
        ONE.encode_batch(["abc"] * 10)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_list_may_change_while_it_is_encoded() -> None:
    for _ in range(20):
        batch = [f"{TEXT}{n}" for n in range(600)]
        thread = threading.Thread(target=batch.clear, daemon=True)
        expected = [f"{TEXT}{n}" for n in range(600)]
        thread.start()
        encoded = ONE.encode_batch(batch)
        processes.joined(thread)
        assert [ONE.decode(ids) for ids in encoded] in (expected, [])


def test_32_threads_can_share_a_tokenizer() -> None:
    tokenizer = tokenizers()[-1]
    random_ = random.Random(5)
    samples = ["".join(random_.choices(TEXT, k=random_.randrange(300))) for _ in range(40)]
    samples += [TEXT * 30, long_text()[:200_000]]
    expected = [tokenizer.encode(sample) for sample in samples]
    wrong: list[str] = []
    start = threading.Barrier(32, timeout=processes.LIMIT)

    def hammer(seed: int) -> None:
        order = random.Random(seed)
        start.wait()
        for _ in range(60):
            n = order.randrange(len(samples))
            if tokenizer.encode(samples[n]) != expected[n]:
                wrong.append(samples[n])
        if tokenizer.encode_batch(samples, threads=2) != expected:
            wrong.append("batch")

    threads = [threading.Thread(target=hammer, args=(seed,), daemon=True) for seed in range(32)]
    for thread in threads:
        thread.start()
    processes.joined(*threads)
    assert wrong == []


#: Uses the tokenizer and its threads before the workers start, as a data loader does.
WORKERS = """
import multiprocessing, sys, merganser
text = "the cat sat on the mat, 2024 times; naïve café 中文 " * 40_000
tokenizer = merganser.train([text[:10_000]], 280, special_tokens=["<s>"])
def work(job):
    number, tokenizer = job
    batch = [text, f"worker {number}", text]
    ids = tokenizer.encode_batch(batch, threads=2)
    assert [tokenizer.decode(part) for part in ids] == batch
    assert tokenizer.encode(f"<s>{number}", allowed_special="all")[0] == 279
    return sum(map(len, ids)), sum(tokenizer.count_tokens(batch))
def shared(number):
    return work((number, tokenizer))
if __name__ == "__main__":
    expected = [work((number, tokenizer)) for number in range(8)]
    with multiprocessing.get_context(sys.argv[1]).Pool(4) as pool:
        assert pool.map(work, [(number, tokenizer) for number in range(8)], chunksize=1) == expected
        if sys.argv[1] == "fork":
            assert pool.map(shared, range(8), chunksize=1) == expected
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_tokenizer_can_be_sent_to_worker_processes(method: str, tmp_path: Path) -> None:
    script = tmp_path / "workers.py"
    script.write_text(WORKERS)
    done = processes.run([sys.executable, script, method])
    assert done.stdout == "done\n", done.stderr


#: Hundreds of megabytes: far from done when the signal arrives.
LONG_BATCH = """
import sys, merganser
from interrupting import interrupted
tokenizer = merganser.train(["the cat sat on the mat"] * 9, 265)
short = "the cat sat on the mat, and what is more, " * 1_000
if sys.argv[1] == "encode":
    texts = short * 5_000
else:
    texts = [short] * 10_000
tokenizer.encode_batch([short] * 100)
interrupted(lambda: getattr(tokenizer, sys.argv[1])(texts))
assert tokenizer.encode_batch([short] * 100)[99] == tokenizer.encode(short)
print("and it still works", flush=True)
"""


@pytest.mark.parametrize("method", ["encode", "encode_batch", "encode_flat", "count_tokens"])
def test_ctrl_c_stops_a_long_batch_at_once(method: str) -> None:
    done = processes.interrupted(LONG_BATCH, method)
    assert done.stdout == "stopped\nand it still works\n", done.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_lists_are_correct_while_another_thread_holds_the_gil(threads: int) -> None:
    done = threading.Event()

    def keep() -> None:
        while not done.is_set():
            sum(range(1000))

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    # Short documents, empty ones, and one that is split.
    texts = [TEXT * (n % 30) for n in range(500)] + [TEXT * 20_000, "", TEXT]
    try:
        lists = ONE.encode_batch(texts, threads=threads)
    finally:
        done.set()
        processes.joined(thread)
    assert lists == [ONE.encode(text) for text in texts]


def test_lists_own_their_ints() -> None:
    texts = [TEXT * 100] * 10
    highest = max(ONE.encode(TEXT))
    # Ints up to 256 are immortal, so their references need not be counted.
    assert highest > 256
    before = sys.getrefcount(highest)
    lists = ONE.encode_batch(texts)
    assert sys.getrefcount(highest) == before + sum(ids.count(highest) for ids in lists)
    del lists
    assert sys.getrefcount(highest) == before


def test_other_threads_run_while_a_batch_is_encoded() -> None:
    def work() -> None:
        # Texts below a megabyte are encoded on this thread, a longer batch on others.
        ONE.encode_flat([TEXT * 3_000] * 40)
        for _ in range(10):
            ONE.encode_flat([TEXT * 3_000])

    assert ticks_during(work)
