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


def planned(data, **settings):
    settings = {"budget": 2, "arrange": "as-built", "strategy": "sorted"} | settings
    return lw.plan([len(item) for item in data], **settings)


def test_values_of_two_types_are_refused_unless_a_type_is_given():
    data = [[1, 2, 3], [0.5, 0.25, 0.75], [1, 2], [3, 4]]
    for order in (data, data[::-1]):
        with pytest.raises(lw.LengthsError, match="float64.*int64|int64.*float64") as caught:
            list(batches(order, planned(order)))
        assert 'dtype="float64"' in caught.value.hint and caught.value.index is not None
    for batch in batches(data, planned(data), dtype="float32"):
        assert batch.values.dtype == np.float32
        for index, length, row in zip(batch.indices, batch.lengths, batch.values):
            assert row[:length].tolist() == data[index]


def test_a_type_is_one_for_all_batches():
    # Each batch is of one type by itself.
    data = [np.ones(2, np.float32), np.ones(2, np.float32), np.ones(5), np.ones(5)]
    plan = planned(data)
    assert sorted(len(set(batch.tolist()) & {0, 1}) for batch in plan) == [0, 2]
    with pytest.raises(lw.LengthsError, match="float32") as caught:
        list(batches(data, plan))
    assert "float64" in str(caught.value)
    assert {batch.values.dtype.name for batch in batches(data, plan, dtype=np.float16)} == {"float16"}


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1.5, 2.0], "int64"),
        ([-1, 2], "uint64"),
        ([300, 2], "uint8"),
        ([2**63, 2], "int64"),
        ([float(2**63), 2], "int64"),
        ([float("nan"), 2], "int32"),
        ([1e300, 2], "float32"),
        ([2, 1], "bool"),
        ([1j, 2], "float64"),
    ],
)
def test_values_that_a_type_cannot_hold_are_refused(values, dtype):
    data = [np.asarray(values), np.ones(2, dtype)]
    with pytest.raises(lw.LengthsError, match=f"sequence 0 .*{dtype}"):
        list(batches(data, planned(data), dtype=dtype))
    with pytest.raises(lw.SettingError, match=f"padding_value.*{dtype}"):
        list(batches([np.ones(2, dtype)], lw.plan([2], budget=1), padding_value=values[0]))


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ([1.0, 2.0], "int8"),
        ([2**63, 2], "uint64"),
        ([float("nan"), 2], "float16"),
        ([float("inf"), 0.1], "float32"),
        ([1, 0], "bool"),
        ([-(2**63), 2], "int64"),
        ([1.5, 2], "complex64"),
    ],
)
def test_values_that_a_type_can_hold_are_cast(values, dtype):
    data = [np.asarray(values)]
    (batch,) = batches(data, lw.plan([3], budget=1), dtype=dtype, padding_value=values[1])
    assert batch.values.dtype == dtype and batch.lengths.tolist() == [2]
    expected = np.asarray([*values, values[1]]).astype(dtype)
    np.testing.assert_array_equal(batch.values[0], expected)


def test_a_padding_value_of_another_shape_is_refused():
    data, plan = [np.ones((2, 3))], lw.plan([4], budget=1)
    (batch,) = batches(data, plan, padding_value=[0, 1, 2])
    assert batch.values[0].tolist() == [[1, 1, 1], [1, 1, 1], [0, 1, 2], [0, 1, 2]]
    for value in ([0, 1], [[0, 1, 2]], "0", None, [0.5, "x", 1]):
        with pytest.raises(lw.SettingError, match="padding_value"):
            list(batches(data, plan, padding_value=value))


def test_sequences_longer_than_planned_are_refused():
    data = [[1, 2, 3], [4, 5], [6, 7, 8, 9]]
    for lengths in ([3, 2, 3], [2, 2, 4], [3, 1, 4]):
        wrong = next(at for at, length in enumerate(lengths) if len(data[at]) > length)
        for budget in (1, 3):
            with pytest.raises(lw.LengthsError) as caught:
                list(batches(data, lw.plan(lengths, budget=budget)))
            assert caught.value.index == wrong
            assert f"length {len(data[wrong])}" in str(caught.value)
            assert str(lengths[wrong]) in str(caught.value)


def test_sequences_shorter_than_planned_have_their_own_length():
    (batch,) = batches([[1, 2], [], [3]], lw.plan([3, 2, 1], "sorted", budget=3), padding_value=-1)
    rows = dict(zip(batch.indices.tolist(), batch.values.tolist()))
    assert rows == {0: [1, 2, -1], 1: [-1, -1, -1], 2: [3, -1, -1]}
    assert dict(zip(batch.indices.tolist(), batch.lengths.tolist())) == {0: 2, 1: 0, 2: 1}
    # What is empty says nothing about the type.
    assert batch.values.dtype == np.int64


def test_truncated_sequences_are_cut():
    data = [np.arange(length) for length in (3, 9, 4)]
    plan = lw.plan([3, 9, 4], budget="padded:5", over_long="truncate")
    assert plan.truncated.tolist() == [1]
    made = {
        int(index): row[:length].tolist()
        for batch in batches(data, plan)
        for index, length, row in zip(batch.indices, batch.lengths, batch.values)
        if index >= 0
    }
    assert made == {0: [0, 1, 2], 1: [0, 1, 2, 3, 4], 2: [0, 1, 2, 3]}
    with pytest.raises(lw.LengthsError, match="length 10"):
        list(batches([data[0], np.arange(10), data[2]], plan))
    with pytest.raises(lw.LengthsError, match="sequence 2 has length 5"):
        list(batches([data[0], data[1], np.arange(5)], plan))


@pytest.mark.parametrize("widths", [(4, 1), (1, 4), (4, 3), (3, 4)])
def test_sequences_of_several_widths_are_refused(widths):
    data = [np.ones((2, width)) for width in widths]
    for budget in (1, 2):
        with pytest.raises(lw.LengthsError, match=rf"\({widths[0]},\).*|\({widths[1]},\).*"):
            list(batches(data, lw.plan([2, 2], budget=budget)))
    with pytest.raises(lw.LengthsError, match="sequence"):
        list(batches([np.ones(2), np.ones((2, 1))], lw.plan([2, 2], budget=2)))


@pytest.mark.parametrize(
    "item", [3, "ab", ["a", "b"], [[1, 2], [3]], [None, 1], np.ones(2, dtype=[("a", int)]), {"a": 1}]
)
def test_what_is_no_array_of_numbers_is_refused(item):
    for dtype in (None, "float32"):
        with pytest.raises(lw.LengthsError, match="sequence 0") as caught:
            list(batches([item], lw.plan([2], budget=1), dtype=dtype))
        assert caught.value.index == 0


def test_a_type_that_holds_no_numbers_is_refused():
    for dtype in ("object", "U4", "no such type", "M8[s]"):
        with pytest.raises(lw.SettingError, match="dtype"):
            batches([[1, 2]], lw.plan([2], budget=1), dtype=dtype)


def test_both_sides_of_pairs_have_the_same_rows(lengths):
    seconds = lengths[::-1].copy()
    plan = lw.plan(lengths, budget="padded:1200", shapes="multiple:8", second=seconds)
    sources = [np.full(length, index) for index, length in enumerate(lengths)]
    targets = [np.full(length, index, np.float32) for index, length in enumerate(seconds)]
    assert (plan.second_lengths == seconds).all()
    for source, target in zip(batches(sources, plan), batches(targets, plan, second=True)):
        assert (source.indices == target.indices).all() and target.values.dtype == np.float32
        for index, length, row in zip(target.indices, target.lengths, target.values):
            assert length == (seconds[index] if index >= 0 else 0) and (row[:length] == index).all()
    with pytest.raises(lw.SettingError, match="second"):
        batches(sources, lw.plan(lengths, budget="padded:1200"), second=True)
    with pytest.raises(lw.LengthsError, match="sequence"):
        list(batches(sources, plan, second=True))
