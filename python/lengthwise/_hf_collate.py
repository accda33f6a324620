"""Padding to the planned batch length, whatever collator makes the batches.

Collators pad to the longest sequence of a batch. The planned length is that or more: the next rung of a ladder,
for example. Which fields grow with the length, on which side a collator pads and with what, is found by
collating two sequences of different lengths once. So it holds for the collators of Transformers and for a
function of the user's own.
"""

from __future__ import annotations

import contextlib
import copy
import random
import warnings
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from transformers import DefaultDataCollator, default_data_collator

from ._lengthwise import Lengths
from ._torch_collate import pad_collate, rounded_up
from .errors import LengthwiseWarning, SettingError, StateError

#: What fields are padded with where the collator does not say: any other field with 0.
VALUES = {"labels": -100, "label_ids": -100, "special_tokens_mask": 1}


class Padding(NamedTuple):
    """How a field is padded along one axis."""

    axis: int
    value: Any
    left: bool
    #: Whether its length is the second of two planned lengths.
    second: bool


class PlannedCollate:
    """Calls a collator and extends its batches to the planned length. Nothing is ever cut."""

    def __init__(
        self, collator: Callable[[Any], Any], fields: Mapping[str, Sequence[Padding]]
    ) -> None:
        self.collator = collator
        self.fields = fields

    def __call__(self, rows: Any) -> Any:
        if not len(rows):
            raise StateError(
                "a batch that the resumed run was to skip was asked for",
                hint="use a release of transformers that docs/reference/releases.md names",
            )
        batch = self.collator(rows)
        planned = getattr(rows, "length", None), getattr(rows, "second_length", None)
        for name, ways in self.fields.items():
            for way in ways:
                length = planned[way.second]
                if length is not None and name in batch:
                    batch[name] = _extended(batch[name], length, way)
        return batch


class PaddedRows(PlannedCollate):
    """Pads the items of a batch to the planned length, for a collator that does not pad."""

    def __init__(
        self,
        collator: Callable[[Any], Any],
        dataset: Any,
        lengths: Lengths,
        pairs: Sequence[tuple[int, int]],
        given: Mapping[str, Any],
        tokenizer: Any,
        accepts_mask: bool,
    ) -> None:
        super().__init__(collator, {})
        #: What fields are padded with, and which of them have the second length.
        self.values: dict[str, Any] = {}
        self.second: list[str] = []
        self.left = getattr(tokenizer, "padding_side", "right") == "left"
        rows = {index: _row(dataset, index) for pair in pairs for index in pair}
        first = next(iter(rows.values()))
        for name in first:
            for place, column in enumerate(_columns(lengths)):
                if all(
                    hasattr(row[name], "__len__")
                    and not isinstance(row[name], (str, bytes))
                    and len(row[name]) == column[index]
                    for index, row in rows.items()
                ):
                    self.values[name] = given[name] if name in given else _value(name, tokenizer)
                    self.second += [name] * place
                    break
        self.masks = "input_ids" in self.values and "attention_mask" not in first and accepts_mask
        if self.masks:
            self.values["attention_mask"] = 0

    def __call__(self, rows: Any) -> Any:
        planned = getattr(rows, "length", None), getattr(rows, "second_length", None)
        padded = [dict(row) for row in rows]
        for row in padded if self.masks else ():
            row["attention_mask"] = [1] * len(row["input_ids"])
        for name, value in self.values.items() if padded else ():
            own = [torch.as_tensor(row[name]) for row in padded]
            length = max([planned[name in self.second] or 0, *map(len, own)])
            for row, tensor in zip(padded, own):
                row[name] = _extended(tensor[None], length, Padding(1, value, self.left, False))[0]
        return super().__call__(padded)


def planned_collate(
    collator: Callable[[Any], Any],
    probe: Callable[[Any], Any],
    dataset: Any,
    lengths: Lengths,
    *,
    values: Mapping[str, Any] | None = None,
    tokenizer: Any = None,
    accepts_mask: bool = False,
) -> Callable[[Any], Any]:
    """A collator that pads to the planned length. ``probe`` is called in the place of ``collator`` to find out
    how it pads; ``values`` are used in the place of what it pads with."""
    plain = getattr(collator, "data_collator", collator)  # The Trainer wraps it to remove columns.
    if isinstance(plain, pad_collate):
        return collator  # It knows the planned length itself.
    pairs = _unequal(lengths)
    if not pairs:
        return PlannedCollate(collator, {})  # All sequences have one length, and so have all batches.
    given = dict(values or {})
    if plain is default_data_collator or isinstance(plain, DefaultDataCollator):
        return PaddedRows(collator, dataset, lengths, pairs, given, tokenizer, accepts_mask)
    multiple = getattr(plain, "pad_to_multiple_of", None) or 1
    try:
        with _same_randomness():
            fields = _learned(probe, dataset, lengths, pairs, multiple)
    except Exception as error:  # noqa: BLE001 - a collator of the user's own may raise anything
        fields, reason = {}, f"it raised {error!r} for two sequences of different lengths"
    else:
        reason = "none of its fields has the planned length"
    if not fields:
        warnings.warn(
            f"the collator pads to the longest sequence of a batch and not to the planned length: {reason}",
            LengthwiseWarning,
            stacklevel=4,
        )
    for name, ways in fields.items():
        ways[:] = [way._replace(value=given.get(name, way.value)) for way in ways]
    return PlannedCollate(collator, fields)


def _learned(
    probe: Callable[[Any], Any],
    dataset: Any,
    lengths: Lengths,
    pairs: Sequence[tuple[int, int]],
    multiple: int,
) -> dict[str, list[Padding]]:
    """Which fields have the planned length, and how they are padded."""
    columns = _columns(lengths)
    found = [_of_pair(probe, dataset, columns, pair, multiple) for pair in pairs]
    fields: dict[str, list[Padding]] = {}
    for key in found[0]:
        # A size that is a planned length by chance is one in one pair, and not in the others.
        ways = [ways[key] for ways in found if key in ways]
        if len(ways) == len(found):
            way = next((way for way in ways if way.value is not None), ways[0])
            fields.setdefault(key[0], []).append(way)
    return fields


def _of_pair(
    probe: Callable[[Any], Any],
    dataset: Any,
    columns: Sequence[np.ndarray],
    pair: tuple[int, int],
    multiple: int,
) -> dict[tuple[str, int, bool], Padding]:
    """How two sequences were padded, by field, axis, and whether it is the second length. The value is ``None``
    where the first sequence was not padded."""
    short, long = pair
    alone = probe([_row(dataset, short), _row(dataset, short)])
    both = probe([_row(dataset, short), _row(dataset, long)])
    if not isinstance(both, MutableMapping):
        raise TypeError(f"a batch is a {type(both).__name__} and not a dictionary")
    grown: dict[tuple[str, int, bool], int] = {}
    for name, tensor in both.items():
        if not isinstance(tensor, torch.Tensor) or tensor.ndim < 2 or name not in alone:
            continue
        for axis in range(1, tensor.ndim):
            sizes = tensor.shape[axis], alone[name].shape[axis]
            for second, column in enumerate(columns):
                own = int(column[short])
                if sizes == (rounded_up(max(own, int(column[long])), multiple), rounded_up(own, multiple)):
                    grown[name, axis, bool(second)] = own
    evidence = {
        name: _leftness(both[name][0], alone[name][0], axis - 1, own)
        for (name, axis, _), own in grown.items()
    }
    # Some fields are made by the collator, and partly at random: labels of masked tokens, for example. They are
    # padded on the side of the items' own fields.
    row = _row(dataset, short)
    items = [name for name in evidence if isinstance(row, Mapping) and name in row]
    most = max((evidence[name] for name in items or evidence), key=abs, default=0.0)
    ways = {}
    for (name, axis, second), own in grown.items():
        certain = name in items and abs(evidence[name]) >= 0.5
        left = (evidence[name] if certain else most) > 0
        value = None
        if both[name].shape[axis] > own:
            # If it was padded with several values, the outermost.
            value = both[name][0].select(axis - 1, 0 if left else -1).flatten()[0].item()
        ways[name, axis, second] = Padding(axis, value, left, second)
    return ways


def _leftness(padded: torch.Tensor, alone: torch.Tensor, axis: int, length: int) -> float:
    """From -1 to 1: how much more a row looks as if it was padded on the left, given the row without padding."""
    width, own = padded.shape[axis], alone.shape[axis]
    right = _share(alone.narrow(axis, 0, length), padded.narrow(axis, 0, length))
    left = _share(alone.narrow(axis, own - length, length), padded.narrow(axis, width - length, length))
    return left - right


def _share(row: torch.Tensor, kept: torch.Tensor) -> float:
    # Other axes can have grown as well, as in a mask of all pairs of positions.
    if row.shape != kept.shape:
        common = [slice(0, min(sizes)) for sizes in zip(row.shape, kept.shape)]
        row, kept = row[common], kept[common]
    return float((row == kept).float().mean())


def _value(name: str, tokenizer: Any) -> Any:
    if name in ("input_ids", "decoder_input_ids"):
        value = getattr(tokenizer, "pad_token_id", None)
        if value is None:
            raise SettingError(
                f"{name!r} has sequences of different lengths, and there is no token to pad with",
                hint='give the Trainer a `processing_class` with a `pad_token`, or name a value, as in '
                'batches={"budget": …, "padding_value": {"input_ids": 0}}',
            )
        return value
    if name == "token_type_ids":
        return getattr(tokenizer, "pad_token_type_id", 0)
    return VALUES.get(name, 0)


def _extended(tensor: Any, length: int, way: Padding) -> Any:
    missing = length - tensor.shape[way.axis]
    if missing <= 0:
        return tensor
    shape = list(tensor.shape)
    shape[way.axis] = missing
    filled = tensor.new_full(shape, 0 if way.value is None else way.value)
    return torch.cat([filled, tensor] if way.left else [tensor, filled], dim=way.axis)


def _unequal(lengths: Lengths) -> list[tuple[int, int]]:
    """Pairs of sequences of different lengths: the shortest and the longest, by each planned length."""
    pairs = []
    for column in _columns(lengths):
        short, long = int(column.argmin()), int(column.argmax())
        if column[short] < column[long]:
            pairs.append((short, long))
            # And one between: a size that is the same by chance is another there.
            middle = int(np.abs(column - (column[short] + column[long]) // 2).argmin())
            if column[short] < column[middle] < column[long]:
                pairs.append((short, middle))
    return pairs


def _columns(lengths: Lengths) -> list[np.ndarray]:
    """The lengths, and the second ones if there are any."""
    parts = [lengths] if lengths.second is None else [lengths, lengths.second]
    return [part.numpy().astype(np.int64) for part in parts]


def _row(dataset: Any, index: int) -> Any:
    row = dataset[index]
    return dict(row) if isinstance(row, Mapping) else row


def pads(probe: Callable[[Any], Any], dataset: Any) -> bool:
    """Whether a collator gives every sequence a row of its own, and not all of them one row."""
    try:
        with _same_randomness():
            batch = probe([_row(dataset, 0), _row(dataset, min(1, len(dataset) - 1))])
        tensors = [value for value in batch.values() if isinstance(value, torch.Tensor)]
    except Exception:  # noqa: BLE001 - a collator of the user's own may raise anything
        return False  # It is not known.
    return any(tensor.ndim > 1 and len(tensor) > 1 for tensor in tensors)


def copied(collator: Any) -> Any:
    """A collator that can be called without an effect on the other's random numbers."""
    try:
        return copy.copy(collator)
    except Exception:  # noqa: BLE001 - then the collator itself must do
        return collator


@contextlib.contextmanager
def _same_randomness() -> Iterator[None]:
    """Training draws the same numbers, whether a batch was collated before it or not; and what is drawn here
    is the same on every process."""
    kept, kept_by_numpy = random.getstate(), np.random.get_state()
    with torch.random.fork_rng(devices=[]):
        try:
            for seed in (torch.manual_seed, random.seed, np.random.seed):
                seed(0)
            yield
        finally:
            random.setstate(kept)
            np.random.set_state(kept_by_numpy)


