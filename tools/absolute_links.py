"""Make the links of README.md absolute, for the page of a release on PyPI: python tools/absolute_links.py

PyPI shows the README of a wheel, where relative links lead nowhere and the chart would be missing. The wheels
of a release are built from a README changed by this script (.github/workflows/packages.yml); the repository
and the sdist keep relative links, which work in a clone and in a fork. Links lead to the files of the tag.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
#: The target of a link, or of a picture in HTML, that is not an address and not an anchor of the page itself.
_LINK = re.compile(r"(?P<before>\]\()(?![a-z]+:|#)(?P<target>[^)\s]+)(?=\))")
_PICTURE = re.compile(r"(?P<before>\b(?:src|srcset)=\")(?![a-z]+:)(?P<target>[^\"]+)(?=\")")


def absolute(text: str, repository: str, tag: str) -> str:
    """Make links and pictures absolute.

    >>> print(absolute('[log](docs/log.md#a), [web](https://a.org)', "https://github.com/a/b", "v1"))
    [log](https://github.com/a/b/blob/v1/docs/log.md#a), [web](https://a.org)
    >>> print(absolute('<img src="a.svg">', "https://github.com/a/b", "v1"))
    <img src="https://raw.githubusercontent.com/a/b/v1/a.svg">
    """
    raw = repository.replace("https://github.com/", "https://raw.githubusercontent.com/")
    text = _PICTURE.sub(rf"\g<before>{raw}/{tag}/\g<target>", text)
    return _LINK.sub(rf"\g<before>{repository}/blob/{tag}/\g<target>", text)


def released() -> str:
    """Return the README of the current version."""
    source = _setting("pyproject.toml", "Source")
    return absolute(README.read_text("utf-8"), source, f"v{_setting('Cargo.toml', 'version')}")


def _setting(file: str, key: str) -> str:
    found = re.search(rf'^{key} = "(.+)"$', (ROOT / file).read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit(f"{file} has no {key}")
    return found[1]


if __name__ == "__main__":
    README.write_bytes(released().encode())
