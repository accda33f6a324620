"""Padded batches of fixed shapes as NumPy arrays, for JAX or for code without a framework.

>>> for batch in batches(data, lw.plan(lengths, budget="padded:20000")):  # doctest: +SKIP
...     step(batch.values, batch.lengths)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from . import LengthsError, Plan, SettingError

__all__ = ["PaddedBatch", "batches", "shapes"]

Key = TypeVar("Key")


class PaddedBatch(NamedTuple):
    """A padded batch. Rows beyond its sequences have length 0 and index -1.

    Attributes:
        values: The padded values, of shape (rows, batch length, …).
        lengths: The length of each row.
        indices: The index of the sequence in each row.
    """

    values: np.ndarray
    lengths: np.ndarray
    indices: np.ndarray


def shapes(plan: Plan) -> dict[int, int]:
    """The number of rows for each batch length: the size of the largest batch of that length.

    Args:
        plan: The plan.
    """
    return _largest(plan.batch_lengths.tolist(), plan)


def _largest(keys: Iterable[Key], plan: Plan) -> dict[Key, int]:
    """The size of the largest of the batches that have each key."""
    rows: dict[Key, int] = {}
    for key, size in zip(keys, plan.batch_sizes.tolist()):
        rows[key] = max(rows.get(key, 0), size)
    return rows


def batches(
    data: Sequence[Any],
    plan: Plan,
    *,
    padding_value: Any = 0,
    full: bool = True,
    dtype: Any = None,
    second: bool = False,
) -> Iterator[PaddedBatch]:
    """Pads the batches of a plan, and yields them one by one.

    The sequences of a plan have one dtype and one shape beyond their length, so that a compiler sees
    each batch length once. A sequence that is longer than planned is refused. One that is shorter gets
    more padding. Only sequences in ``plan.truncated`` are cut to their batch length.

    Args:
        data: The sequences, in the order of the planned lengths: arrays, or lists of numbers, whose
            first dimension is the length.
        plan: The plan. Its strategy must not be ``packed``.
        padding_value: The value of the padding: a number, or an array with the shape that the
            sequences have beyond their length. The dtype must be able to hold it.
        full: Whether all batches of one length have the same number of rows. The default is true; the
            rows beyond the sequences hold padding. If false, a batch has a row for each sequence.
        dtype: The dtype of the values. By default it is the dtype of the sequences, which must then be
            the same for all of them. If you give one, every sequence is converted to it. A value that it
            cannot hold is refused; floats are rounded.
        second: Whether ``data`` are the second sequences of a plan of two lengths. Both sides have the
            same rows: ``zip(batches(sources, plan), batches(targets, plan, second=True))``.
    """
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
    lengths, batch_lengths = plan.lengths, plan.batch_lengths
    if second:
        if plan.second_lengths is None or plan.second_batch_lengths is None:
            raise SettingError(
                "`second` is true, and the plan has one length for each sequence",
                hint="leave `second` out, or plan with a second length, as in `plan(…, second=lengths)`",
            )
        lengths, batch_lengths = plan.second_lengths, plan.second_batch_lengths
    sequences = _Sequences(data, lengths, None if dtype is None else _checked_dtype(dtype))
    return _padded(sequences, plan, batch_lengths.tolist(), padding_value, full)


def _padded(
    sequences: _Sequences, plan: Plan, batch_lengths: list[int], padding_value: Any, full: bool
) -> Iterator[PaddedBatch]:
    # Both sides of a plan of two lengths have the same rows.
    second = plan.second_batch_lengths
    beside = batch_lengths if second is None else second.tolist()
    keys = list(zip(plan.batch_lengths.tolist(), beside))
    rows = _largest(keys, plan)
    for batch, key, length in zip(plan, keys, batch_lengths):
        read = [sequences.read(index) for index in batch.tolist()]
        count = rows[key] if full else len(read)
        shape, dtype = sequences.shape, sequences.dtype
        values = np.empty((count, length, *shape), dtype=dtype)
        values[...] = _padding(padding_value, shape, dtype)
        lengths = np.zeros(count, dtype=np.int32)
        indices = np.full(count, -1, dtype=np.int64)
        indices[: len(read)] = batch
        for row, sequence in enumerate(read):
            # What is longer is to be truncated: others were refused.
            lengths[row] = min(len(sequence), length)
            values[row, : lengths[row]] = sequence[:length]
        yield PaddedBatch(values, lengths, indices)


class _Sequences:
    """The sequences of a plan as arrays of one dtype and one shape beyond their length."""

    def __init__(
        self, data: Sequence[Any], lengths: np.ndarray, dtype: np.dtype[Any] | None
    ) -> None:
        self._data, self._lengths, self._given = data, lengths, dtype
        # The first sequence that was read and is not empty decides.
        self._first: int | None = None
        self.dtype = np.dtype(np.float64) if dtype is None else dtype
        self.shape: tuple[int, ...] = ()

    def read(self, index: int) -> np.ndarray:
        sequence = _array(self._data[index], index)
        planned = int(self._lengths[index])
        if len(sequence) > planned:
            raise LengthsError(
                f"sequence {index} has length {len(sequence)}, and length {planned} was planned",
                hint="plan with the lengths that the sequences have, in the same order",
                index=index,
            )
        if not len(sequence):
            # It says nothing about the others.
            return np.empty((0, *self.shape), self.dtype)
        if self._first is None:
            self._first, self.shape = index, sequence.shape[1:]
            self.dtype = sequence.dtype if self._given is None else self._given
        if sequence.shape[1:] != self.shape:
            raise LengthsError(
                f"sequence {index} has shape {sequence.shape[1:]} beyond its length, and sequence "
                f"{self._first} has {self.shape}",
                hint="give all sequences the same shape but for their length",
                index=index,
            )
        if sequence.dtype == self.dtype:
            return sequence
        common = _common(sequence.dtype, self.dtype)
        if self._given is None:
            raise LengthsError(
                f"sequence {index} is of {sequence.dtype}, and sequence {self._first} of {self.dtype}",
                hint=f'give one dtype for all, as in dtype="{common}"',
                index=index,
            )
        made, fits = _cast(sequence, self.dtype)
        if not fits.all():
            raise LengthsError(
                f"sequence {index} has a value of {sequence[~fits].flat[0]}, which {self.dtype} cannot hold",
                hint=f'choose another dtype, as in dtype="{common}"',
                index=index,
            )
        return made


def _asarray(value: Any) -> np.ndarray:
    try:
        return np.asarray(value)
    except ValueError:  # Lists of several lengths, say.
        return np.asarray(None)


def _array(item: Any, index: int) -> np.ndarray:
    made = _asarray(item)
    if made.ndim and (_holds_numbers(made.dtype) or not len(made)):
        return made
    what = f"an array of {made.dtype}" if made.ndim else f"a {type(item).__name__}"
    raise LengthsError(
        f"sequence {index} is {what}, not an array of numbers",
        hint="give arrays, or lists of numbers, whose first dimension is the length",
        index=index,
    )


def _holds_numbers(dtype: np.dtype[Any]) -> bool:
    # Types of other packages, such as `bfloat16`, are of the kind "V", as records are.
    return dtype.kind in "biufc" or (dtype.kind == "V" and dtype.type is not np.void)


def _checked_dtype(dtype: Any) -> np.dtype[Any]:
    try:
        made: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        made = np.dtype(object)
    if not _holds_numbers(made):
        raise SettingError(
            f"`dtype` is {dtype!r}, which is not a numeric type", hint='give one, as in dtype="float32"'
        )
    return made


def _common(one: np.dtype[Any], other: np.dtype[Any]) -> np.dtype[Any]:
    try:
        return np.promote_types(one, other)
    except TypeError:
        return np.dtype(np.float32)


def _padding(value: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """The padding value, if a dtype can hold it."""
    given = _asarray(value)
    if not _holds_numbers(given.dtype) or given.shape not in ((), shape):
        raise SettingError(
            f"`padding_value` is {value!r}, and the sequences have shape {shape} beyond their length",
            hint="give a number, or an array of that shape",
        )
    made, fits = _cast(given, dtype)
    if not np.all(fits):
        raise SettingError(
            f"`padding_value` is {value!r}, and the sequences are of {dtype}, which cannot hold it",
            hint="choose another `padding_value`, or give a `dtype` that can hold it",
        )
    return made


def _cast(values: np.ndarray, dtype: np.dtype[Any]) -> tuple[np.ndarray, np.ndarray]:
    """The values in another dtype, and which of them it can hold: whole numbers exactly, floats
    rounded, but a finite number does not become infinite."""
    if values.dtype == dtype:
        return values, np.ones(values.shape, bool)
    with np.errstate(all="ignore"):
        if values.dtype.kind == "c" and dtype.kind != "c":
            imaginary, values = values.imag != 0, values.real
            made, fits = _cast(values, dtype)
            return made, fits & ~imaginary
        made = values.astype(dtype)
        if dtype.kind not in "biu":
            return made, np.isfinite(made) == np.isfinite(values)
        fits = (made.astype(values.dtype) == values) & ((made < 0) == (values < 0))
        if values.dtype.kind not in "biu" and dtype.kind != "b":
            # What a float beyond the range becomes differs between processors.
            wide = values.astype(np.float64)
            ends = np.iinfo(dtype)
            fits &= (wide >= float(ends.min)) & (wide < float(int(ends.max) + 1))
        return made, fits
