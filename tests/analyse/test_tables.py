"""Tables: the same figures as JSON and as Markdown."""

import json

from merganser.reporting.tables import Table

TABLE = Table(("name", "n", "name"), (("a|b <i>\x1b", 1234, 0.5), ("_c_", None, 1234.56)))


def test_markdown_cells_are_escaped() -> None:
    assert TABLE.markdown().splitlines() == [
        "| name | n | name |",
        "|---|---:|---:|",
        r"| a\|b \<i\>␛ | 1,234 | 0.500 |",
        r"| \_c\_ | – | 1,234.6 |",
    ]


def test_json_contains_the_measured_values() -> None:
    text = TABLE.json()
    assert "\x1b" not in text
    assert json.loads(text) == [
        {"name": "a|b <i>\x1b", "n": 1234, "name (2)": 0.5},
        {"name": "_c_", "n": None, "name (2)": 1234.56},
    ]
    assert json.loads(Table(("n",) * 3, ((1, 2, 3),)).json()) == [{"n": 1, "n (2)": 2, "n (3)": 3}]
    override = Table(("text",), (("\u202e👍\U000e0041",),)).json()
    assert override.isascii() is False
    assert "\u202e" not in override
    assert json.loads(override) == [{"text": "\u202e👍\U000e0041"}]
