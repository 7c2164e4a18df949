"""Labels: words beside their points, none on another; those that find no room stay away.

Greedy: the important labels come first, and each takes the first of twelve places around its point that is
free. A grid of cells keeps that quick: a label looks only at what is near it.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

#: Of the look's font, for a size of 1: wide enough for most words, so that boxes are rather too large.
_CHARACTER = 0.6
_CELL = 60.0

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Label:
    """Where a label stands: the middle of its box, from the top left corner of the picture."""

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
    """Labels for those points that have room for one, the first points before the others.

    points: in the units of the picture, whose width and height are `size`. Each point takes a square that no
        label of a later point covers.

    >>> [label.text for label in place([(50, 50), (50, 50.5)], ["one", "two"], size=(100, 100))]
    ['one', 'two']
    """
    taken: dict[tuple[int, int], list[Box]] = defaultdict(list)
    labelled = points[: len(texts)]
    labels = []
    for nth, ((x, y), text) in enumerate(zip(labelled, texts, strict=True)):
        # An important label may cover a point that comes later, but never the other way round.
        _take(taken, (x - radius, y - radius, x + radius, y + radius))
        width, height = len(text) * font * _CHARACTER, font * 1.15
        for across, down in _PLACES:
            middle = x + across * (width / 2 + radius + 1), y + down * (height / 2 + radius + 1)
            box = (
                middle[0] - width / 2,
                middle[1] - height / 2,
                middle[0] + width / 2,
                middle[1] + height / 2,
            )
            inside = box[0] >= 0 and box[1] >= 0 and box[2] <= size[0] and box[3] <= size[1]
            if inside and not any(_meet(box, other) for cell in _cells(box) for other in taken[cell]):
                _take(taken, box)
                labels.append(Label(text, *middle, nth))
                break
    return labels


#: Right, left, above, below, the corners, and further out there.
_NEAR = ((1, 0), (-1, 0), (0, -1), (0, 1), (0.8, -1), (0.8, 1), (-0.8, -1), (-0.8, 1))
_PLACES = (*_NEAR, *((across * 1.1, down * 1.9) for across, down in _NEAR[4:]))


def _cells(box: Box) -> Iterator[tuple[int, int]]:
    for column in range(int(box[0] // _CELL), int(box[2] // _CELL) + 1):
        for row in range(int(box[1] // _CELL), int(box[3] // _CELL) + 1):
            yield column, row


def _take(taken: dict[tuple[int, int], list[Box]], box: Box) -> None:
    for cell in _cells(box):
        taken[cell].append(box)


def _meet(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
