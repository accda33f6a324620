"""The lengths that are planned."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
from arguments import EXAMPLES


def example(name: str, count: int) -> np.ndarray:
    """`count` lengths with the distribution of a built-in example, in no order: its own lengths are
    the quantiles, with straight lines between."""
    quantiles = np.sort(lw.example(name))
    places = np.random.default_rng([20_261_115, EXAMPLES.index(name)]).random(count)
    places *= len(quantiles) - 1
    return np.rint(np.interp(places, np.arange(len(quantiles)), quantiles)).astype(np.int64)


def limits(lengths: np.ndarray, sequences: int) -> dict[str, int]:
    """What batches may have: so many sequences, as many cells as that many of mean length have (and
    one of the longest, at least), and rows of a power of two that hold eight mean lengths and the
    longest."""
    mean, longest = float(lengths.mean()), int(lengths.max())
    capacity = 1 << (max(round(8 * mean), longest) - 1).bit_length()
    return {
        "sequences": sequences,
        "padded": max(round(sequences * mean), longest),
        "packed": capacity,
    }
