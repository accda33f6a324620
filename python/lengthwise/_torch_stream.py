"""Streams for PyTorch's loaders: an ``IterableDataset`` that is the same with any number of workers."""

from __future__ import annotations

import json
import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from torch.utils.data import IterableDataset, get_worker_info

from ._checks import check_budget, check_settings, check_source, checked_epoch, checked_word
from ._choice import Choice, SharedChoice
from ._describe import described
from ._lengthwise import Feed
from ._private import outside_workers, processes_of_accelerate
from ._ranks import find_ranks, given_ranks, group_of
from ._torch_divided import Divided
from ._torch_process import Processing
from .errors import LengthwiseWarning, RankError, SettingError, StateError
from .stream import LEFT_OUT, StreamBatch, Streaming, read_from, stream_batches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import StreamSettings

VERSION = 1
#: What can be divided among ranks.
DIVIDED = {name: name for name in ("batches", "items", "sources")}


@described(stream_batches, Feed, but=("state",))
class StreamBatches(IterableDataset[StreamBatch]):
    """The batches of one rank over a stream: an ``IterableDataset`` for ``DataLoader(…, batch_size=None)``.

    ``source``, ``length`` and the settings are those of :func:`lengthwise.stream_batches`, of which
    ``budget`` must be given; ``rank`` and ``world_size`` work as in :class:`BatchSampler`. All ranks read the
    same stream, and each returns its own batches. With ``pivot="quantile"``, each rank has a stream of its own.

    With workers, every worker reads the stream and holds a window of it, and the workers return the batches
    in turn: the loader yields the same batches with any number of workers. A source must not split itself by
    worker; to prevent this, ``get_worker_info`` returns ``None`` while it is read. It must not split itself by
    rank either, except with ``pivot="quantile"`` and ``divide="sources"``.

    If lengths are known only after an expensive step, such as tokenizing, decoding or augmenting, give that step as
    ``process``, and ``num_workers`` here instead of to the loader. Workers process each item once, and batches are made
    of the results. These do not depend on the number of workers: random numbers in ``process`` follow from the seed,
    the epoch and the position of the item, in Python's ``random``, in NumPy and in PyTorch.

    Call ``set_epoch`` before each epoch: it sets the random choices, and it is passed on to a source that
    has a ``set_epoch``. Every iteration starts the chosen epoch again. If you don't call ``set_epoch``, all
    iterations return the same batches, because a loader does not tell its dataset when an epoch is over. Call
    it between iterations: workers that a ``DataLoader`` keeps (``persistent_workers=True``) read the epoch
    when they start an iteration.

    Args:
        load: A function that turns an item into what you train on, such as a path into a tensor. It is called
            only on the rank and the worker that return its batch. If it raises an error, the batch is loaded
            again when you ask for the next one. By default, batches have the items themselves.
        process: A function that turns an item into what its length is taken from. Each item is processed once before
            batches are made. Items for which it returns ``None`` are left out. By default, items are not processed.
        num_workers: How many processes run ``process``. The default is 0: it runs in this process.
        divide: What is divided among ranks: "batches" (every rank reads and processes all items, and returns its own
            batches), "items" (every rank reads all items, and processes every n-th of them) or "sources" (each rank
            has a source of its own, and the world size must be the same when it resumes). For the last two, ranks
            exchange the lengths of a window over ``torch.distributed``. The default is "batches".
        rank: The rank of this process, from 0. By default, it is detected, as by :class:`BatchSampler`.
        world_size: The number of ranks. By default, it is detected.
        process_group: The process group that divides the data, in place of ``rank`` and ``world_size``.
        device_mesh: The data-parallel part of a device mesh, in place of ``rank`` and ``world_size``.
        epoch: The first epoch, from 0. The default is 0.
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[[int], Iterable[Any]],
        length: Callable[[Any], int | Sequence[int]] = len,
        *,
        kind: Callable[[Any], Any] | None = None,
        budget: str | int | None = None,
        load: Callable[[Any], Any] | None = None,
        process: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        divide: str = "batches",
        rank: int | None = None,
        world_size: int | None = None,
        process_group: Any = None,
        device_mesh: Any = None,
        epoch: int = 0,
        **settings: Unpack[StreamSettings],
    ) -> None:
        super().__init__()
        check_settings("StreamBatches", settings, StreamBatches, Feed, but=["state"])
        check_source(source, again=True)
        self._source, self._length, self._kind, self._load = source, length, kind, load
        self._settings: dict[str, Any] = {"budget": check_budget(budget), **settings}
        self._divide = checked_word("divide", divide, DIVIDED)
        self._group = None if self._divide == "batches" else group_of(process_group, device_mesh)
        self._process, self._num_workers = process, operator.index(num_workers)
        # What is told the lengths of a round, and gives the index of a position.
        self._learned: Any = None
        self._check_process()
        given, size = given_ranks(rank, world_size, process_group, device_mesh)
        if given == "all":
            raise RankError(
                'a stream does not support `rank="all"`', hint="give the `rank`, or leave it out"
            )
        self._given: tuple[int | None, int | None] = (given, size)
        self._choice = SharedChoice(checked_epoch(epoch))
        # The state that was loaded last, and its number.
        self._loaded: _Loaded | None = None
        self._loads = 0
        # The epoch that `set_epoch` chose since an iteration began in this process.
        self._asked: int | None = None
        # An epoch and a state for one iteration of this process alone: loaders may give each worker its own.
        self._once: tuple[int, dict[str, Any] | None] | None = None
        self._running: _Running | _RunningDivided | None = None
        self._stream(None, self.epoch)  # What makes no sense is refused here, and not in training.

    @property
    def epoch(self) -> int:
        """The epoch that was chosen last."""
        return self._choice.latest.epoch if self._once is None else self._once[0]

    def _check_process(self) -> None:
        if self._process is not None and not callable(self._process):
            raise SettingError(f"{self._process!r} is no function of an item", hint="give one, as in `process=tokenize`")
        if self._num_workers < 0:
            raise SettingError(f"`num_workers` cannot be {self._num_workers}", hint="give a whole number from 0")
        if self._num_workers and self._process is None:
            raise SettingError(
                f"`num_workers` is {self._num_workers}, but there is nothing to process",
                hint="give `process`; workers that load batches are those of the `DataLoader`",
            )
        if self._divide != "batches" and self._kind is not None:
            raise SettingError(
                f'`divide="{self._divide}"` does not support `kind`', hint='leave out one of them'
            )

    def set_epoch(self, epoch: int) -> None:
        """Chooses the ``epoch`` of the iterations that begin from now on. A loaded state belongs to its epoch:
        iterations of that epoch resume from it, until you choose another epoch."""
        processes, (_, world_size) = processes_of_accelerate(), self._ranks()
        if processes > 1 and world_size > 1:
            raise RankError(
                f"Accelerate would divide the batches of one of {world_size} ranks among {processes} processes "
                "once more",
                hint="leave the loader of a stream out of `accelerator.prepare`: every process reads its "
                "own batches",
            )
        epoch = checked_epoch(epoch)
        if get_worker_info() is not None:
            self._once = epoch, None
            return
        loaded, chosen = self._loaded, self._choice.latest
        self._asked = epoch
        if epoch == chosen.epoch:
            self._choice.confirm()
            return
        if loaded is not None and epoch == loaded.epoch:
            self._choice.choose(epoch, loaded.number)
            return
        if chosen.state and not self._choice.has_begun():
            warnings.warn(
                f"the state that was loaded is in epoch {chosen.epoch}, and epoch {epoch} was chosen: "
                "the state is dropped",
                LengthwiseWarning,
                stacklevel=2,
            )
        self._loaded = None
        self._choice.choose(epoch)

    def __iter__(self) -> Iterator[StreamBatch]:
        # At once, and not when the first batch is asked for: this is when workers take up a choice.
        if get_worker_info() is None:
            self._use_up()
            self._asked = None
        once, self._once = self._once, None
        chosen, begun = self._choice.begin(own=once is not None)
        epoch, state = chosen.epoch, self._state(chosen)
        self._running = None
        if once is not None:
            epoch, state = once
        elif chosen.state and state is None:
            return _refuse_state()
        # A look at the first batch is common, so beginning twice is not a mistake.
        elif begun == (3 if state is None else 2):
            again = "" if state is None else " from the state that was loaded"
            warnings.warn(
                f"epoch {epoch} begins again{again}, and gives the same batches: call `set_epoch` before "
                "each epoch",
                LengthwiseWarning,
                stacklevel=2,
            )
        running = self._stream(state, epoch)
        running.load, running.choice = self._load, chosen.number
        self._running = running
        return _Workers(running) if self._num_workers else running

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Returns the position in the stream, for a checkpoint: a few kilobytes, the same on every rank.

        It counts the batches that this object has returned since the epoch was chosen. A plain
        ``DataLoader`` with workers has copies of it: pass the number of ``batches`` of this iteration that
        were trained on, and the lengths of the stream are read again up to there, or use
        ``StatefulDataLoader``, which asks the workers.
        """
        chosen = self._choice.latest
        state = self._state(chosen)
        elsewhere, resumed = self._choice.begun_elsewhere()
        if get_worker_info() is None and resumed:
            raise StateError(
                "this iteration resumed from a state that only the workers have",
                hint="ask the loader for its `state_dict`",
            )
        if batches is not None:
            return self._state_after(operator.index(batches), state, chosen.epoch)
        running = self._running
        if get_worker_info() is None and elsewhere:
            raise StateError(
                "workers have returned the batches, so this process does not know how many",
                hint="give how many were trained on, as in `state_dict(batches=k)`, or use "
                "torchdata's `StatefulDataLoader` and its `state_dict`",
            )
        if running is None or running.choice != chosen.number:
            # No batch of the chosen epoch was given out yet.
            return dict(state) if state is not None else self._state_after(0, None, chosen.epoch)
        made = made_state(running.state(), running.ended)
        if running._workers > 1:
            made.update(base=running._base, workers=running._workers)
        return made

    def _state_after(
        self, batches: int, state: Mapping[str, Any] | None, epoch: int
    ) -> dict[str, Any]:
        """The state so many batches after another one."""
        if batches < 0:
            raise StateError(f"{batches} batches", hint="count the batches of this iteration")
        ahead = self._stream(state, epoch, alone=True)
        for taken in range(batches):
            if next(ahead, None) is None:
                raise StateError(
                    f"{batches} batches of {taken}", hint="count the batches of this iteration only"
                )
        return made_state(ahead.state(), batches > 0 and next(ahead, None) is None)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from a ``state``, also with another number of ranks: iterations return the batches after it,
        until you choose another epoch. After a state from the end of an epoch, the next epoch begins; if
        ``set_epoch`` chooses the finished one, it has no batches left. If a ``DataLoader`` keeps its workers
        (``persistent_workers=True``), load the state before the workers start; later it is refused."""
        if not isinstance(state, Mapping) or not isinstance(state.get("stream"), str):
            raise StateError(
                "this is not the state of a stream", hint="give what `state_dict` of a stream returned"
            )
        if state.get("version") != VERSION:
            raise StateError(
                f"the state has version {state.get('version')}, and this release reads {VERSION}",
                hint="use the release of lengthwise that made it",
            )
        try:
            epoch = int(json.loads(state["stream"])["epoch"])
        except (ValueError, KeyError, TypeError):
            epoch = self.epoch  # It is refused below, with a better message.
        self._stream(state, epoch)
        if get_worker_info() is not None:
            self._once = epoch, dict(state)
            return
        self._loads += 1
        self._loaded = _Loaded(self._loads, epoch, dict(state))
        # Some loaders load the state after the epoch was chosen.
        if state.get("ended") and self._asked != epoch:
            self._choice.choose((epoch + 1) % 2**64)
        else:
            self._choice.choose(epoch, self._loads)

    def _use_up(self) -> None:
        """Drops the state that was loaded, if the iteration that went on from it has ended and no epoch
        was chosen since. Not with several ranks: the others may not have ended."""
        chosen, running = self._choice.latest, self._running
        if running is None or not running.ended or running.choice != chosen.number:
            return
        if chosen.state and self._asked is None and self._ranks()[1] == 1:
            self._loaded = None
            self._choice.choose(chosen.epoch)

    def _state(self, chosen: Choice) -> dict[str, Any] | None:
        """The state that iterations with a choice go on from, if there is one and this copy has it."""
        loaded = self._loaded
        return loaded.state if loaded is not None and loaded.number == chosen.state else None

    def __getstate__(self) -> dict[str, Any]:
        # Workers are not processes of `torch.distributed`, so they are told.
        return {**self.__dict__, "_given": self._ranks(), "_group": None, "_running": None}

    def _ranks(self) -> tuple[int, int]:
        rank, world_size = self._given
        if world_size is None:
            rank, world_size = find_ranks()
        return rank or 0, world_size

    def _stream(
        self, state: Mapping[str, Any] | None, epoch: int, alone: bool = False
    ) -> _Running | _RunningDivided:
        """The stream from a state on; ``alone`` for the plan of it only, without items or workers."""
        rank, world_size = self._ranks()
        if self._settings.get("pivot") == "quantile":
            rank, world_size = 0, 1
        worker = None if alone else get_worker_info()
        if worker is not None and (self._num_workers or self._divide != "batches" or (self._process and worker.num_workers > 1)):
            raise SettingError(
                "workers of the loader would process every item once each",
                hint="give `num_workers` to `StreamBatches`, and none to the `DataLoader`",
            )
        if self._divide != "batches":
            return self._divided(state, epoch, rank, world_size, alone)
        share = (0, 1) if worker is None else (worker.id, worker.num_workers)
        state = state or {}
        same_workers = share[1] > 1 and state.get("workers") == share[1]
        text, base = state.get("stream"), state["base"] if same_workers else None
        source = self._source if worker is None else _Whole(self._source)
        running = self._running_type(world_size, alone)(
            source, self._length, kind=self._kind, rank=rank, world_size=world_size, share=share, base=base,
            keep=not alone, state=text, epoch=epoch, **self._settings
        )  # fmt: skip
        running.processing = None if self._process is None else self._processing(self._process)
        return running

    def _divided(
        self, state: Mapping[str, Any] | None, epoch: int, rank: int, world_size: int, alone: bool
    ) -> _RunningDivided:
        return _RunningDivided(
            self._source, self._length, divide=self._divide, processing=self._processing(self._process or _unchanged),
            rank=rank, world_size=world_size, group=self._group, keep=not alone,
            state=None if state is None else state["stream"], epoch=epoch, learned=self._learned, **self._settings,
        )  # fmt: skip

    def _processing(self, function: Callable[[Any], Any]) -> Processing:
        window, seed = self._settings.get("window", Streaming.WINDOW), self._settings.get("seed", 0)
        return Processing(function, self._num_workers, operator.index(window), operator.index(seed))

    def _running_type(self, world_size: int, alone: bool) -> type[_Running]:
        return _Running

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"StreamBatches(rank {rank} of {world_size}, epoch {self.epoch})"


def made_state(stream: str, ended: bool) -> dict[str, Any]:
    """A state for `load_state_dict`, of what a running stream says."""
    return {"version": VERSION, "stream": stream, **({"ended": True} if ended else {})}


class _Loaded(NamedTuple):
    """A state that was loaded, and the epoch that it is in."""

    number: int
    epoch: int
    state: dict[str, Any]


def _unchanged(item: Any) -> Any:
    return item


class _Loading:
    """One iteration: batches count as given out once their items are loaded."""

    load: Callable[[Any], Any] | None = None
    #: The number of the choice that it began with.
    choice = 0
    ended = False
    #: The batch that is being loaded, and what gives the state before it.
    _pending: tuple[StreamBatch, Callable[[], str]] | None = None

    def state(self) -> str:
        return super().state() if self._pending is None else self._pending[1]()  # type: ignore[misc]

    def __next__(self) -> StreamBatch:
        if self._pending is None:
            before = str if self.load is None else self._state_now()  # type: ignore[attr-defined]
            try:
                self._pending = super().__next__(), before  # type: ignore[misc]
            except StopIteration:
                self.ended = True
                raise
        batch = self._pending[0]
        try:
            batch[:] = batch if self.load is None else [self.load(item) for item in batch]
        except StopIteration as error:
            # It would look like the end of the stream.
            raise RuntimeError("`load` raised StopIteration") from error
        self._pending = None
        return batch


class _Running(_Loading, Streaming):
    processing: Processing | None = None

    def _read(self, start: int) -> Iterator[Any]:
        items = super()._read(start)
        if self.processing is None:
            return items
        taken = self._feed.was_taken
        placed = ((place, LEFT_OUT if taken(place) else item) for place, item in enumerate(items, start))
        return self.processing.over(placed, self._epoch)


class _RunningDivided(_Loading, Divided):
    pass


class _Workers(Iterator[StreamBatch]):
    """An iteration whose workers end when the loop that reads it does. The stream knows the iteration longer."""

    def __init__(self, running: _Running | _RunningDivided) -> None:
        self._running = running

    def __next__(self) -> StreamBatch:
        return next(self._running)

    def __del__(self) -> None:
        self._running._rest = None


def _refuse_state() -> Iterator[StreamBatch]:
    # When the first batch is asked for: loaders pass on what is wrong then.
    raise StateError(
        "a state was loaded when the workers of the loader had begun, and they do not have it",
        hint="load it before the first iteration, or make a new loader, or leave out "
        "`persistent_workers`, or use torchdata's `StatefulDataLoader` and its `load_state_dict`",
    )
    yield


class _Whole:
    """A source that every worker reads as a whole.

    Many datasets give a worker its own part, as PyTorch advises. Here every worker needs all of it, because
    batches are divided among the workers, not items.
    """

    def __init__(self, source: Iterable[Any] | Callable[[int], Iterable[Any]]) -> None:
        self._source = source

    def set_epoch(self, epoch: int) -> None:
        if callable(choose := getattr(self._source, "set_epoch", None)):
            choose(epoch)

    def __call__(self, start: int) -> Iterator[Any]:
        items: Iterator[Any] | None = None
        while True:
            # Around every item: generators look at their first one, and others at any.
            with outside_workers():
                try:
                    if items is None:
                        items = read_from(self._source, start)
                    item = next(items)
                except StopIteration:
                    return
            yield item
