"""Streams in the Hugging Face ``Trainer``: batches of an ``IterableDataset``, in training and in evaluation.

Every process reads the whole stream and returns its own batches, so Accelerate has nothing to divide, and the loaders
are not prepared by it. Each batch brings the state of the stream after it: a checkpoint holds the state after the
last batch that was trained on, however far workers and the Trainer have read ahead.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, IterableDataset

from ._hf_batches import of_each
from ._private import is_split_by_node
from ._torch_stream import StreamBatches, made_state
from .errors import LengthsError, SettingError

#: How many items are read to find out how a collator pads: those of the first lengths, among so many.
SAMPLES, SAMPLED = 16, 4096


def is_stream(dataset: Any) -> bool:
    """Whether items come one after another, without an index."""
    return any(kind.__name__ == "IterableDataset" for kind in type(dataset).__mro__)


class ColumnLength:
    """The length of an item, by one of its fields: a number, or a sequence."""

    def __init__(self, column: str) -> None:
        self.column = column

    def __call__(self, item: Mapping[str, Any]) -> int:
        value = item[self.column]
        whole = isinstance(value, int) or getattr(value, "ndim", 1) == 0
        return operator.index(value) if whole else len(value)


def length_in(dataset: Any, column: str | None, usual: Iterable[str]) -> ColumnLength:
    """The length of an item, by a column, or by the first of the usual ones that it has."""
    fields = getattr(dataset, "column_names", None)
    if fields is None:  # They are not known before an item is read.
        item: Any = next(iter(dataset), {})
        fields = list(item) if isinstance(item, Mapping) else []
    column = column or next((name for name in usual if name in fields), None)
    if column not in fields:
        raise LengthsError(
            f"the items of the stream have no field {column!r}" if column else "no field of the stream holds lengths",
            hint="give `length`, a function of an item, or name the `column`"
            + (f": one of {', '.join(map(str, fields))}" if fields else ""),
        )
    return ColumnLength(str(column))


def check_whole(dataset: Any, settings: Mapping[str, Any], world_size: int) -> None:
    """Refuses a dataset of which every process has another part."""
    if world_size > 1 and settings.get("pivot") != "quantile" and is_split_by_node(dataset):
        raise SettingError(
            "the dataset is split by node, and every process reads the whole stream to return its own batches of it",
            hint="leave `split_dataset_by_node` out, or give `pivot=\"quantile\"`, with which every process plans its "
            "own stream",
        )


def samples(dataset: Any, length: Callable[[Any], Any]) -> tuple[list[Any], list[int]]:
    """A few items of different lengths from the beginning of a stream, and their lengths."""
    found: dict[int, Any] = {}
    for item in islice(iter(dataset), SAMPLED):
        own = length(item)
        if isinstance(own, int):
            found.setdefault(own, item)
        if len(found) == SAMPLES:
            break
    return list(found.values()), list(found)


class _Noted(IterableDataset[Any]):
    """The batches of a stream, each with the state after it and the positions that all ranks have in its step."""

    def __init__(self, stream: StreamBatches) -> None:
        super().__init__()
        self.stream = stream

    def __iter__(self) -> Iterator[Any]:
        running: Any = iter(self.stream)
        for batch in running:
            yield batch, running.state(), running._step_positions


class _Collated:
    """Collates the batch, and leaves what was noted alone."""

    def __init__(self, collator: Callable[[Any], Any]) -> None:
        self.collator = collator

    def __call__(self, noted: Any) -> tuple[Any, ...]:
        batch, *others = noted
        return self.collator(batch), *others


class StreamLoader(DataLoader[Any]):
    """The batches of this process over a stream.

    An optimizer step has as many batches at the end of an epoch as elsewhere: those that are missing are the first of
    the next epoch, which then begins after them. The Trainer would add what is left of an epoch to the first step of
    the next one, and lose it in a checkpoint.

    Args:
        stream: The stream.
        collator: What makes a batch of items.
        accumulate: How many batches an optimizer step has, which the Trainer reads before it trains on them.
        options: Other options of the loader.
    """

    def __init__(
        self, stream: StreamBatches, collator: Callable[[Any], Any], *, accumulate: int = 1, **options: Any
    ) -> None:
        super().__init__(_Noted(stream), batch_size=None, collate_fn=_Collated(collator), **options)
        self.stream, self.accumulate = stream, accumulate
        # The states after the last batches of this epoch, by how many of it were given out.
        self._states: deque[tuple[int, dict[str, Any]]] = deque(maxlen=accumulate + 1)
        # What is left of an epoch that has begun to complete a step of the one before.
        self._rest: Iterator[Any] | None = None
        #: What happens to the positions of a step when its batch is given out.
        self.on_step: Callable[[list[list[int]]], None] | None = None

    def set_epoch(self, epoch: int) -> None:
        if self._rest is None or epoch != self.stream.epoch:
            self._rest = None
            self.stream.set_epoch(epoch)

    def state_after(self, batches: int) -> dict[str, Any]:
        """The state after so many batches of this epoch."""
        for number, state in self._states:
            if number == batches:
                return state
        return self.stream.state_dict(batches=batches)  # The stream is read again up to there.

    def __iter__(self) -> Any:
        rest, self._rest = self._rest, None
        before = [(0, state) for _, state in islice(reversed(self._states), 1) if rest is not None]
        self._states.clear()
        self._states.extend(before)
        given, borrows = 0, False
        while True:
            batches = self._noted() if rest is None else rest
            rest, found = None, False
            for batch, state, positions in batches:
                given, found = given + 1, True
                self._states.append((given, state))
                if self.on_step is not None:
                    self.on_step(positions)
                if borrows and given % self.accumulate == 0:
                    self._rest = batches
                yield batch
                if self._rest is not None:
                    return
            if given % self.accumulate == 0 or not found:
                return
            self.stream.set_epoch(self.stream.epoch + 1)
            borrows = True

    def _noted(self) -> Iterator[Any]:
        """The batches of an epoch of the stream, with the states after them and the positions of all ranks."""
        batches = super().__iter__()
        # One batch ahead: which is the last must be known when it is trained on, because a checkpoint after it
        # goes on with the next epoch.
        following = next(batches, None)
        while following is not None:
            batch, state, positions = following
            following = next(batches, None)
            yield batch, made_state(state, following is None), positions


class StreamedEvaluation:
    """Which positions of a stream each process has at each step of an evaluation, as it goes."""

    def __init__(self, world_size: int) -> None:
        self.world_size = world_size
        self.sizes: list[int] = []
        self.positions: list[int] = []

    def begin(self) -> None:
        self.sizes.clear()
        self.positions.clear()

    def step(self, positions: list[list[int]]) -> None:
        self.sizes += map(len, positions)
        self.positions += [position for own in positions for position in own]

    def in_order(self, results: Any) -> Any:
        """Results in the order of the stream, each item once: with fewer items than processes, some have the same."""
        _, places = np.unique(self.positions, return_index=True)

        def ordered(part: Any) -> Any:
            whole = isinstance(part, np.ndarray) and part.ndim and len(part) == len(self.positions)
            return part[places] if whole else part

        return of_each(results, ordered)
