"""RETURNN: the order of a dataset (`seq_ordering`), and the batches of its pipeline for PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from common import Adapter, serve
from returnn.datasets.basic import Dataset
from returnn.torch.data.pipeline import BatchingIterDataPipe


class OfLengths(Dataset):
    """A dataset that has lengths and no data: an order is all that is asked of it."""

    def __init__(self, lengths: list[int], **options: Any) -> None:
        super().__init__(**options)
        self.all = lengths

    def order(self, epoch: int) -> Any:
        return self.get_seq_order_for_epoch(epoch, len(self.all), self.all.__getitem__)


class Ordered(Adapter):
    package = "returnn"
    going_on = "begins the epoch again"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.list = lengths.tolist()
        self.set = OfLengths(self.list, seq_ordering=self.options["order"])
        # All sequences are views of this one.
        self.data = np.zeros(lengths.max(), dtype=np.int8)

    def sequences(self, epoch: int) -> Iterator[dict[str, np.ndarray]]:
        for index in self.set.order(1 + epoch):
            yield {"data": self.data[: self.list[index]], "index": np.array(index)}

    def plan(self, epoch: int) -> Any:
        return list(BatchingIterDataPipe(self.sequences(epoch), batch_size={"data": self.budget}))

    def flat(self, planned: Any) -> tuple[np.ndarray, np.ndarray]:
        indices = np.array([int(one["index"]) for batch in planned for one in batch])
        return indices, np.cumsum([len(batch) for batch in planned])


serve({"ordered": Ordered})
