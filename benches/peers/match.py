"""Which of our settings are as fresh as a peer, and pad the least of those."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import lengthwise as lw
import numpy as np
from judge import Batches, judge

EPOCHS = 3
# Two that do the same differ by so much.
CHANCE = 0.01
# Padding that differs by less is alike.
ALIKE = 0.05
# Sixteen to an octave.
BLURS = [0.0002 * 2 ** (step / 16) for step in range(192)]
POOLS = sorted({round(2 ** (step / 16)) for step in range(16, 225)}, reverse=True)
WINDOWS = [2**step for step in range(31, -1, -1)]
RUNGS = [256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2]


def families(kind: str, limit: int) -> list[list[dict[str, str]]]:
    """Our ways to trade padding for mixing, each from the least mixing to the most."""
    if kind == "packed":
        names = [f"packed:capacity={limit},window={window}" for window in WINDOWS]
        return [[{"strategy": name} for name in names]]
    exact = {"shapes": "exact"}
    blurred = [f"blurred:blur={blur:.4g}" for blur in BLURS]
    found = [
        [{"strategy": name, **exact} for name in ("sorted", *blurred, "shuffled")],
        [{"strategy": f"pooled:batches={pool}", **exact} for pool in POOLS],
    ]
    if kind == "padded":
        found.append([{"strategy": "shuffled", "shapes": f"ladder:{rungs}"} for rungs in RUNGS])
    return found


def limited(kind: str, limit: int) -> dict[str, str]:
    """Our settings for the same limit."""
    match kind:
        case "packed":
            return {"over_long": "truncate"}
        case _:
            return {"budget": f"{kind}:{limit}"}


class Matches:
    """Our plans of some lengths under one limit."""

    def __init__(self, lengths: np.ndarray, kind: str, limit: int) -> None:
        self.lengths, self.kind, self.limit = lw.Lengths(lengths), kind, limit
        self.array = lengths
        self.known: dict[str, dict[str, Any]] = {}

    def found(self, settings: dict[str, str]) -> dict[str, Any]:
        """What the judge says of some settings."""
        name = str(settings)
        if name not in self.known:
            planner = lw.Planner(self.lengths, **settings, **limited(self.kind, self.limit))
            plans = [planner.plan(epoch) for epoch in range(EPOCHS)]
            epochs = [Batches(plan.indices, plan.ends, plan.batch_lengths) for plan in plans]
            self.known[name] = judge(epochs, self.array, kind=self.kind, limit=self.limit)
            agree(self.known[name], plans, packed=self.kind == "packed")
        return self.known[name]

    def for_peer(self, peer: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """What mixes as much per pair, and what mixes as much per sequence; one if it is the same.

        With batches of different sizes the measures differ: a large batch of short sequences has most
        of the pairs, while every sequence counts once per sequence.
        """
        limit = limited(self.kind, self.limit)
        # Twice the standard deviation of as many pairs as have met again.
        chance = max(CHANCE, 2 / max(1, peer["met_again"] * peer["pairs"]) ** 0.5)

        def by_pairs(found: dict[str, Any]) -> bool:
            return found["met_again"] <= peer["met_again"] * (1 + chance)

        def by_mates(found: dict[str, Any]) -> bool:
            return found["effective_mates"] >= peer["effective_mates"] * (1 - chance)

        pairs, mates = self.best(by_pairs), self.best(by_mates)
        if pairs == mates:
            return [("", {**pairs, **limit})]
        for one in (pairs, mates):
            if by_pairs(self.found(one)) and by_mates(self.found(one)):
                other = mates if one is pairs else pairs
                if self.close(one, other):
                    return [("", {**one, **limit})]
        return [("by pairs", {**pairs, **limit}), ("by sequences", {**mates, **limit})]

    def close(self, one: dict[str, str], other: dict[str, str]) -> bool:
        """Whether one pads hardly more than the other."""
        return self.found(one)["padding"] <= (1 + ALIKE) * self.found(other)["padding"]

    def best(self, fresh: Callable[[dict[str, Any]], bool]) -> dict[str, str]:
        """What pads least of the first of each family that mixes enough; shuffled if none does."""
        firsts = [self.first(family, fresh) for family in families(self.kind, self.limit)]
        enough = [settings for settings in firsts if fresh(self.found(settings))]
        best = (enough or firsts)[0]
        for settings in enough[1:]:
            # Where two are alike, the first family is the one.
            if self.found(settings)["padding"] < (1 - ALIKE) * self.found(best)["padding"]:
                best = settings
        return best

    def first(self, family: list[dict[str, str]], fresh: Callable[[dict[str, Any]], bool]) -> Any:
        """The first of a family that mixes enough; the last if none does."""
        low, high = 0, len(family) - 1
        while low < high:
            middle = (low + high) // 2
            if fresh(self.found(family[middle])):
                high = middle
            else:
                low = middle + 1
        return family[low]


def agree(found: dict[str, Any], plans: list[lw.Plan], *, packed: bool) -> None:
    """The judge and lengthwise must say the same of the same plans.

    But for the padding of rows, which the judge counts up to their capacity.
    """
    padding = np.mean([plan.measure().padding_rate for plan in plans])
    mates = lw.effective_mates(plans)
    alike = packed or np.isclose(padding, found["padding"])
    if not alike or not np.isclose(mates, found["effective_mates"]):
        raise RuntimeError(
            f"the judge says {found['padding']} padding and {found['effective_mates']} effective "
            f"mates of plans of which lengthwise says {padding} and {mates}"
        )
