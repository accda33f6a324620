"""Accelerate with a sampler of all ranks; with `skip`, also gone on in the middle of an epoch; or with
one of one rank (`each`), which it must refuse. With `uneven`, releases below 1.14 are told nothing."""

from __future__ import annotations

import sys

import accelerate
from accelerate import Accelerator, skip_first_batches
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise import RankError
from lengthwise.torch import BatchSampler, pad_collate
from torch.utils.data import DataLoader

OLD = tuple(map(int, accelerate.__version__.split(".")[:2])) < (1, 14)
accelerator = Accelerator(cpu=True)
if OLD and sys.argv[2] != "uneven":
    accelerator.even_batches = False
rank = None if sys.argv[2] == "each" else "all"


def prepared() -> DataLoader:
    sampler = BatchSampler(lengths(), "shuffled", budget=BUDGET, rank=rank)
    loader = DataLoader(Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler))
    return accelerator.prepare(loader)


def taken(loader: DataLoader) -> list[list[int]]:
    return [indices(values) for values, _ in loader]


try:
    loader = prepared()
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
except ValueError as error:
    if not OLD:
        raise
    write({"old": str(error)})
finish()
