"""The Hugging Face Trainer on a tiny model: trained.py OUT FOLDER [STOP], where STOP ends the run
after so many steps with a checkpoint, and without it a checkpoint in the folder is gone on from."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from common import BUDGET, SEQUENCES, finish, lengths, write
from lengthwise.hf import TrainerMixin
from transformers import Trainer, TrainerCallback, TrainingArguments

folder = Path(sys.argv[2])
stop = int(sys.argv[3]) if len(sys.argv) > 3 else None


class Tokens(torch.utils.data.Dataset):
    def __init__(self) -> None:
        self.lengths = lengths().tolist()

    def __len__(self) -> int:
        return SEQUENCES

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": [index] * self.lengths[index]}


class Model(torch.nn.Module):
    """Remembers which sequences it saw."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.seen: list[list[int]] = []

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor | None = None) -> dict:
        if self.training:
            self.seen.append(input_ids[:, 0].tolist())
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
        if state.global_step == stop:
            control.should_save = control.should_training_stop = True


model = Model()
arguments = TrainingArguments(
    str(folder), num_train_epochs=3, save_strategy="no", report_to=[], use_cpu=True,
    disable_tqdm=True, logging_strategy="no", gradient_accumulation_steps=2,
    remove_unused_columns=False, ddp_backend="gloo", dataloader_num_workers=0,
)  # fmt: skip
trainer = PlannedTrainer(
    model, arguments, train_dataset=Tokens(), data_collator=collate,
    batches={"budget": BUDGET, "lengths": lengths()}, callbacks=[Stop()] if stop else [],
)  # fmt: skip
checkpoints = sorted(folder.glob("checkpoint-*"))
trainer.train(resume_from_checkpoint=str(checkpoints[-1]) if checkpoints and not stop else None)
write({"seen": model.seen, "steps": trainer.state.global_step})
finish()
