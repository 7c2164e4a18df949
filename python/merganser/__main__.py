"""Run the command line with `python -m merganser`."""

from merganser.cli import run

run()
