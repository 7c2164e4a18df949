"""Set-up for all tests: hypothesis profiles, file order, one cache folder, SIGINT, a browser per module."""

import os
import signal
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "merganser", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("merganser"), max_examples=500)
settings.load_profile("merganser")

#: The files that take longest, in that order. Workers get whole files (`--dist loadfile`): a long one that
#: starts last would leave all other workers idle.
LONGEST = (
    "tests/test_ray.py",
    "tests/test_docs.py",
    "tests/test_cookbook.py",
    "tests/studio/test_items_on_work_in_browser.py",
    "tests/studio/test_items_on_text_in_browser.py",
    "tests/studio/test_train_charts_embeddings_ladder_in_browser.py",
    "tests/studio/test_playground_compare_vocabulary_chat_in_browser.py",
    "tests/studio/test_adding_in_browser.py",
    "tests/studio/test_inspector_in_browser.py",
    "tests/test_notebooks.py",
    "tests/test_sources.py",
    "tests/test_encode.py",
    "tests/formats/test_real_vocabularies.py",
    "tests/cli/test_commands.py",
    "tests/cli/test_learn_char.py",
    "tests/formats/test_oniguruma.py",
    "tests/test_memory.py",
)


def pytest_configure(config: pytest.Config) -> None:
    # One folder for all workers and their children, so that the JavaScript of charts is bundled only once;
    # not the user's cache, which tests must not use.
    if "PYTEST_XDIST_WORKER" not in os.environ:
        folder = tempfile.TemporaryDirectory(prefix="merganser-cache-")
        config.add_cleanup(folder.cleanup)
        os.environ["MERGANSER_CACHE"] = folder.name


def pytest_xdist_auto_num_workers() -> int:
    """Start one worker more than there are cores: tests of Ray, browsers and servers often wait."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    places = {file: place for place, file in enumerate(LONGEST)}
    items.sort(key=lambda item: places.get(item.nodeid.partition("::")[0], len(LONGEST)))


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Make SIGINT raise KeyboardInterrupt here and in children, even if the parent process ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")  # no wider scope: while it is open, no other event loop can run
def browser() -> Iterator[Any]:
    from opened import launched  # imports the dependencies of the studio

    with launched() as started:
        yield started
