"""Why a file is not a tokenizer that merganser loads, and what to do instead, judging by its first bytes."""

import re

from merganser.formats import BadFile, token_lengths

#: BERT's vocabularies list one token per line, the special tokens among the first.
_WORDPIECE = re.compile(rb"(?:[^\n]{1,200}\n){0,200}\[UNK\]\r?\n")
#: RWKV's list the id, the token in Python's notation and its length.
_RWKV = re.compile(rb"1 '\\x00' 1\r?\n")
_REASONS = (
    (
        re.compile(rb"\x80"),
        "is a pickle; reading it would execute the code in it, which merganser never does; if you trust "
        "the file, unpickle it yourself: merganser.load(pickle.load(file)) accepts a tiktoken.Encoding",
    ),
    (
        re.compile(rb"PK\x03\x04"),
        "is a zip file, as written by torch.save; reading it would execute the code in it, which "
        "merganser never does; pass the file of the tokenizer, or export it with the program that wrote "
        "this one",
    ),
    (
        _WORDPIECE,
        "is a WordPiece vocabulary, and merganser only does BPE; load it with Hugging Face's tokenizers: "
        "tokenizers.BertWordPieceTokenizer",
    ),
    (
        _RWKV,
        "is a vocabulary of RWKV, which takes the longest token and is not BPE; load it with the rwkv "
        "package",
    ),
)


def refusal(data: bytes) -> BadFile:
    """Return the error for data in no known format."""
    if data.startswith(token_lengths.MAGIC):
        return token_lengths.not_a_tokenizer()
    for start, reason in _REASONS:
        if start.match(data):
            return BadFile(reason)
    return BadFile(
        "is not in a known tokenizer format, judging by its first bytes; pass a file of merganser, tiktoken, "
        "Hugging Face, SentencePiece, Mistral, GPT-2, minbpe or llama.cpp (GGUF)"
    )
