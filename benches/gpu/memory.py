"""Calibrates models with memory measured, and checks what the memory model predicts and the budgets hold.

python3 benches/gpu/memory.py --out benches/gpu/runs/NAME

For each model and list of lengths, in a process of its own that may have only `--gigabytes` of the device: it calibrates;
measures shapes that it has not met, and compares them with the prediction; and trains some epochs with the recommended
settings and with those of the largest budget, and counts how often memory ran out. Needs PyTorch with CUDA and the package
`lengthwise`. `--quick` runs tiny models on the CPU, where memory is not measured, to see that everything works.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from pathlib import Path

from epochs import FEATURES, TOKENS, Sequences, build, machine

#: Model and lengths. Every layer of `eager` holds the scores of all pairs of positions.
JOBS = [("blstm", "speech"), ("encoder", "speech"), ("encoder", "documents"), ("eager", "documents")]
#: The longest document of `eager`.
LONGEST = 2048


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--gigabytes", type=float, default=20.0, help="the memory that a process may have")
    parser.add_argument("--seconds", type=float, default=20.0, help="about how long to time shapes")
    parser.add_argument("--shapes", type=int, default=40, help="how many fresh shapes to measure")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="tiny models on the CPU")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.one is not None:
        measure(*JOBS[args.one], args)
        return
    (args.out / "machine.txt").write_text(machine())
    for name in ("memory-shapes.csv", "memory-epochs.csv"):
        (args.out / name).unlink(missing_ok=True)
    failed = 0
    for number in range(len(JOBS)):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", str(number)]
        try:
            failed += subprocess.run(command, timeout=200).returncode != 0
        except subprocess.TimeoutExpired:
            print(f"{JOBS[number]}: not done in 200 s", flush=True)
            failed += 1
    sys.exit(failed)


def eager(quick: bool):
    """A Transformer encoder whose attention makes all scores, as `build` has the other models."""
    import torch
    from torch import nn

    width, heads, layers = (32, 2, 1) if quick else (512, 8, 4)

    class Layer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.made, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, values, mask):
            size, length, _ = values.shape
            parts = self.made(self.before(values)).view(size, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            scores = parts[0] @ parts[1].transpose(-1, -2) / (width // heads) ** 0.5
            scores = scores.masked_fill(~mask[:, None, None], float("-inf")).softmax(-1)
            values = values + self.out((scores @ parts[2]).transpose(1, 2).reshape(size, length, width))
            return values + self.narrow(nn.functional.gelu(self.wide(self.between(values))))

    embedding, head = nn.Embedding(TOKENS, width), nn.Linear(width, TOKENS)
    stack = nn.ModuleList([Layer() for _ in range(layers)])
    modules = nn.ModuleList([embedding, stack, head])

    def loss(values, mask):
        states = embedding(values)
        for layer in stack:
            states = layer(states, mask)
        losses = nn.functional.cross_entropy(head(states).flatten(0, 1), values.flatten(), reduction="none")
        return (losses * mask.flatten()).sum() / mask.sum()

    return modules, loss


def measure(name: str, source: str, args: argparse.Namespace) -> None:
    """Everything about one model and one list of lengths."""
    import lengthwise as lw
    import numpy as np
    import torch

    cuda = torch.cuda.is_available() and not args.quick
    device = "cuda" if cuda else "cpu"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    lengths = lw.example(source)[:: 5 if source == "speech" else 4]
    if name == "eager":
        lengths = np.minimum(lengths, LONGEST)
    if args.quick:
        lengths = np.maximum(lengths[:100] // 16, 1)
    if cuda:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(min(args.gigabytes * 1e9 / total, 1.0))
    modules, loss_of = eager(args.quick) if name == "eager" else build(name, args.quick)
    modules.to(device)
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-5)
    half = torch.autocast(device, torch.bfloat16, enabled=cuda and name == "encoder")

    def forward_and_backward(values: torch.Tensor, mask: torch.Tensor) -> None:
        with half:
            loss = loss_of(values, mask)
        loss.backward()

    def step(size: int, length: int) -> None:
        if name == "blstm":
            values = torch.randn(size, length, FEATURES, device=device)
        else:
            values = torch.randint(TOKENS, (size, length), device=device)
        forward_and_backward(values, torch.ones(size, length, dtype=torch.bool, device=device))
        optimizer.step()
        # Gradients stay there, as between micro-batches.
        optimizer.zero_grad(set_to_none=False)

    begin = time.perf_counter()
    most = {"max_cells": 3000} if args.quick else {}
    calibration = lw.calibrate(step, lengths, seconds=args.seconds, **most)
    title = f"{name}, {source}"
    print(f"== {title}: calibrated in {time.perf_counter() - begin:.0f} s", flush=True)
    print(calibration, flush=True)
    calibration.save(args.out / f"memory-{name}-{source}.json")
    calibration.save_steps(args.out / f"memory-{name}-{source}.csv")
    if cuda:
        print(f"ran out while calibrating: {torch.cuda.memory_stats()['num_ooms']} times", flush=True)
        fresh(title, step, lengths, calibration, args)
    largest = max(calibration.recommendations, key=lambda one: int(one.budget.split(":")[1]))
    for which, settings in (("best", calibration.best.settings), ("largest budget", largest.settings)):
        train(title, which, settings, lengths, Sequences(lengths, name), forward_and_backward, optimizer, device, args)


def fresh(title, step, lengths, calibration, args) -> None:
    """Compares the prediction with what shapes take that were not met before."""
    import numpy as np
    import torch

    random = np.random.default_rng(11)
    known = {(one.batch_size, one.batch_length) for one in calibration.steps}
    rows = []
    while len(rows) < args.shapes:
        length = int(random.choice(lengths))
        size = int(random.integers(1, max(calibration.largest_cells // length, 1) + 1))
        size = min(size, len(lengths))
        if (size, length) in known:
            known = set()  # Where there are few shapes, each of them will do.
            continue
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        step(size, length)
        torch.cuda.synchronize()
        taken, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        predicted = calibration.memory.peak(size, length)
        rows.append([title, size, length, taken, predicted, round(predicted / taken - 1, 4), reserved,
                     calibration.memory.reserved(size, length)])  # fmt: skip
    errors = [abs(row[5]) for row in rows]
    worst = max(rows, key=lambda row: abs(row[5]))
    print(
        f"{len(rows)} fresh shapes: mean error {100 * sum(errors) / len(errors):.2f} %, largest {100 * max(errors):.2f} %"
        f" (at {worst[1]} × {worst[2]}: {worst[3] / 1e9:.3f} GB, predicted {worst[4] / 1e9:.3f})",
        flush=True,
    )
    header = ["job", "batch_size", "batch_length", "allocated", "predicted", "error", "reserved", "predicted_reserved"]
    write(args.out / "memory-shapes.csv", header, rows)


def train(title, which, settings, lengths, data, forward_and_backward, optimizer, device, args) -> None:
    """Trains some epochs, and says how much memory they took."""
    import torch
    from lengthwise.torch import BatchSampler, loader, steps

    cuda = device == "cuda"
    sampler = BatchSampler(lengths, **settings)
    batches = loader(data, sampler)
    if cuda:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = dict(torch.cuda.memory_stats()) if cuda else {}
    ran_out = 0
    begin = time.perf_counter()
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        for step in steps(batches):
            for values, counts in step:
                values = values.to(device)
                mask = torch.arange(values.shape[1], device=device) < counts.to(device)[:, None]
                try:
                    forward_and_backward(values, mask)
                except torch.OutOfMemoryError:
                    ran_out += 1
            optimizer.step()
            optimizer.zero_grad()
    row = [title, which, settings["budget"], settings["strategy"], args.epochs, ran_out]
    text = f"{which} ({settings['budget']}): {args.epochs} epochs in {time.perf_counter() - begin:.1f} s"
    if cuda:
        torch.cuda.synchronize()
        after = torch.cuda.memory_stats()
        allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        retries = after["num_alloc_retries"] - before["num_alloc_retries"]
        share = reserved / (args.gigabytes * 1e9)
        row += [allocated, reserved, round(share, 4), retries]
        text += (
            f", peak {allocated / 1e9:.2f} GB allocated, {reserved / 1e9:.2f} GB reserved"
            f" ({100 * share:.1f} % of {args.gigabytes:g}), {retries} retries"
        )
    print(f"{text}, ran out {ran_out} times", flush=True)
    header = ["job", "settings", "budget", "strategy", "epochs", "ran_out", "allocated", "reserved", "share", "retries"]
    write(args.out / "memory-epochs.csv", header, [row])


def write(path: Path, header: list[str], rows: list[list]) -> None:
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(header)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
