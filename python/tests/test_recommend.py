"""What is recommended: the same from everything, and what plans and samplers do without a strategy."""

from __future__ import annotations

import json
import warnings

import lengthwise as lw
import numpy as np
import pytest
from conftest import everything_once

WAYS = [
    {"budget": "sequences:16"},
    {"budget": "padded:900"},
    {"like": 16},
    {"like": "16,keep=steps"},
    {"budget": "padded:900", "model": "recurrent"},
    {"budget": "padded:900", "model": "packed"},
    {"budget": "padded:900", "model": lw.CostModel("a=0.002,c=1e-6,s=0.1")},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_everything_recommends_the_same(lengths, way):
    tuned = lw.tune(lengths, **way)
    assert tuned.within_limits and tuned.recommended["strategy"] == tuned.strategy
    assert lw.inspect(lengths, **way).asdict()["recommended"] == tuned.recommended
    compared = json.loads(lw.compare(lengths, "sorted", epochs=1, **way).to_json())
    assert compared["recommended"] == tuned.recommended
    assert compared["rows"][-1]["strategy"] == tuned.strategy
    plan = lw.plan(lengths, **way)
    assert plan.digest == lw.plan(lengths, **tuned.settings).digest
    assert plan.digest == eval(tuned.recommended["python"], {"lw": lw, "lengths": lengths}).digest
    schedule = plan.schedule(1)
    assert schedule.accumulate == tuned.recommended["micro_batches"]
    assert len(schedule) == tuned.recommended["optimizer_steps"]


def test_limits_that_nothing_keeps(lengths):
    tuned = lw.tune(lengths, budget=16, max_padding=0.0001, min_mixing=0.9)
    assert not tuned.within_limits and tuned.recommended is None
    assert "lw.plan" not in str(tuned)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"like": 0}, "batch size from 1"),
        ({"like": "32,keep=all"}, "keep"),
        ({"like": 32, "budget": 16}, "both"),
        ({"budget": 16, "model": "attentive"}, "attentive"),
        ({"budget": 16, "max_step_mix": 0}, "max_step_mix"),
        ({"budget": 16, "accumulate": 0}, "accumulate"),
        ({"budget": 16, "world_size": 0}, "world_size"),
    ],
)
def test_mistakes_are_named(lengths, settings, says):
    with pytest.raises(lw.LengthwiseError, match=says) as caught:
        lw.tune(lengths, **settings)
    assert caught.value.hint


@pytest.mark.parametrize(
    "size", [{"budget": "padded:900"}, {"like": "16,keep=steps"}, {"budget": "padded:900", "update": "tokens:700"}]
)
def test_a_sampler_says_that_steps_have_several_batches(lengths, size):
    pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler, steps

    sampler = BatchSampler(lengths, **size, rank=0, world_size=1)
    with pytest.warns(lw.LengthwiseWarning, match=r"`for step in lengthwise.torch.steps\(loader\)`"):
        batches = list(sampler)
    assert everything_once([list(batch) for batch in batches])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # No warning if you count steps yourself; and only one.
        list(sampler)
        assert all(len(list(step)) > 1 for step in steps(BatchSampler(lengths, **size, rank=0, world_size=1)))
        counted = BatchSampler(lengths, **size, rank=0, world_size=1)
        assert len(counted) % counted.accumulate == 0 and len(list(counted)) == len(counted)
        one = BatchSampler(lengths, budget="padded:900", rank=0, world_size=1, accumulate=1)
        assert one.accumulate == 1 and list(one)


def test_an_epoch_goes_on_with_other_ranks(lengths):
    """What was recommended for two ranks is gone on with on three, and on one."""
    pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler, steps

    def ranks(world_size):
        return [BatchSampler(lengths, budget="padded:900", rank=rank, world_size=world_size) for rank in range(world_size)]

    seen, state = [], None
    for world_size, stop in [(2, 3), (3, 2), (1, None)]:
        samplers = ranks(world_size)
        for sampler in samplers:
            if state is not None:
                sampler.load_state_dict(state)
        for sampler in samplers:
            for number, step in enumerate(steps(sampler)):
                seen += [list(batch) for batch in step]
                after = step.state_dict()
                if number + 1 == stop:
                    break
        state = after
    assert everything_once(seen)


def test_ranks_get_equal_steps_that_look_like_the_data(lengths):
    planner = lw.Planner(lengths, budget="padded:900", canonical_ranks=4)
    schedule = planner.plan(1).schedule(4)
    assert schedule.step_mix < 1
    tokens = np.asarray(schedule.positions)
    assert tokens.std() / tokens.mean() < 0.2
