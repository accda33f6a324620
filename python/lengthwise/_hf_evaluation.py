"""Planned batches in the evaluation loop of the Hugging Face ``Trainer``.

The loop gathers the results of all processes step by step, and expects that every process has as many rows and
that the rows come in the order of the dataset. Planned batches differ in size and come in another order. The
plan says which rows each process has at each step, so results are cut to those and sorted afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch

from ._hf_resume import BatchesOfAll
from ._torch_sampler import BatchSampler


class EvaluationBatches(BatchesOfAll):
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

        return _of_each(results, ordered)


class Gathering:
    """Gathers the results of one evaluation: the ``gather_function`` of the Trainer."""

    def __init__(self, planned: EvaluationBatches, accelerator: Any, repeats: int) -> None:
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
        return _of_each(results, self._gathered)

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


def _of_each(results: Any, change: Callable[[Any], Any]) -> Any:
    """Results of which each part is changed."""
    if isinstance(results, (list, tuple)):
        return type(results)(_of_each(part, change) for part in results)
    if isinstance(results, Mapping):
        return {name: _of_each(part, change) for name, part in results.items()}
    return change(results)
