"""What a model and its data have to offer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import torch

    from ._batches import Batch


class Task(Protocol):
    """What to train on what: the function that ``--model`` names returns one.

    An object with these attributes will do; it does not have to inherit from this class. It can have more, which
    are used if they exist:

    - ``about``: a dict of strings that the page shows, such as ``{"data": "29,000 pairs"}``.
    - ``error``: the name of the measure ``"error"``, such as ``"label error rate"``.
    - ``higher``: the names of measures of which more is better, such as ``("BLEU",)``.
    - ``optimizer(model)``: returns the optimizer. By default, ``[learning]`` decides.
    - ``backward(model, batch, scale)``: called instead of ``loss``. It multiplies the sum of the losses by ``scale``,
      adds the gradients to ``parameter.grad`` itself, and returns what ``loss`` returns: for CUDA graphs. Gradients
      are set to zero in place between steps.
    - ``test(model)``: measures that are taken after the last epoch only, such as BLEU, as a dict of numbers.
    """

    lengths: Any
    """The length of each training sequence: one number each, or a row of several, such as source and target."""

    def model(self) -> torch.nn.Module:
        """Returns a new model. The seed is set before, and the model is moved to the device afterwards."""

    def loss(self, model: torch.nn.Module, batch: Batch) -> tuple[torch.Tensor, torch.Tensor | int]:
        """Returns the sum of the losses of a micro-batch, and what it is a sum over, such as its tokens.

        The gradient of an optimizer step is that of all its sums, divided by all its counts.

        Args:
            model: The model.
            batch: Which sequences there are, and the length to pad them to.
        """

    def validate(self, model: torch.nn.Module) -> dict[str, float]:
        """Returns measures on data that the model was not trained on: ``"loss"``, and others such as ``"error"``.

        It is called after every epoch, in evaluation mode and without gradients.

        Args:
            model: The model.
        """
