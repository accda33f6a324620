"""Transformers: LengthGroupedSampler with a batch sampler, and BatchRebalanceSampler for eight ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from common import Adapter, flattened, serve
from torch.utils.data import BatchSampler
from transformers import trainer_pt_utils as pt


class Grouped(Adapter):
    package = "transformers"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.list = lengths.tolist()

    def plan(self, epoch: int) -> Any:
        generator = torch.Generator().manual_seed(epoch)
        sampler = pt.LengthGroupedSampler(self.count, lengths=self.list, generator=generator)
        return list(BatchSampler(sampler, self.count, drop_last=False))


class Rebalanced(Grouped):
    dealing = "its own"

    def samplers(self) -> list[Any]:
        if not hasattr(pt, "BatchRebalanceSampler"):
            raise ImportError("this release of transformers has no BatchRebalanceSampler")
        return [
            pt.BatchRebalanceSampler(self.list, 8 * self.count, 8, 1, rank=rank, drop_last=False)
            for rank in range(8)
        ]

    def plan(self, epoch: int) -> Any:
        """What one rank does; it makes the batches of all, and keeps its own."""
        sampler = self.samplers()[0]
        sampler.set_epoch(epoch)
        return list(sampler)

    def ranks(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        ranks = []
        for sampler in self.samplers():
            sampler.set_epoch(epoch)
            ranks.append(list(sampler))
        return flattened([batch for step in zip(*ranks, strict=True) for batch in step])

    def whole(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        return self.ranks(epoch)


serve({"grouped": Grouped, "rebalanced": Rebalanced})
