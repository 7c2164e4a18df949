"""Nearby tokenizers: what can be added without typing a name, and what a download needs.

Files are looked for in the folder where the studio was started and in those it may read, two folders deep,
without hidden folders and without links that lead out; the page can load these files and no others of the
start folder. Encodings are those of the installed tiktoken, repositories those in the hub's cache. Nothing
connects to the network until the user chooses an entry that is listed as a download. Takes a few milliseconds
for a folder of a project; at most 3,000 entries are looked at.
"""

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from merganser.formats import names
from merganser.formats.recognizing import is_tokenizer

#: How deep folders are searched, and how many entries are looked at and listed.
DEEPEST, MOST_SEEN, MOST_FOUND = 2, 3_000, 60
_FILE = re.compile(
    r"tokenizer\.json|tekken\.json|.+\.(merganser|tiktoken|gguf|model|spm)|.+\.model\.v\w+", re.IGNORECASE
)
_SKIPPED = {"__pycache__", "node_modules", "site-packages", "target", "venv"}
#: Public repositories whose kinds of tokenizers are tested.
_REPOSITORIES = (
    "Qwen/Qwen3-8B",
    "microsoft/Phi-3-mini-4k-instruct",
    "allenai/OLMo-2-1124-7B",
    "EleutherAI/gpt-neox-20b",
    "tiiuae/falcon-7b",
    "openai-community/gpt2",
)


class Nearby:
    """The folders in which tokenizer files are looked for."""

    def __init__(self, roots: Iterable[Path]) -> None:
        resolved = sorted({root.resolve() for root in roots}, key=lambda root: len(root.parts))
        self.roots = [root for root in resolved if not any(other in root.parents for other in resolved)]

    def files(self) -> list[tuple[Path, Path]]:
        """Return the folder and the path of each tokenizer file, nearest first."""
        return [(root, path) for root in self.roots for path in _files(root)][:MOST_FOUND]

    def find(self, name: str) -> Path:
        """Return the path of a listed file.

        Raises
        ------
        HTTPException
            404 if the file is not listed.
        """
        for _, path in self.files():
            if str(path) == name:
                return path
        raise HTTPException(404, f"{name} is not among the listed tokenizers; open the list again")


def _files(root: Path) -> Iterator[Path]:
    seen = 0
    folders = deque([(root, 0)])
    while folders:
        folder, depth = folders.popleft()
        with suppress(OSError):  # a folder that may not be read
            for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
                seen += 1
                if seen > MOST_SEEN:
                    return
                path = Path(entry.path)
                if entry.is_dir(follow_symlinks=False):
                    if depth < DEEPEST and entry.name[0] != "." and entry.name not in _SKIPPED:
                        folders.append((path, depth + 1))
                elif _FILE.fullmatch(entry.name) and path.resolve().is_relative_to(root):
                    with suppress(OSError, UnicodeEncodeError):  # unreadable, or a name that is not UTF-8
                        str(path).encode()
                        if is_tokenizer(path):
                            yield path


def title(path: Path) -> str:
    """Return a name for the tokenizer of a file: that of its folder if the file has the usual name.

    >>> title(Path("models/qwen3/tokenizer.json")), title(Path("models/mine.merganser"))
    ('qwen3', 'mine')
    """
    stem = path.name.partition(".")[0]
    return path.parent.name if stem in ("tokenizer", "tekken") and path.parent.name else stem


def listed(nearby: Nearby) -> dict[str, list[dict[str, Any]]]:
    """Return the entries on this machine, and those that are downloaded when they are chosen.

    An entry has a label, a note, and either the path of a file or a name; of an encoding also all its models.
    """
    here: list[dict[str, Any]] = []
    for root, path in nearby.files():
        with suppress(OSError):  # removed meanwhile
            label, note = str(path.relative_to(root)), str(root) if len(nearby.roots) > 1 else ""
            here.append({"label": label, "note": note, "bytes": path.stat().st_size, "file": str(path)})
    downloads: list[dict[str, Any]] = []
    for encoding in names.encodings():
        models = sorted(encoding.models, key=lambda model: not model.startswith("gpt"))
        note = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
        entry: dict[str, Any] = {"label": encoding.name, "note": note or "tiktoken", "also": models}
        entry["name"] = f"tiktoken:{encoding.name}"
        (here if encoding.is_here else downloads).append(entry)
    cached = names.cached_repositories()
    here += [{"label": name, "note": "cache of the hub", "name": f"hf:{name}"} for name in cached]
    if names.has_hub():
        others = [name for name in _REPOSITORIES if name not in cached]
        downloads += [{"label": name, "note": "Hugging Face hub", "name": f"hf:{name}"} for name in others]
    return {"here": here, "downloads": downloads}
