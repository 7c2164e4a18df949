"""Suggestions for misspelled commands."""

from difflib import get_close_matches

import click


class SuggestingGroup(click.Group):
    """Suggest the most similar command if the given one does not exist."""

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
