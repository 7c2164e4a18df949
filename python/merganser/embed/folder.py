"""Embeddings in merganser's own files.

| file | content |
|---|---|
| `embeddings.safetensors` | `vectors` (F32), `ids` (U32), `counts` (U64) |
| `embeddings.json` | settings and figures of the training, fingerprint of the tokenizer |
| `tokenizer.merganser` | the tokenizer |
| `text.safetensors` | `ids` and `ends` of the first part of the text, for `merganser report`; may be deleted
|

Each file is written atomically, and `embeddings.json` last: a folder without it is incomplete.
"""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser import _core
from merganser.embed import safetensors
from merganser.embed.text import Text
from merganser.embed.vectors import Vectors
from merganser.errors import EmbeddingsError, WriteError
from merganser.files import SEAL, read_bytes, seal_matches, sealed, written_whole
from merganser.formats.loading import load as load_tokenizer
from merganser.formats.native import FILE_NAME as TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

FACTS = "embeddings.json"
VECTORS = "embeddings.safetensors"
TEXT = "text.safetensors"
VERSION = 2
#: The number of tokens of text that are kept: enough to train on again for comparisons.
KEPT_TOKENS = 2_000_000


def is_embeddings(path: str | os.PathLike[str]) -> bool:
    """Return whether this is a folder of embeddings."""
    return (Path(path) / FACTS).is_file()


def save(embeddings: Vectors, folder: str | os.PathLike[str], text: Text | None = None) -> list[Path]:
    """Write embeddings, and the first part of the text if given, to a folder; return the files."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FACTS).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(
            f"cannot write to the folder {folder}: {error.strerror}; choose another folder"
        ) from error
    embeddings.tokenizer.save(folder / TOKENIZER)
    arrays: dict[str, NDArray[Any]] = {
        "vectors": embeddings.vectors,
        "ids": embeddings.ids,
        "counts": embeddings.counts,
    }
    safetensors.write(folder / VECTORS, arrays, {"format": "np"})
    names = [VECTORS, FACTS, TOKENIZER]
    if text is not None:
        kept = text.first(KEPT_TOKENS)
        safetensors.write(folder / TEXT, {"ids": kept.ids, "ends": kept.ends}, {})
        names.append(TEXT)
    facts = {
        "merganser_embeddings": VERSION,
        "tokens": len(embeddings),
        "dimension": embeddings.dimension,
        "tokenizer": _core.fingerprint(embeddings.tokenizer),
        "training": dict(embeddings.training),
    }
    with written_whole(folder / FACTS) as file:
        file.write(sealed(facts))
    return [folder / name for name in names]


def load(folder: str | os.PathLike[str]) -> Vectors:
    """Load the vectors in a folder written by `Embeddings.save` or `merganser embed`."""
    folder = Path(folder)
    facts = _facts(folder / FACTS)
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if _core.fingerprint(tokenizer) != facts["tokenizer"]:
        raise EmbeddingsError(
            f"{folder / TOKENIZER} is not the tokenizer of these vectors; restore the right one, or train "
            "again"
        )
    arrays, _ = safetensors.read(folder / VECTORS, ours=True)
    missing = {"vectors", "ids", "counts"} - arrays.keys()
    if missing:
        raise EmbeddingsError(f"{folder / VECTORS} lacks {', '.join(sorted(missing))}; train again")
    try:
        return Vectors(arrays["vectors"], arrays["ids"], arrays["counts"], tokenizer, facts["training"])
    except EmbeddingsError as error:
        raise EmbeddingsError(f"{folder / VECTORS}: {error}") from error


def load_text(folder: str | os.PathLike[str]) -> Text | None:
    """Return the first part of the text, or None if it was not kept."""
    file = Path(folder) / TEXT
    if not file.exists():
        return None
    arrays, _ = safetensors.read(file, ours=True)
    ids, ends = arrays.get("ids"), arrays.get("ends")
    if ids is None or ends is None or not len(ends) or ends[-1] != len(ids) or (ends[1:] < ends[:-1]).any():
        raise EmbeddingsError(f"{file} is corrupt: its ids and ends do not match; delete it")
    return Text(ids, ends)


def _facts(file: Path) -> dict[str, Any]:
    try:
        data = read_bytes(file)
        facts = json.loads(data)
    except OSError as error:
        raise EmbeddingsError(
            f"cannot read {file}: {error.strerror}; pass a folder written by merganser embed"
        ) from error
    except (ValueError, RecursionError):
        raise EmbeddingsError(f"{file} is corrupt: it is not JSON; train again") from None
    if not isinstance(facts, dict) or "merganser_embeddings" not in facts:
        raise EmbeddingsError(f"{file} was not written by merganser embed; check the path")
    version = facts["merganser_embeddings"]
    if type(version) is not int or not 1 <= version <= VERSION:
        raise EmbeddingsError(
            f"{file} has format version {version!r}, but this merganser reads versions up to {VERSION}; "
            "upgrade merganser"
        )
    if (version > 1 or SEAL in facts) and not seal_matches(data):  # version 1 had no checksum
        raise EmbeddingsError(f"{file} is corrupt: its checksum does not match; train again")
    if not isinstance(facts.get("training"), dict) or not isinstance(facts.get("tokenizer"), str):
        raise EmbeddingsError(f"{file} is corrupt: it lacks the training or the tokenizer; train again")
    return facts
