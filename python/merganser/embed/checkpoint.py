"""The checkpoint of a training: one file, written atomically.

It identifies the text, the settings and the tokenizer, and no other training resumes from it. With one
thread, a resumed training produces the same vectors as one that was never interrupted.
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
    """The state of a training after a number of batches, and the intervals so far."""

    vectors: "NDArray[np.float32]"
    outputs: "NDArray[np.float32]"
    batches_done: int
    history: list[dict[str, Any]]


def write(folder: Path, identity: dict[str, Any], state: Checkpoint) -> None:
    """Write the checkpoint of the training that `identity` describes."""
    make_folder(folder)
    facts = {"identity": identity, "batches_done": state.batches_done, "history": state.history}
    safetensors.write(
        folder / FILE_NAME,
        {"vectors": state.vectors, "outputs": state.outputs},
        {"merganser_checkpoint": json.dumps(facts)},
    )


def read(folder: Path, identity: dict[str, Any]) -> Checkpoint | None:
    """Return the checkpoint of the training that `identity` describes, or None if there is none."""
    file = folder / FILE_NAME
    if not file.exists():
        return None
    remedy = "delete it, or restart with resume=False (--no-resume)"
    try:
        arrays, metadata = safetensors.read(file, ours=True)
    except EmbeddingsError as error:
        raise CheckpointError(f"{error}; {remedy}") from error
    try:
        facts = json.loads(metadata["merganser_checkpoint"])
        stored = facts["identity"]
        state = Checkpoint(arrays["vectors"], arrays["outputs"], facts["batches_done"], facts["history"])
        valid = isinstance(stored, dict) and type(state.batches_done) is int and state.batches_done >= 0
    except (KeyError, TypeError, ValueError):
        valid = False
    if not valid:
        raise CheckpointError(f"{file} is corrupt, or not a merganser checkpoint; {remedy}")
    for name, value in identity.items():
        if stored.get(name) != value:
            raise CheckpointError(
                f"{file} belongs to another training: its {name} is {stored.get(name)!r}, not {value!r}; "
                f"choose another folder, or {remedy}"
            )
    if not (np.isfinite(state.vectors).all() and np.isfinite(state.outputs).all()):
        raise CheckpointError(f"{file} is corrupt: it contains NaN or infinity; {remedy}")
    return state


def remove(folder: Path) -> None:
    """Delete the checkpoint, if there is one."""
    (folder / FILE_NAME).unlink(missing_ok=True)
