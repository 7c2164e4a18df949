"""Where the shards of the result end, as the pieces become known in the order of the corpus.

A shard ends with the first document that brings it to `shard_tokens`, so each shard depends on the one
before. But only one row of one piece must be found for each, by the totals in the manifests and one block of
rows: some 20,000 blocks of 400 KB for 10 TB of text, whatever the number of documents.

A document that is open at the end of a piece ends where the next piece starts one. Its end, and the id that
is appended to it, belong to neither piece.
"""

import struct
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterator

from merganser.engines.pieces import ROW, ShardPlan
from merganser.engines.shards import Manifest
from merganser.errors import TokensError

Position = tuple[int, int, int]

#: The values of a row of a piece.
Row = list[int]

#: Returns a range of bytes of a stored file.
ReadRange = Callable[[str, int, int], bytes]


class Joiner:
    """Plans shards from pieces, which are added in order.

    first_shard: the number of the first shard.
    parts: the number of inputs before the first document of tables and iterables.
    """

    def __init__(
        self, read: ReadRange, shard_tokens: int, append: int | None, first_shard: int, parts: int
    ) -> None:
        self._read = read
        self._shard_tokens = shard_tokens
        self._append = append
        self._parts = parts
        self._document_open = False
        self._begin_shard(first_shard)

    @property
    def shard(self) -> int:
        """The number of the shard that the next piece continues or begins."""
        return self._shard.number

    def _begin_shard(self, number: int) -> None:
        self._shard = ShardPlan(number, [], [], 0, 0, 0, (0, 0, 0))
        self._tokens = self._bytes = self._invalid_bytes = 0

    def add(self, number: int, piece: Manifest) -> Iterator[ShardPlan]:
        """Add the next piece; yield the shards that end in it."""
        before = self._parts if piece["relative"] else 0
        self._parts = max(before + piece["end"][0], self._parts)
        if piece["first"] is None:
            return
        if piece["starts_document"]:
            yield from self._end_document(_shifted(piece["first"], before))
        row, at = 0, [0] * 6
        while (found := self._first_full(piece, row, at[0])) is not None:
            end, values = found
            self._take(number, row, end + 1, at, values)
            yield self._end_shard(_shifted(values[3:], before))
            row, at = end + 1, values
        rest = [piece["tokens"], piece["bytes"], piece["invalid_bytes"], 0, 0, 0]
        self._take(number, row, piece["documents"], at, rest)
        self._document_open = piece["document_open"]

    def finish(self) -> Iterator[ShardPlan]:
        """Yield the last shards."""
        end = (self._parts, 0, 0)
        yield from self._end_document(end)
        if self._shard.ids or self._shard.ends:
            yield self._end_shard(end)

    def _take(self, number: int, first: int, last: int, start: Row, end: Row) -> None:
        """Add rows and the ids, bytes and invalid bytes between two tallies of a piece to the shard."""
        tokens, bytes, invalid_bytes = (b - a for a, b in zip(start[:3], end[:3], strict=True))
        if tokens or bytes:
            self._shard.ids.append((number, start[0], end[0]))
        if last > first:
            self._shard.ends.append((number, first, last, self._tokens - start[0]))
        self._tokens += tokens
        self._bytes += bytes
        self._invalid_bytes += invalid_bytes

    def _end_document(self, next: Position) -> Iterator[ShardPlan]:
        """End the open document, if there is one; the next one begins at `next`."""
        if not self._document_open:
            return
        self._document_open = False
        if self._append is not None:
            self._shard.ids.append(self._append)
            self._tokens += 1
        self._shard.ends.append(self._tokens)
        if self._tokens >= self._shard_tokens:
            yield self._end_shard(next)

    def _end_shard(self, next: Position) -> ShardPlan:
        ended = ShardPlan(
            self._shard.number,
            self._shard.ids,
            self._shard.ends,
            self._tokens,
            self._bytes,
            self._invalid_bytes,
            next,
        )
        self._begin_shard(ended.number + 1)
        return ended

    def _first_full(self, piece: Manifest, row: int, tokens: int) -> tuple[int, Row] | None:
        """Return the first row, from `row` on, whose document fills the shard, and its values.

        tokens: the ids of the piece that are in earlier shards.
        """
        wanted = tokens + self._shard_tokens - self._tokens
        rows = piece["rows_block"]
        block = bisect_left(piece["marks"], wanted, lo=row // rows)
        if row >= piece["documents"] or block == len(piece["marks"]):
            return None
        first, last = block * rows, min((block + 1) * rows, piece["documents"])
        data = self._read(piece["ends"], first * ROW, last * ROW)
        if zlib.crc32(data) != piece["ends_crc32"][block]:
            raise TokensError(
                f"{piece['ends']} in the storage is corrupt: its checksum does not match; "
                "start over with --overwrite (overwrite=True)"
            )
        values = struct.unpack(f"<{len(data) // 8}Q", data)
        found = bisect_left(values[::6], wanted, lo=max(row - first, 0))
        return first + found, list(values[6 * found : 6 * found + 6])


def _shifted(position: list[int], parts: int) -> Position:
    part, offset, within = position
    return part + parts, offset, within
