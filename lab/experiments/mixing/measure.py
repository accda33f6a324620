"""Prints how freely steps and batches mix in each run of tags.toml and words.toml: python measure.py FOLDER"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import numpy as np
import model
import ways

EXPERIMENT = tomllib.loads((Path(__file__).parent / "tags.toml").read_text(encoding="utf-8"))


def measured(run: dict, lengths: np.ndarray, seed: int, epochs: int) -> tuple[float, float]:
    """The mixing of the steps and that of the micro-batches of a run."""
    sampler = getattr(ways, run["sampler"].removeprefix("ways:"))
    settings = {**EXPERIMENT["batches"], **run, **run["options"]}
    every = [sampler(lengths, epoch, seed, settings) for epoch in range(epochs)]
    steps = [[np.concatenate(step) for step in epoch] for epoch in every]
    return ways.mixing(steps), ways.mixing([[batch for step in epoch for batch in step] for epoch in every])


def main() -> None:
    data = sys.argv[1] if len(sys.argv) > 1 else None
    task = model.build({**EXPERIMENT["model"], "data": data})
    print(f"{'run':30}{'mixing of steps':>18}{'of batches':>12}")
    for run in EXPERIMENT["run"]:
        found = [measured(run, task.lengths, seed, EXPERIMENT["epochs"]) for seed in (1, 2)]
        of_steps, of_batches = np.mean(found, axis=0)
        print(f"{run['name']:30}{of_steps:>17.1%} {of_batches:>11.1%}")


if __name__ == "__main__":
    main()
