"""Which of our settings are as fresh as a peer: the least padding of those where no more mates meet again."""

from __future__ import annotations

from typing import Any

import lengthwise as lw
import numpy as np
from judge import Batches, judge

EPOCHS = 3
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
        self.known: dict[str, float] = {}

    def met_again(self, strategy: str) -> float:
        """The share of mates that meet again in the next epoch."""
        if strategy not in self.known:
            planner = lw.Planner(self.lengths, **self.settings(strategy))
            plans = [planner.plan(epoch) for epoch in range(EPOCHS)]
            epochs = [Batches(plan.indices, plan.ends, plan.batch_lengths) for plan in plans]
            found = judge(epochs, self.array, kind=self.kind, limit=self.limit)
            self.known[strategy] = found["met_again"]
            agree(found, plans)
        return self.known[strategy]

    def settings(self, strategy: str) -> dict[str, str]:
        return {"strategy": strategy, "shapes": "exact", **limited(self.kind, self.limit)}

    def for_peer(self, met_again: float) -> dict[str, str]:
        """The first strategy that is as fresh; the last if none is."""
        if self.kind == "packed":
            return limited(self.kind, self.limit)
        low, high = 0, len(self.strategies) - 1
        while low < high:
            middle = (low + high) // 2
            if self.met_again(self.strategies[middle]) <= met_again:
                high = middle
            else:
                low = middle + 1
        return self.settings(self.strategies[low])


def agree(found: dict[str, Any], plans: list[lw.Plan]) -> None:
    """The judge and lengthwise must say the same of the same plans."""
    padding = np.mean([plan.measure().padding_rate for plan in plans])
    mates = lw.effective_mates(plans)
    if not np.isclose(padding, found["padding"]) or not np.isclose(mates, found["effective_mates"]):
        raise RuntimeError(
            f"the judge says {found['padding']} padding and {found['effective_mates']} effective "
            f"mates of plans of which lengthwise says {padding} and {mates}"
        )
