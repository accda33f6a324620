"""Planned optimizer steps in Lightning.

>>> trainer = Trainer(callbacks=[PlannedAccumulation()])  # doctest: +SKIP
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback  # type: ignore[assignment]

from ._checks import checked_word
from ._private import after_setup_of_data
from ._torch_sampler import WEIGHTS
from ._torch_steps import first_place, source_of
from .errors import LengthwiseError, LengthwiseWarning, SettingError

__all__ = ["PlannedAccumulation"]

log = logging.getLogger("lengthwise")


class PlannedAccumulation(Callback):
    """Sets ``accumulate_grad_batches`` of Lightning's Trainer to the batches that an optimizer step was planned with.

    It is set as soon as the loader of training is there, so learning-rate schedules that ask for
    ``trainer.estimated_stepping_batches`` see it too. A number of your own that is different is refused.

    In ``training_step``, multiply the mean loss by ``weight``: then the gradient of a step is that of the mean over all
    of its tokens, on all ranks. Lightning divides the loss by the number of batches itself.

    Args:
        by: What the mean is taken over: "tokens", which you can also call "positions" or "frames";
            "second_positions", those of the second of two lengths; or "sequences". The default is "tokens".
    """

    def __init__(
        self, by: Literal["tokens", "positions", "frames", "second_positions", "sequences"] = "tokens"
    ) -> None:
        self._counted = checked_word("PlannedAccumulation", by, WEIGHTS)
        # The number that was set; the user's own is the one before.
        self._planned: int | None = None
        # The weights of this iteration from its first batch on, and which batch that was; and which batch it is now.
        self._weights: np.ndarray | None = None
        self._first = self._now = 0

    @property
    def weight(self) -> float:
        """What to multiply the mean loss of this batch by, in ``training_step``."""
        if self._weights is None:
            raise LengthwiseError(
                "`weight` was read outside of training", hint="use it in `training_step` only"
            )
        return float(self._weights[self._now - self._first])

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Has the number set once ``trainer`` has its loader. ``pl_module`` and ``stage`` are those of Lightning."""
        if stage == "fit":
            after_setup_of_data(trainer.fit_loop, lambda: self._set(trainer, pl_module))

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Begins an epoch. ``trainer`` and ``pl_module`` are those of Lightning."""
        self._weights = None

    def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
        """Finds the weight of the ``batch`` with the number ``batch_idx``. ``trainer`` and ``pl_module`` are those of
        Lightning."""
        if self._weights is None:
            loader = _loaders(trainer)[0]
            source = source_of(loader)
            running = source.sampler._running
            if running is None:
                return
            place, each = first_place(running, source, loader), running.schedule.accumulate
            # What Lightning goes by is not `batch_idx`.
            lost, counted = place % each, (trainer.fit_loop.epoch_loop.batch_progress.current.ready - 1) % each
            if lost or counted:
                warnings.warn(
                    f"the checkpoint is from the middle of a step: the gradients of {lost} of its {each} batches are lost"
                    if lost == counted
                    else f"Lightning counts {counted} batches of a step of {each}, and {lost} were trained on: this release "
                    "miscounts on resuming in the middle of an epoch, and takes the wrong batches together",
                    LengthwiseWarning,
                    stacklevel=2,
                )
            self._weights = running.weights(self._counted)[place:]
            self._first = batch_idx
        self._now = batch_idx

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Ends an epoch. ``trainer`` and ``pl_module`` are those of Lightning."""
        self._weights = None

    def _set(self, trainer: Any, module: Any) -> None:
        loaders = _loaders(trainer)
        if not loaders:
            return  # Nothing is trained.
        if not module.automatic_optimization:
            raise SettingError(
                "the module optimizes by hand, and Lightning accumulates nothing for it",
                hint="leave this callback out; `sampler.accumulate` says after how many batches to take a step",
            )
        planned = {source_of(loader).sampler.accumulate for loader in loaders}
        if len(planned) > 1:
            raise SettingError(
                f"the loaders have optimizer steps of different numbers of batches: {sorted(planned)}",
                hint="give all samplers the same `accumulate`",
            )
        number, given = planned.pop(), trainer.accumulate_grad_batches
        if number == given:
            return
        # DeepSpeed was told the number before there was a loader.
        if given not in (1, self._planned) or type(trainer.strategy).__name__ == "DeepSpeedStrategy":
            raise SettingError(
                f"an optimizer step was planned with {number} batches of each rank, and the Trainer's "
                f"`accumulate_grad_batches` is {given}",
                hint=f"give `accumulate_grad_batches={number}` to Lightning's Trainer",
            )
        log.info("an optimizer step has %d batches: `accumulate_grad_batches` is set to it", number)
        trainer.accumulate_grad_batches = self._planned = number


def _loaders(trainer: Any) -> list[Any]:
    """The loaders of training."""
    loaders = trainer.train_dataloader
    if loaders is None:
        return []
    if isinstance(loaders, Mapping):
        return list(loaders.values())
    return list(loaders) if isinstance(loaders, (list, tuple)) else [loaders]
