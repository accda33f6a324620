"""Where a training run of the Hugging Face ``Trainer`` stands, in its checkpoints.

The Trainer counts optimizer steps and skips as many batches on resume. That is right only while every epoch has
the same batches and steps of the same size. So a checkpoint also holds the state of the sampler, and a resumed
epoch consists of the batches that no process has seen yet.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torch.utils.data import Sampler

from ._torch_sampler import Batch, BatchSampler
from .errors import StateError

#: The file in a checkpoint folder that holds the state.
STATE_NAME = "lengthwise_state.json"
VERSION = 1
ANOTHER = "resume from another checkpoint"
PARTS = {"version": int, "epoch": int, "ended": bool, "global_step": int, "sampler": dict}


def write_state(folder: str | os.PathLike[str], state: Mapping[str, Any]) -> None:
    """Writes the state into a checkpoint folder, whole or not at all."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(prefix=f".{STATE_NAME}.", dir=folder)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"version": VERSION, **state}, file)
            file.flush()
            os.fsync(file.fileno())
        # The umask is that of the process, as for every other file of the checkpoint.
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, folder / STATE_NAME)
    except BaseException:
        os.unlink(name)
        raise


def read_state(folder: str | os.PathLike[str]) -> dict[str, Any] | None:
    """The state in a checkpoint folder; ``None`` if it holds none."""
    path = Path(folder, STATE_NAME)
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StateError(f"cannot read {path}: {error}", hint=ANOTHER) from None
    if not isinstance(state, dict) or any(
        not isinstance(state.get(name), kind) for name, kind in PARTS.items()
    ):
        raise StateError(f"{path} does not hold the state of planned batches", hint=ANOTHER)
    if state["version"] != VERSION:
        raise StateError(
            f"{path} has version {state['version']}, and this release reads version {VERSION}",
            hint="use the release of lengthwise that wrote it",
        )
    return state


class Resumption:
    """What is left of the epoch that a checkpoint is from."""

    def __init__(self, batches: BatchSampler, state: Mapping[str, Any]) -> None:
        batches.load_state_dict(state["sampler"])  # Settings that differ are refused here.
        self.global_step: int = state["global_step"]
        self.epoch: int = state["epoch"]
        #: The batches of all processes that the Trainer is to skip.
        self.skipped = 0
        #: Whether the Trainer skips as many.
        self.agreed = False
        if state["ended"]:
            self.epoch += 1
            return
        left = sum(1 for _ in batches)
        batches.load_state_dict(state["sampler"])
        self.skipped = len(batches) - left
        if self.skipped < 0:
            raise StateError(
                f"the rest of epoch {self.epoch} has {left} batches, and a whole epoch has {len(batches)}",
                hint="resume with as many processes and accumulation steps as the checkpoint was made with",
            )


class BatchesOfAll(Sampler[list[int]]):
    """The batches of all processes, as many in every epoch: what the loaders of the Trainer read."""

    #: Batches differ in size: Accelerate must not cut or fill them.
    batch_size = None
    drop_last = False

    def __init__(self, batches: BatchSampler) -> None:
        self.batches = batches

    @property
    def sampler(self) -> BatchesOfAll:
        """Where Accelerate looks for `set_epoch`."""
        return self

    def __len__(self) -> int:
        return len(self.batches)


class EpochBatches(BatchesOfAll):
    """The batches epoch by epoch. In an epoch that is resumed, those that were trained on are replaced by
    empty batches, which the Trainer skips in the sampler, before anything is loaded."""

    def __init__(self, batches: BatchSampler, resumption: Resumption | None = None) -> None:
        super().__init__(batches)
        self.resumption = resumption

    def set_epoch(self, epoch: int) -> None:
        self.batches.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[int]]:
        resumption, self.resumption = self.resumption, None
        if resumption is not None and resumption.epoch == self.batches.epoch:
            if not resumption.agreed:
                raise StateError(
                    f"the Trainer did not ask how many batches of epoch {resumption.epoch} to skip",
                    hint="use a release of transformers that docs/python.md names",
                )
            for _ in range(resumption.skipped):
                yield Batch([], 0)
        yield from self.batches
