"""Calibration, on steps that take a known time by a clock of their own."""

from __future__ import annotations

import json
import types

import lengthwise as lw
import numpy as np
import pytest
from lengthwise import _memory, _memory_model

TRUE = lw.CostModel("a=0.0002,c=1e-7")


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """A clock that only steps move."""
    import lengthwise.calibration

    Machine.now = 0.0
    read = lambda: Machine.now  # noqa: E731
    fake = types.SimpleNamespace(perf_counter=read, monotonic=read)
    monkeypatch.setattr(lengthwise.calibration, "time", fake)


class Machine:
    """Runs steps as the model says, in memory for this many cells."""

    now = 0.0

    def __init__(self, memory: int, error: Exception | None = None) -> None:
        self.memory = memory
        self.error = error or RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
        self.largest = 0

    def __call__(self, batch_size: int, length: int) -> None:
        if batch_size * length > self.memory:
            raise self.error
        self.largest = max(self.largest, batch_size * length)
        Machine.now += TRUE.seconds(batch_size, length)


@pytest.mark.parametrize("error", [None, MemoryError(), RuntimeError("RESOURCE_EXHAUSTED: 3 GiB")])
def test_where_memory_ends_is_found_and_kept_away_from(lengths, error):
    machine = Machine(9000, error)
    calibration = lw.calibrate(machine, lengths)
    assert calibration.ran_out
    assert 0.85 * 9000 <= calibration.largest_cells <= 9000
    for one in calibration.recommendations:
        budget = int(one.budget.split(":")[1])
        assert budget <= 0.9 * calibration.largest_cells


def test_the_model_and_the_recommendation(lengths, tmp_path):
    said = []
    calibration = lw.calibrate(Machine(10**9), lengths, max_cells=12_000, on_progress=said.append)
    assert not calibration.ran_out and said
    assert calibration.model == TRUE and calibration.fit.mean_relative_error < 1e-6
    times = [one.predicted_seconds for one in calibration.recommendations]
    assert times[0] <= 1.05 * min(times) and times[1:] == sorted(times[1:])
    plan = lw.plan(lengths, **calibration.settings)
    assert plan.settings["cost_model"] == str(calibration.model)
    calibration.save(tmp_path / "model.json")
    assert lw.CostModel.load(tmp_path / "model.json") == calibration.model
    calibration.save_steps(tmp_path / "steps.csv")
    assert len((tmp_path / "steps.csv").read_text().splitlines()) == len(calibration.steps) + 1
    assert "epoch s" in str(calibration)


def test_what_goes_wrong_in_the_step_is_not_hidden(lengths):
    def broken(batch_size: int, length: int) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        lw.calibrate(broken, lengths)


@pytest.mark.parametrize(
    "wrong", [{"model": "zz"}, {"seed": -1}, {"seed": 1.5}, {"max_cells": 2.5}, {"margin": "0.1"}, {"reserve": "1G"},
              {"seconds": None}],
)  # fmt: skip
def test_wrong_arguments_are_refused_before_anything_is_measured(lengths, wrong):
    def never(batch_size: int, length: int) -> None:
        raise AssertionError("a step was measured")

    with pytest.raises(lw.SettingError, match=next(iter(wrong))):
        lw.calibrate(never, lengths, **wrong)
    with pytest.raises(lw.SettingError, match="`step`: expected a function"):
        lw.calibrate("step", lengths)


def test_nothing_fits(lengths):
    with pytest.raises(lw.CostError, match="does not fit"):
        lw.calibrate(Machine(10), lengths)
    for cells in (0, 10):
        with pytest.raises(lw.CostError, match="max_cells"):
            lw.calibrate(Machine(10**6), lengths, max_cells=cells)
    with pytest.raises(lw.CostError, match="positive number of seconds"):
        lw.calibrate(Machine(10**6), lengths, seconds=0)


class Accelerator:
    """A device whose steps take a known amount of memory, in blocks, with noise; and their time."""

    def __init__(self, size, each, floor=0, noise=0.0):
        self.size, self.each, self.floor, self.noise = size, each, floor, noise
        self.random = np.random.default_rng(1)
        self.most = _memory.Peak(0, 0)
        self.out = self.over = self.steps = 0

    def true(self, batch_size, length):
        base, cells, squares, sequences = self.each
        return max(self.floor, base + batch_size * (cells * length + squares * length**2 + sequences))

    def __call__(self, batch_size, length):
        self.steps += 1
        taken = self.true(batch_size, length) * (1 + self.noise * self.random.uniform(-1, 1))
        allocated = -(-int(taken) // 512) * 512
        reserved = -(-int(1.04 * allocated) // (2 << 20)) * (2 << 20)
        if reserved > self.size:
            self.out += 1
            raise RuntimeError("CUDA out of memory. Tried to allocate 20 GiB")
        self.most = _memory.Peak(max(self.most.allocated, allocated), max(self.most.reserved, reserved))
        Machine.now += TRUE.seconds(batch_size, length)

    def available(self):
        return self.size

    def held(self):
        return self.each[0]

    def start(self):
        self.most = _memory.Peak(self.each[0], self.each[0])

    def peak(self):
        return self.most


MEGA = 1 << 20
#: Base, and bytes for each cell, for each pair of cells of a sequence, and for each sequence.
KINDS = {
    "a recurrent network": {"each": (300 * MEGA, 90_000, 0, 4 * MEGA)},
    "fused attention": {"each": (900 * MEGA, 700_000, 0, 0)},
    "attention with all its scores": {"each": (700 * MEGA, 100_000, 9000, 0)},
    "an optimizer that takes more than small batches": {"each": (400 * MEGA, 300_000, 0, 0), "floor": 1400 * MEGA},
}


@pytest.fixture(params=KINDS)
def accelerator(request, monkeypatch):
    made = Accelerator(6000 * MEGA, noise=0.01, **KINDS[request.param])
    monkeypatch.setattr(_memory, "device", lambda: made)
    return made


def test_memory_is_predicted_and_kept(lengths, accelerator):
    calibration = lw.calibrate(accelerator, lengths)
    memory = calibration.memory
    # Hardly any step ran out while the largest batch was looked for.
    assert accelerator.out <= 1 and calibration.ran_out
    assert memory.available == accelerator.size and 0 < memory.overhead < 0.1
    random = np.random.default_rng(2)
    errors = []
    for _ in range(60):
        length = int(random.choice(lengths))
        size = int(random.integers(1, max(calibration.largest_cells // length, 1) + 1))
        errors.append(abs(memory.peak(size, length) / accelerator.true(size, length) - 1))
        assert memory.reserved(size, length) >= memory.peak(size, length)
    assert max(errors) < 0.05 and memory.error < 0.02 and memory.error <= memory.worst_error
    # Every batch of three epochs leaves nearly all of the margin free, and the largest budget uses the rest.
    for one in calibration.recommendations:
        planner = lw.Planner(lengths, **one.settings)
        for epoch in range(3):
            for batch, length in zip(plan := planner.plan(epoch), plan.batch_lengths.tolist()):
                accelerator.start()
                accelerator(len(batch), length)
                assert accelerator.peak().reserved <= 0.92 * accelerator.size
                assert accelerator.peak().reserved <= 1.05 * one.peak_bytes + 2 * MEGA
    largest = max(one.peak_bytes for one in calibration.recommendations)
    assert 0.8 * accelerator.size < largest <= 0.9 * accelerator.size
    assert all(step.peak_bytes <= step.reserved_bytes for step in calibration.steps)


def test_a_reserve_and_a_margin_stay_free(lengths, monkeypatch):
    budgets = []
    for settings in ({}, {"margin": 0.4}, {"reserve": 2000 * MEGA}):
        made = Accelerator(6000 * MEGA, **KINDS["fused attention"])
        monkeypatch.setattr(_memory, "device", lambda made=made: made)
        calibration = lw.calibrate(made, lengths, **settings)
        free = settings.get("margin", 0.1) * made.size + settings.get("reserve", 0)
        assert max(one.peak_bytes for one in calibration.recommendations) <= made.size - free
        budgets.append(calibration.largest_cells)
    assert budgets[0] > budgets[1] > 0 and budgets[0] > budgets[2] > 0
    for settings, what in (({"margin": 0.99}, "leave"), ({"margin": 1.0}, "margin"), ({"reserve": -1}, "reserve")):
        with pytest.raises(lw.CostError, match=what):
            lw.calibrate(made, lengths, **settings)
    calibration = lw.calibrate(made, lengths, max_cells=2000)
    assert not calibration.ran_out and calibration.largest_cells == 2000


def test_memory_of_shapes_that_were_measured_wrongly(lengths, monkeypatch):
    """What fits alone may not fit after others: the trial of the recommended budget lowers it."""
    made = Accelerator(6000 * MEGA, **KINDS["fused attention"])
    monkeypatch.setattr(_memory, "device", lambda: made)
    calls = []
    whole = lw.calibrate(made, lengths).largest_cells

    def fragmented(batch_size, length):
        calls.append(batch_size * length)
        made(batch_size, length)
        if len(set(calls[-3:])) == 3 and batch_size * length > 0.8 * whole:
            raise RuntimeError("CUDA out of memory")

    calibration = lw.calibrate(fragmented, lengths)
    assert 0.6 * whole < calibration.largest_cells <= 0.82 * whole


def test_both_models_are_in_one_file(lengths, accelerator, tmp_path):
    path = tmp_path / "model.json"
    calibration = lw.calibrate(accelerator, lengths)
    calibration.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["model.json"]
    assert lw.CostModel.load(path) == calibration.model
    assert lw.calibration.MemoryModel.load(path) == calibration.memory
    assert "memory: " in str(calibration) and "peak GB" in str(calibration)
    calibration.fit.save(path)
    with pytest.raises(lw.FileError, match="memory model"):
        lw.calibration.MemoryModel.load(path)
    for wrong in ({}, {"sums": [[1, 2]]}, {"terms": []}, {"overhead": float("nan")}, {"available": True}):
        changed = {**_memory_model.written(calibration.memory), **wrong}
        path.write_text(json.dumps({"memory": changed}))
        if wrong:
            with pytest.raises(lw.FileError, match="memory model"):
                lw.calibration.MemoryModel.load(path)
        else:
            assert lw.calibration.MemoryModel.load(path) == calibration.memory
    with pytest.raises(lw.FileError):
        lw.calibration.MemoryModel.load(tmp_path / "no.json")
    with pytest.raises(lw.CostError, match="at least 1"):
        calibration.memory.peak(0, 3)


def test_without_a_device_memory_is_not_measured(lengths):
    calibration = lw.calibrate(Machine(9000), lengths)
    assert calibration.memory is None and calibration.best.peak_bytes is None
    assert all(step.peak_bytes is None for step in calibration.steps)


def test_least_squares_without_negative_numbers():
    random = np.random.default_rng(5)
    for _ in range(50):
        rows, values = random.random((20, 6)), random.random(20)
        found = _memory_model.non_negative(rows, values)
        slope = rows.T @ (values - rows @ found)
        # What holds at the solution and nowhere else (Karush, Kuhn and Tucker).
        assert (found >= 0).all() and (slope <= 1e-8).all() and abs(slope @ found) < 1e-8


def test_cost_models(tmp_path):
    model = lw.CostModel("a=0.004,c=1e-6")
    shapes = [(1, 50), (8, 50), (8, 400), (32, 400), (32, 100)]
    fit = lw.CostModel.fit(
        [b for b, _ in shapes], [n for _, n in shapes], [model.seconds(b, n) for b, n in shapes]
    )
    assert fit.model == model and fit.mean_relative_error < 1e-6
    assert lw.CostModel(str(model)) == model
    assert len(model.coefficients) == 4
    for wrong in ((), ([1], [2], [0.1]), ([1, 2], [3], [0.1])):
        with pytest.raises((lw.CostError, TypeError)):
            lw.CostModel.fit(*wrong)
    with pytest.raises(lw.CostError) as caught:
        lw.CostModel.fit([1, 2, 3, 4], [5, 6, 7, 8], [0.1, 0.1, -1.0, 0.1])
    assert caught.value.index == 2
