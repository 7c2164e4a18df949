"""Imports of optional packages, which the extras of `merganser` install."""

from importlib import import_module
from typing import Any


def imported(module: str, extra: str, purpose: str) -> Any:
    """Import a module, or raise an `ImportError` that says what to install.

    >>> imported("json", "data", "JSON").loads("1")
    1
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{purpose} needs {package}: pip install 'merganser[{extra}]'") from error
