"""Prove that two trainers learned the same merges, or report the first difference.

A faster trainer with a different vocabulary has not done the same work: a peer is timed only after its merges
equal merganser's under the same tie-breaking rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks import measure
from benchmarks.measure import Job

Merge: TypeAlias = tuple[bytes, bytes]

# Differences caused by a known bug of the peer: (peer, tie rule) → explanation.
# Such a peer is still timed, and the table says so.
KNOWN_BUGS: dict[tuple[str, str], str] = {}


def write(merges: list[Merge], path: Path) -> None:
    """Write one merge per line, both sides in hexadecimal, so that `cmp` can compare files."""
    path.write_text("".join(f"{a.hex()} {b.hex()}\n" for a, b in merges), encoding="ascii")


def read(path: Path) -> list[Merge]:
    """Read a file written by `write`."""
    pairs = (line.split(" ") for line in path.read_text(encoding="ascii").splitlines())
    return [(bytes.fromhex(a), bytes.fromhex(b)) for a, b in pairs]


def first_difference(ours: list[Merge], theirs: list[Merge]) -> str | None:
    """Describe the first difference between two lists of merges; None if they are equal."""
    if ours == theirs:
        return None
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if at is None:
        return f"merganser has {len(ours)} merges, the peer {len(theirs)}; the common prefix is equal"
    return (
        f"merge {at}: merganser {shown(ours[at])}, the peer {shown(theirs[at])}; "
        f"merganser's is at {position(theirs, ours[at])} in the peer's list, the peer's at "
        f"{position(ours, theirs[at])} in merganser's; previous merge "
        f"{shown(ours[at - 1]) if at else 'none'}; "
        f"{len(set(ours) ^ set(theirs)) // 2} of {len(ours)} merges differ as sets"
    )


def shown(merge: Merge) -> str:
    """Format a merge: b'th' + b'e'."""
    return f"{merge[0]!r} + {merge[1]!r}"


def position(merges: list[Merge], merge: Merge) -> str:
    """Return the index of a merge, or `nowhere`."""
    return str(merges.index(merge)) if merge in merges else "nowhere"


@dataclass(frozen=True)
class Verdict:
    """The result of one comparison; `equal` is None if it failed."""

    peer: str
    tie: str
    where: str
    equal: bool | None
    detail: str = ""

    @property
    def may_be_timed(self) -> bool:
        """Whether the merges are equal, or differ only by a known bug of the peer."""
        return bool(self.equal) or (self.peer, self.tie) in KNOWN_BUGS

    def record(self) -> dict[str, object]:
        """Return the verdict as JSON-compatible data."""
        return {
            "peer": self.peer,
            "tie": self.tie,
            "where": self.where,
            "equal": self.equal,
            "detail": self.detail,
        }

    def __str__(self) -> str:
        """Format the verdict for the table."""
        if self.equal:
            return f"equal ({self.where}, ties `{self.tie}`)"
        if bug := KNOWN_BUGS.get((self.peer, self.tie)):
            return f"differs: {bug}"
        return "not compared: " + self.detail if self.equal is None else "DIFFERS: " + self.detail


class Prover:
    """Compares peers with merganser on files; merganser trains once for each file."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder = folder
        self.threads = threads
        self.ours: dict[tuple[str, int, str], list[Merge] | str] = {}

    def reference(self, path: Path, vocab_size: int, tie: str) -> list[Merge] | str:
        """Return merganser's merges, or its error."""
        key = (str(path), vocab_size, tie)
        if key not in self.ours:
            self.ours[key] = self.merges_of("merganser", path, vocab_size, tie)
        return self.ours[key]

    def merges_of(self, peer: str, path: Path, vocab_size: int, tie: str) -> list[Merge] | str:
        """Train once, untimed, in a fresh process; return the merges or the error."""
        target = self.folder / f"{peer}-{tie}.merges"
        values = {
            "peer": peer,
            "path": str(path),
            "vocab_size": vocab_size,
            "tie": tie,
            "merges_to": str(target),
        }
        outcome = measure.run(Job(f"{peer} ({tie})", "train", values, self.threads))
        return outcome["error"].splitlines()[-1] if "error" in outcome else read(target)

    def compare(
        self, peer: str, path: Path, vocab_size: int, tie: str, theirs: list[Merge] | None = None
    ) -> Verdict:
        """Compare a peer with merganser under one tie rule; `theirs` are its merges, if known."""
        where = f"{path.stat().st_size / 1e6:,.4g} MB, {vocab_size:,} tokens"
        ours = self.reference(path, vocab_size, tie)
        merges = theirs if theirs is not None else self.merges_of(peer, path, vocab_size, tie)
        if isinstance(merges, str) or isinstance(ours, str):
            error = f"{peer}: {merges}" if isinstance(merges, str) else f"merganser: {ours}"
            return Verdict(peer, tie, where, None, error)
        detail = first_difference(ours, merges)
        return Verdict(peer, tie, where, detail is None, detail or "")
