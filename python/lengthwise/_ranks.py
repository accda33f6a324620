"""Which of how many ranks this process is."""

from __future__ import annotations

import logging
import operator
import os
import sys
from typing import Any, Literal

from .errors import RankError

log = logging.getLogger("lengthwise")

# Only variables that a launcher sets for each process it starts: a job script of Slurm knows the
# number of tasks too, but is not one of them.
LAUNCHERS = [
    ("torchrun", "RANK", "WORLD_SIZE"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
]


def find_ranks() -> tuple[int, int]:
    """The rank and the world size: of ``torch.distributed`` if it is initialised, then as the launcher
    says, and otherwise the only rank."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(), distributed.get_world_size()
        log.debug("rank %d of %d, says torch.distributed", *found)
        return found
    for launcher, rank, size in LAUNCHERS:
        if rank in os.environ and size in os.environ:
            found = _number(rank), _number(size)
            if not 0 <= found[0] < found[1]:
                raise RankError(
                    f"{rank}={found[0]} and {size}={found[1]} cannot be",
                    hint="give `rank` and `world_size`, or unset the variables",
                )
            log.debug("rank %d of %d, says %s", *found, launcher)
            return found
    return 0, 1


def given_ranks(rank: Any, world_size: Any) -> tuple[int | Literal["all"] | None, int | None]:
    """A rank and a world size that go together, or neither."""
    try:
        rank = rank if rank is None or rank == "all" else operator.index(rank)
        world_size = world_size if world_size is None else operator.index(world_size)
    except TypeError:
        raise RankError(
            f"rank {rank!r} of {world_size!r}", hint='ranks are whole numbers; `rank="all"` is all of them'
        ) from None
    if world_size is not None and world_size < 1:
        raise RankError(f"a world size of {world_size}", hint="give at least one rank")
    if isinstance(rank, int) and world_size is None:
        raise RankError(f"rank {rank} of how many?", hint="give `world_size` too, or neither of them")
    if rank is None and world_size is not None and world_size != 1:
        raise RankError(
            f"which of the {world_size} ranks is this?",
            hint='give `rank` too, or neither of them; `rank="all"` gives the batches of all ranks',
        )
    if isinstance(rank, int) and not 0 <= rank < (world_size or 1):
        raise RankError(
            f"there is no rank {rank} among {world_size} ranks",
            hint=f"ranks are numbered from 0; the last one is {(world_size or 1) - 1}",
        )
    return rank, world_size


def _number(name: str) -> int:
    try:
        return int(os.environ[name])
    except ValueError:
        raise RankError(
            f"{name}={os.environ[name]!r} is no number",
            hint="give `rank` and `world_size`, or unset the variable",
        ) from None
