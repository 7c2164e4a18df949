"""Twenty kills during counting, merging and saving, at full size."""

from pathlib import Path

import merganser
import pytest
from killing import SMALL, check_killed_trainings_resume, kill_and_resume, write_corpus


def test_twenty_kills_do_not_change_the_tokenizer(tmp_path: Path) -> None:
    write_corpus(tmp_path / "a.txt", 3_000_000)
    out = tmp_path / "out"
    arguments = ["train", str(tmp_path / "a.txt"), "--vocab-size", "2000", "--out", str(out), *SMALL]
    kill_and_resume(arguments, 20, out / "tokenizer.merganser")
    assert merganser.load(out) == merganser.train(tmp_path / "a.txt", 2000)
    assert [file.name for file in out.iterdir() if not file.name.startswith(".")] == ["tokenizer.merganser"]


@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills_during_merging_do_not_change_the_tokenizer(seed: int, tmp_path: Path) -> None:
    check_killed_trainings_resume(tmp_path, 20, seed)
