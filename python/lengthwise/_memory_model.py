"""How much memory a training step takes, as a function of its shape."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from ._memory import Peak
from .errors import CostError, FileError

Array = np.ndarray[Any, np.dtype[np.float64]]

#: What a sum has a coefficient for, with B sequences padded to L.
TERMS = ("1", "B", "L", "BL", "LL", "BLL")
#: Below this error, one sum is enough.
GOOD = 0.01
#: A second sum must lower the error to this share.
BETTER = 0.7
#: The share of the largest step from which on a step says how much more is reserved than allocated: small ones
#: say more about the size of blocks.
LARGE = 0.5


@dataclass(frozen=True)
class MemoryModel:
    """How much memory of the device a training step takes at most, on a batch of B sequences padded to L:
    base + c₁·B + c₂·L + c₃·B·L + c₄·L² + c₅·B·L² bytes, with no negative coefficient. It is the larger of two such
    sums where one alone does not fit: a step takes the most in its forward or its backward pass, or when the
    optimizer steps. :func:`calibrate` makes it.

    Attributes:
        sums: One or two sums of six coefficients: base and c₁ to c₅.
        overhead: How much more the allocator reserves than it allocates in large steps, as a share.
        error: The mean of the absolute relative errors for measured shapes that the model was not fitted to: each
            of them in turn is left out.
        worst_error: The largest of these errors.
        available: The bytes that the process could have.
    """

    sums: tuple[tuple[float, ...], ...]
    overhead: float
    error: float
    worst_error: float
    available: int

    def peak(self, batch_size: int, length: int) -> int:
        """Returns the most bytes that tensors have during a step on ``batch_size`` sequences padded to
        ``length``, as ``torch.cuda.max_memory_allocated`` counts them."""
        if batch_size < 1 or length < 1:
            raise CostError(
                f"expected a batch size and a length of at least 1, got {batch_size} and {length}",
                hint="give the shape of a batch",
            )
        return int(predicted(self.sums, terms([batch_size], [length]))[0])

    def reserved(self, batch_size: int, length: int) -> int:
        """Returns the most bytes that are reserved during a step on ``batch_size`` sequences padded to
        ``length``, as ``torch.cuda.max_memory_reserved`` counts them. A process runs out of memory when it cannot
        reserve more."""
        return int(self.peak(batch_size, length) * (1 + self.overhead))

    @staticmethod
    def load(path: str | os.PathLike[str]) -> MemoryModel:
        """Reads a model from the .json file ``path``, which ``Calibration.save`` wrote."""
        hint = "calibrate on a GPU, and write the file with `calibration.save`"
        try:
            with open(path, encoding="utf-8") as file:
                read = json.load(file)
        except OSError as error:
            raise FileError(f"{os.fspath(path)}: {error.strerror}", hint=hint) from error
        except (ValueError, RecursionError):
            read = None
        memory = read.get("memory") if isinstance(read, dict) else None
        made = _read(memory) if isinstance(memory, dict) else None
        if made is None:
            raise FileError(f"{os.fspath(path)}: expected a file with a memory model", hint=hint)
        return made

    def __str__(self) -> str:
        names = ("", "·B", "·L", "·B·L", "·L²", "·B·L²")
        sums = [" + ".join(f"{c:.4g}{name}" for c, name in zip(one, names) if c) or "0" for one in self.sums]
        text = sums[0] if len(sums) == 1 else f"max({', '.join(sums)})"
        return f"{text} bytes (mean error {100 * self.error:.1f} %, largest {100 * self.worst_error:.1f} %)"


def written(model: MemoryModel) -> dict[str, Any]:
    """The model as a part of a file."""
    return {
        "terms": list(TERMS),
        "sums": [list(one) for one in model.sums],
        "overhead": model.overhead,
        "error": model.error,
        "worst_error": model.worst_error,
        "available": model.available,
    }


def _read(part: dict[str, Any]) -> MemoryModel | None:
    """The model of that part, if it is one."""
    sums: Any = part.get("sums")
    numbers: list[Any] = [part.get(name) for name in ("overhead", "error", "worst_error", "available")]
    if part.get("terms") != list(TERMS) or not isinstance(sums, list) or len(sums) not in (1, 2):
        return None
    if not all(isinstance(one, list) and len(one) == len(TERMS) for one in sums):
        return None
    every = [*numbers, *(number for one in sums for number in one)]
    # No `bool`, and neither NaN nor infinity, which Python reads.
    if not all(type(number) in (int, float) and 0 <= number < float("inf") for number in every):
        return None
    overhead, error, worst, available = numbers
    return MemoryModel(tuple(tuple(map(float, one)) for one in sums), overhead, error, worst, int(available))


def fitted(shapes: Sequence[tuple[int, int]], peaks: Sequence[Peak], available: int) -> MemoryModel:
    """The model of measured shapes. Errors count relative to what was measured."""
    rows = terms([size for size, _ in shapes], [length for _, length in shapes])
    taken = np.array([peak.allocated for peak in peaks], dtype=np.float64)
    sums, errors = one_sum(rows, taken), left_out(rows, taken, one_sum)
    if np.mean(errors) > GOOD and len(taken) > 2 * len(TERMS):
        errors_of_two = left_out(rows, taken, two_sums)
        if np.mean(errors_of_two) < BETTER * np.mean(errors):
            sums, errors = two_sums(rows, taken), errors_of_two
    large = [peak for peak in peaks if peak.allocated >= LARGE * taken.max()]
    overhead = max(peak.reserved / peak.allocated - 1 for peak in large)
    return MemoryModel(
        tuple(tuple(map(float, one)) for one in sums),
        max(overhead, 0.0),
        float(np.mean(errors)),
        float(np.max(errors)),
        available,
    )


def terms(sizes: Any, lengths: Any) -> Array:
    """For each shape, what the coefficients multiply."""
    size, length = np.asarray(sizes, dtype=np.float64), np.asarray(lengths, dtype=np.float64)
    return np.stack([np.ones_like(size), size, length, size * length, length**2, size * length**2], axis=1)


def predicted(sums: Sequence[Sequence[float] | Array], rows: Array) -> Array:
    """The bytes of each shape."""
    return cast(Array, np.max(rows @ np.array(sums, dtype=np.float64).T, axis=1))


def largest_peak(model: MemoryModel, lengths: tuple[int, int], cells: int, sequences: int) -> int:
    """The most bytes that batches of so many cells reserve, whatever length between the shortest and the longest
    they are padded to."""
    shortest, longest = lengths
    every = np.unique(np.linspace(shortest, longest, min(longest - shortest + 1, 1 << 16)).astype(np.int64))
    sizes = np.clip(cells // every, 1, sequences)
    return int(predicted(model.sums, terms(sizes, every)).max() * (1 + model.overhead))


def largest_cells(
    model: MemoryModel, lengths: tuple[int, int], limit: float, most: int, sequences: int
) -> int:
    """The most cells of which batches reserve no more than the limit; 0 if the longest sequence does."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        if largest_peak(model, lengths, middle, sequences) <= limit:
            low = middle
        else:
            high = middle
    return low if low >= lengths[1] else 0


def one_sum(rows: Array, taken: Array) -> list[Array]:
    """The sum that is nearest by relative errors."""
    return [non_negative(rows / taken[:, None], np.ones_like(taken))]


def two_sums(rows: Array, taken: Array) -> list[Array]:
    """Two sums whose larger one is nearest: each is fitted to the shapes at which it is the larger, and then
    these are found again (Magnani and Boyd, Convex piecewise-linear fitting, 2009)."""
    best, least = one_sum(rows, taken), float("inf")
    for part in (0.25, 0.5, 0.75):
        upper = taken > np.quantile(taken, part)
        for _ in range(10):
            if min(upper.sum(), (~upper).sum()) < 3:
                break
            sums = [one_sum(rows[chosen], taken[chosen])[0] for chosen in (~upper, upper)]
            error = float(np.mean(np.abs(predicted(sums, rows) / taken - 1)))
            if error < least:
                best, least = sums, error
            low, high = (rows @ one for one in sums)
            if ((high > low) == upper).all():
                break
            upper = high > low
    return best


def left_out(rows: Array, taken: Array, fit: Callable[[Array, Array], list[Array]]) -> Array:
    """The relative error of each shape when the others are fitted."""
    errors = []
    for at in range(len(taken)):
        kept = np.arange(len(taken)) != at
        sums = fit(rows[kept], taken[kept])
        errors.append(abs(float(predicted(sums, rows[at : at + 1])[0]) / taken[at] - 1))
    return np.array(errors)


def non_negative(rows: Array, values: Array) -> Array:
    """The least-squares solution without negative numbers (Lawson and Hanson, Solving Least Squares Problems,
    1974, chapter 23)."""
    scale = np.maximum(np.linalg.norm(rows, axis=0), np.finfo(np.float64).tiny)
    rows = rows / scale
    count = rows.shape[1]
    found, free = np.zeros(count), np.zeros(count, dtype=bool)
    for _ in range(5 * count):
        gain = rows.T @ (values - rows @ found)
        gain[free] = 0.0
        if gain.max() <= 1e-10:
            break
        free[gain.argmax()] = True
        while free.any():
            step = np.zeros(count)
            step[free] = np.linalg.lstsq(rows[:, free], values, rcond=None)[0]
            below = free & (step <= 0)
            if not below.any():
                found = step
                break
            # As far as all stay positive; what becomes zero is out.
            along = float(np.min(found[below] / (found[below] - step[below] + 1e-300)))
            found = found + along * (step - found)
            free &= found > 1e-12
            found[~free] = 0.0
    return cast(Array, found / scale)
