"""Lengths in every form they come in, and every way they can be wrong."""

from __future__ import annotations

import array
import math

import lengthwise as lw
import numpy as np
import pytest

NUMBERS = [31, 7, 12, 90]


def forms():
    """The same numbers in many forms."""
    yield "list", NUMBERS
    yield "tuple", tuple(NUMBERS)
    yield "generator", (number for number in NUMBERS)
    yield "buffer", array.array("I", NUMBERS)
    yield "memoryview", memoryview(np.array(NUMBERS))
    yield "numpy integers", [np.int64(number) for number in NUMBERS]
    yield "whole floats", [float(number) for number in NUMBERS]
    for kind in ("u1", "u2", "u4", "u8", "i1", "i2", "i4", "i8", "f2", "f4", "f8", ">i4", ">f8"):
        yield kind, np.array(NUMBERS, dtype=kind)
    yield "numbers of several kinds", [np.int64(31), 7.0, np.float32(12), 90]
    yield "every second", np.repeat(np.array(NUMBERS), 2)[::2]
    yield "backwards", np.array(NUMBERS[::-1], dtype=np.uint32)[::-1]
    yield "lengths", lw.Lengths(NUMBERS)


@pytest.mark.parametrize("form", [pytest.param(value, id=name) for name, value in forms()])
def test_many_forms(form):
    assert lw.Lengths(form).numpy().tolist() == NUMBERS


def test_pandas():
    pandas = pytest.importorskip("pandas")
    assert lw.Lengths(pandas.Series(NUMBERS)) == lw.Lengths(NUMBERS)
    with pytest.raises(lw.LengthsError) as caught:
        lw.Lengths(pandas.Series([3, None, 5]))
    assert caught.value.index == 1


def test_polars():
    polars = pytest.importorskip("polars")
    assert lw.Lengths(polars.Series(NUMBERS)) == lw.Lengths(NUMBERS)
    with pytest.raises(lw.LengthsError) as caught:
        lw.Lengths(polars.Series([3, 5, None]))
    assert caught.value.index == 2


def test_arrow():
    pyarrow = pytest.importorskip("pyarrow")
    expected = lw.Lengths(NUMBERS)
    assert lw.Lengths(pyarrow.array(NUMBERS)) == expected
    assert lw.Lengths(pyarrow.chunked_array([NUMBERS[:1], NUMBERS[1:]])) == expected
    assert lw.Lengths(pyarrow.array([[0] * number for number in NUMBERS])) == expected
    assert lw.Lengths(pyarrow.array(["ä" * number for number in NUMBERS])) == expected
    with pytest.raises(lw.LengthsError) as caught:
        lw.Lengths(pyarrow.array([3, None]))
    assert caught.value.index == 1

    class Capsule:
        """Has Arrow's interface and nothing else."""

        def __arrow_c_stream__(self, schema=None):
            return pyarrow.chunked_array([NUMBERS]).__arrow_c_stream__(schema)

    assert lw.Lengths(Capsule()) == expected


def test_torch():
    torch = pytest.importorskip("torch")
    assert lw.Lengths(torch.tensor(NUMBERS)) == lw.Lengths(NUMBERS)


def test_datasets():
    datasets = pytest.importorskip("datasets")
    from lengthwise.hf import lengths_of

    rows = {"length": NUMBERS, "input_ids": [[0] * number for number in NUMBERS]}
    dataset = datasets.Dataset.from_dict(rows)
    expected = lw.Lengths(NUMBERS)
    assert lw.Lengths(dataset["length"]) == expected
    assert lw.Lengths(lengths_of(dataset)) == expected
    assert lw.Lengths(lengths_of(dataset, "input_ids")) == expected
    # After `select` the table is in the old order, and only the indices are new.
    picked = dataset.select([2, 0])
    assert lw.Lengths(picked["length"]).numpy().tolist() == [12, 31]
    assert lengths_of(picked, "input_ids").tolist() == [12, 31]
    with pytest.raises(lw.LengthsError, match="no column 'frames'"):
        lengths_of(dataset, "frames")


@pytest.mark.parametrize(
    ("wrong", "index", "says"),
    [
        ([1, 2, math.nan], 2, "NaN"),
        ([1, math.inf], 1, "inf"),
        (np.array([1.0, np.nan]), 1, "NaN"),
        ([3, -2], 1, "-2"),
        (np.array([3, 0], dtype=np.uint32), 1, "length 0"),
        ([3, 2.5], 1, "2.5"),
        ([3, 2**32], 1, str(2**32)),
        ([3, 2**70], 1, str(2**70)),
        (["a", "b"], 0, "'a'"),
        ([3, "b"], 1, "'b'"),
        ([3, None], 1, "None"),
        ([3, [4]], 1, r"\[4\]"),
        ([[3], [4]], 0, r"\[3\]"),
        (np.array([True, False]), 0, "True"),
        (np.array(["2020-01-01"], dtype="datetime64[D]"), 0, "2020"),
        ([1, "x" * 100_000], 1, "…"),
        ([3, True], 1, "True"),
        ([np.int64(5), None], 1, "None"),
        (np.ma.masked_array([3, 999, 5], [0, 1, 0]), 1, "masked"),
        (np.array([5], dtype="timedelta64[ns]"), 0, "nanoseconds"),
    ],
)
def test_wrong_lengths_are_named_by_index(wrong, index, says):
    with pytest.raises(lw.LengthsError, match=says) as caught:
        lw.plan(wrong, budget=4)
    assert caught.value.index == index and caught.value.hint
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("wrong", [[], np.array([]), None, "lengths.csv", 7, {"a": 3}, {3, 4}, bytearray(b"ab"), np.ones((2, 2))])
def test_what_is_no_lengths(wrong):
    with pytest.raises(lw.LengthsError):
        lw.plan(wrong, budget=4)


def test_lengths_do_not_change_with_the_array():
    mine = np.array(NUMBERS, dtype=np.uint32)
    lengths = lw.Lengths(mine)
    mine[:] = 1
    assert lengths.numpy().tolist() == NUMBERS


def test_files(tmp_path):
    (tmp_path / "a.csv").write_text("id,seconds\nx,1.5\ny,0.25\n")
    assert lw.read_lengths(tmp_path / "a.csv", column="seconds", frame_shift=0.01).tolist() == [150, 25]
    (tmp_path / "b.txt").write_text("one two\nthree\n")
    assert lw.read_lengths(tmp_path / "b.txt", unit="words").tolist() == [2, 1]
    with pytest.raises(lw.FileError, match="a.csv"):
        lw.read_lengths(tmp_path / "a.csv", column="frames")
    with pytest.raises(lw.SettingError):
        lw.read_lengths(tmp_path / "b.txt", unit="pages")
