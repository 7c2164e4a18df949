"""merganser inspect"""

from typing import TYPE_CHECKING

import click

from merganser.cli import drawing, naming, options

if TYPE_CHECKING:
    from merganser import CountsFile, Tokenizer

#: Columns for a token beside its id, and for a pre-token beside its count.
_ROOM = drawing.WIDTH - len("   123456  ")
_ROOM_BESIDE_COUNT = drawing.WIDTH - len("  123,456,789,012  ")


@click.command(epilog=naming.HELP)
@click.argument("named", type=naming.TOKENIZER, metavar="TOKENIZER|COUNTS")
@click.option(
    "--top", type=click.IntRange(1), default=10, show_default=True, help="How many of each to show."
)
@options.as_json
def command(named: naming.Named, top: int, as_json: bool) -> None:
    """Show what is in a tokenizer, or in a .counts file.

    Example: merganser inspect merganser-out
    """
    from merganser import CountsFile

    if named.path is not None and named.path.suffix == ".counts":
        _counts(CountsFile.open(named.path), top, as_json)
    else:
        _tokenizer(named.load(), top, as_json)


def _tokenizer(tokenizer: "Tokenizer", top: int, as_json: bool) -> None:
    longest = sorted(tokenizer.mergeable_ranks, key=len, reverse=True)[:top]
    last = list(tokenizer.merges_as_ids.items())[-top:]
    pairs = tokenizer.merges[-top:]
    merges = [
        {
            "id": id,
            "left": drawing.token(left),
            "right": drawing.token(right),
            "seen": tokenizer.merge_counts.get(id),
        }
        for (_, id), (left, right) in zip(last, pairs, strict=True)
    ]
    if as_json:
        drawing.as_json(
            {
                "vocab_size": tokenizer.vocab_size,
                "merges": len(tokenizer.merges),
                "special_tokens": tokenizer.special_tokens,
                "pattern": tokenizer.pattern,
                "pattern_name": tokenizer.pattern_name,
                "training": dict(tokenizer.training),
                "longest_tokens": [drawing.token(token) for token in longest],
                "last_merges": merges,
            }
        )
        return
    click.echo(f"{tokenizer.vocab_size:,} tokens: 256 bytes, {len(tokenizer.merges):,} merges, ", nl=False)
    click.echo(f"{len(tokenizer.special_tokens)} special")
    click.echo(f"pattern  {tokenizer.pattern_name or tokenizer.pattern}")
    for special, id in tokenizer.special_tokens.items():
        click.echo(f"special  {id}  {special}")
    click.echo("\nlongest tokens")
    for token in longest:
        click.echo(f"  {tokenizer.mergeable_ranks[token]:>7}  {drawing.short_token(token, _ROOM)}")
    click.echo("\nlast merges")
    for merge, pair in zip(merges, pairs, strict=True):
        seen = f"  seen {merge['seen']:,} times" if merge["seen"] is not None else ""
        room = (_ROOM - len(seen) - len(" + ")) // 2
        left, right = (drawing.short_token(token, room) for token in pair)
        click.echo(f"  {merge['id']:>7}  {left} + {right}{seen}")


def _counts(counts: "CountsFile", top: int, as_json: bool) -> None:
    found = counts.top(top)
    pretokens = [{"pretoken": drawing.token(pretoken), "count": count} for pretoken, count in found]
    if as_json:
        drawing.as_json(
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
        f"{len(counts):,} unique pre-tokens, {counts.total:,} in all, from {counts.documents:,} documents"
    )
    click.echo(f"pattern    {counts.pattern_name or counts.pattern}")
    click.echo(f"separator  {counts.separator or 'none'}")
    click.echo(f"special    {' '.join(counts.special_tokens) or 'none'}")
    click.echo(f"not UTF-8  {counts.invalid_bytes:,} bytes")
    click.echo("\ntop pre-tokens")
    for pretoken, count in found:
        click.echo(f"  {count:>12,}  {drawing.short_token(pretoken, _ROOM_BESIDE_COUNT)}")
