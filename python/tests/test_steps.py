"""Optimizer steps: the micro-batches of each, their weights, and resuming between two of them."""

from __future__ import annotations

import itertools
import json
import warnings

import lengthwise as lw
import numpy as np
import pytest
from conftest import everything_once

torch = pytest.importorskip("torch")
from lengthwise.torch import BatchSampler, StreamBatches, loader, pad_collate, steps  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

BUDGET = "padded:600"
UPDATE = {"strategy": "proportional", "update": "tokens:3000"}


def planned(lengths, rank=0, world_size=1, **settings):
    return BatchSampler(lengths, budget=BUDGET, rank=rank, world_size=world_size, **(settings or UPDATE))


def plain(lengths, sampler, **options):
    return DataLoader(range(len(lengths)), batch_sampler=sampler, collate_fn=list, **options)


def stateful(lengths, sampler, **options):
    module = pytest.importorskip("torchdata.stateful_dataloader")
    return module.StatefulDataLoader(range(len(lengths)), batch_sampler=sampler, collate_fn=list, **options)


def ours(lengths, sampler, **options):
    return loader(range(len(lengths)), sampler, collate_fn=list, **options)


LOADERS = {
    "sampler": lambda lengths, sampler: sampler,
    "plain": plain,
    "workers": lambda lengths, sampler: plain(lengths, sampler, num_workers=2, prefetch_factor=3),
    "stateful": stateful,
    "ours": lambda lengths, sampler: ours(lengths, sampler, num_workers=2),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_a_step_has_its_micro_batches_and_their_weights(lengths, kind):
    sampler = planned(lengths)
    batches = LOADERS[kind](lengths, sampler)
    plan, weights, each = sampler.plan, sampler.weights(), sampler.accumulate
    assert each > 1
    taken, found = [], []
    for number, step in enumerate(steps(batches)):
        assert (step.index, len(step)) == (number, each)
        last = []
        for batch in step:
            taken.append(batch)
            found.append(step.weight)
            last.append(step.is_last_micro)
        assert last == [False] * (each - 1) + [True]
        np.testing.assert_array_equal(found[-each:], step.weights)
        # The weights of one rank's step add up to one.
        assert sum(step.weights) == pytest.approx(1)
    assert taken == [batch.tolist() for batch in plan]
    np.testing.assert_allclose(found, weights / each)
    assert len(steps(batches)) == number + 1
    # The epoch is over, so the next one begins.
    assert [batch for step in steps(batches) for batch in step] != taken
    assert sampler.epoch == 1


@pytest.mark.parametrize("by", ["tokens", "sequences"])
@pytest.mark.parametrize(
    ("kind", "world_size", "strategy"),
    [("ddp", 1, "proportional"), ("ddp", 2, "proportional"), ("ddp", 2, "shuffled"), ("accelerate", 2, "proportional")],
)
def test_the_gradient_of_a_step_is_that_of_one_big_batch(on_ranks, tmp_path, kind, world_size, strategy, by):
    ranks = on_ranks("stepped.py", world_size, kind, by, strategy, str(tmp_path / "state"))
    first = ranks[0]
    assert len(first["seen"]) == first["len"]
    assert everything_once([batch for rank in ranks for step in rank["seen"] for batch in step["taken"]])
    sizes = set()
    for rank in ranks:
        for step, of_first in zip(rank["seen"], first["seen"]):
            assert step["gradient"] == pytest.approx(step["reference"], rel=1e-9, abs=1e-15)
            assert step["reference"] == of_first["reference"]
            sizes |= {len(batch) for batch in step["taken"]}
    assert len(sizes) > 1  # Equal weights would not do.


@pytest.mark.parametrize("world_size", [1, 2])
def test_accelerate_goes_on_between_two_steps(on_ranks, tmp_path, world_size):
    """Also on another number of processes."""
    pytest.importorskip("accelerate")
    given = ("accelerate", "tokens", "proportional", str(tmp_path / "state"))
    before = on_ranks("stepped.py", 2, *given, "2")
    after = on_ranks("stepped.py", world_size, *given)
    assert everything_once(
        [batch for rank in before + after for step in rank["seen"] for batch in step["taken"]]
    )
    assert [step["index"] for step in before[0]["seen"] + after[0]["seen"]] == list(range(before[0]["len"]))


@pytest.mark.parametrize("kind", LOADERS)
def test_a_state_between_two_steps_counts_what_was_trained_on(lengths, kind):
    whole = [list(step) for step in steps(planned(lengths))]
    for stop in (1, 3, len(whole)):
        sampler = planned(lengths)
        for step in itertools.islice(steps(LOADERS[kind](lengths, sampler)), stop):
            for _ in step:
                pass
            state = step.state_dict()
        assert len(json.dumps(state)) < 1000
        again = planned(lengths)
        again.load_state_dict(json.loads(json.dumps(state)))
        rest = [(step.index, list(step)) for step in steps(LOADERS[kind](lengths, again))]
        if stop < len(whole):
            assert rest == list(enumerate(whole))[stop:]
        else:
            assert again.epoch == 1 and [number for number, _ in rest] == list(range(len(rest)))


@pytest.mark.parametrize("every", [1, 3])
@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loaders_keep_count_themselves(lengths, workers, every):
    def made(kind):
        sampler = planned(lengths)
        return sampler, kind(lengths, sampler, num_workers=workers, snapshot_every_n_steps=every)

    for kind in (stateful, ours):
        sampler, batches = made(kind)
        whole = [(step.index, list(step), step.weights.tolist()) for step in steps(batches)]
        sampler, batches = made(kind)
        for step in itertools.islice(steps(batches), 2):
            list(step)
        state = batches.state_dict()
        _, batches = made(kind)
        batches.load_state_dict(state)
        assert [(step.index, list(step), step.weights.tolist()) for step in steps(batches)] == whole[2:]


def test_a_state_from_the_middle_of_a_step_begins_it_anew(lengths):
    sampler = planned(lengths)
    whole = [list(step) for step in steps(sampler)]
    sampler.set_epoch(0)
    state = sampler.state_dict(batches=sampler.accumulate + 1)
    sampler.load_state_dict(state)
    with pytest.warns(lw.LengthwiseWarning, match="after 1 of its batches: that step starts again"):
        assert [list(step) for step in steps(sampler)] == whole[1:]
    # A loader's own state cannot go back.
    batches = ours(lengths, planned(lengths))
    running = iter(batches)
    next(running)
    again = ours(lengths, planned(lengths))
    again.load_state_dict(batches.state_dict())
    with pytest.raises(lw.StateError, match="after 1 of its .* whose gradients are lost") as refused:
        next(iter(steps(again)))
    assert "step.state_dict()" in refused.value.hint


def test_accelerate_skips_whole_steps(lengths):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    whole = [list(step) for step in steps(planned(lengths))]
    sampler = planned(lengths)
    batches = accelerator.prepare(plain(lengths, sampler))
    each = sampler.accumulate
    rest = [(step.index, list(step)) for step in steps(accelerate.skip_first_batches(batches, 2 * each))]
    assert rest == list(enumerate(whole))[2:]
    sampler.set_epoch(0)
    with pytest.raises(lw.StateError, match="in the middle of a step"):
        next(iter(steps(accelerate.skip_first_batches(batches, each + 1))))


def test_accelerates_own_accumulation_is_refused(lengths):
    accelerate = pytest.importorskip("accelerate")
    accelerator = accelerate.Accelerator(cpu=True)
    sampler = planned(lengths)
    batches = accelerator.prepare(plain(lengths, sampler))
    accelerator.gradient_accumulation_steps = sampler.accumulate
    try:
        with pytest.raises(lw.SettingError, match="divides the loss") as refused:
            next(iter(steps(batches)))
        assert "`accelerator.gradient_accumulation_steps = 1`" in refused.value.hint
        # Accelerate's own loop is as good, if it takes as many as were planned.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(list(batches)) == len(sampler)
        accelerator.gradient_accumulation_steps = 1
        with pytest.warns(lw.LengthwiseWarning, match=f"gradient_accumulation_steps = {sampler.accumulate}`"):
            next(iter(batches))
        assert next(iter(steps(batches))).index == 0
    finally:
        accelerator.gradient_accumulation_steps = 1


def test_a_plan_of_single_batches_has_steps_of_one(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=1, world_size=2)
    weights = sampler.weights()
    found = []
    for step in steps(plain(lengths, sampler)):
        for _ in step:
            assert step.is_last_micro
            found.append(step.weight)
    np.testing.assert_array_equal(found, weights)


def test_what_has_no_planned_steps_is_refused(lengths):
    for other in (DataLoader(range(9), batch_size=3), [[1, 2]], iter(planned(lengths)), None):
        with pytest.raises(lw.SettingError, match="expected a loader of planned batches") as refused:
            steps(other)
        assert "lengthwise.torch.loader(" in refused.value.hint
    stream = StreamBatches([torch.zeros(3)], len, budget=BUDGET)
    for other in (stream, DataLoader(stream, batch_size=None, collate_fn=pad_collate())):
        with pytest.raises(lw.SettingError, match="a stream has no planned optimizer steps"):
            steps(other)
    with pytest.raises(lw.SettingError, match="steps does not accept 'token'") as refused:
        steps(planned(lengths), by="token")
    assert refused.value.hint == 'did you mean "tokens"?'
    with pytest.raises(lw.SettingError, match="second positions"):
        next(iter(steps(planned(lengths), by="second_positions")))


def test_loaders_of_other_ranks_or_in_another_order_are_refused(lengths):
    sampler = BatchSampler(lengths, budget=BUDGET, rank="all", world_size=2, **UPDATE)
    with pytest.raises(lw.RankError, match="all 2 ranks"):
        next(iter(steps(plain(lengths, sampler))))
    mixed = plain(lengths, planned(lengths), num_workers=2, in_order=False)
    with pytest.raises(lw.SettingError, match="in_order=False"):
        next(iter(steps(mixed)))


def test_a_step_is_taken_whole_and_once(lengths):
    sampler = planned(lengths)
    batches = plain(lengths, sampler)
    running = iter(steps(batches))
    step = next(running)
    for name in ("weight", "is_last_micro"):
        with pytest.raises(lw.LengthwiseError, match="before its first micro-batch"):
            getattr(step, name)
    next(step)
    with pytest.raises(lw.StateError, match=f"1 of the {len(step)} micro-batches of step 0"):
        step.state_dict()
    with pytest.raises(lw.LengthwiseError, match=f"step 0 ended after 1 of its {len(step)}") as refused:
        next(running)
    assert "for _ in step: pass" in refused.value.hint
    # Both loops can be left, and the rest of a step skipped.
    for step in steps(batches):
        for _ in step:
            break
        break
    sampler.set_epoch(0)
    running = iter(steps(batches))
    step = next(running)
    next(step)
    for _ in step:
        pass
    assert next(running).index == 1
    with pytest.raises(lw.LengthwiseError, match="were taken already"):
        list(step)
    with pytest.raises(lw.LengthwiseError, match="after its last micro-batch") as refused:
        step.weight  # noqa: B018
    assert "step.weights" in refused.value.hint


def test_a_loader_that_ends_too_early_is_reported(lengths):
    class Short(DataLoader):
        def __iter__(self):
            return itertools.islice(super().__iter__(), 3)

    sampler = planned(lengths)
    assert sampler.accumulate > 3
    with pytest.raises(lw.LengthwiseError, match="the loader ended in step 0, after 3 of its"):
        for step in steps(Short(range(len(lengths)), batch_sampler=sampler, collate_fn=list)):
            list(step)


#: What changes from run to run: the number of ranks, and after how many steps the run stops.
HISTORIES = [((2, 3), (4, 1), (1, None)), ((1, 2), (2, 2), (3, None)), ((4, 1), (3, 1), (2, None))]


def run(lengths, world_size, state, stop, **settings):
    """Trains on all ranks: what they saw step by step, and where the epoch stands."""
    seen, states = [], []
    for rank in range(world_size):
        sampler = planned(lengths, rank, world_size, **settings)
        if state is not None:
            sampler.load_state_dict(state)
        for number, step in enumerate(itertools.islice(steps(plain(lengths, sampler)), stop)):
            if rank == 0:
                seen.append((step.index, []))
            seen[number][1].extend(step)
        states.append(step.state_dict())
    assert states == states[:1] * world_size
    return seen, json.loads(json.dumps(states[0]))


@pytest.mark.parametrize("history", HISTORIES)
@pytest.mark.parametrize(
    "settings",
    [
        {"strategy": "proportional", "update": "tokens:1500"},
        {"update": "tokens:1500"},
        {"update": "sequences:50"},
        {"strategy": "proportional"},
    ],
)
def test_another_number_of_ranks_goes_on_between_two_steps(lengths, settings, history):
    """Everything is seen once, and steps keep their size as far as the number of ranks allows."""
    seen, state = [], None
    for world_size, stop in history:
        part, state = run(lengths, world_size, state, stop, canonical_ranks=4, **settings)
        assert len({len(batches) for _, batches in part}) == 1
        seen += part
    assert [index for index, _ in seen] == list(range(len(seen)))
    assert everything_once([batch for _, batches in seen for batch in batches])
    whole, _ = run(lengths, 4, None, None, canonical_ranks=4, **settings)
    if all(4 % world_size == 0 for world_size, _ in history):
        # The very steps of a run whose number of ranks did not change.
        assert [sorted(batches) for _, batches in seen] == [sorted(batches) for _, batches in whole]


@pytest.mark.parametrize("settings", [UPDATE, {"update": "tokens:3000"}])
@pytest.mark.parametrize(("before", "after"), [(2, 1), (1, 2), (2, 3)])
def test_planned_steps_stay_as_they_are_on_other_ranks(lengths, settings, before, after):
    _, state = run(lengths, before, None, 2, **settings)
    sampler = planned(lengths, 0, after, **settings)
    sampler.load_state_dict(state)
    assert sampler._plan_of(0).digest == planned(lengths, 0, before, **settings)._plan_of(0).digest
    rest, state = run(lengths, after, state, 1, **settings)
    assert [index for index, _ in rest] == [2]
    # Unless it is said how many ranks they are for.
    with pytest.raises(lw.StateError) as refused:
        planned(lengths, 0, after, canonical_ranks=7, **settings).load_state_dict(state)
    assert f"planned for {before} rank" in str(refused.value) and f"`canonical_ranks={before}`" in refused.value.hint
    # Of other settings, it would not help.
    other = planned(lengths, 0, after, **{**settings, "update": "tokens:2000"})
    with pytest.raises(lw.StateError, match="resume with the settings that the epoch began with"):
        other.load_state_dict(state)


def test_a_loader_says_it_too(lengths):
    pytest.importorskip("torchdata")
    sampler = planned(lengths, 0, 2)
    batches = ours(lengths, sampler)
    for step in itertools.islice(steps(batches), 2):
        list(step)
    again = ours(lengths, planned(lengths, 0, 1))
    again.load_state_dict(batches.state_dict())
    # Steps stay as they were planned, for two ranks.
    assert next(iter(steps(again))).index == 2
