"""merganser inspect"""

from typing import TYPE_CHECKING

import click

from merganser.cli import formatting, naming, options

if TYPE_CHECKING:
    from merganser import CountsFile, Tokenizer

#: The columns left for a token after its id, and for a pre-token after its count.
_TOKEN_WIDTH = formatting.WIDTH - len("   123456  ")
_PRETOKEN_WIDTH = formatting.WIDTH - len("  123,456,789,012  ")


@click.command(epilog=naming.HELP)
@click.argument("name", type=naming.TOKENIZER, metavar="TOKENIZER|COUNTS")
@click.option(
    "--top",
    type=click.IntRange(1),
    default=10,
    show_default=True,
    help="Number of tokens, merges or pre-tokens to show.",
)
@options.as_json
@naming.revision
def command(name: naming.TokenizerName, top: int, as_json: bool) -> None:
    """Show the contents of a tokenizer or a .counts file.

    Example: merganser inspect merganser-out
    """
    from merganser import CountsFile

    if name.path is not None and name.path.suffix == ".counts":
        _print_counts(CountsFile.open(name.path), top, as_json)
    else:
        _print_tokenizer(name.load(), top, as_json)


def _print_tokenizer(tokenizer: "Tokenizer", top: int, as_json: bool) -> None:
    longest = sorted(tokenizer.mergeable_ranks, key=len, reverse=True)[:top]
    last = list(tokenizer.merges_as_ids.items())[-top:]
    pairs = tokenizer.merges[-top:]
    merges = [
        {
            "id": id,
            "left": formatting.escape_token(left),
            "right": formatting.escape_token(right),
            "seen": tokenizer.merge_counts.get(id),
        }
        for (_, id), (left, right) in zip(last, pairs, strict=True)
    ]
    if as_json:
        formatting.print_json(
            {
                "vocab_size": tokenizer.vocab_size,
                "merges": len(tokenizer.merges),
                "special_tokens": tokenizer.special_tokens,
                "pattern": tokenizer.pattern,
                "pattern_name": tokenizer.pattern_name,
                "training": dict(tokenizer.training),
                "longest_tokens": [formatting.escape_token(token) for token in longest],
                "last_merges": merges,
            }
        )
        return
    units = "" if tokenizer.has_stages else "256 bytes, "
    click.echo(f"{tokenizer.vocab_size:,} tokens: {units}{len(tokenizer.merges):,} merges, ", nl=False)
    click.echo(f"{len(tokenizer.special_tokens)} special")
    click.echo(f"pattern  {formatting.inert(tokenizer.pattern_name or tokenizer.pattern)}")
    for special, id in tokenizer.special_tokens.items():
        click.echo(f"special  {id}  {formatting.inert(special)}")
    click.echo("\nlongest tokens")
    for token in longest:
        click.echo(f"  {tokenizer.mergeable_ranks[token]:>7}  {formatting.short_token(token, _TOKEN_WIDTH)}")
    click.echo("\nlast merges")
    for merge, pair in zip(merges, pairs, strict=True):
        seen = f"  {merge['seen']:,} times" if merge["seen"] is not None else ""
        width = (_TOKEN_WIDTH - len(seen) - len(" + ")) // 2
        left, right = (formatting.short_token(token, width) for token in pair)
        click.echo(f"  {merge['id']:>7}  {left} + {right}{seen}")


def _print_counts(counts: "CountsFile", top: int, as_json: bool) -> None:
    most_frequent = counts.top(top)
    pretokens = [
        {"pretoken": formatting.escape_token(pretoken), "count": count} for pretoken, count in most_frequent
    ]
    if as_json:
        formatting.print_json(
            {
                "unique_pretokens": len(counts),
                "pretokens": counts.total,
                "documents": counts.documents,
                "invalid_bytes": counts.invalid_bytes,
                "pattern": counts.pattern,
                "pattern_name": counts.pattern_name,
                "special_tokens": counts.special_tokens,
                "separator": counts.separator,
                "top_pretokens": pretokens,
            }
        )
        return
    click.echo(
        f"{len(counts):,} unique pre-tokens, {counts.total:,} in total, from "
        f"{formatting.count(counts.documents, 'document')}"
    )
    click.echo(f"pattern    {formatting.inert(counts.pattern_name or counts.pattern)}")
    click.echo(f"separator  {formatting.inert(counts.separator or 'none')}")
    click.echo(f"special    {formatting.inert(' '.join(counts.special_tokens) or 'none')}")
    click.echo(f"invalid    {counts.invalid_bytes:,} bytes that are not valid UTF-8")
    click.echo("\nmost frequent pre-tokens")
    for pretoken, count in most_frequent:
        click.echo(f"  {count:>12,}  {formatting.short_token(pretoken, _PRETOKEN_WIDTH)}")
