"""Patterns in components: text that is matched as it is, or a regular expression."""

from typing import Any


class Regex:
    """A regular expression of a component; a plain `str` there is matched as it is.

    Examples
    --------
    >>> Regex(r"\\d+").pattern
    '\\\\d+'
    """

    __slots__ = ("pattern",)

    def __init__(self, s: str) -> None:
        self.pattern = s

    def __repr__(self) -> str:
        return f"Regex({self.pattern!r})"


def as_json(pattern: Any) -> dict[str, str]:
    """Return the object that a tokenizer.json has for a pattern.

    >>> as_json(" "), as_json(Regex("a|b"))
    ({'String': ' '}, {'Regex': 'a|b'})
    """
    if isinstance(pattern, str):
        return {"String": pattern}
    if isinstance(pattern, Regex):
        return {"Regex": pattern.pattern}
    # The library's own class does not show its expression, but a component with it does.
    if type(pattern).__name__ == "Regex":
        import json

        from tokenizers import pre_tokenizers  # it is installed, or there would be no such object

        state = json.loads(pre_tokenizers.Split(pattern, "isolated").__getstate__())
        found: dict[str, str] = state["pattern"]
        return found
    raise TypeError(f"a pattern must be a str or a Regex, got {type(pattern).__name__}")


def hidden(name: str, verb: str) -> None:
    """Raise an error if the name is `pattern`: the library does not show or change the pattern of a stage."""
    if name == "pattern":
        raise Exception(f"Cannot {verb} pattern")
