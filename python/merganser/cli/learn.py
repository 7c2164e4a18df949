"""merganser learn: what there is to see for those who want to understand.

One line in `_COMMANDS` for each; its module is imported only when it is called.
"""

from importlib import import_module

import click

from merganser.cli.suggestions import Suggesting

#: The name of a command, and where it is.
_COMMANDS = {
    "ladder": "merganser.cli.learn_ladder:ladder",
    "trace": "merganser.cli.learn_trace:trace",
    "char": "merganser.cli.learn_char:char",
    "speed": "merganser.cli.learn_speed:speed",
}


class _Lessons(Suggesting):
    """Finds a command at the place of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command


@click.group(cls=_Lessons)
def command() -> None:
    """Understand BPE: small programs that each add one idea, measured and drawn.

    Each command has --json.

    Example: merganser learn trace "low lower lowest"
    """
