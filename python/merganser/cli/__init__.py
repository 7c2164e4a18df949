"""The command line: one file per command, each imported only when it is called.

Exit codes: 0 done, 1 an error of ours (one line on standard error), 2 wrong usage, 3 the ids differ
(`verify` only), 130 stopped by Ctrl-C, 143 by SIGTERM.
"""

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

import click

from merganser import __version__
from merganser.cli.suggestions import Suggesting

#: The commands by what they are for, each with its line in `merganser --help`, of at most 60 characters.
GROUPS = {
    "Train": {
        "train": "Train a tokenizer on a corpus.",
        "count": "Count the pre-tokens of a corpus, to train from later.",
    },
    "Use": {
        "encode": "Encode a text, or a corpus as files of ids.",
        "decode": "Decode ids, or files of ids, to text.",
        "export": "Write a tokenizer or counts for other libraries.",
        "embed": "Learn a vector for every token.",
    },
    "Understand": {
        "show": "Show how a text is tokenized.",
        "inspect": "Show the contents of a tokenizer or a .counts file.",
        "compare": "Compare how many tokens tokenizers need for a text.",
        "verify": "Verify that two tokenizers give the same ids.",
        "report": "Write a page of experiments, charts and tables.",
        "studio": "Explore tokenizers in the browser.",
    },
    "Learn": {
        "learn": "Learn how BPE works: small programs, measured and drawn.",
        "demo": "Train on Python's standard library and show the result.",
    },
}
COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)

#: Where a context keeps the command that runs.
_COMMAND = "merganser.command"


class Stopped(BaseException):
    """A signal stopped the work; the message says what that means for the user."""

    def __init__(self, message: str = "stopped", code: int = 130) -> None:
        super().__init__(message)
        self.code = code


class Terminated(Stopped):
    """SIGTERM came: work ends as it does for Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(code=143)


@contextmanager
def resumable(is_kept: Callable[[], bool], otherwise: str = "stopped") -> Iterator[None]:
    """Says that the same command resumes, if the block is stopped by a signal and has left its work."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        message = "stopped; run the same command again to resume" if is_kept() else otherwise
        raise Stopped(message, getattr(stop, "code", 130)) from stop


class Commands(Suggesting):
    """Remembers which command runs, so that errors name its options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = super().resolve_command(ctx, args)
        ctx.meta[_COMMAND] = found[1]
        return found


class _Commands(Commands):
    """Finds a command in the module of its name."""

    def invoke(self, ctx: click.Context) -> object:
        from merganser.errors import MerganserError

        try:
            return super().invoke(ctx)
        except MerganserError as error:
            error.args = (_translated(str(error), ctx),)
            raise

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command: click.Command = import_module(f"merganser.cli.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for title, commands in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(width), line) for name, line in commands.items()])


def _translated(message: str, ctx: click.Context | None) -> str:
    from merganser.cli.translation import translated

    command = ctx and ctx.meta.get(_COMMAND)
    return translated(message, command) if command else message


def _shown_once() -> Callable[..., None]:
    """Prints warnings, each once: a corpus may be read several times."""
    shown: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = _translated(str(message), click.get_current_context(silent=True))
        if text not in shown:
            shown.add(text)
            click.echo(f"warning: {text}", err=True)

    return show


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def merganser() -> None:
    """Train exact byte-level BPE tokenizers, fast.

    Start with: merganser demo
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    from merganser.errors import MerganserError, MerganserWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", MerganserWarning)
        warnings.showwarning = _shown_once()
        try:
            code = merganser.main(arguments, prog_name="merganser", standalone_mode=False)
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            return 130
        except Stopped as stop:
            click.echo(str(stop), err=True)
            return stop.code
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
