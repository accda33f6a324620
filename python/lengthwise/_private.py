"""The private parts of PyTorch and of frameworks that this package uses: all of them, each with the reason.

Nothing else in the package looks at names of others that begin with an underscore, or at the frames of its
callers. ``tests/test_private.py`` fails when one of these parts changes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch.utils.data import DataLoader
from torch.utils.data._utils import worker as _workers

#: Where batches are asked for: a sampler is called through a handful of functions.
DEPTH = 24


@contextmanager
def outside_workers() -> Iterator[None]:
    """Inside, ``get_worker_info`` gives ``None``.

    Why: datasets split themselves by worker, as PyTorch advises, and offer no switch for it. Every worker
    needs the whole stream here, because batches are divided among the workers, not items. PyTorch has no
    public way to hide a worker from a dataset.
    """
    worker, _workers._worker_info = _workers._worker_info, None
    try:
        yield
    finally:
        _workers._worker_info = worker


def set_sampler(loader: DataLoader[Any], sampler: Any) -> None:
    """Sets ``loader.sampler``, although the loader has a batch sampler.

    Why: Lightning and Ray look only at this attribute to see that a loader takes care of its ranks, and
    pass the epoch on to it. A loader takes one of ``sampler`` and ``batch_sampler``, and refuses to have
    its attributes set later.
    """
    loader.__dict__["sampler"] = sampler


class Reader(NamedTuple):
    """The code that reads the batches of a sampler."""

    #: Whether batches are taken before training asks for them.
    ahead: bool
    #: How many a loader with workers asks for at once; then it asks for one more with each that it gives out.
    lead: int
    #: How many processes Accelerate divides the batches among.
    processes: int
    #: Whether torchdata is among them.
    stateful: bool
    #: After how many batches Lightning or Accelerate takes an optimizer step; ``None`` if neither reads for training.
    accumulates: int | None
    #: Whether it is Lightning, which trains in a loop of its own.
    trains: bool


def reader() -> Reader:
    """Finds the code that reads the batches of the sampler that calls this.

    Why: a loader does not tell its sampler how many workers it has or how far it reads ahead, and
    Accelerate does not tell it that batches are divided among processes. Without this, the state of a
    sampler would skip batches that were taken and never trained on, and the batches of one rank would
    be divided once more, both without an error. Neither does a framework say after how many batches it takes an
    optimizer step: steps of another number than was planned would mix the batches of two.
    """
    ahead, lead, processes, stateful = False, 0, 1, False
    accumulates: int | None = None
    trains = False
    for module, owner in _callers():
        if module.startswith(("torch.utils.data", "torchdata.")):
            stateful |= module.startswith("torchdata.")
            lead = max(lead, getattr(owner, "_num_workers", 0) * getattr(owner, "_prefetch_factor", 0))
        elif module == "accelerate.data_loader":
            # Its loaders ask for the next batch before they give out one, to know which is the last.
            ahead |= isinstance(owner, DataLoader)
            processes = max(processes, getattr(owner, "num_processes", 1))
            if hasattr(owner, "gradient_state"):
                accumulates = owner.gradient_state.num_steps
        elif module.endswith(".loops.fetchers"):  # Lightning
            ahead |= getattr(owner, "prefetch_batches", 0) > 0
        elif ".pytorch.loops" in module or module.startswith("pytorch_lightning.loops"):
            trainer: Any = getattr(owner, "trainer", None)
            # Modules that optimize by hand count for themselves.
            if getattr(trainer, "training", False) and trainer.lightning_module.automatic_optimization:
                accumulates, trains = trainer.accumulate_grad_batches, True
    return Reader(ahead or lead > 0, lead, processes, stateful, accumulates, trains)


def asked_by_torchdata() -> bool:
    """Whether torchdata asks for the state of the sampler that calls this.

    Why: ``StatefulDataLoader`` reads ahead too, but notes the state with each batch it asks for, and
    goes back to the one of the batch that was given out last. It asks through the same method as users.
    """
    return any(module.startswith("torchdata.") for module, _ in _callers(4))


def processes_of_accelerate() -> int:
    """How many processes Accelerate divides the data among, if one of its loaders calls the method that calls
    this.

    Why: ``accelerator.prepare`` reads an ``IterableDataset`` in one process for all, or keeps every n-th item
    in each. Of a stream, one rank's batches are then all that is read, and the others are never seen.
    Accelerate does not tell a dataset that it reads it, but all of its loaders call ``set_epoch`` of the
    dataset before they begin, in every process and outside of workers.
    """
    for module, owner in _callers(3):
        if module == "accelerate.data_loader":
            # One kind of loader counts processes itself, the other has its state do so.
            return int(getattr(getattr(owner, "state", owner), "num_processes", 1))
    return 1


def is_split_by_node(dataset: Any) -> bool:
    """Whether a ``datasets.IterableDataset`` gives every process another part.

    Why: batches are divided among the processes, and each reads the whole stream. If the stream were split as well,
    most of the data would never be seen, without an error. The dataset has no public word for it.
    """
    return getattr(dataset, "_distributed", None) is not None


def after_setup_of_data(loop: Any, then: Callable[[], None]) -> None:
    """Has a loop of Lightning call ``then`` whenever it has set up its loader.

    Why: the number of batches of an optimizer step is known once the loader is there. Learning-rate schedules are made
    soon after that, and ask for the number of steps, which makes Lightning set up the loader. It has no hook between.
    And a loader that is set up then does not get its state from a checkpoint, which is read later: the epoch would begin
    again, without a word.
    """
    vars(loop).pop("setup_data", None)  # Of an earlier fit.
    setup = loop.setup_data

    def setup_data() -> None:
        setup()
        loop._load_combined_loader_states()  # It does so if there are any that were not loaded.
        then()

    loop.setup_data = setup_data


def _callers(depth: int = DEPTH) -> Iterator[tuple[str, Any]]:
    """The modules of the callers, from near to far, and the objects whose methods they are."""
    frame: FrameType | None = sys._getframe(2)
    for _ in range(depth):
        if frame is None:
            return
        yield str(frame.f_globals.get("__name__", "")), frame.f_locals.get("self")
        frame = frame.f_back


def multiply(tensors: list[Any], factor: Any) -> None:
    """Multiplies all tensors by a number, in place.

    Why: one after another, a model on a GPU waits for hundreds of launches in every step. PyTorch's own optimizers
    and its clipping of gradients use these functions, and there are no public ones.
    """
    if not tensors:
        return
    if isinstance(factor, torch.Tensor):
        factor = factor.to(tensors[0].device, tensors[0].dtype)
    torch._foreach_mul_(tensors, factor)
