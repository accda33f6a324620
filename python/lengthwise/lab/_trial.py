"""One training: a run from one seed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .. import _private
from ..errors import LengthwiseError, SettingError
from . import _checkpoint
from ._batches import Batch, Epoch, Way, counted
from ._experiment import Experiment, Run
from ._learning import Average, Randomness, optimizer_of, set_rate, trained_of
from ._records import Training, number, value_of

#: After so many steps a device is asked whether the loss is finite: asking makes it wait.
ASKED_EVERY = 64
#: A measure that every training has.
SECONDS = "seconds_per_epoch"


class Stopped(Exception):
    """The user wants to stop."""


class Trial:
    """A training, which can be saved after every epoch."""

    def __init__(
        self,
        experiment: Experiment,
        run: Run,
        seed: int,
        task: Any,
        source: dict[str, Any],
        way: Way,
        device: torch.device,
        folder: Path,
    ) -> None:
        self._experiment, self.run, self._task, self._way, self._device = experiment, run, task, way, device
        self._random = Randomness(device)
        self.training = Training(run.name, way.describe(), seed, run.epochs)
        plain = "".join(c.lower() if c.isascii() and c.isalnum() else "-" for c in run.name)[:40]
        self.path = folder / f"{run.number:02}-{plain}-seed-{seed}.pt"
        self._model: torch.nn.Module | None = None
        self._state: dict[str, Any] | None = None
        self._where = f"{experiment.file}: run {run.name!r}, seed {seed}"
        learning = run.learning
        shared = {
            **source,
            "model": run.model,
            "learning": vars(learning),
            "epochs": run.epochs if learning.depends_on_epochs else None,
            "batches": way.identity,
            "sequences": way.digest,
        }
        written = json.dumps(shared, sort_keys=True, default=str)
        self.training.digest = hashlib.sha256(written.encode()).hexdigest()[:16]
        self._identity = json.dumps({**shared, "seed": seed, "device": device.type}, sort_keys=True, default=str)
        self._known: set[tuple[int, ...]] = set()
        kept = _checkpoint.load(self.path, self._identity)
        if kept is not None:
            about, _ = kept
            self.training.epochs, self.training.ended = about["epochs"], about["ended"]
            self._known = {tuple(shape) for shape in about["shapes"]}

    @property
    def label(self) -> str:
        return f"{self.training.name}, seed {self.training.seed}"

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do."""
        return self.training.ended is not None or len(self.training.epochs) >= self.run.epochs

    def release(self) -> None:
        """Gives the memory back. What was learned is on disk."""
        self._model = None
        if hasattr(self, "_optimizer"):
            del self._optimizer, self._average
        if self._device.type == "cuda":
            torch.cuda.empty_cache()

    def _prepare(self) -> torch.nn.Module:
        """The model with its optimizer: from the checkpoint, or from the beginning."""
        if self._model is not None and self._state is not None:
            self._random.restore(self._state)
            return self._model
        self._random.seed(self.training.seed)
        model = self._task.model()
        if not isinstance(model, torch.nn.Module):
            raise SettingError(
                f"expected `model()` to return a torch.nn.Module, got {type(model).__name__}",
                hint="return a new model in every call",
            )
        model = model.to(self._device)
        self._optimizer = optimizer_of(self._task, model, self.run.learning, self._device)
        self._average = Average()
        kept = _checkpoint.load(self.path, self._identity)
        if kept is not None:
            state = _checkpoint.tensors(self.path, kept[1])
            model.load_state_dict(state["model"])
            self._optimizer.load_state_dict(state["optimizer"])
            self._average = Average(state["average"])
            self._random.restore(state["random"])
        self._model, self._state = model, self._random.state()
        return model

    def train(self, stop: Callable[[], bool], told: Callable[[int, int, float], None]) -> None:
        """Trains for an epoch, measures, and saves. ``told`` hears of steps, and the loss so far where it is known."""
        at = len(self.training.epochs)
        epoch = self._way.epoch(at, self.training.seed)
        model = self._prepare()
        held = self._own_bytes(model)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
            torch.cuda.reset_peak_memory_stats(self._device)
            before = torch.cuda.memory_allocated(self._device)
        model.train()
        start = time.perf_counter()
        loss, steps = self._steps(model, epoch, at, stop, told)
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        seconds = time.perf_counter() - start
        if steps < len(epoch.steps):
            epoch = counted(epoch.steps[:steps], epoch.step_mix)
        record: dict[str, Any] = {
            "epoch": at + 1,
            "seconds": seconds,
            "steps": steps,
            "batches": epoch.batches,
            "sequences": epoch.sequences,
            "frames": sum(epoch.frames),
            "cells": epoch.cells,
            "shapes": len(epoch.shapes),
            "new_shapes": len(epoch.shapes - self._known),
            "step_mix": number(epoch.step_mix),
            "peak_bytes": 0,
            "loss": number(loss),
        }
        if self._device.type == "cuda":
            # Models that wait for their turn are not a part of this one's memory.
            record["peak_bytes"] = torch.cuda.max_memory_allocated(self._device) - before + held
        self._known |= epoch.shapes
        if math.isfinite(loss):
            record["validation"] = self._measured(model, at)
        else:
            self.training.ended = "diverged"
        self.training.epochs.append(record)
        self._state = self._random.state()
        self._save(model)

    def _steps(
        self, model: torch.nn.Module, epoch: Epoch, at: int, stop: Callable[[], bool], told: Callable[[int, int, float], None]
    ) -> tuple[float, int]:
        """Takes the steps of an epoch; returns the mean loss, and how many there were until it was not finite."""
        learning, optimizer = self.run.learning, self._optimizer
        parameters = trained_of(model)
        in_place = hasattr(self._task, "backward")
        total = torch.zeros((), dtype=torch.float64, device=self._device)
        counted: Any = 0
        seen, everything = 0, sum(epoch.frames)
        for taken, step in enumerate(epoch.steps):
            if stop():
                raise Stopped
            # By data seen, and in the middle of the step: ways with other numbers of steps share the schedule.
            done = (at + (seen + epoch.frames[taken] / 2) / everything) / self.run.epochs
            set_rate(optimizer, learning.share(done))
            optimizer.zero_grad(set_to_none=not in_place)
            # A power of two, which changes no digit, keeps gradients of sums near those of means.
            scale = 2.0 ** -round(math.log2(epoch.frames[taken]))
            count: Any = 0
            for batch in step:
                loss, more = self._gradient(model, batch, scale)
                total.add_(loss)
                count = count + more
            first = taken == 0 and at == 0
            if first:
                self._check_first(total, count, parameters)
            gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
            exact = count.double() if isinstance(count, torch.Tensor) and count.device.type != "mps" else count
            # A step in which nothing is to be learned has a gradient of 0.
            exact = exact + (exact == 0)
            _private.multiply(gradients, 1 / (scale * exact))
            if learning.clip:
                torch.nn.utils.clip_grad_norm_(parameters, learning.clip)
            optimizer.step()
            counted = counted + count
            seen += epoch.frames[taken]
            if self._device.type == "cpu" or taken % ASKED_EVERY == 0:
                mean = float(total) / float(counted)
                if not math.isfinite(mean):
                    return math.nan, taken + 1
                told(taken + 1, len(epoch.steps), mean)
        mean = float(total) / float(counted)
        return (mean if math.isfinite(mean) else math.nan), len(epoch.steps)

    def _gradient(self, model: torch.nn.Module, batch: Batch, scale: float) -> tuple[torch.Tensor, Any]:
        """Adds the gradient of a micro-batch; returns the sum of its losses, and their count."""
        own = getattr(self._task, "backward", None)
        name = "loss" if own is None else "backward"
        with self._precision() if own is None else contextlib.nullcontext():
            result = self._task.loss(model, batch) if own is None else own(model, batch, scale)
        if not (isinstance(result, tuple) and len(result) == 2 and isinstance(result[0], torch.Tensor)):
            raise SettingError(
                f"expected `{name}` to return the sum of the losses as a tensor, and their count, got {str(result)[:80]}",
                hint="return `loss_sum, tokens`",
            )
        loss, count = result
        if isinstance(count, torch.Tensor) and count.numel() == 1:
            count = count.detach().reshape(())
        elif not isinstance(count, (int, float, np.number)):
            raise SettingError(
                f"expected `{name}` to return a count beside the sum of the losses, got {str(count)[:80]}",
                hint="return how many tokens or labels the sum is over, as one number",
            )
        if loss.ndim or (own is None and not loss.requires_grad):
            raise SettingError(
                f"expected `{name}` to return one loss that depends on the parameters, got a tensor of shape "
                f"{tuple(loss.shape)}" + ("" if loss.ndim else " without a gradient"),
                hint="return the sum of the losses, such as `cross_entropy(…, reduction=\"sum\")`",
            )
        if own is None:
            (loss * scale).backward()
        return loss.detach(), count

    def _check_first(self, total: torch.Tensor, count: Any, parameters: list[torch.nn.Parameter]) -> None:
        """Finds in the first step what is wrong with a task, rather than with a way to train it."""
        if not float(count) > 0:
            raise SettingError(
                f"expected a count above 0 from the loss of the first step, got {float(count)}",
                hint="return how many tokens or labels the sum of the losses is over; leave sequences without any out",
            )
        if not math.isfinite(float(total)):
            raise LengthwiseError(
                f"expected a finite loss in the first step, got {float(total)}",
                hint="look for padding in the loss, for labels that are out of range, and for a division by zero",
            )
        if all(parameter.grad is None for parameter in parameters):
            raise SettingError(
                "expected the first step to make gradients, got none",
                hint="let the loss depend on the parameters of `model`",
            )

    def _precision(self) -> contextlib.AbstractContextManager[Any]:
        if self.run.learning.amp == "none":
            return contextlib.nullcontext()
        return torch.autocast(self._device.type, torch.bfloat16)

    def _measured(self, model: torch.nn.Module, at: int) -> dict[str, Any]:
        """Validates; after the last epoch with the mean of parameters, and with the measures of ``test``."""
        learning, epochs = self.run.learning, self.run.epochs
        last = at + 1 == epochs
        # `average` and `patience` exclude each other, so a mean is of the last epochs.
        if learning.average > 1 and at >= epochs - learning.average:
            self._average.add(model)
        model.eval()
        with contextlib.ExitStack() as stack:
            stack.enter_context(self._random.kept())
            stack.enter_context(torch.no_grad())
            stack.enter_context(self._precision())
            if last:
                stack.enter_context(self._average.used_by(model))
            measures = self._numbers("validate", self._task.validate(model))
            if "loss" not in measures:
                raise SettingError(
                    f'expected `validate` to return a "loss", got {", ".join(measures) or "nothing"}',
                    hint='return a dict such as {"loss": mean_loss}',
                )
            if learning.patience and self._epochs_since_lowest(measures["loss"]) >= learning.patience:
                self.training.ended = "patience"
            if (last or self.training.ended) and hasattr(self._task, "test"):
                more = self._numbers("test", self._task.test(model))
                twice = sorted(measures.keys() & more.keys())
                if twice:
                    raise SettingError(
                        f"`validate` and `test` both return {twice[0]!r}", hint=f"call it `test {twice[0]}` in `test`"
                    )
                measures |= more
        model.train()
        loss = measures.pop("loss")
        error = measures.pop("error", None)
        validation: dict[str, Any] = {"loss": number(loss)}
        if error is not None:
            validation["error"] = number(error)
        return {**validation, "more": [[name, number(value)] for name, value in measures.items()]}

    def _numbers(self, name: str, measures: Any) -> dict[str, float]:
        try:
            texts = [value for value in measures.values() if isinstance(value, (str, bytes))]
            numbers = {str(key): float(value) for key, value in measures.items()}
        except (AttributeError, TypeError, ValueError, OverflowError, RuntimeError):
            texts = [measures]
        if texts:
            raise SettingError(
                f"expected `{name}` to return a dict of numbers, got {str(measures)[:80]}",
                hint='return a dict such as {"loss": mean_loss}',
            )
        if SECONDS in numbers:
            raise SettingError(f"`{name}` returns {SECONDS!r}, which is measured already", hint="give it another name")
        return numbers

    def _epochs_since_lowest(self, loss: float) -> int:
        """How many epochs ago the validation loss was lowest, with this one as the last."""
        losses = [*(value_of(epoch["validation"]["loss"]) for epoch in self.training.epochs), loss]
        return len(losses) - 1 - int(np.argmin(losses))

    def _own_bytes(self, model: torch.nn.Module) -> int:
        """The memory of the parameters, their gradients, and the state of the optimizer."""
        held = [*model.parameters(), *model.buffers()]
        held += [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
        for state in self._optimizer.state.values():
            held += [value for value in state.values() if isinstance(value, torch.Tensor)]
        return sum(tensor.untyped_storage().nbytes() for tensor in held if tensor.device.type == self._device.type)

    def _save(self, model: torch.nn.Module) -> None:
        goes_on = not self.finished or not self.run.learning.depends_on_epochs
        with self._average.used_by(model) if self.finished else contextlib.nullcontext():
            _checkpoint.save(
                self.path,
                {
                    "identity": self._identity,
                    "epochs": self.training.epochs,
                    "ended": self.training.ended,
                    "shapes": sorted(self._known),
                },
                {
                    "model": model.state_dict(),
                    # What a training needs to go on takes twice the room of its parameters.
                    "optimizer": self._optimizer.state_dict() if goes_on else None,
                    "average": self._average.state_dict() if goes_on else None,
                    "random": self._state,
                },
            )
