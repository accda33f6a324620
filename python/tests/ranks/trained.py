"""The Hugging Face Trainer on a tiny model, with checkpoints.

trained.py OUT FOLDER [--stop STEPS] [--resume] …: `--stop` ends the run with a checkpoint after so many steps
in all, `--resume` continues from the last checkpoint in the folder.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from common import BUDGET, SEQUENCES, finish, lengths, write
from lengthwise import LengthwiseError
from lengthwise.hf import TrainerMixin
from transformers import Trainer, TrainerCallback, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("folder", type=Path)
parser.add_argument("--stop", type=int)
parser.add_argument("--resume", action="store_true")
parser.add_argument("--budget", default=BUDGET)
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--update", help="steps of this size, planned for two ranks")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--save-epochs", action="store_true")
given = parser.parse_args()


class Tokens(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.lengths = lengths().tolist()

    def __len__(self) -> int:
        return SEQUENCES

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": [index] * self.lengths[index]}


class Model(torch.nn.Module):
    """Remembers which sequences it saw, and in which epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.seen: list[list[int]] = []
        self.epochs: list[int] = []

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> dict:
        if self.training:
            self.seen.append(input_ids[:, 0].tolist())
            self.epochs.append(int(trainer.state.epoch + 1e-6))
        return {"loss": (self.weight * input_ids.float().mean()).mean() * 1e-9}


def collate(rows: list[dict]) -> dict:
    width = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), width, dtype=torch.long)
    for place, row in enumerate(rows):
        ids[place, : len(row["input_ids"])] = torch.tensor(row["input_ids"])
    return {"input_ids": ids, "labels": ids}


class PlannedTrainer(TrainerMixin, Trainer):
    pass


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == given.stop:
            control.should_save = control.should_training_stop = True


model = Model()
arguments = TrainingArguments(
    str(given.folder), num_train_epochs=given.epochs, report_to=[], use_cpu=True, disable_tqdm=True,
    save_strategy="epoch" if given.save_epochs else "no", logging_strategy="no",
    gradient_accumulation_steps=given.accumulate, remove_unused_columns=False, ddp_backend="gloo",
    dataloader_num_workers=given.workers,
)  # fmt: skip
batches = {"strategy": "shuffled", "budget": given.budget, "lengths": lengths()}
if given.update:
    batches |= {"strategy": "proportional", "update": given.update, "canonical_ranks": 2}
trainer = PlannedTrainer(
    model, arguments, train_dataset=Tokens(), data_collator=collate, batches=batches,
    callbacks=[Stop()] if given.stop else [],
)  # fmt: skip
try:
    trainer.train(resume_from_checkpoint=given.resume)
    state = trainer.state
    rate = trainer.optimizer.param_groups[0]["lr"]
    write(
        {"seen": model.seen, "epochs": model.epochs, "steps": state.global_step, "max": state.max_steps,
         "rate": rate, "accumulated": arguments.gradient_accumulation_steps}
    )  # fmt: skip
except LengthwiseError as error:
    write({"refused": str(error), "kind": type(error).__name__})
finish()
