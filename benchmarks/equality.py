"""Proves that two trainers made the same merges, or says where they part.

A faster trainer that makes another vocabulary has not done the same work: a peer is timed only
after its merges equal merganser's under the tie rule that it follows.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from benchmarks import measure
from benchmarks.measure import Job

Merge: TypeAlias = tuple[bytes, bytes]

# Differences that are the peer's own bug and understood: (peer, tie rule) → what happens and why.
# Such a peer is still timed, and the table says so.
KNOWN_BUGS: dict[tuple[str, str], str] = {}


def write(merges: list[Merge], path: Path) -> None:
    """One merge a line, both sides in hexadecimal: readable by anything, comparable by `cmp`."""
    path.write_text("".join(f"{a.hex()} {b.hex()}\n" for a, b in merges), encoding="ascii")


def read(path: Path) -> list[Merge]:
    """Read what `write` wrote."""
    pairs = (line.split(" ") for line in path.read_text(encoding="ascii").splitlines())
    return [(bytes.fromhex(a), bytes.fromhex(b)) for a, b in pairs]


def first_difference(ours: list[Merge], theirs: list[Merge]) -> str | None:
    """Where and how two lists of merges part, with what stands around it; None if nowhere."""
    if ours == theirs:
        return None
    pairs = zip(ours, theirs, strict=False)
    at = next((i for i, (a, b) in enumerate(pairs) if a != b), None)
    if at is None:
        return f"merganser has {len(ours)} merges, the peer {len(theirs)}; the shared part is equal"
    return (
        f"merge {at}: merganser {shown(ours[at])}, the peer {shown(theirs[at])}; "
        f"the peer has ours at {position(theirs, ours[at])}, we have its at "
        f"{position(ours, theirs[at])}; before it {shown(ours[at - 1]) if at else 'nothing'}; "
        f"{len(set(ours) ^ set(theirs)) // 2} of {len(ours)} merges differ as sets"
    )


def shown(merge: Merge) -> str:
    """A merge for people: b'th' + b'e'."""
    return f"{merge[0]!r} + {merge[1]!r}"


def position(merges: list[Merge], merge: Merge) -> str:
    """The index of a merge, or `nowhere`."""
    return str(merges.index(merge)) if merge in merges else "nowhere"


@dataclass(frozen=True)
class Verdict:
    """What became of one comparison; `equal` is None when it could not be made."""

    peer: str
    tie: str
    where: str
    equal: bool | None
    detail: str = ""

    @property
    def may_be_timed(self) -> bool:
        """Equal, or different by a known bug of the peer's."""
        return bool(self.equal) or (self.peer, self.tie) in KNOWN_BUGS

    def record(self) -> dict[str, object]:
        """A JSON-able account."""
        return {
            "peer": self.peer,
            "tie": self.tie,
            "where": self.where,
            "equal": self.equal,
            "detail": self.detail,
        }

    def __str__(self) -> str:
        """What stands in the table."""
        if self.equal:
            return f"equal ({self.where}, ties `{self.tie}`)"
        if bug := KNOWN_BUGS.get((self.peer, self.tie)):
            return f"differs: {bug}"
        return "not compared: " + self.detail if self.equal is None else "DIFFERS: " + self.detail


class Prover:
    """Compares peers with merganser on files; merganser's own merges are made once for each."""

    def __init__(self, folder: Path, threads: int) -> None:
        self.folder = folder
        self.threads = threads
        self.ours: dict[tuple[str, int, str], list[Merge] | str] = {}

    def reference(self, path: Path, vocab_size: int, tie: str) -> list[Merge] | str:
        """merganser's merges, or the error that kept it from making them."""
        key = (str(path), vocab_size, tie)
        if key not in self.ours:
            self.ours[key] = self.merges_of("merganser", path, vocab_size, tie)
        return self.ours[key]

    def merges_of(self, peer: str, path: Path, vocab_size: int, tie: str) -> list[Merge] | str:
        """Train once, untimed, in a fresh process."""
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
        """Prove one peer equal under one tie rule; `theirs` if they have been made already."""
        where = f"{path.stat().st_size / 1e6:,.4g} MB, {vocab_size:,} tokens"
        ours = self.reference(path, vocab_size, tie)
        made = theirs if theirs is not None else self.merges_of(peer, path, vocab_size, tie)
        if isinstance(made, str) or isinstance(ours, str):
            what = f"{peer}: {made}" if isinstance(made, str) else f"merganser: {ours}"
            return Verdict(peer, tie, where, None, what)
        detail = first_difference(ours, made)
        return Verdict(peer, tie, where, detail is None, detail or "")
