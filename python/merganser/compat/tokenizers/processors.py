"""Post-processors: the special tokens around a text or a pair of texts, and trimmed offsets."""

from collections.abc import Callable
from typing import Any, ClassVar

from merganser.compat.tokenizers.components import Chain, Component
from merganser.compat.tokenizers.encoding import Encoding
from merganser.compat.tokenizers.parts import Part, Special

__all__ = [
    "BertProcessing",
    "ByteLevel",
    "PostProcessor",
    "RobertaProcessing",
    "Sequence",
    "TemplateProcessing",
]

#: Returns the parts of an encoding from one encoding for each text; the flag says whether to add tokens.
Process = Callable[[list[Encoding], bool], list[Encoding]]


class PostProcessor(Component):
    """What all post-processors have in common.

    Examples
    --------
    >>> around = TemplateProcessing("<s> $A", "<s> $A $B:1", [("<s>", 1)])
    >>> around.num_special_tokens_to_add(False)
    1
    """

    __slots__ = ()
    kinds: ClassVar[dict[str, type[Component]]] = {}
    kind = "post-processor"

    def num_special_tokens_to_add(self, is_pair: bool) -> int:
        """Return how many tokens are added to a text, or to a pair."""
        return added_tokens(self._as_json(), is_pair)

    def process(
        self, encoding: Encoding, pair: Encoding | None = None, add_special_tokens: bool = True
    ) -> Encoding:
        """Return the encoding of a text, or of a pair, with the tokens around it."""
        encodings = [each._copy() for each in (encoding, pair) if each is not None]
        return processed(compiled(self._as_json()), encodings, add_special_tokens)


class ByteLevel(PostProcessor):
    """Leave the spaces at the ends of tokens out of offsets."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"add_prefix_space": True, "trim_offsets": True, "use_regex": True}

    def __init__(
        self,
        add_prefix_space: bool | None = None,
        trim_offsets: bool | None = None,
        use_regex: bool | None = None,
        **ignored: Any,
    ) -> None:
        given = {"add_prefix_space": add_prefix_space, "trim_offsets": trim_offsets, "use_regex": use_regex}
        super().__init__(**{name: value for name, value in given.items() if value is not None})


class BertProcessing(PostProcessor):
    """`[CLS] A [SEP]`, or `[CLS] A [SEP] B [SEP]`."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"sep": ["[SEP]", 102], "cls": ["[CLS]", 101]}

    def __init__(self, sep: tuple[str, int], cls: tuple[str, int]) -> None:
        super().__init__(sep=_named(sep), cls=_named(cls))

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return tuple(value) if isinstance(value, list) else value

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, _named(value) if name in ("sep", "cls") else value)


class RobertaProcessing(BertProcessing):
    """`<s> A </s>`, or `<s> A </s> </s> B </s>`, with trimmed offsets."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {
        "sep": ["</s>", 2],
        "cls": ["<s>", 0],
        "trim_offsets": True,
        "add_prefix_space": True,
    }

    def __init__(
        self,
        sep: tuple[str, int],
        cls: tuple[str, int],
        trim_offsets: bool = True,
        add_prefix_space: bool = True,
    ) -> None:
        Component.__init__(
            self,
            sep=_named(sep),
            cls=_named(cls),
            trim_offsets=trim_offsets,
            add_prefix_space=add_prefix_space,
        )


class TemplateProcessing(PostProcessor):
    """Special tokens where templates say: `"<s> $A"`, `"<s> $A </s> $B:1"`."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"single": (), "pair": (), "special_tokens": {}}

    def __init__(
        self,
        single: "str | list[str] | None" = None,
        pair: "str | list[str] | None" = None,
        special_tokens: "list[Any] | None" = None,
    ) -> None:
        listed = [_special(token) for token in special_tokens or ()]
        for_one = _template("$A:0" if single is None else single)
        for_pair = _template("$A:0 $B:1" if pair is None else pair)
        tokens = {token["id"]: token for token in sorted(listed, key=lambda token: str(token["id"]))}
        _check(for_one, for_pair, tokens)
        super().__init__(single=for_one, pair=for_pair, special_tokens=tokens)

    def __getattr__(self, name: str) -> Any:
        # The library shows one of the templates, in this way, and not the rest.
        if name in ("pair", "special_tokens"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = super().__getattr__(name)
        return f"Template([{', '.join(map(_piece_text, value))}])" if name == "single" else value

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("pair", "special_tokens"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        super().__setattr__(name, _template(value) if name == "single" else value)


class Sequence(Chain, PostProcessor):
    """Several post-processors, one after the other."""

    __slots__ = ()
    FIELDS: ClassVar[dict[str, Any]] = {"processors": ()}
    KEY = "processors"

    def __init__(self, processors: list[Any]) -> None:
        super().__init__(processors)


def _named(token: tuple[str, int]) -> list[Any]:
    """Return a token and its id as a tokenizer.json has them."""
    if not isinstance(token, tuple):
        raise TypeError(f"'{type(token).__name__}' object is not an instance of 'tuple'")
    return list(token)


# ── templates ─────────────────────────────────────────────────────────────────


def _template(template: "str | list[str]") -> list[dict[str, Any]]:
    pieces = template.split() if isinstance(template, str) else template
    return [_piece(piece) for piece in pieces]


def _piece(piece: str) -> dict[str, Any]:
    """Return a piece of a template: `$A`, `$B:1`, `$1` (a type id) or the name of a token.

    >>> _piece("$1"), _piece("</s>:2")
    ({'Sequence': {'id': 'A', 'type_id': 1}}, {'SpecialToken': {'id': '</s>', 'type_id': 2}})
    """
    wrong = ValueError(f'Cannot build Piece from string "{piece}"')
    name, colon, number = piece.rpartition(":")
    if not colon:
        name, number = piece, "0"
    elif not number.isdigit():
        raise wrong
    if not name.startswith("$"):
        return {"SpecialToken": {"id": name, "type_id": int(number)}}
    sequence = name[1:]
    if sequence.upper() in ("A", "B", ""):
        return {"Sequence": {"id": sequence.upper() or "A", "type_id": int(number)}}
    if sequence.isdigit():
        return {"Sequence": {"id": "A", "type_id": int(sequence)}}
    raise wrong


def _piece_text(piece: dict[str, Any]) -> str:
    [(kind, fields)] = piece.items()
    name = fields["id"] if kind == "Sequence" else f'"{fields["id"]}"'
    return f"{kind} {{ id: {name}, type_id: {fields['type_id']} }}"


def _special(token: Any) -> dict[str, Any]:
    match token:
        case (str(name), int(id)) | (int(id), str(name)):
            return {"id": name, "ids": [id], "tokens": [name]}
        case {"id": str(name), "ids": list(ids), "tokens": list(tokens)}:
            if len(ids) != len(tokens):
                raise ValueError("SpecialToken: ids and tokens must be of the same length")
            return {"id": name, "ids": ids, "tokens": tokens}
    raise TypeError("Expected Union[Tuple[str, int], Tuple[int, str], dict]")


def _check(single: list[Any], pair: list[Any], tokens: dict[str, Any]) -> None:
    used = {piece["Sequence"]["id"] for piece in pair if "Sequence" in piece}
    if used != {"A", "B"}:
        raise ValueError("Template for `pair` must use both sequences")
    named = [piece["SpecialToken"]["id"] for piece in [*single, *pair] if "SpecialToken" in piece]
    if missing := sorted({name for name in named if name not in tokens}):
        raise ValueError(f"Missing SpecialToken(s) with id(s) `{', '.join(missing)}`")


# ── processing ────────────────────────────────────────────────────────────────


def processed(process: Process | None, encodings: list[Encoding], add_special_tokens: bool) -> Encoding:
    """Return one encoding from those of a text or a pair."""
    if process is None:
        if len(encodings) == 1:
            return encodings[0]
        for n, encoding in enumerate(encodings):
            encoding.set_sequence_id(n)
        return Encoding.merge(encodings, growing_offsets=False)
    for n, encoding in enumerate(encodings):
        encoding.set_sequence_id(n)
        for cut in encoding._rest():
            cut.set_sequence_id(n)
        encoding._replace([part.typed(n) for part in encoding._parts])
    return Encoding.merge(process(encodings, add_special_tokens), growing_offsets=False)


def compiled(json: dict[str, Any] | None) -> Process | None:
    """Return the function of a post-processor, which does not change if the post-processor does."""
    match json:
        case None:
            return None
        case {"type": "ByteLevel", "trim_offsets": bool(trims), "add_prefix_space": bool(prefixed)}:
            return lambda encodings, _: [_trimmed(each, trims, prefixed) for each in encodings]
        case {"type": "BertProcessing" | "RobertaProcessing" as kind, "sep": sep, "cls": cls}:
            trims, prefixed = bool(json.get("trim_offsets")), bool(json.get("add_prefix_space"))
            return _surrounding(cls, sep, kind == "BertProcessing", trims, prefixed)
        case {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}:
            return _templated(single, pair, tokens)
        case {"type": "Sequence", "processors": parts}:
            return _chained([process for part in parts if (process := compiled(part))])
    raise ValueError(f"{json.get('type')!r} is not a post-processor that merganser has")


def added_tokens(json: dict[str, Any] | None, is_pair: bool) -> int:
    """Return how many tokens a post-processor adds."""
    match json:
        case {"type": "BertProcessing"}:
            return 3 if is_pair else 2
        case {"type": "RobertaProcessing"}:
            return 4 if is_pair else 2
        case {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}:
            pieces = pair if is_pair else single
            named = [piece["SpecialToken"]["id"] for piece in pieces if "SpecialToken" in piece]
            return sum(len(tokens[name]["ids"]) for name in named)
        case {"type": "Sequence", "processors": parts}:
            return sum(added_tokens(part, is_pair) for part in parts)
    return 0


def _chained(processes: list[Process]) -> Process:
    def process(encodings: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        for each in processes:
            encodings = each(encodings, add_special_tokens)
        return encodings

    return process


def _trimmed(encoding: Encoding, trims: bool, prefixed: bool) -> Encoding:
    """Return an encoding, and what was cut off from it, with trimmed offsets."""
    if not trims:
        return encoding

    def parts(one: Encoding) -> list[Part]:
        made: list[Part] = []
        size = 0
        for part in one._parts:
            made.append(part.trimmed(prefixed, size == 0))
            size += len(part)
        return made

    # What was cut off from what was cut off is left as it is, as in the library.
    overflowing = [
        Encoding._of(parts(each), each._ranges, each._whole().overflowing) for each in encoding._rest()
    ]
    return Encoding._of(parts(encoding), encoding._ranges, overflowing)


def _templated(single: list[Any], pair: list[Any], tokens: dict[str, Any]) -> Process:
    def process(encodings: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        found = []
        for piece in pair if len(encodings) > 1 else single:
            match piece:
                case {"Sequence": {"id": name, "type_id": type_id}}:
                    n = 0 if name == "A" else 1
                    encoding = encodings[n]
                    encoding._replace([part.typed(type_id) for part in encoding._parts])
                    encoding.set_sequence_id(n)
                    found.append(Encoding._of(encoding._parts, encoding._ranges, encoding._rest()))
                case {"SpecialToken": {"id": name, "type_id": type_id}} if add_special_tokens:
                    token = tokens[name]
                    found.append(Encoding._of([Special(token["ids"], token["tokens"], type_id)]))
        return found

    return process


def _surrounding(cls: Any, sep: Any, typed: bool, trims: bool, prefixed: bool) -> Process:
    """Return BERT's post-processor, or RoBERTa's, which has no types and one token more between texts."""
    (first, first_id), (last, last_id) = cls, sep

    def around(encoding: Encoding, n: int) -> Encoding:
        type_id = n if typed else 0
        parts: list[Part] = [part.as_text() for part in encoding._parts]
        if not typed:
            parts = [part.typed(0) for part in parts]
        size = len(encoding)
        end = Special([last_id], [last], type_id)
        if n == 0:
            parts = [Special([first_id], [first], type_id), *parts, end]
        elif typed:
            parts = [*parts, end]
        else:
            parts = [Special([last_id], [last], type_id), *parts, end]
        start = 0 if n and typed else 1
        return Encoding._of(parts, {n: (start, start + size)}, [])

    def process(encodings: list[Encoding], add_special_tokens: bool) -> list[Encoding]:
        encodings = [_trimmed(each, trims, prefixed) for each in encodings]
        if not typed:
            for encoding in encodings:
                encoding._replace([part.typed(0) for part in encoding._parts])
        if not add_special_tokens:
            return encodings
        made = []
        for n, encoding in enumerate(encodings):
            one = around(encoding, min(n, 1))
            one._whole().overflowing = [around(each, min(n, 1)) for each in encoding._rest()]
            made.append(one)
        return made

    return process
