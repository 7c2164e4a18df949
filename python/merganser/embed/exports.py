"""Exports: vectors in the files of others.

| format | files | read by |
|---|---|---|
| `word2vec` | text: `tokens dimension`, then a line for each token | gensim, spaCy and many others |
| `word2vec-bin` | the same with the numbers as four bytes each | gensim (`binary=True`) |
| `tsv` | `vectors.tsv` and `metadata.tsv` in a folder | the Embedding Projector |
| `parquet` | a table `token` (binary), `id`, `count`, `vector` (list of float) | with the extra `[data]` |

word2vec separates by white space, so a token is written there with `▁` (U+2581) for a space, as others do,
and with `\\n`, `\\xff` and so on for what is no text; every token has a name of its own.
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
    """Writes the files, each whole or not at all, and gives their paths."""
    path = Path(path)
    if format not in FORMATS:
        raise SettingsError(f"format is one of {', '.join(FORMATS)}, not {format!r}")
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
    """A token as one word, and no other token's.

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
    """Rows as text; nine digits bring back the same float."""
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
        file.write(b"token\tid\tcount\n")  # with more than one column, the projector wants a heading
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
