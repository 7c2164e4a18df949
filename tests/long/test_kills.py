"""kill -9 at twenty random moments of a training, twice."""

from pathlib import Path

import pytest
from kills import check_killed_trainings_go_on


@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_kills_change_nothing(seed: int, tmp_path: Path) -> None:
    check_killed_trainings_go_on(tmp_path, 20, seed)
