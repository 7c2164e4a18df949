"""The length of every token in bytes, indexed by id, as `.npy` for numpy or `.pt` for torch.

Special tokens and unused ids have length 0. A summed loss divided by the total length and by ln 2 is then
bits per byte, which is comparable between models with different tokenizers. Lengths do not determine a
tokenizer, so `load` refuses these files.
"""

import io
import zipfile
import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
FILE = "token_lengths.npy"
_LITTLE = b"little"


def lengths(tokenizer: Tokenizer) -> "NDArray[np.int32]":
    """Return the number of bytes of every id.

    >>> import merganser
    >>> trained = merganser.train(["low low"], 258, special_tokens=["<s>"])
    >>> lengths(trained)[-3:]
    array([1, 2, 0], dtype=int32)
    """
    import numpy as np  # imported here because it imports pickle, which loading a tokenizer must not

    sizes = np.zeros(tokenizer.next_id, np.int32)
    ranks = tokenizer.mergeable_ranks
    sizes[list(ranks.values())] = list(map(len, ranks))
    return sizes


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """Return the file called `name` if that ends in .npy or .pt, else `token_lengths.npy`."""
    import numpy as np

    out = io.BytesIO()
    if name.endswith(".pt"):
        torch = _torch()
        torch.save(torch.from_numpy(lengths(tokenizer)), out)
        return {name: out.getvalue()}
    np.save(out, lengths(tokenizer), allow_pickle=False)
    return {name if name.endswith(".npy") else FILE: out.getvalue()}


def read_pt(data: bytes, size: int) -> "NDArray[np.int32]":
    """Return the `size` 32-bit integers of a `.pt` file, as torch writes a tensor of them.

    The file is a zip, in which one member has the values and a pickle describes them; that is not read.

    Raises
    ------
    BadFile
        If it is no such file.
    """
    import numpy as np

    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename.partition("/")[2]: info for info in archive.infolist()}
            order = members.get("byteorder")
            little = order is None or (order.file_size == len(_LITTLE) and archive.read(order) == _LITTLE)
            storages = [info for name, info in members.items() if name.startswith("data/")]
            # The size is checked before reading, so that a small file cannot become large.
            if little and len(storages) == 1 and storages[0].file_size == 4 * size:
                return np.frombuffer(archive.read(storages[0]), "<i4").astype(np.int32)
    except (zipfile.BadZipFile, zlib.error, RuntimeError, EOFError, OSError, ValueError):
        pass
    raise BadFile(f"does not hold the lengths of {size} tokens; save the tokenizer again to write it")


def matches(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    """Return whether the files hold the lengths of this tokenizer."""
    import numpy as np

    [(name, data)] = files.items()
    if name.endswith(".pt"):
        read = _torch().load(io.BytesIO(data), weights_only=True).numpy()
    else:
        read = np.load(io.BytesIO(data), allow_pickle=False)
    return read.dtype == np.int32 and np.array_equal(read, lengths(tokenizer))


def not_a_tokenizer() -> BadFile:
    return BadFile(
        "is a numpy array, such as exported token lengths, not a tokenizer; "
        "load the tokenizer that the lengths were exported from"
    )


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError("writing a .pt file needs torch: pip install torch, or export to .npy") from error
