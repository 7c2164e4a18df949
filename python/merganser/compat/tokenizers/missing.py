"""Names of tokenizers that merganser does not have, so that importing them works and using them says why."""

from typing import Any


class Missing:
    """A class that cannot be used."""

    __slots__ = ()
    #: What it is, for the message.
    what = ""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        raise NotImplementedError(
            f"merganser has no {type(self).__name__}: {self.what}; use the tokenizers package for it"
        )

    @classmethod
    def from_file(cls, *arguments: Any, **options: Any) -> "Missing":
        """Raise a `NotImplementedError`."""
        return cls()


class NotBpe(Missing):
    """A model, a trainer or a tokenizer that is not BPE."""

    __slots__ = ()
    what = "it only does BPE"


class NotInPython(Missing):
    """What stages in Python work on."""

    __slots__ = ()
    what = "it has no stages in Python"
