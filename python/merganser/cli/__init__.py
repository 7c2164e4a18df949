"""The command line: one file per command, each imported only when it is called.

Exit codes: 0 done, 1 an error of ours (one line on standard error), 2 wrong usage, 3 the ids differ
(`verify` only), 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

import os
import signal
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module

import click

from merganser.cli.suggestions import Suggesting

COMMANDS = (
    *("train", "count", "encode", "decode", "show", "inspect", "compare", "report", "verify", "export"),
    *("embed", "learn", "studio", "demo"),
)


class Terminated(BaseException):
    """SIGTERM came: work ends as it does for Ctrl-C."""


class _Commands(Suggesting):
    """Finds a command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"merganser.cli.{name}").command
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="merganser")
def merganser() -> None:
    """Train exact byte-level BPE tokenizers, fast.

    Start with: merganser demo
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    from merganser.errors import MerganserError, MerganserWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", MerganserWarning)
        told: set[str] = set()

        def tell(message: Warning | str, *_: object, **__: object) -> None:
            # Once, though a corpus may be read several times.
            if str(message) not in told:
                told.add(str(message))
                click.echo(f"warning: {message}", err=True)

        warnings.showwarning = tell
        try:
            code = merganser.main(arguments, prog_name="merganser", standalone_mode=False)
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            return 130
        except Terminated:
            click.echo("stopped", err=True)
            return 143
        except BrokenPipeError:
            # Whoever read our output has had enough; the interpreter must not complain when it closes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1
        except (MerganserError, OSError, ImportError) as error:
            click.echo(f"error: {error}", err=True)
            return 1


def run() -> None:
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(main())


def _terminate(_signal: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # one is enough: cleaning up is not to be interrupted
    raise Terminated
