"""Corpus: what the caller points at becomes files, streams, counts files or documents.

| given                       | means                                                                       |
|-----------------------------|-----------------------------------------------------------------------------|
| a `str` or `Path`           | a file; a folder (all files below it, sorted, hidden ones skipped); a glob; |
|                             | `-`, standard input; an address, `s3://…`, `https://…` or any other of      |
|                             | fsspec (see `remote`), which may be a file, a folder or a glob as well;     |
|                             | a named data set (see `named`), unless there is a file of that name         |
| an iterable of `Path`       | each of them as above                                                       |
| an iterable of `str`/`bytes`| documents, pulled `buffer_size` at a time                                   |
| a Hugging Face dataset      | its column `text`, every row a document (see `tables`)                      |

| a name that ends in         | is                                                                          |
|-----------------------------|-----------------------------------------------------------------------------|
| `.counts`                   | counts that were saved, not text                                            |
| `.counts.tsv`               | the same as lines `pre-token<TAB>count`, as `Counts.to_tsv` writes them.    |
|                             | The name alone decides: any other `.tsv` is a table                         |
| `.parquet`                  | a table: its column `text`, every row a document (see `tables`)             |
| anything else               | JSON, CSV or text by its name, compressed or not: see `read_options`        |
|                             | A binary file is refused, or skipped where a folder or a                    |
|                             | glob has found it (`binary`)                                                |
"""

from merganser.corpus.sources import (
    DEFAULT,
    OFFLINE,
    STDIN,
    Corpus,
    NoSuchPath,
    Position,
    Source,
    Tables,
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
    "Position",
    "Source",
    "Tables",
    "default",
    "is_read_once",
    "resolve",
]
