"""The memory of the accelerator: how much of it there is, how much a step takes, and what happens when it ends."""

from __future__ import annotations

import gc
import sys
from typing import Any, NamedTuple

#: What errors say that are about memory.
RAN_OUT = (
    "out of memory", "resource_exhausted", "can't allocate memory", "cannot allocate memory",
    "cudnn_status_alloc_failed", "cublas_status_alloc_failed",
)  # fmt: skip


def ran_out(error: Exception) -> bool:
    """Whether an error says that memory ran out, on the host or on a device."""
    text = str(error).lower()
    # Those of PyTorch and CuPy are errors of memory whatever they say.
    named = any(kind.__name__ == "OutOfMemoryError" for kind in type(error).__mro__)
    return named or isinstance(error, MemoryError) or any(sign in text for sign in RAN_OUT)


def release() -> None:
    """Frees what a failed attempt left. The error must be out of scope: it holds on to what was made."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()


class Peak(NamedTuple):
    """The most bytes at one time.

    Attributes:
        allocated: Bytes in tensors.
        reserved: Bytes that the allocator had taken from the device for them. It runs out when it cannot take
            more. They are more than those in tensors, because it takes whole blocks and keeps them.
    """

    allocated: int
    reserved: int


class Device:
    """The memory of one CUDA device, as PyTorch's allocator counts it.

    Args:
        torch: The module.
        index: The index of the device.
    """

    def __init__(self, torch: Any, index: int) -> None:
        self.cuda = torch.cuda
        self.index = index

    def available(self) -> int:
        """The bytes that this process has or can still have."""
        free, total = self.cuda.mem_get_info(self.index)
        most = free + self.cuda.memory_reserved(self.index)
        # An older PyTorch does not tell whether a share was set.
        share = getattr(self.cuda, "get_per_process_memory_fraction", lambda index: 1.0)(self.index)
        return int(min(most, share * total) if share > 0 else most)

    def held(self) -> int:
        """The bytes that tensors have now: between steps, parameters, gradients and the optimizer's states."""
        return int(self.cuda.memory_allocated(self.index))

    def start(self) -> None:
        """Begins to measure, with no block kept from before."""
        self.cuda.synchronize(self.index)
        self.cuda.empty_cache()
        self.cuda.reset_peak_memory_stats(self.index)

    def peak(self) -> Peak:
        """The most bytes since the start."""
        self.cuda.synchronize(self.index)
        return Peak(
            int(self.cuda.max_memory_allocated(self.index)), int(self.cuda.max_memory_reserved(self.index))
        )


def device() -> Device | None:
    """The CUDA device that most of the memory of this process is on; none if all of it is on the CPU."""
    torch = sys.modules.get("torch")
    if torch is None or not (torch.cuda.is_available() and torch.cuda.is_initialized()):
        return None
    taken = [int(torch.cuda.max_memory_allocated(index)) for index in range(torch.cuda.device_count())]
    return Device(torch, taken.index(max(taken))) if any(taken) else None
