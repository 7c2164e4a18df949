"""Every real vocabulary in every format: it round-trips, or the export is refused with a reason."""

from pathlib import Path

import pytest
import round_trips
import vocabs


@pytest.mark.parametrize("format", round_trips.FORMATS_READ)
@pytest.mark.parametrize("name", vocabs.ALL)
def test_a_real_vocabulary_round_trips(tmp_path: Path, name: str, format: str) -> None:
    round_trips.check(tmp_path, name, format)


@pytest.mark.parametrize("name", vocabs.ALL)
def test_hugging_face_produces_our_ids(tmp_path: Path, name: str) -> None:
    round_trips.check_hugging_face(tmp_path, name)
