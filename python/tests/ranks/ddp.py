"""A plain DDP training loop that can stop after some batches and go on, on other ranks too.

ddp.py OUT STATE EPOCHS [STOP]: trains from the state if it is there; stops in the first epoch after
STOP batches, and saves the state.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as dist
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise.torch import BatchSampler, pad_collate
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

state_path, epochs = Path(sys.argv[2]), int(sys.argv[3])
stop = int(sys.argv[4]) if len(sys.argv) > 4 else None
dist.init_process_group("gloo")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(1, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
sampler = BatchSampler(lengths(), "shuffled", budget=BUDGET)
loader = DataLoader(Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler), num_workers=1)
first = 0
if state_path.exists():
    state = torch.load(state_path, weights_only=True)
    sampler.load_state_dict(state["sampler"])
    first = state["epoch"]
taken: list[list[list[int]]] = []
for epoch in range(first, epochs):
    sampler.set_epoch(epoch)
    weights = sampler.weights()
    taken.append([])
    for number, (values, counts) in enumerate(loader):
        mask = torch.arange(values.shape[1]) < counts[:, None]
        loss = (model(values[..., None])[..., 0] * mask).sum() / counts.sum()
        (loss * weights[number]).backward()
        optimizer.step()
        optimizer.zero_grad()
        taken[-1].append(indices(values))
        if number + 1 == stop and epoch == first:
            if dist.get_rank() == 0:
                state = {"epoch": epoch, "sampler": sampler.state_dict(batches=number + 1)}
                torch.save(state, state_path)
            break
    if stop is not None:
        break
weight = next(model.parameters()).item()
write({"taken": taken, "len": len(sampler), "weight": weight})
finish()
