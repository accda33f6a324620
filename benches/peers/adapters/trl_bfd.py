"""TRL's pack_dataset on tokens that say which sequence they are of.

It moves all tokens, because its rows are the data itself; that is a part of what it does.
"""

from __future__ import annotations

from typing import Any

import datasets
import numpy as np
import pyarrow as pa
from common import Adapter, serve
from trl import pack_dataset

datasets.disable_caching()
datasets.disable_progress_bars()


class Packed(Adapter):
    package = "trl"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        tokens = pa.array(np.repeat(np.arange(len(lengths), dtype=np.int32), lengths))
        offsets = pa.array(np.concatenate(([0], np.cumsum(lengths))).astype(np.int32))
        column = pa.ListArray.from_arrays(offsets, tokens)
        self.set = datasets.Dataset(pa.table({"input_ids": column}))
        self.kept: Any = None

    def plan(self, epoch: int) -> Any:
        """Once for all epochs; a trainer shuffles the rows."""
        size = self.options.get("map") or len(self.lengths)
        made = pack_dataset(
            self.set,
            self.capacity,
            strategy="bfd",
            map_kwargs={"batch_size": size, "keep_in_memory": True},
        )
        return made, np.random.default_rng(epoch).permutation(len(made))

    def again(self, epoch: int) -> Any:
        if self.kept is None:
            self.kept = self.plan(epoch)[0]
        return self.kept, np.random.default_rng(epoch).permutation(len(self.kept))

    def flat(self, planned: Any) -> tuple[np.ndarray, np.ndarray]:
        made, turn = planned
        rows = []
        table = made.with_format("arrow")[:]
        for ids, sizes in zip(table["input_ids"], table["seq_lengths"]):
            first = np.cumsum([0, *sizes.as_py()])[:-1]
            rows.append(ids.values.to_numpy()[first])
        rows = [rows[at] for at in turn]
        return np.concatenate(rows), np.cumsum([len(row) for row in rows])


serve({"bfd": Packed})
