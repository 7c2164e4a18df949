"""The command line: one file per command, each imported only when it is called.

Exit codes: 0 success, 1 error (one line on standard error), 2 wrong usage, 3 the ids differ (`verify` and
`bench`), 130 stopped by Ctrl-C, 143 stopped by SIGTERM. NO_COLOR turns colors off.
"""

import io
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

import click

from merganser import __version__
from merganser.cli.suggestions import SuggestingGroup

#: The commands by purpose, each with its line in `merganser --help`, of at most 60 characters.
GROUPS = {
    "Train": {
        "train": "Train a tokenizer on a corpus.",
        "count": "Count the pre-tokens of a corpus to train from later.",
    },
    "Use": {
        "encode": "Encode a text, or a corpus to token files.",
        "decode": "Decode ids or token files to text.",
        "export": "Export a tokenizer or counts to other libraries.",
        "embed": "Train token embeddings.",
    },
    "Understand": {
        "show": "Show how a text is tokenized.",
        "inspect": "Show the contents of a tokenizer or a .counts file.",
        "compare": "Compare the token counts of several tokenizers.",
        "verify": "Verify that two tokenizers return the same ids.",
        "bench": "Measure encoding speed, and compare it with other libraries.",
        "report": "Write a report with experiments, charts and tables.",
        "studio": "Explore tokenizers in the browser.",
    },
    "Learn": {
        "learn": "Learn how BPE works from small, measured programs.",
        "demo": "Train on Python's standard library and show the result.",
    },
}
COMMANDS = tuple(name for commands in GROUPS.values() for name in commands)

#: Printed at the end of `merganser --help`; click generates the scripts.
_COMPLETION = """\
\b
Completion, for this shell or in ~/.bashrc, ~/.zshrc or config.fish:
  eval "$(_MERGANSER_COMPLETE=bash_source merganser)"
  eval "$(_MERGANSER_COMPLETE=zsh_source merganser)"
  _MERGANSER_COMPLETE=fish_source merganser | source
"""

#: The key of the running command in `click.Context.meta`.
_COMMAND = "merganser.command"


class Stopped(BaseException):
    """A signal stopped the command; the message tells the user whether it can be resumed."""

    def __init__(self, message: str = "stopped", code: int = 130) -> None:
        super().__init__(message)
        self.code = code


class Terminated(Stopped):
    """SIGTERM was received; handled like Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(code=143)


@contextmanager
def resumable(can_resume: Callable[[], bool], otherwise: str = "stopped") -> Iterator[None]:
    """If a signal stops the block and `can_resume()`, say that the same command resumes."""
    try:
        yield
    except (KeyboardInterrupt, Terminated) as stop:
        message = "stopped; run the same command again to resume" if can_resume() else otherwise
        raise Stopped(message, getattr(stop, "code", 130)) from stop


class CommandGroup(SuggestingGroup):
    """Record which command runs, so that errors can name its options."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        resolved = super().resolve_command(ctx, args)
        ctx.meta[_COMMAND] = resolved[1]
        return resolved


class _RootGroup(CommandGroup):
    """Import a command from the module of the same name, and translate its errors."""

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
    from merganser.cli.translation import translate

    command = ctx and ctx.meta.get(_COMMAND)
    return translate(message, command) if command else message


def _inert(message: str) -> str:
    """Keep names in messages, such as those of files, from acting on the terminal."""
    from merganser.cli.formatting import inert

    return inert(message)


def _print_warnings_once() -> Callable[..., None]:
    """Return a `warnings.showwarning` that prints each message once: a corpus may be read several times."""
    printed: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        from merganser.cli.verbosity import is_quiet

        if is_quiet():
            return
        text = _inert(_translated(str(message), click.get_current_context(silent=True)))
        if text not in printed:
            printed.add(text)
            click.echo(f"warning: {text}", err=True)

    return show


@click.group(
    cls=_RootGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog=_COMPLETION,
)
@click.version_option(__version__)
@click.pass_context
def merganser(ctx: click.Context) -> None:
    """Train exact byte-level BPE tokenizers, fast.

    Start with: merganser demo
    """
    if ctx.invoked_subcommand is None:
        from merganser.cli.tour import print_tour

        print_tour()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    from merganser.errors import MerganserError, MerganserWarning

    with warnings.catch_warnings():
        warnings.simplefilter("always", MerganserWarning)
        warnings.showwarning = _print_warnings_once()
        try:
            if sys.stdout is None:
                raise OSError("standard output is closed; redirect it to a file or /dev/null")
            color = False if os.environ.get("NO_COLOR") else None  # None: if the output is a terminal
            code = merganser.main(arguments, prog_name="merganser", standalone_mode=False, color=color)
            sys.stdout.flush()  # at exit, a full disk would be reported as an exception
            return code if isinstance(code, int) else 0
        except click.ClickException as error:
            error.message = _inert(error.message)  # type: ignore[misc]  # shown below, and nowhere else
            error.show()
            return error.exit_code
        except (click.Abort, KeyboardInterrupt):
            click.echo("stopped", err=True)
            return 130
        except Stopped as stop:
            click.echo(str(stop), err=True)
            return stop.code
        except BrokenPipeError:
            _discard_output()  # its reader has closed it
            return 1
        except (MerganserError, OSError, ImportError) as error:
            message: object = error
            if type(error) is OSError and error.strerror and error.filename is None:
                _discard_output()
                message = f"cannot write to standard output: {error.strerror}"
            click.echo(_inert(f"error: {message}"), err=True)
            return 1


def _discard_output() -> None:
    """Keep the interpreter from writing the rest of the output, and from complaining, at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _hold_descriptors() -> None:
    """Open /dev/null in place of closed standard streams: the next file would take their descriptor."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115  # until the process ends


def _write_utf8() -> None:
    """Write UTF-8 to files and pipes: on Windows, Python's default for them has few characters."""
    for stream in (sys.stdout, sys.stderr):
        if sys.platform == "win32" and isinstance(stream, io.TextIOWrapper) and not stream.isatty():
            stream.reconfigure(encoding="utf-8")


def run() -> None:
    _hold_descriptors()
    _write_utf8()
    signal.signal(signal.SIGTERM, _terminate)
    sys.exit(main())


def _terminate(_signal: int, _frame: object) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal must not interrupt the cleanup
    raise Terminated
