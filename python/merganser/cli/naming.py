"""Naming a tokenizer on the command line: one way, which every command understands.

| written             | meaning                                                                        |
|---------------------|--------------------------------------------------------------------------------|
| `PATH`              | a file or folder that `merganser.load` reads                                   |
| `FILE@PATTERN`      | a rank file and its split pattern, such as `cl100k_base.tiktoken@gpt4`         |
| `tiktoken:NAME`     | `tiktoken.get_encoding(NAME)`                                                  |
| `transformers:NAME` | `AutoTokenizer.from_pretrained(NAME)`: a folder, or a name on the hub          |
| `tokenizers:FILE`   | `tokenizers.Tokenizer.from_file(FILE)`                                         |
| `NAME=…`            | any of these, labeled: the name that `compare`, `show` and others print for it |

An existing file or folder comes first: where `a=b@c:d` exists, it is that file.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from merganser import Tokenizer

#: For `--help` of every command that takes a tokenizer.
HELP = (
    "TOKENIZER is a PATH, a rank file with its pattern (cl100k_base.tiktoken@gpt4), tiktoken:NAME or "
    "transformers:NAME; NAME= in front labels it (mine=merganser-out)."
)

#: How each library opens a tokenizer: the module, the function in it, and the extra that installs it.
_LIBRARIES = {
    "tiktoken": ("get_encoding", "merganser[tiktoken]"),
    "tokenizers": ("Tokenizer.from_file", "merganser[hf]"),
    "transformers": ("AutoTokenizer.from_pretrained", "transformers"),
}
#: Neither a path nor an address, nor a library.
_LABEL = re.compile(r"[^/\\:@]+")


@dataclass(frozen=True)
class Named:
    """A tokenizer by its name; nothing is opened before `load` or `live`."""

    #: As the user typed it.
    written: str
    #: A path, or a name that the library knows.
    source: str
    label: str | None = None
    pattern: str | None = None
    library: str | None = None

    @property
    def title(self) -> str:
        """What to print for it."""
        return self.label or self.written

    @property
    def short_title(self) -> str:
        """What to print for it where there is little room: of a path, only the last part."""
        if self.label or self.library:
            return self.label or self.source
        return Path(self.source).name or self.source

    @property
    def path(self) -> Path | None:
        """The file or folder, unless a library is asked."""
        return None if self.library else Path(self.source)

    @property
    def expression(self) -> str:
        """The Python that loads it."""
        if self.library:
            opener, _ = _LIBRARIES[self.library]
            return f"merganser.load({self.library}.{opener}({self.source!r}))"
        pattern = "" if self.pattern is None else f", pattern={self.pattern!r}"
        return f"merganser.load({self.source!r}{pattern})"

    def load(self) -> "Tokenizer":
        """Load it as a `merganser.Tokenizer`."""
        from merganser import FormatError, PatternError, load
        from merganser._core import preset_names
        from merganser.formats.loading import HasPattern, NeedsPattern

        if self.library:
            return load(self.live())
        try:
            return load(self.source, pattern=self.pattern)
        except NeedsPattern:
            raise FormatError(
                f"{self.written} holds tokens but not how to split text; write {self.written}@PATTERN, where "
                f"PATTERN is one of {', '.join(preset_names())}, or a regular expression (GPT-2 has gpt2, "
                "cl100k_base has gpt4, o200k_base has o200k, Qwen has qwen2)"
            ) from None
        except HasPattern:
            raise FormatError(f"{self.source} has its own pattern; leave out @{self.pattern}") from None
        except PatternError as error:
            raise PatternError(f"{self.written}: {error}") from None

    def live(self) -> Any:
        """The live object of the library, where one is named; else the tokenizer."""
        from merganser import TokenizerError
        from merganser.corpus.addresses import reason

        if self.library is None:
            return self.load()
        opener, package = _LIBRARIES[self.library]
        try:
            module = import_module(self.library)
        except ImportError as error:
            install = f"'{package}'" if "[" in package else package
            raise ImportError(f"{self.written} needs {self.library}: pip install {install}") from error
        try:
            return attrgetter(opener)(module)(self.source)
        except Exception as error:  # of many kinds, from many packages
            raise TokenizerError(
                f"{self.library} cannot open {self.source}: {reason(error)}; check the name"
            ) from error


class _Type(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic in newer versions
    name = "tokenizer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Named:
        return value if isinstance(value, Named) else named(value)


#: The type of an argument or option that names a tokenizer.
TOKENIZER = _Type()


def named(written: str) -> Named:
    """What a name means.

    >>> found = named("mine=x.tiktoken@gpt2")
    >>> found.label, found.source, found.pattern
    ('mine', 'x.tiktoken', 'gpt2')
    >>> named("tiktoken:cl100k_base").expression
    "merganser.load(tiktoken.get_encoding('cl100k_base'))"
    """
    if found := _there(written, written, None):
        return found
    label, equals, rest = written.partition("=")
    if equals and rest and _LABEL.fullmatch(label):
        return _there(written, rest, label) or _missing(written, rest, label)
    return _missing(written, written, None)


def _there(written: str, name: str, label: str | None) -> Named | None:
    """What exists: a path, or a file with a pattern. The longest path wins, for a pattern may hold an @."""
    if _exists(name):
        return Named(written, name, label)
    for at in reversed([place.start() for place in re.finditer("@", name)]):
        if at and _exists(name[:at]):
            return Named(written, name[:at], label, pattern=name[at + 1 :])
    return None


def _missing(written: str, name: str, label: str | None) -> Named:
    """What is no path: a name in a library, or a file that is not there."""
    library, colon, known = name.partition(":")
    if colon and known and library in _LIBRARIES:
        return Named(written, known, label, library=library)
    file, at, pattern = name.rpartition("@")
    if at and file and "/" not in pattern:
        return Named(written, file, label, pattern=pattern)
    return Named(written, name, label)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # too long for a name, or no permission to look
        return False


def loaded(tokenizers: Iterable[Named]) -> "dict[str, Tokenizer]":
    """Tokenizers by their titles; the same one named twice is one."""
    by_title: dict[str, Named] = {}
    for tokenizer in tokenizers:
        other = by_title.setdefault(tokenizer.title, tokenizer)
        if other.written != tokenizer.written:
            raise click.UsageError(
                f"{other.written} and {tokenizer.written} have the same name; label them differently"
            )
    return {title: tokenizer.load() for title, tokenizer in by_title.items()}
