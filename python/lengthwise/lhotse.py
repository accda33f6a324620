"""Planned batches for Lhotse: samplers that its datasets accept, and buckets for its own samplers.

>>> from lengthwise.lhotse import PlannedCutSampler
>>> sampler = PlannedCutSampler(cuts, budget="padded:20000")  # doctest: +SKIP
>>> loader = DataLoader(K2SpeechRecognitionDataset(), sampler=sampler, batch_size=None)  # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from lhotse import CutSet
from lhotse.dataset.sampling.base import CutSampler, attach_dataloading_info
from lhotse.utils import compute_num_frames
from torch.utils.data import get_worker_info

from ._checks import check_settings, check_source, checked_word
from ._convert import array
from ._describe import described
from ._lengthwise import Feed, Planner, ladder
from ._private import asked_by_torchdata, reader
from ._ranks import find_ranks, given_ranks
from ._torch_sampler import BatchSampler
from ._torch_stream import StreamBatches
from .errors import ArgumentTypeError, BudgetError, LengthsError, RankError, SettingError, StateError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import PlannerSettings, StreamSettings

__all__ = ["Buckets", "PlannedCutSampler", "StreamCutSampler", "bucket_bins", "lengths_of"]

UNITS = {"frames": "frames", "samples": "samples"}


class _Measure:
    """The length of a cut, from its manifest alone; and cuts that are padded to a length."""

    def __init__(self, unit: str, frame_shift: float | None) -> None:
        self.unit, self.frame_shift = checked_word("unit", unit, UNITS), frame_shift
        if frame_shift is not None and not (isinstance(frame_shift, (int, float)) and 0 < frame_shift < math.inf):
            raise SettingError(f"`frame_shift` is {frame_shift!r}", hint="give seconds, as in `frame_shift=0.01`")
        if frame_shift is not None and unit == "samples":
            raise SettingError("samples have no frame shift", hint='leave out `frame_shift`, or `unit="samples"`')

    def __call__(self, cut: Any) -> int:
        if self.frame_shift is not None:
            return int(compute_num_frames(cut.duration, self.frame_shift, cut.sampling_rate))
        length = cut.num_frames if self.unit == "frames" else cut.num_samples
        if length is None:
            raise LengthsError(
                f"cut {cut.id} has no {'features' if self.unit == 'frames' else 'recording'}",
                hint="give `frame_shift=0.01`, which goes by its duration" + (
                    ', or `unit="samples"`' if self.unit == "frames" else ""
                ),
            )  # fmt: skip
        return int(length)

    def padded(self, cuts: Iterable[Any], length: int) -> CutSet:
        if self.frame_shift is not None:
            # Rounded as Lhotse's own durations are: otherwise a cut could be padded by nothing, which Lhotse refuses.
            duration = round(length * self.frame_shift, ndigits=8)
            return CutSet.from_cuts(cut.pad(duration=duration, preserve_id=True) for cut in cuts)
        size = {f"num_{self.unit}": length, "preserve_id": True}
        return CutSet.from_cuts(cut if self(cut) >= length else cut.pad(**size) for cut in cuts)


def lengths_of(
    cuts: Iterable[Any], *, unit: Literal["frames", "samples"] = "frames", frame_shift: float | None = None
) -> np.ndarray:
    """The lengths of the cuts of a ``CutSet``, from the manifest alone: no audio and no features are read.

    Args:
        cuts: The cuts. Cuts that are read lazily are read once.
        unit: What is counted: "frames" of features, or "samples" of audio. The default is "frames".
        frame_shift: The seconds of a frame, for cuts without features, as when features are computed in training.
            Frames are then counted by the duration, as Lhotse does. By default, the features of each cut say it.
    """
    measure = _Measure(unit, frame_shift)
    return np.fromiter((measure(cut) for cut in cuts), np.int64)


class Buckets(NamedTuple):
    """Buckets for Lhotse's own samplers and for NeMo: its fields have the names of NeMo's configuration.

    Args:
        bucket_duration_bins: The longest duration of each bucket, in seconds.
        bucket_batch_size: How many cuts of each bucket a batch has.
    """

    bucket_duration_bins: list[float]
    bucket_batch_size: list[int]


def bucket_bins(
    cuts: Iterable[Any], buckets: int = 30, *, budget: str | int, frame_shift: float = 0.01
) -> Buckets:
    """The buckets that pad the least, and the largest batch of each that the budget allows.

    Lhotse takes them as ``FixedBucketBatchSizeConstraint(*bucket_bins(…))``, together with
    ``duration_bins=…``; NeMo as ``bucket_duration_bins`` and ``bucket_batch_size``.

    Args:
        cuts: The cuts, or their durations in seconds.
        buckets: How many buckets. The default is 30.
        budget: The hard limit of a batch, in frames, as for :class:`PlannedCutSampler`.
        frame_shift: The seconds of a frame. The default is 0.01.
    """
    if isinstance(cuts, CutSet):
        durations = np.array([cut.duration for cut in cuts])
    else:
        durations = np.asarray(array(cuts), np.float64)
    _Measure("frames", frame_shift)
    frames = np.maximum(np.floor(durations / frame_shift + 0.5), 1).astype(np.int64)
    rungs = ladder(frames, buckets)
    places = np.searchsorted(rungs, frames)
    # A duration can be longer than its frames, by less than a frame.
    longest = [max(float(durations[places == place].max()), rung * frame_shift) for place, rung in enumerate(rungs.tolist())]
    sizes = [_full_batch(rung, int(rungs[-1]), budget) for rung in rungs.tolist()]
    return Buckets([math.ceil(each * 1e6 - 1e-3) / 1e6 for each in longest], sizes)


def _full_batch(length: int, longest: int, budget: str | int) -> int:
    """How many sequences of a length a batch has at most. Some budgets depend on the longest sequence."""
    count = 64
    while True:
        lengths = np.append(np.full(count, length), longest)
        try:
            plan = Planner(lengths, "sorted", budget=budget).plan(0)
        except BudgetError:
            raise BudgetError(
                f"a cut of {longest} frames alone exceeds the budget {budget}",
                hint="raise the budget, or leave longer cuts out, as in `cuts.filter(lambda cut: cut.duration < 30)`",
            ) from None
        # None, if all of them are in the batch of the longest.
        largest = int(plan.batch_sizes[plan.batch_lengths == length].max(initial=0))
        if 0 < 2 * largest < count or count > 2**22:  # No batch has millions of cuts.
            return largest or count
        count *= 4


class _CutBatches(CutSampler):  # type: ignore[misc]
    """What both samplers share: batches as cut sets, as Lhotse's datasets want them."""

    #: What plans the batches.
    _source: Any
    _running: Iterator[Any] | None = None

    def __init__(self, measure: _Measure, pad: bool, rank: int, world_size: int, seed: Any) -> None:
        super().__init__(shuffle=True, rank=rank, world_size=world_size, seed=seed)
        self._measure, self._pad = measure, pad

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or began last."""
        return self._source.epoch if hasattr(self, "_source") else 0

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        if hasattr(self, "_source"):  # The class of Lhotse sets it before there is one.
            self.set_epoch(epoch)

    def set_epoch(self, epoch: int) -> None:
        """Chooses the ``epoch`` of the next iteration. A loaded state belongs to its epoch."""
        self._source.set_epoch(epoch)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from a ``state``, also on another number of ranks."""
        self._source.load_state_dict(state)
        self._running = None

    def __iter__(self) -> Any:
        # It is its own iterator, as all samplers of Lhotse: those that combine several call `next` on it. It begins
        # when the first batch is asked for, since loaders ask for iterators that they do not use.
        self._running = None
        return self

    def __next__(self) -> CutSet:
        begins = self._running is None
        if self._running is None:
            self._running = self._begin()
        batch = next(self._running)
        self.diagnostics.set_epoch(self.epoch)
        if begins:
            self.diagnostics.reset_current_epoch()
        own = self._cuts_of(batch)
        cuts = self._measure.padded(own, batch.length) if self._pad else CutSet.from_cuts(own)
        self.diagnostics.keep(cuts)
        for transform in self._transforms:
            cuts = transform(cuts)
        attach_dataloading_info(cuts, rank=self.rank, world_size=self.world_size)
        return cuts

    def _begin(self) -> Iterator[Any]:
        raise NotImplementedError

    def _cuts_of(self, batch: Any) -> Iterable[Any]:
        raise NotImplementedError

    def __getstate__(self) -> Any:
        # The source knows how far it is; an iterator cannot be copied.
        running, self._running = self._running, None
        try:
            state = super().__getstate__()
            return dict(state) if isinstance(state, dict) else state
        finally:
            self._running = running


@described(BatchSampler, Planner, but=("dataset", "lengths"))
class PlannedCutSampler(_CutBatches):
    """The batches of one rank, epoch after epoch, as Lhotse's ``CutSampler``: for
    ``DataLoader(dataset, sampler=sampler, batch_size=None)``.

    It is for cuts that fit into memory; :class:`StreamCutSampler` is for cuts that are read lazily. Batches are planned
    by :class:`lengthwise.torch.BatchSampler`, which is ``sampler.batch_sampler``: every rank takes the same number of
    batches, and no batch exceeds the budget. Budgets and lengths are in frames, or in samples: Lhotse's
    ``max_duration=200`` is ``budget="padded:20000"`` with frames of 10 ms.

    ``filter``, ``map`` and ``get_report`` do what they do in Lhotse. In Lhotse's ``IterableDatasetWrapper``, the workers
    return the batches in turn, each batch once.

    Args:
        cuts: The cuts, in memory.
        lengths: The length of each cut. By default, it is what :func:`lengths_of` returns.
        unit: What is counted: "frames" of features, or "samples" of audio. The default is "frames".
        frame_shift: The seconds of a frame, for cuts without features, as when features are computed in training. By
            default, the features of each cut say it.
        pad: Whether cuts are padded to the planned batch length, which a ladder needs: otherwise datasets pad to the
            longest cut of a batch. The default is false.
        rank: The rank of this process, from 0. By default, it is detected, as by :class:`lengthwise.torch.BatchSampler`.
    """

    def __init__(
        self,
        cuts: CutSet,
        strategy: str | None = None,
        *,
        lengths: Any = None,
        unit: Literal["frames", "samples"] = "frames",
        frame_shift: float | None = None,
        pad: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        process_group: Any = None,
        device_mesh: Any = None,
        epoch: int = 0,
        **settings: Unpack[PlannerSettings],
    ) -> None:
        check_settings("PlannedCutSampler", settings, PlannedCutSampler, BatchSampler, Planner, but=["dataset"])
        if not isinstance(cuts, (CutSet, list, tuple)):
            raise ArgumentTypeError(
                f"expected a CutSet, got a {type(cuts).__name__}", hint='give cuts, as in `CutSet.from_file("cuts.jsonl.gz")`'
            )
        if getattr(cuts, "is_lazy", False):
            raise LengthsError(
                "the cuts are read lazily, and batches are planned for cuts in memory",
                hint="give `cuts.to_eager()`, or use `StreamCutSampler`",
            )
        rank, world_size = _ranks("PlannedCutSampler", rank, world_size, process_group, device_mesh)
        super().__init__(_Measure(unit, frame_shift), pad, rank, world_size, settings.get("seed", 0))
        _check_whole("PlannedCutSampler", settings.get("over_long"))
        if pad and (strategy or "").startswith("packed"):
            raise SettingError("cuts that share a row are not padded", hint="leave out `pad`, or the strategy")
        if lengths is None:
            lengths = lengths_of(cuts, unit=unit, frame_shift=frame_shift)
        self._settings: dict[str, Any] = {
            "strategy": strategy, "rank": rank, "world_size": world_size, "epoch": epoch, **settings
        }  # fmt: skip
        # Whether a worker of a loader has begun: this process then does not know how far it is.
        self._elsewhere = torch.zeros(1, dtype=torch.bool).share_memory_()  # type: ignore[no-untyped-call]
        self._plan(list(cuts), lengths)

    def _plan(self, cuts: Sequence[Any], lengths: Any) -> None:
        self.cuts = cuts
        self._source = BatchSampler(lengths, dataset=cuts, **self._settings)

    @property
    def batch_sampler(self) -> BatchSampler:
        """The sampler that plans: it has the ``plan`` and the ``weights`` of its batches."""
        sampler: BatchSampler = self._source
        return sampler

    @property
    def accumulate(self) -> int:
        """Gradient-accumulation steps per rank: how many batches this rank processes for one optimizer step."""
        return self.batch_sampler.accumulate

    def filter(self, predicate: Callable[[Any], bool]) -> PlannedCutSampler:
        """Leaves out cuts for which ``predicate`` is false, and plans the others. Call it before training begins."""
        named = [name for name in ("second", "together", "kind") if self._settings.get(name) is not None]
        if named or self.batch_sampler.lengths.items is not None:
            raise SettingError(
                f"cuts cannot be left out after `{named[0] if named else 'lengths'}` was given for all of them",
                hint="filter the cuts first, as in `cuts.filter(predicate).to_eager()`",
            )
        kept = [index for index, cut in enumerate(self.cuts) if predicate(cut)]
        if not kept:
            raise LengthsError("the filter leaves no cuts", hint="give a predicate that is true for some cuts")
        lengths = self.batch_sampler.lengths.numpy()[kept]
        self._settings["epoch"], self._running = self.epoch, None
        self._plan([self.cuts[index] for index in kept], lengths)
        return self

    def set_epoch(self, epoch: int) -> None:
        super().set_epoch(epoch)
        self._elsewhere[0] = False

    set_epoch.__doc__ = _CutBatches.set_epoch.__doc__

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Returns the position in the epoch, for a checkpoint, the same on every rank. If a loader with workers reads
        ahead of training, pass the number of ``batches`` of this iteration that were trained on."""
        if batches is None and get_worker_info() is None and bool(self._elsewhere[0]):
            raise StateError(
                "workers have returned the batches, so this process does not know how many",
                hint="give how many were trained on, as in `state_dict(batches=k)`",
            )
        return self.batch_sampler.state_dict(batches)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._elsewhere[0] = False

    load_state_dict.__doc__ = _CutBatches.load_state_dict.__doc__

    def _begin(self) -> Iterator[Any]:
        worker = get_worker_info()
        if worker is None:
            self._elsewhere[0] = False
            return iter(self.batch_sampler)
        self._elsewhere[0] = True
        return islice(self.batch_sampler, worker.id, None, worker.num_workers)

    def _cuts_of(self, batch: Any) -> Iterable[Any]:
        return [self.cuts[index] for index in batch]

    def __len__(self) -> int:
        """The batches of a whole epoch on this rank."""
        return len(self.batch_sampler)

    @property
    def num_cuts(self) -> int:
        """How many cuts there are, on all ranks."""
        return len(self.cuts)

    @property
    def remaining_cuts(self) -> int:
        """How many cuts this rank has left in the epoch."""
        return sum(len(batch) for batch in self._left())

    @property
    def remaining_duration(self) -> float:
        """How many seconds of cuts this rank has left in the epoch."""
        return float(sum(self.cuts[index].duration for batch in self._left() for index in batch))

    def _left(self) -> Iterator[Any]:
        running = self.batch_sampler._current()
        return (running.plan[place] for place in range(running.skipped + running.taken, len(running.plan)))

    def __repr__(self) -> str:
        return f"PlannedCutSampler({len(self.cuts)} cuts, {self.batch_sampler!r})"


@described(StreamBatches, Feed, but=("state", "source", "length", "load", "process", "num_workers", "divide"))
class StreamCutSampler(_CutBatches):
    """The batches of one rank over cuts that are read lazily, as Lhotse's ``CutSampler``.

    It holds a window of cuts, as :class:`lengthwise.torch.StreamBatches` does, which makes the batches. It works in
    the main process, as in ``DataLoader(dataset, sampler=sampler, batch_size=None)``, and in workers, in Lhotse's
    ``IterableDatasetWrapper(dataset, sampler)``: the batches are the same. All ranks and workers read all cuts, so give
    cuts that do not split themselves by rank (``split_for_dataloading=False``), in the same order everywhere.

    ``filter``, ``map`` and ``get_report`` do what they do in Lhotse.

    Args:
        cuts: The cuts, such as ``CutSet.from_jsonl_lazy(path)``. They must be readable again.
        unit: What is counted: "frames" of features, or "samples" of audio. The default is "frames".
        frame_shift: The seconds of a frame, for cuts without features, as when features are computed in training. By
            default, the features of each cut say it.
        pad: Whether cuts are padded to the planned batch length, which fixed shapes need: otherwise datasets pad to the
            longest cut of a batch. The default is false.
        kind: A function that returns the kind of a cut, such as its language: a batch has cuts of one kind only. By
            default, all kinds mix.
    """

    def __init__(
        self,
        cuts: CutSet,
        *,
        budget: str | int | None = None,
        kind: Callable[[Any], Any] | None = None,
        unit: Literal["frames", "samples"] = "frames",
        frame_shift: float | None = None,
        pad: bool = False,
        rank: int | None = None,
        world_size: int | None = None,
        process_group: Any = None,
        device_mesh: Any = None,
        epoch: int = 0,
        **settings: Unpack[StreamSettings],
    ) -> None:
        check_settings("StreamCutSampler", settings, StreamCutSampler, Feed, but=["state"])
        rank, world_size = _ranks("StreamCutSampler", rank, world_size, process_group, device_mesh)
        measure = _Measure(unit, frame_shift)
        super().__init__(measure, pad, rank, world_size, settings.get("seed", 0))
        check_source(cuts, again=True)
        _check_whole("StreamCutSampler", settings.get("over_long"))
        self._cuts = _LazyCuts(cuts)
        # Whether a loader reads ahead of training.
        self._ahead = False
        self._source = StreamBatches(
            self._cuts, measure, kind=kind, budget=budget, rank=rank, world_size=world_size, epoch=epoch, **settings
        )

    def filter(self, predicate: Callable[[Any], bool]) -> StreamCutSampler:
        """Leaves out cuts for which ``predicate`` is false. Call it before training begins, and again before a state is
        loaded."""
        self._cuts.predicates.append(predicate)
        return self

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Returns the position in the stream, for a checkpoint, the same on every rank. If a loader with workers reads
        ahead of training, pass the number of ``batches`` of this iteration that were trained on."""
        if batches is None and self._ahead and not asked_by_torchdata():
            raise StateError(
                "the loader reads ahead of training, so the sampler does not know how many batches were trained on",
                hint="give their number, as in `state_dict(batches=k)`",
            )
        state: dict[str, Any] = self._source.state_dict(batches)
        return state

    def _begin(self) -> Iterator[Any]:
        self._ahead = reader().ahead
        return iter(self._source)

    def _cuts_of(self, batch: Any) -> Iterable[Any]:
        return list(batch)

    @property
    def num_cuts(self) -> None:
        """It is not known: cuts are read lazily."""
        return None

    remaining_cuts = remaining_duration = num_cuts

    def __repr__(self) -> str:
        return f"StreamCutSampler({self._source!r})"


class _LazyCuts:
    """The source of a stream: cuts that are left out are never seen by it."""

    def __init__(self, cuts: Any) -> None:
        self.cuts = cuts
        self.predicates: list[Callable[[Any], bool]] = []

    def set_epoch(self, epoch: int) -> None:
        # Lhotse Shar and WebDataset shuffle their shards by it.
        for part in (self.cuts, getattr(self.cuts, "data", None)):
            if callable(choose := getattr(part, "set_epoch", None)):
                choose(epoch)
                return

    def __iter__(self) -> Iterator[Any]:
        return (cut for cut in self.cuts if all(keep(cut) for keep in self.predicates))


def _check_whole(name: str, over_long: Any) -> None:
    """Refuses to plan cuts as shorter than they are: nothing would cut them."""
    if over_long == "truncate":
        raise SettingError(
            f'{name} does not support `over_long="truncate"`',
            hint='give "drop" or "alone", or cut them first, as in `cuts.cut_into_windows(duration=30).to_eager()`',
        )


def _ranks(name: str, *given: Any) -> tuple[int, int]:
    """The rank and the world size: Lhotse wants to know them at once."""
    rank, world_size = given_ranks(*given)
    if rank == "all":
        raise RankError(f'{name} does not support `rank="all"`', hint="give the `rank`, or leave it out")
    if world_size is None:
        return find_ranks()
    return rank or 0, world_size
