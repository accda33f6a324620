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
# Four to an octave.
SPREADS = [0.0002 * 2 ** (step / 4) for step in range(48)]


def limited(kind: str, limit: int) -> dict[str, str]:
    """Our settings for the same limit."""
    match kind:
        case "packed":
            return {"strategy": f"packed:capacity={limit}", "over_long": "truncate"}
        case _:
            return {"budget": f"{kind}:{limit}"}


class Matches:
    """Our plans of some lengths under one limit, from sorted to shuffled."""

    def __init__(self, lengths: np.ndarray, kind: str, limit: int) -> None:
        self.lengths, self.kind, self.limit = lw.Lengths(lengths), kind, limit
        self.array = lengths
        blurred = [f"blurred:spread={spread:.4g}" for spread in SPREADS]
        self.strategies = ["sorted", *blurred, "shuffled"]
        self.known: dict[str, dict[str, Any]] = {}

    def found(self, strategy: str) -> dict[str, Any]:
        """What the judge says of it."""
        if strategy not in self.known:
            planner = lw.Planner(self.lengths, **self.settings(strategy))
            plans = [planner.plan(epoch) for epoch in range(EPOCHS)]
            epochs = [Batches(plan.indices, plan.ends, plan.batch_lengths) for plan in plans]
            self.known[strategy] = judge(epochs, self.array, kind=self.kind, limit=self.limit)
            agree(self.known[strategy], plans)
        return self.known[strategy]

    def settings(self, strategy: str) -> dict[str, str]:
        return {"strategy": strategy, "shapes": "exact", **limited(self.kind, self.limit)}

    def for_peer(self, peer: dict[str, Any]) -> list[tuple[str, dict[str, str]]]:
        """As fresh by pairs of mates, and as fresh by effective mates; one if that is the same.

        With batches of different sizes they are two things: a large batch of short sequences has most
        of the pairs, and every sequence counts as one for effective mates.
        """
        if self.kind == "packed":
            return [("", limited(self.kind, self.limit))]
        met, mates = peer["met_again"], peer["effective_mates"]
        pairs = self.first(lambda found: found["met_again"] <= met * (1 + CHANCE))
        mates = self.first(lambda found: found["effective_mates"] >= mates * (1 - CHANCE))
        if abs(pairs - mates) < 2:
            return [("", self.settings(self.strategies[max(pairs, mates)]))]
        return [
            ("by pairs", self.settings(self.strategies[pairs])),
            ("by mates", self.settings(self.strategies[mates])),
        ]

    def first(self, fresh: Callable[[dict[str, Any]], bool]) -> int:
        """The first strategy that is fresh enough; the last if none is."""
        low, high = 0, len(self.strategies) - 1
        while low < high:
            middle = (low + high) // 2
            if fresh(self.found(self.strategies[middle])):
                high = middle
            else:
                low = middle + 1
        return low


def agree(found: dict[str, Any], plans: list[lw.Plan]) -> None:
    """The judge and lengthwise must say the same of the same plans."""
    padding = np.mean([plan.measure().padding_rate for plan in plans])
    mates = lw.effective_mates(plans)
    if not np.isclose(padding, found["padding"]) or not np.isclose(mates, found["effective_mates"]):
        raise RuntimeError(
            f"the judge says {found['padding']} padding and {found['effective_mates']} effective "
            f"mates of plans of which lengthwise says {padding} and {mates}"
        )
