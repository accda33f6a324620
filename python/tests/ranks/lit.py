"""Lightning on gloo: lit.py OUT FOLDER KIND WORKERS [STOP], where KIND is `default` (our loader, Lightning's own
distributed sampler switched on) or `plain` (a DataLoader, and it is switched off)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import lightning
import torch
from common import BUDGET, Sequences, finish, indices, lengths, write
from lengthwise.torch import BatchSampler, loader, pad_collate
from torch.utils.data import DataLoader

folder, kind = Path(sys.argv[2]), sys.argv[3]
WORKERS = int(sys.argv[4])
stop = int(sys.argv[5]) if len(sys.argv) > 5 else None


class Module(lightning.LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.seen: list[list] = []

    def training_step(self, batch, number):
        values, counts = batch
        self.seen.append([self.current_epoch, number, indices(values)])
        return self.layer(values[..., None]).mean() * 1e-9

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-9)

    def train_dataloader(self):
        sampler = BatchSampler(lengths(), "shuffled", budget=BUDGET)
        if kind == "default":
            return loader(Sequences(), sampler, num_workers=WORKERS)
        return DataLoader(Sequences(), batch_sampler=sampler, collate_fn=pad_collate(sampler))


class Stop(lightning.Callback):
    def on_train_batch_end(self, trainer, module, outputs, batch, number):
        if trainer.global_step == stop:
            trainer.save_checkpoint(folder / "stopped.ckpt")
            trainer.should_stop = True
            trainer.limit_train_batches = 0


world_size = int(os.environ["WORLD_SIZE"])
module = Module()
checkpoint = folder / "stopped.ckpt"
trainer = lightning.Trainer(
    accelerator="cpu", devices=world_size,
    strategy="ddp" if world_size > 1 else "auto", max_epochs=3, logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
    max_steps=stop or -1, use_distributed_sampler=kind == "default",
    callbacks=[Stop()] if stop else [], default_root_dir=folder,
)  # fmt: skip
trainer.fit(module, ckpt_path=checkpoint if checkpoint.exists() and not stop else None)
write({"seen": module.seen})
finish()
