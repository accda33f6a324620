"""Padded batches as packed rows, for trainers that can only pad."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any

import torch

from .errors import SettingError


class Rows:
    """What :func:`as_rows` has put on models."""

    def __init__(self, *models: torch.nn.Module) -> None:
        self._handles = [handle for model in models for handle in _Row().put_on(model)]

    def remove(self) -> None:
        """Lets the models see padded batches again."""
        for handle in self._handles:
            handle.remove()


def as_rows(*models: torch.nn.Module) -> Rows:
    """Has models see every padded batch as one row without padding, and gives their outputs the shape of the batch.

    This is for trainers that pad their batches themselves, such as TRL's ``DPOTrainer``: with the strategy "packed",
    the positions that a model computes are then those that were planned. Give all models that see the batches, as in
    ``as_rows(trainer.model, trainer.ref_model)``.

    The positions of every sequence begin at 0. Causal models of transformers 5 know from that where a sequence begins,
    and no sequence sees another.

    Args:
        models: Models that are called with ``input_ids`` and an ``attention_mask``.

    Returns:
        An object with a method ``remove``.
    """
    return Rows(*models)


def has_rows(model: torch.nn.Module) -> bool:
    """Whether a model sees batches as rows."""
    hooks = (hook for module in model.modules() for hook in module._forward_pre_hooks.values())
    return any(isinstance(getattr(hook, "__self__", None), _Row) for hook in hooks)


class _Row:
    """One model. What is real in a batch is kept from the beginning of a call to its end."""

    real: torch.Tensor | None = None

    def put_on(self, model: torch.nn.Module) -> tuple[Any, Any]:
        return (
            model.register_forward_pre_hook(self.pack, with_kwargs=True, prepend=True),
            model.register_forward_hook(self.unpack),
        )

    def pack(self, _: Any, args: tuple[Any, ...], given: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        packed, mask = dict(given), given.get("attention_mask")
        if args or mask is None or mask.dim() != 2:
            raise SettingError(
                "a batch cannot be seen as a row without an attention mask of two dimensions, given by name",
                hint="leave `as_rows` out for this model",
            )
        self.real = real = packed.pop("attention_mask").bool()
        for name, value in packed.items():
            if isinstance(value, torch.Tensor) and value.shape[:2] == real.shape:
                packed[name] = value[real][None]
        packed["position_ids"] = (real.cumsum(1) - 1)[real][None]
        if packed.get("labels") is not None:
            # The first token of a sequence does not follow from the last one of another.
            packed["labels"] = packed["labels"].masked_fill(packed["position_ids"] == 0, -100)
        return args, packed

    def unpack(self, _: Any, args: tuple[Any, ...], output: Any) -> Any:
        real, self.real = self.real, None
        if real is None or not isinstance(output, MutableMapping):
            return output
        count = int(real.sum())
        for name, value in list(output.items()):
            if not isinstance(value, torch.Tensor) or value.dim() < 2 or value.shape[0] != 1:
                continue
            if value.shape[1] == count:
                output[name] = _spread(value[0], real)
            elif value.shape[1] == count - 1:
                # A value for each token but the first, which nothing comes before.
                values = torch.cat([value.new_zeros(1, *value.shape[2:]), value[0]])
                output[name] = _spread(values, real)[:, 1:]
        return output


def _spread(values: torch.Tensor, real: torch.Tensor) -> torch.Tensor:
    """The values of a row at their places in the batch, and zeros in the padding."""
    batch = values.new_zeros(*real.shape, *values.shape[1:])
    batch[real] = values
    return batch
