"""The epoch that was chosen for a stream, known to its copies in the workers of a loader.

A loader copies its dataset into its workers. The first iteration of a copy goes by the choice that was copied
with it. Workers that stay for more iterations (``persistent_workers=True``) then read the latest choice from
memory that all copies share, and only the process of the original writes to. So workers need not agree on
anything. The first worker also notes that an iteration began, for warnings and ``state_dict`` alone.
"""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import get_worker_info

#: A choice is written beside the earlier ones, so that a process that reads one now gets it whole.
ROWS = 8
#: Below the choices: how many there are; and of the iteration that began last the choice, how many began with
#: it, the process, and whether it has a state of its own.
BEGUN = ROWS
#: Makes the check of a row that was never written fail.
MARK = 0x9E37_79B9_7F4A_7C15


class Choice(NamedTuple):
    """What iterations are to be. Choices are numbered from 1."""

    number: int
    epoch: int
    #: The number of the state that they go on from, counted as states are loaded; 0 for none.
    state: int


class SharedChoice:
    """The latest choice for one stream, in all processes."""

    def __init__(self, epoch: int) -> None:
        self._shared = _share(torch.zeros(ROWS + 1, 5, dtype=torch.int64))
        #: The latest choice that this copy knows.
        self.latest = Choice(0, 0, 0)
        # The process in which this copy began an iteration.
        self._process = 0
        self.choose(epoch)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_process": 0}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # Copies for workers share the memory already; others share nothing with the original.
        self._shared = _share(self._shared)

    def choose(self, epoch: int, state: int = 0) -> None:
        """Makes a choice, in the process that has the original."""
        number = self.latest.number + 1
        table = self._table()
        # The check comes last: a row that is only half written does not fit it.
        table[number % ROWS] = (number, epoch, state, 0, 0)
        table[number % ROWS, 3] = _check(number, epoch, state)
        table[BEGUN, 0] = number
        self.latest = Choice(number, epoch, state)

    def confirm(self) -> None:
        """Makes the latest choice once more."""
        self._table()[BEGUN, 2] = 0

    def begin(self, own: bool = False) -> tuple[Choice, int]:
        """The choice that an iteration begins with, and how many iterations have begun with it so far,
        which only serves to notice that nothing was chosen in between. Iterations with a state of their
        own do not count."""
        worker = get_worker_info()
        if worker is not None and self._process == os.getpid():
            self.latest = self._read()
        self._process = os.getpid()
        if worker is not None and worker.id > 0:
            return self.latest, 0  # One worker counts for all.
        number, row = self.latest.number, self._table()[BEGUN]
        begun = (int(row[2]) if int(row[1]) == number else 0) + (not own)
        row[1:] = number, begun, os.getpid(), own
        return self.latest, begun

    def begun_elsewhere(self) -> tuple[bool, bool]:
        """Whether the last iteration with the latest choice began in another process; and whether it has a
        state of its own there."""
        _, number, _, process, own = self._table()[BEGUN].tolist()
        elsewhere = number == self.latest.number and process != os.getpid()
        return elsewhere, elsewhere and bool(own)

    def has_begun(self) -> bool:
        """Whether an iteration with the latest choice has begun."""
        return int(self._table()[BEGUN, 1]) == self.latest.number

    def _read(self) -> Choice:
        table = self._table()
        while True:
            row = int(table[BEGUN, 0]) % ROWS
            number, epoch, state, check, _ = table[row].tolist()
            if check == _check(number, epoch, state):
                return Choice(number, epoch, state)

    def _table(self) -> np.ndarray:
        table: np.ndarray = self._shared.numpy().view(np.uint64)
        return table


def _check(number: int, epoch: int, state: int) -> int:
    return number * MARK % 2**64 ^ epoch ^ state * MARK % 2**64 ^ MARK


def _share(table: torch.Tensor) -> torch.Tensor:
    shared: torch.Tensor = table.share_memory_()  # type: ignore[no-untyped-call]
    return shared
