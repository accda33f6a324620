"""Shards that are planned apart, with the statistics of all."""

import pickle

import numpy as np
import pytest

import lengthwise as lw

SETTINGS = {"strategy": "shuffled", "budget": "padded:6000", "shapes": "ladder:16", "seed": 3}


@pytest.fixture(scope="module")
def shards():
    drawn = np.random.default_rng(1).lognormal(4.5, 0.8, 4000).astype(int).clip(1, 1500)
    return np.array_split(drawn, 8)


def gathered(shards, **settings):
    """The statistics of all shards, with what each of them needs."""
    statistics = lw.Statistics(shards[0])
    for shard in shards[1:]:
        statistics = statistics + lw.Statistics(shard)
    ready = statistics
    for number, shard in enumerate(shards):
        planner = lw.Planner(
            shard, statistics=statistics, shard=number, shards=len(shards), **settings
        )
        ready = ready.merge(planner.needs())
    return ready


def test_statistics_are_the_same_in_any_order(shards, tmp_path):
    one = gathered(shards, **SETTINGS)
    parts = [lw.Statistics(shard) for shard in shards]
    assert (parts[0] + parts[1]).to_bytes() == (parts[1] + parts[0]).to_bytes()
    assert sum(parts[:2]).to_bytes() == (parts[0] + parts[1]).to_bytes()
    with pytest.raises(TypeError):
        1 + parts[0]
    assert len(one) == 4000 and one.exact and one.total == sum(int(shard.sum()) for shard in shards)
    assert lw.Statistics.from_bytes(one.to_bytes()) == one
    assert pickle.loads(pickle.dumps(one)) == one
    one.save(tmp_path / "all.lws")
    assert lw.Statistics.load(tmp_path / "all.lws") == one
    assert one.needs["counted"] == one.needs["shards"] == 8
    assert one.needs["least"] <= one.needs["batches"]
    assert "8 of 8 shards counted" in repr(one)


def test_all_shards_have_one_ladder_and_as_many_batches(shards):
    ready = gathered(shards, **SETTINGS)
    whole = lw.Planner(np.concatenate(shards), **SETTINGS)
    for epoch in range(2):
        for number, shard in enumerate(shards):
            planner = lw.Planner(shard, statistics=ready, shard=number, shards=8, **SETTINGS)
            plan = planner.plan(epoch)
            assert planner.rungs == whole.rungs
            assert len(plan) == ready.needs["batches"]
            assert sorted(np.concatenate(list(plan)).tolist()) == list(range(len(shard)))
            assert f"shard {number} of 8" in repr(planner)


def test_mistakes_are_named(shards):
    statistics = lw.Statistics(shards[0])
    with pytest.raises(lw.SettingError, match="one of `shard` and `shards`"):
        lw.Planner(shards[0], statistics=statistics, shard=1, **SETTINGS)
    with pytest.raises(lw.RankError, match="there is no shard 8"):
        lw.Planner(shards[0], statistics=statistics, shard=8, shards=8, **SETTINGS)
    with pytest.raises(lw.LengthsError, match="longer than the longest in the statistics") as error:
        lw.Planner([5, 9000], statistics=statistics, **SETTINGS)
    assert error.value.index == 1
    planner = lw.Planner(shards[0], statistics=statistics, shard=0, shards=8, **SETTINGS)
    with pytest.raises(lw.SettingError, match="do not have how many batches") as error:
        planner.plan()
    assert "Planner.needs" in error.value.hint
    needs = planner.needs()
    with pytest.raises(lw.SettingError, match="needs of shard 0 are there twice"):
        needs + needs
    with pytest.raises(lw.FileError, match="not a file of statistics"):
        lw.Statistics.from_bytes(b"12")
    with pytest.raises(lw.SettingError, match="cannot be planned without the statistics"):
        lw.Planner(shards[0], shard=0, shards=8, **SETTINGS).plan()


def test_a_sampler_of_a_shard(shards):
    torch = pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler

    assert torch
    ready = gathered(shards, **SETTINGS)
    samplers = [
        BatchSampler(
            shard, statistics=ready, shard=number, shards=8, rank=0, world_size=1, **SETTINGS
        )
        for number, shard in enumerate(shards)
    ]
    assert {len(sampler) for sampler in samplers} == {ready.needs["batches"]}
    first = [list(batch) for batch in samplers[2]]
    assert sorted(sum(first, [])) == list(range(len(shards[2])))


@pytest.mark.filterwarnings("ignore:this process gets the batches of rank 2 of 8")
def test_a_sampler_of_a_shard_does_not_guess_its_ranks(shards, monkeypatch):
    pytest.importorskip("torch")
    from lengthwise.torch import BatchSampler

    ready = gathered(shards, **SETTINGS)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "8")
    with pytest.raises(lw.RankError, match="8 shards and 8 ranks") as error:
        BatchSampler(shards[2], statistics=ready, shard=2, shards=8, **SETTINGS)
    assert "rank=0, world_size=1" in error.value.hint
    for ranks in ({"rank": 0, "world_size": 1}, {"rank": 1, "world_size": 2}):
        assert BatchSampler(shards[2], statistics=ready, shard=2, shards=8, **ranks, **SETTINGS)
    # Statistics alone make no shard.
    assert BatchSampler(shards[2], statistics=ready, **SETTINGS)
