"""Small transformers tokenizers of every kind of BPE, trained here, so that no file is needed."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TEXTS = [
    "the cat sat on the mat; the dog's naïve 中文 2024 👍 'll  \n\n  x",
    "Hello world, this is a Test of the tokenizers: hello, HELLO  worlds!",
    "def main():\n    return [index for index in range(10)]\n",
    "Ärger über Öl, señor; ﬁne ﬂow Ａ e\u0301",
] * 4
SPECIAL = ["<s>", "</s>", "<pad>", "<unk>", "<mask>"]
_SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def trained(tokenizer: Tokenizer, **options: Any) -> Tokenizer:
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=SPECIAL, show_progress=False, **options)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return tokenizer


def around(tokenizer: Tokenizer, single: str, pair: str) -> None:
    tokens = [(name, tokenizer.token_to_id(name)) for name in ("<s>", "</s>")]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=tokens)


def byte_level() -> Tokenizer:
    """As GPT-2 and its kin, with tokens around each text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trained(tokenizer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    around(tokenizer, "<s> $A </s>", "<s> $A </s> $B:1 </s>:1")
    return tokenizer


def roberta() -> Tokenizer:
    """A space before the first word, offsets without it, and two separators between texts."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    trained(tokenizer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")), ("<s>", tokenizer.token_to_id("<s>")), trim_offsets=True
    )
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    return tokenizer


def qwen() -> Tokenizer:
    """NFC, one split pattern, bytes; nothing around a text."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return trained(tokenizer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def llama() -> Tokenizer:
    """SentencePiece's kind, as a normalizer, with byte fallback."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [
            decoders.Replace("▁", " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            decoders.Strip(" ", 1, 0),
        ]
    )
    parts = json.loads(trained(tokenizer).to_str())
    vocab = parts["model"]["vocab"]
    vocab |= {f"<0x{byte:02X}>": len(vocab) + byte for byte in range(256)}
    tokenizer = Tokenizer.from_str(json.dumps(parts))
    around(tokenizer, "<s> $A", "<s> $A <s>:1 $B:1")
    return tokenizer


def metaspace() -> Tokenizer:
    """SentencePiece's kind, as a pre-tokenizer."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first")
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="first")
    trained(tokenizer)
    around(tokenizer, "$A </s>", "$A </s> $B:1 </s>:1")
    return tokenizer


def clip() -> Tokenizer:
    """Lower case, bytes, and a mark at the end of a word."""
    tokenizer = Tokenizer(models.BPE(unk_token="</s>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"'s|'t|\p{L}+|\p{N}|[^\s\p{L}\p{N}]+"), "removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trained(tokenizer, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), end_of_word_suffix="</w>")
    tokenizer.post_processor = processors.RobertaProcessing(
        ("</s>", tokenizer.token_to_id("</s>")),
        ("<s>", tokenizer.token_to_id("<s>")),
        trim_offsets=False,
        add_prefix_space=False,
    )
    return tokenizer


KINDS: dict[str, Callable[[], Tokenizer]] = {
    function.__name__: function for function in (byte_level, roberta, qwen, llama, metaspace, clip)
}


def stock(kind: str, **options: Any) -> "PreTrainedTokenizerFast":
    """Return a tokenizer as transformers builds it."""
    from transformers import PreTrainedTokenizerFast

    roles = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
    given = {"model_max_length": 40, **roles, **options}
    return PreTrainedTokenizerFast(tokenizer_object=KINDS[kind](), **given)
