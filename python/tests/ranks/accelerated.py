"""Accelerate with a sampler of all ranks; with `skip`, also gone on in the middle of an epoch; or with
one of one rank (`each`), which it must refuse."""

from __future__ import annotations

import sys

from accelerate import Accelerator, skip_first_batches
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise import RankError
from lengthwise.torch import BatchSampler, pad_collate
from torch.utils.data import DataLoader

accelerator = Accelerator(cpu=True)
rank = None if sys.argv[2] == "each" else "all"


def prepared() -> DataLoader:
    sampler = BatchSampler(lengths(), budget=BUDGET, rank=rank)
    loader = DataLoader(Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler))
    return accelerator.prepare(loader)


def taken(loader: DataLoader) -> list[list[int]]:
    return [indices(values) for values, _ in loader]


loader = prepared()
try:
    result = {"epochs": [taken(loader) for _ in range(3)], "len": len(loader)}
    if sys.argv[2] == "skip":
        again = prepared()
        again.set_epoch(1)
        result["rest"] = taken(skip_first_batches(again, 4))
        again.set_epoch(2)
        result["next"] = taken(again)
    write(result)
except RankError as error:
    write({"refused": str(error)})
finish()
