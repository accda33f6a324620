"""A stream whose items each rank processes for itself: late.py OUT DIVIDE STATE BATCHES. Begins at STATE if the file is
there, and stops after BATCHES, or at the end if it is 0; writes the batches, and rank 0 the state to STATE."""

from __future__ import annotations

import json
import os
import random
import sys
from itertools import islice
from pathlib import Path

import torch
from common import finish, write
from lengthwise.torch import StreamBatches
from torch import distributed
from torchdata.stateful_dataloader import StatefulDataLoader

ITEMS = 1000
divide, state, batches = sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
distributed.init_process_group("gloo")
rank, world_size = distributed.get_rank(), distributed.get_world_size()
processed = []


def process(item: int) -> torch.Tensor:
    processed.append(item)
    return torch.full((random.randint(1, 90),), item)


items = list(range(rank, ITEMS, world_size)) if divide == "sources" else list(range(ITEMS))
stream = StreamBatches(items, process=process, divide=divide, budget="padded:600", window=64, seed=2)
loader = StatefulDataLoader(stream, batch_size=None)
if state.exists():
    loader.load_state_dict(torch.load(state, weights_only=True))
taken = []
for batch in islice(loader, batches or None):
    taken.append([int(item[0]) for item in batch])
    assert len(batch) * batch.length <= 600
    # Ranks that are not in step would wait here for ever.
    distributed.all_reduce(torch.ones(1))
if rank == 0:
    torch.save(loader.state_dict(), state)
write({"batches": taken, "processed": processed})
finish()
