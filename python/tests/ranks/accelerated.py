"""Accelerate with a sampler of all ranks, or (`each`) of one, which it must refuse."""

from __future__ import annotations

import sys

from accelerate import Accelerator
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise import RankError
from lengthwise.torch import BatchSampler, pad_collate
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
rank = "all" if sys.argv[2] == "all" else None
sampler = BatchSampler(lengths(), budget=BUDGET, rank=rank)
loader = DataLoader(Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler))
loader = accelerator.prepare(loader)
try:
    epochs = [[indices(values) for values, _ in loader] for _ in range(3)]
    write({"epochs": epochs, "len": len(loader)})
except RankError as error:
    write({"refused": str(error)})
finish()
