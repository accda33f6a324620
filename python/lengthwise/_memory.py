"""What happens when memory ends."""

from __future__ import annotations

import gc
import sys

#: What errors say that are about memory.
RAN_OUT = (
    "out of memory", "resource_exhausted", "can't allocate memory", "cannot allocate memory",
    "cudnn_status_alloc_failed", "cublas_status_alloc_failed",
)  # fmt: skip


def ran_out(error: Exception) -> bool:
    """Whether an error says that memory ran out, on the host or on a device."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in text for sign in RAN_OUT)


def release() -> None:
    """Frees what a failed attempt left. The error must be out of scope: it holds on to what was made."""
    gc.collect()
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        torch.cuda.empty_cache()
