"""Check the Rust dependencies against deny.toml without a network: licenses, sources, duplicates, bans.

    python tools/audit.py

`cargo deny check` does the same and more (advisories), but needs the network and a recent cargo-deny; this
script needs only cargo. Prints one line for each problem, and exits with 1 if there is one.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied by allowed licenses.

    >>> is_allowed("(MIT OR GPL-3.0) AND Unicode-3.0", {"MIT", "Unicode-3.0"})
    True
    >>> is_allowed("MIT AND GPL-3.0", {"MIT"}), is_allowed("Unlicense/MIT", {"MIT"})
    (False, True)
    """
    while (group := re.search(r"\(([^()]*)\)", expression)) is not None:
        inner = "allowed" if is_allowed(group[1], allowed) else "forbidden"
        expression = expression[: group.start()] + inner + expression[group.end() :]
    return any(
        all(license.strip() in {*allowed, "allowed"} for license in option.split(" AND "))
        for option in re.split(r" OR |/", expression)
    )


def problems(packages: list[dict[str, Any]], locked: list[dict[str, Any]], rules: Any) -> Iterator[str]:
    """Yield one line for each problem of the packages that cargo lists."""
    allowed = set(rules["licenses"]["allow"])
    banned = {entry["name"] for entry in rules["bans"]["deny"]}
    skipped = {entry["name"] for entry in rules["bans"]["skip"]}
    checksums = {(package["name"], package["version"]) for package in locked if "checksum" in package}
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not is_allowed(package["license"] or "none", allowed):
            yield f"{name}: the license {package['license']} is not in deny.toml"
        if package["name"] in banned:
            yield f"{name}: deny.toml bans it"
        if package["source"] is None:  # a crate of this workspace
            continue
        if package["source"] != CRATES_IO:
            yield f"{name}: it comes from {package['source']}, not from crates.io"
        if (package["name"], package["version"]) not in checksums:
            yield f"{name}: Cargo.lock has no checksum"
    for crate, count in Counter(package["name"] for package in packages).items():
        if count > 1 and crate not in skipped:
            yield f"{crate}: {count} versions; update one, or list it under `skip` in deny.toml"


def main() -> int:
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    packages = json.loads(listed)["packages"]
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text("utf-8"))["package"]
    found = list(problems(packages, locked, tomllib.loads((ROOT / "deny.toml").read_text("utf-8"))))
    print(*found, f"{len(packages)} crates, {len(found)} problems", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
