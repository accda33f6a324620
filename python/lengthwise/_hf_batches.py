"""The planned batches of the Hugging Face ``Trainer``, in its checkpoints and in its evaluation loop.

The Trainer counts optimizer steps and skips as many batches on resume, which is right only while all epochs and
steps are alike. So a checkpoint also holds the state of the sampler, and a resumed epoch consists of the batches
that no process has seen yet.

The evaluation loop expects that every process has as many rows, in the order of the dataset. The plan says which
rows each process really has at each step, so results are cut to those and sorted afterwards.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
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


class EpochBatches(Sampler[list[int]]):
    """The batches of all processes, as many in every epoch: what the loaders of the Trainer read. In an epoch
    that is resumed, those that were trained on are replaced by empty batches, which the Trainer skips in the
    sampler, before anything is loaded."""

    #: Batches differ in size: Accelerate must not cut or fill them.
    batch_size = None
    drop_last = False

    def __init__(self, batches: BatchSampler, resumption: Resumption | None = None) -> None:
        self.batches, self.resumption = batches, resumption
        batches._counts_steps = True  # The Trainer does, and not Accelerate.

    @property
    def sampler(self) -> EpochBatches:
        """Where Accelerate looks for `set_epoch`."""
        return self

    def __len__(self) -> int:
        return len(self.batches)

    def set_epoch(self, epoch: int) -> None:
        self.batches.set_epoch(epoch)

    def __iter__(self) -> Iterator[list[int]]:
        resumption, self.resumption = self.resumption, None
        if resumption is not None and resumption.epoch == self.batches.epoch:
            if not resumption.agreed:
                raise StateError(
                    f"the Trainer did not ask how many batches of epoch {resumption.epoch} to skip",
                    hint="use a release of transformers that docs/reference/releases.md names",
                )
            for _ in range(resumption.skipped):
                yield Batch([], 0)
        yield from self.batches


class EvaluationBatches(EpochBatches):
    """The batches of all processes, the same in every evaluation."""

    def __init__(self, batches: BatchSampler, world_size: int) -> None:
        super().__init__(batches)
        self.world_size = world_size
        self.sizes: list[int] = batches.plan.batch_sizes.tolist()
        # Results come in the order of the batches: where each sequence is among them.
        order = np.concatenate([batches.plan[place] for place in range(len(batches.plan))])
        self.places = np.argsort(order)

    def set_epoch(self, epoch: int) -> None:
        """Accelerate counts evaluations; all of them are of one epoch."""

    def __iter__(self) -> Iterator[list[int]]:
        self.batches.set_epoch(0)
        return iter(self.batches)

    def in_order(self, results: Any) -> Any:
        """Results of all sequences, in the order of the dataset."""

        def ordered(part: Any) -> Any:
            whole = isinstance(part, np.ndarray) and part.ndim and len(part) == len(self.places)
            return part[self.places] if whole else part

        return of_each(results, ordered)


class Steps(Protocol):
    """How many results each process has at each step, process by process."""

    world_size: int
    sizes: list[int]


class Gathering:
    """Gathers the results of one evaluation: the ``gather_function`` of the Trainer."""

    def __init__(self, planned: Steps, accelerator: Any, repeats: int) -> None:
        self.planned = planned
        self.accelerator = accelerator
        # How often the Trainer repeats the loss of a batch.
        self.repeats = repeats
        self.step = -1
        self.has_loss = False

    def begin_step(self, loss: torch.Tensor | None) -> torch.Tensor | None:
        """The next step begins: its loss once for every sequence of this process."""
        self.step += 1
        self.has_loss = loss is not None
        if loss is None:
            return None
        return loss.detach().mean().repeat(self._sizes()[self.accelerator.process_index])

    def __call__(self, results: Any, *_: Any, **__: Any) -> Any:
        has_loss, self.has_loss = self.has_loss, False
        rows = self._sizes()[self.accelerator.process_index]
        if has_loss and isinstance(results, torch.Tensor) and results.shape == (rows * self.repeats,):
            results = results[:rows]
        return of_each(results, self._gathered)

    def _sizes(self) -> list[int]:
        ranks = self.planned.world_size
        return self.planned.sizes[self.step * ranks : (self.step + 1) * ranks]

    def _gathered(self, results: Any) -> Any:
        sizes = self._sizes()
        rows, most = sizes[self.accelerator.process_index], max(sizes)
        if not isinstance(results, torch.Tensor) or not results.ndim or len(results) != rows:
            return self.accelerator.gather(results)
        if self.planned.world_size > 1:
            filled = results.new_zeros((most - rows, *results.shape[1:]))
            all_rows = self.accelerator.gather(torch.cat([results, filled]).contiguous())
            parts = [all_rows[rank * most :][:size] for rank, size in enumerate(sizes)]
            results = torch.cat(parts)
        return results


def of_each(results: Any, change: Callable[[Any], Any]) -> Any:
    """Results of which each part is changed."""
    if isinstance(results, (list, tuple)):
        return type(results)(of_each(part, change) for part in results)
    if isinstance(results, Mapping):
        return {name: of_each(part, change) for name, part in results.items()}
    return change(results)
