"""The Hugging Face Trainer on a stream: trains with planned batches of it, resumes, evaluates and predicts."""

from __future__ import annotations

import argparse
from pathlib import Path

import datasets
import torch
from common import BUDGET, SEQUENCES, finish, lengths, write
from lengthwise import LengthwiseError
from lengthwise.hf import TrainerMixin
from transformers import Trainer, TrainerCallback, TrainingArguments

parser = argparse.ArgumentParser()
parser.add_argument("out")
parser.add_argument("folder", type=Path)
parser.add_argument("--kind", choices=["torch", "datasets", "split"], default="torch")
parser.add_argument("--steps", type=int, default=60)
parser.add_argument("--stop", type=int)
parser.add_argument("--resume", action="store_true")
parser.add_argument("--accumulate", type=int, default=2)
parser.add_argument("--workers", type=int, default=0)
parser.add_argument("--count", type=int, default=SEQUENCES)
parser.add_argument("--evaluate", action="store_true")
given = parser.parse_args()
LENGTHS = lengths()[: given.count].tolist()


def item(index: int) -> dict:
    return {"input_ids": [index + 1] * LENGTHS[index], "labels": index}


class Tokens(torch.utils.data.IterableDataset):
    """Sequence `i` holds its own number, as often as it is long. Workers would divide it among them."""

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        first, by = (0, 1) if worker is None else (worker.id, worker.num_workers)
        yield from map(item, range(first, given.count, by))


def made():
    if given.kind == "torch":
        return Tokens()
    whole = datasets.Dataset.from_list([item(index) for index in range(given.count)]).to_iterable_dataset(num_shards=4)
    if given.kind == "split":
        from datasets.distributed import split_dataset_by_node

        return split_dataset_by_node(whole, rank=0, world_size=2)
    return whole.shuffle(seed=3, buffer_size=50)


class Model(torch.nn.Module):
    """Remembers what it saw; says the number of each token, and how many tokens there are."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.seen: list[list[int]] = []
        self.shapes: list[tuple[int, ...]] = []

    def forward(self, input_ids: torch.Tensor, labels: torch.Tensor) -> dict:
        self.seen.append(labels.tolist())
        self.shapes.append(tuple(input_ids.shape))
        counts = (input_ids > 0).sum(1)
        loss = (self.weight * (counts + labels).float()).mean() * 1e-9
        return {"loss": loss, "tokens": input_ids * 1.0, "counts": counts}


def collate(rows: list[dict]) -> dict:
    ids = [torch.tensor(row["input_ids"]) for row in rows]
    return {
        "input_ids": torch.nn.utils.rnn.pad_sequence(ids, batch_first=True),
        "labels": torch.tensor([row["labels"] for row in rows]),
    }


class PlannedTrainer(TrainerMixin, Trainer):
    pass


class Stop(TrainerCallback):
    def on_step_end(self, args, state, control, **_):
        if state.global_step == given.stop:
            control.should_save = control.should_training_stop = True


def metrics(results) -> dict:
    labels = results.label_ids.tolist()
    return {"sorted": float(labels == sorted(labels)), "count": len(labels)}


def run() -> dict:
    model = Model()
    arguments = TrainingArguments(
        str(given.folder), max_steps=given.steps, report_to=[], use_cpu=True, disable_tqdm=True, save_strategy="no",
        logging_strategy="no", gradient_accumulation_steps=given.accumulate, remove_unused_columns=False,
        ddp_backend="gloo", dataloader_num_workers=given.workers, label_names=["labels"],
        per_device_eval_batch_size=3,
    )  # fmt: skip
    trainer = PlannedTrainer(
        model, arguments, train_dataset=made(), data_collator=collate, callbacks=[Stop()] if given.stop else [],
        compute_metrics=metrics, batches={"budget": BUDGET, "window": 100, "shapes": "ladder:40/80/300"},
    )  # fmt: skip
    if given.evaluate:
        found = trainer.predict(Tokens())
        tokens, counts = found.predictions
        twice = trainer.evaluate(Tokens())
        own = [row[: int(length)].tolist() for row, length in zip(tokens, LENGTHS)]
        return {
            "labels": found.label_ids.tolist(), "counts": counts.tolist(), "tokens": own, "metrics": found.metrics,
            "again": twice, "shapes": model.shapes,
        }  # fmt: skip
    trainer.train(resume_from_checkpoint=given.resume)
    return {"seen": model.seen, "shapes": model.shapes, "steps": trainer.state.global_step}


try:
    write(run())
except LengthwiseError as error:
    write({"refused": str(error), "kind": type(error).__name__})
finish()
