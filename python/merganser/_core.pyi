from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, SupportsIndex, TypeAlias, TypeVar, final, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, disjoint_base

from merganser.tokenizer import Spans

__all__ = [
    "Counter",
    "Counts",
    "CountsReader",
    "Details",
    "DocumentBatches",
    "Documents",
    "Embedder",
    "Encoded",
    "EncodedTexts",
    "Frame",
    "IncrementalEncoder",
    "Model",
    "Reading",
    "Stages",
    "StreamDecoder",
    "StreamEncoder",
    "TokenWriter",
    "Tokenizer",
    "Training",
    "Tsne",
    "__version__",
    "_panic_for_test",
    "arm_fault",
    "course_of",
    "disarm_fault",
    "fingerprint",
    "join_pieces",
    "judge_beginning",
    "judge_file",
    "leading_pairs",
    "merge_counts",
    "preset_names",
    "remove_stale",
    "sha256",
    "shard_cuts",
    "split",
    "split_length",
    "token_frequencies",
    "token_totals",
    "top_counts",
    "train",
    "train_characters",
]

__version__: str

#: Called with the stage, how much is done, and the total or 0 if it is unknown. An exception stops the work.
_Progress: TypeAlias = Callable[[str, int, int], object]

#: Tokens at one end of a document: special tokens by name, any token by id.
_Tokens: TypeAlias = str | int | Sequence[str | int] | None

@final
class Counts:
    """Pre-tokens and how often each occurs, with the settings they were counted with.

    Parameters
    ----------
    pretokens
        The count of each pre-token.
    pattern
        The preset or regular expression that splits text.
    special_tokens
        Special tokens, which are cut out of text before it is split.
    separator
        The string between documents, cut out likewise.
    invalid_bytes
        How many bytes of the corpus were not valid UTF-8.
    documents
        How many documents the corpus had.

    Raises
    ------
    CountsError
        If a pre-token is not `bytes`, or a count does not fit in 64 bits.
    """

    def __new__(
        cls,
        pretokens: dict[bytes, int],
        pattern: str,
        special_tokens: list[str],
        separator: str | None,
        invalid_bytes: int,
        documents: int,
    ) -> Counts: ...
    @staticmethod
    def load(path: Path) -> Counts:
        """Read a `.counts` file."""
    def save(self, path: Path) -> None:
        """Write a `.counts` file."""
    def plus(self, other: Counts) -> Counts:
        """Return the sum of two counts.

        Raises
        ------
        CountsError
            If their settings differ, or a sum does not fit in 64 bits.
        """
    def to_dict(self) -> dict[bytes, int]:
        """Return the count of each pre-token."""
    def most_common(self, n: int) -> list[tuple[bytes, int]]:
        """Return the `n` most frequent pre-tokens; ties are in the order of their bytes."""
    def __len__(self) -> int: ...
    @property
    def total(self) -> int:
        """The sum of all counts."""
    @property
    def pattern(self) -> str:
        """The regular expression that split the text."""
    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, if the pattern is one."""
    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that were cut out of the text."""
    @property
    def separator(self) -> str | None:
        """The string between documents."""
    @property
    def invalid_bytes(self) -> int:
        """How many bytes of the corpus were not valid UTF-8; each is a pre-token."""
    @property
    def documents(self) -> int:
        """How many documents the corpus had."""

@final
class Reading:
    """Settings of reading.

    Parameters
    ----------
    text_key
        Where the text of a record is: a key of JSON objects, `a.b` for nested ones, or a column of CSV.
    on_error
        What to do with unreadable input: "stop" raises an error, "skip" leaves it out.
    max_ratio
        The maximum ratio of decompressed to compressed size.
    max_size
        The maximum decompressed size of a file, in bytes.
    max_window
        The maximum memory that decompression may use, in bytes.

    Raises
    ------
    SettingsError
        If a value is out of range.
    """

    def __new__(
        cls, *, text_key: str, on_error: str, max_ratio: int, max_size: int, max_window: int
    ) -> Reading: ...

def judge_file(path: Path, reading: Reading) -> str | None:
    """Return why a file is binary, judged by its first 64 KB after decompression, or None if it is text."""

def judge_beginning(beginning: bytes, name: Path, reading: Reading) -> str | None:
    """Return why a stream is binary, judged by its first bytes, or None if it is text."""

@final
class Counter:
    """Counts the pre-tokens of a corpus that is added input by input.

    Parameters
    ----------
    pattern
        A preset or a regular expression.
    special_tokens
        Special tokens, which are cut out of the text and not counted.
    separator
        The string between documents, cut out likewise.
    threads
        The number of threads; 0 for one per core.
    progress
        Called with the stage, the bytes read, and the total or 0.
    first_seen
        Whether to keep the counts in the order in which pre-tokens first occur: on one thread, in memory.
    """

    def __new__(
        cls,
        pattern: str,
        special_tokens: list[str],
        separator: str | None,
        threads: int,
        progress: _Progress | None,
        *,
        first_seen: bool = False,
    ) -> Counter: ...
    def add_documents(self, documents: list[str | bytes]) -> None:
        """Count documents in memory; none is copied."""
    def add_files(self, paths: list[Path], reading: Reading) -> None:
        """Count files. The format of each follows from its name, its compression from its first bytes."""
    def add_range(self, path: Path, start: int, end: int, in_document: bool, reading: Reading) -> None:
        """Count a range of a plain text or JSON lines file that `shard_cuts` has found."""
    def add_stream(self, chunks: Iterator[bytes], name: str, reading: Reading) -> None:
        """Count a stream, given as an iterator of chunks. Its format follows from `name`."""
    def limit_records(self, bytes: int) -> None:
        """Refuse records, and stretches of text without a safe cut, that are longer than this."""
    def skipped(self) -> tuple[int, int, list[str]]:
        """Return how many records and files were skipped, and why the first of them were."""
    def spill_to(self, folder: Path, memory: int, seconds: float | None, job: str) -> bool:
        """Write counts to disk if they do not fit in memory.

        Parameters
        ----------
        folder
            The work folder. It is created when needed; if it exists, it is locked now.
        memory
            How many bytes of counts to keep in memory.
        seconds
            Write at least this often, so that no more work is lost; None for never.
        job
            The content of `job.json` in the folder, which says what is counted.

        Returns
        -------
        bool
            Whether the folder exists.
        """
    def resume(
        self,
        runs: list[str],
        log_len: int,
        log_crc32: int,
        part: int,
        offset: int,
        within: int,
        in_document: bool,
    ) -> None:
        """Resume from a line of the log in the work folder, of which `log_len` bytes are valid, and have the
        checksum `log_crc32`."""
    @property
    def needs_disk(self) -> bool:
        """Whether counts are on disk, or too large to be added up in memory."""
    def finish(self) -> Counts:
        """Return the counts."""
    def finish_to(self, out: Path, others: list[Path]) -> tuple[int, int, int, int]:
        """Write the counts, and those of other files, to a `.counts` file.

        The work folder stays locked until `abandon` is called, so that it can be removed.

        Returns
        -------
        tuple of int
            Documents, invalid bytes, unique pre-tokens, and the sum of all counts.
        """
    def abandon(self) -> None:
        """Drop what was counted and unlock the work folder."""

@final
class CountsReader:
    """Reads a `.counts` file from beginning to end, without holding it in memory."""

    def __new__(cls, path: Path) -> CountsReader: ...
    def read(self, n: int) -> list[tuple[bytes, int]]:
        """Return the next pre-tokens and their counts, at most `n`; an empty list at the end."""
    @property
    def pattern(self) -> str:
        """The regular expression that split the text."""
    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, if the pattern is one."""
    @property
    def special_tokens(self) -> list[str]:
        """The special tokens that were cut out of the text."""
    @property
    def separator(self) -> str | None:
        """The string between documents."""
    @property
    def totals(self) -> tuple[int, int, int, int]:
        """Documents, invalid bytes, unique pre-tokens, and the sum of all counts.

        As stored in the file; reading it to the end verifies them.
        """

def merge_counts(
    paths: list[Path],
    outs: list[Path],
    scratch: Path,
    progress: _Progress | None = None,
    threads: int = 1,
) -> tuple[int, int, int, int]:
    """Add up `.counts` files.

    Parameters
    ----------
    paths
        The files to add up.
    outs
        The files to write: one, or several among which pre-tokens are distributed by their hash.
    scratch
        A folder for intermediate files.
    progress
        Called with "combine", the entries read, and the total.
    threads
        The number of threads; 0 means one per core.

    Returns
    -------
    tuple of int
        Documents, invalid bytes, unique pre-tokens, and the sum of all counts.

    Raises
    ------
    CountsError
        If a file is corrupt, or the settings of two files differ.
    """

def shard_cuts(
    path: Path, size: int, pattern: str, special_tokens: list[str], separator: str | None
) -> list[tuple[int, bool]]:
    """Return where a plain text or JSON lines file can be cut into ranges of about `size` bytes.

    Returns
    -------
    list of tuple
        The offset of each cut, and whether it is inside a document.
    """

def top_counts(path: Path, n: int) -> list[tuple[bytes, int]]:
    """Return the `n` most frequent pre-tokens of a `.counts` file; ties are in the order of their bytes."""

@final
class Documents:
    """Reads the documents of a corpus, input by input.

    Parameters
    ----------
    separator
        A string that ends a document wherever the text holds it, or None.

    Raises
    ------
    SettingsError
        If the separator is empty.
    """

    def __new__(cls, separator: str | None) -> Documents: ...
    def read_files(self, paths: list[Path], reading: Reading) -> DocumentBatches:
        """Return the documents of files. Files are opened one after the other, as they are read."""
    def read_stream(self, chunks: Iterator[bytes], name: str, reading: Reading) -> DocumentBatches:
        """Return the documents of a stream, an iterator of chunks. Its format follows from `name`."""
    def split(self, texts: list[str | bytes]) -> list[bytes]:
        """Return the documents of texts in memory: each text, or what the separator makes of it."""
    def skipped(self) -> tuple[int, int, list[str]]:
        """Return how many records and files were skipped, and why the first of them were."""
    @property
    def bytes_read(self) -> int:
        """How many bytes of the inputs were read so far, as they are stored."""

@final
class DocumentBatches:
    """An iterator over the documents of one input, in batches of about 1 MB. Empty documents are left out."""

    def __iter__(self) -> Self: ...
    def __next__(self) -> list[bytes]: ...

@final
class Embedder:
    """Trains vectors of tokens, some batches at a time.

    Parameters
    ----------
    tokens
        The ids of the text.
    ends
        The offset at which each document ends.
    dimension
        The length of a vector.
    window
        The maximum distance between two tokens of a pair.
    dynamic_window
        Whether the window of each token is random, up to `window`.
    objective
        "negatives", "shared" (negatives shared by a window) or "softmax".
    negatives
        The number of negative samples.
    epochs
        How often the text is read.
    rate, last_rate
        The learning rate at the beginning and at the end.
    subsample
        The frequency above which tokens are randomly dropped; 0 for none.
    noise_power
        The power of frequencies by which negatives are drawn.
    min_count
        Tokens that occur less often have no vector.
    batch
        The number of tokens of a batch.
    seed
        The seed of the random numbers.
    threads
        The number of threads; 0 for one per core.

    Raises
    ------
    SettingsError
        If a setting is invalid.
    """

    def __new__(
        cls,
        tokens: NDArray[np.uint32],
        ends: NDArray[np.int64],
        *,
        dimension: int,
        window: int,
        dynamic_window: bool,
        objective: str,
        negatives: int,
        epochs: int,
        rate: float,
        last_rate: float,
        subsample: float,
        noise_power: float,
        min_count: int,
        batch: int,
        seed: int,
        threads: int,
    ) -> Embedder: ...
    def advance(self, batches: int, progress: _Progress | None = None) -> tuple[int, int, int]:
        """Train on the next `batches` batches.

        Ctrl-C stops between two batches; the finished ones count.

        Returns
        -------
        tuple of int
            Batches, tokens and pairs that were trained on.
        """
    def mean_loss(self) -> float | None:
        """Return the mean loss of a fixed sample of pairs and negatives with the current vectors."""
    def restore(self, vectors: NDArray[np.float32], outputs: NDArray[np.float32], batches_done: int) -> None:
        """Resume from the vectors of an embedder with the same text and settings."""
    def vectors(self) -> NDArray[np.float32]:
        """Return the vectors, row by row."""
    def outputs(self) -> NDArray[np.float32]:
        """Return the vectors that they are trained against, row by row."""
    @property
    def ids(self) -> NDArray[np.uint32]:
        """The token of each row, most frequent first."""
    @property
    def counts(self) -> NDArray[np.uint64]:
        """How often the token of each row occurs in the text."""
    @property
    def batches_done(self) -> int:
        """The number of batches trained on."""
    @property
    def batches_in_epoch(self) -> int:
        """The number of batches of an epoch."""
    @property
    def batches(self) -> int:
        """The total number of batches."""

@final
class Tsne:
    """Places points in the plane so that near neighbors stay together, some steps at a time.

    Parameters
    ----------
    points
        The coordinates to start from: x, y, x, y, ….
    neighbors
        The nearest neighbors of each point, the same number for all.
    distances
        The squares of the distances to these neighbors.
    perplexity
        About how many neighbors a point has.
    steps
        The total number of steps.
    threads
        The number of threads; 0 for one per core. The result is the same for all.

    Raises
    ------
    SettingsError
        If a number is not finite, a neighbor does not exist, or the lengths do not match.
    """

    def __new__(
        cls,
        points: NDArray[np.float64],
        neighbors: NDArray[np.uint32],
        distances: NDArray[np.float64],
        *,
        perplexity: float,
        steps: int,
        threads: int = 0,
    ) -> Tsne: ...
    def advance(self, steps: int, progress: _Progress | None = None) -> None:
        """Make up to `steps` more steps."""
    def points(self) -> NDArray[np.float64]:
        """Return the current coordinates: x, y, x, y, …."""
    @property
    def done(self) -> int:
        """The number of steps made."""

@final
class TokenWriter:
    """Encodes a corpus that is added input by input, and writes the ids to a folder of shards.

    Parameters
    ----------
    tokenizer
        The tokenizer to encode with.
    folder
        An existing folder, which is locked.
    format
        "bin", "npy", "llmc" or "megatron".
    dtype
        "auto", "uint16" or "uint32".
    separator
        The string between documents; it is not encoded.
    prepend, append
        Ids to put before and after each document.
    allowed_special
        Special tokens that are encoded as such; all others are plain text.
    shard_tokens
        A shard ends with the document that brings it to this many tokens. None writes one piece instead, in
        "bin", to be joined with others by `join_pieces`.
    threads
        The number of threads; 0 for one per core.
    progress
        Called with "encode", the bytes read, and the total or 0.

    Raises
    ------
    SettingsError
        If a setting is invalid, or ids do not fit in `dtype`.
    TokensError
        If another process writes to the folder.
    """

    def __new__(
        cls,
        tokenizer: Tokenizer,
        folder: Path,
        *,
        format: str,
        dtype: str,
        separator: str | None,
        prepend: int | None,
        append: int | None,
        allowed_special: list[str],
        shard_tokens: int | None,
        threads: int,
        progress: _Progress | None,
    ) -> TokenWriter: ...
    def start_at(self, shard: int, part: int, offset: int, within: int) -> None:
        """Resume with this shard, at the position where the previous one ended."""
    def add_documents(self, documents: list[str | bytes]) -> None:
        """Encode documents in memory; none is copied."""
    def add_files(self, paths: list[Path], reading: Reading) -> None:
        """Encode files. The format of each follows from its name, its compression from its first bytes."""
    def add_range(self, path: Path, start: int, end: int, in_document: bool, reading: Reading) -> None:
        """Encode a range of a plain text or JSON lines file that `shard_cuts` has found."""
    def add_stream(self, chunks: Iterator[bytes], name: str, reading: Reading) -> None:
        """Encode a stream, given as an iterator of chunks. Its format follows from `name`."""
    def limit_records(self, bytes: int) -> None:
        """Refuse records, and stretches of text without a safe cut, that are longer than this."""
    def skipped(self) -> tuple[int, int, list[str]]:
        """Return how many records and files were skipped, and why the first of them were."""
    def abandon(self) -> None:
        """Remove the unfinished shard and unlock the folder."""
    def finish(self) -> None:
        """Write the last shard, or the files of the piece: `piece.ids`, `piece.ends` and `piece.json`.

        Raises
        ------
        CorpusError
            If there was no text.
        """

@final
class Model:
    """A tokenizer of the core, before `Tokenizer` wraps it."""

    @staticmethod
    def from_ranks(mergeable_ranks: dict[bytes, int], pattern: str, special_tokens: dict[str, int]) -> Model:
        """Build a model from tokens and their ids.

        Parameters
        ----------
        mergeable_ranks
            The id of each token, which is also its rank. All 256 single bytes must be tokens.
        pattern
            A preset or a regular expression.
        special_tokens
            The id of each special token.

        Raises
        ------
        TokenizerError
            If the tokens are inconsistent.
        PatternError
            If the pattern is invalid.
        """
    @staticmethod
    def from_packed(packed: bytes, pattern: str, special_tokens: dict[str, int]) -> Model:
        """Build a model from what `Tokenizer.packed_ranks` returns."""

    @staticmethod
    def from_lines(
        data: bytes,
        start: int,
        stop: int,
        version: int,
        longest: int,
        pattern: str,
        special_tokens: dict[str, int],
    ) -> tuple[Model, bytes, bytes]:
        """Build a model from the lines of a file; docs/format.md specifies them.

        Parameters
        ----------
        data
            The file.
        start, stop
            Where the lines of tokens start and end.
        version
            The version of the format, 1 or 3; 0 for a rank file, which has no counts.
        longest
            The limit of the length of a token.
        pattern
            A preset or a regular expression.
        special_tokens
            The id of each special token.

        Returns
        -------
        tuple of (Model, bytes, bytes)
            The model; the ids of tokens with a count, as 32-bit numbers, and their counts, as 64-bit ones.

        Raises
        ------
        FormatError
            If the lines are corrupt.
        TokenizerError
            If the tokens are inconsistent.
        PatternError
            If the pattern is invalid.
        """
    @staticmethod
    def from_definition(
        tokens: list[tuple[bytes, int]],
        merges: Sequence[tuple[int, int, int]] | None,
        scores: Sequence[float] | None,
        definition: str,
    ) -> Model:
        """Build a model of any kind of BPE, with the stages around it.

        Parameters
        ----------
        tokens
            The tokens as merging sees them, with their ids.
        merges
            The merges in order, as ids (left, right, new).
        scores
            Without merges: the score of each token, highest first. Without both, the id is the rank.
        definition
            The stages, as JSON; see docs/pipeline.md.

        Raises
        ------
        TokenizerError
            If the definition is inconsistent, or names something that is not supported.
        PatternError
            If a pattern is invalid.
        """

_Encoded = TypeVar("_Encoded", bound=Encoded)
_Specials: TypeAlias = Literal["all"] | Collection[str]

@final
class Details:
    """The tokens of one text with their offsets and words, as lists that are built at each call."""

    def ids(self) -> list[int]:
        """Return the ids."""
    def offsets(self, prefixed: bool | None = None) -> list[tuple[int, int]]:
        """Return the characters that each token covers.

        Parameters
        ----------
        prefixed
            None to keep the spaces at the ends of tokens. Otherwise they are left out, and this says
            whether a space was put before the text, which is not one of them.
        """
    def words(self) -> list[int | None]:
        """Return the number of the pre-token, or added token, that each token is part of."""
    def added(self) -> list[tuple[int, str]]:
        """Return the added tokens, by position, and the text that each was found as."""

@disjoint_base
class Frame:
    """How single texts are encoded: with known tokens around them, a limit, and padding.

    The plan of a `Tokenizer` of `compat.tokenizers` inherits from it.

    Parameters
    ----------
    tokenizer
        The tokenizer.
    specials
        Whether special tokens are found in texts.
    before, after
        The ids around the text, each with its type id.
    type_id
        The type id of the text.
    trims
        How offsets are trimmed, as for `Details.offsets`.
    offsets
        Whether offsets are those of the text alone, whatever is before it.
    respells
        Whether added tokens may have been found in another spelling than that which trimming looks at.
    limit
        The most ids of an encoding, if there is a limit.
    keeps_end
        Whether the end of a text that is too long is kept, not its beginning.
    padding
        The settings of padding, if there is any: an object with the attributes of `PaddingSettings`.
    """

    def __new__(
        cls,
        tokenizer: Tokenizer,
        *,
        specials: bool,
        before: Sequence[tuple[int, int]],
        type_id: int,
        after: Sequence[tuple[int, int]],
        trims: bool | None,
        offsets: bool,
        respells: bool = False,
        limit: int | None = None,
        keeps_end: bool = False,
        padding: object | None = None,
    ) -> Self: ...
    def kept(self, size: int) -> tuple[int, int]:
        """Return which ids of a text are kept: the first, and the one after the last.

        Parameters
        ----------
        size
            The number of its ids.
        """
    def encode(self, text: str) -> EncodedTexts:
        """Encode a text.

        Raises
        ------
        EncodeError
            If the text contains a lone surrogate.
        """
    def encode_batch(self, texts: Iterable[str], *, fast: bool = False) -> EncodedTexts:
        """Encode texts.

        Parameters
        ----------
        texts
            The texts.
        fast
            Whether nothing but ids will be known of them.

        Raises
        ------
        EncodeError
            If a text contains a lone surrogate.
        """

@final
class EncodedTexts:
    """Texts that were encoded together."""

    def __len__(self) -> int: ...
    @property
    def frame(self) -> Any:
        """How the texts were encoded."""
    @property
    def fast(self) -> bool:
        """Whether nothing but ids is known of the texts."""
    @property
    def length(self) -> int:
        """The length of all encodings, with padding; 0 if there is none."""
    def longest(self) -> int:
        """Return the number of ids of the longest encoding."""
    def text_ids(self, at: int) -> list[int]:
        """Return the ids of a text, without those around it, before anything was cut off."""
    def details(self, at: int) -> Details:
        """Return what is known of the tokens of a text.

        The first text that is asked about is encoded alone, the second together with all others: a program
        that asks about one of them asks about all of them.
        """
    def encodings(self, kind: type[_Encoded]) -> list[_Encoded]:
        """Return an encoding for each text.

        Parameters
        ----------
        kind
            The class of encodings, which inherits from `Encoded`.
        """
    def rows(self, field: str, encodings: list[_Encoded]) -> list[list[Any]]:
        """Return a list for each encoding.

        Parameters
        ----------
        field
            "ids", "type_ids", "attention_mask", "special_tokens_mask" or "offsets".
        encodings
            The encodings, which are asked for what only they know.
        """
    def array(self, field: str) -> NDArray[np.int64] | None:
        """Return a field of all encodings as an array; None if it is empty or their lengths differ."""

@disjoint_base
class Encoded:
    """The encoding of a text, from which `Encoding` of `compat.tokenizers` inherits.

    Parameters
    ----------
    texts
        The texts that were encoded together; None for an encoding that is built otherwise.
    at
        Which of them it is.
    """

    def __new__(cls, texts: EncodedTexts | None = None, at: int = 0) -> Self: ...
    def __len__(self) -> int: ...
    @property
    def _source(self) -> tuple[EncodedTexts, int] | None:
        """The texts that were encoded together, and which of them this is; None if that is no longer so."""
    @property
    def _built(self) -> Any:
        """What was built."""
    def _keep(self, built: object, changed: bool) -> None:
        """Keep what was built.

        Parameters
        ----------
        built
            An object.
        changed
            Whether it is no longer the encoding of the text.
        """
    @property
    def ids(self) -> list[int]:
        """The ids."""
    @property
    def type_ids(self) -> list[int]:
        """The number of the input that each token belongs to, as the post-processor says."""
    @property
    def attention_mask(self) -> list[int]:
        """0 for padding, 1 for all other tokens."""
    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for tokens that were added to the text, 0 for those of the text."""
    @property
    def offsets(self) -> list[tuple[int, int]]:
        """The characters of the input that each token covers."""

@final
class Stages:
    """The stages before merging: a normalizer and a pre-tokenizer of a tokenizer.json.

    Parameters
    ----------
    normalizer, pre_tokenizer
        The objects, as JSON, with patterns in merganser's syntax.

    Raises
    ------
    MerganserError
        If one of them is not supported.
    """

    def __new__(cls, normalizer: str, pre_tokenizer: str) -> Self: ...
    def normalize(self, text: str) -> str:
        """Return the normalized text."""
    def pretokenize(self, text: str) -> list[tuple[bytes, tuple[int, int]]]:
        """Return the pre-tokens of a text, each with the characters that it comes from."""
    def count(self, texts: Iterable[str]) -> None:
        """Count the pre-tokens of texts."""
    def counts(self) -> dict[bytes, int]:
        """Return how often each pre-token was counted."""

@final
class IncrementalEncoder:
    """Encodes a text that grows, without encoding it again.

    At any time, `ids` are those of `Tokenizer.encode` on the whole text, for every tokenizer. Created by
    `Tokenizer.incremental`. Safe to use from several threads, one call after the other.

    Examples
    --------
    >>> import merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> encoder = tokenizer.incremental()
    >>> encoder.append("low low")
    0
    >>> encoder.ids
    [257, 258]
    >>> kept = encoder.append("est")
    >>> kept, encoder[kept:], encoder.count
    (1, [259, 115, 116], 4)
    >>> fork = encoder.fork()
    >>> encoder.truncate_to(3)
    1
    >>> encoder.text, fork.text
    ('low', 'low lowest')
    """

    def append(self, text: str) -> int:
        """Append text to the end.

        Parameters
        ----------
        text
            The text to append. It may continue a word, a character with marks, or a special token.

        Returns
        -------
        int
            How many of the first ids are the same as before: `encoder[kept:]` are the new ones.

        Raises
        ------
        EncodeError
            If the whole text now contains a disallowed special token, or `text` a lone surrogate. Nothing has
            changed then.
        """
    def truncate_to(self, characters: int) -> int:
        """Keep the first characters of the text, and forget the rest.

        Parameters
        ----------
        characters
            How many to keep; if the text has no more, nothing changes.

        Returns
        -------
        int
            How many of the first ids are the same as before.
        """
    def fork(self) -> Self:
        """Return an independent encoder with the same text. The two share what they have in common."""
    @property
    def ids(self) -> list[int]:
        """The ids of the text: a new list at each access."""
    @property
    def count(self) -> int:
        """The number of ids."""
    @property
    def text(self) -> str:
        """The text: a new string at each access."""
    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer."""
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> int: ...
    @overload
    def __getitem__(self, key: slice, /) -> list[int]: ...
    def __copy__(self) -> Self: ...
    def __deepcopy__(self, _memo: object) -> Self: ...

@final
class StreamEncoder:
    """Encodes the chunks of a text; `Tokenizer.encode_iterable` uses it."""

    def push(self, text: str) -> list[int]:
        """Append text, and return the ids that no continuation changes.

        Parameters
        ----------
        text
            The next chunk. It may begin and end inside a word or a special token.

        Raises
        ------
        EncodeError
            If the whole text now contains a disallowed special token, or `text` a lone surrogate. Nothing has
            changed then.
        """
    def finish(self) -> list[int]:
        """End the text, return the ids that are left, and reset the encoder."""
    @property
    def pending(self) -> int:
        """How many bytes of the text are kept."""

@disjoint_base
class StreamDecoder:
    """Decodes ids as they arrive; `merganser.StreamDecoder` inherits from it."""

    def __new__(
        cls,
        tokenizer: Tokenizer,
        errors: Literal["strict", "replace", "ignore"] = "strict",
        *,
        skip_special: bool = False,
    ) -> Self: ...
    def push(self, ids: SupportsIndex | Iterable[int]) -> str:
        """Return the text that the next ids complete, in whole characters.

        Parameters
        ----------
        ids
            One id, or several.

        Raises
        ------
        DecodeError
            If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict". Nothing has
            changed then.
        """
    def finish(self) -> str:
        """End the text and reset the decoder.

        Returns
        -------
        str
            U+FFFD if a character is incomplete and `errors` is "replace", else the empty string.

        Raises
        ------
        DecodeError
            If a character is incomplete and `errors` is "strict".
        """
    @property
    def pending(self) -> bytes:
        """The bytes of an incomplete character, at most three."""
    def __getnewargs_ex__(self) -> tuple[tuple[Tokenizer, str], dict[str, bool]]:
        """Return the arguments to construct the decoder with, for `copy` and `pickle`."""
    def __getstate__(self) -> tuple[bytes, int, tuple[bool, bool, bool, int, int]]:
        """Return what was pushed and has not become text yet."""
    def __setstate__(self, state: tuple[bytes, int, tuple[bool, bool, bool, int, int]]) -> None:
        """Continue from a state that `__getstate__` returned."""

@disjoint_base
class Tokenizer:
    """A tokenizer; `merganser.Tokenizer` inherits from it."""

    def __new__(cls, model: Model) -> Self: ...
    def encode(
        self,
        text: str | bytes,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
    ) -> list[int]:
        """Return the ids of a text.

        A special token in the text is an error by default, because text from untrusted sources must not
        control a model.

        Parameters
        ----------
        text
            The text to encode, or bytes. Valid UTF-8 has the ids of the text. In other bytes, each byte that
            is not valid UTF-8 is encoded by itself, and the text on either side of it as a text of its own,
            as in `encode_corpus`; `decode_bytes` returns the bytes.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate, or bytes are not UTF-8 and
            the tokenizer has stages of another library, which are defined for text only.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, special_tokens=["<|end|>"])
        >>> tokenizer.encode("lowest low")
        [257, 101, 115, 116, 258]
        >>> tokenizer.encode("low<|end|>", allowed_special="all")
        [257, 259]
        >>> tokenizer.encode(b"low\\xfflow")
        [257, 255, 257]
        """
    def encode_ordinary(self, text: str | bytes) -> list[int]:
        """Return the ids of a text in which special tokens are plain text.

        Parameters
        ----------
        text
            The text to encode, or bytes, as in `encode`.

        Raises
        ------
        EncodeError
            If the text contains a lone surrogate, or bytes are not UTF-8 and the tokenizer has stages of
            another library.
        """
    def encode_batch(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
        threads: int | None = None,
    ) -> list[list[int]]:
        """Return the ids of each text, encoded in parallel.

        Parameters
        ----------
        texts
            The texts to encode. A single long text is parallelized too.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.
        threads
            The number of threads; None for one per core. The result does not depend on it.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate.
        """
    def encode_flat(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
        threads: int | None = None,
    ) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        """Return the ids of all texts in one array, without creating a Python object for each.

        Parameters
        ----------
        texts
            The texts to encode.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.
        threads
            The number of threads; None for one per core. The result does not depend on it.

        Returns
        -------
        tuple of numpy.ndarray
            The ids (uint32) and the offsets (int64): the ids of text `i` are `ids[offsets[i]:offsets[i +
            1]]`.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate.
        """
    @overload
    def count_tokens(  # type: ignore[overload-overlap]  # a str is also an Iterable[str]
        self,
        texts: str | bytes,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
        threads: int | None = None,
    ) -> int:
        """Return the number of ids of a text, or of each text.

        Parameters
        ----------
        texts
            One text, or bytes, as in `encode`; or several texts.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.
        threads
            The number of threads; None for one per core. The result does not depend on it.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate.
        """
    @overload
    def count_tokens(
        self,
        texts: Iterable[str],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
        threads: int | None = None,
    ) -> list[int]: ...
    def incremental(
        self,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
    ) -> IncrementalEncoder:
        """Return an encoder for a text that grows, such as a conversation.

        Its ids are always those of `encode` on the whole text, but appending encodes only what has changed.

        Parameters
        ----------
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend
            Tokens to put before the text, one or a list: special tokens by name, any by id.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260, special_tokens=["<|end|>"])
        >>> encoder = tokenizer.incremental(allowed_special="all")
        >>> encoder.append("low <|end")
        0
        >>> kept = encoder.append("|>")
        >>> kept, encoder.ids
        (2, [257, 32, 259])
        """
    def stream_encoder(
        self,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
    ) -> StreamEncoder:
        """Return an encoder for the chunks of one text, which keeps no more text than it must.

        Parameters
        ----------
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the text, one or a list: special tokens by name, any by id.
        """
    def fits(
        self,
        text: str,
        max_tokens: int,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
    ) -> bool:
        """Return whether a text has at most `max_tokens` ids, without encoding much more than these.

        Parameters
        ----------
        text
            The text. All of it is searched for disallowed special tokens.
        max_tokens
            The most ids that it may have.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> tokenizer.fits("low lower", 3), tokenizer.fits("low lower" * 1_000_000, 3)
        (True, False)
        """
    def count_prefixes(
        self,
        text: str,
        ends: Iterable[int],
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
    ) -> list[int]:
        """Return the number of ids of prefixes of a text: `[count_tokens(text[:end]) for end in ends]`.

        All prefixes together cost little more than the longest, and text after it is not read. Use it to find
        where a conversation exceeds a context, from the ends of its messages.

        Parameters
        ----------
        text
            The text.
        ends
            Where the prefixes end, in characters and in any order; beyond the end means all of the text.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.

        Raises
        ------
        EncodeError
            If a prefix contains a disallowed special token, or the text a lone surrogate.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> tokenizer.count_prefixes("low lower", [3, 7, 9])
        [1, 2, 3]
        """
    def encode_with_offsets(
        self,
        text: str,
        *,
        allowed_special: _Specials = (),
        disallowed_special: _Specials = "all",
        prepend: _Tokens = None,
        append: _Tokens = None,
    ) -> Spans:
        """Return the ids of a text with the offsets of each, in characters and in bytes.

        Parameters
        ----------
        text
            The text to encode.
        allowed_special
            Special tokens that are encoded as such: a collection of names, or "all".
        disallowed_special
            Special tokens that raise an error if the text contains them: a collection of names, or "all".
            Those that are neither allowed nor disallowed are encoded as plain text.
        prepend, append
            Tokens to put before and after the document, one or a list: special tokens by name, any by id.

        Raises
        ------
        EncodeError
            If the text contains a disallowed special token or a lone surrogate.
        """
    def encode_details(
        self, texts: Iterable[str], *, specials: bool = True, threads: int | None = None
    ) -> list[Details]:
        """Return the tokens of each text with offsets and words, encoded in parallel; only with stages.

        Parameters
        ----------
        texts
            The texts to encode.
        specials
            Whether special tokens in a text are encoded as such.
        threads
            The number of threads; None for one per core. The result does not depend on it.

        Raises
        ------
        TokenizerError
            If the tokenizer has no stages.
        EncodeError
            If a text contains a lone surrogate.
        """
    def decode(
        self,
        ids: Iterable[int],
        errors: Literal["strict", "replace", "ignore"] = "strict",
        *,
        skip_special_tokens: bool = False,
    ) -> str:
        """Return the text of ids.

        Parameters
        ----------
        ids
            The ids to decode.
        errors
            What to do with invalid UTF-8: "strict" raises an error, "replace" inserts U+FFFD, "ignore" leaves
            it out.
        skip_special_tokens
            Whether to leave special tokens out.

        Raises
        ------
        DecodeError
            If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict".
        """
    def decode_bytes(self, ids: Iterable[int]) -> bytes:
        """Return the bytes of ids.

        Raises
        ------
        DecodeError
            If an id is unknown.
        """
    def decode_batch(
        self,
        batch: Iterable[Iterable[int]],
        errors: Literal["strict", "replace", "ignore"] = "strict",
        *,
        threads: int | None = None,
    ) -> list[str]:
        """Return the text of each sequence of ids, decoded in parallel.

        Parameters
        ----------
        batch
            The sequences of ids.
        errors
            What to do with invalid UTF-8: "strict" raises an error, "replace" inserts U+FFFD, "ignore" leaves
            it out.
        threads
            The number of threads; None for one per core. The result does not depend on it.

        Raises
        ------
        DecodeError
            If an id is unknown, or if the bytes are not valid UTF-8 and `errors` is "strict".
        """
    def decode_with_offsets(
        self, ids: Iterable[int], *, unit: Literal["characters", "bytes"] = "characters"
    ) -> tuple[str, list[int]]:
        """Return the text of ids, and the offset at which each begins.

        Parameters
        ----------
        ids
            The ids to decode.
        unit
            The unit of the offsets: "characters", or "bytes" of UTF-8. A token that begins inside a character
            has the offset of that character.

        Raises
        ------
        DecodeError
            If an id is unknown, or if the bytes are not valid UTF-8.
        """
    def token_bytes(self, id: SupportsIndex) -> bytes:
        """Return the bytes of a token; for a special token, the UTF-8 of its name.

        Raises
        ------
        DecodeError
            If the id is unknown.
        """
    def decode_tokens_bytes(self, ids: Iterable[int]) -> list[bytes]:
        """Return the bytes of each id. Joined, they are those of `decode_bytes` if there are no stages.

        Parameters
        ----------
        ids
            The ids to decode.

        Raises
        ------
        DecodeError
            If an id is unknown.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
        >>> tokenizer.decode_tokens_bytes(tokenizer.encode("lowest"))
        [b'low', b'e', b's', b't']
        """
    def is_special_token(self, id: SupportsIndex) -> bool:
        """Return whether an id is that of a special token; False for an id that the tokenizer does not have.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"], 258, special_tokens=["<|end|>"])
        >>> tokenizer.is_special_token(257), tokenizer.is_special_token(256)
        (True, False)
        """
    def token_id(self, token: bytes | str) -> int:
        """Return the id of a token; the inverse of `token_bytes`.

        Parameters
        ----------
        token
            The bytes of the token, or a text that stands for its UTF-8. A special token is given by its name.

        Raises
        ------
        EncodeError
            If it is not exactly one token.

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"], 258, special_tokens=["<|end|>"])
        >>> tokenizer.token_id(b"lo"), tokenizer.token_id("<|end|>")
        (256, 257)
        """
    def __contains__(self, id_or_token: SupportsIndex | bytes, /) -> bool:
        """Return whether the tokenizer has this id (an int) or this token (bytes).

        Examples
        --------
        >>> import merganser
        >>> tokenizer = merganser.train(["low lower lowest"], 258)
        >>> 257 in tokenizer, 258 in tokenizer, b"lo" in tokenizer
        (True, False, True)
        """
    @property
    def mergeable_ranks(self) -> dict[bytes, int]:
        """The id of each token that is not special, lowest id first."""
    def packed_ranks(self) -> bytes:
        """Return `mergeable_ranks` as one byte string."""
    @property
    def special_tokens(self) -> dict[str, int]:
        """The id of each special token, lowest id first."""
    @property
    def merges(self) -> list[tuple[bytes, bytes]]:
        """The merges in order, as the bytes of the two tokens."""
    @property
    def merges_as_ids(self) -> dict[tuple[int, int], int]:
        """The id of each merged token, by the ids of the two tokens."""
    @property
    def pattern(self) -> str:
        """The regular expression that splits text."""
    @property
    def pattern_name(self) -> str | None:
        """The name of the preset, if the pattern is one."""
    @property
    def vocab_size(self) -> int:
        """The number of tokens, including special ones."""
    @property
    def next_id(self) -> int:
        """The highest id plus one."""
    def truncated_model(self, vocab_size: int) -> Model:
        """Return the model with `vocab_size` tokens from the same training.

        Raises
        ------
        SettingsError
            If this tokenizer cannot be truncated to that size.
        """
    @property
    def definition(
        self,
    ) -> tuple[list[tuple[bytes, int]], list[tuple[int, int, int]] | None, list[float] | None, str] | None:
        """What the tokenizer was built from, if it has stages of another library: tokens, merges, scores and
        stages, as `Model.from_definition` takes them.
        """
    @property
    def has_stages(self) -> bool:
        """Whether the tokenizer has stages of another library: more than a pattern and special tokens."""
    def equals(self, other: Tokenizer) -> bool:
        """Return whether two tokenizers are equal."""

def token_totals(
    tokenizers: list[Tokenizer],
    counts: Counts | Path,
    *,
    threads: int = 0,
    progress: _Progress | None = None,
) -> tuple[int, list[int]]:
    """Return how large a corpus is, from the counts of its pre-tokens.

    Every unique pre-token is encoded once; the result is that of encoding the corpus.

    Parameters
    ----------
    tokenizers
        Tokenizers, all with the pattern of the counts.
    counts
        Counts, or the path of a `.counts` file, which is read once.
    threads
        The number of threads; 0 for one per core.
    progress
        Called with "pretokens", the pre-tokens done, and the total.

    Returns
    -------
    tuple
        The size in bytes, and the number of tokens that each tokenizer makes of it.
    """

def token_frequencies(
    tokenizer: Tokenizer, counts: Counts | Path, *, threads: int = 0, progress: _Progress | None = None
) -> NDArray[np.uint64]:
    """Return how often each token occurs in a corpus, from the counts of its pre-tokens.

    Parameters
    ----------
    tokenizer
        A tokenizer with the pattern of the counts.
    counts
        Counts, or the path of a `.counts` file.
    threads
        The number of threads; 0 for one per core.
    progress
        Called with "pretokens", the pre-tokens done, and the total.

    Returns
    -------
    numpy.ndarray
        The frequency of each id, up to the highest.

    Raises
    ------
    CountsError
        If a frequency does not fit in 64 bits.
    """

@final
class Training:
    """A trained tokenizer, and what is known about its training."""

    @property
    def model(self) -> Model:
        """The tokenizer."""
    @property
    def merge_counts(self) -> dict[int, int]:
        """How often each merged pair occurred, by the id of the new token."""
    @property
    def dropped_pretokens(self) -> int:
        """How many unique pre-tokens were dropped before training."""
    @property
    def dropped_total(self) -> int:
        """How often the dropped pre-tokens occurred in all."""
    @property
    def proven_merges(self) -> int | None:
        """How many of the first merges are proven to be those of all pre-tokens; None if not checked."""
    @property
    def checked_merges(self) -> int | None:
        """How many of the first merges were checked."""

def train(
    counts: Counts | Path,
    merges: int,
    special_tokens: list[str],
    *,
    base: Tokenizer | None,
    progress: _Progress | None,
    normalizer: str | None,
    pattern: str | None,
    tie_break: str,
    min_frequency: int,
    max_token_bytes: int | None,
    min_pretoken_count: int,
    certify: bool,
    threads: int,
    memory: int | None,
    folder: Path,
    log: Path | None,
    restart: bool,
    checkpoint_every: float,
) -> Training:
    """Train a tokenizer on counts.

    Parameters
    ----------
    counts
        Counts, or the path of a `.counts` file.
    merges
        The maximum number of merges.
    special_tokens
        Special tokens, whose ids follow the merges in this order. Those of `base` keep their ids.
    base
        A tokenizer to continue from.
    progress
        Called with "merge" or "certify", how much is done, and the total.
    normalizer
        A normalizer of a tokenizer.json, as JSON, for what was counted; or None.
    pattern
        What splits the normalized text; None without a normalizer.
    tie_break
        Which of several equally frequent pairs comes first: "ids", "huggingface", "bytes", "sentencepiece" or
        "first"; the last needs counts in the order of the corpus.
    min_frequency
        Pairs that occur less often are not merged.
    max_token_bytes
        The maximum length of a token, or None.
    min_pretoken_count
        Pre-tokens that occur less often are dropped before training.
    certify
        Whether to determine which merges that has not changed.
    threads
        The number of threads; 0 for one per core.
    memory
        How many bytes to use, or None for no limit; pre-tokens that do not fit are kept in `folder`.
    folder
        A folder for temporary files.
    log
        A file that merges are logged to, so that an interrupted training can be resumed; or None.
    restart
        Whether to ignore what `log` holds.
    checkpoint_every
        How often to write to `log`, in seconds.

    Raises
    ------
    SettingsError
        If `tie_break` is none of these.
    CountsError
        If the counts are corrupt, or too large for 64 bits.
    CheckpointError
        If `log` belongs to another training, or is in use.
    """

def train_characters(
    counts: Counts | Path,
    tokens: int,
    *,
    progress: _Progress | None,
    normalizer: str,
    pattern: str | None,
    mark: str,
    split_scripts: bool,
    split_digits: bool,
    coverage: float,
    max_alphabet: int | None,
    tie_break: str,
    min_frequency: int,
    max_token_characters: int | None,
    forbidden: list[str],
    threads: int,
    memory: int | None,
    folder: Path,
    log: Path | None,
    restart: bool,
    checkpoint_every: float,
) -> tuple[list[tuple[bytes, int]], list[tuple[bytes, bytes]], list[int]]:
    """Train on the characters of counted words.

    Parameters
    ----------
    counts
        Counts, or the path of a `.counts` file.
    tokens
        The maximum number of tokens: the alphabet and the merges.
    progress
        Called with "merge", how much is done, and the total.
    normalizer
        A normalizer of a tokenizer.json, as JSON.
    pattern
        What splits normalized words further, or None; only with the mark "suffix".
    mark
        "space" if `▁` begins words, "suffix" if the byte 0xFF ends them, or "none".
    split_scripts, split_digits
        Whether tokens end where scripts meet, and whether digits are never merged.
    coverage
        The part of the text that the alphabet covers.
    max_alphabet
        The maximum number of characters in the alphabet, or None.
    tie_break, min_frequency, threads, memory, folder, log, restart, checkpoint_every
        As in `train`.
    max_token_characters
        The maximum length of a token, or None.
    forbidden
        Strings that are left out of words, and that no merge forms.

    Returns
    -------
    tuple
        The alphabet with counts, the two halves of each merge, and how often each merge occurred.
    """

def split(text: str, pattern: str = "gpt4") -> list[str]:
    """Return the pre-tokens of a document.

    Parameters
    ----------
    text
        The document.
    pattern
        A preset or a regular expression.

    Raises
    ------
    PatternError
        If the pattern is invalid.
    """

def split_length(text: str, pattern: str) -> int:
    """Return the number of pre-tokens of a document, without keeping them; for benchmarks."""

def sha256(data: bytes, stop: int) -> str:
    """Return the SHA-256 of `data[:stop]` in hexadecimal: hashlib takes longer to import than this to run."""

def join_pieces(
    folder: Path,
    number: int,
    *,
    format: str,
    dtype: str,
    ids: list[tuple[Path, int, list[int], int, int] | int],
    ends: list[tuple[tuple[Path, int, list[int], int, int], int] | int],
    text: tuple[int, int],
    next: tuple[int, int, int],
) -> None:
    """Write a shard from ranges of pieces.

    Parameters
    ----------
    folder
        An existing folder.
    number
        The number of the shard.
    format
        "bin", "npy", "llmc" or "megatron".
    dtype
        "uint16" or "uint32".
    ids
        The ids in order: ranges (file, the block that the file begins with, the checksums of its blocks,
        start and end in the piece) or single ids.
    ends
        The ends of documents in order: ranges with what to add to the tokens of the piece, or single ends.
    text
        The number of bytes of text in the shard, and of those that are not valid UTF-8.
    next
        Where the next shard begins: part, offset and within.

    Raises
    ------
    TokensError
        If a block does not match its checksum.
    """

def fingerprint(tokenizer: Tokenizer) -> str:
    """Return a SHA-256 that two tokenizers share if and only if they are equal."""

def preset_names() -> list[str]:
    """Return the names of the preset patterns."""

def arm_fault(operation: str | None, nth: int, fault: str, lasting: bool) -> None:
    """Make an operation on files fail, for tests.

    Parameters
    ----------
    operation
        "open", "read", "write", "sync" or "rename"; None for any.
    nth
        Which of them fails, from 0.
    fault
        "fail", "short", "torn", "interrupt" or "crash".
    lasting
        Whether all later ones fail too.
    """

def disarm_fault() -> int:
    """End the faults, and return how many operations there were."""

def course_of(operation: str) -> str | None:
    """Return how to do an operation: "short", "torn" or "crash"; None for normally.

    Raises
    ------
    OSError
        If it is to fail.
    """

def remove_stale(target: Path) -> None:
    """Remove the temporary files of a target that killed processes have left."""

def _panic_for_test() -> None:
    """Panic on a worker thread, to test that Python sees an exception."""

def leading_pairs(
    counts: Counts,
    merges: list[tuple[int, int]],
    most: int,
    *,
    progress: _Progress | None = None,
) -> list[list[tuple[tuple[int, int], int]]]:
    """Return the most frequent pairs before each merge of a training by bytes.

    Parameters
    ----------
    counts
        The counts that it was trained on.
    merges
        The pairs of ids that were merged, from the first on; merge `i` has the id 256 + `i`.
    most
        The number of pairs to return for each merge.
    progress
        Called with "merge", the merges done, and the total.

    Returns
    -------
    list of list of tuple
        For each merge, pairs with their counts: by descending count, then by ids.

    Raises
    ------
    SettingsError
        If a merge joins a token that does not exist yet.
    """
