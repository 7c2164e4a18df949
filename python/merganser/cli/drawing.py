"""Tokens and figures for people to look at."""

import json
from typing import Any

import click

from merganser.formats.tsv import escape


def as_json(value: dict[str, Any]) -> None:
    click.echo(json.dumps(value, ensure_ascii=False))


def token(piece: bytes) -> str:
    """One token on one line; spaces at its ends stay visible."""
    return escape(piece).replace(" ", "·")
