"""llama.cpp's tokenizer, if `llama-cpp-python` is installed; building it takes too long for an extra."""

import ctypes
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

needs_llama = pytest.mark.skipif(find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")


class Llama:
    def __init__(self, file: Path) -> None:
        library = import_module("llama_cpp")
        self._library = library
        self._silent = library.llama_log_callback(lambda *_: None)
        library.llama_log_set(self._silent, ctypes.c_void_p())
        settings = library.llama_model_default_params()
        settings.vocab_only = True
        self._model = library.llama_model_load_from_file(str(file).encode(), settings)
        assert self._model, f"llama.cpp cannot load {file}"
        self._vocab = library.llama_model_get_vocab(self._model)

    def encode(self, text: str, special: bool = False) -> list[int]:
        data = text.encode()
        ids = (self._library.llama_token * (len(data) + 8))()
        made = self._library.llama_tokenize(self._vocab, data, len(data), ids, len(ids), False, special)
        assert made >= 0
        return list(ids[:made])
