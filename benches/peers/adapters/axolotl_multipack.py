"""axolotl's MultipackBatchSampler over a random order, one row a batch."""

from __future__ import annotations

from typing import Any

import torch
from axolotl.utils.samplers.multipack import MultipackBatchSampler
from common import Adapter, serve
from torch.utils.data import RandomSampler


class Multipack(Adapter):
    package = "axolotl"

    def plan(self, epoch: int) -> Any:
        order = RandomSampler(self.lengths, generator=torch.Generator().manual_seed(epoch))
        sampler = MultipackBatchSampler(
            order,
            batch_size=1,
            batch_max_len=self.capacity,
            lengths=self.lengths,
            bin_size=self.capacity,
            drop_last=False,
            sequential=self.options.get("sequential", False),
        )
        return [row for batch in sampler for row in batch]


serve({"multipack": Multipack})
