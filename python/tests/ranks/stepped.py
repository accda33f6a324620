"""Gradients of optimizer steps: stepped.py OUT KIND BY STRATEGY STATE [STOP], where KIND is `ddp` or `accelerate`.

Writes what each rank saw in each step of an epoch, and the gradient that all have then. Goes on from the state if it is
there; with STOP, stops after so many steps and saves it.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path

import accelerate
import torch
import torch.distributed as dist
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise.torch import BatchSampler, pad_collate, steps
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

kind, by, strategy, state = sys.argv[2], sys.argv[3], sys.argv[4], Path(sys.argv[5])
stop = int(sys.argv[6]) if len(sys.argv) > 6 else None
settings = {"update": "tokens:3000"} if strategy == "proportional" else {"accumulate": 3}
if strategy == "proportional":
    settings["canonical_ranks"] = 2
if kind == "accelerate":
    accelerator = accelerate.Accelerator(cpu=True)
    accelerator.even_batches = False
else:
    dist.init_process_group("gloo")


class Model(torch.nn.Module):
    """Has a loss for each position: no two sequences have the same gradient."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = torch.nn.Linear(2, 3), torch.nn.Linear(3, 1)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        places = torch.arange(values.shape[1], device=values.device).expand_as(values)
        inputs = torch.stack([values / 400, places / 300], dim=-1).double()
        return self.second(torch.tanh(self.first(inputs)))[..., 0] ** 2


def mean_loss(losses: torch.Tensor, counts: torch.Tensor) -> torch.Tensor:
    """The mean over positions, or over sequences of their means."""
    mask = torch.arange(losses.shape[1]) < counts[:, None]
    if by == "tokens":
        return (losses * mask).sum() / counts.sum()
    return ((losses * mask).sum(1) / counts).mean()


def gradient(model: torch.nn.Module) -> list[float]:
    return torch.cat([part.grad.flatten() for part in model.parameters()]).tolist()


def reference(batch: list[int]) -> list[float]:
    """The gradient of one padded batch of all sequences of a step."""
    data, model = Sequences(), Model().double()
    items = [data[index] for index in batch]
    values = torch.nn.utils.rnn.pad_sequence(items, batch_first=True)
    mean_loss(model(values), torch.tensor([len(item) for item in items])).backward()
    return gradient(model)


def main() -> None:
    accelerated = kind == "accelerate"
    sampler = BatchSampler(lengths(), strategy, budget=BUDGET, rank="all" if accelerated else None, **settings)
    if state.exists():
        sampler.load_state_dict(json.loads(state.read_text()))
    loader = DataLoader(
        Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler), num_workers=0 if accelerated else 1
    )
    model = Model().double()
    if accelerated:
        model, loader = accelerator.prepare(model, loader)
        loader.set_epoch(sampler.epoch)
    elif dist.get_world_size() > 1:
        model = DistributedDataParallel(model)
    seen: list[dict] = []
    for step in steps(loader, by=by):
        taken = []
        for values, counts in step:
            skip = not step.is_last_micro and hasattr(model, "no_sync")
            with model.no_sync() if skip else contextlib.nullcontext():
                loss = mean_loss(model(values), counts) * step.weight
                accelerator.backward(loss) if accelerated else loss.backward()
            taken.append(indices(values))
        assert len(taken) == len(step)
        everything = [None] * dist.get_world_size() if dist.is_initialized() else [taken]
        if dist.is_initialized():
            dist.all_gather_object(everything, taken)
        together = [index for rank in everything for batch in rank for index in batch]
        seen.append(
            {"index": step.index, "taken": taken, "gradient": gradient(model), "reference": reference(together)}
        )
        model.zero_grad()
        if len(seen) == stop:
            if sampler._ranks()[0] in ("all", 0):
                state.write_text(json.dumps(step.state_dict()))
            break
    write({"seen": seen, "len": len(steps(loader))})


if __name__ == "__main__":
    main()
    finish()
