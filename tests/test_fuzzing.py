"""Every reader refuses corrupt files quickly and with one of our errors; see tests/support/fuzzing.py."""

from collections import Counter
from pathlib import Path

import fuzzing
import merganser
import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("name", fuzzing.readers())
def test_corrupt_files_are_refused(tmp_path: Path, name: str) -> None:
    results = Counter(fuzzing.attempt(tmp_path, name, number) for number in range(60))
    assert results["refused"] > 12


@pytest.mark.parametrize("name", fuzzing.readers())
def test_the_files_are_valid_before_they_are_corrupted(tmp_path: Path, name: str) -> None:
    reader = fuzzing.readers()[name]
    for path, data in reader.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    if name != "token lengths":
        assert fuzzing._load(tmp_path / reader.source, reader) == "accepted"


@given(
    data=st.binary(max_size=200),
    start=st.sampled_from([b"", b"GGUF\3\0\0\0", b"minbpe v1\n", b"{", b"YQ== "]),
)
def test_any_bytes_are_refused(tmp_path_factory: pytest.TempPathFactory, start: bytes, data: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any"
    file.write_bytes(start + data)
    with pytest.raises((merganser.FormatError, merganser.SettingsError)):
        merganser.load(file, pattern="gpt2")
