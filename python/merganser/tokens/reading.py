"""Read token files: the ids of a corpus on disk, which training code maps into memory.

A folder contains `tokens.json`, which records the tokenizer, corpus and settings, and shards of whole
documents:

    shard-00000.bin         the ids, flat; or .npy, or with llm.c's header
    shard-00000.docs.npy    the start of each document, and the end of the last; Megatron uses .idx instead
    shard-00000.json        the format, dtype, number of tokens and documents, and checksums

docs/format.md specifies every byte. `Tokenizer.encode_corpus` writes these folders.
"""

import os
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import EllipsisType
from typing import TYPE_CHECKING, Any

from merganser import _core
from merganser.corpus.addresses import as_url
from merganser.corpus.split_settings import Separator
from merganser.errors import TokensError
from merganser.files import open_to_read
from merganser.tokens.batches import Batches, Documents, Framework
from merganser.tokens.folders import folder_at
from merganser.tokens.layouts import load_npy, megatron_index
from merganser.tokens.shards import (
    ENCODE_AGAIN,
    FILE_NAME,
    LLMC_HEADER,
    SHARD,
    Shard,
    read_facts,
    read_sidecar,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from merganser.tokenizer import Tokenizer

#: The magic numbers and versions of llm.c's header, and the dtype of the ids.
_LLMC_DTYPES = {(20240520, 1): "uint16", (20240801, 7): "uint32"}
#: The number of ids decoded at a time, so that a document of any length takes little memory.
_CHUNK = 1 << 20


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
            The folder or file; or the URL of a folder, whose ids must be downloaded before they can be read.

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
        url = as_url(os.fspath(path))
        path = Path(path)
        if url or path.is_dir():
            folder = folder_at(url or str(path))
            facts = folder.read_facts()
            tokens = cls(path, facts, folder.finished())
            if facts["complete"] and len(tokens.shards) != facts["shards"]:
                raise TokensError(
                    f"{path} has {len(tokens.shards):,} of its {facts['shards']:,} shards; {ENCODE_AGAIN}"
                )
            return tokens
        if not path.is_file():
            raise TokensError(f"there is no file or folder {path}; check the path")
        sidecar = path.with_suffix(".json")
        if SHARD.fullmatch(path.name) and sidecar.is_file():
            facts = read_facts(path.parent) if (path.parent / FILE_NAME).is_file() else {}
            return cls(path, facts, (read_sidecar(sidecar),))
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
        if dtype is not None and size == LLMC_HEADER + tokens * np.dtype(dtype).itemsize:
            return Shard(path, "llmc", dtype, tokens)
    if path.with_suffix(".idx").is_file():
        dtype, bounds = megatron_index(path)
        return Shard(path, "megatron", dtype, int(bounds[-1]), len(bounds) - 1)
    raise TokensError(
        f"cannot determine how the ids of {path} are stored: it has no header, and no .json file next to it; "
        "read it with numpy.fromfile"
    )
