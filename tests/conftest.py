"""How long hypothesis may take, what SIGINT does, and one browser for the tests of a module."""

import signal
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "merganser", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("thorough", settings.get_profile("merganser"), max_examples=500)
settings.load_profile("merganser")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """SIGINT raises KeyboardInterrupt, here and in children, also where whoever started us ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="module")  # not longer: while it is open, its event loop runs, and no other can
def browser() -> Iterator[Any]:
    from opened import launched  # which needs what a studio needs

    with launched() as started:
        yield started
