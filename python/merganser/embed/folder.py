"""Folder: embeddings as files of our own.

| file | holds |
|---|---|
| `embeddings.safetensors` | `vectors` (F32), `ids` (U32), `counts` (U64) |
| `embeddings.json` | settings, figures of the training, the fingerprint of the tokenizer |
| `tokenizer.merganser` | the tokenizer |
| `text.safetensors` | `ids` and `ends` of the beginning of the text, for `merganser report`; may be deleted |

Each is there whole or not at all, and `embeddings.json` comes last: without it there are no embeddings.
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
from merganser.files import written_whole
from merganser.formats.loading import load as load_tokenizer
from merganser.formats.native import FILE_NAME as TOKENIZER

if TYPE_CHECKING:
    from numpy.typing import NDArray

FACTS = "embeddings.json"
VECTORS = "embeddings.safetensors"
TEXT = "text.safetensors"
VERSION = 1
#: How much of the text is kept: enough to train on again for comparisons.
KEPT_TOKENS = 2_000_000


def is_embeddings(path: str | os.PathLike[str]) -> bool:
    """Whether this is a folder of embeddings."""
    return (Path(path) / FACTS).is_file()


def save(embeddings: Vectors, folder: str | os.PathLike[str], text: Text | None = None) -> list[Path]:
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / FACTS).unlink(missing_ok=True)
    except OSError as error:
        raise WriteError(f"cannot write to the folder {folder}: {error.strerror}; choose another") from error
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
        file.write(json.dumps(facts, ensure_ascii=False, indent=1).encode() + b"\n")
    return [folder / name for name in names]


def load(folder: str | os.PathLike[str]) -> Vectors:
    """The embeddings of a folder that `Embeddings.save` or `merganser embed` wrote."""
    folder = Path(folder)
    facts = _facts(folder / FACTS)
    tokenizer = load_tokenizer(folder / TOKENIZER)
    if _core.fingerprint(tokenizer) != facts["tokenizer"]:
        raise EmbeddingsError(
            f"{folder / TOKENIZER} is not the tokenizer of these vectors, so their ids mean other tokens; "
            "put the right one there, or train again"
        )
    arrays, _ = safetensors.read(folder / VECTORS)
    missing = {"vectors", "ids", "counts"} - arrays.keys()
    if missing:
        raise EmbeddingsError(f"{folder / VECTORS} lacks {', '.join(sorted(missing))}; train again")
    try:
        return Vectors(arrays["vectors"], arrays["ids"], arrays["counts"], tokenizer, facts["training"])
    except EmbeddingsError as error:
        raise EmbeddingsError(f"{folder / VECTORS}: {error}") from error


def load_text(folder: str | os.PathLike[str]) -> Text | None:
    """The beginning of the text, if it was kept."""
    file = Path(folder) / TEXT
    if not file.exists():
        return None
    arrays, _ = safetensors.read(file)
    ids, ends = arrays.get("ids"), arrays.get("ends")
    if ids is None or ends is None or not len(ends) or ends[-1] != len(ids) or (ends[1:] < ends[:-1]).any():
        raise EmbeddingsError(f"{file} is damaged: it is no text with its ends; delete it")
    return Text(ids, ends)


def _facts(file: Path) -> dict[str, Any]:
    try:
        facts = json.loads(file.read_bytes())
    except OSError as error:
        raise EmbeddingsError(
            f"cannot read {file}: {error.strerror}; is this a folder that merganser embed wrote?"
        ) from error
    except (ValueError, RecursionError):
        raise EmbeddingsError(f"{file} is damaged: it is not JSON; train again") from None
    if not isinstance(facts, dict) or "merganser_embeddings" not in facts:
        raise EmbeddingsError(f"{file} is not what merganser writes beside embeddings")
    if facts["merganser_embeddings"] != VERSION:
        raise EmbeddingsError(
            f"{file} has the version {facts['merganser_embeddings']!r}, and this merganser reads {VERSION}; "
            "upgrade it"
        )
    if not isinstance(facts.get("training"), dict) or not isinstance(facts.get("tokenizer"), str):
        raise EmbeddingsError(f"{file} is damaged: it lacks something; train again")
    return facts
