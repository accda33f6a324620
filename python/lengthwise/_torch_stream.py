"""Streams for PyTorch's loaders: an ``IterableDataset`` that is the same with any number of workers."""

from __future__ import annotations

import json
import operator
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data._utils import worker as _workers

from ._checks import check_again, check_budget, check_settings, check_source, checked_epoch
from ._iterations import Iterations
from ._lengthwise import Feed
from ._private import refuse_second_assignment
from ._ranks import find_ranks, given_ranks
from .errors import LengthwiseWarning, RankError, StateError
from .stream import StreamBatch, Streaming, read_from

VERSION = 1


class StreamBatches(IterableDataset[StreamBatch]):
    """The batches of one rank over a stream: an ``IterableDataset`` for ``DataLoader(…, batch_size=None)``.

    ``source``, ``length`` and the settings are those of :func:`lengthwise.stream_batches`, of which
    ``budget`` must be given. ``load`` makes what is trained on of an item, when its batch is given
    out: only the rank and the worker that give it out do this, so items can be cheap, as paths are. A
    batch whose ``load`` raised is not given out: it is loaded once more when the next one is asked for.

    ``rank`` and ``world_size`` are found out as by :class:`BatchSampler`. All ranks read the same
    stream, and each gives out its own batches. With ``pivot="quantile"`` each has a stream of its own.

    With workers every worker reads the stream and holds a window of it, and they give out the batches in
    turn: what comes out of the loader is the same with any number of workers. A source need not split
    itself by worker, and while it is read ``get_worker_info`` gives ``None``, so that it does not. It must
    not split itself by rank either, except with ``pivot="quantile"``.

    Every iteration begins the stream anew. ``set_epoch`` chooses the epoch, and with it the randomness;
    whoever does not call it gets the next epoch with every new iteration, with workers too.
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[[int], Iterable[Any]],
        length: Callable[[Any], int] = len,
        *,
        budget: str | int | None = None,
        load: Callable[[Any], Any] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__()
        check_settings("StreamBatches", settings, StreamBatches, Feed, but=["state"])
        check_source(source)
        check_again(source)
        self._source, self._length, self._load = source, length, load
        self._settings = {"budget": check_budget(budget), **settings}
        given, size = given_ranks(rank, world_size)
        if given == "all":
            raise RankError(
                "a stream has no batches of all ranks", hint="give the `rank`, or leave it out"
            )
        self._given: tuple[int | None, int | None] = (given, size)
        self._iterations = Iterations(checked_epoch(epoch))
        # The state that was loaded last, and with which choice.
        self._loaded: tuple[int, dict[str, Any]] | None = None
        self._running: _Running | None = None
        self._stream(None, self.epoch)  # What makes no sense is refused here, and not in training.

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or began last."""
        last = self._iterations.last
        if last is None or self._iterations.is_pending():
            return self._iterations.chosen.epoch
        return last.epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the epoch of the next iteration, before it begins. The epoch that a loaded state is in
        goes on where it stood; another one begins at its beginning."""
        refuse_second_assignment(sys._getframe(1), self._ranks()[1])
        epoch = checked_epoch(epoch)
        chosen = self._iterations.chosen
        if chosen.resumes and self._iterations.is_pending():
            if epoch == chosen.epoch:
                return
            warnings.warn(
                f"the state that was loaded is in epoch {chosen.epoch}, and epoch {epoch} was chosen: "
                "the state is dropped",
                LengthwiseWarning,
                stacklevel=2,
            )
        self._iterations.choose(epoch)

    def __iter__(self) -> Iterator[StreamBatch]:
        # At once, and not when the first batch is asked for: other workers and the main process ask
        # which iteration this is.
        begun = self._iterations.begin()
        state = self._state(begun.choice) if begun.resumes else None
        self._running = None
        if begun.resumes and state is None:
            return _refuse_state()
        self._running = _Running(self._stream(state, begun.epoch), self._load)
        return self._running

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Where the stream stands: a few kilobytes, the same on every rank.

        It counts the batches that this object has given out. A plain ``DataLoader`` with workers has
        copies of it: say how many ``batches`` of this iteration were trained on, and the lengths of the
        stream are read again up to there, or use ``StatefulDataLoader``, which asks the workers.
        """
        chosen, last = self._iterations.chosen, self._iterations.last
        if last is None or self._iterations.is_pending():
            if last is None or chosen.resumes or chosen.epoch != last.epoch or self._is_over():
                # The next iteration is meant.
                state = self._state(chosen.number) if chosen.resumes else None
                if not batches and state is not None:
                    return dict(state)
                return self._state_after(operator.index(batches or 0), state, chosen.epoch)
        if batches is not None:
            state = self._state(last.choice) if last.resumes else None
            if last.resumes and state is None:
                raise StateError(
                    "this iteration goes on from a state that only the workers have",
                    hint="ask the loader for its `state_dict`",
                )
            return self._state_after(operator.index(batches), state, last.epoch)
        if self._running is None or (self._iterations.is_elsewhere and get_worker_info() is None):
            raise StateError(
                "the batches were given out by workers, and this process does not know how many",
                hint="say how many were trained on, as in `state_dict(batches=k)`, or use "
                "torchdata's `StatefulDataLoader` and its `state_dict`",
            )
        stream = self._running.stream
        made: dict[str, Any] = {"version": VERSION, "stream": self._running.state()}
        if stream._workers > 1:
            made.update(base=stream._base, workers=stream._workers)
        return made

    def _is_over(self) -> bool:
        """Whether the last iteration is one of this process, and has ended."""
        running = self._running
        return running is not None and running.ended and not self._iterations.is_elsewhere

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
        return {"version": VERSION, "stream": ahead.state()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, also with another number of ranks: the next iteration gives the batches
        that come after it, and the one after that is the next epoch. Workers that a ``DataLoader``
        keeps (``persistent_workers=True``) must be given it before they begin: later it is refused."""
        if not isinstance(state, Mapping) or not isinstance(state.get("stream"), str):
            raise StateError(
                "the state is none of a stream", hint="give what `state_dict` of a stream returned"
            )
        if state.get("version") != VERSION:
            raise StateError(
                f"the state has version {state.get('version')}, and this release reads {VERSION}",
                hint="use the release of lengthwise that made it",
            )
        epoch = self.epoch
        try:
            epoch = int(json.loads(state["stream"])["epoch"])
        except (ValueError, KeyError, TypeError):
            pass  # It is refused below, with a better message.
        self._stream(state, epoch)
        self._iterations.choose(epoch, resumes=True)
        self._loaded = self._iterations.chosen.number, dict(state)

    def _state(self, choice: int) -> dict[str, Any] | None:
        """The state that was loaded with a choice, if this copy has it."""
        return self._loaded[1] if self._loaded and self._loaded[0] == choice else None

    def __getstate__(self) -> dict[str, Any]:
        # Workers are no processes of `torch.distributed`: they are told.
        return {**self.__dict__, "_given": self._ranks(), "_running": None}

    def _ranks(self) -> tuple[int, int]:
        rank, world_size = self._given
        if world_size is None:
            rank, world_size = find_ranks()
        return rank or 0, world_size

    def _stream(
        self, state: Mapping[str, Any] | None, epoch: int, alone: bool = False
    ) -> Streaming:
        """The stream from a state on; ``alone`` for the plan of it only, without items or workers."""
        rank, world_size = self._ranks()
        if self._settings.get("pivot") == "quantile":
            rank, world_size = 0, 1
        worker = None if alone else get_worker_info()
        share = (0, 1) if worker is None else (worker.id, worker.num_workers)
        text = base = None
        if state is not None:
            text = state["stream"]
            if share[1] > 1 and state.get("workers") == share[1]:
                base = state["base"]
        source = self._source if worker is None else _Whole(self._source)
        return Streaming(
            source, self._length, rank=rank, world_size=world_size, share=share, base=base,
            keep=not alone, state=text, epoch=epoch, **self._settings
        )  # fmt: skip

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"StreamBatches(rank {rank} of {world_size}, epoch {self.epoch})"


class _Running(Iterator[StreamBatch]):
    """One iteration: batches count as given out once their items are loaded."""

    def __init__(self, stream: Streaming, load: Callable[[Any], Any] | None) -> None:
        self.stream = stream
        self._load = load
        # The batch that is being loaded, and the state before it.
        self._pending: tuple[StreamBatch, str] | None = None
        self.ended = False

    def state(self) -> str:
        return self.stream.state() if self._pending is None else self._pending[1]

    def __next__(self) -> StreamBatch:
        if self._load is None:
            return self._next()
        if self._pending is None:
            before = self.stream.state()
            self._pending = self._next(), before
        batch = self._pending[0]
        try:
            loaded = [self._load(item) for item in batch]
        except StopIteration as error:
            # It would look like the end of the stream.
            raise RuntimeError("`load` raised StopIteration") from error
        self._pending = None
        batch[:] = loaded
        return batch

    def _next(self) -> StreamBatch:
        try:
            return next(self.stream)
        except StopIteration:
            self.ended = True
            raise


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

    Many datasets give a worker its own part, as PyTorch advises. Here every worker needs all of it, for
    batches are dealt to the workers and not items: so the source does not learn that it is in one.
    """

    def __init__(self, source: Iterable[Any] | Callable[[int], Iterable[Any]]) -> None:
        self._source = source

    def __call__(self, start: int) -> Iterator[Any]:
        items: Iterator[Any] | None = None
        while True:
            # Around every item: generators look at their first one, and others at any.
            worker, _workers._worker_info = _workers._worker_info, None
            try:
                if items is None:
                    items = read_from(self._source, start)
                item = next(items)
            except StopIteration:
                return
            finally:
                _workers._worker_info = worker
            yield item
