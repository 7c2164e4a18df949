"""Verify before anything is written that the readers of an export produce our ids.

It takes up to a second, nearly all of it in the other library.
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
from merganser.verification.differences import Difference
from merganser.verification.peers import as_peer
from merganser.verification.verifying import DifferenceFound, PairComparison

#: The number of tokens, and of the most frequent pre-tokens in training, that an export is verified on.
MOST = 20_000
#: Sources of the pre-tokens of the training text.
Pretokens = Counts | CountsFile | Source


def verify_export(
    tokenizer: Tokenizer,
    others: Mapping[str, Any],
    on: Pretokens | None = None,
    progress: ProgressCallback | None = None,
) -> None:
    """Raise an `ExportError` if a reader of an export would produce other ids.

    The texts are the adversarial set, the special tokens in many positions, at most 20,000 of the tokens,
    evenly spaced, and the 20,000 most frequent pre-tokens of the training text.

    Parameters
    ----------
    tokenizer
        The tokenizer that is exported.
    others
        The readers of the export by the name to use in errors: live objects if their library is installed,
        otherwise the files as read by merganser.
    on
        The training text: its counts, or the corpus itself, which is then counted.
    progress
        Called with the stage ("count" or "verify"), the amount done and the total.
    """
    texts = [*texts_for(tokenizer, MOST), *_pretokens(tokenizer, on, progress)]
    done, total = 0, len(others) * sum(len(text.encode()) for text in texts)
    for name, other in others.items():
        run = PairComparison(as_peer(tokenizer), as_peer(other))
        try:
            for start in range(0, len(texts), 4096):
                run.compare(texts[start : start + 4096])
                if progress:
                    progress("verify", done + run.bytes, total)
            done += run.bytes
        except DifferenceFound:
            assert run.difference
            raise ExportError(
                f"{name} would produce different ids: {describe(run.difference)}; nothing was written, "
                "export to another format"
            ) from None
        except MerganserError as error:
            raise ExportError(f"{name} cannot be verified: {error}; nothing was written") from error


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
        except UnicodeDecodeError:  # an invalid byte, which no str contains
            continue


def describe(difference: Difference) -> str:
    """Describe a difference in one line."""
    a, b = difference.a, difference.b
    pretoken = difference.pretoken if len(difference.pretoken) < 80 else f"{difference.pretoken[:80]}…"
    if difference.reason == "split":
        return f"{pretoken!r} is split into {_listed(b.pretokens)} instead of {_listed(a.pretokens)}"
    return (
        f"{pretoken!r} becomes {_listed(b.tokens)} {_listed(b.ids)} "
        f"instead of {_listed(a.tokens)} {_listed(a.ids)}"
    )


def _listed(parts: tuple[Any, ...]) -> str:
    return f"[{', '.join(map(repr, parts[:8]))}{', …' if len(parts) > 8 else ''}]"
