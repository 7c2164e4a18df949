"""List the `unsafe` blocks of the core that its tests do not reach.

Each block gets a breakpoint that vanishes when it is hit, and gdb runs the tests: what is left at the end was
not reached. A sanitizer says nothing about those blocks. Run as `make sanitize`, or directly.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "crates" / "core" / "src"
_BLOCK = re.compile(r"\bunsafe\s*\{")

#: Runs in gdb: sets the breakpoints, runs the tests to their end, and prints the breakpoints that are left.
_SCRIPT = """
import gdb
gdb.execute("set pagination off")
gdb.execute("set confirm off")
for place in {places!r}:
    try:
        gdb.Breakpoint(place, temporary=True)
    except gdb.error:
        print("NO CODE", place)
gdb.execute("run")
while gdb.selected_inferior().pid:
    gdb.execute("continue", to_string=True)
for left in gdb.breakpoints():
    print("NOT HIT", left.location)
"""


def blocks() -> dict[str, list[str]]:
    """Return the places of each block: its line, and the first line inside it."""
    found: dict[str, list[str]] = {}
    for file in sorted(SOURCES.rglob("*.rs")):
        name = str(file.relative_to(ROOT))
        if "test" in file.stem or "tests" in file.parts:
            continue
        lines = file.read_text("utf-8").splitlines()
        for number, line in enumerate(lines, 1):
            if _BLOCK.search(line.partition("//")[0]):
                found[f"{name}:{number}"] = [f"{name}:{number}", f"{name}:{number + 1}"]
    return found


def test_binary() -> str:
    """Build the tests of the core with line numbers, and return the path."""
    environment = os.environ | {"CARGO_PROFILE_TEST_DEBUG": "line-tables-only"}
    command = [
        "cargo",
        "test",
        "-p",
        "merganser-core",
        "--lib",
        "--no-run",
        "--target-dir",
        "target/debug-lines",
    ]
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    match = re.search(r"Executable .*\((.*)\)", built.stderr)
    assert match, built.stderr
    return str(ROOT / match[1])


def main() -> None:
    places = blocks()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(_SCRIPT.format(places=[place for lines in places.values() for place in lines]))
        script.flush()
        command = ["gdb", "-nx", "-batch", "-x", script.name, "--args", test_binary(), "--test-threads", "2"]
        done = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    if "test result: ok" not in done.stdout:
        sys.exit(f"the tests did not pass in gdb:\n{done.stdout[-3000:]}{done.stderr[-1000:]}")
    missed = set(re.findall(r"(?:NOT HIT|NO CODE) (\S+)", done.stdout))
    unreached = [block for block, lines in places.items() if missed.issuperset(lines)]
    print(
        f"{len(places) - len(unreached)} of {len(places)} unsafe blocks are reached by the tests; not these:"
    )
    for block in unreached:
        print(f"  {block}")


if __name__ == "__main__":
    main()
