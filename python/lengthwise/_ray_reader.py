"""One actor reads a dataset and plans its batches for all ranks. It needs no PyTorch."""

from __future__ import annotations

import contextlib
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

import ray
from ray.exceptions import RayActorError, RayTaskError

from ._ranks import name_for_all
from .errors import LengthwiseError
from .stream import StreamBatch, Streaming

#: How many batches a rank asks for before it needs them.
AHEAD = 2

#: The actors that this process made, by the number of the stream that they read for. Ray ends an actor when its maker
#: forgets it, and other ranks may still have batches to take from it, even after this one has returned from training.
_made: dict[int, Any] = {}


class Reader:
    """The batches of all ranks, step by step. It holds one window, and the steps that a rank has still to take."""

    def __init__(self, source: Any, length: Any, state: str | None, settings: dict[str, Any]) -> None:
        self._stream = _Steps(source, length, state=state, **settings)
        # The batches of the ranks that have not taken theirs, and the state after the step.
        self._steps: dict[int, tuple[dict[int, StreamBatch], str]] = {}
        self._count = 0
        self._left: set[int] = set()

    def batch(self, rank: int, number: int) -> tuple[StreamBatch, str] | None:
        """The batch of a rank in a step, and the state after it; ``None`` after the last step."""
        while self._count <= number:
            made = self._stream.step()
            if made is None:
                return None
            self._steps[self._count] = dict(enumerate(made)), self._stream.state()
            self._count += 1
        batches, state = self._steps[number]
        batch = batches.pop(rank)
        if not batches:
            del self._steps[number]
        return batch, state

    def leave(self, rank: int, world_size: int) -> bool:
        """Whether no rank needs the actor any more."""
        self._left.add(rank)
        return len(self._left) == world_size


class _Steps(Streaming):
    """A stream that gives the batches of all ranks."""

    def step(self) -> list[StreamBatch] | None:
        planned = self._plan_step()
        if planned is None:
            return None
        made = [StreamBatch([self._items[slot] for slot in slots], length, at) for slots, at, length in planned]
        self._release(planned)
        return made


class FromReader(Streaming):
    """The batches of one rank, from the actor that reads for all."""

    #: The number of the stream, in the order in which this process made them.
    stream = 0

    def __init__(self, source: Any, length: Callable[[Any], Any], **settings: Any) -> None:
        super().__init__(source, length, **settings)  # What makes no sense is refused here.
        state = settings.pop("state")
        settings = {name: value for name, value in settings.items() if name not in ("rank", "share", "base", "keep")}
        self._given = (source, length, state, settings)
        self._asked: deque[Any] = deque()
        self._next = 0
        self._over = False
        self._reader: Any = None
        # The state after the batch that was given out last.
        self._after: str | None = None
        self._world_size = settings["world_size"]

    def state(self) -> str:
        return super().state() if self._after is None else self._after

    def __next__(self) -> StreamBatch:
        self._check_failed()
        if self._over:
            raise StopIteration
        if self._reader is None:
            self._reader = self._join()
        while len(self._asked) < AHEAD:
            self._asked.append(self._reader.batch.remote(self._rank, self._next))
            self._next += 1
        try:
            found = ray.get(self._asked.popleft())
        except RayTaskError as error:
            self._failed = error.cause if isinstance(error.cause, LengthwiseError) else error
            self._leave()
            raise self._failed from None
        if found is None:
            self._over = True
            self._leave()
            raise StopIteration
        batch: StreamBatch
        batch, self._after = found
        return batch

    def _leave(self) -> None:
        """The last rank to leave ends the actor. One that ends itself first waits for what it still reads ahead, after an
        error for long."""
        with contextlib.suppress(RayActorError):
            if ray.get(self._reader.leave.remote(self._rank, self._world_size)):
                ray.kill(self._reader)

    def _join(self) -> Any:
        """The actor: the first rank makes it, and tells the others its name."""
        name, reader = "", None
        if self._rank == 0:
            name = f"lengthwise-{uuid.uuid4().hex}"
            # It does nothing but read and plan, and must start when workers have all processors.
            options = {"name": name, "num_cpus": 0, "scheduling_strategy": "DEFAULT"}
            reader = ray.remote(Reader).options(**options).remote(*self._given)
        name = name_for_all(name)
        if reader is None:
            return ray.get_actor(name)
        # All ranks have begun this iteration of the stream, and need no earlier one.
        if (before := _made.get(self.stream)) is not None:
            ray.kill(before)
        _made[self.stream] = reader
        return reader
