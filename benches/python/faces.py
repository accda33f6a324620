"""What planning takes from Python and with the command, and NumPy's key and argsort: `faces.py LENGTHS.npy COMMAND`.

`cargo run --release -- --faces` runs this in turns with Rust, and makes one table of all. Prints nanoseconds as JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

# One core for everything: planning uses as many threads as there are cores.
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

import lengthwise as lw
import numpy as np
from lengthwise.torch import BatchSampler

EPOCHS = 5


def main() -> None:
    path, command = sys.argv[1:]
    numbers = np.load(path)
    budget = f"padded:{64 * int(numbers.max())}"
    usual = {"strategy": "blurred:blur=0.02", "budget": budget, "shapes": "ladder:16"}
    times = {"numpy": by_numpy(numbers)}
    times["python_first"], times["python_later"] = by_planner(numbers, usual)
    times["sampler_later"] = by_sampler(numbers, usual)
    times["default_first"], times["default_later"] = by_planner(numbers, {"budget": budget})
    times["command_first"] = by_command(command, path, usual)
    print(json.dumps(times))


def timed(work: Callable[[], object]) -> int:
    start = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - start


def by_numpy(numbers: np.ndarray) -> int:
    """Noisy keys and their order, and nothing else."""
    scale = np.sqrt(np.arange(numbers.max() + 1.0))
    scale /= scale[-1]
    random = np.random.default_rng(0)

    def sort() -> None:
        keys = scale[numbers]
        keys += random.exponential(0.02, numbers.size)
        np.argsort(keys)

    return min(timed(sort) for _ in range(3))


def by_planner(numbers: np.ndarray, settings: dict[str, Any]) -> tuple[int, int]:
    """The first epoch, and the fastest later one. A plan is dropped when the next one is there, as in a loop."""
    planner = lw.Planner(lw.Lengths(numbers), **settings)
    plan = None

    def make(epoch: int) -> None:
        nonlocal plan
        plan = planner.plan(epoch)

    first, *later = (timed(lambda: make(epoch)) for epoch in range(EPOCHS))
    return first, min(later)


def by_sampler(numbers: np.ndarray, settings: dict[str, Any]) -> int:
    """The fastest later epoch up to its first batch as a list. The first epoch is planned with the sampler."""
    sampler = BatchSampler(lw.Lengths(numbers), rank=0, world_size=1, **settings)

    def begin(epoch: int) -> None:
        sampler.set_epoch(epoch)
        next(iter(sampler))

    begin(0)
    return min(timed(lambda: begin(epoch)) for epoch in range(1, EPOCHS))


def by_command(command: str, path: str, settings: dict[str, Any]) -> int:
    """What the command says that planning took: reading the lengths and measuring the plan are not part of it."""
    options = [f"--{name}={value}" for name, value in settings.items()]
    done = subprocess.run(
        [command, "compare", path, *options, "--epochs=1", "--json"], stdout=subprocess.PIPE, check=True
    )
    return int(1e9 * json.loads(done.stdout)["rows"][0]["plan_seconds"])


if __name__ == "__main__":
    main()
