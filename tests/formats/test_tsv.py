"""TSV: any bytes fit on one line, and an invalid line is named."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from merganser import Counts, CountsError
from merganser.tokenizer.escaping import escape, unescape


@given(st.binary() | st.text().map(str.encode))
def test_any_bytes_survive_the_tsv_escape_on_one_line(pretoken: bytes) -> None:
    escaped = escape(pretoken)
    assert unescape(escaped) == pretoken
    assert escaped.isprintable()


@pytest.mark.parametrize("line", ["ab", "ab\tx", "ab\t-3", "a\tb\t3", "\\q\t3", "ab\t", "a\\\t3", "ab\t٣"])
def test_an_invalid_tsv_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "bad.tsv"
    file.write_text(f"fine\t1\n{line}\n", "utf-8")
    with pytest.raises(CountsError, match=r"bad\.tsv, line 2"):
        Counts.from_tsv(file)
