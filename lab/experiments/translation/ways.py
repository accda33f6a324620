"""Ways to divide an epoch into optimizer steps that are not lengthwise's, or that it plans by one number."""

from __future__ import annotations

from typing import Any

import lengthwise as lw
import numpy as np

Steps = list[list[np.ndarray]]


def grouped(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> Steps:
    """As `group_by_length` of transformers: random parts of 50 batches, each sorted by the source, the longest first."""
    size = settings["size"]
    order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
    parts = np.array_split(order, range(50 * size, len(order), 50 * size))
    order = np.concatenate([part[np.argsort(-lengths[part, 0], kind="stable")] for part in parts])
    return [[batch] for batch in np.array_split(order, range(size, len(order), size))]


def fairseq(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> Steps:
    """As fairseq: sorted by source and target, ties at random, cut where a side would exceed `tokens` with its padding,
    sizes in multiples of 8; the batches of all epochs are the same, in an order that is new."""
    tokens = settings["tokens"]
    order = np.random.default_rng(seed).permutation(len(lengths))
    for side in (1, 0):
        order = order[np.argsort(lengths[order, side], kind="stable")]
    batches, start = [], 0
    while start < len(order):
        longest = np.maximum.accumulate(lengths[order[start : start + tokens]].max(1))
        sizes = np.arange(1, len(longest) + 1)
        size = max(int((sizes * longest <= tokens).sum()), 1)
        if start + size < len(order) and size >= 8:
            size -= size % 8
        batches.append(order[start : start + size])
        start += size
    turn = np.random.default_rng([seed, epoch]).permutation(len(batches))
    return [[batches[at]] for at in turn]


def rows(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> Steps:
    """Packed rows: a row of all sources and one of all targets, of `capacity` tokens together."""
    plan = lw.Planner(lengths.sum(1), f"packed:capacity={settings['capacity']}", seed=seed).plan(epoch)
    return [[np.asarray(row)] for row in plan]
