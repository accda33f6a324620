"""Trains a tagger on several ranks, with and without loss weights, and in one process with the union of their batches.

python ranks.py --data FOLDER --output results.jsonl
"""

from __future__ import annotations

import argparse
import copy
import json
import multiprocessing
import multiprocessing.connection
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from lengthwise.torch import BatchSampler, loader, steps
from torch import nn
from torch.nn.parallel import DistributedDataParallel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "mixing"))
from model import Task, build

#: Ways to batch, each with about as much data for every rank in a step.
WAYS: dict[str, dict[str, Any]] = {
    "default": {"budget": "padded:256"},
    "packed": {"strategy": "packed:capacity=256"},
    "ladder": {"strategy": "shuffled", "shapes": "ladder:16", "budget": "padded:256"},
    "random": {"strategy": "shuffled", "budget": "sequences:16", "arrange": "shuffled", "steps": "in-order"},
    "sorted": {"strategy": "sorted", "budget": "sequences:16", "arrange": "shuffled", "steps": "in-order"},
}
#: Every so many steps, the gradient without weights is compared at equal parameters.
EVERY = 10
#: Student's t for 95 % intervals, by degrees of freedom from 1.
STUDENT = (
    12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110,
    2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


class Learner:
    """A model and its optimizer, with a rate that falls linearly to 0."""

    def __init__(self, model: nn.Module, rate: float, total: int) -> None:
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=rate)
        self.schedule = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda step: 1 - step / total)

    def gradient(self) -> torch.Tensor:
        return flat([parameter.grad for parameter in self.model.parameters()])

    def update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.schedule.step()


def flat(gradients: Any) -> torch.Tensor:
    return torch.cat([gradient.flatten() for gradient in gradients])


def distance(value: torch.Tensor, reference: torch.Tensor) -> float:
    """How far a vector is from another one, relative to its norm."""
    return float((value - reference).norm() / reference.norm())


class Trial:
    """Three trainings that take their steps together.

    `weighted` and `plain` run on all ranks, with and without `step.weight`. `alone` runs on the first: its batch is the
    union of what all ranks have in the step.
    """

    def __init__(self, task: Task, way: dict[str, Any], seed: int, args: argparse.Namespace) -> None:
        self.task, self.epochs = task, args.epochs
        self.world_size, self.is_first = dist.get_world_size(), dist.get_rank() == 0
        # The rank and the number of ranks come from torch.distributed.
        self.sampler = BatchSampler(task.lengths, seed=seed, **way)
        self.batches = loader(range(len(task.lengths)), self.sampler, collate_fn=np.array)
        torch.manual_seed(seed)
        model = task.model()
        total = self.epochs * len(steps(self.batches))
        self.alone = Learner(copy.deepcopy(model), args.rate, total)
        self.weighted, self.plain = (
            Learner(DistributedDataParallel(copy.deepcopy(model)), args.rate, total) for _ in range(2)
        )
        #: What was measured in each step, and the sequences of the epoch.
        self.rows: list[dict[str, float]] = []
        self.seen: list[int] = []

    def tokens(self, indices: np.ndarray) -> int:
        return int(self.task.lengths[indices].sum())

    def mean(self, model: nn.Module, indices: np.ndarray) -> torch.Tensor:
        return self.task.sum(model, indices) / self.tokens(indices)

    def train(self) -> None:
        for epoch in range(self.epochs):
            self.sampler.set_epoch(epoch)
            self.seen = []
            for step in steps(self.batches):
                own = []
                for indices in step:
                    last = step.is_last_micro
                    with nullcontext() if last else self.weighted.model.no_sync():
                        (self.mean(self.weighted.model, indices) * step.weight).backward()
                    with nullcontext() if last else self.plain.model.no_sync():
                        (self.mean(self.plain.model, indices) / len(step)).backward()
                    own.append(indices)
                self.compare(own, step.index)
                for learner in (self.weighted, self.plain):
                    learner.update()
            if self.is_first and sorted(self.seen) != list(range(len(self.task.lengths))):
                raise SystemExit("expected every sentence once in an epoch")

    def compare(self, own: list[np.ndarray], number: int) -> None:
        """Takes the step of one process, and compares the gradients of this step."""
        every: list[Any] = [None] * self.world_size
        dist.gather_object(own, every if self.is_first else None)
        row, without = {}, {}
        if number % EVERY == 0:
            counts = np.array([self.tokens(indices) for indices in own])
            without["ranks"] = self.averaged(own, counts / counts.sum())
            # With one micro-batch on each rank, the two are the same.
            without["batches"] = self.averaged(own, np.full(len(own), 1 / len(own))) if len(own) > 1 else without["ranks"]
        if self.is_first:
            union = np.concatenate([indices for of_rank in every for indices in of_rank])
            self.mean(self.alone.model, union).backward()
            reference = self.alone.gradient()
            row["weighted"] = distance(self.weighted.gradient(), reference)
            row |= {name: distance(gradient, reference) for name, gradient in without.items()}
            self.alone.update()
            of_batches = [[self.tokens(indices) for indices in of_rank] for of_rank in every]
            of_ranks = [sum(counts) for counts in of_batches]
            row["batch tokens"] = max(map(max, of_batches)) / min(map(min, of_batches))
            row["rank tokens"] = max(of_ranks) / min(of_ranks)
            self.seen += union.tolist()
        self.rows.append(row)

    def averaged(self, own: list[np.ndarray], weights: np.ndarray) -> torch.Tensor:
        """The gradient at the parameters of `weighted`, with other weights, averaged over the ranks."""
        model = self.weighted.model.module
        loss = sum(self.mean(model, indices) * weight for indices, weight in zip(own, weights.tolist(), strict=True))
        gradient = flat(torch.autograd.grad(loss, list(model.parameters())))
        dist.all_reduce(gradient)
        return gradient / self.world_size

    def result(self) -> dict[str, Any]:
        def found(name: str) -> list[float]:
            return [row[name] for row in self.rows if name in row]

        models = {"alone": self.alone.model, "weighted": self.weighted.model.module, "plain": self.plain.model.module}
        with torch.no_grad():
            measures = {name: self.task.validate(model) for name, model in models.items()}
        parameters = {name: flat(parameter.detach() for parameter in model.parameters()) for name, model in models.items()}
        return {
            "steps": len(self.rows),
            "batches_per_step": self.sampler.accumulate * self.world_size,
            "tokens_of_batches": float(np.mean(found("batch tokens"))),
            "tokens_of_ranks": float(np.mean(found("rank tokens"))),
            "gradient_weighted": max(found("weighted")),
            "gradient_ranks": float(np.mean(found("ranks"))),
            "gradient_batches": float(np.mean(found("batches"))),
            "parameters_weighted": distance(parameters["weighted"], parameters["alone"]),
            "parameters_plain": distance(parameters["plain"], parameters["alone"]),
            **measures,
        }


def of_rank(rank: int, world_size: int, store: str, lines: Any, args: argparse.Namespace) -> None:
    """One process: all trials, of which the first rank sends the results."""
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    # So that nothing is left of a difference but its cause: rounding is 1e-16.
    torch.set_default_dtype(torch.float64)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world_size)
    # Dropout would be drawn by each rank.
    task = build({"data": args.data, "sentences": args.sentences, "width": args.width, "dropout": 0.0, "target": "tags"})
    for seed in range(1, args.seeds + 1):
        for name in args.ways:
            trial = Trial(task, WAYS[name], seed, args)
            trial.train()
            if rank == 0:
                lines.send({"world_size": world_size, "way": name, "seed": seed, **trial.result()})
    dist.barrier()
    os._exit(0)  # Gloo's own end aborts now and then, after all is done.


def results(world_size: int, args: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Starts so many processes, and gives what the first one measures. Ends them in any case."""
    context = multiprocessing.get_context("spawn")
    wanted = args.seeds * len(args.ways)
    until = time.monotonic() + args.timeout
    with tempfile.TemporaryDirectory() as folder:
        incoming, outgoing = context.Pipe(duplex=False)
        given = (world_size, f"{folder}/store", outgoing, args)
        ranks = [context.Process(target=of_rank, args=(rank, *given)) for rank in range(world_size)]
        try:
            for rank in ranks:
                rank.start()
            while wanted:
                left = until - time.monotonic()
                ended = [rank.sentinel for rank in ranks if rank.exitcode is None]
                ready = multiprocessing.connection.wait([incoming, *ended], max(left, 0))
                if incoming in ready:
                    yield incoming.recv()
                    wanted -= 1
                elif not ready or any(rank.exitcode for rank in ranks):
                    codes = [rank.exitcode for rank in ranks]
                    sys.exit(f"the ranks did not end within {args.timeout} s or failed; their exit codes: {codes}")
        finally:
            for rank in ranks:
                rank.join(5)
                rank.kill()
                rank.join()


def table(lines: list[dict[str, Any]]) -> str:
    """Means over seeds, and the paired differences of the validation loss with their 95 % intervals."""
    text = (
        "| ranks | way | micro-batches per step | tokens: of micro-batches | of ranks | gradient: of ranks | "
        "of micro-batches | loss of one process | without weights | without weights, sentences of 1 to 5 words |\n"
        "|--:|---|" + "--:|" * 8 + "\n"
    )
    for world_size, way in dict.fromkeys((line["world_size"], line["way"]) for line in lines):
        own = [line for line in lines if (line["world_size"], line["way"]) == (world_size, way)]
        mean = {name: float(np.mean([line[name] for line in own])) for name in own[0] if isinstance(own[0][name], float)}
        text += (
            f"| {world_size} | {way} | {own[0]['batches_per_step']} | {mean['tokens_of_batches']:.2f} | "
            f"{mean['tokens_of_ranks']:.2f} | {mean['gradient_ranks']:.3f} | {mean['gradient_batches']:.3f} | "
            f"{np.mean([line['alone']['loss'] for line in own]):.4f} | {difference(own, 'loss')} | "
            f"{difference(own, 'loss of sentences of 1 to 5')} |\n"
        )
    gradient = max(line["gradient_weighted"] for line in lines)
    loss = max(abs(line["weighted"]["loss"] / line["alone"]["loss"] - 1) for line in lines)
    return text + f"\nWith weights: gradients within {gradient:.0e}, losses within {loss:.0e}\n"


def difference(lines: list[dict[str, Any]], measure: str) -> str:
    """What the training without weights has more, seed by seed, with its 95 % interval."""
    pairs = np.array([line["plain"][measure] - line["alone"][measure] for line in lines])
    if len(pairs) < 2:
        return f"{pairs[0]:+.4f}"
    half = STUDENT[min(len(pairs) - 1, len(STUDENT)) - 1] * pairs.std(ddof=1) / len(pairs) ** 0.5
    return f"{pairs.mean():+.4f} ± {half:.4f}"


def names(text: str) -> list[str]:
    unknown = [name for name in text.split(",") if name not in WAYS]
    if unknown:
        raise argparse.ArgumentTypeError(f"expected some of {', '.join(WAYS)}, got {unknown[0]!r}")
    return text.split(",")


def numbers(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")]
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected whole numbers such as 2,4, got {text!r}") from None


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", help="a folder with train.tsv and dev.tsv [default: made-up sentences]")
    parser.add_argument("--ranks", type=numbers, default=[2, 4], help="the numbers of processes [default: 2,4]")
    parser.add_argument("--ways", type=names, default=list(WAYS), help=f"the ways to batch [default: {','.join(WAYS)}]")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds [default: 10]")
    parser.add_argument("--sentences", type=int, default=1200, help="how many to train on [default: 1200]")
    parser.add_argument("--epochs", type=int, default=4, help="[default: 4]")
    parser.add_argument("--width", type=int, default=32, help="the width of the model [default: 32]")
    parser.add_argument("--rate", type=float, default=0.01, help="the highest learning rate [default: 0.01]")
    parser.add_argument("--timeout", type=float, default=3600, help="end all after so many seconds [default: 3600]")
    parser.add_argument("--output", type=Path, default=Path("results.jsonl"), help="[default: results.jsonl]")
    parser.add_argument("--table", action="store_true", help="only print the table of this file")
    args = parser.parse_args()
    if args.seeds < 1:
        parser.error(f"expected at least 1 seed, got {args.seeds}")
    for name in ("train.tsv", "dev.tsv") if args.data else ():
        if not (Path(args.data) / name).is_file():
            parser.error(f"there is no file {Path(args.data) / name}")
    if args.table:
        lines = [json.loads(line) for line in args.output.read_text(encoding="utf-8").splitlines()]
    else:
        lines = []
        with args.output.open("w", encoding="utf-8") as file:
            for world_size in args.ranks:
                for line in results(world_size, args):
                    lines.append(line)
                    file.write(json.dumps(line) + "\n")
                    file.flush()
    print(table(lines), end="")


if __name__ == "__main__":
    main()
