"""Checkpoint: what a training has done so far, in one file that is there whole or not at all.

It says of which text, settings and tokenizer it is, and fits no other training. With one thread, the training
that goes on from it ends with the same numbers as one that was never stopped.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from merganser.embed import safetensors
from merganser.errors import CheckpointError, EmbeddingsError
from merganser.files import make_folder

if TYPE_CHECKING:
    from numpy.typing import NDArray

FILE_NAME = "checkpoint.safetensors"


@dataclass(frozen=True, eq=False)
class Checkpoint:
    vectors: "NDArray[np.float32]"
    outputs: "NDArray[np.float32]"
    batches_done: int
    #: The figures of the intervals so far.
    history: list[dict[str, Any]]


def write(folder: Path, identity: dict[str, Any], state: Checkpoint) -> None:
    make_folder(folder)
    facts = {"identity": identity, "batches_done": state.batches_done, "history": state.history}
    safetensors.write(
        folder / FILE_NAME,
        {"vectors": state.vectors, "outputs": state.outputs},
        {"merganser_checkpoint": json.dumps(facts)},
    )


def read(folder: Path, identity: dict[str, Any]) -> Checkpoint | None:
    """What is there of this training, if anything is."""
    file = folder / FILE_NAME
    if not file.exists():
        return None
    remedy = "delete it, or start afresh with resume=False (--no-resume)"
    try:
        arrays, metadata = safetensors.read(file)
    except EmbeddingsError as error:
        raise CheckpointError(f"{error}; {remedy}") from error
    try:
        facts = json.loads(metadata["merganser_checkpoint"])
        there = facts["identity"]
        state = Checkpoint(arrays["vectors"], arrays["outputs"], facts["batches_done"], facts["history"])
        right = isinstance(there, dict) and type(state.batches_done) is int and state.batches_done >= 0
    except (KeyError, TypeError, ValueError):
        right = False
    if not right:
        raise CheckpointError(f"{file} is damaged, or not a checkpoint of merganser; {remedy}")
    for name, value in identity.items():
        if there.get(name) != value:
            raise CheckpointError(
                f"{file} belongs to another training: its {name} is {there.get(name)!r} and not {value!r}; "
                f"choose another folder, or {remedy}"
            )
    if not (np.isfinite(state.vectors).all() and np.isfinite(state.outputs).all()):
        raise CheckpointError(f"{file} is damaged: it holds numbers that are not finite; {remedy}")
    return state


def remove(folder: Path) -> None:
    (folder / FILE_NAME).unlink(missing_ok=True)
