"""Distinguish URLs such as `s3://bucket/a.txt` from local paths, and remove secrets from them for display."""

import os
import re
from pathlib import Path

WEB = ("http", "https")

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(::[a-zA-Z0-9+.:/-]+)?://")
#: A URL that went through `Path`, which collapses `//` into `/`.
_COLLAPSED = re.compile(r"\b([a-zA-Z][a-zA-Z0-9+.-]+):/(?!/)")


class Address(os.PathLike[str]):
    """A path or URL as the user wrote it; `Path` would collapse the slashes of `s3://`."""

    def __init__(self, name: str | os.PathLike[str]) -> None:
        self._name = os.fspath(name)

    def __fspath__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return self._name


def as_url(name: str) -> str | None:
    """Return `name` if it is a URL, with slashes that `Path` collapsed restored; None for a local path.

    >>> as_url("s3://bucket/a.txt"), as_url("s3:/bucket/a.txt"), as_url("texts/a.txt")
    ('s3://bucket/a.txt', 's3://bucket/a.txt', None)
    """
    if _URL.match(name):
        return name
    if _COLLAPSED.match(name) and not Path(name).exists():
        return _COLLAPSED.sub(r"\1://", name).replace("file://", "file:///")
    return None


def redacted(url: str) -> str:
    """Return a URL without credentials, query and fragment.

    >>> redacted("https://me:secret@host/a.txt?signature=1")
    'https://host/a.txt'
    """
    url = re.sub(r"\b((?:https?|s?ftp|ssh|smb)://)[^/@]*@", r"\1", url)
    return re.sub(r"\b(https?://[^?#]*)[?#].*", r"\1", url)


def reason(error: BaseException | None) -> str:
    """Return the first line of an error's message without secrets, or its type if it has no message."""
    message = str(error).partition("\n")[0] or type(error).__name__
    return re.sub(r"https?://[^\s'\"]+", lambda url: redacted(url[0]), message)
