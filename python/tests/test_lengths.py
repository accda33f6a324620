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


def stored(kind: str):
    """A dataset on disk whose lengths are 1, 2, …, 40, in several chunks, and its column."""
    import datasets

    of = {
        "numbers": datasets.Value("int32"),
        "lists": datasets.Sequence(datasets.Value("int64")),
        "large lists": datasets.LargeList(datasets.Value("int32")),
        "arrays": datasets.Array2D((None, 3), "float32"),
        "lists of lists": datasets.Sequence(datasets.Sequence(datasets.Value("float32"))),
        "texts": datasets.Value("string"),
        "large texts": datasets.Value("large_string"),
        "bytes": datasets.Value("binary"),
    }[kind]
    value = {
        "numbers": lambda n: n,
        "arrays": lambda n: [[0.5] * 3] * n,
        "lists of lists": lambda n: [[0.5] * 3] * n,
        "texts": lambda n: "ö" * n,
        "large texts": lambda n: "ö" * n,
        "bytes": lambda n: b"x" * n,
    }.get(kind, lambda n: [7] * n)
    features = datasets.Features({"x": of, "other": datasets.Value("int32")})
    parts = [
        datasets.Dataset.from_dict({"x": [value(n) for n in range(first, first + 10)], "other": [0] * 10}, features=features)
        for first in (1, 11, 21, 31)
    ]
    return datasets.concatenate_datasets(parts)


KINDS = ["numbers", "lists", "large lists", "arrays", "lists of lists", "texts", "large texts", "bytes"]


@pytest.mark.parametrize("kind", KINDS)
def test_columns_of_datasets_whatever_was_done_to_the_dataset(kind, tmp_path):
    pytest.importorskip("datasets")
    from lengthwise._columns import lengths_of

    import datasets

    dataset = stored(kind)
    dataset.save_to_disk(tmp_path / "kept")
    dataset = datasets.load_from_disk(tmp_path / "kept")  # Mapped from files.
    whole = list(range(1, 41))
    ways = {
        "as it is": (dataset, whole),
        "selected": (dataset.select([30, 2, 2, 15]), [31, 3, 3, 16]),
        "a range": (dataset.select(range(5, 25)), whole[5:25]),
        "twice": (dataset.select(range(5, 25)).select([3, 0]), [9, 6]),
        "part": (dataset.shard(3, 1), whole[14:27]),
        "formatted": (dataset.with_format("numpy"), whole),
        "transformed": (dataset.with_transform(lambda rows: {"x": [[1]] * len(rows["x"])}), whole),
        "none": (dataset.select([]), []),
    }
    shuffled = dataset.map(lambda row, index: {"other": index + 1}, with_indices=True).shuffle(seed=3)
    ways["shuffled"] = (shuffled, list(shuffled["other"]))
    assert ways["shuffled"][1] != whole
    for name, (each, expected) in ways.items():
        assert lengths_of(each, "x").tolist() == expected, name
        if expected and hasattr(datasets.arrow_dataset, "Column"):
            assert lw.Lengths(each["x"]).numpy().tolist() == expected, name


def test_a_row_of_a_dataset_without_a_value_is_named():
    datasets = pytest.importorskip("datasets")
    from lengthwise._columns import lengths_of

    for values in ([[1], None, [1, 2], None], [4, None, 2, None], ["a", None, "bc", None]):
        dataset = datasets.Dataset.from_dict({"x": values})
        with pytest.raises(lw.LengthsError, match="row 1 has no value in column 'x'") as caught:
            lengths_of(dataset, "x")
        assert caught.value.index == 1
        with pytest.raises(lw.LengthsError, match="row 2 has no value"):
            lengths_of(dataset.select([0, 2, 3]), "x")
        # What is not selected does not matter.
        assert len(lengths_of(dataset.select([2, 0]), "x")) == 2
    with pytest.raises(lw.LengthsError, match="no length"):
        lengths_of(datasets.Dataset.from_list([{"x": {"a": 1}}]), "x")


def test_rows_of_a_shuffled_dataset_are_not_copied(monkeypatch):
    """They would be: of the whole column, in the order of the rows."""
    datasets = pytest.importorskip("datasets")
    from lengthwise._columns import lengths_of

    dataset = stored("lists").shuffle(seed=1)
    for name in ("with_format", "__getitem__", "select_columns", "flatten_indices"):
        monkeypatch.setattr(datasets.Dataset, name, lambda *_, **__: pytest.fail("rows were read"))
    assert sorted(lengths_of(dataset, "x").tolist()) == list(range(1, 41))


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


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "lz4", "zstd"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_parquet(tmp_path, compression, dictionary):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    numbers = np.random.default_rng(4).integers(1, 50, 5000)
    table = pyarrow.table(
        {
            "frames": pyarrow.array(numbers, pyarrow.int32()),
            "tokens": [[1] * (number % 7 + 1) for number in numbers.tolist()],
            "text": ["é" * number for number in numbers.tolist()],
            "seconds": numbers / 100,
            "holes": pyarrow.array([None if number == 9 else number for number in numbers.tolist()]),
        }
    )
    path = tmp_path / "a.parquet"
    parquet.write_table(table, path, compression=compression, use_dictionary=dictionary, row_group_size=1700)
    assert lw.read_lengths(path, column="frames").tolist() == numbers.tolist()
    assert lw.read_lengths(path, column="tokens").tolist() == (numbers % 7 + 1).tolist()
    assert lw.read_lengths(path, column="text").tolist() == numbers.tolist()
    assert lw.read_lengths(path, column="seconds", frame_shift=0.01).tolist() == numbers.tolist()
    with pytest.raises(lw.FileError, match="null|empty|missing"):
        lw.read_lengths(path, column="holes")
    with pytest.raises(lw.FileError, match="frame"):
        lw.read_lengths(path, column="frame")
    (tmp_path / "b.parquet").write_bytes(path.read_bytes()[:-100])
    with pytest.raises(lw.FileError):
        lw.read_lengths(tmp_path / "b.parquet", column="frames")


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "lz4"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_parquet_lists_of_many_pages(tmp_path, compression, version):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lengths = np.random.default_rng(0).integers(1, 200, 1000)
    elements = np.random.default_rng(1).integers(0, 50_000, lengths.sum())
    lists = pa.ListArray.from_arrays(np.concatenate([[0], lengths.cumsum()]).astype(np.int32), elements)
    path = tmp_path / "a.parquet"
    parquet.write_table(
        pa.table({"x": lists}), path, compression=compression, data_page_version=version, data_page_size=1000
    )
    assert lw.read_lengths(path, column="x").tolist() == lengths.tolist()


def test_a_plan_in_parquet_is_read_again(tmp_path):
    plan = lw.plan(NUMBERS * 40, "shuffled", budget=4)
    plan.save(tmp_path / "plan.parquet")
    assert lw.load_plan(tmp_path / "plan.parquet", NUMBERS * 40).tolist() == plan.tolist()


def test_long_lists(monkeypatch):
    """A long list is read in pieces, with what a short one means."""
    from lengthwise import _convert

    monkeypatch.setattr(_convert, "PIECE", 3)
    assert lw.Lengths(NUMBERS * 5).numpy().tolist() == NUMBERS * 5
    assert lw.Lengths([*NUMBERS, 8.0, 9]).numpy().tolist() == [*NUMBERS, 8, 9]
    for wrong, index in ((True, 4), ("7", 4), (2**70, 4), ([3], 4), (-1, 4), (None, 4)):
        with pytest.raises(lw.LengthsError) as caught:
            lw.Lengths([*NUMBERS, wrong, 3, 4])
        assert caught.value.index == index
