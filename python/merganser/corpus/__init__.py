"""Everything that can be passed as a corpus, and how it is read.

`merganser.count`, `merganser.train`, `Tokenizer.encode_corpus` and the functions built on them accept the
same sources:

| source                        | read as                                                                   |
|-------------------------------|---------------------------------------------------------------------------|
| `"texts/a.txt"`, a `Path`     | one file                                                                  |
| `"texts/"`                    | every file below a folder, in sorted order; hidden files are skipped      |
| `"texts/**/*.jsonl.gz"`       | the files that match a glob, in sorted order                              |
| `"s3://bucket/texts/"`        | a file, folder or glob at any URL that fsspec supports: `s3://`, `gs://`, |
|                               | `hf://`, `https://`, … (`pip install 'merganser[data]'`; see `remote`)    |
| `"-"`                         | standard input                                                            |
| `"frankenstein"`,             | a named dataset, unless a file or folder of that name exists (see         |
| `"wikitext2"`, …              | `named_datasets`)                                                         |
| `[Path("a.txt"), Path("b/")]` | each path as above; the elements must be `Path` objects, not strings      |
| `["some text", b"bytes"]`     | documents, from any iterable, pulled `buffer_size` at a time              |
| a Hugging Face dataset        | the column `text_key`, one document per row (see `tables`)                |

A string on its own is always a path, URL or name; a string inside an iterable is always a document. To pass a
single text, wrap it in a list: `train([text], 512)`.

The file name determines the format:

| file name                             | contents                                                          |
|---------------------------------------|-------------------------------------------------------------------|
| `.jsonl`, `.ndjson`, `.json`          | JSON objects with the text at `text_key`, or JSON strings         |
| `.csv`, `.tsv`                        | a table whose column `text_key` holds the text                    |
| `.parquet`                            | a table, likewise (`pip install 'merganser[data]'`)               |
| `.counts`                             | saved counts, as `Counts.save` writes them, instead of text       |
| `.counts.tsv`                         | counts as `pre-token<TAB>count`, as `Counts.to_tsv` writes them   |
| any other                             | plain text, in UTF-8                                              |
| text or records ending in             | the same, decompressed while reading; the compression is          |
| `.gz`, `.zst`, `.xz`, `.bz2`          | detected from the first bytes of the file                         |

Plain text, and the text of each record, is split into documents at the separator, `<|endoftext|>` by default.
`ReadOptions` sets the text key, the handling of unreadable input and the limits on decompression.

Binary files are rejected when named explicitly, and skipped with a warning when a folder or glob includes
them (see `binary`). Invalid UTF-8 in a text file is kept: each invalid byte is a pre-token, and
`invalid_bytes` counts them.

Examples
--------
>>> import tempfile
>>> from pathlib import Path
>>> import merganser
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = Path(folder, "a.txt").write_text("to be or not to be")
...     _ = Path(folder, "b.jsonl").write_text('{"text": "to do"}')
...     merganser.count(folder).most_common(2)
[(b' be', 2), (b'to', 2)]
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from merganser.corpus.sources import (
        DEFAULT,
        OFFLINE,
        STDIN,
        Corpus,
        NoSuchPath,
        Source,
        TableDocuments,
        default,
        is_read_once,
        resolve,
    )

__all__ = [
    "DEFAULT",
    "OFFLINE",
    "STDIN",
    "Corpus",
    "NoSuchPath",
    "Source",
    "TableDocuments",
    "default",
    "is_read_once",
    "resolve",
]


def __getattr__(name: str) -> Any:
    # A tokenizer needs the settings in this package and no sources, which take longer to import.
    if name not in __all__:
        raise AttributeError(f"module 'merganser.corpus' has no attribute {name!r}")
    from merganser.corpus import sources

    return getattr(sources, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
