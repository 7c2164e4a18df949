"""Components: the stages of a tokenizer as small objects that hold their definition.

A component is what Hugging Face's `tokenizer.json` says about it, under the same names. It runs nothing by
itself: a `Tokenizer` compiles all of its components at once, when it is first used. Changing a field
notifies the tokenizers that use the component, which are compiled again.
"""

import copy
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakSet

if TYPE_CHECKING:
    from typing_extensions import Self

C = TypeVar("C", bound="Component")
#: How many entries of a collection `repr` and `str` show, and how many bytes of a string `str` does.
ALL, FEW = 99, 5
_MAX_BYTES = 100


class Watched:
    """Something that others depend on: they are told when it changes."""

    __slots__ = ("__weakref__", "_watchers")
    _watchers: "WeakSet[Watched]"

    def __init__(self) -> None:
        object.__setattr__(self, "_watchers", WeakSet())

    def _watch(self, watcher: "Watched") -> None:
        self._watchers.add(watcher)

    def _changed(self) -> None:
        for watcher in list(self._watchers):
            watcher._changed()


class Component(Watched):
    """A stage of a tokenizer: the fields of its definition are its attributes.

    Examples
    --------
    >>> from merganser.compat.tokenizers import pre_tokenizers
    >>> stage = pre_tokenizers.ByteLevel(add_prefix_space=False)
    >>> stage.add_prefix_space, stage.use_regex
    (False, True)
    >>> stage
    ByteLevel(add_prefix_space=False, trim_offsets=True, use_regex=True)
    """

    __slots__ = ("_fields",)
    #: The fields with their defaults, in the order of the file.
    FIELDS: ClassVar[dict[str, Any]] = {}
    #: The classes of this kind, by the name that the file has for them.
    kinds: ClassVar[dict[str, type["Component"]]] = {}
    #: What the kind is called in messages.
    kind: ClassVar[str] = "component"
    _fields: dict[str, Any]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "FIELDS" in vars(cls):
            cls.kinds[cls.__name__] = cls

    def __init__(self, **fields: Any) -> None:
        super().__init__()
        known = {name: fields.get(name, default) for name, default in self.FIELDS.items()}
        object.__setattr__(self, "_fields", known)

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> "Self":
        """Return the component with the fields of an object; missing ones have their defaults."""
        made = cls.__new__(cls)
        Component.__init__(made, **copy.deepcopy(fields))
        return made

    @classmethod
    def _from_json(cls, value: dict[str, Any]) -> "Component":
        """Return the component of this kind that an object of a tokenizer.json describes."""
        name = value.get("type") if isinstance(value, dict) else None
        if name not in cls.kinds:
            raise ValueError(
                f"{name!r} is not a {cls.kind} that merganser has; it has {', '.join(cls.kinds)}"
            )
        return cls.kinds[name]._of(value)

    def _as_json(self) -> dict[str, Any]:
        """Return the object of a tokenizer.json."""
        return {"type": type(self).__name__, **copy.deepcopy(self._fields)}

    def __getattr__(self, name: str) -> Any:
        try:
            return object.__getattribute__(self, "_fields")[name]
        except (AttributeError, KeyError):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in type(self).FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self._fields[name] = value
        self._changed()

    def __getstate__(self) -> bytes:
        return compact(self._as_json()).encode()

    def __setstate__(self, state: bytes | str) -> None:
        made = type(self)._of(json.loads(state))
        Watched.__init__(self)
        object.__setattr__(self, "_fields", made._fields)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.__getstate__())

    def __copy__(self) -> "Component":
        return _restored(type(self), self.__getstate__())

    def __deepcopy__(self, memo: object) -> "Component":
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Component) and self._as_json() == other._as_json()

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return shown(self._as_json(), ALL)

    def __str__(self) -> str:
        return shown(self._as_json(), FEW)


class Chain(Component):
    """Several components of a kind, one after the other: what they all call `Sequence`."""

    __slots__ = ()
    #: The key under which a file lists the parts.
    KEY: ClassVar[str] = ""

    def __init__(self, parts: list[Any]) -> None:
        kind = self._part_kind()
        super().__init__(**{self.KEY: [coerced(part, kind) for part in parts]})
        for part in self._parts:
            part._watch(self)

    @classmethod
    def _part_kind(cls) -> type[Component]:
        return next(base for base in cls.__mro__ if "kinds" in vars(base))

    @property
    def _parts(self) -> list[Component]:
        parts: list[Component] = self._fields[self.KEY]
        return parts

    @classmethod
    def _of(cls, fields: dict[str, Any]) -> "Self":
        made = cls.__new__(cls)
        kind = cls._part_kind()
        Chain.__init__(made, [kind._from_json(part) for part in fields.get(cls.KEY) or () if part])
        return made

    def _as_json(self) -> dict[str, Any]:
        return {"type": "Sequence", self.KEY: [part._as_json() for part in self._parts]}

    def __len__(self) -> int:
        return len(self._parts)

    def __iter__(self) -> Iterator[Component]:
        return iter(self._parts)

    def __getitem__(self, index: int) -> Component:
        return self._parts[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._parts[index] = part = coerced(value, self._part_kind())
        part._watch(self)
        self._changed()


def _restored(kind: type[Component], state: bytes) -> Component:
    return kind._from_json(json.loads(state))


def coerced(value: Any, kind: type[C]) -> C:
    """Return a component: as it is, or from the state of one of Hugging Face's own objects."""
    if isinstance(value, kind):
        return value
    state = getattr(value, "__getstate__", lambda: None)()
    if isinstance(state, bytes | str) and not isinstance(value, Component):
        made = kind._from_json(json.loads(state))
        assert isinstance(made, kind)
        return made
    raise TypeError(f"a {kind.kind} is needed, got {type(value).__name__}")


def one_character(text: str) -> str:
    """Return a character; raise a `ValueError` for anything else."""
    if len(text) != 1:
        raise ValueError("expected a string of length 1")
    return text


def compact(value: Any) -> str:
    """Return JSON as Hugging Face's library writes it."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def shown(value: Any, limit: int) -> str:
    """Return a definition as Hugging Face's library shows it; at most `limit` entries of each collection."""
    match value:
        case {"type": str(name)}:
            fields = {key: field for key, field in value.items() if key != "type"}
            return f"{name}({_shown_fields(fields, limit)})"
        case {"id": _, "ids": _, "tokens": _}:
            return f"SpecialToken({_shown_fields(value, limit)})"
        case dict() if len(value) == 1 and isinstance(next(iter(value.values())), dict | str):
            [(name, inner)] = value.items()
            if name[:1].isupper():
                inside = _shown_fields(inner, limit) if isinstance(inner, dict) else shown(inner, limit)
                return f"{name}({inside})"
    match value:
        case dict():
            entries = [f'"{key}":{shown(entry, limit)}' for key, entry in list(value.items())[:limit]]
            text = "{" + ", ".join(_cut(entries, len(value))) + "}"
        case list() | tuple():
            marks = "()" if isinstance(value, tuple) else "[]"
            entries = [shown(entry, limit) for entry in value[:limit]]
            text = marks[0] + ", ".join(_cut(entries, len(value))) + marks[1]
        case str():
            start = value.encode()[:_MAX_BYTES].decode(errors="ignore")
            cut = limit == FEW and len(start) < len(value)
            text = f'"{start}..."' if cut else f'"{value}"'
        case _:
            text = str(value)
    return text


def _shown_fields(fields: dict[str, Any], limit: int) -> str:
    parts = []
    for name, value in fields.items():
        # The names of choices have no quotes.
        bare = name in ("behavior", "prepend_scheme") or (name == "id" and value in ("A", "B"))
        given = tuple(value) if name in ("sep", "cls") else value
        parts.append(f"{name}={value if bare else shown(given, limit)}")
    return ", ".join(parts)


def _cut(entries: list[str], size: int) -> list[str]:
    return [*entries, "..."] if len(entries) < size else entries
