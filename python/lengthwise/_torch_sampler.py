"""The batch sampler for PyTorch's loaders."""

from __future__ import annotations

import json
import operator
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from torch.utils.data import Sampler

from ._checks import check_settings, checked_epoch
from ._lengthwise import Lengths, Plan, Planner
from ._ranks import find_ranks, given_ranks
from .errors import LengthsError, LengthwiseWarning, RankError, SettingError, StateError

VERSION = 1
#: What batch samplers of PyTorch are made with.
SIZES = ("batch_size", "drop_last")


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
            if any(name in SIZES for name in settings):
                raise SettingError(
                    "a framework has made this sampler anew, without its lengths and its budget",
                    hint="make the loader with `lengthwise.torch.loader(dataset, sampler)`, or give "
                    "`use_distributed_sampler=False` to Lightning's Trainer, or to `setup_dataloaders` of Fabric; "
                    "for `predict` and `overfit_batches`, use a loader without this sampler",
                )
            raise SettingError(
                "there is no budget, and batches have no other size",
                hint='give one, as in budget="padded:20000"',
            )
        lengths = Lengths(lengths, second)
        check_dataset(dataset, lengths)
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


def check_dataset(dataset: Any, lengths: Lengths) -> None:
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
