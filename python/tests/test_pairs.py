"""Sequences of two lengths."""

from __future__ import annotations

import pickle

import lengthwise
import numpy as np
import pytest

rng = np.random.default_rng(1)
FIRST = rng.integers(100, 2000, 3000)
SECOND = (FIRST / rng.uniform(8, 16, 3000)).astype(np.int64)


def test_pairs_are_planned_within_both_limits():
    for budget, limits in [
        ("padded:20000", lambda n, a, b: n * (a + b) <= 20000),
        ("padded:max=20000", lambda n, a, b: n * max(a, b) <= 20000),
        ("padded:first=20000,second=900", lambda n, a, b: n * a <= 20000 and n * b <= 900),
    ]:
        planner = lengthwise.Planner(FIRST, second=SECOND, budget=budget)
        assert "proportional" in repr(planner)
        plan = planner.plan(0)
        assert sorted(np.concatenate(list(plan))) == list(range(3000))
        multiple = 8 if plan.settings["shapes"] == "multiple:8" else 1
        for batch, a, b in zip(plan, plan.batch_lengths, plan.second_batch_lengths):
            for longest, padded in ((FIRST[batch].max(), a), (SECOND[batch].max(), b)):
                assert padded == -(-longest // multiple) * multiple
            assert limits(len(batch), int(a), int(b))
        assert plan.second_positions.sum() == SECOND.sum()
        assert plan != planner.plan(1)


def test_lengths_keep_their_second():
    lengths = lengthwise.Lengths(FIRST, SECOND)
    assert lengths.second == lengthwise.Lengths(SECOND)
    assert lengthwise.Lengths(FIRST).second is None
    assert lengths != lengthwise.Lengths(FIRST) and lengths.digest != lengthwise.Lengths(FIRST).digest
    assert pickle.loads(pickle.dumps(lengths)) == lengths
    plan = lengthwise.Planner(lengths, budget="padded:20000").plan(3)
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.measure() == plan.measure()
    measures = plan.measure()
    assert 0 < measures.first_padding_rate < measures.padding_rate < measures.second_padding_rate
    assert "second_padding_rate" in measures.asdict()
    alone = lengthwise.Planner(FIRST, budget="padded:20000").plan(0)
    assert alone.second_batch_lengths is None and alone.measure().second_padding_rate is None


def test_what_is_recommended_makes_steps_of_both_lengths():
    found = lengthwise.tune(lengthwise.Lengths(FIRST, SECOND), budget="padded:80000")
    assert found.settings["strategy"].startswith("proportional")
    plan = lengthwise.plan(lengthwise.Lengths(FIRST, SECOND), **found.settings)
    assert plan.schedule(1).step_mix < 1 and plan.schedule(1).accumulate > 1


def test_what_cannot_be_is_refused():
    with pytest.raises(lengthwise.LengthwiseError, match="3000 first lengths and 2999 second"):
        lengthwise.Planner(FIRST, second=SECOND[1:], budget="padded:20000")
    with pytest.raises(lengthwise.LengthwiseError, match="needs a second length"):
        lengthwise.Planner(FIRST, "paired", budget="padded:20000").plan(0)
    with pytest.raises(lengthwise.LengthwiseError, match="already"):
        lengthwise.Planner(lengthwise.Lengths(FIRST, SECOND), second=SECOND, budget=4)
    both = lengthwise.Lengths(FIRST, SECOND)
    for one_length in [
        lambda: lengthwise.Lengths(FIRST, both),
        lambda: lengthwise.Chunks(both, 100),
        lambda: lengthwise.ladder(both),
        lambda: lengthwise.inspect(both, budget="padded:20000"),
        lambda: lengthwise.Statistics(both),
    ]:
        with pytest.raises(lengthwise.LengthwiseError, match="does not support second lengths"):
            one_length()


def test_files_keep_both(tmp_path):
    plan = lengthwise.Planner(FIRST, second=SECOND, budget="padded:20000").plan(0)
    for form in ["json", "jsonl", "npz"]:
        plan.save(tmp_path / f"plan.{form}")
    saved = np.load(tmp_path / "plan.npz")
    assert (saved["second_batch_lengths"] == plan.second_batch_lengths).all()


def test_batches_are_collated_to_both_lengths():
    torch = pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler, loader, pad_collate

    items = [
        {"source": torch.ones(int(a)), "target": torch.ones(int(b))}
        for a, b in zip(FIRST[:300], SECOND[:300])
    ]
    sampler = BatchSampler(
        FIRST[:300], second=SECOND[:300], budget="padded:20000", shapes="multiple:16+multiple:8"
    )
    collate = pad_collate(sampler, field="source", second="target")
    seen = 0
    for batch, planned in zip(loader(items, sampler, collate_fn=collate), sampler.plan):
        rows = len(planned)
        assert batch["source"].shape[1] % 16 == 0 and batch["target"].shape[1] % 8 == 0
        assert rows * (batch["source"].shape[1] + batch["target"].shape[1]) <= 20000
        assert (batch["target"].sum(1) == batch["second_lengths"]).all()
        assert (batch["source"].sum(1) == batch["lengths"]).all()
        seen += rows
    assert seen == 300
    first = next(iter(BatchSampler(FIRST, second=SECOND, budget="padded:20000", shapes="exact")))
    assert first.second_length == SECOND[first].max() and first.length == FIRST[first].max()
    assert pickle.loads(pickle.dumps(first)).second_length == first.second_length
    weights = sampler.weights("second_positions")
    assert len(weights) == len(sampler)
    with pytest.raises(lengthwise.SettingError, match="none was planned"):
        pad_collate(BatchSampler(FIRST, budget="padded:20000"), second="target")


def _pairs(**settings):
    torch = pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler, pad_collate

    data = [{"source": torch.ones(a), "target": torch.ones(b)} for a, b in zip(FIRST, SECOND)]
    sampler = BatchSampler(FIRST, second=SECOND, **{"budget": "padded:20000", **settings})
    return data, sampler, pad_collate(sampler, field="source", second="target")


@pytest.mark.parametrize(
    ("shapes", "first", "second"),
    [
        ("exact", 1, 1),
        ("multiple:8", 8, 8),
        ("multiple:160+multiple:8", 160, 8),
        ("exact+multiple:8", 1, 8),
        ("multiple:8+exact", 8, 1),
    ],
)
def test_plain_loaders_round_both_lengths_up(shapes, first, second):
    data, sampler, collate = _pairs(shapes=shapes)
    from torch.utils.data import DataLoader

    plan = sampler.plan
    batches = DataLoader(data, batch_sampler=sampler, collate_fn=collate)
    for number, (planned, batch) in enumerate(zip(plan, batches, strict=True)):
        found = (batch["source"].shape[1], batch["target"].shape[1])
        longest = int(FIRST[planned].max()), int(SECOND[planned].max())
        assert found == (-(-longest[0] // first) * first, -(-longest[1] // second) * second)
        # Batches that were split may be planned for more.
        assert found[0] <= plan.batch_lengths[number]
        assert found[1] <= plan.second_batch_lengths[number]


@pytest.mark.parametrize(
    ("settings", "wrong"),
    [
        ({"shapes": "ladder:8"}, "ladders of two lengths"),
        ({"shapes": "ladder:8+multiple:8"}, "ladders of two lengths"),
        ({"shapes": "multiple:8+ladder:8"}, "ladders of two lengths"),
        ({"budget": "padded:1500", "over_long": "truncate"}, "how far one length is cut depends"),
    ],
)
def test_plain_loaders_that_cannot_know_both_lengths_are_refused(settings, wrong):
    data, sampler, collate = _pairs(**settings)
    from lengthwise.torch import loader
    from torch.utils.data import DataLoader

    with pytest.raises(lengthwise.SettingError, match=wrong) as error:
        next(iter(DataLoader(data, batch_sampler=sampler, collate_fn=collate)))
    assert "lengthwise.torch.loader(" in error.value.hint
    sampler.set_epoch(0)
    plan = sampler.plan
    found = [
        (batch["source"].shape[1], batch["target"].shape[1])
        for batch in loader(data, sampler, collate_fn=collate)
    ]
    assert found == list(zip(plan.batch_lengths, plan.second_batch_lengths))
