"""The inputs, by name; made once and kept in a cache outside the repository.

- `mixed`: english + multilingual + code of `../shared/corpora`, 132 MB;
- `10MB` and the like, below mixed: whole documents from the beginning of the three files, in
  the proportion that they have in mixed;
- `1GB` and the like, above mixed: text recombined from mixed (`recombine.py`);
- `zipf10m`: 10 million unique pre-tokens with Zipf counts, no text (`zipf.py`);
- runs of one character, and text without a newline, for linear time (`pathological`).

Without `../shared`, mixed is the running interpreter's own library: sources and documentation.
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
    """Where made corpora are kept: MERGANSER_BENCH_CACHE, or the user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")
    folder = Path(os.environ.get("MERGANSER_BENCH_CACHE", Path(root) / "merganser-bench"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def size_of(name: str) -> int:
    """`10MB` → 10,000,000."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(KB|MB|GB)", name.upper())
    if not found:
        raise SystemExit(f"unknown size {name!r}: 10MB, mixed, 1GB, zipf10m, pathological …")
    return int(float(found[1]) * UNITS[found[2]])


def shared() -> Path | None:
    """The folder of shared corpora beside the checkout, if it is there."""
    named = os.environ.get("MERGANSER_CORPORA")
    candidates = [Path(named)] if named else [REPOSITORY.parent / "shared" / "corpora"]
    return next((f for f in candidates if all((f / name).exists() for name in FILES)), None)


def corpus(name: str) -> Path:
    """The file of that name, made if need be."""
    origin = "mixed" if shared() else "stdlib"
    if name == "mixed":
        return made(f"{origin}.txt", lambda target: write(target, sources()))
    size = size_of(name)
    whole = corpus("mixed")
    if size <= whole.stat().st_size:
        return made(f"{origin}-{size}.txt", lambda target: sample(target, size))
    from benchmarks import recombine

    return made(f"{origin}-recombined-{size}.txt", lambda target: recombine.write(whole, target, size))


def made(name: str, make: Callable[[Path], object]) -> Path:
    """The cached file; made under a temporary name first, so that it is whole or not there."""
    path = cache() / name
    if not path.exists():
        say(f"making {path}")
        temporary = path.with_name(f"{path.name}.{os.getpid()}.part")
        make(temporary)
        temporary.replace(path)
    return path


def sources() -> list[list[bytes]]:
    """The documents of each part of mixed, every one with the newline that ends it."""
    folder = shared()
    if folder:
        return [[d for d in (folder / f).read_bytes().split(MARK) if d] for f in FILES]
    return [list(standard_library())]


def standard_library() -> Iterator[bytes]:
    """The interpreter's own sources and documentation, in a fixed order."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if "site-packages" in path.parts:
            continue
        try:
            yield path.read_text(encoding="utf-8").encode()
        except (UnicodeDecodeError, OSError):
            continue


def write(target: Path, parts: list[list[bytes]]) -> None:
    """Write documents, each followed by a line with the separator."""
    with target.open("wb") as file:
        for part in parts:
            file.writelines(document + MARK for document in part)


def sample(target: Path, size: int) -> None:
    """Whole documents from the start of each part, in proportion.

    A document that would overshoot is passed over, so that one long book does not fill a small
    sample; should the parts hold none that fits, one is cut at a line.
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
    """The document's beginning, up to the last line that fits."""
    head = document[:size]
    return head[: head.rfind(b"\n") + 1] or head.decode(errors="ignore").encode()


def run_of(kind: str, size: int) -> Path:
    """A file that is one run of a single character, or mixed on a single line."""
    if kind == "one line":
        return made(f"one-line-{size}.txt", lambda target: one_line(target, size))
    unit = RUNS[kind]
    return made(f"run-{kind}-{size}.txt", lambda target: target.write_bytes(unit * (size // len(unit))))


def one_line(target: Path, size: int) -> None:
    """Text of mixed as one document without any line break: the same share of every stretch, so
    that two sizes differ in nothing but their size."""
    data = corpus("mixed").read_bytes().replace(SEPARATOR.encode(), b" ")
    data = data.replace(b"\r", b" ").replace(b"\n", b" ")
    stretch = 1 << 16
    share = min(stretch, stretch * size // len(data))
    sample = b"".join(data[at : at + share] for at in range(0, len(data), stretch))
    target.write_bytes(sample.decode(errors="ignore").encode())
