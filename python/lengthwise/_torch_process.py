"""Items that are processed before their lengths are known: by worker processes, each item once, in their order."""

from __future__ import annotations

import hashlib
import io
import pickle
import random
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from .stream import LEFT_OUT

#: How many items a worker gets at once, at most: a message takes as long as a hundred small items.
CHUNK = 8
#: Which part of a window is processed ahead: a batch of short items takes many at once.
AHEAD = 4


class Processing(NamedTuple):
    """How items are processed. The results do not depend on the number of workers."""

    function: Callable[[Any], Any]
    num_workers: int
    window: int
    seed: int

    def over(self, items: Iterator[tuple[int, Any]], epoch: int) -> Iterator[Any]:
        """The results of ``items``, which come with their positions. What is ``LEFT_OUT`` stays so, and so is an item
        whose result is ``None``."""
        one = _One(self.function, self.seed, epoch)
        if self.num_workers == 0:
            for position, item in items:
                with _random_kept():
                    result = one(position, item)
                yield result
            return
        # Of few that are held, few are processed ahead: they may be large.
        chunk = min(max(self.window // (AHEAD * self.num_workers), 1), CHUNK)
        loader: Any = DataLoader(
            one,
            batch_sampler=_Chunks(items, chunk),  # type: ignore[arg-type]
            collate_fn=_same,  # type: ignore[arg-type]
            num_workers=self.num_workers,
            prefetch_factor=max(2, -(-self.window // (AHEAD * chunk * self.num_workers))),
            # Training's own random numbers stay as they are.
            generator=torch.Generator(),
        )
        for packed in loader:
            for each in pickle.loads(packed):
                result = pickle.loads(each)
                if isinstance(result, _Failed):
                    raise result.error from _InWorker(result.trace)
                yield result


class _One(Dataset[Any]):
    """Processes an item, with random numbers that follow from its position."""

    def __init__(self, function: Callable[[Any], Any], seed: int, epoch: int) -> None:
        self._function, self._seed, self._epoch = function, seed, epoch

    def __call__(self, position: int, item: Any) -> Any:
        if item is LEFT_OUT:
            return LEFT_OUT
        _seed(f"{self._seed} {self._epoch} {position}")
        try:
            result = self._function(item)
        except Exception as error:
            if isinstance(error, StopIteration):  # It would look like the end of the stream.
                error = RuntimeError("`process` raised StopIteration")
            raise self._noted(error, position, item)
        return LEFT_OUT if result is None else result

    def _noted(self, error: Exception, position: int, item: Any) -> Exception:
        """The error, which says where."""
        name = getattr(self._function, "name", None)
        where = f"`process` failed for the item at position {position}" if name is None else f"failed for {name(item)}"
        if sys.version_info >= (3, 11) and where not in getattr(error, "__notes__", ()):
            error.add_note(where)
        return error

    def __getitems__(self, packed: bytes) -> bytes:
        """What a worker does with a chunk."""
        done: list[bytes] = []
        for position, item in pickle.loads(packed):
            try:
                done.append(_dumps(self(position, item)))
            except Exception as error:
                done.append(_dumps(_Failed.of(self._noted(error, position, item))))
                break
        return pickle.dumps(done)


class _Chunks:
    """Items with their positions, a few at a time, packed for workers."""

    def __init__(self, items: Iterator[tuple[int, Any]], size: int) -> None:
        self._items, self._size = items, size

    def __iter__(self) -> Iterator[bytes]:
        while chunk := list(islice(self._items, self._size)):
            yield _dumps(chunk)


class _Failed(NamedTuple):
    """What went wrong in a worker."""

    error: Exception
    trace: str

    @classmethod
    def of(cls, error: Exception) -> _Failed:
        try:
            pickle.loads(_dumps(error))
        except Exception:  # Not every error can be made again from what it was made of.
            error = RuntimeError(f"{type(error).__name__}: {error}")
        return cls(error, traceback.format_exc())


class _InWorker(Exception):
    """The traceback of an error in a worker, as text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


class _Plain(pickle.Pickler):
    """Packs tensors as bytes. PyTorch's own way opens a file for each, and a window has thousands."""

    def reducer_override(self, value: Any) -> Any:
        plain = type(value) is torch.Tensor and value.device.type == "cpu" and value.layout is torch.strided
        if plain and not value.is_nested:
            flat = value.detach().resolve_conj().resolve_neg().contiguous().flatten()
            if flat.stride(0) != 1:  # Of one element, any stride counts as contiguous.
                flat = torch.empty_like(flat, memory_format=torch.contiguous_format).copy_(flat)
            held = flat.view(torch.uint8).numpy()
            return _tensor, (held, value.dtype, tuple(value.shape))
        return NotImplemented


def _tensor(held: np.ndarray, dtype: torch.dtype, shape: tuple[int, ...]) -> torch.Tensor:
    return torch.from_numpy(held).view(dtype).reshape(shape)


def _dumps(value: Any) -> bytes:
    file = io.BytesIO()
    _Plain(file, protocol=5).dump(value)
    return file.getvalue()


def _same(packed: bytes) -> bytes:
    return packed


def _seed(text: str) -> None:
    number = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
    random.seed(number)
    np.random.seed(number % 2**32)
    torch.default_generator.manual_seed(number)


@contextmanager
def _random_kept() -> Iterator[None]:
    """Inside, random numbers do not count."""
    states = random.getstate(), np.random.get_state(), torch.default_generator.get_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.default_generator.set_state(states[2])
