"""Settings: truncation and padding, as a tokenizer.json has them and as Python shows them."""

from dataclasses import dataclass
from typing import Any

from merganser.compat.tokenizers.encoding import Encoding

_STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
_DIRECTIONS = ("left", "right")


@dataclass(frozen=True)
class Truncation:
    """How much of a text, or of a pair, is kept."""

    max_length: int
    stride: int = 0
    strategy: str = "longest_first"
    direction: str = "right"

    @staticmethod
    def checked(max_length: int, stride: int, strategy: str, direction: str, added: int) -> "Truncation":
        """Return the settings; raise a `ValueError` if one of them is wrong."""
        if strategy not in _STRATEGIES:
            raise ValueError(
                f"Unknown `strategy`: `{strategy}`. Use one of `longest_first`, `only_first`, or "
                "`only_second`"
            )
        if direction not in _DIRECTIONS:
            raise ValueError(f"Unknown `direction`: `{direction}`. Use one of `left` or `right`.")
        effective = max_length - added
        if 0 <= effective < stride:
            raise ValueError(
                f"tokenizer stride set to {stride}, which is greater than or equal to its effective "
                f"max length of {effective} (= {max_length} original max length - {added} added special "
                "tokens), "
            )
        return Truncation(max_length, stride, strategy, direction)

    def shown(self) -> dict[str, Any]:
        """Return the settings as `Tokenizer.truncation` shows them."""
        return {name: getattr(self, name) for name in ("max_length", "stride", "strategy", "direction")}

    def as_json(self) -> dict[str, Any]:
        """Return the object of a tokenizer.json."""
        return {
            "direction": self.direction.capitalize(),
            "max_length": self.max_length,
            "strategy": _STRATEGIES[self.strategy],
            "stride": self.stride,
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> "Truncation":
        """Return the settings of an object of a tokenizer.json."""
        names = {written: name for name, written in _STRATEGIES.items()}
        return Truncation(
            int(value["max_length"]),
            int(value["stride"]),
            names[value["strategy"]],
            str(value.get("direction", "Right")).lower(),
        )

    def room(self, added: int) -> int | None:
        """Return how many tokens of text fit; None, as in the library, if not even the added ones do."""
        return self.max_length - added if added <= self.max_length else None

    def applied(self, encodings: list[Encoding], room: int) -> list[Encoding]:
        """Return encodings that have together at most `room` tokens."""
        lengths = [len(encoding) for encoding in encodings]
        excess = sum(lengths) - room
        if room > 0 and excess <= 0:
            return encodings
        kept = self._kept(lengths, room, excess)
        return [
            each._truncated(length, self.stride, self.direction)
            for each, length in zip(encodings, kept, strict=True)
        ]

    def _kept(self, lengths: list[int], room: int, excess: int) -> list[int]:
        """Return how many tokens of each encoding are kept."""
        if room == 0:
            return [0] * len(lengths)
        if self.strategy != "longest_first":
            target = 0 if self.strategy == "only_first" else 1
            if target >= len(lengths):
                raise Exception("Truncation error: Second sequence not provided")
            if lengths[target] <= excess:
                raise Exception(
                    "Truncation error: Sequence to truncate too short to respect the provided max_length"
                )
            return [length - excess if n == target else length for n, length in enumerate(lengths)]
        if len(lengths) == 1:
            return [room]
        # The longer one loses tokens until both are equally long; then both do.
        short, long = sorted(lengths)
        long = short if short > room else max(short, room - short)
        if short + long > room:
            short = room // 2
            long = short + room % 2
        return [short, long] if lengths[0] <= lengths[1] else [long, short]


@dataclass(frozen=True)
class PaddingSettings:
    """How encodings are made equally long."""

    direction: str = "right"
    pad_id: int = 0
    pad_type_id: int = 0
    pad_token: str = "[PAD]"
    length: int | None = None
    pad_to_multiple_of: int | None = None

    def check(self) -> None:
        """Raise a `ValueError` for a direction that does not exist."""
        if self.direction not in _DIRECTIONS:
            raise ValueError(f"Unknown `direction`: `{self.direction}`. Use one of `left` or `right`")

    def shown(self) -> dict[str, Any]:
        """Return the settings as `Tokenizer.padding` shows them."""
        names = ("length", "pad_to_multiple_of", "pad_id", "pad_token", "pad_type_id", "direction")
        return {name: getattr(self, name) for name in names}

    def as_json(self) -> dict[str, Any]:
        """Return the object of a tokenizer.json."""
        return {
            "strategy": "BatchLongest" if self.length is None else {"Fixed": self.length},
            "direction": self.direction.capitalize(),
            "pad_to_multiple_of": self.pad_to_multiple_of,
            "pad_id": self.pad_id,
            "pad_type_id": self.pad_type_id,
            "pad_token": self.pad_token,
        }

    @staticmethod
    def from_json(value: dict[str, Any]) -> "PaddingSettings":
        """Return the settings of an object of a tokenizer.json."""
        strategy = value.get("strategy")
        return PaddingSettings(
            str(value.get("direction", "Right")).lower(),
            int(value["pad_id"]),
            int(value["pad_type_id"]),
            str(value["pad_token"]),
            int(strategy["Fixed"]) if isinstance(strategy, dict) else None,
            value.get("pad_to_multiple_of"),
        )

    def target(self, longest: int) -> int:
        """Return the length of all encodings, given the number of tokens of the longest."""
        length = longest if self.length is None else self.length
        multiple = self.pad_to_multiple_of
        if multiple and length % multiple:
            length += multiple - length % multiple
        return length

    def applied(self, encoding: Encoding, length: int) -> Encoding:
        """Return an encoding of this length, or a longer one as it is."""
        return encoding._padded(length, self.direction, self.pad_id, self.pad_type_id, self.pad_token)
