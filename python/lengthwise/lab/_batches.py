"""The optimizer steps of an epoch: planned by lengthwise, or by a function of yours."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

import lengthwise as lw

from ..errors import LengthsError, LengthwiseError, SettingError
from ._experiment import RECOMMENDED, Run, within

#: Settings of a plan that :class:`lengthwise.Planner` takes as they are.
PASSED = ("budget", "shapes", "arrange", "steps", "accumulate", "tail", "over_long", "cost_model")
#: Of these, what :func:`lengthwise.tune` takes too.
TUNED = ("budget", "shapes", "arrange", "over_long", "cost_model")

Sampler = Callable[[np.ndarray, int, int, "dict[str, Any]"], Sequence[Sequence[Sequence[int]]]]


@dataclass(frozen=True, eq=False)
class Batch:
    """A micro-batch: which sequences it has, and the length to pad them to.

    Args:
        indices: The sequences, by their place in ``lengths`` of the task.
        shape: The length to pad them to, or one for each of several lengths. Of packed sequences, the length of the
            row that they form.
        packed: Whether the sequences form one row, one after another. The default is False.
        starts: Where each sequence starts: 0, except with ``chunk``, which cuts sequences into pieces. By default,
            zeros.
        lengths: The length of each of these sequences, or of its piece; with several lengths, a row for each. By
            default, it is not known.
    """

    indices: np.ndarray
    shape: int | tuple[int, ...]
    packed: bool = False
    starts: np.ndarray | None = None
    lengths: np.ndarray | None = None

    def __len__(self) -> int:
        """How many sequences there are."""
        return len(self.indices)


@dataclass(frozen=True)
class Epoch:
    """The steps of an epoch, and what is counted in them."""

    steps: list[list[Batch]]
    #: How much the lengths of steps vary, compared with random steps.
    step_mix: float
    sequences: int
    #: Positions without padding, in each step.
    frames: list[int]
    cells: int
    #: Pairs of batch size and batch length.
    shapes: frozenset[tuple[int, ...]]

    @property
    def batches(self) -> int:
        return sum(map(len, self.steps))

    @property
    def padding_rate(self) -> float:
        return 1 - sum(self.frames) / self.cells if self.cells else 0.0


def lengths_of(task: Any, where: str) -> np.ndarray:
    """The lengths of a task: a row for each sequence."""
    given = getattr(task, "lengths", None)
    if given is None:
        raise LengthsError(
            f"{where}: expected a task with `lengths`, got a {type(task).__name__} without",
            hint="set `self.lengths` to the lengths of the training sequences",
        )
    try:
        lengths = np.asarray(given)
    except Exception as error:
        raise LengthsError(f"{where}: cannot interpret `lengths` as an array: {error}", hint="give a NumPy array") from None
    if lengths.ndim == 1:
        lengths = lengths[:, None]
    if lengths.ndim != 2 or not lengths.size or lengths.shape[1] > 2 or not np.issubdtype(lengths.dtype, np.integer):
        raise LengthsError(
            f"{where}: expected `lengths` to be whole numbers, one or two for each sequence, got an array of "
            f"{lengths.dtype} of shape {np.shape(given)}",
            hint="give an integer array of shape (sequences,) or (sequences, 2)",
        )
    if lengths.min() < 1:
        at = int(np.argmax((lengths < 1).any(1)))
        raise LengthsError(
            f"{where}: expected `lengths` from 1, got {lengths[at].min()} for sequence {at}",
            hint="leave empty sequences out",
            index=at,
        )
    return lengths.astype(np.int64)


def check_texts(task: Any, where: str) -> None:
    """Refuses attributes of a task that pages could not show."""
    for name, kind, expected in (
        ("error", str, "a text"),
        ("about", Mapping, "a dict of texts"),
        ("higher", (list, tuple, set, frozenset), "a list of names of measures"),
    ):
        given = getattr(task, name, None)
        if given is not None and not isinstance(given, kind):
            raise SettingError(f"{where}: expected `{name}` to be {expected}, got {given!r}", hint="or leave it out of the task")


class Way:
    """Makes the steps of every epoch of a run."""

    def __init__(self, run: Run, lengths: np.ndarray, sampler: Sampler | None, file: str) -> None:
        self._run, self._sampler, self._whole = run, sampler, lengths
        self._where = f"{file}: run {run.name!r}"
        self._chunks: lw.Chunks | None = None
        self._lengths = lengths
        self._planners: dict[int, lw.Planner] = {}
        size = run.batches.get("chunk")
        if size is not None:
            if lengths.shape[1] > 1 or sampler is not None:
                raise SettingError(
                    f"{self._where}: expected one length per sequence and a strategy with `chunk`, got "
                    + ("two lengths" if lengths.shape[1] > 1 else "a sampler"),
                    hint="leave `chunk` out",
                )
            self._chunks = lw.Chunks(lengths[:, 0], size)
            self._lengths = self._chunks.pieces.numpy().astype(np.int64)[:, None]
        with within(self._where):
            self._settings = {} if sampler else self._decided()
        # What the sampler gets; options count more than `[batches]`.
        shared = {key: value for key, value in run.batches.items() if key not in (*run.options, "strategy", "layout")}
        self._given = {**run.options, **shared}

    def _decided(self) -> dict[str, Any]:
        """The settings of the planner, with what is recommended."""
        batches, lengths = self._run.batches, self._planned()
        settings = {key: batches[key] for key in PASSED if key in batches}
        strategy, update = batches.get("strategy"), batches.get("update")
        if strategy is None:
            raise SettingError(
                "there is no strategy", hint=f'set it in [[run]] or in [batches], such as strategy = "{RECOMMENDED}"'
            )
        if update not in (None, RECOMMENDED):
            settings["update"] = update
        if RECOMMENDED not in (strategy, update):
            return {**settings, "strategy": strategy}
        # Once for all seeds: they are to differ in nothing else.
        wanted = {key: value for key, value in settings.items() if key in (*TUNED, "update", "accumulate")}
        found = lw.tune(lengths, **wanted).settings
        if strategy == RECOMMENDED:
            return {**settings, **found}
        return {**settings, "strategy": strategy, "update": found["update"]}

    def _planned(self) -> lw.Lengths:
        first, *second = self._lengths.T
        return lw.Lengths(first, *second)

    def describe(self) -> str:
        """How batches are made, as the laboratory writes it."""
        run = self._run
        if self._sampler is not None:
            given = ", ".join(f"{key} {value}" for key, value in self._given.items())
            text = f"{run.sampler}({given})"
        else:
            made = self._made
            text = f"{made['strategy']} {made['budget']} {made['shapes']} {made['arrange']}"
            if made["update"]:
                text += f" update {made['update']}"
            elif made["accumulate"] > 1:
                text += f" accumulate {made['accumulate']} {made['steps']}"
            if made["cost_model"]:
                text += f" cost-model {made['cost_model']}"
            text += "".join(f" {key.replace('_', '-')} {made[key]}" for key in ("tail", "over_long") if key in run.batches)
            if self._chunks is not None:
                text += f" chunks of {run.batches['chunk']}"
        if run.is_joined:
            text += ", each step as one packed row"
        elif run.packed:
            text += ", each batch as one packed row"
        return text + "".join(f", {key} {value}" for key, value in run.changed.items())

    @property
    def identity(self) -> dict[str, Any]:
        """All that decides the batches, but the lengths."""
        run = self._run
        if self._sampler is not None:
            made = {"sampler": run.sampler, "given": self._given, "packed": run.packed}
        else:
            made = {"plan": self._made, "chunk": run.batches.get("chunk")}
        return {**made, "joined": run.is_joined}

    @cached_property
    def _made(self) -> dict[str, Any]:
        """The settings of the plans, also those that are recommended or have their defaults."""
        return self._planner(0).plan(0).settings

    def _planner(self, seed: int) -> lw.Planner:
        if seed not in self._planners:
            self._planners[seed] = lw.Planner(self._planned(), **{**self._settings, "seed": seed})
        return self._planners[seed]

    def epoch(self, number: int, seed: int, *, as_planned: bool = False) -> Epoch:
        """The steps of an epoch, from 0: as they are run, or as they were planned before rows were joined."""
        with within(self._where):
            if self._sampler is None:
                steps, mix = self._by_plan(self._planner(seed).plan(number))
            else:
                steps = self._by_sampler(self._sampler, number, seed)
                if not steps:
                    raise SettingError(f"`{self._run.sampler}` returned no batches", hint="return all sequences in every epoch")
                mix = step_mix([np.concatenate([batch.indices for batch in step]) for step in steps], self._whole[:, 0])
            if not steps:
                raise LengthwiseError("the plan has no batches", hint="give a larger budget")
        if self._run.is_joined and not as_planned:
            steps = [[joined(step)] for step in steps]
        return counted(steps, mix)

    @property
    def digest(self) -> str:
        """A fingerprint of the lengths."""
        return hashlib.sha256(repr(self._whole.shape).encode() + self._whole.tobytes()).hexdigest()

    @property
    def positions(self) -> int:
        """The positions of all sequences, without padding."""
        return int(self._whole.sum())

    def _by_plan(self, plan: lw.Plan) -> tuple[list[list[Batch]], float]:
        schedule = plan.schedule(1)
        mine, each = schedule.for_rank(0), schedule.accumulate
        first, second = mine.batch_lengths.tolist(), mine.second_batch_lengths
        shapes = first if second is None else list(zip(first, second.tolist(), strict=True))
        steps: list[list[Batch]] = [[] for _ in range(len(schedule))]
        for at, indices in enumerate(mine):
            if len(indices):
                steps[at // each].append(self._batch(np.asarray(indices, dtype=np.int64), shapes[at], plan.packed))
        return [step for step in steps if step], float(schedule.step_mix)

    def _by_sampler(self, sampler: Sampler, number: int, seed: int) -> list[list[Batch]]:
        lengths = self._whole[:, 0] if self._whole.shape[1] == 1 else self._whole
        made = sampler(lengths.copy(), number, seed, {**self._given})
        if not isinstance(made, Iterable):
            raise self._no_steps(made)
        steps: list[list[Batch]] = []
        for step in made:
            steps.append([])
            if not isinstance(step, Iterable):
                raise self._no_steps(step)
            for given in step:
                indices = np.asarray(given)
                if indices.ndim != 1 or not np.issubdtype(indices.dtype, np.integer) or not len(indices):
                    raise self._no_steps(given)
                if indices.min() < 0 or indices.max() >= len(self._whole):
                    raise SettingError(
                        f"expected indices from 0 to {len(self._whole) - 1}, got {indices.min()} to {indices.max()}",
                        hint=f"correct `{self._run.sampler}`",
                    )
                own = self._whole[indices]
                sides = own.sum(0) if self._run.packed else own.max(0)
                shape = int(sides[0]) if len(sides) == 1 else tuple(sides.tolist())
                steps[-1].append(self._batch(indices.astype(np.int64), shape, self._run.packed))
        return [step for step in steps if step]

    def _no_steps(self, given: Any) -> SettingError:
        return SettingError(
            f"expected `{self._run.sampler}` to return steps, each a list of lists of indices, got {str(given)[:60]!r} in "
            "place of some",
            hint="a step that has one batch is a list with one list",
        )

    def _batch(self, indices: np.ndarray, shape: int | tuple[int, ...], packed: bool) -> Batch:
        # A sequence that is truncated ends where its batch does.
        lengths = np.minimum(self._lengths[indices], shape)
        starts = np.zeros(len(indices), dtype=np.int64)
        if self._chunks is not None:
            starts = self._chunks.offsets[indices].astype(np.int64)
            indices = self._chunks.sequences[indices].astype(np.int64)
        return Batch(indices, shape, packed, starts, lengths[:, 0] if lengths.shape[1] == 1 else lengths)


def counted(steps: list[list[Batch]], mix: float) -> Epoch:
    """Steps, and what is counted in them."""
    frames, cells = [], 0
    shapes: set[tuple[int, ...]] = set()
    sequences: set[int] = set()
    for step in steps:
        frames.append(sum(int(batch.lengths.sum()) for batch in step if batch.lengths is not None))
        for batch in step:
            sides = (batch.shape,) if isinstance(batch.shape, int) else batch.shape
            rows = 1 if batch.packed else len(batch)
            cells += rows * sum(sides)
            shapes.add((rows, *sides))
            sequences.update(batch.indices.tolist())
    return Epoch(steps, mix, len(sequences), frames, cells, frozenset(shapes))


def joined(step: list[Batch]) -> Batch:
    """The batches of a step as one packed row."""
    parts = [(batch.indices, batch.starts, batch.lengths) for batch in step]
    indices, starts, lengths = (np.concatenate(part) for part in zip(*parts, strict=True))
    total = lengths.sum(0)
    return Batch(indices, int(total) if lengths.ndim == 1 else tuple(total.tolist()), True, starts, lengths)


def step_mix(steps: list[np.ndarray], lengths: np.ndarray) -> float:
    """The variance of the steps' mean log-lengths, divided by that of random steps of as many sequences: what
    :attr:`lengthwise.Schedule.step_mix` is of a plan."""
    logs = np.log(lengths[np.concatenate(steps)])
    if len(logs) < 2:
        return 0.0
    total, mean, variance = len(logs), logs.mean(), logs.var(ddof=1)
    if not variance or len(steps) < 2:
        return 0.0
    sizes = np.array([len(step) for step in steps])
    means = np.array([np.log(lengths[step]).mean() for step in steps])
    seen = sizes * (means - mean) ** 2 / (1 - sizes / total)
    return float(np.average(seen, weights=sizes) / variance)
