"""`python -m merganser` is the command line."""

from merganser.cli import run

run()
