"""Batches as tensors: padded, or as rows that several sequences share."""

from __future__ import annotations

import functools
import operator
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import default_collate

from ._describe import described
from ._lengthwise import Plan
from ._torch_sampler import BatchSampler
from ._torch_stream import StreamBatches
from .errors import LengthsError, SettingError

#: The hint for items that are longer than planned.
REALLY = "give the real lengths of the items, with everything that is added to them"
#: The hint for a field that has the name of the lengths.
ANOTHER_NAME = 'give another name, as in `lengths="counts"`, or none'


class _Side(NamedTuple):
    """What the sampler knows of one of two lengths, whatever the batch."""

    #: What over-long items are cut to, if they are to be cut.
    top: int | None = None
    #: The longest that was planned.
    longest: int | None = None


class pad_collate:
    """Pads the sequences of a batch to its planned length.

    Items are tensors, arrays or lists of numbers; or dictionaries or tuples of them. ``field`` and the
    fields in ``like`` are padded to the planned length. Other sequences are stacked if they all have the same
    length, and otherwise padded to the longest of them; other values are collated as in PyTorch. The lengths
    are added as the last part, or under the key ``lengths``; second lengths come after them, or under the key
    ``second_lengths``.

    In batches of :func:`loader`, the planned length is exact, and longer items are refused. Elsewhere the plan
    of the batch is not known: the longest item is rounded up by the sampler's shapes. Items longer than any
    planned length are refused, and so are batches that exceed a budget of ``padded`` cells, if sequences have
    one length. Collate batches that are not from the sampler without it. For two lengths on a ladder, or cut
    by ``over_long="truncate"``, only the plan knows the batch length: use :func:`loader` for such batches.

    Args:
        sampler: The sampler of the batches, which has their shapes. By default, batches are padded to
            their longest item, or to the length that they were planned for if they know it.
        field: The field whose length was planned. By default, it is the first one that is a sequence.
        second: The field of the second of two planned lengths, such as the target of a translation, which is
            padded to its own planned length. By default, there is none.
        like: The fields that have the same length as ``field``. By default, these are the fields whose length
            is the same in every item of the batch.
        padding_value: The value of the padding: a number, or a dictionary with one for each field. The
            default is 0.
        lengths: The name of the field with the lengths, or ``None`` for no such field. The default is
            "lengths".
    """

    #: Whether sequences share rows, and what these come with.
    _packs = False
    _added: Sequence[str] = ()
    #: What the first position of every sequence is set to.
    first: Mapping[Any, Any] = {}

    def __init__(
        self,
        sampler: BatchSampler | None = None,
        *,
        field: str | int | None = None,
        second: str | int | None = None,
        like: Sequence[str | int] | None = None,
        padding_value: Any = 0,
        lengths: str | None = "lengths",
    ) -> None:
        self.field = field
        self.second = second
        self.like = like
        self.padding_value = padding_value
        self.lengths = lengths
        self.rungs: list[int] | None = None
        # What batch lengths are a multiple of.
        self.multiple = self.second_multiple = 1
        self._sides = [_Side(), _Side()]
        # Why the batch length cannot be known without the plan, if it cannot.
        self._unknown: str | None = None
        # How many cells a batch may have, as far as that is known without its plan.
        self._cells: int | None = None
        self._alone = False
        if sampler is not None:
            self._learn(checked_sampler(sampler, type(self).__name__))

    def _learn(self, sampler: BatchSampler) -> None:
        plan = sampler._plan_of(sampler.epoch)
        if plan.packed and not self._packs:
            raise SettingError(
                "the sequences of these batches share rows", hint="collate with `pack_collate`"
            )
        if self._packs and not plan.packed:
            raise SettingError(
                "every sequence of these batches has a row of its own",
                hint='plan with the strategy "packed", or collate with `pad_collate`',
            )
        if self.second is not None and plan.second_batch_lengths is None:
            raise SettingError(
                f"{self.second!r} is to be padded to a second length, and none was planned",
                hint="make the sampler with `second=`, a second length for each sequence",
            )
        settings, lengths = plan.settings, sampler.lengths
        truncates = settings["over_long"] == "truncate"
        shapes, _, second_shapes = settings["shapes"].partition("+")
        self.multiple, self.second_multiple = _multiple(shapes), _multiple(second_shapes or shapes)
        self._sides = [
            _Side(int(planned.max()) if truncates else None, column.max)
            for planned, column in (
                (plan.batch_lengths, lengths),
                (plan.second_batch_lengths, lengths.second),
            )
            if planned is not None and column is not None
        ]
        self.rungs = sampler.rungs
        self._cells, self._alone = _cells(plan), settings["over_long"] == "alone"
        if plan.second_batch_lengths is not None:
            if "ladder" in settings["shapes"]:
                self._unknown = "ladders of two lengths depend on each other"
            elif truncates:
                self._unknown = "how far one length is cut depends on the other"

    def __call__(self, rows: Sequence[Any]) -> Any:
        first = rows[0]
        columns = _columns(rows)
        self._check(columns)
        main = self._main(columns)
        if getattr(rows, "length", None) is None and self._unknown is not None:
            raise SettingError(
                f"{self._unknown}, and the planned length of this batch is not known",
                hint="make the loader with `lengthwise.torch.loader(dataset, sampler, collate_fn=…)`: its "
                "batches know",
            )
        padded: dict[Any, Any] = {}
        counts: dict[str, Any] = {}
        for place, key in enumerate([main] if self.second is None else [main, self.second]):
            prefix, side = "second_" if place else "", self._sides[place]
            multiple = self.second_multiple if place else self.multiple
            raw = [len(value) for value in columns[key]]
            planned = getattr(rows, f"{prefix}length", None)
            target = planned or self._rounded(max(raw), multiple, side.top)
            self._check_length(f"{prefix}length".replace("_", " "), max(raw), planned, side)
            if planned is None and not place:
                self._check_cells(len(rows), len(rows) * target)
            for each in [key] if place else columns:
                padded[each] = self._column(each, columns[each], key, raw, target)
            counts[f"{prefix}{self.lengths}"] = torch.tensor([min(length, target) for length in raw])
        if isinstance(first, Mapping):
            return {**padded, **(counts if self.lengths else {})}
        parts = (*padded.values(), *(counts.values() if self.lengths else ()))
        return parts if isinstance(first, tuple) or len(parts) > 1 else parts[0]

    def _check_length(self, name: str, length: int, planned: int | None, side: _Side) -> None:
        most = planned or side.longest
        if most is not None and length > most and side.top is None:
            raise LengthsError(
                f"an item has {name} {length}, but its batch was planned for at most {most}", hint=REALLY
            )

    def _check_cells(self, items: int, cells: int) -> None:
        if self._cells is None or cells <= self._cells or (self._alone and items == 1):
            return
        raise LengthsError(
            f"the batch would have {cells} cells, and the budget is {self._cells}: its {items} items are "
            "longer than planned",
            hint=f"{REALLY}; batches that are not the sampler's are collated without it",
        )

    def _check(self, columns: Mapping[Any, Any]) -> None:
        named = self.padding_value if isinstance(self.padding_value, Mapping) else {}
        given = [name for name in (self.field, self.second) if name is not None]
        for name in [*named, *(self.like or ()), *given, *self.first]:
            if name not in columns:
                raise SettingError(
                    f"the items have no field {name!r}",
                    hint=f"their fields are {', '.join(map(repr, columns))}",
                )
        added = dict.fromkeys(self._added, "leave it out: it is made anew for the row")
        if self.lengths is not None:
            names = [self.lengths] if self.second is None else [self.lengths, f"second_{self.lengths}"]
            added = {**dict.fromkeys(names, ANOTHER_NAME), **added}
        for name, hint in added.items():
            if name in columns:
                raise SettingError(f"the items have a field {name!r} of their own", hint=hint)

    def _main(self, columns: Mapping[Any, Sequence[Any]]) -> Any:
        if self.field is not None:
            return self.field
        for key, values in columns.items():
            if _is_sequence(values[0]):
                return key
        raise LengthsError(
            "the items have no field that is a sequence",
            hint="give tensors, arrays or lists of numbers, or name the `field`",
        )

    def _rounded(self, longest: int, multiple: int, top: int | None = None) -> int:
        if top is not None:
            longest = min(longest, top)
        if self.rungs:
            return next((rung for rung in self.rungs if rung >= longest), longest)
        rounded = rounded_up(longest, multiple)
        return rounded if top is None else min(rounded, top)

    def _column(self, key: Any, values: list[Any], main: Any, raw: list[int], target: int) -> Any:
        tensors, others = _tensors(values)
        if tensors is None:
            return others
        own = [len(tensor) for tensor in tensors]
        if not (own == raw if self.like is None else key in (*self.like, main)):
            target = max(own)
        widest = next((tensor for tensor in tensors if len(tensor)), tensors[0])
        padded = self._full(key, tensors, (len(tensors), target, *widest.shape[1:]))
        for row, tensor in enumerate(tensors):
            padded[row, : min(len(tensor), target)] = tensor[:target]
        return padded

    def _full(
        self, key: Any, tensors: Sequence[torch.Tensor], shape: tuple[int, ...]
    ) -> torch.Tensor:
        """Padding of a type that all values of a field can have."""
        # Rows without anything say nothing about the type of the others.
        kinds = [tensor.dtype for tensor in tensors if len(tensor)] or [tensors[0].dtype]
        kind = functools.reduce(torch.promote_types, kinds)
        value = self.padding_value
        value = value.get(key, 0) if isinstance(value, Mapping) else value
        return torch.full(shape, _among(value, kind, "padding_value"), dtype=kind)


@described(pad_collate, but=("second",))
class pack_collate(pad_collate):
    """Puts the sequences of a batch into one row, one after another: what attention of variable length
    takes, as ``flash_attn_varlen_func`` does.

    Items are those of :class:`pad_collate`. ``field``, and the fields in ``like``, become rows of shape
    ``(1, length, …)``; others are collated as PyTorch does, or stay lists. Without ``like``, fields
    whose lengths differ from item to item must be as long: others are refused, for labels that are one
    shorter would lie beside other tokens. ``like=[]`` leaves all but the first as they are. Added are, for
    dictionaries by these names, and otherwise as last parts in this order:

    - ``lengths``: that of each sequence (``lengths=None`` leaves them out),
    - ``position_ids``, of shape ``(1, length)``: they begin at 0 in every sequence,
    - ``cu_seqlens``, of type ``int32``: where each sequence begins, and the end,
    - ``max_seqlen``: the longest, a number.

    Items that are neither dictionaries nor tuples come as a dictionary with the row as ``input_ids``.

    Where the row was planned to be longer than its sequences, it is filled with ``padding_value``. What is
    filled counts as one more sequence in ``position_ids``, ``cu_seqlens`` and ``max_seqlen``, and not in
    ``lengths``: so no position is without a result, and no sequence sees it.

    Args:
        sampler: The sampler of the batches, which has their shapes. By default, a row is as long as its
            sequences, or as it was planned if the batch knows that.
        like: The other fields that become rows. By default, these are the ones that are as long as ``field``
            in every item of the batch.
        first: What the first position of every sequence is set to, for each field that is named, as in
            ``first={"labels": -100}``: a model that shifts labels itself would otherwise learn to say the
            beginning of the next sequence. By default, nothing is set.
    """

    _packs = True
    #: What the row comes with.
    _added = ("position_ids", "cu_seqlens", "max_seqlen")

    def __init__(
        self,
        sampler: BatchSampler | None = None,
        *,
        field: str | int | None = None,
        like: Sequence[str | int] | None = None,
        padding_value: Any = 0,
        first: Mapping[str | int, Any] | None = None,
        lengths: str | None = "lengths",
    ) -> None:
        super().__init__(
            sampler, field=field, like=like, padding_value=padding_value, lengths=lengths
        )
        if lengths in self._added:
            raise SettingError(
                f"the lengths would have the name {lengths!r}, which is a field of the row itself",
                hint=ANOTHER_NAME,
            )
        self.first = dict(first or {})

    def __call__(self, rows: Sequence[Any]) -> Any:
        columns = _columns(rows)
        plain = not isinstance(rows[0], (Mapping, tuple))
        if plain:
            columns = {"input_ids": columns[0]}
        self._check(columns)
        main, side = self._main(columns), self._sides[0]
        raw = own = [len(value) for value in columns[main]]
        # An over-long sequence has a row of its own, and may have to be cut to it.
        planned = getattr(rows, "length", None)
        if side.top is not None:
            own = [min(length, planned or side.top) for length in raw]
        total = sum(own)
        # A row of several sequences may be as long as the capacity.
        target = planned or self._rounded(total, self.multiple)
        if total > target:
            raise LengthsError(
                f"the items have length {total} together, and their row was planned for {target}",
                hint=REALLY,
            )
        if planned is None:
            self._check_length("length", max(raw), None, side)
            self._check_cells(len(rows), target)
        packed = {
            key: self._row(key, values, main, raw, own, target) for key, values in columns.items()
        }
        added = {
            **({self.lengths: torch.tensor(own)} if self.lengths else {}),
            "position_ids": position_ids(own, target)[None],
            "cu_seqlens": cu_seqlens(own, target),
            "max_seqlen": max(*own, target - total),
        }
        if plain or isinstance(rows[0], Mapping):
            return {**packed, **added}
        return (*packed.values(), *added.values())

    def _row(
        self, key: Any, values: list[Any], main: Any, raw: list[int], own: list[int], target: int
    ) -> Any:
        tensors, others = _tensors(values)
        if tensors is None:
            return self._beside(key, others)
        lengths = [len(tensor) for tensor in tensors]
        if self.like is not None:
            beside = key not in (*self.like, main)
        else:  # The same from every item, as what is known about a speaker.
            beside = lengths != raw and len({*lengths}) == 1
        if beside:
            return self._beside(key, tensors)
        if lengths != raw:
            item = next(item for item, length in enumerate(raw) if lengths[item] != length)
            raise LengthsError(
                f"item {item} of the batch has {lengths[item]} of {key!r} and {raw[item]} of {main!r}: "
                "their positions in the row would not match",
                hint="make them as long; or name in `like` the fields that go into the row, and others "
                "stay lists",
            )
        row = self._full(key, tensors, (1, target, *tensors[0].shape[1:]))
        place = 0
        for tensor, length in zip(tensors, own):
            row[0, place : place + length] = tensor[:length]
            if key in self.first and length:
                row[0, place] = _among(self.first[key], row.dtype, "first")
            place += length
        return row

    def _beside(self, key: Any, values: Any) -> Any:
        """A field that does not go into the row."""
        if key in self.first:
            raise SettingError(
                f"`first` names {key!r}, which does not go into the row",
                hint="make it as long as the field that is packed, and name it in `like` if that is given; "
                "or leave it out of `first`",
            )
        return values


def cu_seqlens(lengths: Sequence[int], padded_to: int | None = None) -> torch.Tensor:
    """Where each sequence of a packed row begins, and the end: 0, and the sums of the ``lengths`` so far.
    What a row of length ``padded_to`` has beyond them counts as one more sequence.

    >>> cu_seqlens([3, 4], 10)
    tensor([ 0,  3,  7, 10], dtype=torch.int32)
    """
    pieces = _pieces(lengths, padded_to)
    if sum(pieces) >= 2**31:
        raise LengthsError(
            f"the row has length {sum(pieces)}, which does not fit in `int32`", hint="make rows shorter than 2**31"
        )
    return torch.tensor([0, *np.cumsum(pieces)], dtype=torch.int32)


def position_ids(lengths: Sequence[int], padded_to: int | None = None) -> torch.Tensor:
    """The positions of a packed row of sequences of these ``lengths``: they begin at 0 in every sequence,
    and in what a row of length ``padded_to`` has beyond them.

    >>> position_ids([3, 2], 6)
    tensor([0, 1, 2, 0, 1, 0])
    """
    return torch.cat([torch.arange(length) for length in _pieces(lengths, padded_to)])


def _pieces(lengths: Sequence[int], padded_to: int | None) -> list[int]:
    pieces = [operator.index(length) for length in lengths]
    if not pieces:
        raise LengthsError("a row has no sequences", hint="give the length of each sequence of the row")
    for index, length in enumerate(pieces):
        if length < 0:
            raise LengthsError(
                f"sequence {index} has length {length}", hint="lengths are whole numbers", index=index
            )
    beyond = 0 if padded_to is None else padded_to - sum(pieces)
    if beyond < 0:
        raise LengthsError(
            f"the sequences have length {sum(pieces)} together, and their row {padded_to}",
            hint="give the length of the whole row",
        )
    return [*pieces, *([beyond] if beyond else [])]


def _columns(rows: Sequence[Any]) -> dict[Any, list[Any]]:
    """The items of a batch field by field."""
    first = rows[0]
    if isinstance(first, Mapping):
        return {key: [row[key] for row in rows] for key in first}
    if isinstance(first, tuple):
        return {place: list(values) for place, values in enumerate(zip(*rows))}
    return {0: list(rows)}


def _tensors(values: list[Any]) -> tuple[list[torch.Tensor] | None, Any]:
    """The sequences of a field; or what becomes of its values if they are none."""
    if not _is_sequence(values[0]):
        return None, default_collate(values)
    try:
        return [_tensor(value) for value in values], None
    except (TypeError, ValueError):
        return None, values  # Words, say.


def _tensor(value: Any) -> torch.Tensor:
    # PyTorch warns of arrays that cannot be written to, such as those in the memory that Ray's processes share.
    shared = isinstance(value, np.ndarray) and not value.flags.writeable
    return torch.as_tensor(value.copy() if shared else value)


def _among(value: Any, kind: torch.dtype, name: str) -> Any:
    """A value that can be among those of a type."""
    try:
        fits = _fits(value, kind)
    except (TypeError, ValueError, RuntimeError):
        fits = False  # It is not a number.
    if not fits:
        raise SettingError(
            f"{value} cannot be among values of {kind}", hint=f"choose another `{name}`"
        )
    return value


def _fits(value: Any, kind: torch.dtype) -> bool:
    given = torch.as_tensor(value, dtype=torch.float64 if isinstance(value, float) else None)
    if given.ndim or (given.is_complex() and not kind.is_complex):
        return False
    if kind.is_floating_point or kind.is_complex:
        # It is rounded as all others are, but is not made infinite.
        return bool(given.to(kind).isfinite() == given.isfinite())
    return bool(given.to(kind).item() == value)


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    return getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")


def checked_sampler(sampler: Any, name: str) -> BatchSampler:
    if isinstance(sampler, BatchSampler):
        return sampler
    if isinstance(sampler, StreamBatches):
        hint = f"leave it out, as in `{name}()`: batches of a stream know their lengths"
    else:
        hint = "give a `lengthwise.torch.BatchSampler`"
    raise SettingError(f"`{name}` needs a sampler, and a {type(sampler).__name__} is not one", hint=hint)


def _multiple(shapes: str) -> int:
    """What batch lengths are a multiple of."""
    name, _, value = shapes.partition(":")
    return int(value) if name == "multiple" else 1


def rounded_up(length: int, multiple: int) -> int:
    return -(-length // multiple) * multiple


def _cells(plan: Plan) -> int | None:
    """The most cells that a batch can have, if they are what the budget limits."""
    name, _, limits = plan.settings["budget"].partition(":")
    limit = limits.partition(",")[0]
    if name != "padded" or not limit.isdigit() or plan.second_batch_lengths is not None:
        return None
    return int(limit)
