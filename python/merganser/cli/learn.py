"""merganser learn: teaching programs. A command is imported only when it is called."""

from importlib import import_module

import click

from merganser.cli import CommandGroup

#: The module and attribute of each command.
_COMMANDS = {
    "ladder": "merganser.cli.learn_ladder:ladder",
    "trace": "merganser.cli.learn_trace:trace",
    "char": "merganser.cli.learn_char:char",
    "speed": "merganser.cli.learn_speed:speed",
}
#: The lines of `merganser learn --help`, of at most 60 characters.
LINES = {
    "ladder": "Run fourteen trainers and compare their time and memory.",
    "trace": "Show every merge of a small text, step by step.",
    "char": "Train a character-level tokenizer and draw charts of it.",
    "speed": "Measure what makes the character-level tokenizer fast.",
}


class _LearnGroup(CommandGroup):
    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, LINES[name]) for name in _COMMANDS])


@click.group(cls=_LearnGroup)
def command() -> None:
    """Understand BPE with small programs that each add one idea, with measurements and charts.

    Every command accepts --json.

    Example: merganser learn trace "low lower lowest"
    """
