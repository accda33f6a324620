"""What this package knows of the insides of frameworks: each with its reason, and the test that notices when it
changes.
"""

from __future__ import annotations

from types import FrameType

from .errors import RankError


def refuse_second_assignment(caller: FrameType, world_size: int) -> None:
    """Refuses that Accelerate assigns the batches of a stream to processes a second time.

    ``accelerator.prepare`` reads an ``IterableDataset`` in the main process and sends batches to the others, or
    reads it in every process and keeps every n-th item. The batches of one rank are then all that is read, and the
    others are never seen. Accelerate does not tell a dataset who reads it. But all of its loaders call
    ``set_epoch`` of the dataset before they begin, in every process and outside of workers.

    Noticed by ``test_accelerate_must_not_assign_the_batches_of_a_stream``.
    """
    if world_size == 1 or caller.f_globals.get("__name__") != "accelerate.data_loader":
        return
    reader = caller.f_locals.get("self")
    # One kind of loader counts processes itself, the other has its state do so.
    processes = getattr(getattr(reader, "state", reader), "num_processes", 1)
    if processes > 1:
        raise RankError(
            f"the batches of one of {world_size} ranks would be assigned to {processes} processes again",
            hint="leave the loader of a stream out of `accelerator.prepare`: every process reads its own "
            "batches",
        )
