"""Batches of fixed shapes as NumPy arrays, for JAX and for anybody without a framework.

>>> for batch in batches(data, lw.plan(lengths, budget="padded:20000")):  # doctest: +SKIP
...     step(batch.values, batch.lengths)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from . import LengthsError, Plan, SettingError

__all__ = ["PaddedBatch", "batches", "shapes"]


class PaddedBatch(NamedTuple):
    """A batch as a rectangle. Rows beyond the sequences have length 0 and index -1."""

    values: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray


def shapes(plan: Plan) -> dict[int, int]:
    """How many rows the batches of each batch length have: those of the largest one."""
    rows: dict[int, int] = {}
    for length, size in zip(plan.batch_lengths.tolist(), plan.batch_sizes.tolist()):
        rows[length] = max(rows.get(length, 0), size)
    return rows


def batches(
    data: Sequence[Any], plan: Plan, *, padding_value: Any = 0, full: bool = True
) -> Iterator[PaddedBatch]:
    """The batches of a plan, padded. With ``full``, batches of one length have one number of rows
    too, so that a compiler meets each batch length once."""
    if len(data) != len(plan.lengths):
        raise LengthsError(
            f"there are {len(data)} sequences, and the plan is for {len(plan.lengths)}",
            hint="give the data that the lengths are of, in the same order",
        )
    if plan.packed:
        raise SettingError(
            "the sequences of this plan share rows, and rectangles have a row for each",
            hint="plan with another strategy, or collate with `lengthwise.torch.pack_collate`",
        )
    rows = shapes(plan)
    for batch, length in zip(plan, plan.batch_lengths.tolist()):
        sequences = [np.asarray(data[index]) for index in batch.tolist()]
        count = rows[length] if full else len(sequences)
        first = sequences[0]
        values = np.full((count, length, *first.shape[1:]), padding_value, dtype=first.dtype)
        lengths = np.zeros(count, dtype=np.int32)
        indices = np.full(count, -1, dtype=np.int64)
        indices[: len(sequences)] = batch
        for row, sequence in enumerate(sequences):
            lengths[row] = min(len(sequence), length)
            values[row, : lengths[row]] = sequence[:length]
        yield PaddedBatch(values, lengths, indices)
