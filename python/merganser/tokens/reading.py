"""Read token files: the ids of a corpus on disk, which training code maps into memory.

A folder contains `tokens.json`, which records the tokenizer, corpus and settings, and shards of whole
documents:

    shard-00000.bin         the ids, flat; or .npy, or with llm.c's header
    shard-00000.docs.npy    the start of each document, and the end of the last; Megatron uses .idx instead
    shard-00000.json        the format, dtype, number of tokens and documents, and checksums

docs/format.md specifies every byte. `Tokenizer.encode_corpus` writes these folders.
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
from merganser.files import SEAL, open_to_read, read_bytes, seal_matches, stored_size
from merganser.tokens.batches import Batches, Documents, Framework
from merganser.tokens.layouts import load_npy, megatron_index

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from merganser.tokenizer import Tokenizer

FILE_NAME = "tokens.json"
VERSION = 2

_ENCODE_AGAIN = "encode the corpus again"

_SHARD = re.compile(r"(\.?)shard-([0-9]{5,})\.(bin|npy|idx|json|docs\.npy)(\.tmp)?")
#: The magic numbers and versions of llm.c's header, and the dtype of the ids.
_LLMC_DTYPES = {(20240520, 1): "uint16", (20240801, 7): "uint32"}
_LLMC_HEADER = 256 * 4
#: The length of the numpy header that merganser writes.
_NPY_HEADER = 128
#: The keys of a shard's `.json`; version 1 had no checksums of the boundaries and of the `.json` itself.
_KEYS = {"format", "dtype", "tokens", "documents", "bytes", "invalid_bytes", "crc32", "next"}
_NEW_KEYS = {"bounds_crc32", SEAL}
#: The number of ids decoded at a time, so that a document of any length takes little memory.
_CHUNK = 1 << 20


@dataclass(frozen=True)
class Shard:
    """One file of ids.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        "bin", "npy", "llmc" or "megatron".
    dtype : str
        The integer type of the ids.
    tokens : int
        The number of ids.
    documents : int or None
        The number of documents; None if their boundaries are not recorded.
    bytes : int or None
        The number of bytes of text; None if not recorded.
    invalid_bytes : int or None
        The number of bytes that were not valid UTF-8; None if not recorded.
    crc32 : str or None
        The checksum; None if not recorded.
    bounds_crc32 : str or None
        The checksum of the file of document boundaries; None if not recorded.
    next : dict
        Where in the corpus the next shard begins: a file or document, and an offset in it.
    """

    path: Path
    format: str
    dtype: str
    tokens: int
    documents: int | None = None
    bytes: int | None = None
    invalid_bytes: int | None = None
    crc32: str | None = None
    bounds_crc32: str | None = field(default=None, repr=False)
    next: dict[str, int] = field(default_factory=dict, repr=False)

    def ids(self) -> "NDArray[np.integer[Any]]":
        """Return the ids of the shard as a memory-mapped array."""
        import numpy as np

        dtype = np.dtype(self.dtype).newbyteorder("<")
        header = _header_bytes(self)
        size = self.path.stat().st_size
        if size != header + self.tokens * dtype.itemsize:
            raise _wrong_size(self.path, f"{self.tokens:,} tokens")
        return np.memmap(self.path, dtype, "r", header, (self.tokens,)) if self.tokens else np.empty(0, dtype)

    def bounds(self, check: bool = True) -> "NDArray[np.integer[Any]]":
        """Return the start of each document in `ids()`, followed by the end of the last one.

        `check` compares the checksum and the order, for which the whole file is read.
        """
        import numpy as np

        if self.documents is None:
            raise TokensError(
                f"{self.path} does not record where its documents end; read it as a whole with ids()"
            )
        file = self._bounds_file
        if check:
            self._check_sum(file, self.bounds_crc32)
        bounds = megatron_index(self.path)[1] if self.format == "megatron" else load_npy(file)
        if (
            bounds.shape != (self.documents + 1,)
            or bounds.dtype != np.int64
            or bounds[0] != 0
            or bounds[-1] != self.tokens
            or (check and any((part[1:] < part[:-1]).any() for part in _overlapping(bounds)))
        ):
            raise TokensError(f"{file} is corrupt: it does not match {self.path}; {_ENCODE_AGAIN}")
        return bounds

    @property
    def _bounds_file(self) -> Path:
        if self.format == "megatron":
            return self.path.with_suffix(".idx")
        return self.path.with_name(f"{self.path.stem}.docs.npy")

    def _check_sizes(self) -> None:
        """Raise a `TokensError` unless the files have the sizes that the `.json` implies."""
        header = {"npy": _NPY_HEADER, "llmc": _LLMC_HEADER}.get(self.format, 0)
        if stored_size(self.path) != header + self.tokens * (2 if self.dtype == "uint16" else 4):
            raise _wrong_size(self.path, f"{self.tokens:,} tokens")
        documents = self.documents or 0
        if self.format == "megatron":
            expected = 34 + 12 * documents + 8 * (documents + 1)
        else:
            expected = _NPY_HEADER + 8 * (documents + 1)
        if not self._bounds_file.is_file():
            raise TokensError(f"{self._bounds_file} is missing; {_ENCODE_AGAIN}")
        if stored_size(self._bounds_file) != expected:
            raise _wrong_size(self._bounds_file, f"{documents:,} documents")

    def each_document(self) -> "Iterator[NDArray[np.integer[Any]]]":
        """Yield the ids of each document in order."""
        ids, bounds = self.ids(), self.bounds()
        for start in range(0, len(bounds) - 1, _CHUNK):
            for begin, end in pairwise(bounds[start : start + _CHUNK + 1].tolist()):
                yield ids[begin:end]

    def check(self) -> None:
        """Raise a `TokensError` if the checksum of a file does not match. Reads the whole files."""
        self._check_sum(self.path, self.crc32)
        self._check_sum(self._bounds_file, self.bounds_crc32)

    def _check_sum(self, path: Path, expected: str | None) -> None:
        if expected is None:
            return
        value = 0
        try:
            with open_to_read(path) as file:
                while chunk := file.read(1 << 22):
                    value = zlib.crc32(chunk, value)
        except OSError as error:
            raise TokensError(f"cannot read {path}: {error.strerror}; {_ENCODE_AGAIN}") from error
        if f"{value:08x}" != expected:
            raise TokensError(f"{path} is corrupt: its checksum does not match; {_ENCODE_AGAIN}")


@dataclass(frozen=True, eq=False, repr=False)
class Tokens:
    """The ids of a corpus on disk.

    `Tokenizer.encode_corpus` returns one; `Tokens.open` opens an existing folder or file. Ids are
    memory-mapped and read on access.

    Attributes
    ----------
    path : Path
        The folder or file.
    facts : mapping
        The contents of `tokens.json`; empty for a file outside of a folder.
    shards : tuple of Shard
        The files of ids.

    Examples
    --------
    >>> import merganser, tempfile
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     tokens = tokenizer.encode_corpus(["lowest low", "slow"], out=folder)
    ...     [document.tolist() for document in tokens.documents()]
    [[257, 101, 115, 116, 258], [115, 257]]
    """

    path: Path
    facts: Mapping[str, Any]
    shards: tuple[Shard, ...]

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> "Tokens":
        """Open a folder that `encode_corpus` wrote, or a single file of ids.

        Self-describing files of other programs can be opened too: `.npy`, files with the header of llm.c, and
        Megatron's `.bin` with its `.idx`.

        Parameters
        ----------
        path : path-like
            The folder or file.

        Returns
        -------
        Tokens

        Raises
        ------
        TokensError
            If the path does not exist, or the files are incomplete, corrupt or of an unknown format.

        Examples
        --------
        >>> import merganser, tempfile
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = tokenizer.encode_corpus(["lowest low"], out=folder)
        ...     Tokens.open(folder).token_count
        5
        """
        path = Path(path)
        if path.is_dir():
            facts = read_facts(path)
            tokens = cls(path, facts, finished_shards(path))
            if facts["complete"] and len(tokens.shards) != facts["shards"]:
                raise TokensError(
                    f"{path} has {len(tokens.shards):,} of its {facts['shards']:,} shards; {_ENCODE_AGAIN}"
                )
            return tokens
        if not path.is_file():
            raise TokensError(f"there is no file or folder {path}; check the path")
        sidecar = path.with_suffix(".json")
        if _SHARD.fullmatch(path.name) and sidecar.is_file():
            facts = read_facts(path.parent) if (path.parent / FILE_NAME).is_file() else {}
            return cls(path, facts, (_read_sidecar(sidecar),))
        return cls(path, {}, (_self_describing(path),))

    @property
    def complete(self) -> bool:
        """Whether the whole corpus was encoded; False after an interruption, until the run is resumed."""
        return bool(self.facts.get("complete", True))

    @property
    def token_count(self) -> int:
        """The number of ids in all shards."""
        return sum(shard.tokens for shard in self.shards)

    @property
    def document_count(self) -> int:
        """The number of documents in all shards."""
        return sum(shard.documents or 0 for shard in self.shards)

    def ids(self, shard: int) -> "NDArray[np.integer[Any]]":
        """Return the ids of a shard as a memory-mapped array.

        Parameters
        ----------
        shard : int
            The index of the shard.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        TokensError
            If the file is corrupt.
        """
        return self.shards[shard].ids()

    def documents(self) -> "Iterator[NDArray[np.integer[Any]]]":
        """Yield the ids of each document in order.

        Yields
        ------
        numpy.ndarray
            A view of the memory-mapped ids.

        Raises
        ------
        TokensError
            If the boundaries of documents are not recorded, or a file is corrupt.
        """
        for shard in self.shards:
            yield from shard.each_document()

    def decode(self, tokenizer: "Tokenizer", *, separator: Separator = ...) -> Iterator[bytes]:
        """Decode the ids to text, in parts, without the tokens that were prepended and appended.

        Encoding the text with the same settings yields the same ids.

        Parameters
        ----------
        tokenizer : Tokenizer
            The tokenizer that encoded the corpus.
        separator : str or None, optional
            The text to insert between documents; by default the separator of the corpus.

        Yields
        ------
        bytes
            A part of the text.

        Raises
        ------
        TokensError
            If the corpus was encoded with a different tokenizer, or a file is corrupt.

        Examples
        --------
        >>> import merganser, tempfile
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokens = tokenizer.encode_corpus(["lowest low", "slow"], out=folder)
        ...     b"".join(tokens.decode(tokenizer, separator="; "))
        b'lowest low; slow'
        """
        fingerprint = self.facts.get("tokenizer")
        if fingerprint is not None and fingerprint != _core.fingerprint(tokenizer):
            raise TokensError(
                f"{self.path} was encoded with a different tokenizer; decode it with the one that encoded it"
            )
        if isinstance(separator, EllipsisType):
            separator = self.facts.get("separator")
        between = (separator or "").encode()
        prepended = int(self.facts.get("prepend") is not None)
        appended = int(self.facts.get("append") is not None)
        is_first = True
        for shard in self.shards:
            shard.check()
            if shard.documents is None:
                yield from _decode(tokenizer, shard.ids())
                continue
            for document in shard.each_document():
                if between and not is_first:
                    yield between
                yield from _decode(tokenizer, document[prepended : len(document) - appended])
                is_first = False

    def batches(
        self,
        length: int,
        batch_size: int,
        rank: int = 0,
        world_size: int = 1,
        seed: int | None = 0,
        *,
        epochs: int | None = None,
        drop_last: bool = True,
        documents: Documents | None = None,
        ignore_index: int | None = None,
        framework: Framework = "numpy",
        resume: Mapping[str, object] | None = None,
    ) -> Batches:
        """Return an iterator over batches of inputs and targets, to train a language model on.

        The ids of all shards are divided into windows of `length` inputs, whose targets are the ids after
        them. Each epoch visits every window once, and no two ranks visit the same one. The order depends on
        the seed and the epoch only.

        Parameters
        ----------
        length : int
            The number of inputs of a row.
        batch_size : int
            The number of rows of a batch, on each rank.
        rank, world_size : int
            Which of how many processes this is.
        seed : int or None
            The seed of the order; None for the order of the corpus.
        epochs : int, optional
            How often to visit every window; by default there is no end. Epochs follow each other without a
            gap: a batch may have the last windows of one and the first of the next.
        drop_last : bool
            Whether to leave out the last windows if they do not fill a batch on every rank. Otherwise they
            are shared as evenly as possible, and the last ranks may have a batch less.
        documents : "positions", "cu_seqlens" or None
            What to record about documents, so that attention can keep them apart; see `Batch`.
        ignore_index : int, optional
            The target where the next id belongs to another document, such as the -100 that
            `torch.nn.functional.cross_entropy` ignores. By default it is the next id all the same.
        framework : "numpy" or "torch"
            The kind of arrays.
        resume : mapping, optional
            The `Batches.state()` of an earlier run with the same files, length and seed, to continue after
            its last batch. The number of ranks and the batch size may differ.

        Returns
        -------
        Batches
            The iterator; its `remainder` is the number of ids that are the input of no window.

        Raises
        ------
        SettingsError
            If an argument is out of range, or `resume` is the state of other batches.
        TokensError
            If the corpus is not encoded completely, has too few ids for one window, or its documents are
            not recorded although they are asked for.
        ImportError
            If `framework` is "torch", and torch is not installed.

        Examples
        --------
        >>> import merganser, tempfile
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokens = tokenizer.encode_corpus(["lowest low", "slow slower"], out=folder)
        ...     batch = next(tokens.batches(4, 2, seed=None, documents="positions"))
        >>> batch.inputs.tolist()
        [[257, 101, 115, 116], [258, 115, 257, 32]]
        >>> batch.positions.tolist()
        [[0, 1, 2, 3], [0, 0, 1, 2]]
        """
        if not self.complete:
            raise TokensError(f"{self.path} is not encoded completely; resume encode_corpus first")
        return Batches(
            self.shards,
            length=length,
            batch_size=batch_size,
            rank=rank,
            world_size=world_size,
            seed=seed,
            epochs=epochs,
            drop_last=drop_last,
            documents=documents,
            ignore_index=ignore_index,
            framework=framework,
            resume=resume,
        )

    def __repr__(self) -> str:
        return f"<Tokens: {self.token_count:,} in {len(self.shards):,} shards, {self.path}>"


def _decode(tokenizer: "Tokenizer", ids: "NDArray[np.integer[Any]]") -> Iterator[bytes]:
    import numpy as np

    for start in range(0, len(ids), _CHUNK):
        yield tokenizer.decode_bytes(np.asarray(ids[start : start + _CHUNK], np.uint32))


def read_facts(folder: Path) -> dict[str, Any]:
    """Read `tokens.json`."""
    file = folder / FILE_NAME
    facts = _read_json(file)
    if "merganser_tokens" not in facts:
        raise TokensError(f"{file} was not written by merganser; check the path")
    version = facts["merganser_tokens"]
    if type(version) is not int or not 1 <= version <= VERSION:
        raise TokensError(
            f"{file} has version {version!r:.40}, but this merganser reads versions up to {VERSION}; "
            "upgrade merganser"
        )
    if version > 1 and SEAL not in facts:
        raise TokensError(f"{file} is corrupt: its checksum is missing; {_ENCODE_AGAIN}")
    is_valid = (
        isinstance(facts.get("complete"), bool)
        and (not facts["complete"] or type(facts.get("shards")) is int)
        and isinstance(facts.get("tokenizer"), str)
        and isinstance(facts.get("separator"), str | None)
        and all(facts.get(name) is None or type(facts[name]) is int for name in ("prepend", "append"))
    )
    if not is_valid:
        raise TokensError(f"{file} is corrupt: a field is missing or invalid; {_ENCODE_AGAIN}")
    return facts


def finished_shards(folder: Path) -> tuple[Shard, ...]:
    """Return the finished shards: those with a `.json` file, up to the first without."""
    shards: list[Shard] = []
    while (sidecar := folder / f"shard-{len(shards):05}.json").is_file():
        shards.append(_read_sidecar(sidecar))
    return tuple(shards)


def shard_files(folder: Path) -> list[Path]:
    """Return the files of all shards, the last shard first, and each `.json` before its other files."""
    matches = [(match, file) for file in folder.iterdir() if (match := _SHARD.fullmatch(file.name))]
    matches.sort(key=lambda entry: (-int(entry[0][2]), entry[0][3] != "json", entry[1].name))
    return [file for _, file in matches]


def _read_json(file: Path) -> dict[str, Any]:
    try:
        data = read_bytes(file)
        value = json.loads(data)
    except OSError as error:
        raise TokensError(
            f"cannot read {file}: {error.strerror}; check that this is a folder of token files"
        ) from error
    except (ValueError, RecursionError):
        raise TokensError(f"{file} is corrupt: it is not JSON; {_ENCODE_AGAIN}") from None
    if not isinstance(value, dict):
        raise TokensError(f"{file} is corrupt: it is not a JSON object; {_ENCODE_AGAIN}")
    if SEAL in value and not seal_matches(data):
        raise TokensError(f"{file} is corrupt: its checksum does not match; {_ENCODE_AGAIN}")
    return value


def _read_sidecar(file: Path) -> Shard:
    facts = _read_json(file)
    numbers = [facts.get(name) for name in ("tokens", "documents", "bytes", "invalid_bytes")]
    position = facts.get("next")
    if isinstance(position, dict):
        numbers += [position.get(name) for name in ("part", "offset", "within")]
    is_valid = (
        # Exact, so that a damaged name of a key does not switch a check off.
        facts.keys() in (_KEYS, _KEYS | _NEW_KEYS)
        and facts.get("format") in ("bin", "npy", "llmc", "megatron")
        and facts.get("dtype") in ("uint16", "uint32", "int32")
        and isinstance(facts.get("crc32"), str)
        and isinstance(facts.get("bounds_crc32"), str | None)
        and isinstance(position, dict)
        and all(type(n) is int and n >= 0 for n in numbers)
    )
    if not is_valid:
        raise TokensError(f"{file} is corrupt: a field is missing or invalid; {_ENCODE_AGAIN}")
    path = file.with_suffix(".npy" if facts["format"] == "npy" else ".bin")
    if not path.is_file():
        raise TokensError(f"{path} is missing, although {file.name} describes it; {_ENCODE_AGAIN}")
    facts.pop(SEAL, None)
    shard = Shard(path=path, **facts)
    shard._check_sizes()
    return shard


def _wrong_size(path: Path, of: str) -> TokensError:
    return TokensError(f"{path} is corrupt: its size is not that of {of}; {_ENCODE_AGAIN}")


def _overlapping(bounds: "NDArray[np.integer[Any]]") -> "Iterator[NDArray[np.integer[Any]]]":
    """Yield parts of an array, each with the first value of the next, so that a check takes little memory."""
    for start in range(0, len(bounds) - 1, _CHUNK):
        yield bounds[start : start + _CHUNK + 1]


def _header_bytes(shard: Shard) -> int:
    if shard.format == "llmc":
        return _LLMC_HEADER
    if shard.format != "npy":
        return 0
    array = load_npy(shard.path)
    if array.shape != (shard.tokens,) or array.dtype.newbyteorder("<") != shard.dtype:
        raise TokensError(f"{shard.path} is corrupt: its header does not match its .json; {_ENCODE_AGAIN}")
    return int(array.offset)


def _self_describing(path: Path) -> Shard:
    """Open a file whose header or index determines its format."""
    import numpy as np

    try:
        with open_to_read(path) as file:
            start = file.read(12)
            size = os.fstat(file.fileno()).st_size
    except OSError as error:
        raise TokensError(f"cannot read {path}: {error.strerror}; check the path") from error
    if start.startswith(b"\x93NUMPY"):
        array = load_npy(path)
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TokensError(
                f"{path} must be a one-dimensional array of integers, got {array.dtype}, shape {array.shape}"
            )
        return Shard(path, "npy", str(array.dtype), len(array))
    if len(start) == 12:
        magic, version, tokens = struct.unpack("<3i", start)
        dtype = _LLMC_DTYPES.get((magic, version))
        if dtype is not None and size == _LLMC_HEADER + tokens * np.dtype(dtype).itemsize:
            return Shard(path, "llmc", dtype, tokens)
    if path.with_suffix(".idx").is_file():
        dtype, bounds = megatron_index(path)
        return Shard(path, "megatron", dtype, int(bounds[-1]), len(bounds) - 1)
    raise TokensError(
        f"cannot determine how the ids of {path} are stored: it has no header, and no .json file next to it; "
        "read it with numpy.fromfile"
    )
