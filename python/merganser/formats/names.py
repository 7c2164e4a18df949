"""Tokenizers by name: tiktoken's encodings, and repositories of the Hugging Face hub.

What a name means is tried in this order: an existing path; a prefix, `tiktoken:`, `hf:` or `transformers:`;
an encoding or model of tiktoken; a repository `owner/name`. The installed libraries fetch and cache: tiktoken
the ranks of its encodings, huggingface_hub the data files of a tokenizer, from its cache if they are there.
Nothing in a repository is executed, and pickles are not fetched.

Without a network, an error says within two seconds what to do: the server is contacted first, briefly.
"""

import os
import re
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from merganser.corpus.addresses import reason
from merganser.errors import FormatError, TokenizerError, did_you_mean

PREFIXES = ("tiktoken", "hf", "transformers")
_REPOSITORY = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}")
#: A missing file, and no repository.
_FILE = re.compile(r"\.(json|model|gguf|tiktoken|gz|txt|bpe|spm|pkl|npy|merganser)$|\.model\.v\w+$|^\.")
#: Encodings of tiktoken with the files that it caches.
_RANKS = "https://openaipublic.blob.core.windows.net/encodings/"
_GPT2 = "https://openaipublic.blob.core.windows.net/gpt-2/encodings/main/"
_ENCODINGS = {
    "gpt2": (f"{_GPT2}vocab.bpe", f"{_GPT2}encoder.json"),
    "r50k_base": (f"{_RANKS}r50k_base.tiktoken",),
    "p50k_base": (f"{_RANKS}p50k_base.tiktoken",),
    "p50k_edit": (f"{_RANKS}p50k_base.tiktoken",),
    "cl100k_base": (f"{_RANKS}cl100k_base.tiktoken",),
    "o200k_base": (f"{_RANKS}o200k_base.tiktoken",),
    "o200k_harmony": (f"{_RANKS}o200k_base.tiktoken",),
}
#: Names that can only be meant for tiktoken, to say so where it is not installed.
_OPENAI = re.compile(r"gpt-?[1-9].*|o[1-9](-.*)?|chatgpt-.*|text-(embedding|davinci)-.*")
#: Sets of files in a repository that hold a tokenizer, the best first.
_SETS: tuple[tuple[str, ...], ...] = (
    ("tokenizer.json",),
    ("tekken.json",),
    ("tokenizer.model",),
    ("spiece.model",),
    ("sentencepiece.bpe.model",),
    ("vocab.json", "merges.txt"),
)
#: Read beside a set if it exists: it may name the kind.
_CONFIG = "tokenizer_config.json"


def split_prefix(name: str) -> tuple[str | None, str]:
    """Return the library that a name begins with, if any, and the rest.

    >>> split_prefix("hf:owner/name"), split_prefix("gpt-4o")
    (('hf', 'owner/name'), (None, 'gpt-4o'))
    """
    library, colon, rest = name.partition(":")
    return (library, rest) if colon and rest and library in PREFIXES else (None, name)


def is_name(name: str) -> bool:
    """Return whether this can be a name, and not only the path of a missing file."""
    library, rest = split_prefix(name)
    return bool(library or _encoding(rest) or is_repository(rest))


class Encoding(NamedTuple):
    """An encoding of tiktoken, the models that use it, and whether it opens without a network."""

    name: str
    models: tuple[str, ...]
    is_here: bool


def encodings() -> list[Encoding]:
    """Return the encodings of an installed tiktoken, newest first, plugins included."""
    if find_spec("tiktoken") is None:
        return []
    from tiktoken import list_encoding_names
    from tiktoken.model import MODEL_TO_ENCODING

    models: dict[str, list[str]] = {}
    for model, encoding in MODEL_TO_ENCODING.items():
        models.setdefault(encoding, []).append(model)
    known = sorted(list_encoding_names(), key=lambda name: (*_ENCODINGS, name).index(name))
    return [
        Encoding(name, tuple(models.get(name, ())), all(map(_is_cached, _ENCODINGS.get(name, ()))))
        for name in reversed(known)
    ]


def has_hub() -> bool:
    """Return whether repositories of the hub can be resolved."""
    return find_spec("huggingface_hub") is not None


def cached_repositories() -> list[str]:
    """Return the repositories whose tokenizer is in the cache of an installed huggingface_hub."""
    if not has_hub():
        return []
    hub = import_module("huggingface_hub")
    cache = Path(import_module("huggingface_hub.constants").HF_HUB_CACHE)
    found: list[str] = []
    for folder in sorted(cache.glob("models--*--*")):
        name = folder.name.removeprefix("models--").replace("--", "/")
        with suppress(import_module("huggingface_hub.errors").HFValidationError):  # not a folder of the hub
            if is_repository(name) and _cached_folder(hub, name, None):
                found.append(name)
    return found


def nearest_encoding(name: str) -> str:
    """Return the end of a message that suggests a similar encoding; nothing if none is similar."""
    return did_you_mean(name, tuple(_ENCODINGS))


def is_repository(name: str) -> bool:
    """Return whether a name has the form of a repository, and not of a file."""
    return bool(_REPOSITORY.fullmatch(name)) and not _FILE.search(name)


def resolve(name: str, revision: str | None) -> Any:
    """Return a live object or the path of a folder for a name that is not an existing path."""
    library, rest = split_prefix(name)
    encoding = _encoding(rest) if library in (None, "tiktoken") else None
    if encoding or library == "tiktoken":
        if revision is not None:
            raise FormatError(
                f"{name} is an encoding of tiktoken, which has no revisions; leave out revision"
            )
        return _from_tiktoken(name, encoding or rest)
    if library == "transformers":
        return _from_transformers(rest, revision)
    if library == "hf" or _REPOSITORY.fullmatch(rest):
        return _from_hub(rest, revision)
    raise FormatError(
        f"there is no tokenizer {name}: no file or folder has this path, and it is neither an encoding or "
        "model of tiktoken nor a repository owner/name of the Hugging Face hub; check the path or name"
    )


# ── tiktoken ──────────────────────────────────────────────────────────────────


def _encoding(name: str) -> str | None:
    """Return the encoding of that name, or of the model of that name; None if tiktoken has neither."""
    if find_spec("tiktoken") is None:
        return name if name in _ENCODINGS or _OPENAI.fullmatch(name) else None
    import tiktoken

    if name in _ENCODINGS or ("/" not in name and name in tiktoken.list_encoding_names()):
        return name
    try:
        return tiktoken.encoding_name_for_model(name)
    except KeyError:
        return None


def _from_tiktoken(name: str, encoding: str) -> Any:
    try:
        tiktoken = import_module("tiktoken")
    except ImportError as error:
        raise ImportError(f"{name} needs tiktoken: pip install 'merganser[tiktoken]'") from error
    if missing := [url for url in _ENCODINGS.get(encoding, ()) if not _is_cached(url)]:
        _check_connection(missing[0], f"the encoding {encoding} is not in tiktoken's cache", "its rank file")
    try:
        return tiktoken.get_encoding(encoding)
    except Exception as error:  # of plugins and of the network
        raise TokenizerError(
            f"tiktoken cannot open {encoding}: {reason(error)}; check the name and the network, or pass a "
            "file"
        ) from error


def _is_cached(url: str) -> bool:
    """Return whether tiktoken has a file in its cache."""
    import hashlib  # slow to import, as tempfile is
    import tempfile

    default = str(Path(tempfile.gettempdir(), "data-gym-cache"))
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR", default))
    return bool(folder) and Path(folder, hashlib.sha1(url.encode()).hexdigest()).exists()


# ── the hub ───────────────────────────────────────────────────────────────────


def _from_hub(repository: str, revision: str | None) -> Path:
    """Return the folder of huggingface_hub's cache that holds the tokenizer of a repository."""
    try:
        hub = import_module("huggingface_hub")
    except ImportError as error:
        raise ImportError(
            f"{repository} needs huggingface_hub: pip install 'merganser[hf]'; or pass the path of a file"
        ) from error
    if not _REPOSITORY.fullmatch(repository):
        raise FormatError(f"{repository} is not the name of a repository, which has the form owner/name")
    errors = import_module("huggingface_hub.errors")
    try:
        if cached := _cached_folder(hub, repository, revision):
            return cached
        if hub.constants.HF_HUB_OFFLINE:
            raise FormatError(_not_cached(repository) + "; unset HF_HUB_OFFLINE, or pass the path of a file")
        _check_connection(hub.constants.ENDPOINT, _not_cached(repository), "its tokenizer.json")
        return _downloaded(hub, repository, revision)
    except errors.GatedRepoError:
        raise FormatError(
            f"{repository} is gated: accept its terms on the hub, log in with `hf auth login`, and try again"
        ) from None
    except errors.RevisionNotFoundError:
        raise FormatError(
            f"{repository} has no revision {revision}; check the branch, tag or commit"
        ) from None
    except errors.RepositoryNotFoundError:
        raise FormatError(
            f"there is no repository {repository} on the hub, or it is private: check the name, or log in "
            "with `hf auth login`"
        ) from None
    except errors.HFValidationError as error:
        raise FormatError(f"{repository} is not the name of a repository: {reason(error)}") from None
    except (errors.HfHubHTTPError, OSError) as error:
        raise FormatError(
            f"cannot fetch {repository}: {reason(error)}; check the network, or pass the path of a file"
        ) from error


def _not_cached(repository: str) -> str:
    return f"the tokenizer of {repository} is not in huggingface_hub's cache"


def _cached_folder(hub: Any, repository: str, revision: str | None) -> Path | None:
    """Return the folder of a cached tokenizer; None if it is not cached."""
    for names in _SETS:
        files = [hub.try_to_load_from_cache(repository, name, revision=revision) for name in names]
        if all(isinstance(file, str) for file in files):
            return Path(files[0]).parent
    return None


def _downloaded(hub: Any, repository: str, revision: str | None) -> Path:
    """Download the data files of a tokenizer; return their folder."""
    present = set(hub.list_repo_files(repository, revision=revision))
    names = next((names for names in _SETS if present.issuperset(names)), None)
    if names is None:
        others = sorted(
            name for name in present if name.endswith((".tiktoken", ".model", ".gguf", "vocab.txt"))
        )
        hint = f"; it has {', '.join(others[:5])}: download the file and pass its path" if others else ""
        raise FormatError(
            f"{repository} has none of the files {', '.join(name for names in _SETS for name in names)}{hint}"
        )
    if "tokenizer.json" not in names and _CONFIG in present:
        names = (*names, _CONFIG)
    files = [Path(hub.hf_hub_download(repository, name, revision=revision)) for name in names]
    return files[0].parent


# ── transformers ──────────────────────────────────────────────────────────────


def _from_transformers(name: str, revision: str | None) -> Any:
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise ImportError(f"transformers:{name} needs transformers: pip install transformers") from error
    try:
        return transformers.AutoTokenizer.from_pretrained(
            name, revision=revision or "main", trust_remote_code=False
        )
    except Exception as error:  # of many types
        raise TokenizerError(f"transformers cannot open {name}: {reason(error)}; check the name") from error


# ── the network ───────────────────────────────────────────────────────────────


def _check_connection(url: str, missing: str, file: str) -> None:
    """Raise a `FormatError` if no connection to the server of a URL can be opened quickly."""
    from merganser.corpus.reachability import connecting  # imports urllib.request, which is slow

    if (problem := connecting(url)()) is not None:
        raise FormatError(
            f"{missing}, and {urlsplit(url).hostname} cannot be reached ({problem}): connect to the network "
            f"once, or pass the path of {file}"
        )
