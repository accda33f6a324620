"""Ways to divide an epoch into optimizer steps that are not lengthwise's, and how alike steps are."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

Step = list[np.ndarray]


def accumulated(batches: Iterable[np.ndarray], lengths: np.ndarray, update: str) -> list[Step]:
    """Batches in their order, as many to a step as come nearest to `update`, such as "tokens:29000"."""
    wanted = float(update.removeprefix("tokens:"))
    steps: list[Step] = []
    step: Step = []
    tokens = 0.0
    for batch in batches:
        more = float(lengths[batch].sum())
        if step and abs(tokens + more - wanted) > abs(tokens - wanted):
            steps.append(step)
            step, tokens = [], 0.0
        step.append(batch)
        tokens += more
    return [*steps, step] if step else steps


def random(lengths: np.ndarray, epoch: int, seed: int, settings: dict) -> list[Step]:
    """Random batches of `size` sequences, accumulated."""
    order, size = np.random.default_rng([seed, epoch]).permutation(len(lengths)), settings["size"]
    return accumulated(np.array_split(order, range(size, len(order), size)), lengths, settings["update"])


def grouped(lengths: np.ndarray, epoch: int, seed: int, settings: dict) -> list[Step]:
    """As `LengthGroupedSampler` of transformers: random parts of 50 batches, each sorted, the longest first."""
    order, size = np.random.default_rng([seed, epoch]).permutation(len(lengths)), settings["size"]
    parts = np.array_split(order, range(50 * size, len(order), 50 * size))
    order = np.concatenate([part[np.argsort(-lengths[part], kind="stable")] for part in parts])
    return accumulated(np.array_split(order, range(size, len(order), size)), lengths, settings["update"])


def mixes(steps: list[list[np.ndarray]], lengths: np.ndarray) -> dict[str, float]:
    """Variance of the steps' composition against random sampling of as many sequences: 1 = as random."""
    members = [np.concatenate(step) for step in steps]
    total = len(lengths)
    logs = np.log(lengths)
    quarter = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths, side="right")
    order = np.argsort(lengths, kind="stable")
    share = np.cumsum(lengths[order]) / lengths.sum()
    heavy = np.empty(total, dtype=int)
    heavy[order] = np.minimum((share * 4).astype(int), 3)
    result = {}
    for name in ("log", "quarters", "token log", "token quarters"):
        token = name.startswith("token")
        x = (logs[:, None] if name.endswith("log") else np.eye(4)[heavy if token else quarter])
        w = lengths.astype(float) if token else np.ones(total)
        mean = (w[:, None] * x).sum(0) / w.sum()
        residual = w[:, None] * (x - mean) / w.mean()
        expected = residual.var(0).sum()
        seen = [
            len(m) * ((residual[m].sum(0) / (w[m].sum() / w.mean())) ** 2).sum() / (1 - len(m) / total)
            for m in members if len(m) < total
        ]
        result[name] = float(np.average(seen, weights=[len(m) for m in members]) / expected)
    return result
