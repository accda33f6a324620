"""Plans within a bound on memory are those that are made without one."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
import pytest

LENGTHS = np.random.default_rng(8).integers(5, 900, 40_000).astype(np.uint32)
PADDED = {"budget": "padded:20000"}


@pytest.fixture
def path(tmp_path):
    np.save(tmp_path / "lengths.npy", LENGTHS)
    return tmp_path / "lengths.npy"


@pytest.mark.parametrize("strategy", ["shuffled", "sorted", "semi-sorted:noise=0.1", "blurred", "length-buckets:width=50"])
@pytest.mark.parametrize("settings", [{}, {"shapes": "ladder:8", "arrange": "long-first", "seed": 5}])
def test_it_is_the_same_plan(path, tmp_path, strategy, settings):
    made = lw.plan_file(path, tmp_path / "a.npz", strategy, memory="60MB", epoch=3, **PADDED, **settings)
    plan = lw.plan(LENGTHS, strategy, epoch=3, **PADDED, **settings)
    plan.save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()
    assert made == plan.measure()
    assert lw.load_plan(tmp_path / "a.npz", LENGTHS).digest == plan.digest


def test_every_form_of_input_and_output(tmp_path):
    numbers = LENGTHS[:3000]
    (tmp_path / "a.csv").write_text("id,frames,words\n" + "".join(f"u,{n},{n // 9 + 1}\n" for n in numbers.tolist()))
    plan = lw.plan(numbers // 9 + 1, "shuffled", budget=16)
    for name in ("a.json", "a.jsonl", "a.npz", "a.parquet"):
        lw.plan_file(tmp_path / "a.csv", tmp_path / name, "shuffled", memory="1GiB", budget=16, column="words")
        assert lw.load_plan(tmp_path / name, numbers // 9 + 1) == plan
    # Without a strategy, batches are planned, and no steps: unlike those of `plan`, which uses what is recommended.
    lw.plan_file(tmp_path / "a.csv", tmp_path / "b.npz", memory="1GiB", like=32, column="frames", over_long="alone")
    assert sorted(np.concatenate(list(lw.load_plan(tmp_path / "b.npz", numbers))).tolist()) == list(range(3000))


def test_a_bound_that_is_too_small_is_refused(path, tmp_path):
    there = sorted(tmp_path.iterdir())
    for strategy, more in (("shuffled", False), ("alternated:bins=4", True)):
        with pytest.raises(lw.SettingError, match="over the bound of 24.1MB") as caught:
            lw.plan_file(path, tmp_path / "a.npz", strategy, memory="24.1MB", **PADDED)
        hint = caught.value.hint
        assert 'memory="' in hint and "--memory" not in hint and ("take least" in hint) == more
        enough = hint.split('memory="')[1].split('"')[0]
        assert sorted(tmp_path.iterdir()) == there
        lw.plan_file(path, tmp_path / "enough.npz", strategy, memory=enough, **PADDED)
        (tmp_path / "enough.npz").unlink()


def test_wrong_arguments(path, tmp_path):
    out = tmp_path / "a.npz"
    for memory in ("8", "lots", "-1GB", ""):
        with pytest.raises(lw.SettingError, match="expected a number and a unit"):
            lw.plan_file(path, out, memory=memory, **PADDED)
    with pytest.raises(lw.SettingError, match="budget"):
        lw.plan_file(path, out, memory="1GB")
    with pytest.raises(lw.SettingError, match="plans no optimizer steps") as caught:
        lw.plan_file(path, out, "shuffled", memory="1GB", like="16,keep=steps")
    assert "like=16" in caught.value.hint
    with pytest.raises(lw.FileError):
        lw.plan_file(path, tmp_path / "a.txt", memory="1GB", **PADDED)
    with pytest.raises(lw.FileError):
        lw.plan_file(tmp_path / "none.npy", out, memory="1GB", **PADDED)
    with pytest.raises(lw.BudgetError):
        lw.plan_file(path, out, "shuffled", memory="1GB", budget="padded:100")
    with pytest.raises(TypeError):
        lw.plan_file(path, out, **PADDED)
    with pytest.raises(TypeError):
        lw.plan_file(path, out, memory="1GB", world_size=4, **PADDED)
    assert not out.exists()
