"""The tour that `merganser` prints without arguments: what to type first, and what for."""

import click

from merganser import __version__

#: Commands to copy, by what they are for.
STOPS = {
    "See it work": (
        "merganser demo",
        "merganser learn trace 'low lower lowest'",
    ),
    "Train on your texts, look at the result, use it": (
        "merganser train texts --vocab-size 32000",
        "merganser show 'playing with tokens'",
        "merganser encode merganser-out texts --out tokens",
        "merganser export merganser-out --to huggingface --out hf-out",
    ),
    "Run the tokenizers of others, and compare": (
        "merganser encode gpt-4o 'playing with tokens'",
        "merganser compare merganser-out gpt-4o Qwen/Qwen3-8B --on texts",
    ),
    "Measure this machine, explore in the browser": (
        "merganser bench",
        "merganser studio",
    ),
}


def print_tour() -> None:
    click.echo(f"merganser {__version__}: train BPE tokenizers and encode text, exactly and fast")
    for title, commands in STOPS.items():
        click.echo(f"\n{click.style(title, bold=True)}")
        for command in commands:
            click.echo(f"  {command}")
    click.echo("\n'merganser --help' lists all commands, 'merganser COMMAND --help' explains one.")
