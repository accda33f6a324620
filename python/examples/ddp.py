"""Trains a tagger with DDP on planned batches; stops, and goes on with another number of processes.

torchrun --nproc-per-node=2 ddp.py --stop 20
torchrun --nproc-per-node=1 ddp.py --resume
"""

import argparse
import json
import os
import time
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lengthwise.torch import BatchSampler, loader, pad_collate, steps

SYMBOLS = 20
PADDING = -100  # What cross_entropy leaves out.


def sequences():
    """Made data: a position is tagged with whether the symbol after it is larger."""
    random = np.random.default_rng(0)
    for index, length in enumerate(random.lognormal(3.3, 0.7, 600).clip(4, 200).astype(int)):
        symbols = torch.from_numpy(random.integers(1, SYMBOLS, length))
        tags = symbols.diff(append=torch.tensor([0])) > 0
        yield {"symbols": symbols, "tags": tags.long(), "index": index}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, 16)
        self.lstm = nn.LSTM(16, 32, bidirectional=True, batch_first=True)
        self.head = nn.Linear(64, 2)

    def forward(self, batch):
        """The mean loss over the positions that are not padding."""
        # Packed, so that the way back through a sequence does not begin in its padding.
        values = self.embedding(batch["symbols"])
        packed = pack_padded_sequence(values, batch["lengths"], batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=values.shape[1])
        scores = self.head(states).flatten(0, 1)
        return nn.functional.cross_entropy(scores, batch["tags"].flatten(), ignore_index=PADDING)


def summary(rows, seconds):
    """What all ranks together trained on. Each step waits for the rank with the most cells."""
    rows = torch.tensor(rows, dtype=torch.double)
    slowest = rows[:, 2:].clone()
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    sums = torch.cat([rows, slowest], dim=1).sum(0)
    dist.all_reduce(sums)
    lost, positions, cells, waited = sums.tolist()
    return (
        f"loss {lost / positions:.4f}, {1 - positions / cells:.2%} padding, {seconds:.1f} s, "
        f"{1 - cells / waited:.2%} idle, {len(rows)} steps"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--checkpoint", type=Path, default=Path("tagger.pt"))
    parser.add_argument("--stop", type=int, default=10**9, help="stop after so many steps")
    parser.add_argument("--resume", action="store_true", help="go on from the checkpoint")
    parser.add_argument("--seen", type=Path, help="folder for what each rank trained on")
    args = parser.parse_args()
    dist.init_process_group("gloo")
    torch.manual_seed(0)
    model = DistributedDataParallel(Tagger())
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = list(sequences())
    lengths = [len(item["symbols"]) for item in data]
    sampler = BatchSampler(lengths, budget="padded:1000")  # Cells of a batch, on each rank.
    batches = loader(data, sampler, collate_fn=pad_collate(sampler, padding_value={"tags": PADDING}))
    first, left = 0, args.stop
    if args.resume:
        state = torch.load(args.checkpoint, weights_only=True)
        model.module.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        sampler.load_state_dict(state["sampler"])
        first = sampler.epoch
    for epoch in range(first, args.epochs):
        sampler.set_epoch(epoch)
        begun, rows, seen = time.perf_counter(), [], []
        for step in islice(steps(batches), left):
            optimizer.zero_grad()
            sums, indices = [0.0, 0, 0], []
            for batch in step:
                # Gradients are averaged over the ranks once, with the last batch of the step.
                with nullcontext() if step.is_last_micro else model.no_sync():
                    loss = model(batch)
                    (loss * step.weight).backward()
                positions = batch["lengths"].sum().item()
                measured = (loss.item() * positions, positions, batch["symbols"].numel())
                sums = [so_far + more for so_far, more in zip(sums, measured)]
                indices += batch["index"].tolist()
            rows.append(sums)
            seen.append(indices)
            optimizer.step()
            left -= 1
        text = summary(rows, time.perf_counter() - begun)
        if args.seen:
            with (args.seen / f"{dist.get_rank()}.jsonl").open("a") as file:
                file.write(json.dumps({"epoch": epoch, "batches": seen}) + "\n")
        if dist.get_rank() == 0:
            print(f"epoch {epoch}: {text}", flush=True)
            state = {
                "model": model.module.state_dict(),
                "optimizer": optimizer.state_dict(),
                "sampler": step.state_dict(),
            }
            torch.save(state, args.checkpoint.with_suffix(".tmp"))
            args.checkpoint.with_suffix(".tmp").replace(args.checkpoint)  # Whole or not at all.
        if left == 0:
            break
    dist.barrier()
    os._exit(0)  # Gloo's own end aborts now and then, after all is done.


if __name__ == "__main__":
    main()
