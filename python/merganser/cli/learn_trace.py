"""merganser learn trace"""

import click

from merganser.cli import formatting, options

#: The maximum number of pairs to print for each merge.
_LIMIT = 8


@click.command()
@click.argument("text")
@click.option(
    "--merges",
    type=click.IntRange(1),
    help="Maximum number of merges. Default: merge until every word is one token.",
)
@options.as_json
def trace(text: str, merges: int | None, as_json: bool) -> None:
    """Show every merge of a training on TEXT: the pairs, the chosen one, and the words before and after.

    Example: merganser learn trace "low lower lowest"
    """
    from merganser.learn.trace import trace as stages

    if as_json:
        formatting.print_json(
            {
                "merges": [
                    {
                        "chosen": stage.chosen,
                        "count": stage.count,
                        "pairs": [{"pair": pair, "count": count} for pair, count in stage.pairs],
                        "words": [
                            {"frequency": change.frequency, "before": change.before, "after": change.after}
                            for change in stage.changes
                        ],
                    }
                    for stage in stages(text, merges)
                ]
            }
        )
        return
    number = 0
    for stage in stages(text, merges):
        number = stage.number
        left, right = stage.chosen
        tie = "; the tie goes to the smallest ids" if stage.tied else ""
        click.secho(f"{number}. {left} + {right} → {left}{right}", bold=True, nl=False)
        click.echo(f"   {stage.count} times{tie}")
        listed = "   ".join(f"{a}+{b} {count}" for (a, b), count in stage.pairs[:_LIMIT])
        more = len(stage.pairs) - _LIMIT
        click.echo(f"   pairs: {listed}{f'   and {more} more' if more > 0 else ''}")
        for change in stage.changes:
            times = f" × {change.frequency}" if change.frequency > 1 else ""
            click.echo(f"   {' '.join(change.before)}  →  {' '.join(change.after)}{times}")
        click.echo()
    click.echo(f"{number} merges. Ġ is a space. Ties go to the pair with the smallest ids.")
