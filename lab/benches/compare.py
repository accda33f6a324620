"""Times a training step of `lengthwise-nn` and of PyTorch, one after the other, on this processor.

    python compare.py [--rounds 7] [--seconds 3] [--threads 2] [--only T/B/H]
    python compare.py --padding [--rounds 7]

With `--padding`, it times `lengthwise-nn` alone, with rows of unequal and of equal lengths.

Each round runs every shape with both, each in a process of its own. What counts is the ratio of each
round; absolute times depend on what else runs on the machine. Prints a table in Markdown.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

LAB = pathlib.Path(__file__).resolve().parents[1]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", LAB / "target"))
SPEED = TARGET / "release" / "examples" / "speed"
# Steps, rows, units, and the length of the shortest row; rows are evenly long between.
SHAPES = [
    (100, 16, 64, 100),
    (100, 16, 128, 100),
    (400, 16, 128, 400),
    (400, 16, 128, 40),
    (100, 16, 256, 100),
    (100, 16, 512, 100),
]


def lengths(steps, rows, shortest):
    return [steps - (steps - shortest) * row // max(rows - 1, 1) for row in range(rows)]


def torch_step(steps, rows, units, shortest, packed, threads):
    """A function that takes one step with PyTorch."""
    import torch

    torch.set_num_threads(threads)
    # Otherwise gradients that fade over padding make PyTorch several times slower.
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    inputs, classes = 16, 64
    lstm = torch.nn.LSTM(inputs, units, num_layers=2, bidirectional=True)
    head = torch.nn.Linear(2 * units, classes)
    optimizer = torch.optim.Adam([*lstm.parameters(), *head.parameters()])
    x = torch.randn(steps, rows, inputs)
    of = torch.tensor(lengths(steps, rows, shortest))
    labels = torch.randint(0, classes, (steps, rows))
    labels[torch.arange(steps)[:, None] >= of] = -100
    labels = labels.flatten()
    rnn = torch.nn.utils.rnn

    def step():
        optimizer.zero_grad()
        if packed:
            y = rnn.pad_packed_sequence(lstm(rnn.pack_padded_sequence(x, of))[0])[0]
        else:
            y = lstm(x)[0]
        scores = head(y).reshape(-1, classes)
        torch.nn.functional.cross_entropy(scores, labels).backward()
        optimizer.step()

    return step


def run_torch(shape, packed, repeats, threads):
    step = torch_step(*shape, packed, threads)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        step()
        times.append(1e3 * (time.perf_counter() - start))
    print(statistics.median(times), min(times))


def measured(command, threads):
    env = {**os.environ, "RAYON_NUM_THREADS": str(threads)}
    done = subprocess.run(command, env=env, check=True, capture_output=True, text=True)
    median, least = map(float, done.stdout.split())
    return median, least


def compare(rounds, seconds, threads, only):
    cases = []
    for shape in SHAPES:
        mixed = shape[3] < shape[0]
        if only in (None, "/".join(map(str, shape[:3]))):
            cases += [(shape, packed) for packed in ([False, True] if mixed else [False])]
    found = {case: [] for case in cases}
    for round_ in range(rounds):
        for case in cases:
            shape, packed = case
            steps, rows, units, shortest = shape
            # What a step costs grows with the multiplications.
            guess = steps * rows * units * (9 * units + 300) * (5 if packed else 1) / 5e9
            repeats = max(5, min(200, int(seconds / guess)))
            ours = [SPEED, *map(str, [steps, rows, units, repeats, shortest])]
            theirs = [sys.executable, __file__, "--torch", str(int(packed)), str(repeats)]
            theirs += ["--shape", *map(str, shape), "--threads", str(threads)]
            commands = [ours, theirs] if round_ % 2 == 0 else [theirs, ours]
            times = {id(command): measured(command, threads) for command in commands}
            found[case].append((times[id(ours)], times[id(theirs)]))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print("| steps / rows / units | lengths | ours, ms | PyTorch, ms | ratio | rounds | of the least |")
    print("|---|---|--:|--:|--:|---|--:|")
    for (shape, packed), times in found.items():
        steps, rows, units, shortest = shape
        ratios = [ours[0] / theirs[0] for ours, theirs in times]
        ours, theirs = (statistics.median(median for median, _ in of) for of in zip(*times))
        least = min(ours[1] for ours, _ in times) / min(theirs[1] for _, theirs in times)
        kind = f"{steps} to {shortest}" if shortest < steps else "equal"
        kind += ", PyTorch packed" if packed else ", PyTorch padded" if shortest < steps else ""
        print(
            f"| {steps} / {rows} / {units} | {kind} | {ours:.1f} | {theirs:.1f} "
            f"| **{statistics.median(ratios):.2f}** | {min(ratios):.2f} to {max(ratios):.2f} "
            f"| {least:.2f} |"
        )


def processor_time(shape, repeats):
    """The processor's time of a step of ours with one thread, in milliseconds: others disturb it less than the clock."""
    steps, rows, units, shortest = shape
    command = [SPEED, *map(str, [steps, rows, units, repeats, shortest])]
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    measured(command, threads=1)
    return 1e3 * (resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before) / repeats


def padding(rounds, repeats=8):
    found = {shape: [] for shape in SHAPES if shape[3] < shape[0]}
    for round_ in range(rounds):
        for shape in found:
            equal = (*shape[:3], shape[0])
            pair = [shape, equal] if round_ % 2 == 0 else [equal, shape]
            times = {of: processor_time(of, repeats) for of in pair}
            found[shape].append((times[shape], times[equal]))
            print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    print("| steps / rows / units | lengths | positions | unequal, ms | equal, ms | ratio | rounds |")
    print("|---|---|--:|--:|--:|--:|---|")
    for (steps, rows, units, shortest), times in found.items():
        ratios = [unequal / equal for unequal, equal in times]
        unequal, equal = (statistics.median(of) for of in zip(*times))
        share = sum(lengths(steps, rows, shortest)) / (steps * rows)
        print(
            f"| {steps} / {rows} / {units} | {steps} to {shortest} | {share:.2f} | {unequal:.0f} | {equal:.0f} "
            f"| **{statistics.median(ratios):.2f}** | {min(ratios):.2f} to {max(ratios):.2f} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=3, help="of each run, about")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", metavar="T/B/H", help="one shape")
    parser.add_argument("--padding", action="store_true", help="unequal against equal lengths, without PyTorch")
    parser.add_argument("--torch", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--shape", nargs=4, type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.torch:
        packed, repeats = given.torch
        run_torch(given.shape, bool(packed), repeats, given.threads)
        return
    if not SPEED.exists():
        sys.exit("build it first, in lab/: cargo build --release -p lengthwise-nn --example speed")
    if given.padding:
        padding(given.rounds)
        return
    compare(given.rounds, given.seconds, given.threads, given.only)


if __name__ == "__main__":
    main()
