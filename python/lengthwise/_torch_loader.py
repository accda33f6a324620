"""Loaders that begin when the first batch is asked for.

A loader of PyTorch with workers asks its sampler for batches as soon as an iterator is made. Lightning makes one
before it says which epoch begins, and loads a state from the end of an epoch before it begins the next one. Here
both are decided by the epoch that was chosen when the first batch is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.utils.data import DataLoader

try:
    from torchdata.stateful_dataloader import StatefulDataLoader
except ImportError:
    StatefulDataLoader = None

#: Under which key a state has the epoch that it is in.
EPOCH = "lengthwise_epoch"


class Later(Iterator[Any]):
    """An iterator that is made when the first batch is asked for."""

    def __init__(self, begin: Callable[[], Iterator[Any]], length: int) -> None:
        self._begin, self._length = begin, length
        self._running: Iterator[Any] | None = None

    def __len__(self) -> int:
        return self._length

    def __next__(self) -> Any:
        if self._running is None:
            self._running = self._begin()
        return next(self._running)


class PlannedLoader(DataLoader[Any]):
    def __iter__(self) -> Any:
        return Later(super().__iter__, len(self))


if StatefulDataLoader is not None:

    class StatefulPlannedLoader(StatefulDataLoader):  # type: ignore[misc]
        # A state that was loaded, and the epoch that it is in.
        _loaded: tuple[dict[str, Any], int] | None = None

        def __iter__(self) -> Any:
            return Later(self._begin, len(self))

        def _begin(self) -> Iterator[Any]:
            loaded, self._loaded = self._loaded, None
            if loaded is not None and self.batch_sampler.epoch == loaded[1]:
                super().load_state_dict(loaded[0])
            made: Iterator[Any] = super().__iter__()
            return made

        def state_dict(self) -> dict[str, Any]:
            if self._loaded is not None:
                return {**self._loaded[0], EPOCH: self._loaded[1]}
            return {**super().state_dict(), EPOCH: self.batch_sampler.epoch}

        def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
            state = dict(state_dict)
            epoch = state.pop(EPOCH, None)
            if epoch is None:  # It is empty, or from a loader that does not say.
                self._loaded = None
                super().load_state_dict(state)
                return
            self.batch_sampler._expect(epoch)
            self._loaded = state, epoch
