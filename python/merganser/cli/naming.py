"""Tokenizer names on the command line: one syntax for every command.

| syntax              | meaning                                                                       |
|---------------------|-------------------------------------------------------------------------------|
| `PATH`              | a file or folder that `merganser.load` reads                                  |
| `NAME`              | an encoding or model of tiktoken, such as `cl100k_base` or `gpt-4o`           |
| `OWNER/NAME`        | a repository of the Hugging Face hub; `--revision` pins a branch, tag, commit |
| `FILE@PATTERN`      | a rank file and its split pattern, such as `cl100k_base.tiktoken@gpt4`        |
| `tiktoken:NAME`     | only tiktoken's                                                               |
| `hf:OWNER/NAME`     | only the hub's                                                                |
| `transformers:NAME` | `AutoTokenizer.from_pretrained(NAME)`: a folder, or a name on the hub         |
| `tokenizers:FILE`   | `tokenizers.Tokenizer.from_file(FILE)`                                        |
| `LABEL=…`           | any of these, with the label that `compare`, `show` and others print for it   |

An existing file or folder takes precedence: if `a=b@c:d` exists, it is that file.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from merganser.formats import names

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from merganser import Tokenizer

#: For `--help` of every command that takes a tokenizer.
HELP = (
    "TOKENIZER is a PATH, a rank file with its pattern (cl100k_base.tiktoken@gpt4), a name of tiktoken "
    "(cl100k_base, gpt-4o) or of the Hugging Face hub (Qwen/Qwen3-8B); tiktoken:, hf: and transformers: "
    "before a name say which. Prefix LABEL= to label it (mine=merganser-out)."
)

#: For each library, the function that opens a tokenizer, and what to install.
_LIBRARIES = {
    "tiktoken": ("get_encoding", "merganser[tiktoken]"),
    "hf": ("", ""),
    "tokenizers": ("Tokenizer.from_file", "merganser[hf]"),
    "transformers": ("AutoTokenizer.from_pretrained", "transformers"),
}
#: Where `merganser train` saves a tokenizer, and where other commands look for one.
DEFAULT = "merganser-out"
#: Where the value of `--revision` is kept.
_REVISION = "merganser.revision"
#: Excludes paths, URLs and libraries.
_LABEL = re.compile(r"[^/\\:@]+")


@dataclass(frozen=True)
class TokenizerName:
    """A parsed tokenizer name; nothing is opened before `load` or `live`."""

    #: The name as typed by the user.
    written: str
    #: A path, or a name that the library knows.
    source: str
    label: str | None = None
    pattern: str | None = None
    library: str | None = None
    #: The branch, tag or commit of a repository.
    revision: str | None = None

    @property
    def title(self) -> str:
        """The name to print."""
        return self.label or self.written

    @property
    def short_title(self) -> str:
        """The name to print where space is short: for a path, its last component."""
        if self.label or self.library:
            return self.label or self.source
        return Path(self.source).name or self.source

    @property
    def is_on_hub(self) -> bool:
        """Whether this is a repository of the Hugging Face hub, judging by the name."""
        if self.library:
            return self.library in ("hf", "transformers")
        return not _exists(self.source) and names.is_repository(self.source)

    @property
    def path(self) -> Path | None:
        """The file or folder, or None if a library opens the tokenizer."""
        if self.library or (not _exists(self.source) and names.is_name(self.source)):
            return None
        return Path(self.source)

    @property
    def expression(self) -> str:
        """The Python expression that loads the tokenizer."""
        if self.library in names.PREFIXES:
            return f"merganser.load({f'{self.library}:{self.source}'!r}{self._pinned})"
        if self.library:
            opener, _ = _LIBRARIES[self.library]
            return f"merganser.load({self.library}.{opener}({self.source!r}))"
        pattern = "" if self.pattern is None else f", pattern={self.pattern!r}"
        return f"merganser.load({self.source!r}{pattern}{self._pinned})"

    @property
    def _pinned(self) -> str:
        return "" if self.revision is None else f", revision={self.revision!r}"

    def load(self) -> "Tokenizer":
        """Load a `merganser.Tokenizer`."""
        from merganser import FormatError, PatternError, load
        from merganser._core import preset_names
        from merganser.formats.overrides import HasPattern, NeedsPattern

        if self.library in names.PREFIXES:
            return load(f"{self.library}:{self.source}", revision=self.revision)
        if self.library:
            return load(self.live())
        if self.source == DEFAULT and not _exists(DEFAULT):
            raise FormatError(
                f"{DEFAULT} does not exist; train a tokenizer first (merganser train CORPUS), or name "
                "another, such as gpt-4o"
            )
        try:
            return load(self.source, pattern=self.pattern, revision=self.revision)
        except NeedsPattern:
            raise FormatError(
                f"{self.written} contains tokens but no split pattern; write {self.written}@PATTERN, where "
                f"PATTERN is one of {', '.join(preset_names())}, or a regular expression (gpt2 for GPT-2, "
                "gpt4 for cl100k_base, o200k for o200k_base, qwen2 for Qwen)"
            ) from None
        except HasPattern:
            raise FormatError(
                f"{self.source} contains its own split pattern; leave out @{self.pattern}"
            ) from None
        except PatternError as error:
            raise PatternError(f"{self.written}: {error}") from None

    def live(self) -> Any:
        """Return the library's own object if a library is named, else the loaded tokenizer."""
        from merganser import TokenizerError
        from merganser.corpus.addresses import reason

        if self.library in (None, "hf"):
            return self.load()
        if self.library in names.PREFIXES:
            return names.resolve(f"{self.library}:{self.source}", self.revision)
        opener, package = _LIBRARIES[self.library]
        try:
            module = import_module(self.library)
        except ImportError as error:
            install = f"'{package}'" if "[" in package else package
            raise ImportError(f"{self.written} needs {self.library}: pip install {install}") from error
        try:
            return attrgetter(opener)(module)(self.source)
        except Exception as error:  # the libraries raise many types
            raise TokenizerError(
                f"{self.library} cannot open {self.source}: {reason(error)}; check the name"
            ) from error


class _TokenizerType(click.ParamType):  # type: ignore[type-arg, unused-ignore]  # generic in newer versions
    name = "tokenizer"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> TokenizerName:
        if isinstance(value, TokenizerName):
            return value
        name = parse(value)
        pinned = ctx.meta.get(_REVISION) if ctx else None
        # Only a name of the hub has revisions; files and tiktoken's encodings beside it do not.
        return replace(name, revision=pinned) if pinned and name.is_on_hub else name

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> "list[CompletionItem]":
        return complete_path(ctx, param, incomplete)


def complete_path(_: click.Context, __: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Let the shell complete a file or folder."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


#: The type of an argument or option that names a tokenizer.
TOKENIZER = _TokenizerType()


def _remember(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    ctx.meta[_REVISION] = value


#: Eager, so that it is known when the tokenizers are parsed.
revision = click.option(
    "--revision",
    metavar="REV",
    is_eager=True,
    expose_value=False,
    callback=_remember,
    help="Branch, tag or commit of tokenizers on the Hugging Face hub.",
)


def parse(written: str) -> TokenizerName:
    """Parse a tokenizer name.

    >>> name = parse("mine=x.tiktoken@gpt2")
    >>> name.label, name.source, name.pattern
    ('mine', 'x.tiktoken', 'gpt2')
    >>> parse("tiktoken:cl100k_base").expression
    "merganser.load('tiktoken:cl100k_base')"
    """
    if existing := _existing(written, written, None):
        return existing
    label, equals, rest = written.partition("=")
    if equals and rest and _LABEL.fullmatch(label):
        return _existing(written, rest, label) or _not_existing(written, rest, label)
    return _not_existing(written, written, None)


def _existing(written: str, name: str, label: str | None) -> TokenizerName | None:
    """Parse a path that exists, with or without a pattern. The longest path wins: a pattern may contain @."""
    if _exists(name):
        return TokenizerName(written, name, label)
    for at in reversed([match.start() for match in re.finditer("@", name)]):
        if at and _exists(name[:at]):
            return TokenizerName(written, name[:at], label, pattern=name[at + 1 :])
    return None


def _not_existing(written: str, name: str, label: str | None) -> TokenizerName:
    """Parse a library's tokenizer, or the path of a missing file."""
    library, colon, source = name.partition(":")
    if colon and source and library in _LIBRARIES:
        return TokenizerName(written, source, label, library=library)
    file, at, pattern = name.rpartition("@")
    if at and file and "/" not in pattern:
        return TokenizerName(written, file, label, pattern=pattern)
    return TokenizerName(written, name, label)


def _exists(name: str) -> bool:
    try:
        return Path(name).exists()
    except (OSError, ValueError):  # name too long, or permission denied
        return False


def load_all(wanted: Iterable[TokenizerName]) -> "dict[str, Tokenizer]":
    """Load tokenizers by title; a name given twice is loaded once."""
    by_title: dict[str, TokenizerName] = {}
    for name in wanted:
        other = by_title.setdefault(name.title, name)
        if other.written != name.written:
            raise click.UsageError(
                f"{other.written} and {name.written} have the same name; label them differently"
            )
    return {title: name.load() for title, name in by_title.items()}
