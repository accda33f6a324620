"""The optimizer steps of a loader: the loop that accumulates gradients."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np
from torch.utils.data import DataLoader

from ._checks import checked_word
from ._torch_sampler import WEIGHTS, BatchSampler, _Running
from ._torch_stream import StreamBatches
from .errors import LengthwiseError, RankError, SettingError, StateError

#: How many samplers can be around one of ours.
DEPTH = 8
#: What a loader gives that has no batches.
NOTHING = object()


class Step(Iterator[Any]):
    """The micro-batches of this rank for one optimizer step. :func:`steps` makes it.

    Iterate over it once, as in ``for batch in step``, and take the optimizer step after that. ``weight`` and
    ``is_last_micro`` belong to the micro-batch that was returned last.
    """

    def __init__(self, epoch: _Epoch, number: int, first: Any) -> None:
        self._epoch, self._number, self._first = epoch, number, first
        self._taken, self._is_over = 0, False

    @property
    def index(self) -> int:
        """The number of this step in its epoch, from 0. After a resume, counting continues."""
        return self._epoch.steps_before + self._number

    @property
    def weights(self) -> np.ndarray:
        """What to multiply the mean loss of each micro-batch of this step by: all that ``weight`` will be."""
        start = self._number * len(self)
        return self._epoch.weights[start : start + len(self)]

    @property
    def weight(self) -> float:
        """What to multiply the mean loss of this micro-batch by.

        The sum over the micro-batches of the step, averaged over the ranks as DDP and FSDP do, is then the mean over
        all that was counted in the step: tokens, or what :func:`steps` was told.
        """
        self._check_running("weight", "; `step.weights` has those of all micro-batches")
        return float(self.weights[self._taken - 1])

    @property
    def is_last_micro(self) -> bool:
        """Whether this micro-batch is the last of the step. Before the last, DDP need not average gradients: use its
        ``no_sync()``."""
        self._check_running("is_last_micro")
        return self._taken == len(self)

    def __len__(self) -> int:
        """How many micro-batches this rank has in the step."""
        return self._epoch.accumulate

    def __iter__(self) -> Step:
        if self._is_over:
            raise LengthwiseError(
                f"the micro-batches of step {self.index} were taken already",
                hint="iterate over a step once; `micro_batches = list(step)` keeps them",
            )
        return self

    def __next__(self) -> Any:
        if self._taken == len(self):
            self._is_over = True
            raise StopIteration
        if self._taken == 0:
            batch, self._first = self._first, None
        else:
            try:
                batch = next(self._epoch.batches)
            except StopIteration:
                raise LengthwiseError(
                    f"the loader ended in step {self.index}, after {self._taken} of its {len(self)} micro-batches",
                    hint="give `steps` the loader itself, and read it nowhere else",
                ) from None
        self._taken += 1
        return batch

    def state_dict(self) -> dict[str, Any]:
        """Returns the position in the epoch after this step, for ``sampler.load_state_dict``: a few hundred bytes, the
        same on every rank. It counts only steps that were trained on, even if the loader reads ahead. Call it after
        the inner loop."""
        if not self._is_over:
            raise StateError(
                f"{self._taken} of the {len(self)} micro-batches of step {self.index} were taken",
                hint="call `step.state_dict()` after `for batch in step` has ended and the optimizer has made its step",
            )
        return self._epoch.state_after(self._number + 1)

    def __repr__(self) -> str:
        return f"Step({self.index}, {self._taken} of {len(self)} micro-batches taken)"

    def _check_running(self, name: str, other: str = "") -> None:
        if self._taken and not self._is_over:
            return
        when = "before its first micro-batch" if not self._taken else "after its last micro-batch"
        raise LengthwiseError(
            f"`step.{name}` was read {when}", hint=f"use it inside `for batch in step`{other}"
        )

    def _check_whole(self) -> None:
        if not self._is_over and self._taken < len(self):
            raise LengthwiseError(
                f"step {self.index} ended after {self._taken} of its {len(self)} micro-batches",
                hint="leave both loops, or take all micro-batches of the step: `for _ in step: pass` skips the rest",
            )


class Steps:
    """The optimizer steps of a loader, epoch after epoch. :func:`steps` makes it."""

    def __init__(self, loader: Any, counted: str) -> None:
        self._loader, self._counted = loader, counted
        self._source = source_of(loader)

    def __len__(self) -> int:
        """The optimizer steps of a whole epoch."""
        return self._source.sampler._steps()[0]

    def __iter__(self) -> Iterator[Step]:
        sampler = self._source.sampler
        self._source.check(self._loader)
        sampler._begin_step_anew()
        sampler._counts_steps = True
        try:
            batches = iter(self._loader)
            first = next(batches, NOTHING)
        finally:
            sampler._counts_steps = False
        running = sampler._running
        if first is NOTHING or running is None:
            return
        epoch = _Epoch(batches, running, self._source, self._loader, self._counted)
        number = 0
        while True:
            step = Step(epoch, number, first)
            del first  # The step holds it, until it is given out.
            yield step
            step._check_whole()
            try:
                first = next(batches)
            except StopIteration:
                return
            number += 1


class _Epoch:
    """One iteration over a loader: where each of its batches is in the plan."""

    def __init__(self, batches: Iterator[Any], running: _Running, source: Source, loader: Any, counted: str) -> None:
        self.batches, self._running = batches, running
        self._ranks = running.world_size if running.rank == "all" else 1
        self.accumulate = running.schedule.accumulate
        place = first_place(running, source, loader)
        self._before, middle = divmod(place, self.accumulate)
        if middle:
            raise StateError(
                f"the loader begins in the middle of a step, after {middle} of its {self.accumulate} micro-batches, "
                "whose gradients are lost",
                hint="keep `step.state_dict()`, or the loader's own `state_dict()` between two steps; skip whole steps",
            )
        own = source.process if running.rank == "all" else 0
        weights = running.weights(counted)[own :: self._ranks] / self.accumulate
        self.weights: np.ndarray = weights[place:]
        taken = sum(count for _, count in json.loads(running.schedule.cursor(0))["segments"])
        self.steps_before: int = taken + self._before

    def state_after(self, steps: int) -> dict[str, Any]:
        """The state after so many of these steps."""
        taken = (self._before + steps) * self.accumulate * self._ranks
        return self._running.state(taken - self._running.skipped)


def first_place(running: _Running, source: Source, loader: Any) -> int:
    """Where the first batch that a loader gives is among the planned ones of this rank. To be asked then."""
    ranks = running.world_size if running.rank == "all" else 1
    if running.restored and getattr(loader, "snapshot_every_n_steps", 1) > 1:
        # A loader that does not note every state reads on to where it was.
        return running.skipped + running.taken + running.misses - running.lead - 1
    if source.processes is not None and running.stateful:
        read = (source.skipped + running.lead + 2) * ranks
        if running.taken != min(read, running.left()):
            raise StateError(
                "the loader goes on from a state of its own, and it cannot be told in which step",
                hint="keep `step.state_dict()` instead, and give it to `sampler.load_state_dict`",
            )
    return running.skipped // ranks + source.skipped


class Source(NamedTuple):
    """Where a loader has its batches from."""

    sampler: BatchSampler
    #: How many processes Accelerate divides the batches among; ``None`` if it has not prepared the loader.
    processes: int | None
    #: Which of them this is.
    process: int
    #: How many batches of this process Accelerate skips.
    skipped: int

    def check(self, loader: Any) -> None:
        """Refuses loaders whose batches are not those of this rank, in their order."""
        rank, world_size = self.sampler._ranks()
        processes = self.processes or 1
        if rank == "all" and processes != world_size:
            raise RankError(
                f"the sampler gives the batches of all {world_size} ranks, and the loader divides them among {processes}",
                hint="give `accelerator.prepare(loader)`, or make the sampler without `rank=\"all\"`",
            )
        if getattr(loader, "in_order", True) is False and getattr(loader, "num_workers", 0) > 1:
            raise SettingError(
                "a loader with `in_order=False` mixes the batches of several steps",
                hint="make the loader with `in_order=True`, which is the default",
            )
        accumulates = getattr(getattr(loader, "gradient_state", None), "num_steps", 1)
        if accumulates != 1:
            raise SettingError(
                f"Accelerate's `gradient_accumulation_steps` is {accumulates}, and it divides the loss by that: with "
                "`steps`, the gradients would be too small",
                hint="set `accelerator.gradient_accumulation_steps = 1`: `steps` accumulates, and `step.weight` scales "
                "the loss",
            )


def source_of(loader: Any) -> Source:
    """Finds the sampler of a loader, also one that Accelerate has prepared."""
    processes, process, skipped = None, 0, 0
    part = loader
    for _ in range(DEPTH):
        if isinstance(part, BatchSampler):
            return Source(part, processes, process, skipped)
        if type(part).__module__ == "accelerate.data_loader":
            skipped += getattr(part, "skip_batches", 0)
            processes = getattr(part, "num_processes", processes or 1)
            process = getattr(part, "process_index", process)
        # A loader without a batch sampler can have a sampler of whole batches, as those of Lhotse are.
        whole = isinstance(part, DataLoader) and part.batch_sampler is None
        part = part.sampler if whole else getattr(part, "batch_sampler", None)
    _refuse(loader)


def _refuse(loader: Any) -> NoReturn:
    if isinstance(getattr(loader, "dataset", loader), StreamBatches):
        raise SettingError(
            "a stream has no planned optimizer steps",
            hint="iterate over its loader, and take an optimizer step after as many batches as you choose",
        )
    raise SettingError(
        f"expected a loader of planned batches, got a {type(loader).__name__} without a `BatchSampler` of lengthwise",
        hint="make it with `lengthwise.torch.loader(dataset, sampler)`, or `DataLoader(dataset, batch_sampler=sampler)`",
    )


def steps(
    loader: Any,
    by: Literal["tokens", "positions", "frames", "second_positions", "sequences"] = "tokens",
) -> Steps:
    """Iterates over the optimizer steps of an epoch, each of which iterates over its micro-batches.

    >>> for step in steps(loader):  # doctest: +SKIP
    ...     for batch in step:
    ...         (mean_loss(batch) * step.weight).backward()
    ...     optimizer.step()
    ...     optimizer.zero_grad()

    With these weights the gradient is that of the mean loss over all tokens of the step, on all ranks.
    ``step.state_dict()`` returns the position in the epoch after the step.

    Args:
        loader: A data loader whose batch sampler is a :class:`BatchSampler`, also prepared by Accelerate.
        by: What the mean is taken over: "tokens", which you can also call "positions" or "frames";
            "second_positions", those of the second of two lengths, such as target tokens; or "sequences". The default
            is "tokens".
    """
    return Steps(loader, checked_word("steps", by, WEIGHTS))
