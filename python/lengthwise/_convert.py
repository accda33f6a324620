"""Converts lengths of any form to a NumPy array."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterable
from typing import Any

import numpy as np

from ._checks import WHOLE
from .errors import LengthsError, SettingError

#: How many items of a list become an array at once.
PIECE = 1 << 18
#: The hint for lists in place of lengths.
SEVERAL = (
    "give the number of elements of each, as in `[len(ids) for ids in lengths]`; if each holds the lengths of several "
    "sequences, give `Lengths.of_items(lengths)`"
)


def array(lengths: Any) -> np.ndarray:
    """A one-dimensional array of whole numbers or floats, without a copy if possible."""
    made = _made(lengths)
    if isinstance(made, np.ma.MaskedArray) and made.mask.any():
        index = int(np.flatnonzero(made.mask)[0])
        raise LengthsError(f"sequence {index} has a length that is masked", hint=WHOLE, index=index)
    if made.ndim != 1:
        raise LengthsError(
            f"cannot interpret an array of {made.ndim} dimensions as lengths",
            hint="give one number for each sequence",
        )
    if made.dtype.kind in "iuf" and made.dtype.itemsize <= 8:
        if made.dtype == np.float16:
            made = made.astype(np.float32)
        return made if made.dtype.isnative else made.astype(made.dtype.newbyteorder("="))
    if isinstance(made, np.ma.MaskedArray):
        made = made.filled(0)
    if not len(made):
        return made.astype(np.uint32)
    # Objects, texts, truth values, dates: name the first that is not a number.
    values = [str(value) for value in made] if made.dtype.kind in "mM" else made.tolist()
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    for index, value in enumerate(values):
        shown = None
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            shown = repr(value)
            shown = shown if len(shown) <= 40 else shown[:39] + "…"
        elif isinstance(value, int) and not 0 <= value < 2**32:
            shown = str(value)
        if shown is not None:
            several = isinstance(value, (list, tuple, np.ndarray))
            hint = SEVERAL if several else WHOLE
            raise LengthsError(f"sequence {index} has length {shown}", hint=hint, index=index)
    return np.array(values, dtype=np.float64)


def groups(given: Any) -> np.ndarray:
    """A number for each id of a group, the same for equal ids. A sequence with ``None`` is a group of its own."""
    given = _listed(given)
    if isinstance(given, list) and any(each is None for each in given):
        given = [(index, None) if each is None else each for index, each in enumerate(given)]
    return ids(given)


def kinds(given: Any) -> tuple[np.ndarray, list[str]]:
    """A number for each kind, from 0 in the order in which they first appear, and the names of the kinds."""
    given = _listed(given)
    _, first, numbers = np.unique(ids(given), return_index=True, return_inverse=True)
    order = np.argsort(np.argsort(first)).astype(np.uint32)
    names = [str(_plain(given[int(index)])) for index in np.sort(first)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise SettingError(
            f"two kinds have the name {twice!r}", hint="give kinds of one type, and a name for missing ones"
        )
    return order[numbers], names


def _listed(given: Any) -> Any:
    """Ids by position: an array of numbers, or a list of plain values."""
    if hasattr(given, "detach") and hasattr(given, "cpu"):
        given = given.detach().cpu().numpy()
    elif hasattr(given, "to_pylist"):
        given = given.to_pylist()
    elif hasattr(given, "to_numpy"):
        given = given.to_numpy()
    if isinstance(given, np.ndarray) and given.ndim == 1:
        return given if given.dtype.kind in "iub" else given.tolist()
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        return given
    return [_plain(each) for each in given]


def items(given: Any) -> tuple[np.ndarray, np.ndarray]:
    """The lengths of all sequences of all items, and the number of the item of each."""
    if isinstance(given, np.ndarray) and given.ndim == 2 and given.shape[1]:
        return array(given.reshape(-1)), np.repeat(np.arange(len(given), dtype=np.uint32), given.shape[1])
    try:
        each = [array(item) for item in given]
    except TypeError:
        raise LengthsError(
            f"cannot interpret {_named(given)} as items of several lengths",
            hint="give a list of lengths for each item, as in `[[12, 9], [30, 22]]`",
        ) from None
    for index, item in enumerate(each):
        if not len(item):
            raise LengthsError(f"item {index} has no lengths", hint="leave empty items out", index=index)
    sizes = np.array([len(item) for item in each], dtype=np.int64)
    flat = np.concatenate(each) if each else np.zeros(0, dtype=np.uint32)
    return flat, np.repeat(np.arange(len(each), dtype=np.uint32), sizes)


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def ids(given: Any) -> np.ndarray:
    """A number for each id, the same for equal ids."""
    if isinstance(given, np.ndarray) and given.ndim == 1 and given.dtype.kind in "iub":
        return np.unique(given, return_inverse=True)[1].astype(np.uint32)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise SettingError(
            f"cannot interpret {_named(given)} as ids", hint="give a list or an array with one id for each sequence"
        )
    numbers: dict[Any, int] = {}
    try:
        return np.fromiter((numbers.setdefault(key, len(numbers)) for key in given), np.uint32)
    except TypeError:
        raise SettingError(
            "an id cannot be hashed", hint="give ids that are numbers, texts or tuples of these"
        ) from None


def _named(value: object) -> str:
    name = type(value).__name__
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}"


def _made(lengths: Any) -> np.ndarray:
    if isinstance(lengths, np.ndarray):
        return lengths
    if isinstance(lengths, (str, bytes, bytearray, dict, set, frozenset)) or lengths is None:
        raise LengthsError(
            f"cannot interpret {_named(lengths)} as lengths",
            hint="give a list or an array with one number for each sequence; `read_lengths` reads files",
        )
    if (column := _dataset_column(lengths)) is not None:
        return column
    if hasattr(lengths, "null_count") or hasattr(lengths, "combine_chunks"):
        return _arrow(lengths)
    if hasattr(lengths, "detach") and hasattr(lengths, "cpu"):
        tensor = lengths.detach().cpu()
        return np.asarray(tensor.float() if str(tensor.dtype) == "torch.bfloat16" else tensor)
    if hasattr(lengths, "to_numpy"):
        return np.asarray(lengths.to_numpy())
    if hasattr(lengths, "__arrow_c_array__") or hasattr(lengths, "__arrow_c_stream__"):
        import pyarrow

        return _arrow(pyarrow.chunked_array(lengths))
    if hasattr(lengths, "__array__"):
        return np.asarray(lengths)
    with contextlib.suppress(TypeError):
        memoryview(lengths)
        return np.asarray(lengths)
    if not isinstance(lengths, Iterable):
        raise LengthsError(
            f"cannot interpret {_named(lengths)} as lengths",
            hint="give a list or an array with one number for each sequence",
        )
    if any(kind.__name__ == "IterableDataset" for kind in type(lengths).__mro__):
        raise LengthsError(
            f"expected lengths, got the samples of a {type(lengths).__name__}",
            hint="give one number for each sequence; `stream_batches` makes batches of a stream of samples",
        )
    items = lengths if isinstance(lengths, (list, tuple)) else list(lengths)
    try:
        made = _in_pieces(items)
    except (ValueError, OverflowError):
        made = None
    # Mixed lists become texts, floats or objects, and lists of lists get more dimensions: the items
    # themselves are then looked at one by one.
    mixed = any(type(item) is bool for item in items)
    if made is None or made.ndim != 1 or made.dtype.kind not in "iu" or mixed:
        made = np.empty(len(items), dtype=object)
        made[:] = items
    return made


def _in_pieces(items: Any) -> np.ndarray:
    """The items as an array. Between the pieces of a long list, Python notices Ctrl-C."""
    if len(items) <= PIECE:
        return np.asarray(items)
    pieces = [np.asarray(items[start : start + PIECE]) for start in range(0, len(items), PIECE)]
    # Otherwise, they may not be what they are all together: texts of another length, or numbers among texts.
    alike = all(piece.ndim == 1 and piece.dtype == np.int64 for piece in pieces)
    return np.concatenate(pieces) if alike else np.asarray(items)


def _arrow(column: Any) -> np.ndarray:
    """A pyarrow array, chunked or not, or a Polars series; nulls become NaN, which is refused by
    index, and a column of lists or texts gives how long they are."""
    column = _measured(column)
    if hasattr(column, "combine_chunks") or not hasattr(column, "type"):
        return np.asarray(column.to_numpy())
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _measured(column: Any) -> Any:
    """How long the lists or texts of an Arrow array are; other arrays as they are. Of lists and bytes, only the offsets
    are read."""
    kind = str(getattr(column, "type", ""))
    lists = kind.startswith(("list", "large_list", "fixed_size_list"))
    if lists or kind in ("string", "large_string", "string_view", "binary", "large_binary", "binary_view"):
        import pyarrow.compute

        lengths_of = pyarrow.compute.list_value_length if lists else pyarrow.compute.utf8_length
        if kind.endswith("_view"):
            column = column.cast(f"large_{kind.removesuffix('_view')}")
        return (pyarrow.compute.binary_length if "binary" in kind else lengths_of)(column)
    return column


def dataset_column(dataset: Any, name: str) -> np.ndarray:
    """The lengths in a column of a ``datasets.Dataset``: its numbers, or how long its lists or texts are.

    They are those of the stored table, chunk by chunk, whatever the format of the dataset, and then those of the rows
    that were selected. So the values of rows are not copied, and those of lists not even read.
    """
    table: Any = getattr(dataset, "data", None)
    if not hasattr(table, "column"):  # It is no table of Arrow, or its class has changed.
        return _arrow(dataset.select_columns([name]).with_format("arrow")[:].column(name))
    stored = table.column(name)
    parts, missing = [], []
    for chunk in stored.chunks:
        while hasattr(chunk, "storage"):  # Types of datasets itself, such as arrays of two dimensions.
            chunk = chunk.storage
        chunk = _measured(chunk)
        if str(chunk.type).startswith(("struct", "dictionary", "map")):
            raise LengthsError(
                f"column {name!r} holds values of type {chunk.type}, which have no length",
                hint="name a column of numbers, lists or texts, or give `lengths`",
            )
        missing.append(np.asarray(chunk.is_null().to_numpy(zero_copy_only=False)) if chunk.null_count else None)
        parts.append(np.asarray((chunk.fill_null(0) if chunk.null_count else chunk).to_numpy(zero_copy_only=False)))
    made = np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint32)
    null = None
    if any(mask is not None for mask in missing):
        null = np.concatenate([
            np.zeros(len(part), dtype=bool) if mask is None else mask for part, mask in zip(parts, missing)
        ])  # fmt: skip
    # Which rows were selected, and in which order: there is no public name for it.
    if (selected := getattr(dataset, "_indices", None)) is not None:
        rows = selected.column(0).to_numpy()
        made, null = made[rows], null if null is None else null[rows]
    if null is not None and null.any():
        row = int(null.argmax())
        raise LengthsError(
            f"row {row} has no value in column {name!r}",
            hint=f"leave such rows out, as in `dataset.filter(lambda row: row[{name!r}] is not None)`",
            index=row,
        )
    return made


def _dataset_column(lengths: Any) -> np.ndarray | None:
    """A column of a Hugging Face dataset, which would read one row at a time."""
    datasets = sys.modules.get("datasets")
    column = getattr(datasets, "Column", None) or getattr(
        getattr(datasets, "arrow_dataset", None), "Column", None
    )
    if column is None or not isinstance(lengths, column):
        return None
    source, name = lengths.source, lengths.column_name
    if not hasattr(source, "with_format"):
        return None
    return dataset_column(source, name)
