"""Batches for PyTorch: one line in a training script.

>>> from lengthwise.torch import BatchSampler
>>> sampler = BatchSampler(lengths, budget="padded:20000")  # doctest: +SKIP
>>> loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)  # doctest: +SKIP

It is the same object in ``DataLoader``, ``StatefulDataLoader``, Lightning and plain DDP; give
``rank="all"`` where a framework deals the batches to the ranks itself, as Accelerate does.
"""

from __future__ import annotations

import json
import operator
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    DistributedSampler,
    Sampler,
    default_collate,
)

from . import (
    Lengths,
    LengthsError,
    LengthwiseWarning,
    Plan,
    Planner,
    RankError,
    SettingError,
    StateError,
)
from ._checks import check_settings, checked_epoch
from ._ranks import find_ranks, given_ranks
from ._torch_stream import StreamBatches

__all__ = [
    "Batch",
    "BatchSampler",
    "StreamBatches",
    "cu_seqlens",
    "loader",
    "pack_collate",
    "pad_collate",
    "position_ids",
]

VERSION = 1
#: What batch samplers of PyTorch are made with.
SIZES = ("batch_size", "drop_last")
#: What to do about items that are longer than was said.
REALLY = "give the lengths that the items really have, with all that is added to them"


class Batch(list[int]):
    """The indices of a batch, and what it is padded to."""

    __slots__ = ("length", "second_length")

    length: int
    #: What the second lengths are padded to; ``None`` if sequences have one length.
    second_length: int | None

    def __init__(
        self, indices: Sequence[int], length: int, second_length: int | None = None
    ) -> None:
        super().__init__(indices)
        self.length, self.second_length = length, second_length

    def __reduce__(self) -> tuple[Any, ...]:
        return (Batch, (list(self), self.length, self.second_length))


class BatchSampler(Sampler[list[int]]):
    """The batches of one rank, epoch after epoch: lists of indices for ``DataLoader(batch_sampler=…)``.

    ``lengths`` and the settings are those of :class:`lengthwise.Planner`, of which ``budget`` must be
    given, unless the strategy is ``packed`` with a capacity. Every rank takes the same number of batches, and every epoch has as many
    (``constant_steps=False`` leaves that out): most trainers ask for ``len`` once.

    ``second`` is a second length for each sequence, if there are two: a target for each source, tokens
    for frames. Batches then have little padding in both, and a ``second_length``.

    ``rank`` and ``world_size`` are found out if they are not given: from ``torch.distributed`` if it
    is initialised, then from the variables that torchrun, mpirun and srun set. With ``rank="all"``
    the batches of all ranks come step by step, for frameworks that deal them to the ranks in turn.

    ``set_epoch`` chooses the epoch; whoever does not call it gets the next epoch with every new
    iteration. ``dataset`` is only asked for its length, which must be that of ``lengths``.
    """

    #: Batches differ in size: frameworks must not cut or fill them.
    batch_size = None
    drop_last = False

    def __init__(
        self,
        lengths: Any,
        strategy: str | None = None,
        *,
        second: Any = None,
        budget: str | int | None = None,
        rank: int | Literal["all"] | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        dataset: Any = None,
        constant_steps: bool = True,
        **settings: Any,
    ) -> None:
        # Lightning gives these two to samplers that it makes anew: what is said below is for it.
        named = [name for name in settings if budget is not None or name not in SIZES]
        check_settings("BatchSampler", named, BatchSampler, Planner)
        if budget is None and not (strategy or "").startswith("packed:"):
            if strategy == "packed":
                raise SettingError(
                    "there is no budget, and rows have no other length",
                    hint='say how long a row may be, as in "packed:capacity=4096"',
                )
            raise SettingError(
                "there is no budget, and batches have no other size",
                hint='give one, as in budget="padded:20000"; where Lightning makes samplers anew, in '
                "`predict` and with `overfit_batches`, use a plain DataLoader",
            )
        lengths = Lengths(lengths, second)
        _check_dataset(dataset, lengths)
        self._settings = {
            "strategy": strategy, "budget": budget, "constant_steps": constant_steps, **settings
        }  # fmt: skip
        self._planner = Planner(lengths, **self._settings)
        self._given = given_ranks(rank, world_size)
        # The next iteration is of this epoch if it was chosen since the last one began, and otherwise
        # of the one after it.
        self._epoch = checked_epoch(epoch)
        self._chosen = True
        self._resumed: dict[str, Any] | None = None
        self._running: _Running | None = None
        self._planned: Plan | None = None
        # How many batches a rank takes in this epoch on so many ranks: loaders ask often.
        self._counted: tuple[tuple[int, int], int] | None = None
        len(self)  # What cannot be dealt to the ranks is refused here, and not when training begins.

    # What frameworks look for: the epoch is passed on to `.sampler` or `.batch_sampler` by some.

    @property
    def sampler(self) -> BatchSampler:
        return self

    @property
    def batch_sampler(self) -> BatchSampler:
        return self

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or began last."""
        return self._epoch

    @property
    def lengths(self) -> Lengths:
        """The lengths that are planned."""
        return self._planner.lengths

    @property
    def rungs(self) -> list[int] | None:
        """The batch lengths of the ladder; ``None`` if the shapes are no ladder."""
        return self._planner.rungs

    @property
    def plan(self) -> Plan:
        """The batches of this rank in the epoch that was chosen, or began last. After a resume, those
        from the step on that it goes on in."""
        return self._current().plan

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration. The epoch that a loaded state is in goes on where
        it stood; another one begins at its beginning."""
        epoch = checked_epoch(epoch)
        if self._resumed is not None and epoch != self._epoch:
            if self._chosen:
                warnings.warn(
                    f"the state that was loaded is in epoch {self._epoch}, and epoch {epoch} was "
                    "chosen: the state is dropped",
                    LengthwiseWarning,
                    stacklevel=2,
                )
            self._resumed = None
        self._epoch, self._chosen = epoch, True

    def __len__(self) -> int:
        """The batches of a whole epoch on this rank."""
        rank, world_size = self._ranks()
        asked = (self._epoch, world_size)
        if self._counted is None or self._counted[0] != asked:
            schedule = self._plan_of(self._epoch).schedule(world_size)
            self._counted = asked, len(schedule) * schedule.accumulate
        batches = self._counted[1]
        return batches * world_size if rank == "all" else batches

    def __iter__(self) -> Iterator[Batch]:
        # Nothing happens before the first batch is asked for: loaders with workers make iterators that
        # they never use, and Lightning chooses the epoch after it has made one.
        return _Running(self)

    def weights(
        self, of: Literal["positions", "second_positions", "sequences"] = "positions"
    ) -> np.ndarray:
        """What to multiply the mean loss of each batch by, so that the mean over all batches of a
        step, on all ranks, is the mean over its positions (or sequences; of two lengths,
        "second_positions" are those of the second, such as target tokens): one number for each batch
        of the epoch that was chosen, or began last. With ``rank="all"``, for the batches of all
        ranks."""
        running = self._current()
        schedule, plan = running.schedule, running.plan
        own, step = plan.batch_sizes.astype(np.uint64), schedule.sequences
        if of == "positions":
            own, step = plan.positions, schedule.positions
        elif of == "second_positions":
            if plan.second_positions is None:
                raise SettingError(
                    "there are no second positions", hint="give a second length for each sequence"
                )
            own, step = plan.second_positions, schedule.second_positions
        batches = schedule.accumulate * schedule.world_size
        weights: np.ndarray = own * batches / np.repeat(step, running.per_step)
        return weights[running.skipped :]

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Where the epoch stands: a few hundred bytes, the same on every rank.

        It counts the batches that this sampler has given out. A plain ``DataLoader`` with workers
        asks for batches ahead of training: say how many ``batches`` of this iteration were trained
        on (of all ranks together if ``rank="all"``), or use ``StatefulDataLoader``, which keeps count
        itself.
        """
        if batches is None and self._is_pending() and self._resumed is not None:
            return dict(self._resumed)
        running = self._current()
        taken = running.taken if batches is None else batches
        if not 0 <= taken <= running.left():
            raise StateError(
                f"{taken} batches of {running.left()}", hint="count the batches of this iteration only"
            )
        return running.state(taken)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, also with another number of ranks: the next iteration gives what no
        rank has seen of that epoch. After a state from the end of an epoch comes the next epoch,
        unless ``set_epoch`` asks for the one that is over: then nothing."""
        state, epoch = _checked(state)
        left = _Running(self, epoch, state).left()  # A state of another run is refused here.
        self._epoch, self._resumed, self._running, self._chosen = epoch, state, None, left > 0

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"BatchSampler(rank {rank} of {world_size}, epoch {self._epoch}, {self._planner!r})"

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_planner": self.lengths, "_planned": None, "_running": None}
        if not self._is_pending() and self._current().taken < self._current().left():
            state.update(_resumed=self.state_dict(), _chosen=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._planner = Planner(state["_planner"], **self._settings)

    def _ranks(self) -> tuple[int | Literal["all"], int]:
        rank, world_size = self._given
        if world_size is None:
            found, world_size = find_ranks()
            rank = found if rank is None else rank
            shards = self._settings.get("shards") or 1
            if world_size > 1 and shards > 1:
                raise RankError(
                    f"there are {shards} shards and {world_size} ranks, and it is not said which ranks "
                    "have this shard",
                    hint="give `rank=0, world_size=1` if this rank has it for itself, or "
                    "`rank=local_rank, world_size=local_world_size` if all ranks of a node have it",
                )
        return rank or 0, world_size

    def _plan_of(self, epoch: int) -> Plan:
        if self._planned is None or self._planned.epoch != epoch:
            self._planned = self._planner.plan(epoch)
        return self._planned

    def _is_pending(self) -> bool:
        """Whether what counts is an iteration that has not begun. Whoever chooses the epoch that runs
        means the one that runs, unless it is over."""
        running = self._running
        if running is None:
            return True
        return self._chosen and (running.epoch != self._epoch or running.taken >= running.left())

    def _current(self) -> _Running:
        """The iteration that was chosen, or began last."""
        if self._running is None or self._is_pending():
            return _Running(self, self._epoch, self._resumed if self._chosen else None)
        return self._running

    def _begin(self, running: _Running) -> tuple[int, dict[str, Any] | None]:
        """The epoch of an iteration that begins, and the state that it goes on from."""
        if not self._chosen:
            self._epoch += 1
            self._resumed = None
        state = self._resumed
        self._resumed, self._chosen, self._running = None, False, running
        return self._epoch, state


class _Running(Iterator[Batch]):
    """One iteration: the batches of this rank that are left of an epoch.

    It is stateful itself: a loader that has asked for batches ahead knows best where it stands.
    """

    def __init__(
        self, sampler: BatchSampler, epoch: int | None = None, state: dict[str, Any] | None = None
    ) -> None:
        self.sampler = sampler
        self.begun = False
        self.taken = self.skipped = 0
        if epoch is not None:
            self._plan(epoch, state)

    def _plan(self, epoch: int, state: dict[str, Any] | None) -> None:
        self.epoch = epoch
        self.rank, self.world_size = self.sampler._ranks()
        plan = self.sampler._plan_of(epoch)
        self.taken = self.skipped = 0
        if state is None:
            self.schedule = plan.schedule(self.world_size)
        else:
            self.schedule = plan.resume(state["cursor"], self.world_size)
        if self.rank == "all":
            self.plan = self.schedule.all_ranks()
            self.per_step = self.schedule.accumulate * self.world_size
        else:
            self.plan = self.schedule.for_rank(self.rank)
            self.per_step = self.schedule.accumulate
        self.batch_lengths = self.plan.batch_lengths.tolist()
        second = self.plan.second_batch_lengths
        self.second_batch_lengths = None if second is None else second.tolist()
        if state is not None and state["extra"]:
            if all(state[name] == value for name, value in self._step().items()):
                self.skipped = min(state["extra"], len(self.plan))
            else:
                warnings.warn(
                    "the state is from the middle of a step, and steps are made of other batches now: "
                    "that step begins anew",
                    LengthwiseWarning,
                    stacklevel=4,
                )

    def _step(self) -> dict[str, Any]:
        """What must be the same for the middle of a step to mean the same."""
        return {
            "world_size": self.world_size, "all": self.rank == "all", "per_step": self.per_step
        }  # fmt: skip

    def left(self) -> int:
        """The batches from where it goes on to the end."""
        return len(self.plan) - self.skipped

    def __iter__(self) -> _Running:
        return self

    def __next__(self) -> Batch:
        if not self.begun:
            self._plan(*self.sampler._begin(self))
            self._refuse_second_dealing()
            self.begun = True
        place = self.skipped + self.taken
        if place >= len(self.batch_lengths):
            raise StopIteration
        self.taken += 1
        second = self.second_batch_lengths
        return Batch(
            self.plan[place].tolist(), self.batch_lengths[place], None if second is None else second[place]
        )

    def state(self, taken: int) -> dict[str, Any]:
        steps, extra = divmod(self.skipped + taken, self.per_step)
        return {
            "version": VERSION, "cursor": self.schedule.cursor(steps), "extra": extra, **self._step()
        }  # fmt: skip

    def state_dict(self) -> dict[str, Any]:
        return self.state(self.taken) if self.begun else self.sampler.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        state, epoch = _checked(state)
        self._plan(epoch, state)
        sampler = self.sampler
        sampler._epoch, sampler._resumed, sampler._chosen = epoch, None, False
        sampler._running, self.begun = self, True

    def _refuse_second_dealing(self) -> None:
        """Accelerate deals the batches that it is given to its processes. If they are those of one
        rank already, most of the data is never seen, and nothing says so."""
        caller = sys._getframe(2)
        if caller.f_globals.get("__name__") != "accelerate.data_loader" or self.rank == "all":
            return
        if getattr(caller.f_locals.get("self"), "num_processes", 1) > 1:
            raise RankError(
                f"the batches of rank {self.rank} would be dealt to processes a second time",
                hint='make the sampler with `rank="all"`: Accelerate deals the batches itself',
            )


def _checked(state: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """A state that has all its parts, and its epoch."""
    hint = "give what `state_dict` returned"
    names = ("version", "cursor", "extra", "world_size", "all", "per_step")
    try:
        parts = {name: state[name] for name in names}
        for name in ("version", "extra", "world_size", "per_step"):
            parts[name] = operator.index(parts[name])
        epoch = operator.index(json.loads(parts["cursor"])["epoch"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StateError(f"this is no state of a sampler: {error!r}", hint=hint) from None
    if parts["version"] != VERSION:
        raise StateError(
            f"the state has version {parts['version']}, and this release reads version {VERSION}",
            hint="use the release of lengthwise that wrote it",
        )
    if not 0 <= parts["extra"] < max(parts["per_step"], 1) or epoch < 0:
        raise StateError("this is no state of a sampler: it counts what cannot be", hint=hint)
    return parts, epoch


def _checked_sampler(sampler: Any, name: str) -> BatchSampler:
    if isinstance(sampler, BatchSampler):
        return sampler
    if isinstance(sampler, StreamBatches):
        hint = f"leave it out, as in `{name}()`: batches of a stream know their lengths"
    else:
        hint = "give a `lengthwise.torch.BatchSampler`"
    raise SettingError(f"`{name}` needs a sampler, and a {type(sampler).__name__} is none", hint=hint)


def _check_dataset(dataset: Any, lengths: Lengths) -> None:
    if dataset is None:
        return
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise LengthsError(
            f"{type(dataset).__name__} has no items to choose from",
            hint="batches are planned for datasets with an index and a length; `StreamBatches` is for streams",
        )
    if len(dataset) != len(lengths):
        raise LengthsError(
            f"the dataset has {len(dataset)} sequences, and there are {len(lengths)} lengths",
            hint="give one length for each item of the dataset, in the same order",
        )


def _cells(plan: Plan) -> int | None:
    """The most cells that a batch can have, if they are what the budget limits."""
    name, _, limits = plan.settings["budget"].partition(":")
    limit = limits.partition(",")[0]
    if name != "padded" or not limit.isdigit() or plan.second_batch_lengths is not None:
        return None
    return int(limit)


class _Rows(list[Any]):
    """The items of a batch, and what they are to be padded to."""

    length: int | None = None
    second_length: int | None = None


class _Planned(Dataset[Any]):
    """A dataset whose batches know what they are to be padded to."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitems__(self, batch: Sequence[int]) -> _Rows:
        many = getattr(self.dataset, "__getitems__", None)
        rows = _Rows(many(list(batch)) if many else [self.dataset[index] for index in batch])
        rows.length = getattr(batch, "length", None)
        rows.second_length = getattr(batch, "second_length", None)
        return rows


class _Marker(DistributedSampler[Any]):
    """Says to Lightning and Ray that the ranks are taken care of, and passes the epoch on."""

    def __init__(self, sampler: BatchSampler) -> None:
        self.batches = sampler

    def __iter__(self) -> Iterator[int]:
        return iter(index for batch in self.batches for index in batch)

    def __len__(self) -> int:
        return len(self.batches.plan.indices)

    def set_epoch(self, epoch: int) -> None:
        self.batches.set_epoch(epoch)


def loader(
    dataset: Any,
    sampler: BatchSampler | None = None,
    *,
    collate_fn: Callable[[Any], Any] | None = None,
    **options: Any,
) -> DataLoader[Any]:
    """A data loader with all that frameworks look for; torchdata's ``StatefulDataLoader`` if it is
    installed, so that an epoch goes on where it stopped, with workers too.

    ``collate_fn`` is :func:`pad_collate` if it is not given, or :func:`pack_collate` if sequences share
    rows. Lightning takes it as it is, with its
    own distributed sampler switched on or off.
    """
    if isinstance(dataset, StreamBatches):
        raise SettingError(
            "the batches of a stream need no sampler, and none of its loaders",
            hint="use `DataLoader(stream, batch_size=None, collate_fn=pad_collate())`, or torchdata's "
            "`StatefulDataLoader` with the same",
        )
    sampler = _checked_sampler(sampler, "loader")
    _check_dataset(dataset, sampler.lengths)
    try:
        from torchdata.stateful_dataloader import StatefulDataLoader as kind
    except ImportError:
        kind = DataLoader
    if collate_fn is None:
        packed = sampler._plan_of(sampler.epoch).packed
        collate_fn = pack_collate(sampler) if packed else pad_collate(sampler)
    made: DataLoader[Any] = kind(
        _Planned(dataset),
        batch_sampler=sampler,
        collate_fn=collate_fn,
        **options,
    )
    # Attributes of a loader cannot be set once it is made. Lightning would put a sampler of its own
    # in the place of any that is not this, and Ray would drop it.
    made.__dict__["sampler"] = _Marker(sampler)
    return made


class pad_collate:
    """Pads the sequences of a batch to its planned length.

    Items are tensors, arrays or lists of numbers; or dictionaries or tuples of such. The first
    field that is a sequence (or ``field``) is the one whose length was planned: it is padded to the
    planned length, and so are the fields in ``like``; without it, those that are as long in every item
    of the batch. Others are stacked if they are all as long, or padded to their own longest; what is no
    sequence is collated as PyTorch does. The lengths are added as a last part, or under the key
    ``lengths``; ``lengths=None`` leaves them out.

    ``second`` is the field of the second of two planned lengths, such as the target of a translation:
    it is padded to its own planned length, and its lengths are added behind the others, or under the
    key ``second_lengths``.

    ``padding_value`` is a number, or a dictionary with one for each field. The planned length is exact
    in batches of :func:`loader`; elsewhere the longest item is rounded up as the sampler's shapes say.

    In batches of :func:`loader` items that are longer than their batch was planned for are refused. Elsewhere
    the plan of the batch is not known: refused are items longer than any that was planned, and, where one
    length has a budget of ``padded`` cells, batches that exceed it.
    """

    #: Whether sequences share rows.
    _packs = False

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
        self.multiple = 1
        # What over-long items are cut to, if they are to be cut.
        self.top: int | None = None
        self.second_top: int | None = None
        # How many cells a batch may have, as far as that is known without its plan.
        self.cells: int | None = None
        self.alone = False
        # The longest that was planned.
        self.longest: int | None = None
        self.second_longest: int | None = None
        if sampler is not None:
            sampler = _checked_sampler(sampler, type(self).__name__)
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
            if second is not None and plan.second_batch_lengths is None:
                raise SettingError(
                    f"{second!r} is to be padded to a second length, and none was planned",
                    hint="make the sampler with `second=`, a second length for each sequence",
                )
            first_shapes = plan.settings["shapes"].partition("+")[0]
            name, _, value = first_shapes.partition(":")
            self.rungs = sampler.rungs
            self.multiple = int(value) if name == "multiple" else 1
            self.cells, self.alone = _cells(plan), plan.settings["over_long"] == "alone"
            self.longest = sampler.lengths.max
            seconds = sampler.lengths.second
            self.second_longest = None if seconds is None else seconds.max
            if plan.settings["over_long"] == "truncate":
                self.top = int(plan.batch_lengths.max())
                if plan.second_batch_lengths is not None:
                    self.second_top = int(plan.second_batch_lengths.max())

    def __call__(self, rows: Sequence[Any]) -> Any:
        first = rows[0]
        columns = _columns(rows)
        self._check(columns)
        main = self._main(columns)
        raw = [len(value) for value in columns[main]]
        planned = getattr(rows, "length", None)
        target = planned or self._rounded(max(raw))
        self._check_length("length", max(raw), planned or self.longest, self.top)
        if planned is None:
            self._check_cells(len(rows), len(rows) * target)
        padded = {
            key: self._column(key, values, main, raw, target) for key, values in columns.items()
        }
        counts = {self.lengths: torch.tensor([min(length, target) for length in raw])}
        if self.second is not None:
            own = [len(value) for value in columns[self.second]]
            planned = getattr(rows, "second_length", None)
            target = planned or min(max(own), self.second_top or max(own))
            self._check_length(
                "second length", max(own), planned or self.second_longest, self.second_top
            )
            padded[self.second] = self._column(
                self.second, columns[self.second], self.second, own, target
            )
            counts[f"second_{self.lengths}"] = torch.tensor([min(length, target) for length in own])
        if isinstance(first, Mapping):
            return {**padded, **(counts if self.lengths else {})}
        parts = (*padded.values(), *(counts.values() if self.lengths else ()))
        return parts if isinstance(first, tuple) or len(parts) > 1 else parts[0]

    def _check_length(self, name: str, length: int, planned: int | None, top: int | None) -> None:
        if planned is not None and length > planned and top is None:
            raise LengthsError(
                f"an item has {name} {length}, and its batch was planned for {planned} at most", hint=REALLY
            )

    def _check_cells(self, items: int, cells: int) -> None:
        if self.cells is None or cells <= self.cells or (self.alone and items == 1):
            return
        raise LengthsError(
            f"the batch would have {cells} cells, and the budget is {self.cells}: its {items} items are "
            "longer than planned",
            hint=REALLY,
        )

    def _check(self, columns: Mapping[Any, Any]) -> None:
        named = self.padding_value if isinstance(self.padding_value, Mapping) else {}
        given = [name for name in (self.field, self.second) if name is not None]
        wanted = [*named, *(self.like or ()), *given]
        for name in wanted:
            if name not in columns:
                raise SettingError(
                    f"the items have no field {name!r}",
                    hint=f"their fields are {', '.join(map(repr, columns))}",
                )
        if self.lengths in columns:
            raise SettingError(
                f"the items have a field {self.lengths!r} of their own",
                hint='give another name, as in `lengths="counts"`, or none',
            )

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

    def _rounded(self, longest: int) -> int:
        if self.top is not None:
            longest = min(longest, self.top)
        if self.rungs:
            return next((rung for rung in self.rungs if rung >= longest), longest)
        rounded = -(-longest // self.multiple) * self.multiple
        return rounded if self.top is None else min(rounded, self.top)

    def _column(self, key: Any, values: list[Any], main: Any, raw: list[int], target: int) -> Any:
        if not _is_sequence(values[0]):
            return default_collate(values)
        try:
            tensors = [torch.as_tensor(value) for value in values]
        except (TypeError, ValueError):
            return values  # Words, say.
        own = [len(tensor) for tensor in tensors]
        if not (own == raw if self.like is None else key in (*self.like, main)):
            target = max(own)
        kind = _common_kind(tensors)
        value = self._padding(key, kind)
        widest = next((tensor for tensor in tensors if len(tensor)), tensors[0])
        padded = torch.full((len(tensors), target, *widest.shape[1:]), value, dtype=kind)
        for row, tensor in enumerate(tensors):
            padded[row, : min(len(tensor), target)] = tensor[:target]
        return padded

    def _padding(self, key: Any, kind: torch.dtype) -> Any:
        value = self.padding_value
        value = value.get(key, 0) if isinstance(value, Mapping) else value
        return _among(value, kind, "padding_value")


class pack_collate(pad_collate):
    """Puts the sequences of a batch into one row, one after another: what attention of variable length
    takes, as ``flash_attn_varlen_func`` does.

    Items are those of :class:`pad_collate`. The first field that is a sequence (or ``field``), and the
    fields in ``like``, or without it those that are as long in every item of the batch, become rows of
    shape ``(1, length, …)``; others are collated as PyTorch does, or stay lists. Without ``like``, fields
    whose lengths differ from item to item must be as long: others are refused, for labels that are one
    shorter would lie beside other tokens. ``like=[]`` leaves all but the first as they are. Added are, for
    dictionaries by these names, and otherwise as last parts in this order:

    - ``lengths``: that of each sequence (``lengths=None`` leaves them out),
    - ``position_ids``, of shape ``(1, length)``: they begin at 0 in every sequence,
    - ``cu_seqlens``, of type ``int32``: where each sequence begins, and the end,
    - ``max_seqlen``: the longest, a number.

    Items that are neither dictionaries nor tuples come as a dictionary with the row as ``input_ids``.

    Where the row was planned to be longer than its sequences, it is filled with ``padding_value``, a
    number or a dictionary with one for each field. What is filled counts as one more sequence in
    ``position_ids``, ``cu_seqlens`` and ``max_seqlen``, and not in ``lengths``: so no position is
    without a result, and no sequence sees it. ``first`` has, for fields that it names, what the first
    position of every sequence is set to, as in ``first={"labels": -100}``: a model that shifts labels
    itself would otherwise learn to say the beginning of the next sequence.
    """

    _packs = True

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
        self.first = dict(first or {})

    def __call__(self, rows: Sequence[Any]) -> Any:
        columns = _columns(rows)
        plain = not isinstance(rows[0], (Mapping, tuple))
        if plain:
            columns = {"input_ids": columns[0]}
        self._check(columns)
        main = self._main(columns)
        raw = [len(value) for value in columns[main]]
        # An over-long sequence has a row of its own, and may have to be cut to it.
        planned = getattr(rows, "length", None)
        own = raw
        if self.top is not None:
            own = [min(length, planned or self.top) for length in raw]
        total = sum(own)
        target = planned or self._rounded(total)
        if total > target:
            raise LengthsError(
                f"the items have length {total} together, and their row was planned for {target}",
                hint=REALLY,
            )
        if planned is None:
            self._check_length("length", max(raw), self.longest, self.top)
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

    def _rounded(self, longest: int) -> int:
        # What is cut is cut before; a row of several may be as long as there is room.
        if self.rungs:
            return next((rung for rung in self.rungs if rung >= longest), longest)
        return -(-longest // self.multiple) * self.multiple

    def _check(self, columns: Mapping[Any, Any]) -> None:
        super()._check(columns)
        names = ", ".join(map(repr, columns))
        for name in self.first:
            if name not in columns:
                raise SettingError(
                    f"the items have no field {name!r}", hint=f"their fields are {names}"
                )
        for name in ("position_ids", "cu_seqlens", "max_seqlen"):
            if name in columns:
                raise SettingError(
                    f"the items have a field {name!r} of their own",
                    hint="leave it out: it is made anew for the row",
                )

    def _row(
        self, key: Any, values: list[Any], main: Any, raw: list[int], own: list[int], target: int
    ) -> Any:
        if not _is_sequence(values[0]):
            return default_collate(values)
        try:
            tensors = [torch.as_tensor(value) for value in values]
        except (TypeError, ValueError):
            return values  # Words, say.
        lengths = [len(tensor) for tensor in tensors]
        if self.like is not None and key not in (*self.like, main):
            return tensors
        if self.like is None and lengths != raw and len({*lengths}) == 1:
            return tensors  # The same from every item, as what is known about a speaker.
        if lengths != raw:
            item = next(item for item, length in enumerate(raw) if lengths[item] != length)
            raise LengthsError(
                f"item {item} of the batch has {lengths[item]} of {key!r} and {raw[item]} of {main!r}: "
                "in a row they would not lie beside each other",
                hint="make them as long; or name in `like` the fields that go into the row, and others "
                "stay lists",
            )
        kind = _common_kind(tensors)
        row = torch.full(
            (1, target, *tensors[0].shape[1:]), self._padding(key, kind), dtype=kind
        )
        place = 0
        for tensor, length in zip(tensors, own):
            row[0, place : place + length] = tensor[:length]
            if key in self.first and length:
                row[0, place] = _among(self.first[key], kind, "first")
            place += length
        return row


def cu_seqlens(lengths: Sequence[int], padded_to: int | None = None) -> torch.Tensor:
    """Where each sequence of a packed row begins, and the end: 0, and the sums of the lengths so far.
    What a row of length ``padded_to`` has beyond them counts as one more sequence.

    >>> cu_seqlens([3, 4], 10)
    tensor([ 0,  3,  7, 10], dtype=torch.int32)
    """
    return torch.tensor([0, *np.cumsum(_pieces(lengths, padded_to))], dtype=torch.int32)


def position_ids(lengths: Sequence[int], padded_to: int | None = None) -> torch.Tensor:
    """The positions of a packed row: they begin at 0 in every sequence, and in what a row of length
    ``padded_to`` has beyond them.

    >>> position_ids([3, 2], 6)
    tensor([0, 1, 2, 0, 1, 0])
    """
    return torch.cat([torch.arange(length) for length in _pieces(lengths, padded_to)])


def _pieces(lengths: Sequence[int], padded_to: int | None) -> list[int]:
    pieces = [operator.index(length) for length in lengths]
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


def _common_kind(tensors: Sequence[torch.Tensor]) -> torch.dtype:
    # Rows without anything say nothing about the type of the others.
    kinds = [tensor.dtype for tensor in tensors if len(tensor)] or [tensors[0].dtype]
    kind = kinds[0]
    for other in kinds[1:]:
        kind = torch.promote_types(kind, other)
    return kind


def _among(value: Any, kind: torch.dtype, name: str) -> Any:
    """A value that can be among those of a type."""
    if torch.tensor(value).to(kind).item() != value and value == value:
        raise SettingError(
            f"{value} cannot be among values of {kind}", hint=f"choose another `{name}`"
        )
    return value


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    return getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")
