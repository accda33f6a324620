"""fairseq: its order (shuffle, stable sort), its compiled `batch_by_size_vec`, its shuffle of batches.

`import fairseq` fails on Python 3.11 (its configuration has mutable defaults), so the compiled
module is loaded from its file. The order and the shuffle are what `LanguagePairDataset.ordered_indices`
and `EpochBatchIterator` do, each one line of NumPy.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
from typing import Any

import numpy as np
from common import Adapter, serve


def compiled() -> Any:
    """The module `fairseq.data.data_utils_fast`, without the packages around it."""
    for file in importlib.metadata.files("fairseq") or []:
        if file.name.startswith("data_utils_fast.") and file.suffix == ".so":
            name = "fairseq.data.data_utils_fast"
            spec = importlib.util.spec_from_file_location(name, file.locate())
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            return module
    raise ImportError("this fairseq has no compiled data_utils_fast")


class Fresh(Adapter):
    """Batches made anew every epoch, as with a sampler that is called for each."""

    package = "fairseq"
    multiple = 1

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.fast = compiled()
        self.lengths = lengths.astype(np.int64)

    def made(self, seed: int) -> Any:
        order = np.random.RandomState(seed).permutation(len(self.lengths))
        order = order[np.argsort(self.lengths[order], kind="mergesort")]
        sizes = self.lengths[order]
        return self.fast.batch_by_size_vec(order, sizes, self.budget, -1, self.multiple)

    def plan(self, epoch: int) -> Any:
        return self.shuffled(self.made(1 + epoch), epoch)

    def shuffled(self, batches: Any, epoch: int) -> Any:
        batches = list(batches)
        np.random.RandomState(1 + epoch).shuffle(batches)
        return batches


class Frozen(Fresh):
    """What fairseq-train does unless told otherwise: batches of a multiple of eight, made once."""

    going_on = "cuts its list of batches"
    multiple = 8
    kept: Any = None

    def plan(self, epoch: int) -> Any:
        return self.shuffled(self.made(1), epoch)

    def again(self, epoch: int) -> Any:
        if self.kept is None:
            self.kept = self.made(1)
        return self.shuffled(self.kept, epoch)

    def resume(self, epoch: int, batches: int) -> Any:
        return self.plan(epoch)[batches:]


# Batches of object arrays cannot be shuffled without a warning, so lists they are.
serve({"fresh": Fresh, "frozen": Frozen})
