"""Tokens: a corpus as ids on disk, in files that training code maps into memory.

A folder holds `tokens.json`, which says how it was made, and shards of whole documents:

    shard-00000.bin         the ids, flat; or .npy, or with llm.c's header
    shard-00000.docs.npy    where each document begins, and the last one ends; Megatron has its .idx instead
    shard-00000.json        what the shard holds: format, dtype, tokens, documents, a checksum

docs/format.md has every byte. `Tokenizer.encode_corpus` writes such folders; here they are read.
"""

import json
import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from merganser import _core
from merganser.corpus.split_settings import Separator
from merganser.errors import TokensError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from merganser.tokenizer import Tokenizer

FILE_NAME = "tokens.json"
VERSION = 1

_SHARD = re.compile(r"(\.?)shard-([0-9]{5,})\.(bin|npy|idx|json|docs\.npy)(\.tmp)?")
_MEGATRON = b"MMIDIDX\0\0"
_MEGATRON_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}
#: llm.c's header begins with one of these; what follows tells the version, and is checked.
_LLMC_DTYPES = {(20240520, 1): "uint16", (20240801, 7): "uint32"}
_LLMC_HEADER = 256 * 4
#: Ids that are decoded at a time, so that a document of any length takes little memory.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One file of ids."""

    path: Path
    format: str
    dtype: str
    tokens: int
    #: None where it is not recorded where documents end.
    documents: int | None = None
    #: Bytes of text that became these tokens, and how many of them were not UTF-8; None where not recorded.
    bytes: int | None = None
    invalid_bytes: int | None = None
    crc32: str | None = None
    #: Where in the corpus the next shard begins: a file, or document, and a byte in it.
    next: dict[str, int] = field(default_factory=dict, repr=False)

    def ids(self) -> "NDArray[np.integer[Any]]":
        """All ids of the shard, mapped into memory."""
        import numpy as np

        dtype = np.dtype(self.dtype).newbyteorder("<")
        header = _header_bytes(self)
        size = self.path.stat().st_size
        if size != header + self.tokens * dtype.itemsize:
            raise TokensError(f"{self.path} is damaged: it does not have the size of {self.tokens:,} tokens")
        return np.memmap(self.path, dtype, "r", header, (self.tokens,)) if self.tokens else np.empty(0, dtype)

    def bounds(self) -> "NDArray[np.integer[Any]]":
        """Where each document begins in `ids()`, and, as the last, where the last one ends."""
        import numpy as np

        if self.documents is None:
            raise TokensError(f"where the documents of {self.path} end is not recorded")
        if self.format == "megatron":
            return _megatron_index(self.path)[1]
        file = self.path.with_name(f"{self.path.stem}.docs.npy")
        try:
            bounds: NDArray[np.integer[Any]] = np.load(file, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as error:
            raise TokensError(f"{file} cannot be read: {error}") from error
        if bounds.shape != (self.documents + 1,) or bounds[0] != 0 or bounds[-1] != self.tokens:
            raise TokensError(f"{file} is damaged: it does not go with {self.path}")
        return bounds

    def each_document(self) -> "Iterator[NDArray[np.integer[Any]]]":
        """The ids of every document, in order."""
        ids, bounds = self.ids(), self.bounds()
        for start in range(0, len(bounds) - 1, _CHUNK):
            for begin, end in pairwise(bounds[start : start + _CHUNK + 1].tolist()):
                yield ids[begin:end]

    def check(self) -> None:
        """Reads the whole file and compares its checksum, where there is one."""
        if self.crc32 is None:
            return
        value = 0
        with self.path.open("rb") as file:
            while chunk := file.read(1 << 22):
                value = zlib.crc32(chunk, value)
        if f"{value:08x}" != self.crc32:
            raise TokensError(f"{self.path} is damaged: its checksum does not match; encode the corpus again")


@dataclass(frozen=True, eq=False, repr=False)
class Tokens:
    """The ids of a corpus on disk. Nothing is read before it is asked for.

    >>> import merganser, tempfile
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = tokenizer.encode_corpus(["lowest low", "slow"], out=folder)
    ...     [document.tolist() for document in tokens.documents()]
    [[257, 101, 115, 116, 258], [115, 257]]
    """

    path: Path
    #: What `tokens.json` says; empty for a file that is not part of a folder.
    facts: Mapping[str, Any]
    shards: tuple[Shard, ...]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Tokens":
        """A folder that `encode_corpus` wrote, or one file of ids.

        Files of other programs can be opened too, where they say what they are: `.npy`, files with the header
        of llm.c, and Megatron's `.bin` with its `.idx`.
        """
        path = Path(path)
        if path.is_dir():
            facts = read_facts(path)
            tokens = cls(path, facts, finished_shards(path))
            if facts["complete"] and len(tokens.shards) != facts["shards"]:
                raise TokensError(f"{path} lacks some of its {facts['shards']:,} shards; encode it again")
            return tokens
        if not path.is_file():
            raise TokensError(f"there is no file or folder {path}; check the path")
        sidecar = path.with_suffix(".json")
        if _SHARD.fullmatch(path.name) and sidecar.is_file():
            facts = read_facts(path.parent) if (path.parent / FILE_NAME).is_file() else {}
            return cls(path, facts, (_read_sidecar(sidecar),))
        return cls(path, {}, (_foreign(path),))

    @property
    def complete(self) -> bool:
        """Whether the whole corpus is there; false after an interruption, until it is resumed."""
        return bool(self.facts.get("complete", True))

    @property
    def token_count(self) -> int:
        return sum(shard.tokens for shard in self.shards)

    @property
    def document_count(self) -> int:
        return sum(shard.documents or 0 for shard in self.shards)

    def ids(self, shard: int) -> "NDArray[np.integer[Any]]":
        """The ids of a shard, mapped into memory."""
        return self.shards[shard].ids()

    def documents(self) -> "Iterator[NDArray[np.integer[Any]]]":
        """The ids of every document, in order."""
        for shard in self.shards:
            yield from shard.each_document()

    def decode(self, tokenizer: "Tokenizer", *, separator: Separator = ...) -> Iterator[bytes]:
        """The text again, a part at a time: documents without what was prepended and appended, and between
        them the separator they had in the corpus, or another one.

        Encoding this text in the same way gives the same ids.
        """
        made_with = self.facts.get("tokenizer")
        if made_with is not None and made_with != _core.fingerprint(tokenizer):
            raise TokensError(f"{self.path} was made with another tokenizer; decode it with that one")
        given = self.facts.get("separator") if isinstance(separator, EllipsisType) else separator
        between = (given or "").encode()
        before = int(self.facts.get("prepend") is not None)
        behind = int(self.facts.get("append") is not None)
        number = 0
        for shard in self.shards:
            shard.check()
            if shard.documents is None:
                yield from _decode(tokenizer, shard.ids())
                continue
            for document in shard.each_document():
                if number and between:
                    yield between
                yield from _decode(tokenizer, document[before : len(document) - behind])
                number += 1

    def __repr__(self) -> str:
        return f"<Tokens: {self.token_count:,} in {len(self.shards):,} shards, {self.path}>"


def _decode(tokenizer: "Tokenizer", ids: "NDArray[np.integer[Any]]") -> Iterator[bytes]:
    import numpy as np

    for start in range(0, len(ids), _CHUNK):
        yield tokenizer.decode_bytes(np.asarray(ids[start : start + _CHUNK], np.uint32))


def read_facts(folder: Path) -> dict[str, Any]:
    """What `tokens.json` says."""
    file = folder / FILE_NAME
    facts = _read_json(file)
    if "merganser_tokens" not in facts:
        raise TokensError(f"{file} is not what merganser writes beside tokens")
    if facts["merganser_tokens"] != VERSION:
        version = facts["merganser_tokens"]
        raise TokensError(
            f"{file} has the version {version!r}, and this merganser reads {VERSION}; upgrade it"
        )
    right = isinstance(facts.get("complete"), bool) and (
        not facts["complete"] or isinstance(facts.get("shards"), int)
    )
    if not right:
        raise TokensError(f"{file} is damaged: it lacks something; encode the corpus again")
    return facts


def finished_shards(folder: Path) -> tuple[Shard, ...]:
    """The shards that are whole: those with a `.json`, from the first on."""
    shards: list[Shard] = []
    while (sidecar := folder / f"shard-{len(shards):05}.json").is_file():
        shards.append(_read_sidecar(sidecar))
    return tuple(shards)


def shard_files(folder: Path) -> list[Path]:
    """Every file that has the name of a part of a shard, the last shard first and its `.json` before all."""
    found = [(match, file) for file in folder.iterdir() if (match := _SHARD.fullmatch(file.name))]
    found.sort(key=lambda entry: (-int(entry[0][2]), entry[0][3] != "json", entry[1].name))
    return [file for _, file in found]


def _read_json(file: Path) -> dict[str, Any]:
    try:
        value = json.loads(file.read_bytes())
    except OSError as error:
        raise TokensError(f"cannot read {file}: {error.strerror}; is this a folder of tokens?") from error
    except (ValueError, RecursionError):
        raise TokensError(f"{file} is damaged: it is not JSON; encode the corpus again") from None
    if not isinstance(value, dict):
        raise TokensError(f"{file} is damaged: it is not an object; encode the corpus again")
    return value


def _read_sidecar(file: Path) -> Shard:
    facts = _read_json(file)
    numbers = [facts.get(name) for name in ("tokens", "documents", "bytes", "invalid_bytes")]
    place = facts.get("next")
    if isinstance(place, dict):
        numbers += [place.get(name) for name in ("part", "offset", "within")]
    right = (
        facts.get("format") in ("bin", "npy", "llmc", "megatron")
        and facts.get("dtype") in ("uint16", "uint32", "int32")
        and isinstance(facts.get("crc32"), str)
        and isinstance(place, dict)
        and all(type(n) is int and n >= 0 for n in numbers)
    )
    if not right:
        raise TokensError(f"{file} is damaged: it lacks something; encode the corpus again")
    path = file.with_suffix(".npy" if facts["format"] == "npy" else ".bin")
    if not path.is_file():
        raise TokensError(
            f"{path} is missing, and {file.name} says that it was there; encode the corpus again"
        )
    return Shard(path=path, **facts)


def _header_bytes(shard: Shard) -> int:
    if shard.format == "llmc":
        return _LLMC_HEADER
    if shard.format != "npy":
        return 0
    import numpy as np

    return int(np.load(shard.path, mmap_mode="r", allow_pickle=False).offset)


def _foreign(path: Path) -> Shard:
    """A file that says by itself what it is."""
    import numpy as np

    with path.open("rb") as file:
        start = file.read(12)
    size = path.stat().st_size
    if start.startswith(b"\x93NUMPY"):
        try:
            array = np.load(path, mmap_mode="r", allow_pickle=False)
        except ValueError as error:
            raise TokensError(f"{path} cannot be read: {error}") from error
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TokensError(f"{path} holds no list of ids, but {array.dtype} of shape {array.shape}")
        return Shard(path, "npy", str(array.dtype), len(array))
    if len(start) == 12:
        magic, version, tokens = struct.unpack("<3i", start)
        dtype = _LLMC_DTYPES.get((magic, version))
        if dtype is not None and size == _LLMC_HEADER + tokens * np.dtype(dtype).itemsize:
            return Shard(path, "llmc", dtype, tokens)
    if path.with_suffix(".idx").is_file():
        dtype, bounds = _megatron_index(path)
        return Shard(path, "megatron", dtype, int(bounds[-1]), len(bounds) - 1)
    raise TokensError(
        f"{path} does not say how its ids are stored, and there is no .json beside it that does; "
        "read it with numpy.fromfile"
    )


def _megatron_index(path: Path) -> "tuple[str, NDArray[np.integer[Any]]]":
    """The type of the ids, and where documents begin and the last one ends."""
    import numpy as np

    file = path.with_suffix(".idx")
    damaged = TokensError(f"{file} is damaged, or not an index of Megatron")
    try:
        data = np.memmap(file, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise TokensError(f"{file} cannot be read: {error}") from error
    head = bytes(data[:34])
    if len(head) < 34 or not head.startswith(_MEGATRON):
        raise damaged
    version, code, sequences, documents = struct.unpack("<QBQQ", head[9:])
    if version != 1 or code not in _MEGATRON_DTYPES or len(data) < 34 + 12 * sequences + 8 * documents:
        raise damaged
    dtype = _MEGATRON_DTYPES[code]
    sizes = np.frombuffer(data, "<i4", sequences, 34)
    pointers = np.frombuffer(data, "<i8", sequences, 34 + 4 * sequences)
    firsts = np.frombuffer(data, "<i8", documents, 34 + 12 * sequences)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    in_order = np.array_equal(pointers, ends[:-1] * np.dtype(dtype).itemsize)
    if not in_order or not documents or firsts[0] != 0 or firsts[-1] != sequences or firsts.min() < 0:
        raise damaged
    return dtype, ends[firsts]
