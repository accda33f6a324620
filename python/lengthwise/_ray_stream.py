"""Batches of a Ray dataset that is read once, in one pass, for all ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import TYPE_CHECKING, Any

from ._checks import check_settings
from ._describe import described
from ._lengthwise import Feed
from ._ranks import find_ranks
from ._ray_data import Field, FieldOf, LengthOf, RowSource, check_process, checked_field
from ._ray_reader import FromReader
from ._torch_stream import StreamBatches as TorchBatches
from ._torch_stream import _Running
from .errors import RankError, SettingError
from .stream import StreamBatch

if TYPE_CHECKING:
    from ray.data import Dataset
    from ray.data.iterator import DataIterator
    from typing_extensions import Unpack

    from ._settings import StreamSettings

_numbers = count()


#: What the other streams of PyTorch take, and Ray has ways of its own for.
ELSEWHERE = ("source", "state", "process", "num_workers", "divide", "process_group", "device_mesh")


@described(TorchBatches, Feed, but=ELSEWHERE)
class StreamBatches(TorchBatches):
    """The batches of one rank over a Ray dataset, in one pass: lists of rows, each with a ``length`` to pad to. A row is a
    dictionary, with lists of numbers as NumPy arrays.

    Make it on every worker with the same arguments, iterate over it, and pad batches with
    :func:`lengthwise.torch.pad_collate`. Call ``set_epoch`` before each epoch. ``state_dict`` and ``load_state_dict``
    resume in the middle of an epoch, also with another number of workers.

    One actor reads the dataset once for all ranks, in the order of its rows, and holds the window. All ranks take the
    same number of batches. Every row is in one batch of the epoch. All rows pass through this actor.

    Args:
        data: The dataset, an iterator over the whole of it, or a function that takes an epoch and returns its dataset,
            as in ``lambda epoch: dataset.random_shuffle(seed=epoch)``.
        length: The column that holds the lengths, or holds what has a length, such as a list of tokens or a text; or a
            function of a row.
        kind: The column that holds the kind of a row, such as its language, or a function of a row: a batch has rows of
            one kind only. By default, all kinds mix.
        load: A function that turns a row into what you train on, such as a path into a tensor. It is called on the
            worker that trains on the row. By default, batches have the rows themselves.
        rank: The rank of this process, from 0. By default, it is that of ``torch.distributed`` or of Ray Train.
        world_size: The number of ranks. By default, it is detected.
        shared: Whether one actor reads for all ranks. The default is true. If false, every rank reads the whole dataset
            itself: the ranks need not be those of Ray Train, and reading costs as many times as much.
    """

    def __init__(
        self,
        data: Dataset | DataIterator | Callable[[int], Dataset],
        length: Field,
        *,
        kind: Field | None = None,
        budget: str | int | None = None,
        load: Callable[[Any], Any] | None = None,
        rank: int | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        shared: bool = True,
        **settings: Unpack[StreamSettings],
    ) -> None:
        check_settings("StreamBatches", settings, StreamBatches, Feed, but=ELSEWHERE)
        if settings.get("pivot") == "quantile":
            raise SettingError(
                '`pivot="quantile"` is for ranks with streams of their own, and here all ranks share one',
                hint="leave `pivot` out",
            )
        self._shared, self._number = bool(shared), next(_numbers)
        super().__init__(
            RowSource(data),
            LengthOf(length) if isinstance(length, str) else checked_field(length, "length"),  # type: ignore[arg-type]
            kind=FieldOf(kind) if isinstance(kind, str) else kind,
            budget=budget, load=load, rank=rank, world_size=world_size, epoch=epoch, **settings,
        )  # fmt: skip

    def __iter__(self) -> Iterator[StreamBatch]:
        check_process()
        iterator = super().__iter__()
        if isinstance(iterator, FromReader):
            iterator.stream = self._number
        return iterator

    def _running_type(self, world_size: int, alone: bool) -> type[_Running]:
        if alone or world_size == 1 or not self._shared:
            return _Running
        if self._ranks() != (found := find_ranks()):
            raise RankError(
                "one actor cannot read for rank {} of {}: this process is rank {} of {}".format(*self._ranks(), *found),
                hint="leave out `rank` and `world_size`, or give `shared=False`",
            )
        return _Shared

    def __getstate__(self) -> dict[str, Any]:
        # Not the ranks that were found: it may be made where training is started, and passed to the workers.
        return {**self.__dict__, "_running": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._number = next(_numbers)


class _Shared(_Running, FromReader):
    """One iteration over the batches that the actor makes."""
