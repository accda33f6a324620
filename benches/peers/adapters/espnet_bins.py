"""ESPnet's LengthBatchSampler and NumElementsBatchSampler, and the shuffle of its iterator factory.

They read lengths from a text file, and that is a part of making them. Batches are made once.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from common import Adapter, flattened, serve
from espnet2.samplers.length_batch_sampler import LengthBatchSampler
from espnet2.samplers.num_elements_batch_sampler import NumElementsBatchSampler


class Length(Adapter):
    package = "espnet"
    going_on = "begins the epoch again"
    dealing = "splits each batch"
    kind: Any = LengthBatchSampler
    shape = "{} {}"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.folder = tempfile.TemporaryDirectory()
        self.file = Path(self.folder.name, "shape")
        rows = (self.shape.format(i, length) for i, length in enumerate(lengths.tolist()))
        self.file.write_text("\n".join(rows) + "\n")
        self.kept: Any = None

    def made(self, bins: int, at_least: int = 1) -> Any:
        return self.kind(bins, [str(self.file)], min_batch_size=at_least)

    def shuffled(self, sampler: Any, epoch: int) -> Any:
        batches = sampler.generate(epoch)
        np.random.RandomState(epoch).shuffle(batches)
        return batches

    def plan(self, epoch: int) -> Any:
        return self.shuffled(self.made(self.budget), epoch)

    def again(self, epoch: int) -> Any:
        if self.kept is None:
            self.kept = self.made(self.budget)
        return self.shuffled(self.kept, epoch)

    def ranks(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        """Batches of eight times the budget, each split over the ranks sequence by sequence."""
        batches = self.shuffled(self.made(8 * self.budget, 8), epoch)
        return self.flat([batch[rank::8] for batch in batches for rank in range(8)])

    def flat(self, planned: Any) -> tuple[np.ndarray, np.ndarray]:
        return flattened([[int(key) for key in batch] for batch in planned])


class Elements(Length):
    """The same with elements counted: length times dimension, of which there is one."""

    kind = NumElementsBatchSampler
    shape = "{} {},1"


serve({"length": Length, "elements": Elements})
