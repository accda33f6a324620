"""Every framework that deals batches to ranks, run for real on several processes."""

from __future__ import annotations

from itertools import chain

import pytest
from conftest import everything_once

pytest.importorskip("torch")


def together(ranks: list, epoch: int) -> list[list[int]]:
    """The batches of all ranks in an epoch."""
    return list(chain.from_iterable(rank[epoch] for rank in ranks))


def test_ddp_takes_equal_steps_and_sees_everything_once(on_ranks, tmp_path):
    ranks = on_ranks("ddp.py", 2, str(tmp_path / "state.pt"), "2")
    taken = [rank["taken"] for rank in ranks]
    for epoch in range(2):
        assert len(taken[0][epoch]) == len(taken[1][epoch]) == ranks[0]["len"]
        assert everything_once(together(taken, epoch))
    assert taken[0][0] != taken[0][1]
    assert ranks[0]["weight"] == ranks[1]["weight"]


def test_ddp_stops_on_two_ranks_and_goes_on_with_one(on_ranks, tmp_path):
    state = str(tmp_path / "state.pt")
    before = on_ranks("ddp.py", 2, state, "2", "4")
    (after,) = on_ranks("ddp.py", 1, state, "2")
    first = together([rank["taken"] for rank in before], 0) + after["taken"][0]
    assert everything_once(first)
    assert everything_once(after["taken"][1])


@pytest.mark.parametrize("world_size", [2, 4])
def test_accelerate_deals_everything_once(on_ranks, world_size):
    pytest.importorskip("accelerate")
    ranks = on_ranks("accelerated.py", world_size, "all")
    for epoch in range(3):
        counts = {len(rank["epochs"][epoch]) for rank in ranks}
        assert counts == {ranks[0]["len"]}
        assert everything_once(together([rank["epochs"] for rank in ranks], epoch))
    assert ranks[0]["epochs"][0] != ranks[0]["epochs"][1]


@pytest.mark.parametrize("world_size", [1, 2])
def test_accelerate_goes_on_in_the_middle_of_an_epoch(on_ranks, world_size):
    pytest.importorskip("accelerate")
    for rank in on_ranks("accelerated.py", world_size, "skip"):
        assert rank["rest"] == rank["epochs"][1][4:]
        assert rank["next"] == rank["epochs"][2]


def test_accelerate_must_not_deal_the_batches_of_one_rank(on_ranks):
    pytest.importorskip("accelerate")
    for rank in on_ranks("accelerated.py", 2, "each"):
        assert 'rank="all"' in rank["refused"]


@pytest.mark.parametrize("world_size", [1, 2])
def test_the_trainer_goes_on_from_a_checkpoint_in_its_second_epoch(on_ranks, tmp_path, world_size):
    pytest.importorskip("transformers")
    whole = on_ranks("trained.py", world_size, str(tmp_path / "whole"))
    batches = len(whole[0]["seen"]) // 3
    for epoch in range(3):
        part = slice(epoch * batches, (epoch + 1) * batches)
        assert everything_once(list(chain.from_iterable(rank["seen"][part] for rank in whole)))
    stop = batches // 2 + 3  # Two batches a step: in the second epoch.
    folder = str(tmp_path / "parts")
    first = on_ranks("trained.py", world_size, folder, str(stop))
    second = on_ranks("trained.py", world_size, folder)
    for rank in range(world_size):
        assert first[rank]["seen"] + second[rank]["seen"] == whole[rank]["seen"]


@pytest.mark.parametrize("kind", ["default", "plain"])
def test_lightning_sees_everything_once(on_ranks, tmp_path, kind):
    pytest.importorskip("lightning")
    ranks = on_ranks("lit.py", 2, str(tmp_path), kind, "0")
    epochs = [
        [[batch for of, _, batch in rank["seen"] if of == epoch] for rank in ranks]
        for epoch in range(3)
    ]
    for epoch in epochs:
        assert len(epoch[0]) == len(epoch[1])
        assert everything_once(epoch[0] + epoch[1])
    assert epochs[0] != epochs[1]


@pytest.mark.parametrize(("workers", "epoch"), [("0", 1), ("2", 0)])
def test_lightning_goes_on_in_the_middle_of_an_epoch(on_ranks, tmp_path, workers, epoch):
    pytest.importorskip("lightning")
    pytest.importorskip("torchdata")
    whole = on_ranks("lit.py", 2, str(tmp_path / "whole"), "default", workers)
    batches = len(whole[0]["seen"]) // 3
    folder = str(tmp_path / "parts")
    first = on_ranks("lit.py", 2, folder, "default", workers, str(epoch * batches + 3))
    second = on_ranks("lit.py", 2, folder, "default", workers)
    for rank in range(2):
        assert first[rank]["seen"] + second[rank]["seen"] == whole[rank]["seen"]


def test_meshes_and_groups_say_which_ranks_divide_the_data(on_ranks):
    ranks = on_ranks("meshes.py", 4)
    assert [rank["place"] for rank in ranks] == [0, 0, 1, 1]
    assert [rank["both"].split(",")[0] for rank in ranks] == [
        f"BatchSampler(rank {rank} of 4" for rank in range(4)
    ]
    for kind in ("mesh", "group", "stream"):
        assert ranks[0][kind] == ranks[1][kind] != ranks[2][kind] == ranks[3][kind]
        assert everything_once(ranks[0][kind] + ranks[2][kind])
