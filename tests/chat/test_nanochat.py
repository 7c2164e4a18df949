"""The nanochat adapter behaves like nanochat's own module.

In nanochat, rustbpe learns the ranks, the special tokens follow them, and a `tiktoken.Encoding`, saved as a
pickle, encodes with both. These libraries are asked here; the rules for conversations are in cases/chat.toml.
"""

import importlib.util
import pickle
import sys
from pathlib import Path
from typing import Any

import merganser
import numpy as np
import processes
import pytest
from conversations import GOOD, name, rendered
from corpora import corpus_text
from merganser.chat import SPECIAL_TOKENS, Chat, ChatError
from merganser.chat import rustbpe as ours
from merganser.chat.nanochat import (
    SPLIT_PATTERN,
    HuggingFaceTokenizer,
    RustBPETokenizer,
    get_token_bytes,
    get_tokenizer,
    get_tokenizer_dir,
    tokenizer_id,
)

TEXTS = ["What is 2+2? The answer is 4. 안녕 你好 12345<|endoftext|>67890 naïve"] * 3
TRAINED = RustBPETokenizer.train_from_iterator(iter(TEXTS), 290)
NOVEL = corpus_text("frankenstein.txt", 60_000).split("\n\n")
ANSWERED = [{"role": "user", "content": "2+2"}, {"role": "assistant", "content": "4"}]


def test_training_equals_merganser_train() -> None:
    assert TRAINED.get_vocab_size() == 290
    assert TRAINED.tokenizer.pattern_name == "nanochat"
    assert TRAINED.get_special_tokens() == set(SPECIAL_TOKENS)
    assert TRAINED.get_bos_token_id() == TRAINED.encode_special("<|bos|>") == 281
    same = merganser.train(TEXTS, 290, pattern="nanochat", special_tokens=SPECIAL_TOKENS, separator=None)
    assert TRAINED.tokenizer == same


@pytest.fixture(scope="module")
def novel() -> RustBPETokenizer:
    return RustBPETokenizer.train_from_iterator(iter(NOVEL), 900)


@pytest.fixture(scope="module")
def nanochats(novel: RustBPETokenizer) -> Any:
    """The `tiktoken.Encoding` that nanochat trains on the same text, from rustbpe and tiktoken."""
    rustbpe, tiktoken = pytest.importorskip("rustbpe"), pytest.importorskip("tiktoken")
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator(iter(NOVEL), 900 - len(SPECIAL_TOKENS), pattern=novel.get_pattern())
    ranks = {bytes(token): rank for token, rank in peer.get_mergeable_ranks()}
    special_tokens = {token: len(ranks) + nth for nth, token in enumerate(SPECIAL_TOKENS)}
    return tiktoken.Encoding(
        "rustbpe", pat_str=peer.get_pattern(), mergeable_ranks=ranks, special_tokens=special_tokens
    )


def test_merges_equal_those_of_rustbpe() -> None:
    rustbpe = pytest.importorskip("rustbpe")
    peer = rustbpe.Tokenizer()
    peer.train_from_iterator(iter(TEXTS), 281, pattern=TRAINED.tokenizer.pattern)
    assert list(TRAINED.get_mergeable_ranks()) == peer.get_mergeable_ranks()


def test_the_replacement_of_rustbpe_has_its_methods_and_results() -> None:
    rustbpe = pytest.importorskip("rustbpe")
    assert {name for name in dir(rustbpe.Tokenizer) if not name.startswith("_")} <= set(dir(ours.Tokenizer))
    for pattern in (None, TRAINED.get_pattern(), r"\w+|\W"):
        peer, tokenizer = rustbpe.Tokenizer(), ours.Tokenizer()
        for trainer in (peer, tokenizer):
            trainer.train_from_iterator(iter(NOVEL), 500, buffer_size=7, pattern=pattern)
        assert tokenizer.get_pattern() == peer.get_pattern()
        assert list(tokenizer.get_mergeable_ranks()) == peer.get_mergeable_ranks()
        assert tokenizer.vocab_size == peer.vocab_size == 500
        assert tokenizer.batch_encode(NOVEL) == peer.batch_encode(NOVEL)
        ids = tokenizer.encode("naïve <|bos|> 2024")
        assert ids == peer.encode("naïve <|bos|> 2024")
        assert tokenizer.decode(ids) == peer.decode(ids)


def test_ranks_are_a_dict_for_tiktoken_and_pairs_for_nanochat(
    novel: RustBPETokenizer, nanochats: Any
) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = novel.get_mergeable_ranks()
    assert {bytes(token): rank for token, rank in ranks} == dict(ranks) == ranks
    directly = tiktoken.Encoding("x", pat_str=novel.get_pattern(), mergeable_ranks=ranks, special_tokens={})
    text = "\n\n".join(NOVEL)
    assert directly.encode_ordinary(text) == nanochats.encode_ordinary(text) == novel.encode(text)
    assert type(pickle.loads(pickle.dumps(ranks))) is dict


def test_merges_are_pairs_of_ids(novel: RustBPETokenizer) -> None:
    tokens = {rank: token for token, rank in novel.get_mergeable_ranks()}
    assert list(novel.merges.values()) == list(range(256, 891))
    assert all(tokens[a] + tokens[b] == tokens[c] for (a, b), c in novel.merges.items())


def test_the_size_of_the_buffer_does_not_change_the_result() -> None:
    trained = [
        RustBPETokenizer.train_from_iterator(iter(NOVEL), vocab_size=400, buffer_size=size)
        for size in (1, 8192)
    ]
    assert trained[0].tokenizer == trained[1].tokenizer
    with pytest.raises(merganser.SettingsError, match="buffer_size must be at least 1, got 0"):
        RustBPETokenizer.train_from_iterator(iter(NOVEL), 400, buffer_size=0)


def test_special_tokens_may_be_above_the_vocabulary_size() -> None:
    inside = RustBPETokenizer.train_from_iterator(NOVEL, 409)
    above = RustBPETokenizer.train_from_iterator(NOVEL, 400, special_tokens_extra=True)
    assert above.tokenizer == inside.tokenizer
    assert above.get_bos_token_id() == above.encode("", prepend="<|bos|>")[0] == 400


def test_ids_equal_those_of_nanochat(novel: RustBPETokenizer, nanochats: Any) -> None:
    assert novel.get_vocab_size() == nanochats.n_vocab
    assert novel.get_special_tokens() == nanochats.special_tokens_set
    assert novel.get_bos_token_id() == nanochats.encode_single_token("<|bos|>")
    texts = [*NOVEL, "naïve 안녕 12345 <|bos|>", ""]
    assert novel.encode(texts, num_threads=2) == nanochats.encode_ordinary_batch(texts)
    assert novel.encode(texts) == RustBPETokenizer(nanochats).encode(texts)
    for id in range(nanochats.n_vocab):
        assert novel.id_to_token(id) == nanochats.decode([id])


@pytest.mark.parametrize("case", GOOD, ids=name)
def test_conversations_equal_those_of_nanochat(
    case: dict[str, Any], novel: RustBPETokenizer, nanochats: Any
) -> None:
    if "max_tokens" not in case:
        if "parts" not in case:
            assert rendered(case, merganser.load(nanochats)) == restated(nanochats, case["messages"])
        assert novel.render_conversation({"messages": case["messages"]}) == restated(
            nanochats, case["messages"]
        )


def test_the_pickle_is_that_of_nanochat(novel: RustBPETokenizer, nanochats: Any, tmp_path: Path) -> None:
    novel.save(tmp_path, pickle=True)
    unpickled = pickle.loads((tmp_path / "tokenizer.pkl").read_bytes())
    assert unpickled.__getstate__() == nanochats.__getstate__()
    assert merganser.load(unpickled) == novel.tokenizer
    assert get_tokenizer(tmp_path).tokenizer == novel.tokenizer
    script = (
        "import pickle, sys; sys.modules['merganser'] = None; "
        "print(pickle.load(open(sys.argv[1], 'rb')).encode_ordinary('It was on a dreary night'))"
    )
    done = processes.run([sys.executable, "-c", script, tmp_path / "tokenizer.pkl"], check=True)
    assert done.stdout.strip() == str(novel.encode("It was on a dreary night"))


def test_a_folder_of_nanochat_is_refused_with_the_remedy(nanochats: Any, tmp_path: Path) -> None:
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(nanochats))
    (tmp_path / "token_bytes.pt").write_bytes(b"PK\x03\x04")
    for read in (get_tokenizer, RustBPETokenizer.from_directory):
        with pytest.raises(
            merganser.FormatError, match=r"is a pickle; .*merganser\.load\(pickle\.load\(file\)\)"
        ):
            read(tmp_path)
    with (tmp_path / "tokenizer.pkl").open("rb") as file:
        converted = RustBPETokenizer(merganser.load(pickle.load(file)))
    with pytest.warns(merganser.MerganserWarning, match=r"tokenizer\.pkl was not replaced.*pickle=True"):
        converted.save(tmp_path)
    assert get_tokenizer(tmp_path).encode("night") == nanochats.encode_ordinary("night")


def test_token_bytes_are_saved_and_equal_nanochats_for_whole_characters(
    novel: RustBPETokenizer, nanochats: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """nanochat counts the bytes of the decoded text, so a part of a character has the three of U+FFFD."""
    monkeypatch.setitem(sys.modules, "torch", None)
    (tmp_path / "token_bytes.pt").touch()
    novel.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.merganser", "token_bytes.npy"}
    saved = np.load(tmp_path / "token_bytes.npy", allow_pickle=False)
    assert saved.tolist() == novel.get_token_bytes().tolist()
    whole = 0
    for id in range(nanochats.n_vocab):
        text = nanochats.decode([id])
        if text in nanochats.special_tokens_set:
            assert saved[id] == 0
        elif "\ufffd" not in text:
            assert saved[id] == len(text.encode())
            whole += 1
        else:
            assert saved[id] == len(nanochats.decode_single_token_bytes(id))
    assert whole >= 128 + 600


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_token_bytes_are_a_tensor_for_torch(tmp_path: Path) -> None:
    import torch

    (tmp_path / "token_bytes.npy").touch()
    TRAINED.save(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == {"tokenizer.merganser", "token_bytes.pt"}
    saved = torch.load(tmp_path / "token_bytes.pt", weights_only=True)
    for device in ("cpu", torch.device("cpu")):
        tensor = get_token_bytes(device, tmp_path)
        assert tensor.dtype == torch.int32
        assert tensor.tolist() == saved.tolist() == TRAINED.get_token_bytes().tolist()
    torch.save(torch.arange(290, dtype=torch.int32), tmp_path / "token_bytes.pt")  # of tok_train
    assert get_token_bytes(device="cpu", tokenizer_dir=tmp_path).tolist() == list(range(290))
    (tmp_path / "token_bytes.pt").unlink()
    assert get_token_bytes(tokenizer_dir=tmp_path).tolist() == TRAINED.get_token_bytes().tolist()


def test_missing_extras_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TRAINED.save(tmp_path / "saved")
    monkeypatch.setitem(sys.modules, "tiktoken", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"pickle=True needs tiktoken: pip install 'merganser\[tiktoken\]'"):
        TRAINED.save(tmp_path / "new", pickle=True)
    assert not (tmp_path / "new").exists()
    with pytest.raises(ImportError, match=r"needs tiktoken: pip install 'merganser\[tiktoken\]'"):
        RustBPETokenizer.from_pretrained("gpt2")
    with pytest.raises(ImportError, match=r"needs torch: pip install 'merganser\[torch\]'"):
        get_token_bytes(device="cpu", tokenizer_dir=tmp_path / "saved")


def test_an_encoding_of_tiktoken_needs_no_chat_tokens() -> None:
    """nanochat compares its tokenizer with GPT-2's, which has `<|endoftext|>` only."""
    encoding = merganser.train(TEXTS, 260, special_tokens=["<|endoftext|>"]).to_tiktoken()
    tokenizer = RustBPETokenizer(encoding, "<|endoftext|>")
    assert tokenizer.get_bos_token_id() == 259
    assert tokenizer.encode("2+2", prepend="<|endoftext|>") == [259, *encoding.encode_ordinary("2+2")]
    with pytest.raises(ChatError, match=r"lacks the special tokens <\|user_start\|>"):
        tokenizer.render_conversation(ANSWERED)
    with pytest.raises(
        merganser.EncodeError, match=r"'<\|bos\|>' is not a special token; this tokenizer has none"
    ):
        RustBPETokenizer(merganser.train(TEXTS, 260))


def test_the_folder_of_nanochat_is_the_default_where_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NANOCHAT_BASE_DIR", str(tmp_path / "base"))
    TRAINED.save()
    assert (tmp_path / "base" / "tokenizer" / "tokenizer.merganser").is_file()
    assert get_tokenizer().tokenizer == TRAINED.tokenizer
    assert get_tokenizer_dir() == str(tmp_path / "base" / "tokenizer")


def test_the_default_folder_is_that_of_nanochat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    monkeypatch.setenv("NANOCHAT_BASE_DIR", "")
    assert get_tokenizer_dir() == str(tmp_path / ".cache" / "nanochat" / "tokenizer")
    monkeypatch.delenv("NANOCHAT_BASE_DIR")
    TRAINED.save()
    assert get_tokenizer().tokenizer == TRAINED.tokenizer
    assert merganser.load(tmp_path / ".cache" / "nanochat" / "tokenizer") == TRAINED.tokenizer
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
    if "max_tokens" not in case and "parts" not in case:
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


def restated(encoding: Any, messages: list[dict[str, Any]]) -> tuple[list[int], list[int]]:
    """The rules of nanochat's `render_conversation`, on a `tiktoken.Encoding` or a tokenizer."""
    special = encoding._special_tokens if hasattr(encoding, "_special_tokens") else encoding.special_tokens
    rows: list[tuple[list[int], int]] = [([special["<|bos|>"]], 0)]

    def put(text: str, learned: int, around: str | None = None) -> None:
        ids = encoding.encode_ordinary(text)
        if around:
            ids = [special[f"<|{around}_start|>"], *ids, special[f"<|{around}_end|>"]]
        rows.append((ids, learned))

    if messages[0]["role"] == "system":
        first = {"role": "user", "content": messages[0]["content"] + "\n\n" + messages[1]["content"]}
        messages = [first, *messages[2:]]
    for message in messages:
        if message["role"] == "user":
            put(message["content"], 0, "user")
            continue
        rows.append(([special["<|assistant_start|>"]], 0))
        content = message["content"]
        for part in [{"type": "text", "text": content}] if isinstance(content, str) else content:
            around = {"text": None, "python": "python", "python_output": "output"}[part["type"]]
            put(part["text"], int(part["type"] != "python_output"), around)
        rows.append(([special["<|assistant_end|>"]], 1))
    ids = [id for row, _ in rows for id in row]
    mask = [learned for row, learned in rows for _ in row]
    return ids, mask


def spelling_bee(word: str, letter: str) -> list[dict[str, Any]]:
    """A conversation of the shape of nanochat's SpellingBee task: two texts follow each other."""
    parts = [
        {"type": "text", "text": f"First spell the word out:\n{word}:{','.join(word)}\n\nThis gives us 3."},
        {"type": "text", "text": "\n\nLet me double check this using Python:\n\n"},
        {"type": "python", "text": f"'{word}'.count('{letter}')"},
        {"type": "python_output", "text": str(word.count(letter))},
        {"type": "text", "text": f"\n\nPython gives us {word.count(letter)}.\n\n#### 3"},
    ]
    return [
        {"role": "user", "content": f"How many {letter} are in {word}?"},
        {"role": "assistant", "content": parts},
    ]


def test_text_parts_are_encoded_one_by_one() -> None:
    # Generated texts lack paragraphs. With them, "3." and "\n\n" share a token where they are joined.
    paragraphs = RustBPETokenizer.train_from_iterator(iter([*NOVEL, "It is so.\n\n" * 999]), 900)
    differs = 0
    for word, letter in (("strawberry", "r"), ("naïve", "e"), ("creature", "x")):
        messages = spelling_bee(word, letter)
        ids, mask = paragraphs.render_conversation({"messages": messages})
        assert (ids, mask) == restated(paragraphs.tokenizer, messages)
        differs += ids != Chat(paragraphs.tokenizer).render(messages)[0]
    assert differs == 3


@pytest.mark.parametrize("max_tokens", [2048, 1, 7, 0, -1, None, 10_000])
def test_conversations_are_cut_as_a_list_is_sliced(novel: RustBPETokenizer, max_tokens: int | None) -> None:
    messages = [*spelling_bee("strawberry", "r"), {"role": "user", "content": "and " * 3000}]
    ids, mask = restated(novel.tokenizer, messages)
    assert len(ids) > 2048
    assert novel.render_conversation(messages, max_tokens) == (ids[:max_tokens], mask[:max_tokens])
    assert novel.render_conversation({"messages": messages}) == (ids[:2048], mask[:2048])


def test_prompts_are_cut_after_2048_tokens(novel: RustBPETokenizer) -> None:
    start = novel.encode_special("<|assistant_start|>")
    for user in ("short", "long " * 5000):
        messages = [{"role": "system", "content": "Be"}, {"role": "user", "content": user}]
        answered = [*messages, {"role": "assistant", "content": [{"type": "text", "text": "4"}]}]
        prompt = novel.render_for_completion({"messages": answered})
        assert prompt == [*restated(novel.tokenizer, messages)[0][:2048], start]
        assert answered[-1]["role"] == "assistant", "the conversation is not changed"


def test_another_token_may_begin_a_document() -> None:
    specials = {token: 256 + nth for nth, token in enumerate(("<|begin|>", *SPECIAL_TOKENS))}
    ranks = {bytes([byte]): byte for byte in range(256)}
    tokenizer = RustBPETokenizer(merganser.Tokenizer(ranks, special_tokens=specials), "<|begin|>")
    assert tokenizer.get_bos_token_id() == tokenizer.render_conversation(ANSWERED)[0][0] == 256


def test_special_tokens_in_the_training_text_are_ordinary_text() -> None:
    texts = ["a <|bos|> b <|bos|> c <|user_start|>"] * 5
    trained = RustBPETokenizer.train_from_iterator(texts, 275)
    peer = ours.Tokenizer()
    peer.train_from_iterator(texts, 266, pattern=trained.get_pattern())
    assert trained.get_mergeable_ranks() == peer.get_mergeable_ranks()
    assert b"bos" in trained.tokenizer.mergeable_ranks
    assert trained.tokenizer.training["vocab_size"] == trained.get_vocab_size() == 275
    with pytest.raises(merganser.SettingsError, match=r"at least 265 \(256 bytes \+ 9 special tokens\)"):
        RustBPETokenizer.train_from_iterator(texts, 264)


def test_the_vocabulary_size_is_the_highest_id_plus_one(tmp_path: Path) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)}
    sparse = RustBPETokenizer(merganser.Tokenizer(ranks, special_tokens={"<|bos|>": 300}))
    assert sparse.get_vocab_size() == 301
    assert len(sparse.get_token_bytes()) == 301
    for id, token in ((97, b"a"), (0xC3, b"\xc3"), (300, b"<|bos|>")):
        assert sparse.decode_single_token_bytes(id) == token
    with pytest.raises(merganser.DecodeError, match="256"):
        sparse.decode_single_token_bytes(256)


def test_encode_special_finds_every_single_token() -> None:
    """tiktoken's `encode_single_token`, which nanochat calls, does so too."""
    assert TRAINED.encode_special("a") == 97
    assert TRAINED.encode("x", prepend="a", append="<|bos|>") == [97, 120, TRAINED.get_bos_token_id()]


def test_surrogates_are_repaired_as_tiktoken_does(novel: RustBPETokenizer, nanochats: Any) -> None:
    for text in ("a\ud83d\udc4db", "\ud83d", "x\udc4d y"):
        assert novel.encode(text) == nanochats.encode_ordinary(text)
        assert novel.encode([text, "b"]) == nanochats.encode_ordinary_batch([text, "b"])
    for wrong in (3, None, {"a"}):
        with pytest.raises(ValueError, match="a str or a list of str"):
            novel.encode(wrong)  # type: ignore[call-overload]


def test_the_checksum_of_a_saved_tokenizer_tells_tokenizers_apart(
    novel: RustBPETokenizer, tmp_path: Path
) -> None:
    for folder, tokenizer in (("a", novel), ("b", novel), ("c", TRAINED)):
        tokenizer.save(tmp_path / folder)
    first, same, other = (tokenizer_id(tmp_path / folder) for folder in "abc")
    assert first == same != other
    assert 0 <= first < 1 << 31


def test_visualization_is_that_of_nanochat() -> None:
    ids = [TRAINED.get_bos_token_id(), *b"a\n\xc3", 105]
    mask = [0, 1, 1, 0]
    red, green, gray, end = "\033[91m", "\033[92m", "\033[90m", "\033[0m"
    assert TRAINED.visualize_tokenization(ids, mask) == (
        f"{red}<|bos|>{end}|{green}a{end}|{green}\n{end}|{red}\ufffd{end}"
    )
    assert TRAINED.visualize_tokenization(ids[:2], mask, with_token_id=True) == (
        f"{red}<|bos|>{end}|{gray}({ids[0]}){end}|{green}a{end}|{gray}(97){end}"
    )


@pytest.fixture(scope="module")
def hf() -> Any:
    """The tokenizer that nanochat's `HuggingFaceTokenizer` trains, with Hugging Face's library."""
    tokenizers = pytest.importorskip("tokenizers")
    peer = tokenizers.Tokenizer(tokenizers.models.BPE(byte_fallback=True))
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    split = tokenizers.pre_tokenizers.Split(tokenizers.Regex(SPLIT_PATTERN), "isolated")
    peer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence(
        [split, byte_level(add_prefix_space=False, use_regex=False)]
    )
    peer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=700,
        min_frequency=0,
        show_progress=False,
        initial_alphabet=byte_level.alphabet(),
        special_tokens=list(SPECIAL_TOKENS),
    )
    peer.train_from_iterator(NOVEL, trainer)
    return peer


def test_the_hugging_face_tokenizer_equals_that_of_nanochat(hf: Any, tmp_path: Path) -> None:
    trained = HuggingFaceTokenizer.train_from_iterator(iter(NOVEL), 700)
    assert trained.tokenizer.get_vocab() == hf.get_vocab()
    assert trained.get_vocab_size() == hf.get_vocab_size() == 700
    assert trained.get_special_tokens() == list(SPECIAL_TOKENS)
    assert trained.get_bos_token_id() == trained.encode_special("<|bos|>") == 0
    assert trained.encode_special("<|none|>") is None
    trained.save(tmp_path / "saved")
    for tokenizer in (
        trained,
        HuggingFaceTokenizer(hf),
        HuggingFaceTokenizer.from_directory(tmp_path / "saved"),
    ):
        for text in [*NOVEL[:50], "naïve <|bos|> 안녕 12345", ""]:
            ids = hf.encode(text, add_special_tokens=False).ids
            assert tokenizer.encode(text) == tokenizer(text) == ids
            assert tokenizer.encode([text], prepend="<|bos|>", append=7) == [[0, *ids, 7]]
            assert tokenizer.decode(ids) == hf.decode(ids, skip_special_tokens=False)
        assert [tokenizer.id_to_token(id) for id in range(701)] == [hf.id_to_token(id) for id in range(701)]
    with pytest.raises(ValueError, match="a str or a list of str"):
        trained.encode(3)  # type: ignore[call-overload]
    with pytest.raises(merganser.SettingsError, match="at least 265"):
        HuggingFaceTokenizer.train_from_iterator(NOVEL, 200)


def test_a_document_of_gpt_2_begins_with_its_end_token() -> None:
    pytest.importorskip("tokenizers")
    gpt2 = merganser.train(NOVEL, 300, special_tokens=["<|endoftext|>"]).to_huggingface()
    assert HuggingFaceTokenizer(gpt2).get_bos_token_id() == 299
    with pytest.raises(merganser.EncodeError, match=r"neither <\|bos\|> nor <\|endoftext\|>"):
        HuggingFaceTokenizer(merganser.train(NOVEL, 300).to_huggingface()).get_bos_token_id()
