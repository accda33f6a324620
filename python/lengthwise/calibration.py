"""Measures how long training steps take and how much memory, and recommends budget, shapes and strategy.

>>> def step(batch_size, length):
...     loss = model(torch.randn(batch_size, length, 80, device="cuda")).mean()
...     loss.backward()
>>> calibration = lw.calibrate(step, lengths)  # doctest: +SKIP
>>> sampler = BatchSampler(lengths, **calibration.settings)  # doctest: +SKIP
"""

from __future__ import annotations

import csv
import json
import operator
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from numbers import Real
from statistics import median
from typing import Any

from . import CostError, CostModel, Fit, Lengths, LengthwiseError, SettingError, _memory, _memory_model, tune
from ._checks import checked_word
from ._memory import Device, Peak, ran_out, release
from ._memory_model import MemoryModel

__all__ = ["Calibration", "MeasuredStep", "MemoryModel", "Recommendation", "calibrate"]

Step = Callable[[int, int], Any]

#: The kinds of models, as :func:`lengthwise.tune` knows them.
MODELS = ("attention", "recurrent", "packed")
#: Where memory does not end, batches need not grow further than this.
MOST_CELLS = 1 << 22
#: A budget is as good as a larger one that is faster by less than this.
AS_GOOD = 1.05
#: How many ways to batch are shown for each budget.
SHOWN = 3
#: How many budgets are tried until one leaves the margin free.
TRIALS = 8
#: What helps if the longest sequence does not fit.
TOO_LONG = "use a smaller model, or leave the longest sequences out"


@dataclass(frozen=True)
class MeasuredStep:
    """A training step that was timed.

    Attributes:
        batch_size: The number of sequences.
        batch_length: The length that they were padded to.
        seconds: How long the step took.
        peak_bytes: The most bytes that tensors had on the device; ``None`` if it was not measured.
        reserved_bytes: The most bytes that were reserved for them; ``None`` if it was not measured.
    """

    batch_size: int
    batch_length: int
    seconds: float
    peak_bytes: int | None = None
    reserved_bytes: int | None = None


@dataclass(frozen=True)
class Recommendation:
    """Settings, and what they are predicted to give.

    Attributes:
        strategy: The strategy.
        budget: The hard limit of a batch.
        shapes: Which batch lengths may occur.
        update: How much data one optimizer step has; ``None`` if ``accumulate`` decides.
        accumulate: Micro-batches per optimizer step.
        optimizer_steps: The number of optimizer steps of an epoch.
        predicted_seconds: How long an epoch takes, by the cost model.
        padding_rate: The padding rate.
        shape_count: The number of different shapes of an epoch.
        step_mix: How much optimizer steps differ in length, where 1 is as random steps.
        mixing: How freely batch-mates change between epochs, where 1 is random shuffling.
        peak_bytes: The most bytes that a batch under this budget reserves, by the memory model; ``None`` without
            one.
    """

    strategy: str
    budget: str
    shapes: str
    update: str | None
    accumulate: int
    optimizer_steps: int
    predicted_seconds: float
    padding_rate: float
    shape_count: float
    step_mix: float
    mixing: float
    peak_bytes: int | None = None

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as arguments of ``plan`` and of samplers."""
        settings = {"strategy": self.strategy, "budget": self.budget, "shapes": self.shapes}
        if self.update is not None:
            return {**settings, "update": self.update}
        return {**settings, "accumulate": self.accumulate}


@dataclass(frozen=True)
class Calibration:
    """What was measured, and the settings that follow from it. :func:`calibrate` makes it.

    Attributes:
        steps: The measured steps.
        fit: The cost model, and how well it fits them.
        largest_cells: The number of cells of the largest batch that fitted in memory. If there is a memory model, it
            fitted with the margin.
        ran_out: Whether memory limits the batches: a larger one ran out of it, or would leave too little.
        recommendations: Settings, the best ones first.
        memory: The memory model: how much memory a step takes. It is ``None`` if the steps did not run on a CUDA
            device.
    """

    steps: list[MeasuredStep] = field(repr=False)
    fit: Fit
    largest_cells: int
    ran_out: bool
    recommendations: list[Recommendation] = field(repr=False)
    memory: MemoryModel | None = None

    @property
    def model(self) -> CostModel:
        """The cost model: how long a step takes."""
        return self.fit.model

    @property
    def best(self) -> Recommendation:
        """The first recommendation."""
        return self.recommendations[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The recommended settings and the cost model, as arguments of ``plan`` and of samplers."""
        return {**self.best.settings, "cost_model": self.model}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the cost model and the memory model to the .json file ``path``. ``CostModel.load`` and the command
        line read the cost model, and ``MemoryModel.load`` reads the memory model."""
        if self.memory is None:
            self.fit.save(path)
            return
        # Both or nothing: the file gets its name when it is complete.
        with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(path))) as folder:
            partial = os.path.join(folder, "model.json")
            self.fit.save(partial)
            with open(partial, encoding="utf-8") as file:
                models = json.load(file)
            models["memory"] = _memory_model.written(self.memory)
            with open(partial, "w", encoding="utf-8") as file:
                file.write(json.dumps(models, indent=2) + "\n")
            os.replace(partial, path)

    def save_steps(self, path: str | os.PathLike[str]) -> None:
        """Writes the measured steps to the .csv file ``path``, which ``lengthwise cost`` reads."""
        with open(path, "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["batch_size", "batch_length", "seconds", "peak_bytes", "reserved_bytes"])
            writer.writerows(
                (s.batch_size, s.batch_length, f"{s.seconds:.9g}", s.peak_bytes, s.reserved_bytes) for s in self.steps
            )

    def __str__(self) -> str:
        end = "where memory ends" if self.ran_out else "the most that was tried"
        lines = [f"{len(self.steps)} shapes measured; {self.fit!r}"]
        if self.memory is not None:
            lines.append(f"memory: {self.memory}; {self.memory.available / 1e9:.1f} GB available")
        lines += [
            f"largest batch: {self.largest_cells} cells, {end}",
            "",
            f"{'strategy':26}{'budget':>16}{'shapes':>12}{'epoch s':>10}{'padding %':>11}"
            f"{'updates':>9}{'micro':>7}{'shapes':>8}{'mix':>7}{'peak GB':>9}",
        ]
        for one in self.recommendations:
            peak = "" if one.peak_bytes is None else f"{one.peak_bytes / 1e9:.1f}"
            line = (
                f"{one.strategy:26}{one.budget:>16}{one.shapes:>12}{one.predicted_seconds:>10.2f}"
                f"{100 * one.padding_rate:>11.2f}{one.optimizer_steps:>9}{one.accumulate:>7}"
                f"{one.shape_count:>8.0f}{one.step_mix:>7.2f}{peak:>9}"
            )
            lines.append(line.rstrip())
        return "\n".join(lines) + "\n"


def calibrate(
    step: Step,
    lengths: Any,
    *,
    model: str = "attention",
    max_cells: int | None = None,
    margin: float = 0.1,
    reserve: int = 0,
    warmup: int = 2,
    repeats: int = 5,
    seconds: float = 120.0,
    seed: int = 0,
    on_progress: Callable[[str], None] | None = None,
) -> Calibration:
    """Measures the time and the memory of a training step on a small grid of shapes, and recommends budget, shapes
    and strategy.

    About twenty shapes are timed, and how much longer the first step of each takes. On CUDA the clock waits for
    the device, and the memory of each shape is measured too: the recommended budgets are the largest that leave the
    margin free, and steps of the largest shapes confirm it. Elsewhere memory is not measured: batches
    grow until a step runs out of memory (the error is caught) or they have ``max_cells`` cells.

    Args:
        step: A function ``step(batch_size, length)``. It makes an input of that shape, and does everything
            that training does with one micro-batch: forward and backward. What an optimizer step takes
            besides is the same for all ways to batch. Let it step the optimizer too, so that the memory of its
            states counts; or give ``reserve``.
        lengths: The length of each sequence, as for :class:`lengthwise.Planner`.
        model: The kind of model, as for :func:`lengthwise.tune`: "attention", "recurrent" or "packed" (it
            takes several sequences in one row). The default is "attention".
        max_cells: The most cells of a batch. By default, it is 4194304.
        margin: The share of the memory that stays free, because memory is never used in quite the same way
            twice. The default is 0.1.
        reserve: The number of bytes that stay free besides, for what the step does not allocate but training does.
            They count on a CUDA device. The default is 0.
        warmup: How many steps of each shape are not timed. The default is 2.
        repeats: How many steps of each shape are timed; the median counts. The default is 5.
        seconds: About how long the measurement may take. The default is 120.0.
        seed: The seed of the plans that are compared. The default is 0.
        on_progress: A function that is called with a line of text before each shape. By default, long
            measurements print these lines on standard error if it is a terminal.
    """
    _check(step, model, max_cells, seed, margin=margin, reserve=reserve, seconds=seconds)
    lengths = Lengths(lengths)
    say = _progress(on_progress)
    if warmup < 0 or repeats < 1:
        raise CostError(
            f"expected at least 0 warm-up steps and 1 timed step, got {warmup} and {repeats}",
            hint="measure at least one step of each shape",
        )
    if not seconds > 0:
        raise CostError(f"expected a positive number of seconds, got {seconds}", hint="give some seconds")
    if not (0 <= margin < 1 and reserve >= 0):
        raise CostError(
            f"expected a margin from 0 to below 1 and a reserve of at least 0 bytes, got {margin} and {reserve}",
            hint="give the margin as a share, such as 0.1, and the reserve as a number of bytes",
        )
    grid = _grid(lengths)
    begin = time.monotonic()
    most = MOST_CELLS if max_cells is None else max_cells
    met: set[tuple[int, int]] = set()
    noted = _noted(step, met)
    _try_longest(noted, grid[-1], most, say)
    device = _memory.device()
    memory = None if device is None else _Memory(step, noted, device, margin, reserve, lengths, say)
    end = begin + seconds / 2
    if memory is None:
        cells, ran_out = _largest(noted, grid, len(lengths), most, say, end)
    else:
        most = min(most, len(lengths) * grid[-1])
        cells, ran_out = memory.largest(grid, most, end)
    steps: list[MeasuredStep] = []
    first: list[float] = []
    shapes = list(_shapes(grid, cells, len(lengths)))
    for number, (size, length) in enumerate(shapes):
        late = time.monotonic() - begin > seconds
        if late and len(steps) >= 8 and first and len({s.batch_length for s in steps}) > 1:
            break
        say(f"timing {size} × {length} ({number + 1} of {len(shapes)})")
        taken = _timed(step, size, length, warmup, repeats)
        if taken is None:
            # It fitted alone, but not after others: memory is fragmented.
            cells, ran_out = min(cells, size * length), True
            continue
        steps.append(MeasuredStep(size, length, taken[-1]))
        if (size, length) not in met:
            first.append(taken[0] - taken[-1])
    say("fitting and planning")
    try:
        fit = CostModel.fit(
            [s.batch_size for s in steps],
            [s.batch_length for s in steps],
            [s.seconds for s in steps],
            new_shape=max(median(first), 0.0) if first else 0.0,
        )
    except CostError as error:
        raise CostError(
            f"{len(steps)} measured steps do not determine a cost model: {str(error).splitlines()[0]}",
            hint="make sure that the step depends only on the shape, or raise `seconds`",
        ) from error
    if memory is None:
        fitted = None
        usable = int(cells * (1 - margin)) if ran_out else cells
    else:
        # A shape that was too late to be timed takes one step or two for its memory.
        timed = [(s.batch_size, s.batch_length) for s in steps]
        # What sequences take beside their positions shows where they are shortest.
        shortest = int(lengths.numpy().min())
        timed += [(max(min(cells // shortest, len(lengths)) // part, 1), shortest) for part in (1, 3)]
        every = list(dict.fromkeys([*timed, *shapes]))
        peaks = memory.measured(every, len(timed), begin + 1.25 * seconds)
        steps = [_with_memory(s, peaks.get((s.batch_size, s.batch_length))) for s in steps]
        fitted = memory.fitted(peaks)
        usable = memory.usable(fitted, grid, most)
        # What a step could take more of than was measured comes from the model, and was then tried.
        cells, ran_out = usable, usable < most
    recommendations = _recommended(lengths, fit.model, model, usable, seed)
    if not recommendations:
        raise CostError(
            f"the longest sequence, of {lengths.max}, does not fit in a batch of {usable} cells",
            hint=TOO_LONG,
        )
    if memory is not None and fitted is not None:
        recommendations = [memory.predicted(fitted, one) for one in recommendations]
    return Calibration(steps, fit, cells, ran_out, recommendations, fitted)


def _check(step: Any, model: Any, max_cells: Any, seed: Any, **numbers: Any) -> None:
    """Refuses wrong arguments before anything is measured."""
    if not callable(step):
        raise SettingError(
            f"`step`: expected a function, got {step!r}", hint="give a function `step(batch_size, length)`"
        )
    checked_word("model", model, {name: name for name in MODELS})
    for name, value in (("max_cells", max_cells), ("seed", seed)):
        if name == "max_cells" and value is None:
            continue
        try:
            whole = operator.index(value)
        except TypeError:
            whole = -1
        if not 0 <= whole < 2**64:
            raise SettingError(
                f"`{name}`: expected a whole number from 0, got {value!r}", hint=f"give a whole number as `{name}`"
            )
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise SettingError(f"`{name}`: expected a number, got {value!r}", hint=f"give a number as `{name}`")


def _noted(step: Step, met: set[tuple[int, int]]) -> Step:
    """The same step, which notes the shapes that it met."""

    def noted(size: int, length: int) -> None:
        met.add((size, length))
        step(size, length)

    return noted


def _grid(lengths: Lengths) -> list[int]:
    """Up to five lengths from short to the longest."""
    ordered = sorted(lengths.numpy().tolist())
    longest = ordered[-1]
    chosen = {ordered[int(place * (len(ordered) - 1))] for place in (0.02, 0.25, 0.5, 0.8)}
    # Where all are nearly equal, the model still needs to know what length costs.
    chosen |= {longest, max(longest // 2, 1), max(longest // 8, 1)}
    kept: list[int] = []
    for length in sorted(chosen, reverse=True):
        if not kept or length <= 0.8 * kept[-1]:
            kept.append(length)
    return kept[::-1]


def _shapes(grid: list[int], cells: int, sequences: int) -> Iterable[tuple[int, int]]:
    """Shapes from one sequence to what fits, most of them of the size of micro-batches. First come those of few
    lengths which decide every coefficient, for when time runs out."""
    few = [grid[-1], grid[len(grid) // 2], grid[0]]
    return dict.fromkeys(
        (max(min(cells // length, sequences) // part, 1), length)
        for lengths, parts in ((few, (1, cells, 4)), (grid, (2, 1, 4, cells, 16)))
        for part in parts
        for length in lengths
    )


def _try_longest(step: Step, longest: int, most: int, say: Callable[[str], None]) -> None:
    """Raises an error if not even the longest sequence alone can be a batch."""
    if most < longest:
        raise CostError(
            f"`max_cells` is {most}, and the longest sequence has {longest}",
            hint="raise `max_cells`, or leave the longest sequences out",
        )
    say(f"looking for the largest batch: 1 × {longest}")
    if not _fits(step, 1, longest):
        raise CostError(f"one sequence of length {longest} does not fit in memory", hint=TOO_LONG)


def _largest(
    step: Step, grid: list[int], sequences: int, most: int, say: Callable[[str], None], end: float
) -> tuple[int, bool]:
    """How many cells fit at every length, and whether memory ended there."""
    longest = grid[-1]
    top = min(most // longest, sequences)
    fits, fails, size = 1, None, min(2, top)
    # Doubles while it fits, and then halves what is between.
    while size > fits and time.monotonic() < end:
        say(f"looking for the largest batch: {size} × {longest}")
        if _fits(step, size, longest):
            fits = size
        else:
            fails = size
        if fails is None:
            size = min(2 * fits, top)
        else:
            size = (fits + fails) // 2 if fails - fits > max(fits // 16, 1) else fits
    cells = fits * longest
    # Many short sequences can need more than few long ones.
    for length in grid[:-1]:
        size = min(cells // length, sequences)
        say(f"looking for the largest batch: {size} × {length}")
        while size > 1 and not _fits(step, size, length):
            size, fails = size * 3 // 4, size
            cells = min(cells, size * length)
    return max(cells, longest), fails is not None


def _with_memory(step: MeasuredStep, peak: Peak | None) -> MeasuredStep:
    return step if peak is None else replace(step, peak_bytes=peak.allocated, reserved_bytes=peak.reserved)


class _Memory:
    """What is found out about the memory of a device."""

    def __init__(
        self, step: Step, noted: Step, device: Device, margin: float, reserve: int, lengths: Lengths,
        say: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.step = step
        self.noted = noted
        self.device = device
        self.margin = margin
        self.reserve = reserve
        self.sequences = len(lengths)
        self.range = lengths.min, lengths.max
        self.say = say
        self.available = device.available()

    @property
    def limit(self) -> float:
        """The most bytes that a step may reserve."""
        return (1 - self.margin) * self.available - self.reserve

    def peak(self, step: Step, size: int, length: int, times: int = 1) -> Peak | None:
        """What steps of a shape take; nothing if they run out."""
        self.device.start()
        for _ in range(times):
            if not _fits(step, size, length):
                return None
        return self.device.peak()

    def largest(self, grid: list[int], most: int, end: float) -> tuple[int, bool]:
        """How many cells leave the margin free at every length, and whether more would not."""
        longest = grid[-1]
        size, full = self.size(longest, 1, min(most // longest, self.sequences), end)
        if size == 0:
            raise self.no_room()
        cells = size * longest
        # Many short sequences can need more than few long ones.
        for length in grid[:-1]:
            top = min(cells // length, self.sequences)
            size, short = self.size(length, max(top // 8, 1), top, end)
            if short:
                cells, full = max(size * length, longest), True
        return cells, full

    def size(self, length: int, size: int, top: int, end: float) -> tuple[int, bool]:
        """How many sequences of a length leave the margin free, up to ``top``, and whether more would not.

        A step on n times as many sequences takes at most n times as much besides what is there between
        steps. So each try tells how far the next can go, and hardly any runs out."""
        fits, fails = 0, top + 1
        while fits < size < fails and (fits == 0 or time.monotonic() < end):
            self.say(f"looking for the largest batch: {size} × {length}")
            peak = self.peak(self.noted, size, length)
            if peak is None or peak.reserved > self.limit:
                fails = size
                size = (fits + fails) // 2
                continue
            fits = size
            if fits == top:
                break
            held = self.device.held()
            each = max(peak.allocated - held, 1) / size
            room = self.limit * peak.allocated / max(peak.reserved, 1) - held
            farther = min(int(room / each), 16 * size, fails - 1)
            # The rest is not worth a step: the model will tell.
            size = farther if farther > size + size // 16 else size
        return fits, fits < top

    def measured(self, shapes: list[tuple[int, int]], enough: int, end: float) -> dict[tuple[int, int], Peak]:
        """What steps of these shapes take: at least of the first ones, and of more until the end. Apart from the
        timing: it empties the allocator's cache."""
        found: dict[tuple[int, int], Peak] = {}
        for number, (size, length) in enumerate(shapes):
            if number >= enough and time.monotonic() > end:
                break
            self.say(f"measuring the memory of {size} × {length} ({number + 1} of {len(shapes)})")
            # Another step can reserve more: it meets the blocks that the first has left.
            peak = self.peak(self.step, size, length, times=2)
            if peak is not None:
                found[size, length] = peak
        return found

    def fitted(self, peaks: dict[tuple[int, int], Peak]) -> MemoryModel:
        # By now all kernels are loaded, and libraries have what they keep.
        self.available = min(self.available, self.device.available())
        if len(peaks) < 4:
            raise CostError(
                f"{len(peaks)} shapes with their memory do not determine a memory model",
                hint="make sure that nothing else uses the device, or raise `margin`",
            )
        return _memory_model.fitted(list(peaks), list(peaks.values()), self.available)

    def usable(self, model: MemoryModel, grid: list[int], most: int) -> int:
        """The most cells that leave the margin free by the model, and do so when they are tried."""
        longest = grid[-1]
        cells = _memory_model.largest_cells(model, self.range, self.limit, most, self.sequences)
        for _ in range(TRIALS):
            if cells < longest:
                break
            shapes = [(min(cells // length, self.sequences), length) for length in grid]
            over = self.over(shapes)
            if over <= 1:
                return cells
            cells = int(cells / max(over, 1.02))
        raise self.no_room()

    def over(self, shapes: list[tuple[int, int]]) -> float:
        """The most that these shapes take, alone and one after another, as a share of the limit."""
        share = 0.0
        for size, length in shapes:
            self.say(f"trying {size} × {length}")
            peak = self.peak(self.step, size, length)
            if peak is None:
                return 1.1
            share = max(share, peak.reserved / self.limit)
        # In training, blocks that were made for one shape must serve the next.
        mixed = [*shapes[::-1], *shapes, *shapes[::2]]
        if not all(_fits(self.step, size, length) for size, length in mixed):
            return 1.1
        return share

    def predicted(self, model: MemoryModel, one: Recommendation) -> Recommendation:
        cells = int(one.budget.split(":")[1])
        most = _memory_model.largest_peak(model, self.range, cells, self.sequences)
        return replace(one, peak_bytes=most)

    def no_room(self) -> CostError:
        return CostError(
            f"batches of the longest sequence, of {self.range[1]}, do not leave "
            f"{self.available - self.limit:.0f} of {self.available} bytes free",
            hint=f"lower `margin` or `reserve`, {TOO_LONG}",
        )


def _fits(step: Step, size: int, length: int) -> bool:
    """Whether a step ends without running out of memory."""
    try:
        step(size, length)
        _synchronize()
        return True
    except Exception as error:
        if not ran_out(error):
            raise
    release()
    return False


def _timed(step: Step, size: int, length: int, warmup: int, repeats: int) -> list[float] | None:
    """The time of the first step, and the median of those after the warm-up; nothing if memory ends."""
    times = []
    for _ in range(warmup + repeats):
        _synchronize()
        start = time.perf_counter()
        if not _fits(step, size, length):
            return None
        times.append(time.perf_counter() - start)
    return [times[0], max(median(times[warmup:]), 1e-9)]


def _synchronize() -> None:
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _recommended(
    lengths: Lengths, model: CostModel, kind: str, usable: int, seed: int
) -> list[Recommendation]:
    """The best ways to batch under several budgets: first that of the smallest budget that is as fast as
    any; then the others by time."""
    found = []
    for part in (1, 2, 4, 8):
        budget = f"padded:{usable // part}"
        try:
            tuning = tune(lengths, budget=budget, model=kind, cost_model=model, seed=seed)
        except LengthwiseError:
            break  # The longest sequence does not fit.
        ways = [way for way in tuning.candidates if not way["broken_limits"]]
        found += [_offered(budget, way) for way in ways[:SHOWN]]
    if not found:
        return []
    fastest = min(one.predicted_seconds for one in found)
    good = [one for one in found if one.predicted_seconds <= AS_GOOD * fastest]
    smallest = good[-1].budget
    best = next(one for one in good if one.budget == smallest)
    return sorted(found, key=lambda one: (one is not best, one.predicted_seconds))


def _offered(budget: str, way: dict[str, Any]) -> Recommendation:
    same = (
        "strategy", "shapes", "optimizer_steps", "predicted_seconds", "padding_rate", "shape_count",
        "step_mix", "mixing",
    )  # fmt: skip
    return Recommendation(
        budget=budget,
        update=way.get("update"),
        accumulate=way["micro_batches"],
        **{name: way[name] for name in same},
    )


def _progress(on_progress: Callable[[str], None] | None) -> Callable[[str], None]:
    if on_progress is not None:
        return on_progress
    begin = time.monotonic()

    def say(what: str) -> None:
        if time.monotonic() - begin > 1 and sys.stderr.isatty():
            print(f"calibrating: {what}", file=sys.stderr)

    return say
