"""Accelerate with the batches of a stream: streamed.py OUT WAY, where WAY is `prepare` (which assigns batches to
processes a second time), `dispatch` (which reads them in the main process) or `own` (each process reads its own)."""

from __future__ import annotations

import sys

from accelerate import Accelerator
from common import BUDGET, Sequences, finish, indices, write
from lengthwise import RankError
from lengthwise.torch import StreamBatches, pad_collate
from torch.utils.data import DataLoader

way = sys.argv[2]
accelerator = Accelerator(cpu=True)
sequences = Sequences()
stream = StreamBatches(
    lambda start: (sequences[index] for index in range(start, len(sequences))), len, budget=BUDGET, window=64
)
loader = DataLoader(stream, batch_size=None, collate_fn=pad_collate(), num_workers=int(sys.argv[3]))
try:
    if way == "prepare":
        loader = accelerator.prepare_data_loader(loader, device_placement=False)
    elif way == "dispatch":
        loader = accelerator.prepare(loader)
    write({"seen": [indices(values) for values, _ in loader]})
except RankError as error:
    write({"refused": str(error)})
finish()
