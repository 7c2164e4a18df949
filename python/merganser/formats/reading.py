"""Read the bytes of a tokenizer file: within limits, unzipped, and of a large model only the start."""

import os
import zlib
from pathlib import Path

from merganser.errors import FormatError
from merganser.files import open_to_read
from merganser.formats import BadFile, native
from merganser.formats.gguf_metadata import MAGIC as GGUF
from merganser.formats.gguf_metadata import MAX_HEADER_BYTES as MAX_GGUF_BYTES

_CHUNK = 1 << 20
_GZIP = b"\x1f\x8b"
#: Far above any list of ranks.
_MAX_UNZIPPED = 1 << 27


def read(file: Path) -> bytes:
    """Read a file; of GGUF, which may also contain the tensors of a model, only the start."""
    try:
        with open_to_read(file) as opened:
            is_gguf = opened.peek(len(GGUF)).startswith(GGUF)
            limit = MAX_GGUF_BYTES if is_gguf else native.MAX_FILE_BYTES
            # The stated size is read at once, and what follows in chunks: reading up to the limit in one
            # call would allocate that much memory.
            chunks = [opened.read(min(os.fstat(opened.fileno()).st_size, limit) + 1)]
            size = len(chunks[0])
            while size <= limit and (chunk := opened.read(_CHUNK)):
                chunks.append(chunk)
                size += len(chunk)
    except OSError as error:
        from merganser.formats import names  # imports more than most files need

        near = names.nearest_encoding(str(file)) if isinstance(error, FileNotFoundError) else ""
        raise FormatError(
            f"cannot read the tokenizer {file}: {error.strerror}; check the path{near}"
        ) from error
    except ValueError as error:  # a path with a NUL
        raise FormatError(f"cannot read the tokenizer {str(file)!r}: {error}; check the path") from error
    if size > limit and not is_gguf:
        raise _too_large(native.MAX_FILE_BYTES)
    data = b"".join(chunks)
    return _unzipped(data) if data.startswith(_GZIP) else data


def _unzipped(data: bytes) -> bytes:
    """Return gzipped data; a small file that would become large is refused before it does."""
    inflater = zlib.decompressobj(wbits=31)
    try:
        unzipped = inflater.decompress(data, _MAX_UNZIPPED)
    except zlib.error as error:
        raise BadFile(f"is corrupt: it is gzipped, but {error}; get a fresh copy") from None
    if inflater.unconsumed_tail:
        raise _too_large(_MAX_UNZIPPED)
    if not inflater.eof:
        raise BadFile("is corrupt: it is gzipped and truncated; get a fresh copy")
    return unzipped


def _too_large(limit: int) -> BadFile:
    return BadFile(f"is larger than {limit >> 20} MiB and cannot be a tokenizer; check the path")
