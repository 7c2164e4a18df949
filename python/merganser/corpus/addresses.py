"""Addresses: names with a protocol, such as `s3://bucket/a.txt`, told from paths and made fit to be shown."""

import os
import re
from pathlib import Path

WEB = ("http", "https")

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(::[a-zA-Z0-9+.:/-]+)?://")
#: What `Path` makes of an address: one slash is lost.
_FOLDED = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]+):/(?!/)")


class Address(os.PathLike[str]):
    """A path or an address as it was written; `Path` would fold the slashes of `s3://`."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self._name = os.fspath(name)

    def __fspath__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name


def address(name: str) -> str | None:
    """The address that a name is, also one that `Path` has folded; None if it is a path on this machine.

    >>> address("s3://bucket/a.txt"), address("s3:/bucket/a.txt"), address("texts/a.txt")
    ('s3://bucket/a.txt', 's3://bucket/a.txt', None)
    """
    if _ADDRESS.match(name):
        return name
    if _FOLDED.match(name) and not Path(name).exists():
        return _FOLDED.sub(r"\1://", name).replace("file://", "file:///")
    return None


def shown(address: str) -> str:
    """The address without what is secret or no part of the name.

    >>> shown("https://me:secret@host/a.txt?signature=1")
    'https://host/a.txt'
    """
    address = re.sub(r"\b((?:https?|s?ftp|ssh|smb)://)[^/@]*@", r"\1", address)
    return re.sub(r"\b(https?://[^?#]*)[?#].*", r"\1", address)


def reason(error: BaseException | None) -> str:
    """What went wrong, in one line and without secrets; some errors have no message of their own."""
    message = str(error).partition("\n")[0] or type(error).__name__
    return re.sub(r"https?://[^\s'\"]+", lambda address: shown(address[0]), message)
