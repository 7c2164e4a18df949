"""Failures of other libraries that no other test shows to be absent; docs/trust.md lists all of them."""

import sys

import merganser
import processes
import pytest
from strategies import PRESETS

#: The lengths at which others panic, overflow their stack or never end.
MILLION, TEN_MILLION = 10**6, 10**7


@pytest.mark.parametrize("pattern", PRESETS)
def test_a_million_spaces_before_a_letter_are_encoded(pattern: str) -> None:
    """tiktoken panics (issues 15, 245, 400)."""
    tokenizer = merganser.train(["a  b   c"] * 3, 258, pattern=pattern)
    text = " " * MILLION + "a"
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    assert ids == tokenizer.encode_batch([text], threads=2)[0]
    assert len(ids) == tokenizer.count_tokens(text)


@pytest.mark.parametrize("unit", ["a", "ab"])
def test_one_pretoken_of_ten_million_bytes_is_encoded(unit: str) -> None:
    """Quadratic merging (tiktoken 195) would take days. A shorter run has the same first ids."""
    tokenizer = merganser.train(["abab aaaa aaaaaaaa " * 3], 262, pattern="gpt2")
    text = unit * (TEN_MILLION // len(unit.encode()))
    ids = tokenizer.encode(text)
    assert tokenizer.decode(ids) == text
    short = tokenizer.encode(unit * 4096)
    assert ids[: len(short) // 2] == short[: len(short) // 2]


def test_errors_are_caught_by_except_exception() -> None:
    """A native panic that is a BaseException escapes the handlers of programs (tiktoken)."""
    for error in vars(merganser.errors).values():
        if isinstance(error, type) and issubclass(error, BaseException):
            assert issubclass(error, Exception)


#: Forks while other threads encode and train, and locks may be held.
FORKING = """
import os, sys, threading, time, warnings, merganser
warnings.simplefilter("ignore")
text = "the cat sat on the mat, 2024 times " * 3_000
tokenizer = merganser.train([text], 270)
expected = tokenizer.encode(text)
ended = threading.Event()
def work():
    while not ended.is_set():
        assert tokenizer.encode_batch([text] * 4)[3] == expected
        merganser.train([text], 262)
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
for _ in range(20):
    child = os.fork()
    if not child:
        right = tokenizer.encode(text) == expected and tokenizer.encode_batch([text] * 4)[0] == expected
        right = right and merganser.train([text], 262).vocab_size == 262
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0
ended.set()
print("done")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no fork")
def test_a_child_that_is_forked_beside_working_threads_does_not_hang() -> None:
    """Hugging Face's tokenizers warn and may hang, see TOKENIZERS_PARALLELISM."""
    done = processes.run([sys.executable, "-c", FORKING])
    assert done.stdout == "done\n", done.stderr


def test_user_text_is_never_a_special_token_by_default() -> None:
    """Hugging Face 1347, 2225: text of a user that spells a special token becomes one."""
    tokenizer = merganser.train(["the cat"], 260, special_tokens=["<|end|>"])
    with pytest.raises(merganser.EncodeError, match=r"<\|end\|>"):
        tokenizer.encode("hello <|end|>")
    ordinary = tokenizer.encode("hello <|end|>", disallowed_special=())
    assert tokenizer.special_tokens["<|end|>"] not in ordinary


def test_unknown_ids_never_vanish() -> None:
    """Hugging Face's decode drops ids that it does not know."""
    tokenizer = merganser.train(["the cat"], 260)
    for unknown in (260, 2**21, 2**31, 2**40, -1):
        with pytest.raises(merganser.DecodeError):
            tokenizer.decode([116, unknown])
