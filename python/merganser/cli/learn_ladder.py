"""merganser learn ladder"""

import click

from merganser.cli import options


@click.command()
@click.argument("text")
@options.as_json
def ladder(text: str, as_json: bool) -> None:
    """Show every merge that TEXT leads to."""
    raise click.ClickException("not there yet")
