"""Suggestions for misspelled commands and choices. Click itself suggests options."""

from difflib import get_close_matches
from typing import Any

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


class Choice(click.Choice):  # type: ignore[type-arg, unused-ignore]  # generic in newer versions
    """Suggest the most similar choice if the given one does not exist."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            if near := get_close_matches(str(value), [str(choice) for choice in self.choices], 1):
                message = f"{error.message} Did you mean '{near[0]}'?"
                raise click.BadParameter(message, ctx, param) from None
            raise
