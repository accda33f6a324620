"""CUDA graphs of training: a small model waits for its kernels to be launched."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import torch


class _Recorded(NamedTuple):
    graph: Any
    #: What the graph reads: the inputs that are tensors, and what multiplies the loss.
    held: list[torch.Tensor]
    scale: torch.Tensor
    total: torch.Tensor


class _OfModel:
    """The graphs of one model. They are replayed one after another, so what one computes may lie where another does."""

    def __init__(self) -> None:
        import torch

        self.recorded: dict[tuple[Any, ...], _Recorded] = {}
        # PyTorch frees a pool with its last graph, so a pool must not outlive the model.
        self.pool = torch.cuda.graph_pool_handle()


class Graphs:
    """Records the forward and backward pass of a model once for each shape of its inputs, and replays it.

    A task calls :meth:`backward` from its own ``backward``. Where there is no CUDA device, it computes as usual.

    Args:
        loss: A function of a model and inputs that returns the sum of the losses. It must not ask for values of
            tensors, such as by ``.item()``.
        amp: ``"bf16"`` for ``torch.autocast`` with bfloat16. The default is ``"none"``.
    """

    def __init__(self, loss: Callable[..., torch.Tensor], amp: str = "none") -> None:
        self._loss, self._amp = loss, amp
        # Trainings take turns: every model has graphs of its own, and takes them with it.
        self._models: WeakKeyDictionary[torch.nn.Module, _OfModel] = WeakKeyDictionary()

    def backward(self, model: torch.nn.Module, inputs: Sequence[Any], scale: float) -> torch.Tensor:
        """Adds the gradients of the sum of the losses times ``scale``, and returns the sum.

        Args:
            model: The model.
            inputs: What ``loss`` takes after the model. A graph is recorded for each combination of the shapes of
                tensors and of other values, such as the longest length.
            scale: What multiplies the sum.
        """
        import torch

        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        if not all(tensor.is_cuda for tensor in tensors):
            total = self._sum(model, inputs, tensors[0].device.type, cached=True)
            _backward(total * scale)
            return total.detach()
        if model not in self._models:
            self._models[model] = _OfModel()
        mine = self._models[model]
        key = tuple((value.shape, value.dtype) if isinstance(value, torch.Tensor) else value for value in inputs)
        if key not in mine.recorded:
            mine.recorded[key] = self._record(model, inputs, tensors[0].device, mine.pool)
        graph, held, factor, total = mine.recorded[key]
        for into, tensor in zip(held, tensors, strict=True):
            into.copy_(tensor)
        factor.fill_(scale)
        graph.replay()
        return total.clone()

    def _sum(self, model: torch.nn.Module, inputs: Sequence[Any], device: str, cached: bool) -> torch.Tensor:
        import torch

        with torch.autocast(device, torch.bfloat16, enabled=self._amp == "bf16", cache_enabled=cached):
            return self._loss(model, *inputs)

    def _record(self, model: torch.nn.Module, inputs: Sequence[Any], device: torch.device, pool: Any) -> _Recorded:
        import torch

        for parameter in model.parameters():
            if parameter.requires_grad and parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        # What is computed here only to record must change neither gradients nor random numbers.
        kept = [(parameter, parameter.grad.clone()) for parameter in model.parameters() if parameter.grad is not None]
        random = torch.cuda.get_rng_state(device)
        own = [value.clone() if isinstance(value, torch.Tensor) else value for value in inputs]
        factor, total = torch.zeros((), device=device), torch.zeros((), device=device)

        def work() -> None:
            # The copies of weights in low precision belong to the graph.
            loss = self._sum(model, own, "cuda", cached=False)
            total.copy_(loss.detach())
            _backward(loss * factor)

        side: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        side.wait_stream(torch.cuda.current_stream(device))
        graph = torch.cuda.CUDAGraph()
        with _other_leaves(model):
            with torch.cuda.stream(side):
                for _ in range(2):
                    work()
            torch.cuda.current_stream(device).wait_stream(side)
            with torch.cuda.graph(graph, pool=pool):
                work()
        for parameter, gradient in kept:
            assert parameter.grad is not None
            parameter.grad.copy_(gradient)
        torch.cuda.set_rng_state(random, device)
        return _Recorded(graph, [value for value in own if isinstance(value, torch.Tensor)], factor, total)


@contextmanager
def _other_leaves(model: torch.nn.Module) -> Iterator[None]:
    """Lets a model compute with other tensors, whose values and gradients lie where its own do.

    As long as a result of an earlier pass is alive, gradients of the model's own parameters are added on the stream of
    that pass, which a recording cannot wait for.
    """
    others: dict[torch.Tensor | None, Any] = {None: None}
    for parameter in model.parameters():
        others[parameter] = parameter.detach().requires_grad_(parameter.requires_grad)
        others[parameter].grad = parameter.grad
    own = [(module._parameters, dict(module._parameters)) for module in model.modules()]
    try:
        for held, parameters in own:
            held.update((name, others[value]) for name, value in parameters.items())
        yield
    finally:
        for held, parameters in own:
            held.update(parameters)


def _backward(loss: torch.Tensor) -> None:
    loss.backward()  # type: ignore[no-untyped-call]
