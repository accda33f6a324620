"""Times training steps of the laboratory's engine on a GPU, and PyTorch's with cuDNN beside it.

Both train a stack of two BLSTM layers with Adam, in f32 without TF32, on the same shapes, by turns in one
run. A step is everything from the input on this machine to the updated parameters, and reads the loss.

    cd lab
    cargo build --release -p lengthwise-nn --example device
    python3 benches/gpu/compare.py target/release/examples/device --out benches/gpu/runs/NAME
"""

import argparse
import csv
import pathlib
import statistics
import subprocess
import sys
import time

import torch

INPUTS, CLASSES = 16, 64
SHAPES = [
    # Steps, rows, units, and whether the lengths are mixed.
    (100, 16, 128, False),
    (400, 16, 128, False),
    (400, 64, 128, False),
    (400, 16, 512, False),
    (400, 64, 256, False),
    (200, 32, 48, False),
    (400, 16, 128, True),
    (400, 64, 256, True),
]


class Torch:
    """PyTorch's step for one shape; mixed lengths either packed or padded."""

    def __init__(self, steps, rows, units, mixed, packed):
        torch.manual_seed(0)
        self.lstm = torch.nn.LSTM(INPUTS, units, num_layers=2, bidirectional=True).cuda()
        self.head = torch.nn.Linear(2 * units, CLASSES).cuda()
        parameters = [*self.lstm.parameters(), *self.head.parameters()]
        self.adam = torch.optim.Adam(parameters, lr=1e-3, fused=True)
        self.x = torch.randn(steps, rows, INPUTS).pin_memory()
        shorter = steps * 9 // 10
        self.lengths = torch.tensor(
            [steps - (shorter * row // (rows - 1) if mixed else 0) for row in range(rows)]
        )
        labels = torch.arange(steps * rows).view(steps, rows) % CLASSES
        labels[torch.arange(steps)[:, None] >= self.lengths] = -100
        self.labels = labels.pin_memory()
        self.packed = packed

    def step(self):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        x, labels = self.x.cuda(non_blocking=True), self.labels.cuda(non_blocking=True)
        if self.packed:
            x = torch.nn.utils.rnn.pack_padded_sequence(x, self.lengths)
        y, _ = self.lstm(x)
        if self.packed:
            y, _ = torch.nn.utils.rnn.pad_packed_sequence(y)
        loss = torch.nn.functional.cross_entropy(self.head(y).flatten(0, 1), labels.flatten())
        self.adam.zero_grad(set_to_none=True)
        loss.backward()
        self.adam.step()
        loss.item()
        torch.cuda.synchronize()
        return 1e3 * (time.perf_counter() - begin)


class Ours:
    """The example `device`, which stays up and gets one line for each measurement."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program, "cuda"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        self.name = self.process.stdout.readline().strip()

    def ask(self, *words):
        self.process.stdin.write(" ".join(str(word) for word in words) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if not answer:
            sys.exit("the example has ended")
        return answer


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    ours = Ours(arguments.program)
    print(f"{ours.name}; PyTorch {torch.__version__}, cuDNN {torch.backends.cudnn.version()}")
    print("| steps | rows | units | lengths | ours, ms | cuDNN, ms | ratio | ours, MiB | cuDNN, MiB |")
    print("|--:|--:|--:|---|--:|--:|--:|--:|--:|")
    rows_of_csv = []
    for steps, rows, units, mixed in SHAPES:
        kinds = [("padded", False), ("packed", True)] if mixed else [("equal", False)]
        for name, packed in kinds:
            theirs = Torch(steps, rows, units, mixed, packed)
            kind = "mixed" if mixed else "equal"
            repeats = 10 if units > 256 or packed else 20
            ours.ask(steps, rows, units, 5, kind)
            for _ in range(5):
                theirs.step()
            torch.cuda.reset_peak_memory_stats()
            own_times, their_times = [], []
            for _ in range(arguments.rounds):
                median, _, _, peak, *_ = ours.ask(steps, rows, units, repeats, kind)
                own_times.append(float(median))
                theirs.step()
                their_times.append(statistics.median(theirs.step() for _ in range(repeats)))
            own, their = statistics.median(own_times), statistics.median(their_times)
            lengths = "equal" if not mixed else f"mixed, {name}"
            mib = [int(peak) / 2**20, torch.cuda.max_memory_allocated() / 2**20]
            print(
                f"| {steps} | {rows} | {units} | {lengths} | {own:.2f} | {their:.2f} "
                f"| {own / their:.2f} | {mib[0]:.0f} | {mib[1]:.0f} |",
                flush=True,
            )
            for round_, pair in enumerate(zip(own_times, their_times)):
                rows_of_csv.append([steps, rows, units, lengths, round_, *pair])
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with open(arguments.out / "steps.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["steps", "rows", "units", "lengths", "round", "ours_ms", "cudnn_ms"])
            writer.writerows(rows_of_csv)


if __name__ == "__main__":
    main()
