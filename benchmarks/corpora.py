"""The input corpora by name, generated once and cached outside the repository.

- `mixed`: english + multilingual + code of `../shared/corpora`, 132 MB;
- sizes below mixed, such as `10MB`: whole documents from the start of the three files, in the
  same proportions as in mixed;
- sizes above mixed, such as `1GB`: text recombined from mixed (`recombine.py`);
- `zipf10m`: 10 million unique pre-tokens with Zipf counts, no text (`zipf.py`);
- `pathological`: runs of one character, and text without line breaks, to check for linear time.

Without `../shared`, mixed is the source code of Python's standard library.
"""

from __future__ import annotations

import os
import re
import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.environment import REPOSITORY, say
from benchmarks.patterns import SEPARATOR

FILES = ("english.txt", "multilingual.txt", "code.txt")
MARK = SEPARATOR.encode() + b"\n"
UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9}
RUNS = {"letter": b"a", "spaces": b" ", "newlines": b"\n", "emoji": "\N{DUCK}".encode()}


def cache() -> Path:
    """Return the cache folder: MERGANSER_BENCH_CACHE, or a folder in the user's cache."""
    root = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    folder = Path(os.environ.get("MERGANSER_BENCH_CACHE", Path(root) / "merganser-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def size_of(name: str) -> int:
    """Parse a size: `10MB` → 10,000,000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(KB|MB|GB)", name.upper())
    if not found:
        raise SystemExit(f"unknown size {name!r}; use 10MB, mixed, 1GB, zipf10m, pathological or similar")
    return int(float(found[1]) * UNITS[found[2]])


def shared() -> Path | None:
    """Return the folder of shared corpora next to the checkout, or None."""
    named = os.environ.get("MERGANSER_CORPORA")
    candidates = [Path(named)] if named else [REPOSITORY.parent / "shared" / "corpora"]
    return next((f for f in candidates if all((f / name).exists() for name in FILES)), None)


def corpus(name: str) -> Path:
    """Return the corpus of that name; generate it if it is not cached."""
    origin = "mixed" if shared() else "stdlib"
    if name == "mixed":
        return cached(f"{origin}.txt", lambda target: write(target, sources()))
    size = size_of(name)
    whole = corpus("mixed")
    if size <= whole.stat().st_size:
        return cached(f"{origin}-{size}.txt", lambda target: sample(target, size))
    from benchmarks import recombine

    return cached(f"{origin}-recombined-{size}.txt", lambda target: recombine.write(whole, target, size))


def cached(name: str, write_to: Callable[[Path], object]) -> Path:
    """Return a cached file; `write_to` creates it under a temporary name, which is then renamed."""
    path = cache() / name
    if not path.exists():
        say(f"generating {path}")
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        write_to(temporary)
        temporary.replace(path)
    return path


def sources() -> list[list[bytes]]:
    """Return the documents of each part of mixed, including their final newlines."""
    folder = shared()
    if folder:
        return [[d for d in (folder / f).read_bytes().split(MARK) if d] for f in FILES]
    return [list(standard_library())]


def standard_library() -> Iterator[bytes]:
    """Yield the source files of Python's standard library, in a fixed order."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            yield path.read_text(encoding="utf-8").encode()
        except (UnicodeDecodeError, OSError):
            continue


def write(target: Path, parts: list[list[bytes]]) -> None:
    """Write documents, each followed by a separator line."""
    with target.open("wb") as file:
        for part in parts:
            file.writelines(document + MARK for document in part)


def sample(target: Path, size: int) -> None:
    """Write whole documents from the start of each part, in proportion.

    Documents that would exceed the size are skipped, so that one long book does not fill a small
    sample. If no document of a part fits, the first one is truncated at a line break.
    """
    parts = sources()
    total = sum(len(d) + len(MARK) for part in parts for d in part)
    chosen = []
    for part in parts:
        budget = size * sum(len(d) + len(MARK) for d in part) // total
        taken: list[bytes] = []
        for document in part:
            if len(document) + len(MARK) <= budget:
                taken.append(document)
                budget -= len(document) + len(MARK)
        if not taken:
            taken = [first_lines(part[0], budget)]
        chosen.append(taken)
    write(target, chosen)


def first_lines(document: bytes, size: int) -> bytes:
    """Return the beginning of a document, up to the last line that fits."""
    head = document[:size]
    return head[: head.rfind(b"\n") + 1] or head.decode(errors="ignore").encode()


def run_of(kind: str, size: int) -> Path:
    """Return a file with a run of one character, or mixed on a single line."""
    if kind == "one line":
        return cached(f"one-line-{size}.txt", lambda target: one_line(target, size))
    unit = RUNS[kind]
    return cached(f"run-{kind}-{size}.txt", lambda target: target.write_bytes(unit * (size // len(unit))))


def one_line(target: Path, size: int) -> None:
    """Write text of mixed as one document without line breaks.

    The same fraction of every 64 KB block is taken, so that files differ only in size.
    """
    data = corpus("mixed").read_bytes().replace(SEPARATOR.encode(), b" ")
    data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    block = 1 << 16
    share = min(block, block * size // len(data))
    sample = b"".join(data[at : at + share] for at in range(0, len(data), block))
    target.write_bytes(sample.decode(errors="ignore").encode())
