"""transformers' tokenizers on merganser's encoder.

`from_pretrained` replaces `AutoTokenizer.from_pretrained`; `accelerate` takes a tokenizer that is already
loaded. Both return a transformers tokenizer: an instance of the class that transformers chose, with all its
methods, whose `backend_tokenizer` is a `merganser.compat.tokenizers.Tokenizer`. Nothing is patched: other
tokenizers of the same class keep the backend of transformers.

Works with transformers 5, and with 4 since 4.47.
"""

import os
from typing import TYPE_CHECKING, Any

from merganser.compat.transformers.accelerating import accelerate
from merganser.extras import imported

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

__all__ = ["accelerate", "from_pretrained"]


def from_pretrained(
    name_or_folder: str | os.PathLike[str], *inputs: Any, **options: Any
) -> "PreTrainedTokenizerFast":
    """Load a tokenizer with transformers, and run it on merganser.

    Parameters
    ----------
    name_or_folder : str or path-like
        A folder, or a repository of the Hugging Face hub.
    *inputs, **options
        As for `transformers.AutoTokenizer.from_pretrained`.

    Returns
    -------
    transformers.PreTrainedTokenizerFast
        An instance of the class that `AutoTokenizer` chooses.

    Raises
    ------
    FormatError
        If the tokenizer is not BPE, or is not a fast one.
    ImportError
        If transformers is not installed.

    Examples
    --------
    >>> import tempfile, merganser
    >>> tokenizer = merganser.train(["low lower lowest"] * 9, 260)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = tokenizer.export(folder, format="huggingface")
    ...     loaded = from_pretrained(folder)
    >>> loaded("lowest")["input_ids"]
    [257, 101, 115, 116]
    """
    auto = imported("transformers", "hf", "merganser.compat.transformers").AutoTokenizer
    loaded: PreTrainedTokenizerFast = accelerate(auto.from_pretrained(name_or_folder, *inputs, **options))
    return loaded
