#!/usr/bin/env python3
"""Trains on the shapes of real plans, and measures how long each epoch takes.

Plans come from the command `lengthwise`, a few epochs for each choice of strategy and shapes, all
under the same budget; input is random. The first epoch pays for every shape once, later ones for
shapes that are new in them. Needs PyTorch, and `lengthwise` on the path or named by --lengthwise.

    python3 replay_plans.py --out runs/my-machine
"""

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

from measure_steps import CLASSES, INPUTS, Trainer

CHOICES = (
    ("shuffled", "exact"),
    ("semi-sorted:noise=0.1", "exact"),
    ("blurred:blur=0.02", "exact"),
    ("blurred:blur=0.02", "multiple:64"),
    ("shuffled", "ladder:16"),
    ("shuffled", "ladder:8"),
    ("sorted", "exact"),
)
COLUMNS = ("model", "strategy", "shapes", "epoch", "batches", "cells", "new_shapes", "seconds")


def plan(command, strategy, shapes, budget, epoch):
    """The batch sizes and batch lengths of one epoch."""
    arguments = [command, "plan", "--example", "speech", "--strategy", strategy, "--shapes", shapes]
    arguments += ["--budget", budget, "--epoch", str(epoch), "--json"]
    answer = subprocess.run(arguments, check=True, capture_output=True, text=True)
    document = json.loads(answer.stdout)
    sizes = [len(batch) for batch in document["batches"]]
    return list(zip(sizes, document["batch_lengths"]))


def epoch_seconds(torch, trainer, shapes):
    """How long the steps of an epoch take, one after another."""
    device = trainer.device
    wait = torch.cuda.synchronize if device.type == "cuda" else lambda: None
    wait()
    start = time.perf_counter()
    for size, length in shapes:
        frames = torch.randn(size, length, INPUTS, device=device)
        labels = torch.randint(CLASSES, (size, length), device=device)
        trainer.step(frames, labels)
    wait()
    return time.perf_counter() - start


def replay(torch, name, device, arguments, table):
    """All epochs of all choices for one model, each choice with a model of its own."""
    for strategy, kind in CHOICES:
        trainer, seen = Trainer(torch, name, device), set()
        for epoch in range(arguments.epochs):
            shapes = plan(arguments.lengthwise, strategy, kind, arguments.budget, epoch)
            new = set(shapes) - seen
            seen |= new
            seconds = epoch_seconds(torch, trainer, shapes)
            cells = sum(size * length for size, length in shapes)
            row = (name, strategy, kind, epoch, len(shapes), cells, len(new), f"{seconds:.3f}")
            table(row)
            print(*row, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("replay"), help="folder for the table")
    parser.add_argument("--lengthwise", default="lengthwise", help="the command")
    parser.add_argument("--budget", default="padded:51200", help="the budget of every batch")
    parser.add_argument("--epochs", type=int, default=4, help="epochs of every choice")
    parser.add_argument("--models", nargs="+", default=["encoder", "recurrent"])
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is not installed\n\nhint: pip install torch")
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    # The first steps of a process pay for much that has nothing to do with shapes.
    for name in arguments.models:
        epoch_seconds(torch, Trainer(torch, name, device), [(8, 100)] * 3)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with open(arguments.out / "epochs.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")

        def table(row):
            writer.writerow(row)
            file.flush()

        table(COLUMNS)
        for name in arguments.models:
            replay(torch, name, device, arguments, table)


if __name__ == "__main__":
    main()
