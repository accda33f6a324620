"""A loader for datasets whose lengths are not known: it learns them in the first epoch, and plans the others."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from ._checks import check_budget, check_settings, checked_epoch
from ._describe import described
from ._lengthwise import Planner
from ._ranks import find_ranks, for_exchange, given_ranks, group_of
from ._torch_collate import pad_collate
from ._torch_sampler import BatchSampler, check_items
from ._torch_stream import StreamBatches
from .errors import FileError, LengthsError, RankError, SettingError, StateError
from .stream import length_of

VERSION = 1
#: Settings that the first epoch has too.
BOTH = ("over_long", "seed", "shapes", "tail")
#: Settings that the first epoch could not keep, or that say what is learned.
OTHERS = (
    "constant_steps", "kind", "lengths", "like", "mix", "one_kind", "second", "shard", "shards", "share", "statistics",
    "together", "update",
)  # fmt: skip
#: Options of data loaders that this one sets.
TAKEN = ("dataset", "batch_sampler", "batch_size", "shuffle", "sampler", "drop_last", "collate_fn", "num_workers")
#: In place of a length that is not known yet.
UNKNOWN = 0


@described(BatchSampler, Planner, but=OTHERS)
class LearningLoader:
    """Batches of a map-style dataset whose lengths are known only when an item was loaded.

    In the first epoch, workers load the items in random order, and batches are made of what is there, as
    :class:`StreamBatches` does with ``process``. The lengths are kept in a file. From the second epoch on, a
    :class:`BatchSampler` plans whole epochs. If the file is there, all epochs are planned. It is a plain NumPy array, so
    ``lengthwise.read_lengths`` and the command line read it too.

    Every ``accumulate`` batches are one optimizer step, in all epochs. With several, those of planned epochs hold short
    and long sequences in proportion. With one, its sequences have similar lengths.

    With several ranks, each loads its share of the items in the first epoch, and they exchange lengths over
    ``torch.distributed``. Rank 0 writes the file. Call ``set_epoch`` before each epoch, or the loader advances after every
    whole epoch.

    An epoch can resume where it stopped: keep the loader's ``state_dict``. In planned epochs this needs torchdata.

    Args:
        dataset: The dataset, with an index and a length. The length of an item must be the same in every epoch.
        path: The .npy file that keeps the lengths.
        length: A function that returns the length of an item of the dataset. The default is ``len``.
        strategy: How planned epochs group sequences, as for :class:`lengthwise.Planner`. By default, it is "blurred" if
            ``accumulate`` is 1, and otherwise what is recommended.
        budget: The hard limit of a batch, as for :class:`lengthwise.Planner`.
        collate_fn: What makes a batch of items. By default, it is :func:`pad_collate`.
        num_workers: How many processes load items. The default is 0: this process does.
        window: How many items each rank holds in the first epoch. The default is 4096.
        rank: The rank of this process, from 0. By default, it is detected, as by :class:`BatchSampler`.
        accumulate: How many batches of a rank make an optimizer step. The default is 1.
        options: Other options of the data loader in planned epochs, such as ``pin_memory``. By default, there are none.
    """

    def __init__(
        self,
        dataset: Any,
        path: str | os.PathLike[str],
        length: Callable[[Any], int] = len,
        *,
        strategy: str | None = None,
        budget: str | int | None = None,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        window: int = 4096,
        rank: int | None = None,
        world_size: int | None = None,
        process_group: Any = None,
        device_mesh: Any = None,
        epoch: int = 0,
        options: Mapping[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        check_settings("LearningLoader", [name for name in settings if name != "update"], LearningLoader, Planner, but=OTHERS)
        if settings.get("update") is not None:
            raise SettingError(
                "`update` plans optimizer steps, and the first epoch has no plan",
                hint="give `accumulate`, or make a `BatchSampler` of `lengthwise.read_lengths(path)` once all lengths are known",
            )
        self._dataset, self._length, self._path = dataset, length, Path(path)
        self._collate_fn, self._num_workers, self._window = collate_fn, operator.index(num_workers), window
        self._settings = {"strategy": strategy, "budget": check_budget(budget), "accumulate": 1, **settings}
        if strategy is None and self._settings["accumulate"] == 1:
            # What is recommended for one batch a step has random lengths in it, and much padding.
            self._settings["strategy"] = "blurred"
        self._options = dict(options or {})
        self._place: dict[str, Any] = {
            "rank": rank, "world_size": world_size, "process_group": process_group, "device_mesh": device_mesh
        }  # fmt: skip
        self._epoch = checked_epoch(epoch)
        #: The length of each item, as far as it is known.
        self._known = self._read()
        self._stream: StreamBatches | None = None
        self._planned: Any = None
        # Whether it is known that all ranks know the same lengths.
        self._agreed = False
        # Whether the stream goes on from a state.
        self._resumed = False
        self._check_later()
        self._make()

    @property
    def lengths(self) -> np.ndarray | None:
        """The length of each item; ``None`` before all are known."""
        return None if self.is_learning else self._known.copy()

    @property
    def is_learning(self) -> bool:
        """Whether some lengths are not known yet, so that the next epoch learns them."""
        return bool((self._known == UNKNOWN).any())

    @property
    def epoch(self) -> int:
        """The epoch that was chosen, or begins next."""
        return self._epoch

    def set_epoch(self, epoch: int) -> None:
        """Chooses the ``epoch`` of the next iteration."""
        self._epoch = checked_epoch(epoch)
        if self._stream is not None:
            self._stream.set_epoch(self._epoch)
        else:
            self._planned.batch_sampler.set_epoch(self._epoch)

    def __len__(self) -> int:
        """The batches of an epoch on this rank. It is not known while lengths are learned."""
        if self._planned is None:
            raise TypeError("the number of batches is not known before all lengths are: train for one epoch first")
        return len(self._planned)

    def __bool__(self) -> bool:
        return True  # Also where the length is not known.

    def __iter__(self) -> Iterator[Any]:
        self._agree()
        if self._stream is None:
            yield from self._planned
        else:
            collate = self._collate_fn or pad_collate()
            for batch in self._stream:
                yield collate(batch)
            self._write()
        self._epoch += 1
        if self._stream is not None:
            self._stream = None
            self._make()
        self.set_epoch(self._epoch)

    def state_dict(self) -> dict[str, Any]:
        """Returns the position in the epoch, for a checkpoint. While lengths are learned, it also writes those that
        are known to the file, so that a run that resumes needs no other epoch for them."""
        if self._stream is not None:
            self._write()
            return {"version": VERSION, "epoch": self._epoch, "stream": self._stream.state_dict()}
        if not hasattr(self._planned, "state_dict"):
            raise StateError("the loader does not know its position", hint="install torchdata: `pip install torchdata`")
        return {"version": VERSION, "epoch": self._epoch, "planned": self._planned.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Resumes from a ``state``: the next iteration returns the rest of its epoch."""
        if not isinstance(state, Mapping) or state.get("version") != VERSION or len({"stream", "planned"} & {*state}) != 1:
            raise StateError("this is not the state of a learning loader", hint="give what its `state_dict` returned")
        if "planned" in state and self._planned is None:
            raise StateError(
                f"the state is of a planned epoch, and {self._path} does not have all lengths",
                hint="give the `path` of the file that the lengths were kept in",
            )
        self._epoch = checked_epoch(state["epoch"])
        if "planned" in state:
            self._planned.load_state_dict(state["planned"])
        else:
            # Also if all lengths have become known since: the rest of this epoch is that of the stream.
            self._planned, self._stream, self._resumed = None, self._learning(), True
            self._stream.load_state_dict(state["stream"])
            self._stream.set_epoch(self._epoch)

    def __getstate__(self) -> dict[str, Any]:
        # Loaders that were read cannot be pickled: a copy begins the epoch.
        return {**self.__dict__, "_planned": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self._stream is None:
            self._make()

    def _make(self) -> None:
        """Makes what the next epoch needs."""
        if self.is_learning:
            self._stream = self._learning()
            return
        from .torch import loader

        sampler = BatchSampler(self._known, epoch=self._epoch, dataset=self._dataset, **self._settings, **self._place)
        self._planned = loader(
            self._dataset, sampler, collate_fn=self._collate_fn, num_workers=self._num_workers, **self._options
        )

    def _learning(self) -> StreamBatches:
        settings = {name: self._settings[name] for name in BOTH if self._settings.get(name) is not None}
        order = _Shuffled(len(self._dataset), operator.index(self._settings.get("seed", 0)), self._known)
        stream = StreamBatches(
            order,
            self._length_of,
            process=_Item(self._dataset),
            load=operator.itemgetter(1),
            num_workers=self._num_workers,
            divide="items",
            budget=self._settings["budget"],
            window=self._window,
            epoch=self._epoch,
            **settings,
            **self._place,
        )
        stream._learned = order
        return stream

    def _length_of(self, pair: tuple[int, Any]) -> int:
        index, item = pair
        try:
            found, _ = length_of(item, self._length, index)
        except LengthsError as error:
            text = str(error).partition("\nhint: ")[0]
            text = text.replace(f"the item at position {index}", f"item {index} of the dataset")
            raise LengthsError(text, hint=error.hint, index=index) from None
        return found

    def _agree(self) -> None:
        """Has all ranks know what one of them knows: they may read other files."""
        if not self._agreed and self._ranks()[1] > 1:
            from torch import distributed

            group = group_of(self._place["process_group"], self._place["device_mesh"])
            learned, known = self.is_learning, for_exchange(torch.from_numpy(self._known.copy()), group)
            distributed.all_reduce(known, distributed.ReduceOp.MAX, group=group)
            self._known[:] = known.cpu().numpy()
            if learned and not self.is_learning and self._stream is not None and not self._resumed:
                self._stream = None
                self._make()
        self._agreed = True

    def _check_later(self) -> None:
        """Refuses what would be refused only after the first epoch."""
        Planner(np.ones(1000, np.int64), **self._settings)
        check_settings("the data loader", self._options, DataLoader, but=TAKEN)
        folder = self._path.resolve().parent
        if self._path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
            raise FileError(f"{self._path}: cannot write a file here", hint="give the path of a file in a folder that exists")

    def _read(self) -> np.ndarray:
        check_items(self._dataset)
        count = len(self._dataset)
        if not self._path.exists():
            return np.zeros(count, np.int64)
        if self._path.is_dir():
            return np.zeros(count, np.int64)  # It is refused later, with a better message.
        try:
            with open(self._path, "rb") as file:
                known = np.lib.format.read_array(file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise FileError(f"{self._path}: cannot read the lengths: {error}", hint="delete the file to learn them again") from None
        if known.ndim != 1 or known.dtype.kind not in "iu" or len(known) != count or (known < UNKNOWN).any():
            raise FileError(
                f"{self._path}: expected {count} lengths, one for each item of the dataset, got "
                f"{known.dtype} of shape {known.shape}",
                hint="if the dataset has changed, delete the file to learn them again",
            )
        lengths: np.ndarray = known.astype(np.int64)
        return lengths

    def _write(self) -> None:
        if self._ranks()[0] != 0:
            return
        # Whole or not at all: a program may end at any time.
        beside = self._path.with_name(f"{self._path.name}.{os.getpid()}.tmp")
        try:
            with open(beside, "wb") as file:
                np.save(file, self._known)
            os.replace(beside, self._path)
        except OSError as error:
            raise FileError(f"{self._path}: cannot keep the lengths: {error}", hint="give another `path`") from None
        finally:
            with suppress(OSError):
                beside.unlink()

    def _ranks(self) -> tuple[int, int]:
        rank, world_size = given_ranks(**self._place)
        if rank == "all":
            raise RankError('a loader does not support `rank="all"`', hint="give the `rank`, or leave it out")
        return find_ranks() if world_size is None else (rank or 0, world_size)


class _Shuffled:
    """The indices of a dataset, in a random order that the epoch decides; notes the lengths of positions."""

    def __init__(self, count: int, seed: int, known: np.ndarray) -> None:
        self._count, self._seed, self._epoch, self._known = count, seed, 0, known
        self._orders: dict[int, np.ndarray] = {}

    def set_epoch(self, epoch: int) -> None:
        self._epoch = epoch

    def __call__(self, start: int) -> Iterator[int]:
        return iter(self._order(self._epoch)[start:].tolist())

    def _order(self, epoch: int) -> np.ndarray:
        if epoch not in self._orders:
            generator = torch.Generator()
            generator.manual_seed((self._seed * 0x9E37_79B9_7F4A_7C15 + epoch) % 2**63)
            self._orders = {epoch: torch.randperm(self._count, generator=generator).numpy()}
        return self._orders[epoch]

    def index(self, epoch: int, position: int) -> int:
        return int(self._order(epoch)[position])

    def lengths(self, epoch: int, start: int, lengths: np.ndarray) -> None:
        self._known[self._order(epoch)[start : start + len(lengths)]] = lengths


class _Item:
    """Loads an item of a dataset, and keeps its index."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset

    def __call__(self, index: int) -> tuple[int, Any]:
        return index, self._dataset[index]

    def name(self, index: int) -> str:
        return f"item {index} of the dataset"
