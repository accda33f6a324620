"""The optimizer, the learning rate, means of parameters, and random numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from ..errors import SettingError
from ._experiment import Learning

#: The rate if neither the file nor the task has one: that of the laboratory.
RATE = 3e-3


def optimizer_of(task: Any, model: torch.nn.Module, learning: Learning, device: torch.device) -> torch.optim.Optimizer:
    """The optimizer of the task, or that of ``[learning]``. Its groups know their highest rate."""
    own = getattr(task, "optimizer", None)
    if own is not None:
        optimizer: torch.optim.Optimizer = own(model)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise SettingError(
                f"expected `optimizer(model)` to return a torch.optim.Optimizer, got {type(optimizer).__name__}",
                hint="return it, or leave `optimizer` out of the task",
            )
        first = float(optimizer.param_groups[0]["lr"])
        factor = 1.0 if learning.rate is None else learning.rate / first
    else:
        optimizer = _default(model, learning, device)
        factor = 1.0
    for group in optimizer.param_groups:
        group["highest_rate"] = float(group["lr"]) * factor
    return optimizer


def trained_of(model: torch.nn.Module) -> list[torch.nn.Parameter]:
    """The parameters that are trained."""
    parameters = [parameter for parameter in model.parameters() if parameter.requires_grad]
    if not parameters:
        raise SettingError("the model has no parameters to train", hint="return a module with parameters from `model`")
    return parameters


def _default(model: torch.nn.Module, learning: Learning, device: torch.device) -> torch.optim.Optimizer:
    parameters = trained_of(model)
    rate, decay = RATE if learning.rate is None else learning.rate, learning.weight_decay
    if learning.optimizer == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=0.95, weight_decay=decay)
    kind = torch.optim.AdamW if learning.optimizer == "adamw" else torch.optim.Adam
    # One kernel for all parameters: a small model waits for launches.
    fused = True if device.type == "cuda" else None
    return kind(parameters, lr=rate, betas=learning.betas, weight_decay=decay, fused=fused)


def set_rate(optimizer: torch.optim.Optimizer, share: float) -> None:
    """Sets the rate of every group to a share of its highest."""
    for group in optimizer.param_groups:
        rate = group["highest_rate"] * share
        if isinstance(group["lr"], torch.Tensor):
            group["lr"].fill_(rate)
        else:
            group["lr"] = rate


class Average:
    """The mean of parameters over several epochs."""

    def __init__(self, state: dict[str, Any] | None = None) -> None:
        self._sums: dict[str, torch.Tensor] = dict(state["sums"]) if state else {}
        self._count: int = state["count"] if state else 0

    def add(self, model: torch.nn.Module) -> None:
        """Adds the parameters of a model."""
        for name, parameter in model.named_parameters():
            # On the processor, where there is room, and in double precision, so that the order does not matter much.
            values = parameter.detach().to("cpu", torch.float64)
            self._sums[name] = self._sums[name] + values if name in self._sums else values.clone()
        self._count += 1

    def state_dict(self) -> dict[str, Any]:
        return {"sums": self._sums, "count": self._count}

    @contextmanager
    def used_by(self, model: torch.nn.Module) -> Iterator[None]:
        """Inside, the model has the mean parameters, in the same places of memory."""
        if self._count < 2:
            yield
            return
        kept = {name: parameter.detach().clone() for name, parameter in model.named_parameters()}
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(self._sums[name] / self._count)
        try:
            yield
        finally:
            with torch.no_grad():
                for name, parameter in model.named_parameters():
                    parameter.copy_(kept[name])


class Randomness:
    """The states of all random generators. Each training has its own, although trainings take turns."""

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def seed(self, seed: int) -> None:
        """Begins anew."""
        random.seed(seed)
        np.random.seed(seed % 2**32)
        torch.manual_seed(seed)

    def state(self) -> dict[str, Any]:
        """Plain values and tensors, for a checkpoint."""
        name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
        state = {
            "python": random.getstate(),
            "numpy": [name, torch.from_numpy(np.asarray(keys).astype(np.int64)), position, has_gauss, gauss],
            "torch": torch.get_rng_state(),
        }
        if self._device.type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(self._device)
        return state

    def restore(self, state: dict[str, Any]) -> None:
        """Goes on from a state."""
        version, inner, gauss = state["python"]
        random.setstate((version, tuple(inner), gauss))
        name, keys, *rest = state["numpy"]
        np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
        torch.set_rng_state(state["torch"])
        if self._device.type == "cuda":
            torch.cuda.set_rng_state(state["cuda"], self._device)

    @contextmanager
    def kept(self) -> Iterator[None]:
        """What is drawn inside changes nothing outside."""
        state = self.state()
        try:
            yield
        finally:
            self.restore(state)
