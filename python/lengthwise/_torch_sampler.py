"""The batch sampler for PyTorch's loaders."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch.utils.data import Sampler

from ._checks import check_budget, check_settings, checked_epoch, checked_word
from ._describe import described
from ._lengthwise import Lengths, Plan, Planner
from ._private import Reader, asked_by_torchdata, reader
from ._ranks import find_ranks, given_ranks
from .errors import LengthsError, LengthwiseWarning, RankError, SettingError, StateError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import SamplerSettings

VERSION = 1
#: What batch samplers of PyTorch are made with.
SIZES = ("batch_size", "drop_last")
#: What a mean loss can be taken over, and what is counted for it.
WEIGHTS = {
    **dict.fromkeys(("positions", "tokens", "frames"), "positions"),
    "second_positions": "second_positions",
    "sequences": "sequences",
}


class Batch(list[int]):
    """The indices of a batch, and what it is padded to.

    Args:
        indices: The indices of its sequences.
        length: The batch length.
        second_length: The second batch length, if sequences have two lengths. The default is ``None``.
    """

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


def makes_steps(settings: Mapping[str, Any]) -> bool:
    """Whether these settings plan optimizer steps, and not only batches."""
    strategy = settings.get("strategy") or ""
    keeps_steps = "keep" in str(settings.get("like") or "") or settings.get("share") == "rank"
    return keeps_steps or settings.get("update") is not None or strategy.partition(":")[0] == "proportional"


def is_recommended(settings: Mapping[str, Any], lengths: Lengths) -> bool:
    """Whether the plan is what is recommended, which has optimizer steps."""
    one_length = lengths.second is None and settings.get("statistics") is None
    return settings.get("strategy") is None and one_length


@described(Planner)
class BatchSampler(Sampler[list[int]]):
    """The batches of one rank, epoch after epoch: lists of indices for ``DataLoader(batch_sampler=…)``.

    ``lengths`` and the settings are those of :class:`lengthwise.Planner`, of which ``budget`` must be
    given, unless the strategy is ``packed`` with a capacity. Every rank takes the same number of batches.
    With ``second``, batches have little padding in both lengths, and a ``second_length``. If each item of the dataset
    holds several sequences, such as a preference pair, give ``Lengths.of_items(lengths)``: batches then have the
    indices of items.

    ``rank`` and ``world_size`` come from ``torch.distributed`` if you do not give them and it is
    initialised; otherwise from the variables that torchrun, mpirun and srun set, with a warning. If
    several ranks share their data, as in tensor, pipeline or context parallelism, give a
    ``process_group`` or a ``device_mesh``.

    Call ``set_epoch`` before each epoch. If you don't, a single rank advances to the next epoch after all
    batches of an epoch were taken; an iteration that you stop early starts again. With several ranks, only
    ``set_epoch`` changes the epoch, as with PyTorch's ``DistributedSampler``, because a rank does not know
    how far the others are.

    Args:
        rank: The rank of this process, from 0, or "all" for the batches of all ranks, step by step, for
            frameworks that divide them among the ranks in turn. By default, it is detected, as described
            above.
        world_size: The number of ranks. By default, it is detected.
        process_group: The process group that divides the data, in place of ``rank`` and ``world_size``.
        device_mesh: The data-parallel part of a device mesh, as in ``device_mesh=mesh["dp"]``, in place of
            ``rank`` and ``world_size``.
        epoch: The first epoch, from 0. The default is 0.
        dataset: The dataset, to check that it has as many items as there are lengths. By default, this
            is not checked.
        constant_steps: Whether every epoch has the same number of steps: most trainers ask for ``len`` once.
            The default is true.
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
        together: Any = None,
        kind: Any = None,
        budget: str | int | None = None,
        rank: int | Literal["all"] | None = None,
        world_size: int | None = None,
        process_group: Any = None,
        device_mesh: Any = None,
        epoch: int = 0,
        dataset: Any = None,
        constant_steps: bool = True,
        **settings: Unpack[SamplerSettings],
    ) -> None:
        # Lightning gives these two to samplers that it makes anew: what is said below is for it.
        sized = budget is not None or settings.get("like") is not None
        named = [name for name in settings if sized or name not in SIZES]
        check_settings("BatchSampler", named, BatchSampler, Planner)
        if budget is None and settings.get("like") is None and not (strategy or "").startswith("packed:"):
            if strategy == "packed":
                raise SettingError(
                    "there is no budget to limit the rows",
                    hint='give the length of a row, as in "packed:capacity=4096"',
                )
            if any(name in SIZES for name in settings):
                raise SettingError(
                    "a framework has made this sampler anew, without its lengths and its budget",
                    hint="make the loader with `lengthwise.torch.loader(dataset, sampler)`, or give "
                    "`use_distributed_sampler=False` to Lightning's Trainer, or to `setup_dataloaders` of Fabric; "
                    "for `predict` and `overfit_batches`, use a loader without this sampler",
                )
            check_budget(budget)
        lengths = Lengths(lengths, second, together=together, kind=kind)
        check_dataset(dataset, lengths)
        # Whether the dataset has items of several sequences each, such as pairs.
        self._of_items = lengths.items is not None
        self._settings: dict[str, Any] = {
            "strategy": strategy, "budget": budget, "constant_steps": constant_steps, **settings
        }  # fmt: skip
        self._given = given_ranks(rank, world_size, process_group, device_mesh)
        recommended = self._recommended = is_recommended(self._settings, lengths)
        # Whether the number of batches of a step was recommended, and not asked for.
        self._chose_accumulation = recommended and not any(
            settings.get(name) is not None for name in ("accumulate", "canonical_ranks")
        )
        self._plans_steps = makes_steps(self._settings) or recommended
        # Steps are planned, and every rank must have equally many batches of each. States bring their number.
        self._follows_state = self._plans_steps and settings.get("canonical_ranks") is None
        if self._follows_state:
            self._settings["canonical_ranks"] = self._ranks()[1]
        self._planner = Planner(lengths, **self._settings)
        self._epoch = checked_epoch(epoch)
        # Whether the epoch was chosen since the last iteration began, and which one by `set_epoch`.
        self._chosen = True
        self._asked: int | None = None
        # The epoch of a state that a loader has, and has not begun with.
        self._expected: int | None = None
        # How many iterations have begun since then.
        self._begun = 0
        # A state that was loaded, and the epoch that it is in: iterations of that epoch go on from it.
        self._loaded: tuple[int, dict[str, Any]] | None = None
        self._running: _Running | None = None
        self._planned: Plan | None = None
        # Whether the loop that reads the batches knows how many of them make a step.
        self._counts_steps = False
        # How many steps this epoch has on so many ranks, and batches of a rank in each: loaders ask often.
        self._counted: tuple[tuple[int, int], int, int] | None = None
        len(self)  # Batches that cannot be assigned to ranks are refused here, not when training begins.

    # What frameworks look for: the epoch is passed on to `.sampler` or `.batch_sampler` by some.

    @property
    def sampler(self) -> BatchSampler:
        return self

    batch_sampler = sampler

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or began last."""
        return self._epoch

    @property
    def lengths(self) -> Lengths:
        """The lengths that are planned."""
        return self._planner.lengths

    @property
    def accumulate(self) -> int:
        """Gradient-accumulation steps per rank: how many batches this rank processes for one optimizer step."""
        self._chose_accumulation = False  # If you ask for it, you need no warning.
        return self._steps()[1]

    @property
    def rungs(self) -> list[int] | None:
        """The batch lengths of the ladder; ``None`` if the shapes are not a ladder."""
        return self._planner.rungs

    @property
    def plan(self) -> Plan:
        """The batches of this rank in the epoch that was chosen, or began last. After a resume, these start
        at the step where the epoch resumes."""
        return self._current().plan

    def set_epoch(self, epoch: int) -> None:
        """Chooses the ``epoch`` of the next iteration. A loaded state belongs to its epoch: iterations of
        that epoch resume from it, until you choose another epoch."""
        epoch = checked_epoch(epoch)
        if self._loaded is not None and epoch != self._loaded[0]:
            if self._chosen and self._epoch == self._loaded[0]:
                warnings.warn(
                    f"the state that was loaded is in epoch {self._epoch}, and epoch {epoch} was "
                    "chosen: the state is dropped",
                    LengthwiseWarning,
                    stacklevel=2,
                )
            self._loaded = None
        self._epoch, self._chosen, self._asked, self._begun = epoch, True, epoch, 0

    def __len__(self) -> int:
        """The batches of a whole epoch on this rank."""
        rank, world_size = self._ranks()
        steps, accumulate = self._steps()
        return steps * accumulate * (world_size if rank == "all" else 1)

    def _steps(self) -> tuple[int, int]:
        """The steps of an epoch, and how many batches of this rank each has."""
        world_size = self._ranks()[1]
        asked = (self._epoch, world_size)
        if self._counted is None or self._counted[0] != asked:
            schedule = self._plan_of(self._epoch).schedule(world_size)
            self._counted = asked, len(schedule), schedule.accumulate
        return self._counted[1:]

    def __iter__(self) -> Iterator[Batch]:
        # Nothing happens before the first batch is asked for: loaders with workers make iterators that
        # they never use, and Lightning chooses the epoch after it has made one.
        return _Running(self)

    def weights(
        self,
        of: Literal["positions", "tokens", "frames", "second_positions", "sequences"] = "positions",
    ) -> np.ndarray:
        """Returns what to multiply the mean loss of each batch by, so that the mean over all batches of a
        step, on all ranks, is the mean over its positions.

        There is one number for each batch of the epoch that was chosen, or began last. With
        ``rank="all"``, these are the batches of all ranks.

        Args:
            of: What the mean is taken over: "positions", which you can also call "tokens" or "frames";
                "second_positions", those of the second of two lengths, such as target tokens; or
                "sequences". The default is "positions".
        """
        counted = checked_word("weights", of, WEIGHTS)
        running = self._current()
        return running.weights(counted)[running.skipped :]

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Returns the position in the epoch, for a checkpoint: a few hundred bytes, the same on every rank.

        It counts the batches that this sampler has returned. A plain ``DataLoader`` with workers, and
        Accelerate, read ahead of training: pass the number of ``batches`` of this iteration that were
        trained on (of all ranks together if ``rank="all"``), or use ``StatefulDataLoader``, which counts
        them itself. Otherwise you get an error.
        """
        if self._expected == self._epoch and not asked_by_torchdata():
            raise StateError(
                "a state was loaded into the loader, but no batch has been read since",
                hint="ask the loader for its `state_dict`",
            )
        pending = self._state_of(self._epoch) if self._is_pending() else None
        if batches is None and pending is not None:
            return dict(pending)
        running = self._current()
        if batches is None and running.ahead and not asked_by_torchdata():
            raise StateError(
                "the loader reads ahead of training, so the sampler does not know how many batches were "
                "trained on",
                hint="give their number, as in `state_dict(batches=k)`, or make the loader with "
                "`lengthwise.torch.loader` and torchdata installed, and keep the loader's `state_dict`",
            )
        taken = running.taken if batches is None else operator.index(batches)
        if not 0 <= taken <= running.left():
            raise StateError(
                f"expected at most {running.left()} batches, got {taken}", hint="count the batches of this iteration only"
            )
        return running.state(taken)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from a ``state``, also with another number of ranks: the next iteration returns the
        sequences of that epoch that no rank has seen. After a state from the end of an epoch, the next epoch
        begins; if ``set_epoch`` chooses the finished one, it has no batches left."""
        state, epoch = _checked(state)
        left = self._resumed(epoch, state).left()  # A state of another run is refused here.
        self._loaded, self._running, self._begun, self._expected = (epoch, state), None, 0, None
        self._go_on(epoch, left)

    def _resumed(self, epoch: int, state: dict[str, Any]) -> _Running:
        """The iteration that goes on from a state. Steps that were planned stay as they are on another number of
        ranks, unless the user says how many they are for."""
        theirs, before = state.get("canonical_ranks"), (self._settings, self._planner, self._planned)
        if self._follows_state and theirs not in (None, self._settings["canonical_ranks"]):
            self._settings = {**self._settings, "canonical_ranks": theirs}
            self._planner, self._planned = Planner(self.lengths, **self._settings), None
        try:
            return _Running(self, epoch, state)
        except StateError:
            self._settings, self._planner, self._planned = before
            raise

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"BatchSampler(rank {rank} of {world_size}, epoch {self._epoch}, {self._planner!r})"

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_planner": self.lengths, "_planned": None, "_running": None}
        running = self._current()
        if not self._is_pending():
            if running.is_over():
                state["_running"] = "over"
            else:  # The copy goes on after the batches that were given out.
                state.update(_loaded=(running.epoch, running.state(running.taken)), _chosen=True)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._planner = Planner(state["_planner"], **self._settings)
        if state["_running"] == "over":
            over = self._running = _Running(self, self._epoch, self._state_of(self._epoch))
            over.begun, over.taken = True, over.left()

    def _ranks(self) -> tuple[int | Literal["all"], int]:
        rank, world_size = self._given
        if world_size is None:
            found, world_size = find_ranks()
            rank = found if rank is None else rank
            shards = self._settings.get("shards") or 1
            if world_size > 1 and shards > 1:
                raise RankError(
                    f"there are {shards} shards and {world_size} ranks, and which ranks have this "
                    "shard is not given",
                    hint="give `rank=0, world_size=1` if this rank has it for itself, or "
                    "`rank=local_rank, world_size=local_world_size` if all ranks of a node have it",
                )
        return rank or 0, world_size

    def _plan_of(self, epoch: int) -> Plan:
        if self._planned is None or self._planned.epoch != epoch:
            self._planned = self._planner.plan(epoch)
        return self._planned

    def _state_of(self, epoch: int) -> dict[str, Any] | None:
        """The state that iterations of an epoch go on from, if there is one."""
        return self._loaded[1] if self._loaded is not None and self._loaded[0] == epoch else None

    def _expect(self, epoch: int) -> None:
        """Notes the ``epoch`` of a state that a loader loads later, unless another one is chosen before."""
        self._epoch, self._chosen, self._asked, self._loaded = epoch, True, None, None
        self._running, self._expected = None, epoch

    def _go_on(self, epoch: int, left: int) -> None:
        """Chooses the epoch of a state that was loaded, or if it is over the next one. Some loaders load it
        after the epoch was chosen."""
        self._epoch = epoch if left or self._asked == epoch else epoch + 1
        self._chosen = True

    def _begin_step_anew(self) -> None:
        """Goes back to the beginning of the step that a state is in the middle of: its gradients were lost."""
        if self._loaded is not None and self._loaded[1]["extra"]:
            epoch, state = self._loaded
            self._loaded = epoch, {**state, "extra": 0}
            warnings.warn(
                f"the state is from the middle of a step, after {state['extra']} of its batches: that step starts "
                "again",
                LengthwiseWarning,
                stacklevel=4,
            )

    def _is_pending(self) -> bool:
        """Whether what counts is an iteration that has not begun. Choosing the epoch that runs means
        the one that runs, unless it is over."""
        running = self._running
        return running is None or (
            self._chosen and (running.epoch != self._epoch or running.is_over())
        )

    def _current(self) -> _Running:
        """The iteration that was chosen, or began last."""
        if self._running is None or self._is_pending():
            return _Running(self, self._epoch, self._state_of(self._epoch))
        return self._running

    def _begin(self, running: _Running) -> tuple[int, dict[str, Any] | None]:
        """The epoch of an iteration that begins, and the state that it goes on from."""
        before = self._running
        if before is not None and not self._chosen:
            # Ranks cannot know how far the others are, so only one alone advances by itself.
            if before.is_over() and self._ranks()[1] == 1:
                self._epoch += 1
                self._begun = 0
            # A look at the first batch is common, so beginning again after one is not a mistake.
            elif self._begun >= (1 if before.is_over() else 2):
                warnings.warn(
                    f"epoch {self._epoch} begins again, and gives the same batches: call "
                    "`set_epoch` before each epoch",
                    LengthwiseWarning,
                    stacklevel=4,
                )
        self._begun += 1
        self._chosen, self._asked, self._expected, self._running = False, None, None, running
        return self._epoch, self._state_of(self._epoch)


class _Running(Iterator[Batch]):
    """One iteration: the batches of this rank that are left of an epoch.

    It is stateful itself: a loader that has asked for batches ahead knows best where it stands.
    """

    def __init__(
        self, sampler: BatchSampler, epoch: int | None = None, state: dict[str, Any] | None = None
    ) -> None:
        self.sampler = sampler
        self.begun = self.met = False
        #: Whether a loader has put its state into it.
        self.restored = False
        #: Whether batches are taken before training asks for them, and how many at once.
        self.ahead, self.lead = False, 0
        #: Whether torchdata reads them.
        self.stateful = False
        #: How often another batch was asked for in vain.
        self.misses = 0
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
            try:
                self.schedule = plan.resume(state["cursor"], self.world_size)
            except StateError:
                self._check_canonical(state, plan)
                raise
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
                    "the state is from the middle of a step, and steps now have other batches: "
                    "that step starts again",
                    LengthwiseWarning,
                    stacklevel=4,
                )

    def _check_canonical(self, state: dict[str, Any], plan: Plan) -> None:
        """Says it if all that differs is for how many ranks the steps were planned."""
        theirs, own = state.get("canonical_ranks"), self.sampler._settings.get("canonical_ranks")
        cursors = [json.loads(cursor) for cursor in (state["cursor"], plan.schedule(self.world_size).cursor(0))]
        recommended = ("strategy=", "shapes=", "arrange=", "steps=") if self.sampler._recommended else ()
        follow = ("batches=", "ranks=", *recommended)
        for cursor in cursors:  # Of the settings, only these follow from the number of ranks.
            cursor["settings"] = [each for each in cursor["settings"].split() if not each.startswith(follow)]
        same = all(cursors[0][name] == cursors[1][name] for name in ("settings", "lengths", "seed", "epoch"))
        if theirs is not None and theirs != own and same:
            raise StateError(
                f"the state counts optimizer steps that were planned for {theirs} {_ranks_of(theirs)}, and these are "
                f"planned for {own}",
                hint=f"give `canonical_ranks={theirs}` to go on from it, and in every run whose number of ranks may "
                "change",
            ) from None

    def _step(self) -> dict[str, Any]:
        """What must be the same for the middle of a step to mean the same."""
        return {
            "world_size": self.world_size, "all": self.rank == "all", "per_step": self.per_step
        }  # fmt: skip

    def weights(self, counted: str) -> np.ndarray:
        """What to multiply the mean loss of each batch of `plan` by, so that the mean over all batches of a step is
        the mean over what is counted."""
        schedule, plan = self.schedule, self.plan
        own = plan.batch_sizes if counted == "sequences" else getattr(plan, counted)
        if own is None:
            raise SettingError(
                "there are no second positions", hint="give a second length for each sequence"
            )
        batches = schedule.accumulate * schedule.world_size
        step = np.repeat(getattr(schedule, counted), self.per_step)
        weights: np.ndarray = own.astype(np.uint64) * batches / step
        return weights

    def left(self) -> int:
        """The batches from where it goes on to the end."""
        return len(self.plan) - self.skipped

    def is_over(self) -> bool:
        """Whether all of its batches were given out, and not only taken ahead."""
        return self.begun and self.taken >= self.left() and self.misses >= self.lead

    def __iter__(self) -> _Running:
        return self

    def __next__(self) -> Batch:
        if not self.begun:
            self._plan(*self.sampler._begin(self))
            self.begun = True
        if not self.met:
            self._meet_reader()
        place = self.skipped + self.taken
        if place >= len(self.batch_lengths):
            self.misses += 1
            raise StopIteration
        self.taken += 1
        second = self.second_batch_lengths
        indices = self.plan[place]
        if self.sampler._of_items:
            indices = self.sampler.lengths._items_in(indices)
        return Batch(indices.tolist(), self.batch_lengths[place], None if second is None else second[place])

    def state(self, taken: int) -> dict[str, Any]:
        steps, extra = divmod(self.skipped + taken, self.per_step)
        state = {
            "version": VERSION, "cursor": self.schedule.cursor(steps), "extra": extra, **self._step()
        }  # fmt: skip
        if self.sampler._plans_steps:
            state["canonical_ranks"] = self.sampler._settings["canonical_ranks"]
        return state

    def state_dict(self) -> dict[str, Any]:
        return self.state(self.taken) if self.begun else self.sampler.state_dict(batches=0)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        state, epoch = _checked(state)
        self.sampler._resumed(epoch, state)
        self._plan(epoch, state)
        self.begun, self.restored, sampler = True, True, self.sampler
        sampler._loaded, sampler._running, sampler._begun = (epoch, state), self, 1
        sampler._go_on(epoch, self.left())
        if self.left():
            sampler._chosen, sampler._asked = False, None

    def _meet_reader(self) -> None:
        """Notes how the batches are taken. Accelerate divides the batches that it is given among its
        processes: if they are those of one rank already, most of the data would never be seen."""
        read_by = reader()
        self.met, self.ahead, self.lead = True, read_by.ahead, read_by.lead
        self.stateful = read_by.stateful
        if read_by.processes > 1 and self.rank != "all":
            raise RankError(
                f"Accelerate would divide the batches of rank {self.rank} among its processes once more",
                hint='make the sampler with `rank="all"`: Accelerate gives each process its batches',
            )
        if not self.sampler._counts_steps:
            self._check_accumulation(read_by)

    def _check_accumulation(self, read_by: Reader) -> None:
        """Says it when a framework takes an optimizer step after another number of batches than was planned. A plan
        whose steps have one batch leaves it to the framework how many it takes."""
        planned, taken = self.schedule.accumulate, read_by.accumulates
        if planned == 1 or taken == planned:
            return
        if taken is None:
            self._say_accumulation(planned)
            return
        message = f"an optimizer step was planned with {planned} batches of each rank, and {{}} of {taken}"
        if read_by.trains:
            raise SettingError(
                message.format("Lightning takes one after `accumulate_grad_batches`"),
                hint=f"give `accumulate_grad_batches={planned}` to Lightning's Trainer, or "
                "`callbacks=[lengthwise.lightning.PlannedAccumulation()]`, which sets it",
            )
        warnings.warn(
            message.format("Accelerate has a `gradient_accumulation_steps`")
            + ": train with `for step in lengthwise.torch.steps(loader)`, or set "
            f"`accelerator.gradient_accumulation_steps = {planned}`; for evaluation, give `accumulate=1` to the sampler",
            LengthwiseWarning,
            stacklevel=4,
        )


    def _say_accumulation(self, planned: int) -> None:
        """Warns that steps have several batches if you did not ask for them."""
        if self.sampler._chose_accumulation:
            self.sampler._chose_accumulation = False
            warnings.warn(
                f"an optimizer step was planned with {planned} batches of each rank, so that it has short and long "
                "sequences in proportion: train with `for step in lengthwise.torch.steps(loader)`, or accumulate "
                "gradients over `sampler.accumulate` batches. Give `accumulate=1` to the sampler if you update after "
                "every batch; for evaluation, give a strategy",
                LengthwiseWarning,
                stacklevel=5,
            )


def _ranks_of(number: int) -> str:
    return "rank" if number == 1 else "ranks"


def _checked(state: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """A state that has all its parts, and its epoch."""
    hint = "give what `state_dict` returned"
    names = ("version", "cursor", "extra", "world_size", "all", "per_step")
    try:
        parts = {name: state[name] for name in names}
        for name in ("version", "extra", "world_size", "per_step"):
            parts[name] = operator.index(parts[name])
        if "canonical_ranks" in state:
            parts["canonical_ranks"] = operator.index(state["canonical_ranks"])
        epoch = operator.index(json.loads(parts["cursor"])["epoch"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise StateError(f"this is not the state of a sampler: {error!r}", hint=hint) from None
    if parts["version"] != VERSION:
        raise StateError(
            f"the state has version {parts['version']}, and this release reads version {VERSION}",
            hint="use the release of lengthwise that wrote it",
        )
    if not 0 <= parts["extra"] < max(parts["per_step"], 1) or epoch < 0:
        raise StateError("this is not the state of a sampler: its counts are impossible", hint=hint)
    return parts, epoch


def check_items(dataset: Any) -> None:
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise LengthsError(
            f"{type(dataset).__name__} has no items to choose from",
            hint="batches are planned for datasets with an index and a length; `StreamBatches` is for streams",
        )


def check_dataset(dataset: Any, lengths: Lengths) -> None:
    if dataset is None:
        return
    check_items(dataset)
    count, what = (len(lengths), "sequences") if lengths.items is None else (lengths.items, "items")
    if len(dataset) != count:
        raise LengthsError(
            f"the dataset has {len(dataset)} {what}, and there are {count} lengths",
            hint="give one length for each item of the dataset, in the same order; if items hold several sequences, "
            "give `Lengths.of_items(lengths)`",
        )
