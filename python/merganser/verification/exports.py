"""Exports: that whoever reads an export gives our ids, asked before anything is written.

It costs up to a second, nearly all of it in the other library.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from merganser.corpus import Source
from merganser.counts import Counts, CountsFile
from merganser.engines.local import ProgressCallback
from merganser.errors import ExportError, MerganserError
from merganser.tokenizer import Tokenizer
from merganser.training import count
from merganser.verification.adversarial import texts_for
from merganser.verification.parting import Difference
from merganser.verification.peers import peer
from merganser.verification.run import Parted, Run

#: An export is verified on so many of the most frequent pre-tokens of the training, and on so many tokens.
MOST = 20_000
#: Where the pre-tokens of the training may come from.
Pretokens = Counts | CountsFile | Source


def verify_export(
    tokenizer: Tokenizer,
    others: Mapping[str, Any],
    on: Pretokens | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Refuses an export with an `ExportError` if anybody who reads it would give other ids.

    others: what reads the export, by the names they have in the error: live objects where their library is
        installed, our own reading of the files otherwise.
    on: the training: counts of it, or the corpus itself, which is then counted.
    progress: called with the stage ("count", "verify"), what is done and the total.

    The texts are the adversarial set, the special tokens in all positions, at most 20,000 of the tokens,
    evenly spread, and the 20,000 most frequent pre-tokens of the training.
    """
    texts = [*texts_for(tokenizer, MOST), *_pretokens(tokenizer, on, progress)]
    done, total = 0, len(others) * sum(len(text.encode()) for text in texts)
    for name, other in others.items():
        run = Run(peer(tokenizer), peer(other))
        try:
            for start in range(0, len(texts), 4096):
                run.compare(texts[start : start + 4096])
                if progress:
                    progress("verify", done + run.bytes, total)
            done += run.bytes
        except Parted:
            assert run.difference
            raise ExportError(
                f"{name} would not give the same ids: {describe(run.difference)}; nothing was written"
            ) from None
        except MerganserError as error:
            raise ExportError(f"{name} cannot encode what we do: {error}; nothing was written") from error


def _pretokens(
    tokenizer: Tokenizer, on: Pretokens | None, progress: ProgressCallback | None
) -> Iterable[str]:
    if on is None:
        return
    if not isinstance(on, Counts | CountsFile):
        pattern = tokenizer.pattern_name or tokenizer.pattern
        on = count(on, pattern=pattern, special_tokens=tokenizer.special_tokens, progress=progress)
    for pretoken, _ in on.most_common(MOST) if isinstance(on, Counts) else on.top(MOST):
        try:
            yield pretoken.decode()
        except UnicodeDecodeError:  # a byte that is not UTF-8: not to be had from text
            continue


def describe(difference: Difference) -> str:
    """A difference in one line."""
    a, b = difference.a, difference.b
    pretoken = difference.pretoken if len(difference.pretoken) < 80 else f"{difference.pretoken[:80]}…"
    if difference.reason == "split":
        return f"{pretoken!r} is split as {_few(a.pretokens)}, and as {_few(b.pretokens)}"
    return f"{pretoken!r} becomes {_few(a.tokens)} {_few(a.ids)}, and {_few(b.tokens)} {_few(b.ids)}"


def _few(parts: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(repr, parts[:8]))}{', …' if len(parts) > 8 else ''}]"
