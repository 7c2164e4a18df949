"""A terminal for tests: what a program draws if its standard error is a terminal."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios
from pathlib import Path

import processes

COLUMNS = 80
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def on_terminal(command: list[str], cwd: Path) -> tuple[int, str, list[str]]:
    """Run a Python command; return its exit code, its standard output, and every line that it drew."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    environment["TERM"] = "xterm"
    called = [sys.executable, "-W", "error", *command]
    with processes.started(called, cwd=cwd, env=environment, stderr=theirs) as process:
        os.close(theirs)
        drawn = b""
        while part := _read(ours):
            drawn += part
        os.close(ours)
        output, _ = process.communicate()
    lines = re.split(r"[\r\n]+", _ESCAPES.sub("", drawn.decode()))
    return process.returncode, output, [line for line in lines if line.strip()]


def drawn_by(script: str, *arguments: str) -> str:
    """Run a Python script with standard output and error on a terminal; return all that it wrote."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-c", script, *arguments]
    with processes.started(command, stdout=theirs, stderr=theirs):
        os.close(theirs)
        drawn = b""
        while part := _read(ours):
            drawn += part
        os.close(ours)
    return drawn.decode()


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # on Linux: the other end is closed
        return b""
