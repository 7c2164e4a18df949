"""Every tokenizer in `../shared/tokenizers` against its owner, on more text than tests/formats has time for.

`python tests/long/test_every_tokenizer.py` prints a table: on how many texts the ids of each file are equal.
The owners are slow, so that of each corpus 60 pieces of 3,000 characters are compared; every assigned code
point alone and between letters; and runs of a million characters.
"""

import sys
import warnings
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

import merganser
import owners
import pytest

RUNS = [character * 1_000_000 for character in ("a", " ", "▁", "\u0301", "é", "中", "\n", "!")]


def files() -> list[Path]:
    """Return the files of BPE tokenizers whose owners are installed, which llama.cpp is not."""
    others = owners.OTHER
    found = [file for file in owners.files() if f"{file.parent.name}/{file.name}" not in others]
    return [file for file in found if file.suffix != ".gguf"]


def compare(file: Path) -> tuple[int, int, str]:
    """Return the number of texts, of those with equal ids, and the first difference."""
    theirs = owners.owner(file)
    assert theirs is not None
    loaded = merganser.load(file, **theirs.settings)
    texts = [*owners.AWKWARD, *owners.samples(60, 3000), *owners.code_points(1), *RUNS]
    if theirs.finds_special:
        texts += owners.with_added(owners.samples(20, 300), list(loaded.special_tokens)[:200])
    compared, equal, first = 0, 0, ""
    for text in texts:
        ours = theirs.ours(loaded, text)
        try:
            expected = theirs.encode(text)
        except BaseException as panic:
            # tiktoken, which encodes for Tekken, on a million spaces: its issues 15, 245 and 400.
            if type(panic).__name__ == "PanicException":
                continue
            raise
        compared += 1
        equal += ours == expected
        if ours != expected and not first:
            first = f"{text[:40]!r} {owners.first_difference(ours, expected)}"
    return compared, equal, first


@pytest.mark.parametrize(
    "file", files() or [Path("none")], ids=lambda file: f"{file.parent.name}/{file.name}"
)
def test_ids_equal_the_owners(file: Path) -> None:
    if not file.exists():
        pytest.skip("../shared/tokenizers is missing")
    texts, equal, first = compare(file)
    assert equal == texts, first


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for file in files():
        texts, equal, first = compare(file)
        print(f"| {file.parent.name}/{file.name} | {equal} of {texts} | {first} |", flush=True)
