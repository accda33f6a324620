"""What the scripts share: the data of the tests, and where results go."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from conftest import SEQUENCES  # noqa: E402

BUDGET = "padded:600"


def lengths() -> np.ndarray:
    drawn = np.random.default_rng(7).lognormal(3.4, 0.6, SEQUENCES)
    return np.clip(drawn, 3, 300).astype(np.int64)


class Sequences(torch.utils.data.Dataset):
    """Sequence `i` holds its own number, as often as it is long."""

    def __init__(self) -> None:
        self.lengths = lengths().tolist()

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((self.lengths[index],), float(index))


def indices(values: torch.Tensor) -> list[int]:
    """Which sequences a padded batch holds: the number that is at the beginning of each row."""
    return [int(value) for value in values[:, 0]]


def write(result: object) -> None:
    rank = int(os.environ.get("RANK", "0"))
    Path(sys.argv[1], f"{rank}.json").write_text(json.dumps(result))


def finish() -> None:
    """Ends the process together with the others. Gloo's own end aborts now and then, after all is done."""
    if torch.distributed.is_initialized():
        torch.distributed.barrier()
    sys.stdout.flush()
    os._exit(0)
