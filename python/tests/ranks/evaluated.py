"""The Hugging Face Trainer evaluates and predicts, with planned batches and without them."""

from __future__ import annotations

import sys

import numpy as np
import torch
from common import BUDGET, finish, lengths, write
from lengthwise.hf import TrainerMixin
from transformers import Trainer, TrainingArguments


class Tokens(torch.utils.data.Dataset):
    """Sequence `i` holds its own number, as often as it is long, and has the label `i`."""

    def __init__(self, count: int) -> None:
        self.lengths = lengths()[:count].tolist()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict:
        return {"input_ids": [index + 1] * self.lengths[index], "labels": index}


class Model(torch.nn.Module):
    """Says the number of each token, and how many tokens there are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict:
        self.shapes.append(tuple(input_ids.shape))
        counts = (input_ids > 0).sum(1)
        loss = (self.weight * (counts + labels).float()).mean()
        return {"loss": loss, "tokens": input_ids * 1.0, "counts": counts}


def collate(rows: list[dict]) -> dict:
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    return {
        "input_ids": torch.nn.utils.rnn.pad_sequence(ids, batch_first=True),
        "labels": torch.tensor([row["labels"] for row in rows]),
    }


def metrics(results) -> dict:
    (tokens, counts), labels = results.predictions, results.label_ids
    assert results[1] is labels
    assert labels.tolist() == list(range(len(labels)))
    right = [int((row == label + 1).sum()) for row, label in zip(tokens, labels)]
    return {"right": float(np.mean(np.array(right) == counts)), "losses": len(results.losses)}


class PlannedTrainer(TrainerMixin, Trainer):
    pass


def evaluated(kind: type, count: int, **options) -> dict:
    model, dataset = Model(), Tokens(count)
    arguments = TrainingArguments(
        sys.argv[1], report_to=[], use_cpu=True, disable_tqdm=True, logging_strategy="no",
        remove_unused_columns=False, ddp_backend="gloo", include_for_metrics=["loss"],
        label_names=["labels"], per_device_eval_batch_size=4,
    )  # fmt: skip
    trainer = kind(
        model, arguments, train_dataset=dataset, eval_dataset=dataset, data_collator=collate,
        compute_metrics=metrics, **options,
    )  # fmt: skip
    found = trainer.evaluate()
    model.shapes.clear()
    again = trainer.predict(dataset)
    tokens, counts = again.predictions
    own = [row[: int(length)].tolist() for row, length in zip(tokens, dataset.lengths)]
    return {
        "metrics": {name: found[name] for name in ("eval_loss", "eval_right", "eval_losses")},
        "test_loss": again.metrics["test_loss"],
        "tokens": own, "counts": counts.tolist(), "labels": again.label_ids.tolist(), "shapes": model.shapes,
    }  # fmt: skip


results = {}
for count in (400, 1):
    results[str(count)] = {
        "plain": evaluated(Trainer, count),
        "planned": evaluated(PlannedTrainer, count, batches={"budget": BUDGET, "column": "input_ids"}),
        "off": evaluated(PlannedTrainer, count, batches={"budget": BUDGET, "evaluation": False}),
    }
write(results)
finish()
