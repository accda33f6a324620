"""Lhotse's DynamicBucketingSampler on cuts whose seconds are our lengths."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from common import Adapter, flattened, serve
from lhotse import CutSet, MonoCut
from lhotse.dataset.sampling import DynamicBucketingSampler


class Buckets(Adapter):
    package = "lhotse"
    going_on = "its state; replays batches"
    dealing = "its own"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        cuts = (
            MonoCut(id=str(i), start=0.0, duration=float(length), channel=0)
            for i, length in enumerate(lengths.tolist())
        )
        self.cuts = CutSet.from_cuts(cuts)

    def sampler(self, rank: int = 0, world_size: int = 1) -> Any:
        return DynamicBucketingSampler(
            self.cuts,
            max_duration=float(self.budget),
            num_buckets=self.options.get("buckets", 30),
            shuffle=True,
            world_size=world_size,
            rank=rank,
        )

    def plan(self, epoch: int) -> Any:
        sampler = self.sampler()
        sampler.set_epoch(epoch)
        return list(sampler)

    def again(self, epoch: int) -> Any:
        if not hasattr(self, "kept"):
            self.kept = self.sampler()
        self.kept.set_epoch(epoch)
        return list(self.kept)

    def resume(self, epoch: int, batches: int) -> Any:
        """Replays the batches up to the state, and gives the rest."""
        if not hasattr(self, "state"):
            sampler = self.sampler()
            sampler.set_epoch(epoch)
            at = iter(sampler)
            for _ in range(batches):
                next(at)
            self.state = sampler.state_dict()
        sampler = self.sampler()
        # It empties the dictionary that it is given.
        sampler.load_state_dict(deepcopy(self.state))
        return list(sampler)

    def ranks(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        ranks = []
        for rank in range(8):
            sampler = self.sampler(rank, 8)
            sampler.set_epoch(epoch)
            ranks.append(list(sampler))
        return self.flat([batch for step in zip(*ranks, strict=True) for batch in step])

    def flat(self, planned: Any) -> tuple[np.ndarray, np.ndarray]:
        # A cut that is there twice has the ending "_dup" and a number.
        return flattened([[int(cut.id.split("_")[0]) for cut in batch] for batch in planned])


serve({"buckets": Buckets})
