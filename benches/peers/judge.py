"""What batches cost, by one code for everybody. Needs NumPy and nothing else.

Batches are flat: the indices of all sequences, batch after batch, and where each batch ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RANKS = 8


@dataclass
class Batches:
    """The batches of one epoch, in the order in which they are trained on."""

    indices: np.ndarray
    ends: np.ndarray
    # What each batch is padded to; without it, its longest sequence.
    padded_to: np.ndarray | None = None
    starts: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        self.indices = np.asarray(self.indices, dtype=np.int64)
        self.ends = np.asarray(self.ends, dtype=np.int64)
        self.starts = np.concatenate(([0], self.ends[:-1])).astype(np.int64)
        if len(self.ends) and (self.ends[-1] != len(self.indices) or (self.sizes < 1).any()):
            raise ValueError(
                f"the batches end at {self.ends[-1]} of {len(self.indices)} indices, and the smallest has "
                f"{self.sizes.min()} sequences; each needs one, and the last must end where the indices do"
            )

    @property
    def sizes(self) -> np.ndarray:
        return self.ends - self.starts

    def longest(self, lengths: np.ndarray) -> np.ndarray:
        """What each batch is padded to."""
        if self.padded_to is not None:
            return np.asarray(self.padded_to, dtype=np.int64)
        return np.maximum.reduceat(lengths[self.indices], self.starts)

    def sums(self, lengths: np.ndarray) -> np.ndarray:
        """The sum of the lengths in each batch."""
        return np.add.reduceat(lengths[self.indices], self.starts)

    def cells(self, lengths: np.ndarray) -> np.ndarray:
        """Batch size × batch length of each batch."""
        return self.sizes * self.longest(lengths)


def padding(batches: Batches, lengths: np.ndarray) -> float:
    """Empty cells ÷ all cells."""
    cells = int(batches.cells(lengths).sum())
    return 1 - int(batches.sums(lengths).sum()) / cells


def over(sizes: np.ndarray, limit: int) -> tuple[float, float]:
    """The share of batches above a limit, and the largest batch ÷ the limit."""
    return float((sizes > limit).mean()), float(sizes.max() / limit)


def missing_and_doubled(batches: Batches, count: int) -> tuple[int, int]:
    """How many sequences are in no batch, and how often one is there once more."""
    seen = np.bincount(batches.indices, minlength=count)
    return int((seen[:count] == 0).sum()), int(np.maximum(seen - 1, 0).sum())


def _shared(one: Batches, other: Batches) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For every two batches with sequences in common: the batch of each epoch, and how many."""
    count = 1 + max(int(one.indices.max()), int(other.indices.max()))
    where = np.full(count, -1, dtype=np.int64)
    where[other.indices] = np.repeat(np.arange(len(other.ends)), other.sizes)
    mine = np.repeat(np.arange(len(one.ends)), one.sizes)
    theirs = where[one.indices]
    pairs, shared = np.unique((mine * len(other.ends) + theirs)[theirs >= 0], return_counts=True)
    return pairs // len(other.ends), pairs % len(other.ends), shared


def met_again(one: Batches, other: Batches) -> float:
    """The share of pairs of batch-mates of one epoch that share a batch in the other too."""
    _, _, shared = _shared(one, other)
    sizes = one.sizes
    pairs = int((sizes * (sizes - 1)).sum())
    return int((shared * (shared - 1)).sum()) / pairs if pairs else 0.0


def repeat_rate(one: Batches, other: Batches) -> float | None:
    """The chance that a random mate of a random sequence is its random mate in the other epoch."""
    mine, theirs, shared = _shared(one, other)
    mates, others = one.sizes[mine] - 1, other.sizes[theirs] - 1
    kept = (mates > 0) & (others > 0)
    mates, others, shared = mates[kept], others[kept], shared[kept]
    if not len(shared):
        return None
    return float((shared * (shared - 1) / (mates * others)).sum() / shared.sum())


def effective_mates(epochs: list[Batches]) -> float | None:
    """The size of the pool that batch-mates are effectively drawn from, as `lengthwise.effective_mates`:
    at most the number of other sequences."""
    rates = [repeat_rate(one, later) for at, later in enumerate(epochs) for one in epochs[:at]]
    rates = [rate for rate in rates if rate is not None]
    if not rates:
        return None
    others = len(np.unique(np.concatenate([epoch.indices for epoch in epochs]))) - 1
    return min(len(rates) / sum(rates), others) if sum(rates) else float(others)


def idle(costs: np.ndarray, ranks: int = RANKS) -> float:
    """The share of the ranks' time spent waiting, if batch k goes to rank k mod `ranks`."""
    steps = np.zeros(-(-len(costs) // ranks) * ranks)
    steps[: len(costs)] = costs
    slowest = steps.reshape(-1, ranks).max(axis=1)
    return float(1 - costs.sum() / (ranks * slowest.sum()))


def judge(
    epochs: list[Batches],
    lengths: np.ndarray,
    *,
    kind: str,
    limit: int,
    ranks: Batches | None = None,
) -> dict[str, Any]:
    """Everything about some epochs. `kind` says what the limit is of: `sequences`, `padded` or `packed`."""
    lengths = np.asarray(lengths, dtype=np.int64)
    kept = np.minimum(lengths, limit) if kind == "packed" else lengths
    first, dealt = epochs[0], ranks or epochs[0]
    measures: dict[str, Any] = {"batches": len(first.ends)}
    measures["missing"], measures["doubled"] = missing_and_doubled(first, len(lengths))
    if kind == "packed":
        waste = [1 - int(e.sums(kept).sum()) / (len(e.ends) * limit) for e in epochs]
        measures["padding"] = float(np.mean(waste))
        measures["truncated"] = int((lengths - kept).sum())
        used = first.sums(kept)
        costs = dealt.sums(kept)
        measures["over"], measures["worst"] = over(used, limit)
    else:
        measures["padding"] = float(np.mean([padding(e, lengths) for e in epochs]))
        costs = dealt.cells(lengths)
        used = first.sizes if kind == "sequences" else first.cells(lengths)
        measures["over"], measures["worst"] = over(used, limit)
    full = first.sizes if kind == "sequences" else first.sums(kept)
    measures["fill"] = float(full.sum() / (len(first.ends) * limit))
    measures["idle"] = idle(costs)
    dealt_missing = missing_and_doubled(dealt, len(lengths))
    measures["ranks_missing"], measures["ranks_doubled"] = dealt_missing
    pairs = list(zip(epochs, epochs[1:]))
    measures["met_again"] = float(np.mean([met_again(a, b) for a, b in pairs])) if pairs else None
    measures["pairs"] = int((first.sizes * (first.sizes - 1)).sum()) // 2
    measures["effective_mates"] = effective_mates(epochs)
    return measures
