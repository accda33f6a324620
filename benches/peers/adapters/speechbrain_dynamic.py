"""SpeechBrain's DynamicBatchSampler, with the hundred buckets of its recipes."""

from __future__ import annotations

from typing import Any

import numpy as np
from common import Adapter, serve
from speechbrain.dataio.sampler import DynamicBatchSampler


class Dynamic(Adapter):
    package = "speechbrain"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.list = lengths.tolist()

    def sampler(self, epoch: int) -> Any:
        return DynamicBatchSampler(
            self.list,
            self.budget,
            num_buckets=self.options.get("buckets", 100),
            lengths_list=self.list,
            epoch=epoch,
        )

    def plan(self, epoch: int) -> Any:
        return list(self.sampler(epoch))

    def again(self, epoch: int) -> Any:
        if not hasattr(self, "kept"):
            self.kept = self.sampler(epoch)
        self.kept.set_epoch(epoch)
        return list(self.kept)


serve({"dynamic": Dynamic})
