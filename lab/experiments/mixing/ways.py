"""Optimizer steps that differ in nothing but how freely they change between epochs, or in their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations, zip_longest
from typing import Any

import lengthwise as lw
import numpy as np

Step = list[np.ndarray]


def proportional(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> list[Step]:
    """The same proportional steps in every epoch, in which a share of the sequences changes places.

    A sequence only takes the place of another one of the same stratum, so padding and step mix stay what they are.
    The share is such that the steps mix as freely as `mixing` says; 0 changes nothing.
    """
    planner = lw.Planner(
        lengths, "proportional:batches=8", budget=settings["budget"], update=settings["update"], seed=seed
    )
    schedule = planner.plan(0).schedule(1)
    batches = [np.array(batch) for batch in schedule.for_rank(0)]
    each = schedule.accumulate
    share = share_for(settings["mixing"], [np.concatenate(batches[at : at + each]) for at in range(0, len(batches), each)])
    rng = np.random.default_rng([seed, epoch])
    for stratum in range(each):
        sizes = [len(batch) for batch in batches[stratum::each]]
        sequences = np.concatenate(batches[stratum::each])
        moved = rng.permutation(len(sequences))[: round(share * len(sequences))]
        sequences[moved] = sequences[rng.permutation(moved)]
        batches[stratum::each] = np.split(sequences, np.cumsum(sizes)[:-1])
    steps = [[batch for batch in batches[at : at + each] if len(batch)] for at in range(0, len(batches), each)]
    return ordered(steps, lengths, rng, settings["order"])


def share_for(mixing: float, steps: Sequence[np.ndarray]) -> float:
    """How many sequences must change places for this mixing.

    Two sequences that share a step share it in another epoch if neither changed places in the one or the other, or by
    chance, as under random shuffling.
    """
    if not mixing:
        return 0.0
    sizes = np.array([len(step) for step in steps])
    total = sizes.sum()
    chance = (sizes * (sizes - 1)).sum() / (total * (total - 1))
    repeats = min(chance / mixing, 1.0)
    return float(1 - max((repeats - chance) / (1 - chance), 0) ** 0.25)


def one_length(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> list[Step]:
    """Steps of one batch, whose sequences have about the same length: the same steps for every `order`.

    With `same`, the batches of all epochs are those of the first.
    """
    planned = 0 if settings.get("same") else epoch
    order = settings["order"]
    planner = lw.Planner(
        lengths,
        "shuffled",
        budget=settings["budget"],
        shapes=settings["shapes"],
        arrange="spread" if order == "spread" else "as-built",
        seed=seed,
    )
    steps = [[np.array(batch)] for batch in planner.plan(planned)]
    return steps if order == "spread" else ordered(steps, lengths, np.random.default_rng([seed, epoch]), order)


def ordered(steps: list[Step], lengths: np.ndarray, rng: np.random.Generator, order: str) -> list[Step]:
    """Steps in another order; those of equal mean length at random."""
    shuffled = [steps[at] for at in rng.permutation(len(steps))]
    if order == "shuffled":
        return shuffled
    rising = sorted(shuffled, key=lambda step: float(lengths[np.concatenate(step)].mean()))
    return ORDERS[order](rising, rng)


def alternating(rising: list[Step], rng: np.random.Generator) -> list[Step]:
    """In turn one of the shorter half and one of the longer half, each at random."""
    half = len(rising) // 2
    parts = ([part[at] for at in rng.permutation(len(part))] for part in (rising[half:], rising[:half]))
    longer, shorter = parts
    return [step for pair in zip_longest(shorter, longer) for step in pair if step is not None]


def cycles(rising: list[Step], rng: np.random.Generator, count: int = 4) -> list[Step]:
    """From short to long several times in an epoch."""
    return [step for first in range(count) for step in rising[first::count]]


ORDERS: dict[str, Callable[[list[Step], np.random.Generator], list[Step]]] = {
    "short-first": lambda rising, rng: rising,
    "long-first": lambda rising, rng: rising[::-1],
    "alternating": alternating,
    "cycles": cycles,
}


def mixing(epochs: Sequence[Sequence[np.ndarray]]) -> float:
    """How freely the sequences of a batch, or of a step, change between epochs: per pair, as `lengthwise.mixing` counts."""
    total = sum(map(len, epochs[0]))
    labels = np.empty((len(epochs), total), dtype=np.int64)
    pairs = []
    for epoch, batches in zip(labels, epochs, strict=True):
        for at, batch in enumerate(batches):
            epoch[batch] = at
        pairs.append(sum(len(batch) * (len(batch) - 1) / 2 for batch in batches))
    expected = repeated = 0.0
    for one, other in combinations(range(len(epochs)), 2):
        expected += pairs[one] * pairs[other] / (total * (total - 1) / 2)
        _, both = np.unique(labels[one] * len(epochs[other]) + labels[other], return_counts=True)
        repeated += float((both * (both - 1) / 2).sum())
    return min(expected / repeated, 1.0) if repeated else 1.0
