"""NeMo's SemiSortBatchSampler, from its own file.

The file imports all of NeMo's speech models for the types of one function that is not called here;
the sampler needs none of them. Empty modules stand in their place.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import sys
import types
from typing import Any

import numpy as np
from common import Adapter, flattened, serve


def module() -> Any:
    def stand_in(name: str, **names: Any) -> None:
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(names)

    for name in ("nemo", "nemo.collections", "nemo.collections.asr", "nemo.collections.asr.data"):
        stand_in(name)
    stand_in("nemo.collections.asr.models")
    stand_in("nemo.utils", logging=logging.getLogger("nemo"))
    stand_in("nemo.collections.asr.models.asr_model", ASRModel=object)
    sets = {"AudioToBPEDataset": object, "AudioToCharDataset": object}
    stand_in("nemo.collections.asr.data.audio_to_text", **sets)
    for file in importlib.metadata.files("nemo-toolkit") or []:
        if file.name == "asr_batching.py":
            spec = importlib.util.spec_from_file_location("asr_batching", file.locate())
            found = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(found)
            return found
    raise ImportError("this NeMo has no asr_batching.py")


MODULE = module()


class SemiSorted(Adapter):
    package = "nemo-toolkit"
    dealing = "its own"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.kind = MODULE.SemiSortBatchSampler
        self.list = lengths.tolist()

    def of_rank(self, epoch: int, rank: int, world_size: int) -> Any:
        # The noise is from NumPy's global generator; only equal states make ranks agree.
        np.random.seed(epoch)
        sampler = self.kind(rank, world_size, self.list, self.count)
        sampler.set_epoch(epoch)
        return [batch.tolist() for batch in sampler]

    def plan(self, epoch: int) -> Any:
        return self.of_rank(epoch, 0, 1)

    def ranks(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        ranks = [self.of_rank(epoch, rank, 8) for rank in range(8)]
        return flattened([batch for step in zip(*ranks, strict=True) for batch in step])


serve({"semi_sorted": SemiSorted})
