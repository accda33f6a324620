"""Which of how many ranks this process is."""

from __future__ import annotations

import logging
import operator
import os
import sys
import warnings
from typing import Any, Literal

import numpy as np

from .errors import LengthwiseWarning, RankError

log = logging.getLogger("lengthwise")

# Only variables that a launcher sets for each process it starts: a job script of Slurm knows the
# number of tasks too, but is not one of them.
LAUNCHERS = [
    ("torchrun", "RANK", "WORLD_SIZE"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
]

#: What was said about variables in this process, so that it is said once.
_said: set[tuple[str, int, int]] = set()


def find_ranks() -> tuple[int, int]:
    """The rank and the world size: those of ``torch.distributed`` if it is initialised, otherwise those of a worker of
    Ray Train, otherwise those that a launcher's variables give, with a warning, and otherwise the only rank."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        found = distributed.get_rank(), distributed.get_world_size()
        log.debug("rank %d of %d, from torch.distributed", *found)
        return found
    if (worker := ranks_of_ray()) is not None:
        log.debug("rank %d of %d, from Ray Train", *worker)
        return worker
    for launcher, rank, size in LAUNCHERS:
        if rank in os.environ and size in os.environ:
            found = _number(rank), _number(size)
            if not 0 <= found[0] < found[1]:
                raise RankError(
                    f"expected {rank} from 0 to {size} - 1, got {rank}={found[0]} and {size}={found[1]}",
                    hint="give `rank` and `world_size`, or unset the variables",
                )
            _say(launcher, *found, rank, size)
            return found
    return 0, 1


def ranks_of_ray() -> tuple[int, int] | None:
    """The rank of this worker of Ray Train, and how many there are; ``None`` elsewhere."""
    train = sys.modules.get("ray.train")
    try:
        context = train.get_context()  # type: ignore[union-attr]
        rank, size = context.get_world_rank(), context.get_world_size()
    except (AttributeError, RuntimeError, DeprecationWarning):
        return None  # Tune raises its warning as an error.
    return None if rank is None or size is None else (rank, size)


def name_for_all(name: str) -> str:
    """The name that the first rank gives, on all ranks. All of them must call this."""
    if ranks_of_ray() is not None:
        from ray.train.collective import broadcast_from_rank_zero

        return str(broadcast_from_rank_zero(name))
    import torch.distributed as distributed

    names = [name]
    distributed.broadcast_object_list(names)
    return names[0]


def _say(launcher: str, rank: int, size: int, *variables: str) -> None:
    """Warns once that the ranks are those of variables: they may be left over from another job, and then
    most of the data would never be seen."""
    if size == 1 or (launcher, rank, size) in _said:
        return
    _said.add((launcher, rank, size))
    warnings.warn(
        f"this process gets the batches of rank {rank} of {size}, because of the environment variables "
        f"{' and '.join(variables)} ({launcher}): call `torch.distributed.init_process_group` first, or "
        "give `rank=` and `world_size=`; `rank=0, world_size=1` gives all batches",
        LengthwiseWarning,
        stacklevel=4,
    )


def given_ranks(
    rank: Any, world_size: Any, process_group: Any = None, device_mesh: Any = None
) -> tuple[int | Literal["all"] | None, int | None]:
    """A rank and a world size that go together, or neither. A process group or a device mesh has both."""
    if process_group is not None or device_mesh is not None:
        if process_group is not None and device_mesh is not None or world_size is not None:
            raise RankError(
                "the world size is given twice",
                hint="give one of `world_size`, `process_group` and `device_mesh`",
            )
        found, world_size = _of_group(process_group) if device_mesh is None else _of_mesh(device_mesh)
        rank = found if rank is None else rank
    try:
        rank = rank if rank is None or rank == "all" else operator.index(rank)
        world_size = world_size if world_size is None else operator.index(world_size)
    except TypeError:
        raise RankError(
            f"expected whole numbers, got rank {rank!r} of {world_size!r}", hint='ranks are whole numbers; `rank="all"` is all of them'
        ) from None
    if world_size is not None and world_size < 1:
        raise RankError(f"`world_size` cannot be {world_size}", hint="give at least one rank")
    if isinstance(rank, int) and world_size is None:
        raise RankError(f"`rank` is {rank}, but `world_size` is missing", hint="give `world_size` too, or neither of them")
    if rank is None and world_size is not None and world_size != 1:
        raise RankError(
            f"`world_size` is {world_size}, but `rank` is missing",
            hint='give `rank` too, or neither of them; `rank="all"` gives the batches of all ranks',
        )
    if isinstance(rank, int) and not 0 <= rank < (world_size or 1):
        raise RankError(
            f"there is no rank {rank} among {world_size} ranks",
            hint=f"ranks are numbered from 0; the last one is {(world_size or 1) - 1}",
        )
    return rank, world_size


def _of_group(group: Any) -> tuple[int, int]:
    """The rank in a process group, and how many it has."""
    import torch.distributed as distributed

    try:
        found = distributed.get_rank(group), distributed.get_world_size(group)
    except (TypeError, ValueError, RuntimeError, AttributeError) as error:
        raise RankError(
            f"`process_group` is not a process group that is initialised: {error}",
            hint="give what `torch.distributed.new_group` returned, or `mesh.get_group()`",
        ) from None
    if found[0] < 0:
        raise RankError(
            "this process is not in `process_group`",
            hint="give the group that this process shares its data with",
        )
    return found


def _of_mesh(mesh: Any) -> tuple[int, int]:
    """The place in a device mesh, all of whose dimensions divide the data, and how many it has."""
    if not (hasattr(mesh, "get_coordinate") and hasattr(mesh, "shape")):
        raise RankError(
            f"`device_mesh` cannot be a {type(mesh).__name__}",
            hint='give the data-parallel part of a `DeviceMesh`, as in `device_mesh=mesh["dp"]`',
        )
    place, shape = mesh.get_coordinate(), tuple(mesh.shape)
    if place is None:
        raise RankError(
            "this process is not in `device_mesh`",
            hint="give the mesh that this process is part of",
        )
    return int(np.ravel_multi_index(tuple(place), shape)), int(np.prod(shape))


def group_of(process_group: Any, device_mesh: Any) -> Any:
    """The process group of the ranks that divide the data; ``None`` for all ranks."""
    if device_mesh is None:
        return process_group
    if device_mesh.ndim != 1:
        raise RankError(
            f"lengths cannot be exchanged over a device mesh of {device_mesh.ndim} dimensions",
            hint='give one dimension of it, as in `device_mesh=mesh["dp"]`, or a `process_group`',
        )
    return device_mesh.get_group()


def for_exchange(tensor: Any, group: Any) -> Any:
    """A tensor where the backend of a group can take it: NCCL knows the memory of its devices only."""
    import torch

    if not (torch.distributed.is_available() and torch.distributed.is_initialized()):
        raise RankError(
            "ranks exchange lengths over `torch.distributed`, which is not initialized",
            hint="call `torch.distributed.init_process_group` first",
        )
    backend = str(torch.distributed.get_backend(group))
    return tensor if "gloo" in backend or "mpi" in backend else tensor.to(torch.accelerator.current_accelerator())


def _number(name: str) -> int:
    try:
        return int(os.environ[name])
    except ValueError:
        raise RankError(
            f"{name}={os.environ[name]!r} is not a number",
            hint="give `rank` and `world_size`, or unset the variable",
        ) from None
