"""Batches for PyTorch: one line in a training script.

>>> from lengthwise.torch import BatchSampler
>>> sampler = BatchSampler(lengths, budget="padded:20000")  # doctest: +SKIP
>>> loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)  # doctest: +SKIP

It is the same object in ``DataLoader``, ``StatefulDataLoader``, Lightning and plain DDP; give
``rank="all"`` where a framework deals the batches to the ranks itself, as Accelerate does.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset, DistributedSampler, Sampler, default_collate

from . import LengthsError, LengthwiseWarning, Lengths, Plan, Planner, RankError, StateError
from ._ranks import find_ranks

__all__ = ["Batch", "BatchSampler", "loader", "pad_collate"]

VERSION = 1


class Batch(list[int]):
    """The indices of a batch, and what it is padded to."""

    __slots__ = ("length",)

    length: int

    def __init__(self, indices: Sequence[int], length: int) -> None:
        super().__init__(indices)
        self.length = length

    def __reduce__(self) -> tuple[Any, ...]:
        return (Batch, (list(self), self.length))


class BatchSampler(Sampler[list[int]]):
    """The batches of one rank, epoch after epoch: lists of indices for ``DataLoader(batch_sampler=…)``.

    ``lengths`` and the settings are those of :class:`lengthwise.Planner`. Every rank takes the same
    number of batches, and every epoch has as many (``constant_steps=False`` leaves that out): most
    trainers ask for ``len`` once.

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
        budget: str | int,
        rank: int | Literal["all"] | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        dataset: Any = None,
        constant_steps: bool = True,
        **settings: Any,
    ) -> None:
        lengths = Lengths(lengths)
        _check_dataset(dataset, lengths)
        self._planner = Planner(
            lengths, strategy, budget=budget, constant_steps=constant_steps, **settings
        )
        if isinstance(rank, int) and world_size is None:
            raise RankError(
                f"rank {rank} of how many?", hint="give `world_size` too, or neither of them"
            )
        if rank is None and world_size is not None and world_size != 1:
            raise RankError(
                f"which of the {world_size} ranks is this?",
                hint='give `rank` too, or neither of them; `rank="all"` gives the batches of all ranks',
            )
        self._given = (rank, world_size)
        self._given_settings = {
            "strategy": strategy, "budget": budget, "constant_steps": constant_steps, **settings
        }  # fmt: skip
        self._epoch = epoch
        # Whether the epoch was chosen since the last iteration began; if not, the next one is one on.
        self._chosen = True
        self._resumed: dict[str, Any] | None = None
        self._running: _Running | None = None
        self._planned: Plan | None = None
        # How many batches a rank takes in this epoch on so many ranks: loaders ask often.
        self._counted: tuple[tuple[int, int], int] | None = None
        self._ranks()  # A rank that cannot be is refused here, and not when training begins.
        self._plan_of(epoch)

    # What frameworks look for: the epoch is passed on to `.sampler` or `.batch_sampler` by some.

    @property
    def sampler(self) -> BatchSampler:
        return self

    @property
    def batch_sampler(self) -> BatchSampler:
        return self

    @property
    def epoch(self) -> int:
        """The epoch that runs, or comes next if none was begun."""
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
        """The batches of this rank in the epoch that runs or comes next; after a resume, the rest."""
        return (self._running or _Running(self, self._epoch, self._resumed)).plan

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration. The epoch that a loaded state is in goes on where
        it stood; another one begins at its beginning."""
        if epoch != self._epoch:
            self._resumed = None
        if epoch != self._epoch or not self._chosen:
            self._running = None
        self._epoch = epoch
        self._chosen = True

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
        if not self._chosen:
            self._epoch += 1
            self._chosen = True
        self._running = _Running(self, self._epoch, self._resumed)
        if not len(self._running):
            # A state from the end of an epoch: what comes after nothing is the next one.
            self._begun(self._running)
        return self._running

    def _begun(self, running: _Running) -> None:
        """An iteration was asked for its first batch. Loaders with workers make iterators that they
        never use, which must not count as epochs."""
        self._running, self._resumed, self._chosen = running, None, False

    def weights(self, of: Literal["positions", "sequences"] = "positions") -> np.ndarray:
        """What to multiply the mean loss of each batch by, so that the mean over all batches of a
        step, on all ranks, is the mean over its positions (or sequences): one number for each batch
        of the epoch that runs, in order."""
        running = self._running or _Running(self, self._epoch, self._resumed)
        schedule, plan = running.schedule, running.whole
        own = plan.positions if of == "positions" else plan.batch_sizes.astype(np.uint64)
        step = schedule.positions if of == "positions" else schedule.sequences
        batches = schedule.accumulate * schedule.world_size
        weights: np.ndarray = own * batches / np.repeat(step, running.per_step)
        return weights[running.skipped :]

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Where the epoch stands: a few hundred bytes, the same on every rank.

        It counts the batches that this sampler has given out. A plain ``DataLoader`` with workers
        asks for batches ahead of training: say how many ``batches`` of this iteration were trained
        on, or use ``StatefulDataLoader``, which keeps count itself.
        """
        running = self._running
        if running is None:
            if self._resumed is not None and batches is None:
                return dict(self._resumed)
            running = _Running(self, self._epoch, self._resumed)
        taken = running.taken if batches is None else batches
        if not 0 <= taken <= len(running):
            raise StateError(
                f"{taken} batches of {len(running)}",
                hint="count the batches of this iteration only",
            )
        return running.state(taken)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, also with another number of ranks: the next iteration gives what no
        rank has seen of that epoch."""
        state, epoch = _checked(state)
        _Running(self, epoch, state)  # A state of another run is refused here.
        self._epoch, self._resumed, self._running, self._chosen = epoch, state, None, True

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"BatchSampler(rank {rank} of {world_size}, epoch {self._epoch}, {self._planner!r})"

    def __getstate__(self) -> dict[str, Any]:
        return {
            "lengths": self.lengths,
            "settings": self._given_settings,
            "ranks": self._given,
            "state": self.state_dict(),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rank, world_size = state["ranks"]
        settings = dict(state["settings"])
        self.__init__(state["lengths"], rank=rank, world_size=world_size, **settings)  # type: ignore[misc]
        self.load_state_dict(state["state"])

    def _ranks(self) -> tuple[int | Literal["all"], int]:
        rank, world_size = self._given
        if rank is None and world_size is None:
            return find_ranks()
        if world_size is None:
            world_size = find_ranks()[1]
        if rank == "all":
            return "all", world_size
        rank = 0 if rank is None else rank
        if not isinstance(rank, int) or not 0 <= rank < world_size:
            raise RankError(
                f"there is no rank {rank} among {world_size} ranks",
                hint=f"ranks are numbered from 0; the last one is {world_size - 1}",
            )
        return rank, world_size

    def _plan_of(self, epoch: int) -> Plan:
        if self._planned is None or self._planned.epoch != epoch:
            self._planned = self._planner.plan(epoch)
        return self._planned


class _Running(Iterator[Batch]):
    """One iteration: the batches of this rank that are left of an epoch."""

    def __init__(self, sampler: BatchSampler, epoch: int, state: dict[str, Any] | None) -> None:
        self.sampler, self.begun = sampler, False
        self.rank, self.world_size = sampler._ranks()
        plan = sampler._plan_of(epoch)
        self.skipped = 0
        if state is None:
            self.schedule = plan.schedule(self.world_size)
        else:
            self.schedule = plan.resume(state["cursor"], self.world_size)
            if state["extra"]:
                if (state["world_size"], state["all"]) == (self.world_size, self.rank == "all"):
                    self.skipped = state["extra"]
                else:
                    warnings.warn(
                        "the state is from the middle of a step, and the number of ranks has changed: "
                        "that step begins anew",
                        LengthwiseWarning,
                        stacklevel=3,
                    )
        if self.rank == "all":
            self.whole = self.schedule.all_ranks()
            self.per_step = self.schedule.accumulate * self.world_size
        else:
            self.whole = self.schedule.for_rank(self.rank)
            self.per_step = self.schedule.accumulate
        self.batch_lengths = self.whole.batch_lengths.tolist()
        self.taken = 0

    def __len__(self) -> int:
        return len(self.whole) - self.skipped

    @property
    def plan(self) -> Plan:
        return self.whole

    def __iter__(self) -> _Running:
        return self

    def __next__(self) -> Batch:
        if not self.begun:
            self._refuse_second_dealing()
            self.begun = True
            self.sampler._begun(self)
        place = self.skipped + self.taken
        if place >= len(self.batch_lengths):
            raise StopIteration
        self.taken += 1
        return Batch(self.whole[place].tolist(), self.batch_lengths[place])

    def state(self, taken: int) -> dict[str, Any]:
        steps, extra = divmod(self.skipped + taken, self.per_step)
        return {
            "version": VERSION,
            "cursor": self.schedule.cursor(steps),
            "extra": extra,
            "world_size": self.world_size,
            "all": self.rank == "all",
        }

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
    try:
        parts = {name: state[name] for name in ("version", "cursor", "extra", "world_size", "all")}
        version, extra = int(parts["version"]), int(parts["extra"])
        epoch = int(json.loads(parts["cursor"])["epoch"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StateError(f"this is no state of a sampler: {error!r}", hint=hint) from None
    if version != VERSION:
        raise StateError(
            f"the state has version {version}, and this release reads version {VERSION}",
            hint="use the release of lengthwise that wrote it",
        )
    if extra < 0 or epoch < 0:
        raise StateError("this is no state of a sampler: it counts below zero", hint=hint)
    return parts, epoch


def _check_dataset(dataset: Any, lengths: Lengths) -> None:
    if dataset is not None and len(dataset) != len(lengths):
        raise LengthsError(
            f"the dataset has {len(dataset)} sequences, and there are {len(lengths)} lengths",
            hint="give one length for each item of the dataset, in the same order",
        )


class _Rows(list[Any]):
    """The items of a batch, and what they are to be padded to."""

    length: int | None = None


class _Planned(Dataset[Any]):
    """A dataset whose batches know what they are to be padded to."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]

    def __getitems__(self, batch: Sequence[int]) -> _Rows:
        many = getattr(self.dataset, "__getitems__", None)
        rows = _Rows(many(list(batch)) if many else [self.dataset[index] for index in batch])
        rows.length = getattr(batch, "length", None)
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
    sampler: BatchSampler,
    *,
    collate_fn: Callable[[Any], Any] | None = None,
    **options: Any,
) -> DataLoader[Any]:
    """A data loader with all that frameworks look for; torchdata's ``StatefulDataLoader`` if it is
    installed, so that an epoch goes on where it stopped, with workers too.

    ``collate_fn`` is :func:`pad_collate` if it is not given. Lightning takes it as it is, with its
    own distributed sampler switched on or off.
    """
    _check_dataset(dataset, sampler.lengths)
    if not hasattr(dataset, "__getitem__"):
        raise LengthsError(
            f"{type(dataset).__name__} has no items to choose from",
            hint="batches are planned for datasets with an index, and not for streams",
        )
    try:
        from torchdata.stateful_dataloader import StatefulDataLoader as kind
    except ImportError:
        kind = DataLoader
    made: DataLoader[Any] = kind(
        _Planned(dataset),
        batch_sampler=sampler,
        collate_fn=pad_collate(sampler) if collate_fn is None else collate_fn,
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
    planned length, and so are the fields that are as long. Others are padded to their own longest,
    and what is no sequence is collated as PyTorch does. The lengths are added as a last part, or
    under the key ``lengths``; ``lengths=None`` leaves them out.

    ``padding_value`` is a number, or a dictionary with one for each field.
    """

    def __init__(
        self,
        sampler: BatchSampler | None = None,
        *,
        field: str | int | None = None,
        padding_value: Any = 0,
        lengths: str | None = "lengths",
    ) -> None:
        self.field = field
        self.padding_value = padding_value
        self.lengths = lengths
        self.rungs: list[int] | None = None
        self.multiple = 1
        self.truncate = False
        if sampler is not None:
            settings = sampler._plan_of(sampler.epoch).settings
            self.rungs = sampler.rungs
            name, _, value = settings["shapes"].partition(":")
            self.multiple = int(value) if name == "multiple" else 1
            self.truncate = settings["over_long"] == "truncate"

    def __call__(self, rows: Sequence[Any]) -> Any:
        planned = getattr(rows, "length", None)
        first = rows[0]
        columns: dict[Any, list[Any]]
        if isinstance(first, Mapping):
            columns = {key: [row[key] for row in rows] for key in first}
        elif isinstance(first, tuple):
            columns = {place: list(values) for place, values in enumerate(zip(*rows))}
        else:
            columns = {0: list(rows)}
        lengths = [len(value) for value in columns[self._main(columns)]]
        target = planned or self._rounded(max(lengths))
        lengths = [min(length, target) for length in lengths]
        padded = {
            key: self._column(key, values, lengths, target) for key, values in columns.items()
        }
        counts = torch.tensor(lengths)
        if isinstance(first, Mapping):
            return {**padded, **({self.lengths: counts} if self.lengths else {})}
        parts = (*padded.values(), *((counts,) if self.lengths else ()))
        return parts if isinstance(first, tuple) or len(parts) > 1 else parts[0]

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
        if self.rungs:
            top = self.rungs[-1] if self.truncate else longest
            return next((rung for rung in self.rungs if rung >= longest), top)
        return -(-longest // self.multiple) * self.multiple

    def _column(
        self, key: Any, values: Sequence[Any], lengths: Sequence[int], target: int
    ) -> Any:
        if not _is_sequence(values[0]):
            return default_collate(list(values))
        tensors = [torch.as_tensor(value) for value in values]
        own = [min(len(tensor), target) for tensor in tensors]
        if own != list(lengths):
            own = [len(tensor) for tensor in tensors]
            target = max(own)
        value = self.padding_value
        value = value.get(key, 0) if isinstance(value, Mapping) else value
        shape = (len(tensors), target, *tensors[0].shape[1:])
        padded = torch.full(shape, value, dtype=tensors[0].dtype)
        for row, (tensor, length) in enumerate(zip(tensors, own)):
            padded[row, :length] = tensor[:length]
        return padded


def _is_sequence(value: Any) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    return getattr(value, "ndim", 1) > 0 and hasattr(value, "__len__")
