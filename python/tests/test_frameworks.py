"""Every framework that assigns batches to ranks, run for real on several processes."""

from __future__ import annotations

import importlib
from itertools import chain

import pytest
from conftest import everything_once

pytest.importorskip("torch")


def elastic_trainer() -> bool:
    """Whether the Trainer asks a method of its own where a checkpoint stands in its epoch."""
    return hasattr(importlib.import_module("transformers").Trainer, "_init_training_state")


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


def test_accelerate_below_1_14_says_what_it_needs(on_ranks):
    pytest.importorskip("accelerate")
    for rank in on_ranks("accelerated.py", 2, "uneven"):
        assert "epochs" in rank or "set `accelerator.even_batches=False`" in rank["old"]


@pytest.mark.parametrize("way", ["prepare", "dispatch"])
def test_accelerate_must_not_assign_the_batches_of_a_stream(on_ranks, way):
    pytest.importorskip("accelerate")
    for rank in on_ranks("streamed.py", 2, way, "1"):
        assert "out of `accelerator.prepare`" in rank["refused"]


def test_beside_accelerate_every_process_reads_its_own_batches_of_a_stream(on_ranks):
    pytest.importorskip("accelerate")
    ranks = on_ranks("streamed.py", 2, "own", "1")
    assert len(ranks[0]["seen"]) == len(ranks[1]["seen"])
    assert everything_once(ranks[0]["seen"] + ranks[1]["seen"])


@pytest.mark.parametrize("world_size", [1, 2])
def test_the_trainer_goes_on_from_a_checkpoint_in_its_second_epoch(on_ranks, tmp_path, world_size):
    pytest.importorskip("transformers")
    if world_size > 1 and not elastic_trainer():
        pytest.skip("transformers 4 with Accelerate 1.1 does not load an optimizer on several CPU processes")
    whole = on_ranks("trained.py", world_size, str(tmp_path / "whole"))
    batches = len(whole[0]["seen"]) // 3
    for epoch in range(3):
        part = slice(epoch * batches, (epoch + 1) * batches)
        assert everything_once(list(chain.from_iterable(rank["seen"][part] for rank in whole)))
    stop = batches // 2 + 3  # Two batches a step: in the second epoch.
    folder = str(tmp_path / "parts")
    first = on_ranks("trained.py", world_size, folder, "--stop", str(stop))
    second = on_ranks("trained.py", world_size, folder, "--resume", "--workers", "1")
    for rank in range(world_size):
        assert first[rank]["seen"] + second[rank]["seen"] == whole[rank]["seen"]
    assert second[0]["steps"] == second[0]["max"] == whole[0]["steps"]


def in_epoch(runs: list, epoch: int) -> list[list[int]]:
    """What all ranks of all runs saw in an epoch."""
    return [
        batch
        for run in runs
        for rank in run
        for of, batch in zip(rank["epochs"], rank["seen"])
        if of == epoch
    ]


@pytest.mark.parametrize(
    ("worlds", "accumulate"), [((2, 1, 2), (2, 2, 4)), ((1, 2, 1), (1, 1, 1))]
)
def test_the_trainer_resumes_twice_in_an_epoch_on_other_numbers_of_processes(
    on_ranks, tmp_path, worlds, accumulate
):
    pytest.importorskip("transformers")
    if not elastic_trainer():
        pytest.skip("this release of transformers cannot be told where an epoch stands")
    folder, runs = str(tmp_path), []
    for place, (world_size, steps) in enumerate(zip(worlds, accumulate)):
        stop = ["--stop", str(3 + 2 * place)] if place < 2 else []
        resume = ["--resume"] if place else []
        runs.append(
            on_ranks(
                "trained.py", world_size, folder, "--epochs", "2", "--accumulate", str(steps), *stop, *resume
            )
        )
    assert [run[0]["steps"] for run in runs[:2]] == [3, 5]
    for epoch in range(2):
        assert everything_once(in_epoch(runs, epoch))
    # The last step is the last that was announced, so the learning rate has reached its end.
    last = runs[-1][0]
    assert last["steps"] == last["max"]
    assert last["rate"] == 0


def test_the_trainer_keeps_the_steps_of_a_plan_on_other_numbers_of_processes(on_ranks, tmp_path):
    """It accumulates as many batches as each number of processes needs, without being told."""
    pytest.importorskip("transformers")
    if not elastic_trainer():
        pytest.skip("this release of transformers cannot be told where an epoch stands")
    settings = ("--epochs", "2", "--accumulate", "1", "--update", "tokens:3000")
    whole = on_ranks("trained.py", 2, str(tmp_path / "whole"), *settings)
    folder, runs = str(tmp_path / "parts"), []
    for world_size, more in ((2, ["--stop", "2"]), (1, ["--stop", "3", "--resume"]), (2, ["--resume"])):
        runs.append(on_ranks("trained.py", world_size, folder, *settings, *more))
    each = [run[0]["accumulated"] for run in runs]
    assert each[0] == each[2] == whole[0]["accumulated"] and each[1] == 2 * each[0]
    for epoch in range(2):
        assert everything_once(in_epoch(runs, epoch))
        # Not only the same sequences: the same micro-batches.
        assert sorted(in_epoch(runs, epoch)) == sorted(in_epoch([whole], epoch))
    assert [run[0]["steps"] for run in runs] == [2, 3, whole[0]["steps"]]


def test_the_trainer_resumes_at_the_end_of_an_epoch_on_another_number_of_processes(on_ranks, tmp_path):
    pytest.importorskip("transformers")
    if not elastic_trainer():
        pytest.skip("this release of transformers cannot be told where an epoch stands")
    folder = str(tmp_path)
    whole = on_ranks("trained.py", 2, folder, "--epochs", "1", "--save-epochs")
    assert everything_once(in_epoch([whole], 0))
    (rest,) = on_ranks("trained.py", 1, folder, "--epochs", "2", "--resume")
    assert set(rest["epochs"]) == {1}
    assert everything_once(rest["seen"])


def test_a_trainer_that_only_counts_refuses_another_number_of_processes(on_ranks, tmp_path):
    pytest.importorskip("transformers")
    if elastic_trainer():
        pytest.skip("this release of transformers can be told where an epoch stands")
    on_ranks("trained.py", 2, str(tmp_path), "--stop", "9")
    (refused,) = on_ranks("trained.py", 1, str(tmp_path), "--resume")
    assert refused["kind"] == "StateError"
    assert "as many processes" in refused["refused"]


def test_the_trainer_refuses_a_checkpoint_of_other_settings(on_ranks, tmp_path):
    pytest.importorskip("transformers")
    on_ranks("trained.py", 1, str(tmp_path), "--stop", "4")
    (refused,) = on_ranks("trained.py", 1, str(tmp_path), "--resume", "--budget", "padded:500")
    assert refused["kind"] == "StateError"
    assert "padded:600" in refused["refused"] and "padded:500" in refused["refused"]


@pytest.mark.parametrize("world_size", [1, 2])
def test_the_trainer_evaluates_planned_batches_in_the_order_of_the_dataset(on_ranks, world_size):
    pytest.importorskip("transformers")
    for rank in on_ranks("evaluated.py", world_size):
        for count, ways in rank.items():
            plain = ways["plain"]
            assert plain["labels"] == list(range(int(count)))
            for found in (ways["planned"], ways["off"]):
                for name in ("tokens", "counts", "labels"):
                    assert found[name] == plain[name]
                assert found["metrics"] == pytest.approx(plain["metrics"])
                assert found["test_loss"] == pytest.approx(plain["test_loss"])
            assert ways["off"]["shapes"] == plain["shapes"]
        planned = rank["400"]["planned"]["shapes"]
        assert max(size * length for size, length in planned) <= 600
        assert len(planned) < len(rank["400"]["plain"]["shapes"]) / 3


def epochs_of(ranks: list, sequences: int = 400) -> list[list[int]]:
    """What all ranks saw together, step by step, cut into epochs."""
    steps = [[index for rank in ranks for index in rank["seen"][step]] for step in range(len(ranks[0]["seen"]))]
    epochs: list[list[int]] = [[]]
    for step in steps:
        if len(epochs[-1]) >= sequences:
            epochs.append([])
        epochs[-1] += step
    return epochs


@pytest.mark.parametrize(("world_size", "kind"), [(1, "torch"), (2, "datasets")])
def test_the_trainer_plans_a_stream_and_resumes_inside_an_epoch(on_ranks, tmp_path, world_size, kind):
    pytest.importorskip("transformers")
    pytest.importorskip("datasets")
    whole = on_ranks("trained_stream.py", world_size, str(tmp_path / "whole"), "--kind", kind)
    assert {len(rank["seen"]) for rank in whole} == {120}
    first, second, *_ = epochs = epochs_of(whole)
    assert len(epochs) > 2
    assert sorted(first) == sorted(second) == list(range(400)) and first != second
    for size, length in chain.from_iterable(rank["shapes"] for rank in whole):
        assert size * length <= 600 and length in (40, 80, 300)
    if not elastic_trainer():
        return
    # In the first epoch, and again in a later one; with workers that read ahead.
    folder, parts = str(tmp_path / "parts"), [[] for _ in whole]
    for stop, workers in ((9, 2), (40, 0), (60, 1)):
        more = ["--resume"] if parts[0] else []
        ran = on_ranks(
            "trained_stream.py", world_size, folder, "--kind", kind, "--workers", str(workers), "--stop", str(stop), *more
        )
        for rank, found in zip(parts, ran):
            rank += found["seen"]
        assert ran[0]["steps"] == stop
    assert parts == [rank["seen"] for rank in whole]


def test_the_trainer_resumes_a_stream_on_another_number_of_processes(on_ranks, tmp_path):
    pytest.importorskip("transformers")
    if not elastic_trainer():
        pytest.skip("this release of transformers cannot be told where an epoch stands")
    folder = str(tmp_path)
    first = on_ranks("trained_stream.py", 2, folder, "--stop", "3")
    second = on_ranks("trained_stream.py", 1, folder, "--resume", "--steps", "30")
    seen = epochs_of(first)[0] + [index for batch in second[0]["seen"] for index in batch]
    assert sorted(seen[:400]) == list(range(400))


def test_the_trainer_refuses_a_stream_that_every_process_has_a_part_of(on_ranks, tmp_path):
    pytest.importorskip("datasets")
    for rank in on_ranks("trained_stream.py", 2, str(tmp_path), "--kind", "split"):
        assert rank["kind"] == "SettingError" and "split by node" in rank["refused"]


@pytest.mark.parametrize(("world_size", "count", "workers"), [(1, 400, 2), (2, 400, 0), (2, 1, 0)])
def test_the_trainer_evaluates_a_stream_in_its_order(on_ranks, tmp_path, world_size, count, workers):
    pytest.importorskip("transformers")
    pytest.importorskip("datasets")
    ranks = on_ranks(
        "trained_stream.py", world_size, str(tmp_path), "--evaluate", "--count", str(count), "--workers", str(workers)
    )
    for rank in ranks:
        assert rank["labels"] == list(range(count))
        assert rank["tokens"] == [[index + 1] * length for index, length in enumerate(rank["counts"])]
        assert rank["metrics"]["test_sorted"] == rank["again"]["eval_sorted"] == 1
        assert rank["metrics"]["test_count"] == rank["again"]["eval_count"] == count
        expected = sum(rank["counts"]) + sum(range(count))
        assert rank["metrics"]["test_loss"] == pytest.approx(expected / count * 1e-9)
        assert all(size * length <= 600 for size, length in rank["shapes"])
        assert len(rank["shapes"]) <= 2 * max(count / 3 / world_size / 2, 1)


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


@pytest.mark.parametrize("by", ["tokens", "sequences"])
def test_a_step_of_lightning_is_the_mean_over_all_ranks(on_ranks, tmp_path, by):
    pytest.importorskip("lightning")
    ranks = on_ranks("lit_steps.py", 2, str(tmp_path), by)
    each = ranks[0]["each"]
    assert each > 1 and ranks[0]["gradients"] == ranks[1]["gradients"]
    assert len(ranks[0]["batches"]) == each * len(ranks[0]["gradients"])
    for number, gradient in enumerate(ranks[0]["gradients"]):
        step = [batch for rank in ranks for batch in rank["batches"][number * each : (number + 1) * each]]
        mean = sum(mean * count for mean, count in step) / sum(count for _, count in step)
        assert gradient == pytest.approx(mean, rel=1e-4)


def test_meshes_and_groups_say_which_ranks_divide_the_data(on_ranks):
    ranks = on_ranks("meshes.py", 4)
    assert [rank["place"] for rank in ranks] == [0, 0, 1, 1]
    assert [rank["both"].split(",")[0] for rank in ranks] == [
        f"BatchSampler(rank {rank} of 4" for rank in range(4)
    ]
    for kind in ("mesh", "group", "stream"):
        assert ranks[0][kind] == ranks[1][kind] != ranks[2][kind] == ranks[3][kind]
        assert everything_once(ranks[0][kind] + ranks[2][kind])
