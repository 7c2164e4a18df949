"""The nanochat adapter behaves like nanochat's own module."""

from pathlib import Path
from typing import Any

import merganser
import numpy as np
import pytest
from conversations import GOOD, name, rendered
from merganser.chat import SPECIAL_TOKENS, Chat, ChatError
from merganser.chat.nanochat import RustBPETokenizer, get_token_bytes, get_tokenizer

TEXTS = ["What is 2+2? The answer is 4. 안녕 你好 12345<|endoftext|>67890 naïve"] * 3
TRAINED = RustBPETokenizer.train_from_iterator(iter(TEXTS), 290)
ANSWERED = [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]


def test_training_equals_merganser_train() -> None:
    assert TRAINED.get_vocab_size() == 290
    assert TRAINED.tokenizer.pattern_name == "nanochat"
    assert TRAINED.get_special_tokens() == set(SPECIAL_TOKENS)
    assert TRAINED.get_bos_token_id() == TRAINED.encode_special("<|bos|>") == 281
    same = merganser.train(TEXTS, 290, pattern="nanochat", special_tokens=SPECIAL_TOKENS, separator=None)
    assert TRAINED.tokenizer == same


def test_merges_equal_those_of_rustbpe() -> None:
    rustbpe = pytest.importorskip("rustbpe")
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator(iter(TEXTS), 281, pattern=TRAINED.tokenizer.pattern)
    assert {bytes(token): id for token, id in peer.get_mergeable_ranks()} == TRAINED.tokenizer.mergeable_ranks


def test_the_default_folder_is_tokenizer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    TRAINED.save()
    assert get_tokenizer().tokenizer == TRAINED.tokenizer == merganser.load("tokenizer")
    assert np.array_equal(get_token_bytes(), TRAINED.get_token_bytes())
    TRAINED.save("other/place")
    assert get_tokenizer("other/place").tokenizer == TRAINED.tokenizer
    with pytest.raises(merganser.FormatError):
        get_tokenizer("nowhere")
    Path("file").touch()
    with pytest.raises(merganser.WriteError, match="cannot create the folder file"):
        TRAINED.save("file")


def test_encode_accepts_one_text_or_a_list() -> None:
    text = "What is <|bos|>?"
    ordinary = TRAINED.tokenizer.encode_ordinary(text)
    bos = TRAINED.get_bos_token_id()
    assert TRAINED.encode(text) == TRAINED(text) == ordinary
    assert TRAINED.encode(text, prepend="<|bos|>", append=7) == [bos, *ordinary, 7]
    assert TRAINED.encode([text, ""], prepend=bos, num_threads=2) == [[bos, *ordinary], [bos]]
    with pytest.raises(
        merganser.EncodeError, match=r"'<\|eos\|>' is not a special token; this tokenizer has"
    ):
        TRAINED.encode_special("<|eos|>")


def test_decode_replaces_invalid_bytes() -> None:
    assert TRAINED.decode(TRAINED.encode("naïve 안")) == "naïve 안"
    assert TRAINED.id_to_token(TRAINED.get_bos_token_id()) == "<|bos|>"
    assert TRAINED.id_to_token(0xC3) == "\ufffd"


def test_token_bytes_add_up_to_the_bytes_of_the_text() -> None:
    lengths = TRAINED.get_token_bytes()
    assert lengths.dtype == np.int32
    assert len(lengths) == 290
    assert not lengths[281:].any()
    assert lengths[TRAINED.encode(TEXTS[0])].sum() == len(TEXTS[0].encode())


@pytest.mark.parametrize("case", GOOD, ids=name)
def test_every_conversation_case_is_rendered(case: dict[str, Any]) -> None:
    if "max_tokens" not in case:
        assert TRAINED.render_conversation({"messages": case["messages"]}) == rendered(
            case, TRAINED.tokenizer
        )


def test_a_completion_prompt_omits_the_answer() -> None:
    prompt = Chat(TRAINED.tokenizer).render_prompt(ANSWERED[:1])
    assert TRAINED.render_for_completion({"messages": ANSWERED}) == prompt
    assert TRAINED.render_for_completion(ANSWERED) == prompt
    for bad in (ANSWERED[:1], [], ["hello"], None):
        with pytest.raises(ChatError):
            TRAINED.render_for_completion(bad)  # type: ignore[arg-type]


def test_visualization_is_colored() -> None:
    ids, mask = TRAINED.render_conversation(ANSWERED)
    assert TRAINED.visualize_tokenization(ids, mask).endswith("\033[92m<|assistant_end|>\033[0m")
    assert f"({ids[0]})" in TRAINED.visualize_tokenization(ids, mask, with_token_id=True)
