"""Suggestions: the command that a misspelled one stands for."""

from difflib import get_close_matches

import click


class Suggesting(click.Group):
    """Names the most similar command where there is none of the given name."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        commands = self.list_commands(ctx)
        if name not in commands and not name.startswith("-"):
            near = get_close_matches(name, commands, 1)
            advice = f"Did you mean '{near[0]}'?" if near else f"The commands are {', '.join(commands)}."
            raise click.UsageError(f"No such command '{name}'. {advice}", ctx)
        return super().resolve_command(ctx, args)
