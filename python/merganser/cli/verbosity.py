"""`--quiet` and `--verbose`, for commands that work for a while."""

from collections.abc import Callable
from typing import Any

import click

#: The key in `click.Context.meta`; the value is the name of the option.
_KEY = "merganser.verbosity"


def add_verbosity(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the two options. They are not passed to the command: what prints progress and notes asks here."""
    for names, line in (
        (("-v", "--verbose"), "Print progress as lines if standard error is not a terminal."),
        (("-q", "--quiet"), "Print no progress, notes or warnings."),
    ):
        function = click.option(*names, is_flag=True, expose_value=False, callback=_keep, help=line)(function)
    return function


def _keep(ctx: click.Context, option: click.Parameter, given: bool) -> None:
    if given and ctx.meta.setdefault(_KEY, option.name) != option.name:
        raise click.UsageError("--quiet and --verbose cannot be combined; pass one of them")


def is_quiet() -> bool:
    """Return whether the running command was called with `--quiet`."""
    return _given() == "quiet"


def is_verbose() -> bool:
    """Return whether the running command was called with `--verbose`."""
    return _given() == "verbose"


def _given() -> object:
    context = click.get_current_context(silent=True)
    return context and context.meta.get(_KEY)
