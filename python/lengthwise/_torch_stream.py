"""Streams for PyTorch's loaders: an ``IterableDataset`` that is the same with any number of workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from torch.utils.data import IterableDataset, get_worker_info
from torch.utils.data._utils import worker as _workers

from ._checks import checked_epoch
from ._ranks import find_ranks, given_ranks
from .errors import RankError, StateError
from .stream import StreamBatch, Streaming, read_from

VERSION = 1


class StreamBatches(IterableDataset[StreamBatch]):
    """The batches of one rank over a stream: an ``IterableDataset`` for ``DataLoader(…, batch_size=None)``.

    ``source``, ``length`` and the settings are those of :func:`lengthwise.stream_batches`, of which
    ``budget`` must be given. ``load`` makes what is trained on of an item, when its batch is given
    out: only the rank and the worker that give it out do this, so items can be cheap, as paths are.

    ``rank`` and ``world_size`` are found out as by :class:`BatchSampler`. All ranks read the same
    stream, and each gives out its own batches. With ``pivot="quantile"`` each has a stream of its own.

    With workers every worker reads the stream and holds a window of it, and they give out the batches in
    turn: what comes out of the loader is the same with any number of workers. A source need not split
    itself by worker, and while it is read ``get_worker_info`` gives ``None``, so that it does not. It must
    not split itself by rank either, except with ``pivot="quantile"``.

    Every iteration begins the stream anew, with the randomness of the epoch that ``set_epoch`` chose.
    """

    def __init__(
        self,
        source: Iterable[Any] | Callable[[int], Iterable[Any]],
        length: Callable[[Any], int] = len,
        *,
        budget: str | int,
        load: Callable[[Any], Any] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._source, self._length, self._load = source, length, load
        self._settings = {"budget": budget, **settings}
        given, size = given_ranks(rank, world_size)
        if given == "all":
            raise RankError(
                "a stream has no batches of all ranks", hint="give the `rank`, or leave it out"
            )
        self._given: tuple[int | None, int | None] = (given, size)
        self._epoch = checked_epoch(epoch)
        self._resumed: dict[str, Any] | None = None
        # Where the iteration that began last began, and the iteration.
        self._began: dict[str, Any] | None = None
        self._running: Streaming | None = None
        self._stream(None)  # What makes no sense is refused here, and not when training begins.

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or that of the state that was loaded."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the randomness of the next iteration. Drops a state of another epoch."""
        epoch = checked_epoch(epoch)
        if epoch != self._epoch:
            self._resumed = None
        self._epoch = epoch

    def __iter__(self) -> Iterator[StreamBatch]:
        self._began, self._resumed = self._resumed, None
        running = self._running = self._stream(self._began)
        load = self._load
        for batch in running:
            if load is not None:
                batch[:] = map(load, batch)
            yield batch

    def state_dict(self, batches: int | None = None) -> dict[str, Any]:
        """Where the stream stands: a few kilobytes, the same on every rank.

        It counts the batches that this object has given out. A plain ``DataLoader`` with workers has
        copies of it: say how many ``batches`` of this iteration were trained on, and the stream is read
        again up to there, or use ``StatefulDataLoader``, which asks the workers.
        """
        if batches is not None:
            began = self._began if self._running is not None else self._resumed
            ahead = self._stream(began, alone=True)
            for taken in range(batches):
                if next(ahead, None) is None:
                    raise StateError(
                        f"{batches} batches of {taken}",
                        hint="count the batches of this iteration only",
                    )
            return {"version": VERSION, "stream": ahead.state()}
        if self._running is None or self._resumed is not None:
            return dict(self._resumed or {"version": VERSION, "stream": self._stream(None).state()})
        state: dict[str, Any] = {"version": VERSION, "stream": self._running.state()}
        if self._running._workers > 1:
            state.update(base=self._running._base, workers=self._running._workers)
        return state

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state, also with another number of ranks: the next iteration gives the batches
        that come after it. Workers of a plain ``DataLoader`` do so in every iteration until
        ``set_epoch`` chooses another epoch, since this object does not see them begin."""
        if not isinstance(state, Mapping) or not isinstance(state.get("stream"), str):
            raise StateError(
                "the state is none of a stream", hint="give what `state_dict` of a stream returned"
            )
        if state.get("version") != VERSION:
            raise StateError(
                f"the state has version {state.get('version')}, and this release reads {VERSION}",
                hint="use the release of lengthwise that made it",
            )
        kept = self._epoch
        try:
            self._epoch = int(json.loads(state["stream"])["epoch"])
        except (ValueError, KeyError, TypeError):
            pass  # It is refused below, with a better message.
        try:
            self._stream(state)
        except Exception:
            self._epoch = kept
            raise
        self._resumed = dict(state)

    def __getstate__(self) -> dict[str, Any]:
        # Workers are no processes of `torch.distributed`: they are told.
        return {**self.__dict__, "_given": self._ranks(), "_running": None}

    def _ranks(self) -> tuple[int, int]:
        rank, world_size = self._given
        if world_size is None:
            rank, world_size = find_ranks()
        return rank or 0, world_size

    def _stream(self, state: Mapping[str, Any] | None, alone: bool = False) -> Streaming:
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
            keep=not alone, state=text, epoch=self._epoch, **self._settings
        )  # fmt: skip

    def __repr__(self) -> str:
        rank, world_size = self._ranks()
        return f"StreamBatches(rank {rank} of {world_size}, epoch {self._epoch})"


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
