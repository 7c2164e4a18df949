"""Export vectors to files of other programs.

| format | files | read by |
|---|---|---|
| `word2vec` | text: `tokens dimension`, then a line per token | gensim, spaCy and many others |
| `word2vec-bin` | the same with four-byte floats | gensim (`binary=True`) |
| `tsv` | `vectors.tsv` and `metadata.tsv` in a folder | the Embedding Projector |
| `parquet` | a table `token` (binary), `id`, `count`, `vector` (list of float) | with the extra `[data]` |

word2vec separates by whitespace, so a token is written with the conventional `▁` (U+2581) for a space, and
with escapes such as `\\n` and `\\xff` for control characters and invalid bytes; every token has a unique
name.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from merganser.embed.vectors import Vectors
from merganser.errors import SettingsError
from merganser.extras import imported
from merganser.files import make_folder, written_whole

ExportFormat = Literal["word2vec", "word2vec-bin", "tsv", "parquet"]
FORMATS: tuple[ExportFormat, ...] = ("word2vec", "word2vec-bin", "tsv", "parquet")


def export(embeddings: Vectors, path: str | os.PathLike[str], format: ExportFormat) -> list[Path]:
    """Write the files atomically and return their paths."""
    path = Path(path)
    if format not in FORMATS:
        raise SettingsError(f"format must be one of {', '.join(FORMATS)}, got {format!r}")
    folder = path if format == "tsv" else path.parent
    make_folder(folder)
    if format == "tsv":
        return _tsv(embeddings, path)
    if format == "parquet":
        _parquet(embeddings, path)
    else:
        _word2vec(embeddings, path, format == "word2vec-bin")
    return [path]


def name(token: bytes) -> str:
    """Return a unique name for a token, without whitespace.

    >>> name(b" creature"), name(b"\\n\\n"), name(bytes([0xC3]))
    ('▁creature', '\\\\n\\\\n', '\\\\xc3')
    """
    text = token.decode("utf-8", "surrogateescape")
    return "".join(map(_character, text))


def _character(character: str) -> str:
    if character == " ":
        return "▁"
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    if character in "\\▁" or not character.isprintable():
        return "\\u2581" if character == "▁" else character.encode("unicode_escape").decode()
    return character


def _numbers(embeddings: Vectors, separator: str) -> Iterator[str]:
    """Yield the rows as text, with nine digits so that reading restores the same floats."""
    for row in embeddings.vectors:
        yield separator.join(f"{number:.9g}" for number in row.tolist())


def _word2vec(embeddings: Vectors, path: Path, binary: bool) -> None:
    names = map(name, embeddings.tokens)
    with written_whole(path) as file:
        file.write(f"{len(embeddings)} {embeddings.dimension}\n".encode())
        if binary:
            for token, vector in zip(names, embeddings.vectors.astype("<f4"), strict=True):
                file.write(f"{token} ".encode() + vector.tobytes() + b"\n")
        else:
            for token, numbers in zip(names, _numbers(embeddings, " "), strict=True):
                file.write(f"{token} {numbers}\n".encode())


def _tsv(embeddings: Vectors, folder: Path) -> list[Path]:
    vectors, metadata = folder / "vectors.tsv", folder / "metadata.tsv"
    with written_whole(vectors) as file:
        for numbers in _numbers(embeddings, "\t"):
            file.write(f"{numbers}\n".encode())
    with written_whole(metadata) as file:
        file.write(b"token\tid\tcount\n")  # the projector requires a header if there are several columns
        rows = zip(embeddings.tokens, embeddings.ids.tolist(), embeddings.counts.tolist(), strict=True)
        for token, id, count in rows:
            file.write(f"{name(token)}\t{id}\t{count}\n".encode())
    return [vectors, metadata]


def _parquet(embeddings: Vectors, path: Path) -> None:
    pyarrow = imported("pyarrow", "data", "parquet")
    parquet = imported("pyarrow.parquet", "data", "parquet")
    flat = pyarrow.array(embeddings.vectors.ravel())
    table = pyarrow.table(
        {
            "token": pyarrow.array(embeddings.tokens, pyarrow.binary()),
            "id": pyarrow.array(embeddings.ids),
            "count": pyarrow.array(embeddings.counts),
            "vector": pyarrow.FixedSizeListArray.from_arrays(flat, embeddings.dimension),
        }
    )
    with written_whole(path) as file:
        parquet.write_table(table, file, compression="zstd")
