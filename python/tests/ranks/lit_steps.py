"""Lightning with planned optimizer steps on gloo: lit_steps.py OUT FOLDER BY. Writes the gradient of each step, and of
each batch what its mean loss counts, and for how much of it."""

from __future__ import annotations

import os
import sys

import lightning
import torch
from common import BUDGET, Sequences, finish, lengths, write
from lengthwise.lightning import PlannedAccumulation
from lengthwise.torch import BatchSampler, loader

by = sys.argv[3]
accumulation = PlannedAccumulation(by)


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(1))
        self.batches: list[tuple[float, int]] = []
        self.gradients: list[float] = []

    def training_step(self, batch, number):
        values, counts = batch
        of = counts if by == "tokens" else torch.ones_like(counts)
        mean = float((values[:, 0] * of).sum() / of.sum())
        self.batches.append((mean, int(of.sum())))
        return self.weight.sum() * mean * accumulation.weight

    def on_before_optimizer_step(self, optimizer):
        self.gradients.append(self.weight.grad.item())

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.0)

    def train_dataloader(self):
        sampler = BatchSampler(lengths(), "proportional", budget=BUDGET, update="tokens:3000")
        return loader(Sequences(), sampler)


module = Module()
trainer = lightning.Trainer(
    accelerator="cpu", devices=int(os.environ["WORLD_SIZE"]), strategy="ddp", max_epochs=2, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False, callbacks=[accumulation],
    default_root_dir=sys.argv[2],
)  # fmt: skip
trainer.fit(module)
write({"batches": module.batches, "gradients": module.gradients, "each": trainer.accumulate_grad_batches})
finish()
