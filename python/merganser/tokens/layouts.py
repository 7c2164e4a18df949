"""Arrays of numpy and indices of Megatron, mapped into memory and checked before they are used."""

import struct
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from merganser.errors import TokensError, shortened

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MEGATRON = b"MMIDIDX\0\0"
_MEGATRON_DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 8: "uint16"}


def load_npy(path: Path) -> "np.memmap[Any, Any]":
    """Map an array, with one exception for everything that may be wrong with its header."""
    import numpy as np

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numpy, about headers that only old versions wrote
            array: np.memmap[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        raise TokensError(f"cannot read {path}: {error.strerror or error}; check the path") from error
    except Exception as error:  # whatever the parser of the header raises
        raise TokensError(f"cannot read {path}: {shortened(error)}; create it again") from error
    return array


def megatron_index(path: Path) -> "tuple[str, NDArray[np.integer[Any]]]":
    """Return the dtype of the ids, and the starts of the documents followed by the end of the last."""
    import numpy as np

    file = path.with_suffix(".idx")
    corrupt = TokensError(f"{file} is corrupt, or not a Megatron index; create it again")
    try:
        data = np.memmap(file, np.uint8, "r")
    except (OSError, ValueError) as error:
        raise TokensError(f"cannot read {file}: {shortened(error)}; create it again") from error
    head = bytes(data[:34])
    if len(head) < 34 or not head.startswith(_MEGATRON):
        raise corrupt
    version, code, sequences, documents = struct.unpack("<QBQQ", head[9:])
    if version != 1 or code not in _MEGATRON_DTYPES or len(data) < 34 + 12 * sequences + 8 * documents:
        raise corrupt
    dtype = _MEGATRON_DTYPES[code]
    sizes = np.frombuffer(data, "<i4", sequences, 34)
    pointers = np.frombuffer(data, "<i8", sequences, 34 + 4 * sequences)
    firsts = np.frombuffer(data, "<i8", documents, 34 + 12 * sequences)
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    in_order = np.array_equal(pointers, ends[:-1] * np.dtype(dtype).itemsize) and (sizes >= 0).all()
    if not in_order or not documents or firsts[0] != 0 or firsts[-1] != sequences:
        raise corrupt
    if (firsts[1:] < firsts[:-1]).any():
        raise corrupt
    return dtype, ends[firsts]
