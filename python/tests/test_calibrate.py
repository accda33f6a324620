"""Calibration, on steps that take a known time by a clock of their own."""

from __future__ import annotations

import types

import lengthwise as lw
import pytest

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


def test_nothing_fits(lengths):
    with pytest.raises(lw.CostError, match="does not fit"):
        lw.calibrate(Machine(10), lengths)
    for cells in (0, 10):
        with pytest.raises(lw.CostError, match="max_cells"):
            lw.calibrate(Machine(10**6), lengths, max_cells=cells)
    with pytest.raises(lw.CostError, match="positive number of seconds"):
        lw.calibrate(Machine(10**6), lengths, seconds=0)


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
