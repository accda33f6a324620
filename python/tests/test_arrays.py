"""Batches of fixed shapes without a framework."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
import pytest
from lengthwise.arrays import batches, shapes


def test_every_batch_length_has_one_number_of_rows(lengths):
    data = [np.full(length, index, dtype=np.float32) for index, length in enumerate(lengths)]
    plan = lw.plan(lengths, budget="padded:600", shapes="ladder:5")
    met, seen = set(), []
    for batch in batches(data, plan, padding_value=-1):
        met.add(batch.values.shape)
        rows = batch.indices >= 0
        assert (batch.lengths[~rows] == 0).all() and (batch.values[~rows] == -1).all()
        for values, length, index in zip(batch.values, batch.lengths, batch.indices):
            assert (values[:length] == index).all() and (values[length:] == -1).all()
            if index >= 0:
                assert length == lengths[index]
        seen += batch.indices[rows].tolist()
    assert sorted(seen) == list(range(len(lengths)))
    assert len(met) <= 5 and met == {(rows, length) for length, rows in shapes(plan).items()}


def test_rows_that_are_not_filled_can_be_left_out(lengths):
    data = [np.zeros((length, 3)) for length in lengths]
    plan = lw.plan(lengths, budget="padded:600")
    sizes = [batch.values.shape for batch in batches(data, plan, full=False)]
    assert sizes == [(len(batch), length, 3) for batch, length in zip(plan, plan.batch_lengths)]
    with pytest.raises(lw.LengthsError, match="399"):
        next(batches(data[1:], plan))
