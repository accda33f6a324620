"""What the first batch of a shape costs with a kernel for attention: python shapes.py tokens.npz --attention flash"""

from __future__ import annotations

import argparse
import contextlib
import json
import time
from pathlib import Path

import model as dictionary
import numpy as np
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

#: PyTorch's own choice, and what it can choose from.
KERNELS = {
    "pytorch": None,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
}
VISITS = 3


class Timed:
    """Batches of the model, forward and backward."""

    def __init__(self, entries: dictionary.Entries, kernel: SDPBackend | None, batch: int) -> None:
        self.entries, self.kernel, self.batch, self.device = entries, kernel, batch, torch.device(entries.device)
        self.net = dictionary.Model(512, 8, 8).to(self.device)
        self.rng = np.random.default_rng(0)

    def wait(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def seconds(self, length: int) -> float:
        chosen = self.rng.integers(0, len(self.entries.lengths), self.batch)
        self.wait()
        start = time.perf_counter()
        kernel = contextlib.nullcontext() if self.kernel is None else sdpa_kernel(self.kernel)
        with kernel, torch.autocast(self.device.type, torch.bfloat16):
            loss = dictionary.losses(self.net, self.entries.padded(chosen, length), "sum")
        loss.backward()
        self.wait()
        self.net.zero_grad(set_to_none=True)
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tokens", type=Path, help="the tokens.npz of prepare.py")
    parser.add_argument("--attention", choices=KERNELS, default="pytorch", help="the kernel; by default, PyTorch chooses")
    parser.add_argument("--batch", type=int, default=32, help="sequences of a batch (32)")
    parser.add_argument("--shapes", type=int, default=40, help="how many batch lengths (40)")
    parser.add_argument("--device", default="cuda")
    arguments = parser.parse_args()
    data = np.load(arguments.tokens)
    entries = dictionary.Entries(data["tokens"], data["lengths"], arguments.device)
    timed = Timed(entries, KERNELS[arguments.attention], arguments.batch)
    lengths = timed.rng.permutation(np.arange(200, 1000, 16))[: arguments.shapes].tolist()
    # What is slow once per process is not a shape's.
    for length in (100, 100, dictionary.LONGEST, dictionary.LONGEST):
        timed.seconds(length)
    visits = [np.mean([timed.seconds(length) for length in lengths]) for _ in range(VISITS)]
    print(json.dumps({"attention": arguments.attention, "ms": [round(1e3 * float(visit), 1) for visit in visits]}))


if __name__ == "__main__":
    main()
