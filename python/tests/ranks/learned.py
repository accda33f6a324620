"""A dataset whose lengths are learned in the first epoch: learned.py OUT FILE STATE BATCHES. Writes the batches of three
epochs, and what each rank loaded in the first. With BATCHES, stops in the first after so many, and rank 0 writes STATE;
otherwise begins at STATE if it is there. The name of FILE gets the rank if it ends in a dash."""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path

from common import BUDGET, Sequences, finish, indices, write
from lengthwise.torch import LearningLoader
from torch import distributed

distributed.init_process_group("gloo")
file, state, batches = sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
if file.endswith("-"):
    file += f"{distributed.get_rank()}.npy"


class Noted(Sequences):
    loaded: list[int] = []

    def __getitem__(self, index: int):
        self.loaded.append(index)
        return super().__getitem__(index)


dataset = Noted()
loader = LearningLoader(dataset, file, budget=BUDGET, window=64)
if state.exists():
    loader.load_state_dict(json.loads(state.read_text()))
first = [indices(values) for values, _ in islice(loader, batches or None)]
loaded, learning = list(dataset.loaded), loader.is_learning
kept = loader.state_dict() if batches else None
if batches and distributed.get_rank() == 0:
    state.write_text(json.dumps(kept))
others = [[indices(values) for values, _ in loader] for _ in range(0 if batches else 2)]
write({"epochs": [first, *others], "loaded": loaded, "epoch": loader.epoch, "learning": learning})
finish()
