"""What planning costs from Python, against Rust: `python3 overhead.py path/to/lengthwise`.

Both plan a million lengths for a few epochs, in turns, and the best of each counts: the command says
what planning alone took, and Python measures the whole call, from an array to batches as arrays.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import lengthwise as lw
import numpy as np

STRATEGIES = ["shuffled", "blurred:blur=0.02", "semi-sorted:noise=0.1"]
BUDGET, EPOCHS, TURNS = "padded:20000", 3, 5


def main() -> None:
    command = sys.argv[1]
    lengths = np.random.default_rng(0).lognormal(5.5, 0.6, 1_000_000).astype(np.int64) + 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "lengths.npy"
        np.save(path, lengths)
        print(f"{'strategy':24}{'rust ms':>9}{'python ms':>11}{'ratio':>8}")
        for strategy in STRATEGIES:
            rust, python = [], []
            for _ in range(TURNS):
                rust.append(by_command(command, path, strategy))
                python.append(by_package(lengths, strategy))
            best = [1e3 * min(times) for times in (rust, python)]
            print(f"{strategy:24}{best[0]:>9.1f}{best[1]:>11.1f}{best[1] / best[0]:>8.3f}")


def by_command(command: str, path: Path, strategy: str) -> float:
    options = ["--strategy", strategy, "--budget", BUDGET, "--epochs", str(EPOCHS), "--json"]
    done = subprocess.run([command, "compare", path, *options], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["rows"][0]["plan_seconds"]


def by_package(lengths: np.ndarray, strategy: str) -> float:
    """As the command does: plan an epoch for one rank, and return the indices as an array."""
    start = time.perf_counter()
    planner = lw.Planner(lengths, strategy, budget=BUDGET)
    for epoch in range(EPOCHS):
        plan = planner.plan(epoch)
        plan.schedule(1)
        plan.indices
    return (time.perf_counter() - start) / EPOCHS


if __name__ == "__main__":
    main()
