"""RETURNN: the order of a dataset (`seq_ordering`) and its own `generate_batches`."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Adapter, serve
from returnn.datasets.basic import Dataset
from returnn.util import NumbersDict


class OfLengths(Dataset):
    """A dataset that has lengths and no data: all that ordering and batching ask for."""

    def __init__(self, lengths: list[int], **options: Any) -> None:
        super().__init__(**options)
        self.all = lengths
        self.order: Any = []
        self.num_outputs = {"data": (1, 2)}

    def init_seq_order(self, epoch: Any = None, seq_list: Any = None, seq_order: Any = None) -> bool:
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        of = self.all.__getitem__
        self.order = self.get_seq_order_for_epoch(epoch, len(self.all), of)
        return True

    @property
    def num_seqs(self) -> int:
        return len(self.order)

    def is_less_than_num_seqs(self, n: int) -> bool:
        return n < len(self.order)

    def get_seq_length(self, seq_idx: int) -> Any:
        return NumbersDict({"data": self.all[self.order[seq_idx]]})


class Ordered(Adapter):
    package = "returnn"
    going_on = "begins the epoch again"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.set = OfLengths(lengths.tolist(), seq_ordering=self.options["order"])

    def plan(self, epoch: int) -> Any:
        self.set.init_seq_order(epoch=1 + epoch)
        made = self.set.generate_batches(recurrent_net=True, batch_size=self.budget)
        batches = []
        while made.has_more():
            (batch,) = made.peek_next_n(1)
            batches.append([seq.seq_idx for seq in batch.seqs])
            made.advance(1)
        return self.set.order, batches

    def flat(self, planned: Any) -> tuple[np.ndarray, np.ndarray]:
        order, batches = planned
        places = np.concatenate([np.array(batch) for batch in batches])
        return np.asarray(order)[places], np.cumsum([len(batch) for batch in batches])


serve({"ordered": Ordered})
