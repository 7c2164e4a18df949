"""Decoding: from any container, at once or as a stream, the text is the joined bytes of the tokens."""

import copy
import pickle
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

import merganser
import numpy as np
import processes
import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import DecodeError, SettingsError, StreamDecoder, Tokenizer
from strategies import texts

TEXT = "the cat sat on the mat; the dog's dinner was the cat's\n\n  naïve café 中文中文 2024 2025 👍👍" * 3
TRAINED = merganser.train([TEXT], 300, special_tokens=["<|endoftext|>", "<|é|>"])
#: Gaps between the ids, tokens just below and above the 15 bytes that fit a slot, and one of many slots.
LONG = {b"%x" % n * length: 1000 + 3 * n for n, length in enumerate((14, 15, 16, 17, 300))}
GAPPED = Tokenizer({bytes([byte]): 2 * byte for byte in range(256)} | LONG, special_tokens={"<s>": 999})
TOKENS = {tokenizer: {id: token for token, id in tokenizer.vocab.items()} for tokenizer in (TRAINED, GAPPED)}
EXPORTED = {tokenizer: tokenizer.to_tiktoken() for tokenizer in TOKENS}

tokenizers = st.sampled_from(list(TOKENS))


@st.composite
def some_ids(draw: st.DrawFn) -> tuple[Tokenizer, list[int]]:
    tokenizer = draw(tokenizers)
    one = st.sampled_from(list(TOKENS[tokenizer]))
    of_text = texts.map(tokenizer.encode_ordinary)
    parts = draw(st.lists(of_text | st.lists(one, max_size=6), max_size=5))
    return tokenizer, [id for part in parts for id in part]


def joined(tokenizer: Tokenizer, ids: Sequence[int]) -> bytes:
    """The oracle."""
    return b"".join(TOKENS[tokenizer][id] for id in ids)


def outcome(decode: Callable[[], Any]) -> Any:
    """Return the decoded value, or `None` if the ids are not valid text."""
    try:
        return decode()
    except (DecodeError, UnicodeDecodeError):
        return None


@given(some_ids())
def test_decoding_joins_the_bytes_of_the_tokens(given_ids: tuple[Tokenizer, list[int]]) -> None:
    tokenizer, ids = given_ids
    data = joined(tokenizer, ids)
    assert tokenizer.decode_bytes(ids) == data
    assert tokenizer.decode(ids, errors="replace") == data.decode("utf-8", "replace")
    assert tokenizer.decode(ids, errors="ignore") == data.decode("utf-8", "ignore")
    assert tokenizer.decode_tokens_bytes(ids) == [TOKENS[tokenizer][id] for id in ids]
    assert outcome(lambda: tokenizer.decode(ids)) == outcome(data.decode)
    assert [tokenizer.token_bytes(id) for id in ids] == [TOKENS[tokenizer][id] for id in ids]


@given(some_ids())
def test_tiktoken_decodes_to_the_same_text(given_ids: tuple[Tokenizer, list[int]]) -> None:
    tokenizer, ids = given_ids
    theirs = EXPORTED[tokenizer]
    assert tokenizer.decode_bytes(ids) == theirs.decode_bytes(ids)
    for errors in ("replace", "ignore"):
        assert tokenizer.decode(ids, errors) == theirs.decode(ids, errors)  # type: ignore[arg-type]
    assert tokenizer.decode_tokens_bytes(ids) == theirs.decode_tokens_bytes(ids)
    assert [tokenizer.token_bytes(id) for id in ids] == theirs.decode_tokens_bytes(ids)
    assert outcome(lambda: tokenizer.decode_with_offsets(ids)) == outcome(
        lambda: theirs.decode_with_offsets(ids)
    )


@given(tokenizers, texts)
def test_byte_offsets_are_cumulative_token_lengths(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode_ordinary(text)
    starts = [len(joined(tokenizer, ids[:nth])) for nth in range(len(ids))]
    assert tokenizer.decode_with_offsets(ids, unit="bytes") == (text, starts)


def test_an_unknown_offset_unit_is_rejected() -> None:
    with pytest.raises(SettingsError, match="characters"):
        TRAINED.decode_with_offsets([65], unit="words")  # type: ignore[arg-type]


@given(some_ids(), st.data())
def test_any_container_of_ids_is_accepted(
    given_ids: tuple[Tokenizer, list[int]], data: st.DataObject
) -> None:
    tokenizer, ids = given_ids
    expected = joined(tokenizer, ids)
    dtype = data.draw(
        st.sampled_from(["<u4", ">u4", "<i4", ">i4", "<u2", ">u2", "i2", "<i8", ">i8", "u8", "O"])
    )
    array = np.array(ids, dtype=dtype)
    spread = np.zeros((len(ids), 3), dtype=dtype)
    spread[:, 1] = ids
    read_only = array.copy()
    read_only.flags.writeable = False
    unaligned = np.frombuffer(b"x" + array.tobytes(), dtype="u1")[1:].view(dtype) if dtype != "O" else array
    holders = (
        tuple(ids),
        iter(ids),
        array,
        spread[:, 1],
        array[::-1][::-1],
        read_only,
        unaligned,
        list(array),
    )
    for holder in holders:
        assert tokenizer.decode_bytes(holder) == expected, type(holder)
    assert tokenizer.decode_bytes(array[::-1]) == joined(tokenizer, ids[::-1])


def test_empty_containers_decode_to_empty_text() -> None:
    for nothing in ([], (), iter([]), np.array([]), np.array([], dtype="u4")):
        assert TRAINED.decode(nothing) == ""
        assert TRAINED.decode_bytes(nothing) == b""
    assert TRAINED.decode_with_offsets([]) == ("", [])
    assert TRAINED.decode_batch([]) == []
    assert TRAINED.decode_batch([[], [65]]) == ["", "A"]


DECODERS: list[Callable[[Any], object]] = [
    GAPPED.decode,
    GAPPED.decode_bytes,
    GAPPED.decode_with_offsets,
    GAPPED.decode_tokens_bytes,
    lambda ids: GAPPED.decode(ids, errors="replace"),
    lambda ids: GAPPED.decode_batch([[2], ids]),
    lambda ids: StreamDecoder(GAPPED, "replace").push(ids),
]


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize(
    "unknown", [3, 998, 10_000, 2**24, 2**31, 2**32 - 1, 2**32, 2**63, 2**200, -1, -(2**63)]
)
def test_an_unknown_id_is_reported_with_its_position(decode: Callable[[Any], object], unknown: int) -> None:
    message = rf"no token with id {unknown} \(position 20\)"
    ids = [*[2] * 20, unknown, 5]
    holders: list[object] = [ids, tuple(ids), iter(ids)]
    for dtype in ("i4", "u4", "i8", "u8", ">i8", "O"):
        if dtype == "O" or np.iinfo(dtype).min <= unknown <= np.iinfo(dtype).max:
            holders.append(np.array(ids, dtype=dtype))
    for holder in holders:
        with pytest.raises(DecodeError, match=message):
            decode(holder)


@pytest.mark.parametrize("decode", DECODERS)
@pytest.mark.parametrize("wrong", ["5", 1.5, 2.0, None, [2], b"a", np.float64(2)])
def test_an_id_that_is_not_an_integer_is_rejected(decode: Callable[[Any], object], wrong: object) -> None:
    for holder in ([2, wrong], (2, wrong)):
        with pytest.raises(DecodeError, match=r"position 1\) is not an id"):
            decode(holder)


@pytest.mark.parametrize("decode", DECODERS)
def test_arrays_of_other_types_and_shapes_are_rejected(decode: Callable[[Any], object]) -> None:
    for dtype in ("f4", "f8", "?", "c16", "U1", "M8[s]"):
        with pytest.raises(DecodeError, match="holds no ids"):
            decode(np.zeros(3, dtype=dtype))
    for shape in ((2, 3), (1, 1, 1)):
        with pytest.raises(DecodeError, match="one dimension"):
            decode(np.zeros(shape, dtype="u4"))


def test_objects_that_are_not_containers_are_rejected() -> None:
    for wrong in (5, None, 1.5, object):
        with pytest.raises(TypeError, match="list, a numpy array"):
            TRAINED.decode(wrong)  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="one dimension, this array has 0"):
        TRAINED.decode(np.array(5))
    with pytest.raises(TypeError, match="not int"):
        TRAINED.decode_batch([65])  # type: ignore[list-item]


def test_a_list_that_shrinks_while_it_is_read_is_safe() -> None:
    class Index:
        def __index__(self) -> int:
            ids.clear()
            return 65

    ids: list[Any] = [65, Index(), *[66] * 1000]
    with pytest.raises(IndexError):
        TRAINED.decode(ids)


@pytest.mark.parametrize("char", ["é", "ÿ", "Ā", "中", "\uffff", "👍", "\U0010ffff"])
@pytest.mark.parametrize("size", [100, 1_000, 200_000])
def test_long_texts_equal_those_that_python_decodes(char: str, size: int) -> None:
    text = "a" * size + char + "sixteen letters and more " * 9 + char * size
    ids = np.frombuffer(text.encode(), np.uint8).astype(np.uint32) * 2
    back = GAPPED.decode(ids)
    assert back == text
    # A str that is stored wider than necessary is not equal to any other.
    assert hash(back) == hash(text)
    assert sys.getsizeof(back) == sys.getsizeof(text.encode().decode())
    assert GAPPED.decode(ids.tolist()) == text
    # The last character is incomplete.
    with pytest.raises(DecodeError):
        GAPPED.decode(ids[:-1])
    assert GAPPED.decode(ids[:-1], errors="replace") == text[:-1] + "\ufffd"


def test_an_unknown_id_far_into_a_list_is_reported_with_its_position() -> None:
    ids = [0] * 10_000 + [1, 2 * ord("a")]
    with pytest.raises(DecodeError, match="position 10000"):
        GAPPED.decode(ids)
    with pytest.raises(DecodeError, match="position 10000"):
        GAPPED.decode_bytes(ids)


def test_token_bytes_returns_the_bytes_of_one_token() -> None:
    assert GAPPED.token_bytes(999) == b"<s>"
    assert GAPPED.token_bytes(np.uint16(2)) == b"\x01"  # type: ignore[arg-type]
    for unknown in (3, -1, 2**40):
        with pytest.raises(DecodeError, match=f"id {unknown} "):
            GAPPED.token_bytes(unknown)
    with pytest.raises(DecodeError, match="not an id"):
        GAPPED.token_bytes("a")  # type: ignore[arg-type]


@given(st.lists(texts, max_size=8), st.sampled_from([None, 1, 3]))
def test_a_batch_equals_its_sequences_decoded_one_by_one(batch: list[str], threads: int | None) -> None:
    ids = [TRAINED.encode_ordinary(text) for text in batch]
    assert TRAINED.decode_batch(ids, threads=threads) == batch
    assert TRAINED.decode_batch((np.array(one, dtype="u4") for one in ids), threads=threads) == batch


def test_a_large_batch_keeps_its_order_with_many_threads() -> None:
    rows = np.random.default_rng(1).integers(0, 128, (3000, 700), dtype="u4")
    expected = [bytes(row.tolist()).decode() for row in rows]
    for threads in (None, 1, 5):
        assert TRAINED.decode_batch(rows, threads=threads) == expected
    assert TRAINED.decode_batch(rows.tolist()) == expected


def test_a_batch_error_names_the_sequence() -> None:
    with pytest.raises(DecodeError, match="sequence 1 of the batch: this tokenizer has no token with id 400"):
        TRAINED.decode_batch([[65], [65, 400]])
    with pytest.raises(DecodeError, match=r"sequence 2 .* decode_bytes"):
        TRAINED.decode_batch([[65], [65], [0xC3]])
    assert TRAINED.decode_batch([[65], [0xC3]], errors="replace") == ["A", "\ufffd"]
    assert TRAINED.decode_batch([[65], [0xC3, 66]], errors="ignore") == ["A", "B"]
    with pytest.raises(DecodeError, match='"strict", "replace" or "ignore", got "backslashreplace"'):
        TRAINED.decode_batch([], errors="backslashreplace")  # type: ignore[arg-type]
    for threads in (0, -1):
        with pytest.raises(SettingsError, match="threads"):
            TRAINED.decode_batch([[65]], threads=threads)


def pretokens(stream: StreamDecoder, ids: Sequence[int], cuts: Sequence[int]) -> list[str]:
    ends = [*sorted(cuts), len(ids)]
    return [stream.push(ids[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


@given(some_ids(), st.data())
def test_the_chunks_of_a_stream_join_to_the_whole_text(
    given_ids: tuple[Tokenizer, list[int]], data: st.DataObject
) -> None:
    tokenizer, ids = given_ids
    cuts = data.draw(st.lists(st.integers(0, len(ids)), max_size=10))
    whole = joined(tokenizer, ids).decode("utf-8", "replace")
    stream = StreamDecoder(tokenizer, errors="replace")
    assert "".join(stream.push(id) for id in ids) + stream.finish() == whole
    assert "".join(pretokens(stream, ids, cuts)) + stream.finish() == whole
    ignoring = StreamDecoder(tokenizer, errors="ignore")
    whole = joined(tokenizer, ids).decode("utf-8", "ignore")
    assert "".join(pretokens(ignoring, ids, cuts)) + ignoring.finish() == whole

    strict = StreamDecoder(tokenizer)
    streamed = outcome(lambda: "".join(pretokens(strict, ids, cuts)) + strict.finish())
    assert streamed == outcome(lambda: tokenizer.decode(ids))


@given(texts)
def test_a_stream_yields_a_character_as_soon_as_it_is_complete(text: str) -> None:
    stream = StreamDecoder(TRAINED)
    sent = b""
    received = ""
    for byte in text.encode():
        sent += bytes([byte])
        received += stream.push(byte)
        assert received.encode() + stream.pending == sent
        assert received == sent.decode("utf-8", "ignore")
    assert stream.finish() == ""
    assert received == text


def test_a_failed_push_leaves_the_stream_unchanged() -> None:
    stream = StreamDecoder(TRAINED)
    assert stream.push([65, 0xE4, 0xB8]) == "A"
    for wrong, message in (
        ([0xAD, 400], "no token with id 400"),
        ([0xAD, 66, 0xFF], "byte 5"),
        ([None], "not an id"),
    ):
        with pytest.raises(DecodeError, match=message):
            stream.push(wrong)  # type: ignore[arg-type]
        assert stream.pending == b"\xe4\xb8"
    assert stream.push(0xAD) == "中"
    stream.push(0xC3)
    with pytest.raises(DecodeError, match="byte 4"):
        stream.finish()
    assert stream.pending == b""
    assert stream.push([65]) + stream.finish() == "A"


def test_a_stream_accepts_one_id_or_several() -> None:
    stream = StreamDecoder(TRAINED, errors="replace")
    for ids in (65, np.int64(65), [65], (65,), np.array([65], dtype="u2"), iter([65])):
        assert stream.push(ids) == "A"  # type: ignore[arg-type]
    for wrong in (-1, 400, 2**70):
        with pytest.raises(DecodeError, match=f"no token with id {wrong}"):
            stream.push(wrong)
    with pytest.raises(TypeError, match="not NoneType"):
        stream.push(None)  # type: ignore[arg-type]
    with pytest.raises(DecodeError, match="strict"):
        StreamDecoder(TRAINED, "surrogateescape")  # type: ignore[arg-type]


@given(some_ids(), st.data())
def test_a_copy_of_a_stream_continues_on_its_own(
    given_ids: tuple[Tokenizer, list[int]], data: st.DataObject
) -> None:
    tokenizer, ids = given_ids
    errors = data.draw(st.sampled_from(["replace", "ignore"]))
    cut = data.draw(st.integers(0, len(ids)))
    whole = joined(tokenizer, ids).decode("utf-8", errors)
    stream = StreamDecoder(tokenizer, errors, skip_special=False)  # type: ignore[arg-type]
    start = stream.push(ids[:cut])
    copies = [copy.copy(stream), copy.deepcopy(stream), pickle.loads(pickle.dumps(stream))]
    stream.push([66])
    for fork in copies:
        assert type(fork) is StreamDecoder
        assert start + fork.push(ids[cut:]) + fork.finish() == whole


def test_a_copy_of_a_stream_keeps_its_settings_and_place() -> None:
    class Named(StreamDecoder):
        pass

    end = TRAINED.special_tokens["<|é|>"]
    stream = Named(TRAINED, "ignore", skip_special=True)
    stream.push([65, 0xE4])
    fork = copy.copy(stream)
    assert type(fork) is Named
    assert fork.pending == b"\xe4"
    assert fork.push([end, 66]) == "B"
    # The place in a text decides what becomes of the space at its beginning.
    words = merganser.train(["low lower lowest"] * 9, 18, unit="characters")
    ids = words.encode("low lower")
    decoder = StreamDecoder(words)
    start = decoder.push(ids[:1])
    assert start + copy.copy(decoder).push(ids[1:]) == words.decode(ids)


def test_special_tokens_are_decoded_unless_skipped() -> None:
    end = TRAINED.special_tokens["<|é|>"]
    ids = [65, 0xE4, end, 0xB8, 0xAD, end]
    assert TRAINED.decode([65, end]) == "A<|é|>"
    assert StreamDecoder(TRAINED).push([65, end]) == "A<|é|>"
    assert StreamDecoder(TRAINED, skip_special=True).push(ids) == "A中"
    with pytest.raises(DecodeError, match="no token with id 400"):
        StreamDecoder(TRAINED, skip_special=True).push([400])


def test_many_threads_decode_long_sequences() -> None:
    ids = np.resize(np.array(TRAINED.encode(TEXT), dtype="u4"), 200_000)
    expected = joined(TRAINED, ids.tolist()).decode("utf-8", "replace")
    wrong: list[int] = []

    def work(nth: int) -> None:
        for _ in range(5):
            if TRAINED.decode(ids, errors="replace") != expected:
                wrong.append(nth)

    threads = [threading.Thread(target=work, args=(nth,), daemon=True) for nth in range(8)]
    for thread in threads:
        thread.start()
    processes.joined(*threads)
    assert not wrong


def test_ids_that_change_while_they_are_decoded_are_safe() -> None:
    ids = np.full(2_000_000, 65, dtype="u4")
    done = threading.Event()

    def scribble() -> None:
        while not done.is_set():
            ids[:] = 1012
            ids[:] = 2

    thread = threading.Thread(target=scribble, daemon=True)
    thread.start()
    try:
        for _ in range(5):
            for decode in (GAPPED.decode_bytes, GAPPED.decode):
                data = outcome(lambda decode=decode: decode(ids))  # type: ignore[misc]
                assert data is None or len(data) >= 1
    finally:
        done.set()
        processes.joined(thread)


LONG_BATCH = """
import merganser
from interrupting import interrupted
tokenizer = merganser.train(["abc"], 257)
def batch():
    while True:
        yield ids
ids = [97] * 20_000
interrupted(lambda: tokenizer.decode_batch(batch()))
"""


def test_ctrl_c_stops_a_long_batch() -> None:
    done = processes.interrupted(LONG_BATCH)
    assert done.stdout == "stopped\n", done.stderr
