"""Jinja with provenance: a sandbox that renders a chat template to a `Text`.

Importing this module needs jinja2. Everything in the language is jinja2's own: its parser, compiler, scopes
and sandbox. Three things differ from the environment of transformers:

- The compiler marks what is written in the template. Constants and literal text become `Text` with the label
  TEMPLATE; what is printed or joined becomes `Text` with the labels of its parts. There is no other way to
  the label TEMPLATE, so a value from anywhere else is not trusted.
- Loops, calls, and operators that make texts, lists or numbers larger are counted against a `Budget`.
- Filters that would lose labels are replaced (`join`, `indent`, `string`, `tojson`, `format`), and those that
  make web pages are left out.
"""

import datetime
import re
import string
from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from functools import lru_cache, partial
from typing import Any, NoReturn

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.compiler import CodeGenerator, Frame
from jinja2.filters import do_batch, do_join, do_slice, do_wordwrap
from jinja2.sandbox import ImmutableSandboxedEnvironment, SandboxedFormatter
from jinja2.utils import Namespace
from markupsafe import Markup

from merganser.chat.json_text import to_json
from merganser.chat.provenance import TEMPLATE, LimitError, Text, budget, generated, joined

#: The most elements of a list, and the most bits of a number, that an operator may make.
_MAX_ELEMENTS = 1 << 20
_MAX_BITS = 1 << 14
_MAX_FORMAT_WIDTH = 4
#: Filters and functions that make web pages or placeholder text.
_LEFT_OUT = ("urlize", "xmlattr", "pprint")


class Refused(Exception):
    """The template calls `raise_exception`."""


class _Generator(CodeGenerator):
    """Compiles what is written in the template to `Text` with the label TEMPLATE."""

    environment: "Sandbox"

    def _output_const_repr(self, group: Iterable[Any]) -> str:
        return f"environment.written({''.join(group)!r})"

    def _output_child_pre(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        self.write("environment.printed(")
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_pre(node, frame, finalize)

    def _output_child_post(self, node: nodes.Expr, frame: Frame, finalize: Any) -> None:
        if frame.eval_ctx.volatile or frame.eval_ctx.autoescape:
            super()._output_child_post(node, frame, finalize)
        self.write(")")

    def visit_Const(self, node: nodes.Const, frame: Frame) -> None:
        if isinstance(node.value, str):
            self.write(f"environment.written({node.value!r})")
        else:
            super().visit_Const(node, frame)

    def visit_TemplateData(self, node: nodes.TemplateData, frame: Frame) -> None:
        self.write(f"environment.written({node.data!r})")

    def visit_Concat(self, node: nodes.Concat, frame: Frame) -> None:
        self.write("environment.concatenated((")
        for part in node.nodes:
            self.visit(part, frame)
            self.write(", ")
        self.write("))")

    def visit_For(self, node: nodes.For, frame: Frame) -> None:
        counted = nodes.EnvironmentAttribute("counted", lineno=node.lineno)
        node.iter = nodes.Call(counted, [node.iter], [], None, None, lineno=node.lineno)
        super().visit_For(node, frame)


class _Generation(jinja2.ext.Extension):
    """`{% generation %}`: marks what the assistant must learn."""

    tags = {"generation"}  # noqa: RUF012

    def parse(self, parser: Any) -> nodes.Node:
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return nodes.CallBlock(self.call_method("_generated"), [], [], body).set_lineno(line)

    @staticmethod
    def _generated(caller: Callable[[], str]) -> Text:
        return generated(caller())


class _Namespace(Namespace):
    """A namespace without names that Python gives a meaning."""

    def __init__(*args: Any, **values: Any) -> None:
        _check_names(dict(*args[1:], **values))
        Namespace.__init__(*args, **values)

    def __setitem__(self, name: str, value: Any) -> None:
        _check_names((name,))
        super().__setitem__(name, value)


def _check_names(names: Iterable[Any]) -> None:
    for name in names:
        if isinstance(name, str) and name.startswith("_"):
            raise jinja2.exceptions.SecurityError(f"a namespace cannot have the attribute {name!r}")


class _Dict:
    """The function `dict`, without the attributes of the class."""

    def __call__(self, *args: Any, **values: Any) -> dict[Any, Any]:
        return dict(*args, **values)

    def fromkeys(self, keys: Iterable[Any], value: Any = None) -> dict[Any, Any]:
        return dict.fromkeys(keys, value)


class Sandbox(ImmutableSandboxedEnvironment):
    """The environment of chat templates, with the settings, filters and functions of transformers."""

    code_generator_class = _Generator
    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self) -> None:
        super().__init__(
            trim_blocks=True,
            lstrip_blocks=True,
            optimized=False,
            extensions=[_Generation, jinja2.ext.loopcontrols],
        )
        for name in _LEFT_OUT:
            del self.filters[name]
        del self.globals["lipsum"]
        self.filters |= {
            "tojson": to_json,
            "join": _join,
            "string": self.printed,
            "indent": self._indented,
            "format": _format,
            "center": lambda value, width=80: self.printed(value).center(width),
            "batch": _with_limit(do_batch),
            "slice": _with_limit(do_slice),
            "wordwrap": _wordwrap,
        }
        self.globals |= {
            "raise_exception": _raise_exception,
            "strftime_now": lambda format: datetime.datetime.now().strftime(format),
            "dict": _Dict(),
            "namespace": _Namespace,
        }

    # ── called by the compiled template ───────────────────────────────────────

    @staticmethod
    def written(text: str) -> Text:
        """Return a string that is written in the template."""
        return Text(text, TEMPLATE)

    @staticmethod
    def printed(value: Any) -> Text:
        """Return what a value is printed as."""
        if isinstance(value, Text):
            return value
        if not isinstance(value, str):
            _measure(value)
        return Text(str(value))

    def concatenated(self, values: Iterable[Any]) -> Text:
        """Return the values that `~` joins."""
        return joined(map(self.printed, values))

    def concat(self, parts: Iterable[str]) -> Text:
        """Return the output of the template, of a macro or of a block."""
        return joined(parts)

    @staticmethod
    def counted(values: Iterable[Any]) -> Iterator[Any]:
        """Yield the values of a loop, and count its turns."""
        now = budget()
        for value in values:
            now.tick()
            yield value

    # ── the sandbox ───────────────────────────────────────────────────────────

    def getattr(self, obj: Any, attribute: str) -> Any:
        return super().getattr(_labeled(obj), attribute)

    def getitem(self, obj: Any, argument: Any) -> Any:
        return super().getitem(_labeled(obj), argument)

    def call(self, context: Any, obj: Any, /, *args: Any, **kwargs: Any) -> Any:
        budget().tick()
        return super().call(context, obj, *args, **kwargs)

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if isinstance(left, str) and not isinstance(left, Markup):
            if operator == "+" and isinstance(right, str) and not isinstance(right, Markup):
                return joined((left, right))
            if operator in "*%":
                left = _labeled(left)
        elif operator != "%":
            _check_size(operator, left, right)
        return super().call_binop(context, operator, left, right)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        method = super().wrap_str_format(value)
        if method is None or not isinstance(value.__self__, Text):
            return method
        return partial(_formatted, SandboxedFormatter(self), value.__self__, value.__name__ == "format_map")

    def _indented(self, text: Any, width: int | str = 4, first: bool = False, blank: bool = False) -> Text:
        """Return a text with its lines indented, as jinja2's filter, but tracked."""
        step = self.printed(width) if isinstance(width, str) else self.written(" ") * width
        newline = self.written("\n")
        head, *lines = (self.printed(text) + newline).splitlines()
        lines = [step + line if line or blank else line for line in lines]
        return joined((step if first else "", newline.join([head, *lines])))


def _labeled(value: Any) -> Any:
    """Return a string as a `Text`, whose methods are limited; other values unchanged."""
    return Text(value) if isinstance(value, str) and not isinstance(value, Text | Markup) else value


def _raise_exception(message: Any) -> NoReturn:
    raise Refused(str(message))


@jinja2.pass_eval_context
def _join(context: Any, value: Any, d: str = "", attribute: Any = None) -> Any:
    return do_join(context, value, _labeled(d) or Sandbox.written(""), attribute)


def _format(value: Any, *args: Any, **kwargs: Any) -> Any:
    if args and kwargs:
        raise jinja2.exceptions.FilterArgumentError(
            "can't handle positional and keyword arguments at the same time"
        )
    return Sandbox.printed(value) % (kwargs or args)


@jinja2.pass_environment
def _wordwrap(environment: Any, text: Any, width: int = 79, *args: Any, **kwargs: Any) -> Any:
    longest = max((len(value) for value in (*args, *kwargs.values()) if isinstance(value, str)), default=1)
    budget().take((len(text) + 1) * (longest + 1))
    return do_wordwrap(environment, text, width, *args, **kwargs)


def _with_limit(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a filter that refuses a large number as its first argument."""

    def limited(value: Any, number: int, *args: Any) -> Any:
        if number > _MAX_ELEMENTS:
            raise LimitError(f"it makes a list of {number:,} elements")
        return function(value, number, *args)

    return limited


def _check_size(operator: str, left: Any, right: Any) -> None:
    """Refuse an operation with a huge result."""
    sequences = [value for value in (left, right) if isinstance(value, list | tuple | bytes)]
    if sequences:
        sizes = [len(value) if isinstance(value, Sized) else value for value in (left, right)]
        if all(isinstance(size, int) for size in sizes):
            size = sizes[0] + sizes[1] if operator == "+" else sizes[0] * sizes[1]
            if size > _MAX_ELEMENTS:
                raise LimitError(f"it makes a list of {size:,} elements")
    elif isinstance(right, Text):
        return  # its own operator is limited
    elif isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        if operator == "**" and right > 0 and bits > 1 and bits * right > _MAX_BITS:
            raise LimitError(f"it makes a number of {bits * right:,} bits")
        if operator == "*" and bits + right.bit_length() > _MAX_BITS:
            raise LimitError("it makes a huge number")


def _measure(value: Any) -> None:
    """Refuse to print a structure that is huge when it is written out, although it may be small in memory."""
    left, size = [value], 0
    now = budget()
    while left:
        value = left.pop()
        size += len(value) if isinstance(value, str | bytes) else 1
        now.take(size)
        if isinstance(value, Mapping):
            left += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset):
            left += value


_PLAIN_FIELD = re.compile(r"\w*", re.ASCII)


def _formatted(
    formatter: SandboxedFormatter, pattern: Text, is_map: bool, /, *given: Any, **named: Any
) -> Text:
    """Return `pattern.format(…)`, tracked where all it does is to insert texts."""
    if is_map and (named or len(given) != 1):
        raise TypeError("format_map() takes exactly one argument")
    args, kwargs = ((), given[0]) if is_map else (given, named)
    fields = list(string.Formatter().parse(pattern))
    for _, _, spec, _ in fields:
        if spec and ("{" in spec or re.search(rf"\d{{{_MAX_FORMAT_WIDTH + 1}}}", spec)):
            raise LimitError(f"it formats with {spec[:20]!r}")
    plain = formatter.vformat(str.__str__(pattern), args, kwargs)
    budget().take(len(plain))
    labels = set(pattern._labels)
    if len(labels) > 1 or any(
        name is not None and (spec or conversion or not _PLAIN_FIELD.fullmatch(name))
        for _, name, spec, conversion in fields
    ):
        return Text(plain)
    label = labels.pop() if labels else TEMPLATE
    parts: list[str] = []
    for nth, (literal, name, _, _) in enumerate(fields):
        parts.append(Text(literal, label))
        if name is not None:
            value = args[int(name or nth)] if not name or name.isdecimal() else kwargs[name]
            parts.append(Sandbox.printed(value))
    tracked = joined(parts)
    return tracked if str.__eq__(tracked, plain) else Text(plain)


@lru_cache(64)
def compiled(source: str) -> jinja2.Template:
    """Return a template, compiled."""
    return Sandbox().from_string(source)


def literals(source: str) -> str:
    """Return all that is written in a template, with a character between that no token has."""
    tree = Sandbox().parse(source)
    written = [node.data for node in tree.find_all(nodes.TemplateData)]
    written += [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    return "\0".join(written)
