"""Placement of labels next to their points, without overlaps; labels that do not fit are dropped.

Greedy: the most important labels come first, and each takes the first free one of twelve positions around its
point. A grid of cells keeps that fast: a label is checked only against what is near it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: The width of a character at font size 1: an upper estimate for most words.
_CHARACTER_WIDTH = 0.6
_CELL = 60.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """A placed label: the center of its box, from the top left corner of the chart."""

    text: str
    x: float
    y: float
    point: int


def place(
    points: Sequence[tuple[float, float]],
    texts: Sequence[str],
    *,
    size: tuple[float, float],
    font: float = 11,
    radius: float = 3,
) -> list[Label]:
    """Place labels at the points that have space, in order of importance.

    points: in the units of the chart, whose width and height are `size`. Each point occupies a square that no
        label of a later point covers.

    >>> [label.text for label in place([(50, 50), (50, 50.5)], ["one", "two"], size=(100, 100))]
    ['one', 'two']
    """
    occupied: dict[tuple[int, int], list[Box]] = defaultdict(list)
    labeled = points[: len(texts)]
    labels = []
    for nth, ((x, y), text) in enumerate(zip(labeled, texts, strict=True)):
        # A label may cover a less important point, but not a more important one.
        _occupy(occupied, (x - radius, y - radius, x + radius, y + radius))
        width, height = len(text) * font * _CHARACTER_WIDTH, font * 1.15
        for across, down in _POSITIONS:
            center = x + across * (width / 2 + radius + 1), y + down * (height / 2 + radius + 1)
            box = (
                center[0] - width / 2,
                center[1] - height / 2,
                center[0] + width / 2,
                center[1] + height / 2,
            )
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
            if inside and not any(_overlap(box, other) for cell in _cells(box) for other in occupied[cell]):
                _occupy(occupied, box)
                labels.append(Label(text, *center, nth))
                break
    return labels


#: Right, left, above, below, the corners, and further out at the corners.
_NEAR = ((1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -1), (0.8, 1), (-0.8, -1), (-0.8, 1))
_POSITIONS = (*_NEAR, *((across * 1.1, down * 1.9) for across, down in _NEAR[4:]))


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for column in range(int(box[0] // _CELL), int(box[2] // _CELL) + 1):
        for row in range(int(box[1] // _CELL), int(box[3] // _CELL) + 1):
            yield column, row


def _occupy(occupied: dict[tuple[int, int], list[Box]], box: Box) -> None:
    for cell in _cells(box):
        occupied[cell].append(box)


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
