#!/usr/bin/env python3
"""Measures how long training steps take, for `lengthwise cost`.

A step is forward, backward and optimizer. Two models are measured over a grid of batch sizes and
batch lengths: `encoder`, a Transformer, and `recurrent`, a bidirectional LSTM. Needs PyTorch.

    python3 measure_steps.py --out runs/my-machine
    lengthwise cost runs/my-machine/encoder.csv
"""

import argparse
import csv
import platform
import statistics
import sys
import time
from pathlib import Path

SIZES = (1, 4, 8, 16, 32, 64, 128, 256)
LENGTHS = (50, 100, 200, 400, 800, 1600)
MOST_CELLS = 64 * 1600
WARM_UP, TIMED = 3, 10
INPUTS, CLASSES = 80, 512  # features of a frame, and what a frame is classified as
COLUMNS = ("model", "batch_size", "batch_length", "seconds", "min_seconds")
SETTINGS = {
    "encoder": "12 layers, pre-norm, width 512, 8 heads, feed-forward 2048, SDPA, bf16 autocast",
    "recurrent": "3 layers, bidirectional LSTM, hidden 512, fp32 (TF32 where the GPU has it)",
}


def grid():
    """All shapes, the largest first: the allocator then has its memory before the small ones."""
    shapes = [(size, length) for size in SIZES for length in LENGTHS]
    shapes = [shape for shape in shapes if shape[0] * shape[1] <= MOST_CELLS]
    return sorted(shapes, key=lambda shape: (-shape[0] * shape[1], shape))


def summary(name, size, length, times):
    """A row of the table."""
    middle, least = statistics.median(times), min(times)
    return (name, size, length, f"{middle:.9f}", f"{least:.9f}")


def write(path, rows):
    """Writes the rows as CSV, small shapes first."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows(sorted(rows, key=lambda row: row[1:3]))


def build(torch, name):
    """The model: features in, one score per class and frame out."""
    nn = torch.nn

    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter = nn.Linear(INPUTS, 512)
            layer = nn.TransformerEncoderLayer(
                512, 8, 2048, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.layers = nn.TransformerEncoder(
                layer, 12, norm=nn.LayerNorm(512), enable_nested_tensor=False
            )
            self.leave = nn.Linear(512, CLASSES)

        def forward(self, frames):
            return self.leave(self.layers(self.enter(frames)))

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.LSTM(INPUTS, 512, 3, batch_first=True, bidirectional=True)
            self.leave = nn.Linear(2 * 512, CLASSES)

        def forward(self, frames):
            return self.leave(self.layers(frames)[0])

    return {"encoder": Encoder, "recurrent": Recurrent}[name]()


class Trainer:
    """One model and its optimizer on one device."""

    def __init__(self, torch, name, device):
        self.torch, self.device = torch, device
        self.model = build(torch, name).to(device).train()
        on_gpu = device.type == "cuda"
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=on_gpu)
        self.bf16 = name == "encoder"

    def step(self, frames, labels):
        torch = self.torch
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=self.bf16):
            scores = self.model(frames)
            loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
        loss.backward()
        self.optimizer.step()

    def times(self, size, length):
        """The seconds of each timed step at one shape."""
        torch, device = self.torch, self.device
        frames = torch.randn(size, length, INPUTS, device=device)
        labels = torch.randint(CLASSES, (size, length), device=device)
        for _ in range(WARM_UP):
            self.step(frames, labels)
        if device.type != "cuda":
            return [self.on_clock(frames, labels) for _ in range(TIMED)]
        torch.cuda.synchronize(device)
        return [self.on_events(frames, labels) for _ in range(TIMED)]

    def on_clock(self, frames, labels):
        start = time.perf_counter()
        self.step(frames, labels)
        return time.perf_counter() - start

    def on_events(self, frames, labels):
        # Each step waits for the one before, so that launching it counts, as it does in training
        # with a small batch.
        start, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        self.step(frames, labels)
        end.record()
        end.synchronize()
        return start.elapsed_time(end) / 1e3


def measure(torch, name, device):
    """Measures every shape that fits the memory."""
    trainer, rows, shapes = Trainer(torch, name, device), [], grid()
    for number, (size, length) in enumerate(shapes, 1):
        try:
            row = summary(name, size, length, trainer.times(size, length))
        except torch.cuda.OutOfMemoryError:
            row = None
        if row is None:  # outside of `except`, whose traceback would keep the memory alive
            torch.cuda.empty_cache()
        else:
            rows.append(row)
        said = "out of memory" if row is None else f"{1e3 * float(row[3]):.3f} ms"
        print(f"{name} {number}/{len(shapes)}: {size} x {length}: {said}", flush=True)
    return rows


def machine(torch, device):
    """What the times depend on; nothing that names a machine or a person."""
    on_gpu = device.type == "cuda"
    lines = [
        f"device: {torch.cuda.get_device_name(device) if on_gpu else 'CPU ' + platform.machine()}",
        f"torch: {torch.__version__}",
        f"cuda: {torch.version.cuda if on_gpu else 'none'}",
        f"cudnn: {torch.backends.cudnn.version() if on_gpu else 'none'}",
        f"python: {platform.python_version()}",
        f"steps: {WARM_UP} to warm up each shape, then the median of {TIMED}",
        f"optimizer: AdamW{', fused' if on_gpu else ''}",
        f"inputs: {INPUTS} features a frame, {CLASSES} classes",
        *(f"{name}: {text}" for name, text in SETTINGS.items()),
    ]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--out", type=Path, default=Path("steps"), help="folder for the tables")
    parser.add_argument("--device", help="cuda or cpu [default: cuda if there is one]")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        sys.exit("error: PyTorch is not installed\n\nhint: pip install torch")
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "machine.txt").write_text(machine(torch, device), encoding="utf-8")
    start = time.perf_counter()
    for name in SETTINGS:
        write(arguments.out / f"{name}.csv", measure(torch, name, device))
    print(f"done in {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
