"""A studio shared by all modules, and its pages."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import merganser
import pytest
from hostile import CORPUS, tokenizers
from merganser.chat import SPECIAL_TOKENS
from opened import opened, served

Opening = Callable[..., AbstractContextManager[Any]]


@pytest.fixture(scope="session")
def small() -> merganser.Tokenizer:
    text = ["the cat sat on the mat, the naïve café; playing with tokens"] * 20
    return merganser.train([*CORPUS, *text], 420, special_tokens=SPECIAL_TOKENS)


@pytest.fixture(scope="session")
def address(small: merganser.Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    loaded = {"small": small, "tiny": small.truncated(300), **tokenizers()}
    with served(loaded, tmp_path_factory.mktemp("studio")) as studio:
        yield studio.address


@pytest.fixture
def studio(browser: Any, address: str) -> Opening:
    return partial(opened, browser, address)
