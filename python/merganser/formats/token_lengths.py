"""Token lengths: how many bytes each token has, by id, as `.npy` for numpy or as `.pt` for torch.

Special tokens, and ids without a token, count 0 bytes: a loss summed over tokens, divided by their bytes and
by ln 2, is then bits per byte, which compares models whatever their tokenizers. It is no tokenizer, so `load`
refuses it.
"""

import io
from importlib import import_module
from typing import TYPE_CHECKING, Any

from merganser.formats import BadFile
from merganser.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MAGIC = b"\x93NUMPY"
FILE = "token_lengths.npy"


def lengths(tokenizer: Tokenizer) -> "NDArray[np.int32]":
    """The bytes of every id.

    >>> import merganser
    >>> trained = merganser.train(["low low"], 258, special_tokens=["<s>"])
    >>> lengths(trained)[-3:]
    array([1, 2, 0], dtype=int32)
    """
    import numpy as np  # which imports pickle, and to load a tokenizer must not

    found = np.zeros(tokenizer.next_id, np.int32)
    ranks = tokenizer.mergeable_ranks
    found[list(ranks.values())] = list(map(len, ranks))
    return found


def contents(tokenizer: Tokenizer, name: str) -> dict[str, bytes]:
    """The file of that name, or in a folder token_lengths.npy."""
    import numpy as np

    out = io.BytesIO()
    if name.endswith(".pt"):
        torch = _torch()
        torch.save(torch.from_numpy(lengths(tokenizer)), out)
        return {name: out.getvalue()}
    np.save(out, lengths(tokenizer), allow_pickle=False)
    return {name if name.endswith(".npy") else FILE: out.getvalue()}


def same(files: dict[str, bytes], tokenizer: Tokenizer) -> bool:
    import numpy as np

    [(name, data)] = files.items()
    if name.endswith(".pt"):
        read = _torch().load(io.BytesIO(data), weights_only=True).numpy()
    else:
        read = np.load(io.BytesIO(data), allow_pickle=False)
    return read.dtype == np.int32 and np.array_equal(read, lengths(tokenizer))


def refused() -> BadFile:
    return BadFile(
        "is an array of numpy, such as the lengths of tokens, and no tokenizer: lengths do not say the "
        "tokens; load the tokenizer they were made of"
    )


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise ImportError("a .pt file needs torch: pip install torch, or export to .npy instead") from error
