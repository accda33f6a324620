"""Planned batches in the Hugging Face ``Trainer``.

>>> class PlannedTrainer(TrainerMixin, Trainer):
...     pass
>>> trainer = PlannedTrainer(..., batches={"budget": "padded:20000"})  # doctest: +SKIP
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from torch.utils.data import DataLoader
from transformers import TrainerCallback
from transformers.trainer_utils import seed_worker

from . import LengthsError, SettingError
from ._convert import array
from .torch import BatchSampler

if TYPE_CHECKING:
    from ._settings import TrainerSettings

__all__ = ["TrainerMixin", "lengths_of"]

#: Columns that hold lengths, and columns whose values have lengths.
COLUMNS = ("length", "lengths", "num_tokens", "input_ids", "input_values", "input_features")


def lengths_of(dataset: Any, column: str | None = None) -> np.ndarray:
    """The lengths of the items of a dataset, from a column of numbers, or of lists.

    A ``datasets.Dataset`` gives its column at once, in the order of its rows; other datasets are read
    item by item.

    Args:
        dataset: The dataset.
        column: The column or field. By default, it is the first of the usual names, such as "length" or
            "input_ids".
    """
    names = getattr(dataset, "column_names", None)
    if names is not None:
        column = column or next((name for name in COLUMNS if name in names), None)
        if column not in names:
            raise LengthsError(
                f"the dataset has no column {column!r}" if column else "no column holds lengths",
                hint=f"name one of its columns: {', '.join(names)}",
            )
        return array(dataset.select_columns([column]).with_format("arrow")[:].column(column))
    column = column or next((name for name in COLUMNS if name in dataset[0]), None)
    if column is None:
        raise LengthsError(
            "the items have none of the usual fields", hint="give `lengths`, or name the `column`"
        )
    values = (dataset[index][column] for index in range(len(dataset)))
    return array([value if isinstance(value, int) else len(value) for value in values])


class _Epochs(TrainerCallback):
    """Tells the sampler which epoch begins: a resumed loader does not pass it on."""

    def __init__(self, trainer: Any) -> None:
        self.trainer = trainer

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        if self.trainer._planned_batches is not None:
            self.trainer._planned_batches.set_epoch(int(state.epoch + 1e-6))


class TrainerMixin:
    """Put before ``Trainer`` in the bases of a class, this gives it planned batches.

    ``batches`` has the settings of :class:`lengthwise.torch.BatchSampler`, of which ``budget`` must
    be given, and may have ``lengths``, or the ``column`` of the training dataset that they are in.
    ``per_device_train_batch_size`` then says nothing about training. Gradient accumulation, any
    number of processes, and going on from a checkpoint are taken care of; the seed is
    ``data_seed``, or ``seed``, of the training arguments.

    Args:
        batches: The settings, such as ``{"budget": "padded:20000"}``.
        args: The arguments of ``Trainer``, by position.
        keywords: The arguments of ``Trainer``, by name.
    """

    _planned_batches: BatchSampler | None = None

    def __init__(self, *args: Any, batches: TrainerSettings, **keywords: Any) -> None:
        self._batch_settings: dict[str, Any] = dict(batches)
        strategy = self._batch_settings.get("strategy") or ""
        if "budget" not in self._batch_settings and not strategy.startswith("packed:"):
            raise SettingError(
                "`batches` has no budget", hint='give one, as in batches={"budget": "padded:20000"}'
            )
        super().__init__(*args, **keywords)
        self.add_callback(_Epochs(self))  # type: ignore[attr-defined]

    def get_train_dataloader(self: Any) -> DataLoader[Any]:
        """Returns the loader of the planned batches, for ``Trainer``."""
        dataset = self.train_dataset
        if dataset is None:
            raise ValueError("Trainer: training requires a train_dataset.")
        args = self.args
        settings = dict(self._batch_settings)
        column = settings.pop("column", None)
        lengths = settings.pop("lengths", None)
        if lengths is None:
            lengths = lengths_of(dataset, column)
        if "accumulate" not in settings and "canonical_ranks" not in settings:
            settings["accumulate"] = args.gradient_accumulation_steps
        settings.setdefault("seed", args.data_seed if args.data_seed is not None else args.seed)
        # All ranks' batches, step by step: the accelerator deals them out.
        self._planned_batches = BatchSampler(
            lengths, rank="all", world_size=self.accelerator.num_processes, dataset=dataset, **settings
        )
        collator = self.data_collator
        if hasattr(dataset, "column_names"):
            dataset = self._remove_unused_columns(dataset, description="training")
        else:
            collator = self._get_collator_with_removed_columns(collator, description="training")
        made = DataLoader(
            dataset,
            batch_sampler=self._planned_batches,
            collate_fn=collator,
            num_workers=args.dataloader_num_workers,
            pin_memory=args.dataloader_pin_memory,
            persistent_workers=args.dataloader_persistent_workers,
            prefetch_factor=args.dataloader_prefetch_factor,
            worker_init_fn=partial(
                seed_worker, num_workers=args.dataloader_num_workers, rank=args.process_index
            ),
        )
        prepared: DataLoader[Any] = self.accelerator.prepare(made)
        return prepared
