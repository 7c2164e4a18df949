"""Fuzzing: nearly valid files for every reader.

An attempt takes the files of a small tokenizer in one format, corrupts one of them, with the attempt number
as the seed, and loads it. Loading must either raise one of our errors, or return a tokenizer that encodes and
decodes. Half of the time the checksum is corrected, so that the checks after it are reached as well.
"""

import base64
import copy
import gzip
import hashlib
import json
import random
import struct
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kinds
import merganser
from merganser import FormatError, SettingsError, Tokenizer, TokenizerError
from merganser.formats import gguf_metadata

#: The most CPU time that reading one file of a few kilobytes may take.
MAX_SECONDS = 10.0
#: The most memory that a process may use while it reads one file after another.
MAX_BYTES = 1 << 30

_TEXT = "the cat sat on the mat; the dog's dinner was the cat's naïve 中文 2024 👍 'll " * 3
_JUNK: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    2**31,
    2**32,
    2**64,
    10**30,
    "",
    "a",
    "(",
    "\0",
    [],
    [[]],
    {},
)
_LENGTHS = (0, 1, 2**7, 2**16, 2**21, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1)


@dataclass(frozen=True)
class Reader:
    """The files of a tokenizer, the one to corrupt, and how to load them."""

    files: dict[str, bytes]
    damaged: str
    source: str
    settings: dict[str, Any]
    #: Whether decoding returns the text; normalizers change it, and so do merges without some bytes.
    lossless: bool = True


@cache
def readers() -> dict[str, Reader]:
    """Return a reader for every file that is read, in every format."""
    tokenizer = merganser.train([_TEXT], 290, pattern="llama3", special_tokens=["<s>", "</s>"])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def files(*paths: Path) -> dict[str, bytes]:
            return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

        tokenizer.save(folder / "t.merganser")
        native = files(folder / "t.merganser")
        plugin = files(*tokenizer.export(folder / "plugin", format="tiktoken"))
        ranks = files(*tokenizer.export(folder / "t.tiktoken", format="tiktoken"))
        hf = files(*tokenizer.export(folder / "hf", format="huggingface"))
        gpt2 = files(*tokenizer.export(folder / "gpt2", format="gpt2"))
        minbpe = files(*tokenizer.export(folder / "t.model", format="minbpe"))
        gguf = files(*tokenizer.export(folder / "t.gguf", format="gguf"))
        lengths = files(*tokenizer.export(folder / "t.npy", format="token-lengths"))
    pattern = {"pattern": "llama3"}
    return {
        "native": Reader(native, "t.merganser", "t.merganser", {}),
        "ranks": Reader(ranks, "t.tiktoken", "t.tiktoken", pattern),
        "plugin": Reader(plugin, "plugin/tiktoken_ext/plugin.json", "plugin", {}),
        "plugin ranks": Reader(plugin, "plugin/tiktoken_ext/plugin.tiktoken", "plugin", {}),
        "huggingface": Reader(hf, "hf/tokenizer.json", "hf", {}, lossless=False),
        "vocab.json": Reader(gpt2, "gpt2/vocab.json", "gpt2", pattern, lossless=False),
        "merges.txt": Reader(gpt2, "gpt2/merges.txt", "gpt2/merges.txt", pattern, lossless=False),
        "minbpe": Reader(minbpe, "t.model", "t.model", {}),
        "gguf": Reader(gguf, "t.gguf", "t.gguf", {}, lossless=False),
        "token lengths": Reader(lengths, "t.npy", "t.npy", {}),
        "tekken": Reader({"tekken.json": _tekken(tokenizer)}, "tekken.json", "tekken.json", {}),
        "gzip": Reader({"t.gz": gzip.compress(ranks["t.tiktoken"], mtime=0)}, "t.gz", "t.gz", pattern),
        "gguf by scores": Reader({"s.gguf": _by_scores()}, "s.gguf", "s.gguf", {}, lossless=False),
        **{
            f"{name} {'model' if name in kinds.SENTENCEPIECE else 'json'}": _kind(name)
            for name in (*kinds.SENTENCEPIECE, "Llama 2", "CLIP", "Falcon", "RoBERTa", "continued words")
        },
    }


def _kind(name: str) -> Reader:
    """Return the reader of a kind of other libraries."""
    if name in kinds.SENTENCEPIECE:
        return Reader({"t.model": kinds.sentencepiece(name)}, "t.model", "t.model", {}, lossless=False)
    file = kinds.hugging_face(name).encode()
    return Reader({"tokenizer.json": file}, "tokenizer.json", "tokenizer.json", {}, lossless=False)


def _tekken(tokenizer: Tokenizer) -> bytes:
    specials = len(tokenizer.special_tokens)
    vocab = [
        {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
        for rank, token in enumerate(tokenizer.mergeable_ranks)
    ]
    names = [{"rank": rank, "token_str": name} for rank, name in enumerate(tokenizer.special_tokens)]
    sizes = {"default_vocab_size": len(vocab) + specials, "default_num_special_tokens": specials}
    config = {"pattern": tokenizer.pattern, "version": "v7", **sizes}
    return json.dumps({"config": config, "vocab": vocab, "special_tokens": names}).encode()


def _by_scores() -> bytes:
    """Return the GGUF file of a SentencePiece model, with the scores that `serialize` does not write."""
    tokens = ["<unk>", "<s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"theca", "th", "the", "▁the"]
    kinds = [2, 3, *[6] * 256, *[1] * (len(tokens) - 258)]
    data = gguf_metadata.serialize(
        {
            "tokenizer.ggml.model": "llama",
            "tokenizer.ggml.tokens": tokens,
            "tokenizer.ggml.token_type": kinds,
            "tokenizer.ggml.scores": [0] * len(tokens),
            "tokenizer.ggml.bos_token_id": 1,
        }
    )
    ints = struct.pack(f"<IQ{len(tokens)}i", 5, len(tokens), *[0] * len(tokens))
    scores = struct.pack(f"<IQ{len(tokens)}f", 6, len(tokens), *[-float(n) for n in range(len(tokens))])
    return data.replace(ints, scores)


def attempt(folder: Path, name: str, number: int) -> str:
    """Load the files as corrupted by `number`; return "refused" or "accepted", and raise anything else."""
    reader = readers()[name]
    files = reader.files | {reader.damaged: damaged(random.Random(f"{name} {number}"), reader, name)}
    if name == "plugin ranks" and number % 2:
        facts = "plugin/tiktoken_ext/plugin.json"
        digest = hashlib.sha256(files[reader.damaged]).hexdigest()
        files[facts] = json.dumps(json.loads(files[facts]) | {"sha256": digest}).encode()
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    start = time.process_time()
    try:
        result = _load(folder / reader.source, reader)
    except Exception as error:
        raise AssertionError(f"attempt(folder, {name!r}, {number}) failed unexpectedly") from error
    took = time.process_time() - start
    assert took < MAX_SECONDS, f"attempt(folder, {name!r}, {number}) takes {took:.1f} s"
    return result


def _load(source: Path, reader: Reader) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", merganser.MerganserWarning)
            tokenizer = merganser.load(source, **reader.settings)
    except (FormatError, TokenizerError, SettingsError) as error:
        assert len(str(error)) < 5000, "the message is too long to read"
        return "refused"
    assert isinstance(tokenizer, Tokenizer)
    decoded = tokenizer.decode(tokenizer.encode_ordinary(_TEXT), errors="replace")
    assert decoded == _TEXT or not reader.lossless
    return "accepted"


# ── damage ────────────────────────────────────────────────────────────────────


def damaged(chance: random.Random, reader: Reader, name: str) -> bytes:
    data = reader.files[reader.damaged]
    if chance.random() < 0.02:
        return chance.randbytes(chance.randrange(200))
    if data.startswith(b"{") and chance.random() < 0.6:
        data = _other_values(chance, data)
    else:
        for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
            data = chance.choice(_WAYS)(chance, data)
    if name == "native" and chance.random() < 0.5:
        body = data.rpartition(b"sha256 ")[0] or data
        data = body + b"sha256 " + hashlib.sha256(body).hexdigest().encode() + b"\n"
    return data


def _flipped(chance: random.Random, data: bytes) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(chance.choice((1, 1, 2, 5))):
        out[chance.randrange(len(out))] ^= 1 << chance.randrange(8)
    return bytes(out)


def _set(chance: random.Random, data: bytes) -> bytes:
    at = chance.randrange(len(data) + 1)
    return data[:at] + chance.choice(b'\0\n "{}[]09-,:=+/\x7f\x80\xff').to_bytes(1, "little") + data[at + 1 :]


def _truncated(chance: random.Random, data: bytes) -> bytes:
    return data[: chance.randrange(len(data) + 1)]


def _without(chance: random.Random, data: bytes) -> bytes:
    start = chance.randrange(len(data) + 1)
    return data[:start] + data[start + chance.choice((1, 2, 8, 50)) :]


def _spliced(chance: random.Random, data: bytes) -> bytes:
    """Insert a part of this file or of another one somewhere else."""
    other = data if chance.random() < 0.7 else _any_file(chance)
    start, at = chance.randrange(len(other) + 1), chance.randrange(len(data) + 1)
    return data[:at] + other[start : start + chance.choice((1, 4, 30, 500))] + data[at:]


def _inflated(chance: random.Random, data: bytes) -> bytes:
    """Replace a number, in binary or in digits."""
    number = chance.choice(_LENGTHS)
    at = chance.randrange(len(data) + 1)
    if chance.random() < 0.5:
        form = chance.choice(("<I", "<Q"))
        new = struct.pack(form, number % (1 << 8 * struct.calcsize(form)))
        return data[:at] + new + data[at + len(new) :]
    end = at
    while data[at - 1 : at].isdigit():
        at -= 1
    while data[end : end + 1].isdigit():
        end += 1
    return data[:at] + str(number).encode() + data[end:]


def _lines_moved(chance: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    here, there = chance.randrange(len(lines)), chance.randrange(len(lines))
    if chance.random() < 0.5:
        lines[here], lines[there] = lines[there], lines[here]
    else:
        lines.insert(here, lines[there])
    return b"\n".join(lines)


_WAYS = (_flipped, _set, _truncated, _without, _spliced, _inflated, _lines_moved)


def _any_file(chance: random.Random) -> bytes:
    reader = readers()[chance.choice(list(readers()))]
    return reader.files[reader.damaged]


def _other_values(chance: random.Random, data: bytes) -> bytes:
    """Replace, remove or rename a few values in JSON."""
    whole = json.loads(data)
    for _ in range(chance.choice((1, 1, 2, 4))):
        places = list(_places(whole))
        if not places:
            break
        # Few keys are near the root, and they matter more than the many tokens.
        place = chance.choice(places[:40]) if chance.random() < 0.5 else chance.choice(places)
        within, key = place
        kind = chance.random()
        if kind < 0.5:
            within[key] = copy.deepcopy(chance.choice(_JUNK))
        elif kind < 0.7:
            del within[key]
        elif kind < 0.85:
            other, there = chance.choice(places)
            within[key] = json.loads(json.dumps(other[there])) if _still(other, there) else None
        elif isinstance(within, dict):
            within[chance.choice(("", "x", "Ġ", "\ud800", "中", "model", "a" * 300))] = within.pop(key)
        else:
            within.insert(key, within[key])
    return json.dumps(whole).encode()


def _still(within: Any, key: Any) -> bool:
    return key in within if isinstance(within, dict) else key < len(within)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container and key in a value, breadth first."""
    level = [value]
    while level:
        inner = []
        for within in level:
            keys = list(within) if isinstance(within, dict) else range(len(within))
            for key in keys:
                yield within, key
                if isinstance(within[key], dict | list):
                    inner.append(within[key])
        level = inner
