"""The template of a tokenizer: the tokens that its owner puts around every text, such as bos and eos.

Files describe it as a post-processor of a `tokenizer.json`. Only its effect on one text is kept: ids before
and after the text.
"""

from collections.abc import Mapping
from typing import Any, TypedDict


class Template(TypedDict):
    """The tokens around a text, as `Tokenizer.encode` takes them: special tokens by name, others by id."""

    prepend: list[str | int]
    append: list[str | int]


def named(before: list[int], after: list[int], specials: Mapping[str, int]) -> Template:
    """Return a template in which special tokens have their names."""
    names = {id: name for name, id in specials.items()}
    return Template(prepend=[names.get(id, id) for id in before], append=[names.get(id, id) for id in after])


def around_text(post_processor: object) -> tuple[list[int], list[int]]:
    """Return the ids that a post-processor puts before and after a text.

    Raises
    ------
    ValueError
        If it is malformed, or does more than put ids around one text.

    Examples
    --------
    >>> around_text({"type": "RobertaProcessing", "sep": ["</s>", 2], "cls": ["<s>", 0]})
    ([0], [2])
    """
    match post_processor:
        case None | {"type": "ByteLevel"}:
            return [], []
        case {"type": "RobertaProcessing" | "BertProcessing", "cls": [_, int(first)], "sep": [_, int(last)]}:
            return [first], [last]
        case {"type": "TemplateProcessing", "single": [*parts], "special_tokens": {**tokens}}:
            return _of_parts(parts, tokens)
        case {"type": "Sequence", "processors": [*processors]}:
            before: list[int] = []
            after: list[int] = []
            for processor in processors:  # each adds around what the one before has produced
                outer = around_text(processor)
                before, after = outer[0] + before, after + outer[1]
            return before, after
    raise ValueError("its post-processor is not one that puts tokens around a text")


def _of_parts(parts: list[Any], tokens: Mapping[Any, Any]) -> tuple[list[int], list[int]]:
    sides: list[list[int]] = [[]]
    for part in parts:
        match part:
            case {"Sequence": {"id": "A"}}:
                sides.append([])
            case {"SpecialToken": {"id": str(name)}} if name in tokens:
                match tokens[name]:
                    case {"ids": [*ids]} if all(type(id) is int and id >= 0 for id in ids):
                        sides[-1] += ids
                    case _:
                        raise ValueError(f"its template gives the token {name[:40]!r} no ids")
            case _:
                raise ValueError("its template has a part that is neither the text nor a token of its list")
    if len(sides) != 2:
        raise ValueError("its template does not contain the text exactly once")
    return sides[0], sides[1]
