"""Stand-ins for the shared vocabularies, for clones without `../shared`; each takes half a second to train.

They are smaller than the real encodings and have the properties that tests rely on:

| encoding    | pattern | ids of bytes  | special tokens                | other                              |
|-------------|---------|---------------|-------------------------------|------------------------------------|
| gpt2        | gpt2    | GPT-2's order | one, after the ranks          |                                    |
| cl100k_base | gpt4    | GPT-2's order | five; ids without a token     |                                    |
| o200k_base  | o200k   | GPT-2's order | two; ids without a token      |                                    |
| llama3      | llama3  | GPT-2's order | 256, after the ranks          | 588 tokens that no merge produces  |
| qwen3       | qwen2   | GPT-2's order | 26, some look like XML        |                                    |
"""

import base64
import itertools
import json
from functools import cache
from pathlib import Path

import merganser
from stand_in_texts import text

#: As many as in the real Llama 3: tokens that match only a whole pre-token.
WHOLE_ONLY = 588
#: Encoding: pattern, number of ranks.
_SIZES = {
    "gpt2": ("gpt2", 6_000),
    "cl100k_base": ("gpt4", 8_000),
    "o200k_base": ("o200k", 10_000),
    "llama3": ("llama3", 8_000),
    "qwen3": ("qwen2", 8_500),
}
_FIM = ("<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>")
_QWEN = (
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>"),
    *("<|box_start|>", "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>"),
    *(
        "<|vision_pad|>",
        "<|image_pad|>",
        "<|video_pad|>",
        "<tool_call>",
        "</tool_call>",
        *_FIM,
        "<|fim_pad|>",
    ),
    *("<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>"),
)


def _llama3_tokens() -> list[str]:
    names = [f"<|reserved_special_token_{number}|>" for number in range(251)]
    names[0:0] = ["<|begin_of_text|>", "<|end_of_text|>"]
    names[6:6] = ["<|start_header_id|>", "<|end_header_id|>"]
    names[9:9] = ["<|eot_id|>"]
    return names


def special_tokens(name: str, ranks: int) -> dict[str, int]:
    """Return the special tokens of an encoding, with the same gaps after the last rank as the real one."""
    if name == "cl100k_base":
        return {token: ranks + 1 + n for n, token in enumerate(("<|endoftext|>", *_FIM))} | {
            "<|endofprompt|>": ranks + 20
        }
    if name == "o200k_base":
        return {"<|endoftext|>": ranks + 1, "<|endofprompt|>": ranks + 20}
    names = {"gpt2": ["<|endoftext|>"], "llama3": _llama3_tokens(), "qwen3": list(_QWEN)}[name]
    return {token: ranks + n for n, token in enumerate(names)}


def _samples() -> list[str]:
    return [text(name)[:300_000] for name in ("english.txt", "multilingual.txt", "code.txt")]


@cache
def ranks(name: str) -> dict[bytes, int]:
    pattern, size = _SIZES[name]
    trained = merganser.train(_samples(), size, pattern=pattern)
    tokens = [*_bytes_in_order(), *itertools.islice(trained.mergeable_ranks, 256, None)]
    if name == "llama3":
        tokens[-WHOLE_ONLY:] = _whole_only(trained, set(tokens[:-WHOLE_ONLY]))
    return {token: rank for rank, token in enumerate(tokens)}


def _bytes_in_order() -> list[bytes]:
    """Return all bytes in GPT-2's order: printable bytes come first."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [bytes([byte]) for byte in sorted(range(256), key=lambda byte: (byte not in printable, byte))]


def _whole_only(trained: merganser.Tokenizer, tokens: set[bytes]) -> list[bytes]:
    """Return pre-tokens with non-ASCII characters that are not the concatenation of two tokens."""
    found: list[bytes] = []
    counts = merganser.count([text("multilingual.txt")], pattern=trained.pattern).to_dict()
    for pretoken in sorted(counts):
        made = any(pretoken[:cut] in tokens and pretoken[cut:] in tokens for cut in range(1, len(pretoken)))
        if not made and pretoken not in tokens and 6 <= len(pretoken) <= 30 and not pretoken.isascii():
            found.append(pretoken)
    step = len(found) // WHOLE_ONLY
    return found[::step][:WHOLE_ONLY]


def write(name: str, ranks_file: Path, special_file: Path | None) -> None:
    """Write the files of an encoding in the layout of the real ones."""
    made = ranks(name)
    lines = (b"%s %d\n" % (base64.b64encode(token), rank) for token, rank in made.items())
    ranks_file.write_bytes(b"".join(lines))
    if special_file:
        special_file.write_text(json.dumps(special_tokens(name, len(made)), indent=0), "utf-8")
