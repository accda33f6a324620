"""Which iteration of a stream this is: the same answer in every worker of a loader.

A loader copies its dataset into workers, and says nothing to the original. So what was chosen for the next
iteration, and which iterations have begun, is kept in memory that the copies share. The main process
alone writes what was chosen; every worker writes a row of its own.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import get_worker_info

from .errors import SettingError

#: The first row is what was chosen, the second of iterations in the main process, the others of workers.
ROWS = 514


class Choice(NamedTuple):
    """What the next iteration is to be. Choices are numbered from 1."""

    epoch: int
    number: int
    #: Whether it goes on from a state that was loaded.
    resumes: bool


class Iteration(NamedTuple):
    """An iteration that has begun."""

    number: int
    epoch: int
    #: The choice that was the last one when it began.
    choice: int
    #: Whether it goes on from the state that was loaded with this choice.
    resumes: bool


class Iterations:
    """The iterations of one stream, in all processes."""

    def __init__(self, epoch: int) -> None:
        self._shared = _share(torch.zeros(ROWS, 7, dtype=torch.int64))
        # What was chosen when this copy was made: workers may start when another choice is made.
        self._choice = Choice(0, 0, False)
        # What was chosen in a worker, for this worker only.
        self._given: Choice | None = None
        # The process that this copy began an iteration in, and the iteration.
        self._own = (0, 0)
        self.choose(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_own": (0, 0)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Those that are made for workers share it already; others share nothing with the original.
        self._shared = _share(self._shared)

    @property
    def chosen(self) -> Choice:
        """What was chosen last."""
        return self._given or self._choice

    @property
    def last(self) -> Iteration | None:
        """The iteration that began last, in whatever process."""
        return self._last()[1]

    @property
    def is_elsewhere(self) -> bool:
        """Whether the iteration that began last is not one of this process."""
        last = self.last
        return last is not None and self._own != (os.getpid(), last.number)

    def is_pending(self) -> bool:
        """Whether something was chosen since the last iteration began."""
        last = self.last
        return last is None or self._given is not None or self._choice.number > last.choice

    def choose(self, epoch: int, resumes: bool = False) -> None:
        """What the next iteration is to be. In a worker, as where a loader gives each its own state, it
        has the number 0."""
        if get_worker_info() is not None:
            self._given = Choice(epoch, 0, resumes)
            return
        self._choice = Choice(epoch, self._choice.number + 1, resumes)
        row = self._table()[0]
        row[0], row[2] = epoch, resumes
        row[1] = self._choice.number  # Last: then the others are there.

    def begin(self) -> Iteration:
        """Another iteration begins in this process. The workers of one iteration of a loader begin the
        same one, whichever is first."""
        table, worker = self._table(), get_worker_info()
        row, mark = 1, 0
        if worker is not None:
            row = worker.id + 2
            if row >= ROWS:
                raise SettingError(
                    f"{worker.num_workers} workers would read the stream, each the whole of it",
                    hint=f"use at most {ROWS - 2}",
                )
            # Loaders draw a seed for every iteration, and give each worker another from it on.
            mark = hash((worker.seed - worker.id, worker.num_workers)) & 0xFFFF_FFFF
            if self._own[0] == os.getpid():  # It stays, and something may have been chosen since.
                epoch, number, resumes, *_ = table[0].tolist()
                if number > self._choice.number:
                    self._choice = Choice(epoch, number, bool(resumes))
        beside, last = self._last()
        number = 1 if last is None else last.number + 1
        if last is None or self._choice.number > last.choice:
            begun = Iteration(number, *self._choice)
        else:
            begun = Iteration(number, (last.epoch + 1) % 2**64, last.choice, False)
        if last is not None and worker is not None and int(table[row, 0]) >> 32 < last.number:
            if int(table[beside, 0]) & 0xFFFF_FFFF == mark:
                begun = last  # Another worker of this iteration was first.
        given, self._given = self._given, None
        if given is not None:
            begun = begun._replace(epoch=given.epoch, resumes=given.resumes)
        # Those of the iteration before stay, for workers that read them now; the first says that they
        # are there, in one piece.
        place = 1 + begun.number % 2 * 3
        table[row, place : place + 3] = begun[1:]
        table[row, 0] = begun.number << 32 | mark
        self._own = (os.getpid(), begun.number)
        return begun if given is None else begun._replace(choice=given.number)

    def _table(self) -> np.ndarray:
        table: np.ndarray = self._shared.numpy().view(np.uint64)
        return table

    def _last(self) -> tuple[int, Iteration | None]:
        """A row of the last iteration, and the iteration."""
        table = self._table()
        numbers = table[1:, 0] >> np.uint64(32)
        row = int(numbers.argmax()) + 1
        number = int(numbers[row - 1])
        if number == 0:
            return row, None
        place = 1 + number % 2 * 3
        epoch, choice, resumes = table[row, place : place + 3].tolist()
        return row, Iteration(number, epoch, choice, bool(resumes))


def _share(table: torch.Tensor) -> torch.Tensor:
    shared: torch.Tensor = table.share_memory_()  # type: ignore[no-untyped-call]
    return shared
