"""The rows of Ray datasets: in a fixed order, by number, and how long they are. Ray's tasks import this, and no PyTorch."""

from __future__ import annotations

import copy
import operator
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow
import ray
from ray.data import Dataset
from ray.data.block import BlockAccessor
from ray.data.iterator import DataIterator

from ._convert import _arrow
from ._lengthwise import Statistics
from .errors import LengthsError, SettingError, StateError

#: The length of a row, or its kind: the name of a column, or a function of a row.
Field = str | Callable[[Mapping[str, Any]], Any]
#: What stands for a length that is missing or not a whole number: tasks cannot raise errors that users can read.
NONE = -1


def lengths_of(data: Dataset | Rows, length: Field) -> np.ndarray:
    """Returns the length of every row, in the order of the rows, for :class:`lengthwise.torch.BatchSampler`.

    Ray's tasks find the lengths, one block at a time. Only the lengths come to this process, four bytes for each row.
    If ``length`` is a column, files such as Parquet are read for this column alone.

    Args:
        data: The dataset, or its :class:`Rows`.
        length: The column that holds the lengths, or holds what has a length, such as a list of tokens or a text; or a
            function of a row.
    """
    blocks = [table.column("length").to_numpy() for table in _found(data, length, _lengths_in)]
    lengths: np.ndarray = np.concatenate([np.zeros(0, np.int64), *blocks])
    _check(lengths)
    return lengths.astype(np.uint32)


def statistics_of(data: Dataset | Rows, length: Field) -> Statistics:
    """Returns the summary statistics of the lengths of all rows, for plans of shards, and for corpora whose lengths do
    not fit into the memory of one process: Ray's tasks make them, and some kilobytes of each block come to this one.

    Args:
        data: The dataset, or its :class:`Rows`.
        length: The column that holds the lengths, or holds what has a length, such as a list of tokens or a text; or a
            function of a row.
    """
    total, passed = None, 0
    for table in _found(data, length, _statistics_in):
        for block in table.to_pylist():
            _check(np.array(block["wrong"], dtype=np.int64), passed + block["place"])
            passed += block["rows"]
            if block["rows"]:
                one = Statistics.from_bytes(block["statistics"])
                total = one if total is None else total + one
    if total is None:
        raise LengthsError("the dataset has no rows", hint="give at least one row")
    return total


class Rows:
    """The rows of a Ray dataset by number: a dataset for :func:`lengthwise.torch.loader` with a
    :class:`lengthwise.torch.BatchSampler`.

    The dataset is executed once, here, in the order of its rows, and its blocks stay in Ray's object store, which
    writes what does not fit into memory to disk. Make it where training is started, and pass it to the workers: they
    share the blocks. ``rows[index]`` is a row: a dictionary, with lists of numbers as NumPy arrays.

    Args:
        dataset: The dataset. To keep less in the object store, leave out columns that you do not train on, or keep
            paths in it and read the files in ``collate_fn``.
    """

    def __init__(self, dataset: Dataset) -> None:
        with in_order(checked_dataset(dataset)):
            self.dataset: Any = dataset.materialize()
        blocks = [entry for bundle in self.dataset.iter_internal_ref_bundles() for entry in bundle.blocks]
        self._blocks = [entry.ref for entry in blocks]
        #: The number of the first row of each block, and the number of all rows.
        self._starts = np.cumsum([0, *(entry.metadata.num_rows for entry in blocks)])

    def __len__(self) -> int:
        return int(self._starts[-1])

    def __getitem__(self, index: int) -> Any:
        index = operator.index(index)
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no row {index} among {len(self)} rows")
        return self.__getitems__([index % len(self)])[0]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The rows of a batch: each block that has some of them is fetched once."""
        check_process()
        wanted = np.asarray(indices, dtype=np.int64)
        places = np.searchsorted(self._starts, wanted, side="right") - 1
        numbers = np.unique(places).tolist()
        rows: list[Any] = [None] * len(wanted)
        for number, block in zip(numbers, ray.get([self._blocks[number] for number in numbers])):
            here = np.flatnonzero(places == number)
            taken = BlockAccessor.for_block(block).take((wanted[here] - self._starts[number]).tolist())
            for place, row in zip(here.tolist(), rows_of(BlockAccessor.for_block(taken).to_arrow())):
                rows[place] = row
        return rows

    def __repr__(self) -> str:
        return f"Rows({len(self)} rows in {len(self._blocks)} blocks)"


class RowSource:
    """The rows of a dataset from a position on, in the same order every time: a source for streams."""

    def __init__(self, data: Any) -> None:
        made = callable(data) and not isinstance(data, (Dataset, DataIterator))
        self._data, self._made = data if made else checked_data(data), made
        self._epoch = 0

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __call__(self, start: int) -> Iterator[Any]:
        data = checked_data(self._data(self._epoch)) if self._made else self._data
        passed = 0
        for table in _blocks(data):
            # No rows are made of what comes before.
            skipped = min(start - passed, table.num_rows)
            passed += skipped
            yield from rows_of(table.slice(skipped))
        if passed < start:
            raise StateError(
                f"the dataset has {passed} rows, and the stream was to resume at row {start}",
                hint="read the same dataset that the state was made from",
            )


class FieldOf:
    """A function of a row that gives one of its fields."""

    def __init__(self, column: str) -> None:
        self.column = column

    def __call__(self, row: Mapping[str, Any]) -> Any:
        try:
            return row[self.column]
        except KeyError:
            raise _no_column(self.column, row) from None


class LengthOf(FieldOf):
    """A function of a row that gives a field that is a length, or the length of a field."""

    def __call__(self, row: Mapping[str, Any]) -> Any:
        value = super().__call__(row)
        return len(value) if hasattr(value, "__len__") else value


def check_process() -> None:
    """Refuses processes that a data loader of PyTorch has started: Ray would wait in them, or start another cluster."""
    torch = sys.modules.get("torch.utils.data")
    if torch is not None and torch.get_worker_info() is not None:
        raise SettingError(
            "the worker processes of a data loader cannot read from Ray",
            hint="leave out `num_workers`: Ray reads the dataset in processes of its own",
        )


def checked_field(given: Any, name: str) -> Field:
    """A column or a function."""
    if isinstance(given, str) or callable(given):
        return given  # type: ignore[no-any-return]
    raise SettingError(
        f"expected a column or a function of a row, got {given!r}", hint=f'give one, as in `{name}="tokens"`'
    )


def checked_dataset(data: Any) -> Dataset:
    if isinstance(data, Dataset):
        return data
    hint = "give a `ray.data.Dataset`"
    if isinstance(data, DataIterator):
        hint += ", and not a part of it: in `train_loop_config`, not in `datasets`"
    raise SettingError(f"expected a dataset of Ray, got a {type(data).__name__}", hint=hint)


def checked_data(data: Any) -> Dataset | DataIterator:
    """A dataset, or an iterator over all of it."""
    if isinstance(data, Dataset):
        return data
    if not isinstance(data, DataIterator):
        raise SettingError(
            f"expected a dataset of Ray, got a {type(data).__name__}",
            hint="give a `ray.data.Dataset`, or a function that returns the one of an epoch",
        )
    if type(data).__name__ == "StreamSplitDataIterator":
        raise SettingError(
            "expected the whole dataset, got the part of one worker",
            hint="give the trainer `dataset_config=ray.train.DataConfig(datasets_to_split=[])`: every worker then gets "
            "an iterator over the whole dataset, and its batches are divided, not its rows",
        )
    return data


@contextmanager
def in_order(data: Dataset | DataIterator) -> Iterator[None]:
    """Inside, executions of a dataset that begin give its rows in their order. Ray gives blocks as they come."""
    context = data.context if isinstance(data, Dataset) else data.get_context()
    # Executions keep the options that they began with: those of other executions stay what they are.
    before, context.execution_options = context.execution_options, copy.deepcopy(context.execution_options)
    context.execution_options.preserve_order = True
    try:
        yield
    finally:
        context.execution_options = before


def rows_of(table: pyarrow.Table) -> Iterator[dict[str, Any]]:
    """The rows of a block, as ``iter_rows`` of a dataset gives them, but with arrays in place of lists of numbers: a list
    of Python's numbers takes many times the memory and the time."""
    names = table.column_names
    arrays = {name: _arrays(table.column(name)) for name in names if _holds_numbers(table.column(name))}
    others = [name for name in names if name not in arrays]
    rest = BlockAccessor.for_block(table.select(others)).iter_rows(public_row_format=True) if others else repeat({})
    for row, *lists in zip(rest, *arrays.values()):
        found = {**row, **dict(zip(arrays, lists))}
        yield {name: found[name] for name in names}


def _holds_numbers(column: pyarrow.ChunkedArray) -> bool:
    """Whether a column has lists of numbers, and none of them is missing."""
    types = pyarrow.types
    if not (types.is_list(column.type) or types.is_large_list(column.type)):
        return False
    kind = column.type.value_type
    numbers = types.is_integer(kind) or types.is_floating(kind)
    return numbers and not any(chunk.values.null_count for chunk in column.chunks)


def _arrays(column: pyarrow.ChunkedArray) -> Iterator[np.ndarray | None]:
    """The lists of a column as arrays, which share the memory of the block."""
    for chunk in column.chunks:
        values, ends = chunk.values.to_numpy(), chunk.offsets.to_numpy().tolist()
        missing = chunk.is_null().to_pylist() if chunk.null_count else repeat(False)
        for begin, end, none in zip(ends, ends[1:], missing):
            yield None if none else values[begin:end]


def _blocks(data: Dataset | DataIterator) -> Iterator[pyarrow.Table]:
    """The blocks of a dataset in their order."""
    with in_order(data):
        blocks = iter(data.iter_batches(batch_size=None, batch_format="pyarrow"))
        first = next(blocks, None)  # The execution begins with it.
    if first is not None:
        yield first
        yield from blocks


def _found(
    data: Dataset | Rows, length: Field, find: Callable[[pyarrow.Table, Field], pyarrow.Table]
) -> Iterator[pyarrow.Table]:
    """What Ray's tasks find in the blocks of a dataset, in their order."""
    dataset = data.dataset if isinstance(data, Rows) else checked_dataset(data)
    length = checked_field(length, "length")
    if isinstance(length, str):
        known = dataset.columns(fetch_if_missing=False)
        if known is not None and length not in known:
            raise _no_column(length, known)
        dataset = dataset.select_columns([length])
    return _blocks(dataset.map_batches(find, batch_size=None, batch_format="pyarrow", fn_kwargs={"length": length}))


def _check(lengths: np.ndarray, place: int = 0) -> None:
    """Refuses lengths that cannot be planned; ``place`` is the number of the first row."""
    wrong = _wrong(lengths)
    if len(wrong):
        index, length = place + int(wrong[0]), int(lengths[wrong[0]])
        shown = "no whole number" if length == NONE else length
        raise LengthsError(
            f"expected a length from 1 to {2**32 - 1}, got {shown} for row {index}",
            hint="leave out rows that have no length with `dataset.filter`",
            index=index,
        )


def _wrong(lengths: np.ndarray) -> np.ndarray:
    return np.flatnonzero((lengths < 1) | (lengths >= 2**32))


def _lengths_in(table: pyarrow.Table, length: Field) -> pyarrow.Table:
    """The lengths of the rows of a block."""
    if callable(length):
        values = np.array([_whole(length(row)) for row in rows_of(table)], dtype=np.int64)
    elif length in table.column_names:
        values = _lengths_of_column(table.column(length))
    else:
        raise _no_column(length, table.column_names)
    return pyarrow.table({"length": values})


def _statistics_in(table: pyarrow.Table, length: Field) -> pyarrow.Table:
    """The statistics of the rows of a block; or the first length that is wrong, and its place."""
    lengths = np.asarray(_lengths_in(table, length).column("length"))
    wrong = _wrong(lengths)[:1]
    made = b"" if len(wrong) or not len(lengths) else Statistics(lengths).to_bytes()
    place = int(wrong[0]) if len(wrong) else 0
    return pyarrow.table(
        {"statistics": [made], "rows": [len(lengths)], "wrong": [lengths[wrong].tolist()], "place": [place]}
    )


def _lengths_of_column(column: pyarrow.ChunkedArray) -> np.ndarray:
    types = pyarrow.types
    kind = column.type
    if types.is_integer(kind):
        return np.asarray(column.cast(pyarrow.int64()).fill_null(NONE).to_numpy())
    sized = any(
        test(kind)
        for test in (
            types.is_list, types.is_large_list, types.is_fixed_size_list, types.is_string, types.is_large_string,
            types.is_binary, types.is_large_binary, types.is_floating,
        )
    )  # fmt: skip
    if not sized:  # Tensors and Python objects, of types that are Ray's own.
        return np.array([len(value) if hasattr(value, "__len__") else NONE for value in column.to_pylist()], dtype=np.int64)
    values = _arrow(column).astype(np.float64)
    whole = np.isfinite(values) & (values == np.floor(values))
    return np.where(whole, values, NONE).astype(np.int64)


def _whole(value: Any) -> int:
    try:
        return operator.index(value)
    except TypeError:
        return NONE


def _no_column(column: str, known: Any) -> LengthsError:
    return LengthsError(
        f"the dataset has no column {column!r}", hint=f"name one of its columns: {', '.join(map(str, known))}"
    )
