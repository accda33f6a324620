"""Batches for PyTorch: one line in a training script.

>>> from lengthwise.torch import BatchSampler
>>> sampler = BatchSampler(lengths, budget="padded:20000")  # doctest: +SKIP
>>> loader = DataLoader(dataset, batch_sampler=sampler, collate_fn=collate)  # doctest: +SKIP

It is the same object in ``DataLoader``, ``StatefulDataLoader``, Lightning and plain DDP; give
``rank="all"`` if a framework assigns the batches to the ranks itself, as Accelerate does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from torch.utils.data import DataLoader, Dataset, DistributedSampler

from ._private import set_sampler
from ._torch_collate import checked_sampler, cu_seqlens, pack_collate, pad_collate, position_ids
from ._torch_learning import LearningLoader
from ._torch_predict import predict
from ._torch_sampler import Batch, BatchSampler, check_dataset
from ._torch_steps import steps
from ._torch_stream import StreamBatches
from .errors import SettingError

__all__ = [
    "Batch",
    "BatchSampler",
    "LearningLoader",
    "StreamBatches",
    "cu_seqlens",
    "loader",
    "pack_collate",
    "pad_collate",
    "position_ids",
    "predict",
    "steps",
]


class _Rows(list[Any]):
    """The items of a batch, and the length to pad them to."""

    length: int | None = None
    second_length: int | None = None


class _Planned(Dataset[Any]):
    """A dataset whose batches know the length to pad to."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __getitems__(self, batch: Sequence[int]) -> _Rows:
        many = getattr(self.dataset, "__getitems__", None)
        rows = _Rows(many(list(batch)) if many else [self.dataset[index] for index in batch])
        rows.length = getattr(batch, "length", None)
        rows.second_length = getattr(batch, "second_length", None)
        return rows


class _Marker(DistributedSampler[Any]):
    """Says to Lightning and Ray that the ranks are taken care of, and passes the epoch on."""

    def __init__(self, sampler: BatchSampler) -> None:
        super().__init__(cast(Any, sampler.lengths), num_replicas=1, rank=0, shuffle=False)
        self.batches = sampler

    def __iter__(self) -> Iterator[int]:
        return iter(index for batch in self.batches for index in batch)

    def __len__(self) -> int:
        return len(self.batches.plan.indices)

    def set_epoch(self, epoch: int) -> None:
        self.batches.set_epoch(epoch)


def loader(
    dataset: Any,
    sampler: BatchSampler | None = None,
    *,
    collate_fn: Callable[[Any], Any] | None = None,
    **options: Any,
) -> DataLoader[Any]:
    """Makes a data loader that works with Lightning, Ray, Accelerate and plain PyTorch. If torchdata is
    installed, it is a ``StatefulDataLoader``, so that an epoch can resume where it stopped, also with workers.
    You can leave Lightning's own distributed sampler switched on or off.

    Args:
        dataset: The dataset, with as many items as the sampler has lengths.
        sampler: The :class:`BatchSampler`.
        collate_fn: What makes a batch of items. By default, it is :func:`pad_collate` with the sampler, or
            :func:`pack_collate` if sequences share rows.
        options: Other options of the data loader, such as ``num_workers``.
    """
    if isinstance(dataset, StreamBatches):
        raise SettingError(
            "the batches of a stream need no sampler, and none of its loaders",
            hint="use `DataLoader(stream, batch_size=None, collate_fn=pad_collate())`, or torchdata's "
            "`StatefulDataLoader` with the same",
        )
    sampler = checked_sampler(sampler, "loader")
    check_dataset(dataset, sampler.lengths)
    # Here, and not above: torchdata takes its time to import.
    from . import _torch_loader

    kind = getattr(_torch_loader, "StatefulPlannedLoader", _torch_loader.PlannedLoader)
    if collate_fn is None:
        packed = sampler._plan_of(sampler.epoch).packed
        collate_fn = pack_collate(sampler) if packed else pad_collate(sampler)
    made: DataLoader[Any] = kind(
        _Planned(dataset), batch_sampler=sampler, collate_fn=collate_fn, **options
    )
    set_sampler(made, _Marker(sampler))
    return made
