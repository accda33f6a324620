"""The batch sampler in PyTorch's and torchdata's loaders."""

from __future__ import annotations

import copy
import math
import pickle
import random
from itertools import islice

import lengthwise as lw
import numpy as np
import pytest
from conftest import everything_once
from lengthwise import _ranks

torch = pytest.importorskip("torch")
from lengthwise.torch import BatchSampler, loader, pad_collate  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

BUDGET = "padded:600"


class Sequences(Dataset):
    """Sequence `i` holds its own number."""

    def __init__(self, lengths) -> None:
        self.lengths = [int(length) for length in lengths]

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index):
        assert type(index) is int  # Some datasets look ids up by it.
        return torch.full((self.lengths[index],), index)


def rows(batches) -> list[list[int]]:
    """Which sequences each batch of a loader holds."""
    return [values[:, 0].tolist() for values, _ in batches]


@pytest.fixture
def sampler(lengths) -> BatchSampler:
    return BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)


@pytest.fixture
def data(lengths) -> Sequences:
    return Sequences(lengths)


def test_epochs_differ_and_have_equally_many_batches(sampler):
    epochs = [list(sampler) for _ in range(6)]
    assert sampler.epoch == 5
    for epoch in epochs:
        assert everything_once(epoch) and len(epoch) == len(sampler)
        assert all(type(batch[0]) is int for batch in epoch)
    assert len({str(epoch) for epoch in epochs}) == 6
    sampler.set_epoch(2)
    assert list(sampler) == epochs[2]
    assert list(sampler) == epochs[3]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"num_workers": 2},
        {"num_workers": 2, "persistent_workers": True, "prefetch_factor": 4},
        {"num_workers": 1, "multiprocessing_context": "spawn"},
    ],
    ids=["none", "two", "persistent", "spawned"],
)
@pytest.mark.parametrize("forgotten", [True, False])
def test_workers_change_nothing(lengths, data, options, forgotten):
    expected = BatchSampler(lengths, "shuffled", budget=BUDGET)
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    batches = DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler), **options)
    for epoch in range(2):
        if not forgotten:
            sampler.set_epoch(epoch)
        assert rows(batches) == list(expected)
    assert len(batches) == len(sampler)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_stateful_loader_goes_on_exactly(lengths, data, workers):
    pytest.importorskip("torchdata")

    def made():
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, epoch=3)
        return sampler, loader(data, sampler, num_workers=workers)

    sampler, whole = made()
    expected = rows(whole) + rows(whole)
    count = len(sampler)
    for stop in (0, 1, 7, count - 1, count, "after the end"):
        _, batches = made()
        running = iter(batches)
        first = [next(running) for _ in range(count if isinstance(stop, str) else stop)]
        if isinstance(stop, str):
            assert next(running, None) is None
        state = batches.state_dict()
        assert len(pickle.dumps(state)) < 2500
        _, again = made()
        again.load_state_dict(state)
        rest = rows(again)
        if not isinstance(stop, str):
            assert rows(first) + rest == expected[:count]
            rest = rows(again)
        assert rest == expected[count:]


def test_a_stateful_loader_goes_on_twice(lengths, data):
    pytest.importorskip("torchdata")
    seen, state = [], None
    for _ in range(3):
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
        batches = loader(data, sampler)
        if state is not None:
            batches.load_state_dict(state)
        running = iter(batches)
        seen += rows([next(running) for _ in range(5)])
        state = batches.state_dict()
    assert seen == list(BatchSampler(lengths, "shuffled", budget=BUDGET))[:15]


def test_states_are_small_equal_on_all_ranks_and_good_for_any_number_of_them(lengths):
    draw = random.Random(5)
    for _ in range(60):
        accumulate = draw.choice([1, 1, 2])
        seen, state = [], None
        for _ in range(draw.randrange(1, 4)):
            world_size = draw.choice([1, 2, 3, 4, 8])
            ranks = [
                BatchSampler(lengths, "shuffled", budget=BUDGET, rank=rank, world_size=world_size, accumulate=accumulate)
                for rank in range(world_size)
            ]
            for rank in ranks:
                if state is not None:
                    rank.load_state_dict(state)
                rank.set_epoch(2)
            steps = draw.randrange(3)
            for rank in ranks:
                running = iter(rank)
                for _ in range(steps * accumulate):
                    batch = next(running, None)
                    if batch is not None:
                        seen.append(batch)
            states = [rank.state_dict() for rank in ranks]
            assert all(one == states[0] for one in states)
            state = states[0]
            assert len(pickle.dumps(state)) < 700
        last = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1, accumulate=accumulate)
        last.load_state_dict(state)
        last.set_epoch(2)
        assert everything_once(seen + list(last))


def test_a_state_is_of_the_batches_that_were_trained_on(lengths, data):
    """A loader with workers asks for batches ahead."""
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    batches = DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler), num_workers=2)
    running = iter(batches)
    trained = rows([next(running) for _ in range(3)])
    with pytest.raises(lw.StateError, match="ahead of training") as error:
        sampler.state_dict()
    assert "batches=k" in error.value.hint
    again = BatchSampler(lengths, "shuffled", budget=BUDGET)
    again.load_state_dict(sampler.state_dict(batches=3))
    assert everything_once(trained + list(again))
    with pytest.raises(lw.StateError):
        sampler.state_dict(batches=10_000)


def test_the_middle_of_a_step_goes_on_with_as_many_ranks(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, accumulate=4, rank=0, world_size=2)
    running = iter(sampler)
    first = [next(running) for _ in range(6)]
    again = BatchSampler(lengths, "shuffled", budget=BUDGET, accumulate=4, rank=0, world_size=2)
    again.load_state_dict(sampler.state_dict())
    sampler.set_epoch(0)
    assert first + list(again) == list(sampler)
    other = BatchSampler(lengths, "shuffled", budget=BUDGET, accumulate=4, rank=0, world_size=1)
    sampler.set_epoch(0)
    running = iter(sampler)
    for _ in range(6):
        next(running)
    state = sampler.state_dict()
    with pytest.warns(lw.LengthwiseWarning, match="starts again"):
        other.load_state_dict(state)
    for accumulate in (1, 2, 8):
        seen = [batch for rank in range(2) for batch in _first(lengths, rank, 4)]
        other = BatchSampler(lengths, "shuffled", budget=BUDGET, accumulate=accumulate, rank=0, world_size=1)
        with pytest.warns(lw.LengthwiseWarning, match="starts again"):
            other.load_state_dict(state)
            assert everything_once(seen + list(other))


def _first(lengths, rank: int, count: int) -> list:
    """The batches of the first whole step of a rank."""
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, accumulate=4, rank=rank, world_size=2)
    running = iter(sampler)
    return [next(running) for _ in range(count)]


def test_epochs_and_states_together(sampler, lengths):
    running = iter(sampler)
    first = [next(running) for _ in range(4)]
    state = sampler.state_dict()
    rest = list(running)
    again = BatchSampler(lengths, "shuffled", budget=BUDGET)
    again.load_state_dict(state)
    assert again.state_dict() == state
    again.set_epoch(0)  # As loops over epochs do: the state stays.
    assert list(again) == rest
    again.load_state_dict(state)
    with pytest.warns(lw.LengthwiseWarning):
        again.set_epoch(1)  # Another epoch begins at its beginning.
    assert everything_once(list(again))
    again.load_state_dict(state)
    assert list(again) == rest and everything_once(list(again)) and again.epoch == 1
    assert everything_once(first + rest)


def test_two_iterators_do_not_disturb_each_other(sampler):
    one, other = iter(sampler), iter(sampler)
    pairs = list(zip(one, other))
    assert everything_once([first for first, _ in pairs])
    assert everything_once([second for _, second in pairs])
    assert [first for first, _ in pairs] == [second for _, second in pairs]


def test_the_epoch_can_be_chosen_until_the_first_batch(sampler):
    """Lightning makes the iterator first."""
    expected = [list(sampler) for _ in range(4)]
    running = iter(sampler)
    sampler.set_epoch(2)
    assert list(running) == expected[2]
    assert list(sampler) == expected[3]


def test_choosing_the_epoch_that_runs_changes_no_state(lengths, data):
    pytest.importorskip("torchdata")
    for workers in (0, 2):
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
        batches = loader(data, sampler, num_workers=workers)
        running = iter(batches)
        sampler.set_epoch(0)  # With workers, batches of this epoch are on their way already.
        first = rows([next(running) for _ in range(10)])
        again = loader(data, BatchSampler(lengths, "shuffled", budget=BUDGET), num_workers=workers)
        again.load_state_dict(batches.state_dict())
        assert everything_once(first + rows(again))
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    running = iter(sampler)
    first = [next(running)]
    sampler.set_epoch(0)
    first += [next(running) for _ in range(5)]
    again = BatchSampler(lengths, "shuffled", budget=BUDGET)
    again.load_state_dict(sampler.state_dict())
    assert everything_once(first + list(again))


@pytest.mark.parametrize("workers", [0, 2])
def test_after_the_end_of_an_epoch_comes_the_next(lengths, data, workers):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    expected = [list(sampler) for _ in range(3)]
    sampler.set_epoch(0)
    list(sampler)
    state = sampler.state_dict()

    def loaded():
        again = BatchSampler(lengths, "shuffled", budget=BUDGET)
        again.load_state_dict(state)
        options = {"collate_fn": pad_collate(again), "num_workers": workers}
        return again, DataLoader(data, batch_sampler=again, **options)

    again, batches = loaded()
    taken = []
    for epoch in range(3):
        again.set_epoch(epoch)
        taken.append(rows(batches))
    assert taken == [[], *expected[1:]]
    again, batches = loaded()
    assert rows(batches) == expected[1]


def test_a_state_that_is_dropped_is_spoken_of(sampler):
    running = iter(sampler)
    next(running)
    state = sampler.state_dict()
    sampler.load_state_dict(state)
    with pytest.warns(lw.LengthwiseWarning, match="dropped"):
        sampler.set_epoch(5)


def test_a_sampler_can_be_pickled(sampler):
    running = iter(sampler)
    next(running)
    again = pickle.loads(pickle.dumps(sampler))
    assert list(again) == list(running)
    again = copy.deepcopy(sampler)  # After the end of an epoch.
    assert list(again) == list(sampler)
    assert copy.deepcopy(sampler).epoch == sampler.epoch == 1


def test_wrong_states_are_refused(lengths, sampler):
    next(iter(sampler))
    state = sampler.state_dict()
    for wrong in (
        {},
        {**state, "version": 2},
        {**state, "cursor": "{}"},
        {**state, "cursor": None},
        {**state, "extra": -1},
        {**state, "extra": 10**6},
        {**state, "extra": "3"},
        {**state, "cursor": state["cursor"].replace('"seed":0', '"seed":1')},
    ):
        with pytest.raises(lw.StateError):
            sampler.load_state_dict(wrong)
    for settings, what in (({"seed": 1}, "seed"), ({"budget": "padded:700"}, "budget")):
        other = BatchSampler(lengths, "shuffled", **{"budget": BUDGET, **settings})
        with pytest.raises(lw.StateError, match=what):
            other.load_state_dict(state)
    with pytest.raises(lw.StateError, match="lengths"):
        BatchSampler(lengths[::-1], "shuffled", budget=BUDGET).load_state_dict(state)


def test_wrong_ranks_and_datasets_are_refused(lengths, data):
    for ranks in ({"rank": 2, "world_size": 2}, {"rank": -1, "world_size": 2}, {"rank": 0}, {"world_size": 2}):
        with pytest.raises(lw.RankError):
            BatchSampler(lengths, "shuffled", budget=BUDGET, **ranks)
    assert "rank 1 of 2" in repr(BatchSampler(lengths, "shuffled", budget=BUDGET, rank=np.int64(1), world_size=2))
    with pytest.raises(lw.SettingError, match="no budget"):
        BatchSampler(lengths)
    with pytest.raises(lw.SettingError, match="made this sampler anew"):
        BatchSampler(lengths, batch_size=4, drop_last=False)
    with pytest.raises(lw.SettingError, match="BatchSampler has no setting `batch_size`"):
        BatchSampler(lengths, "shuffled", budget=BUDGET, batch_size=4)
    for wrong, right in {"budgte": "budget", "shape": "shapes", "world_sise": "world_size"}.items():
        with pytest.raises(lw.SettingError, match=f"BatchSampler has no setting `{wrong}`") as error:
            BatchSampler(lengths, **{wrong: "exact"})
        assert error.value.hint == f"did you mean `{right}`?"
    with pytest.raises(lw.SettingError, match="plan has no setting `shape`"):
        lw.plan(lengths, budget=BUDGET, shape="exact")
    for epoch in (-1, 1.5, None):
        with pytest.raises(lw.SettingError):
            BatchSampler(lengths, "shuffled", budget=BUDGET).set_epoch(epoch)
    with pytest.raises(lw.RankError, match="ranks"):
        BatchSampler(lengths[:5], "shuffled", budget=BUDGET, rank=0, world_size=8, tail="drop")
    with pytest.raises(lw.LengthsError, match="streams"):
        loader(iter(data), BatchSampler(lengths, "shuffled", budget=BUDGET))
    with pytest.raises(lw.LengthsError, match="400 sequences, and there are 399"):
        BatchSampler(lengths[1:], "shuffled", budget=BUDGET, dataset=data)
    with pytest.raises(lw.LengthsError, match="400 sequences, and there are 399"):
        loader(data, BatchSampler(lengths[1:], "shuffled", budget=BUDGET))


def test_ranks_are_found(lengths, monkeypatch):
    whole = len(BatchSampler(lengths, "shuffled", budget=BUDGET))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setattr(_ranks, "_said", set())
    with pytest.warns(lw.LengthwiseWarning, match=r"rank 1 of 4, because of .* RANK and WORLD_SIZE"):
        sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    assert "rank 1 of 4" in repr(sampler) and len(sampler) < whole / 3
    everyone = BatchSampler(lengths, "shuffled", budget=BUDGET, rank="all")
    assert everything_once(list(everyone)) and len(everyone) == 4 * len(sampler)
    everyone.set_epoch(1)
    assert list(everyone)[1::4] == [list(batch) for batch in BatchSampler(lengths, "shuffled", budget=BUDGET, epoch=1)]
    monkeypatch.setenv("RANK", "4")
    with pytest.raises(lw.RankError, match="RANK=4"):
        BatchSampler(lengths, "shuffled", budget=BUDGET)
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(lw.RankError, match="first"):
        BatchSampler(lengths, "shuffled", budget=BUDGET)


@pytest.mark.parametrize(
    ("launcher", "rank", "size"),
    [
        ("torchrun", "RANK", "WORLD_SIZE"),
        ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ],
)
def test_ranks_of_variables_are_spoken_of(lengths, monkeypatch, launcher, rank, size):
    """They may be left over from another job, and a single process would see a part of the data."""
    monkeypatch.setattr(_ranks, "_said", set())
    monkeypatch.setenv(rank, "3")
    monkeypatch.setenv(size, "8")
    with pytest.warns(lw.LengthwiseWarning, match=launcher):
        BatchSampler(lengths, "shuffled", budget=BUDGET)
    assert everything_once(list(BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=1)))
    monkeypatch.setenv(rank, "0")
    monkeypatch.setenv(size, "1")  # One rank has everything: there is nothing to say.
    assert everything_once(list(BatchSampler(lengths, "shuffled", budget=BUDGET)))


class Mesh:
    """What a `DeviceMesh` says of itself."""

    def __init__(self, shape, place):
        self.shape, self.place = shape, place

    def get_coordinate(self):
        return self.place


def test_ranks_come_from_groups_and_meshes(lengths):
    def ranks(**given):
        return repr(BatchSampler(lengths, "shuffled", budget=BUDGET, **given)).split(",")[0]

    assert ranks(device_mesh=Mesh((4,), [2])) == "BatchSampler(rank 2 of 4"
    assert ranks(device_mesh=Mesh((2, 3), [1, 1])) == "BatchSampler(rank 4 of 6"
    assert ranks(device_mesh=Mesh((4,), [2]), rank="all") == "BatchSampler(rank all of 4"
    for wrong, what in (
        ({"device_mesh": Mesh((4,), None)}, "not in `device_mesh`"),
        ({"device_mesh": 4}, "cannot be a int"),
        ({"device_mesh": Mesh((4,), [2]), "world_size": 4, "rank": 2}, "given twice"),
        ({"process_group": "dp"}, "not a process group that is initialised"),
    ):
        with pytest.raises(lw.RankError, match=what):
            BatchSampler(lengths, "shuffled", budget=BUDGET, **wrong)


def test_what_is_broken_off_begins_again(lengths, data):
    """On one rank the epoch advances once all batches were taken."""
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET)
    expected = [list(BatchSampler(lengths, "shuffled", budget=BUDGET, epoch=epoch)) for epoch in range(3)]
    next(iter(sampler))
    assert list(sampler) == expected[0]
    batches = iter(sampler)
    for _ in range(len(sampler)):  # All but the end.
        next(batches)
    assert list(sampler) == expected[2]
    sampler.set_epoch(0)
    next(iter(sampler))
    next(iter(sampler))
    with pytest.warns(lw.LengthwiseWarning, match="epoch 0 begins again"):
        assert list(sampler) == expected[0]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_look_on_one_rank_does_not_put_ranks_out_of_step(lengths, data, workers):
    ranks = [BatchSampler(lengths, "shuffled", budget=BUDGET, rank=rank, world_size=2) for rank in range(2)]
    options = {"num_workers": workers, "prefetch_factor": 50} if workers else {}
    batches = [
        DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler), **options)
        for sampler in ranks
    ]
    next(iter(batches[0]))
    assert everything_once(rows(batches[0]) + rows(batches[1]))
    # Nor does the end of an epoch change it: ranks cannot know where the others are.
    with pytest.warns(lw.LengthwiseWarning, match="call `set_epoch` before each epoch"):
        again = rows(batches[0]) + rows(batches[1])
    assert everything_once(again)
    for sampler in ranks:
        sampler.set_epoch(1)
    other = rows(batches[0]) + rows(batches[1])
    assert everything_once(other) and other != again


def test_a_look_after_a_state_was_loaded_goes_on_from_it(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, rank=0, world_size=2)
    running = iter(sampler)
    first = [next(running) for _ in range(3)]
    ranks = [BatchSampler(lengths, "shuffled", budget=BUDGET, rank=rank, world_size=2) for rank in range(2)]
    for rank in ranks:
        rank.load_state_dict(sampler.state_dict())
    next(iter(ranks[0]))
    for rank in ranks:
        rank.set_epoch(0)
    second = list(islice(BatchSampler(lengths, "shuffled", budget=BUDGET, rank=1, world_size=2), 3))
    assert everything_once(first + second + list(ranks[0]) + list(ranks[1]))


def test_weights_make_the_mean_over_positions(lengths):
    """The mean over ranks of weighted mean losses is the mean over all positions of the step."""
    loss = np.random.default_rng(1).random(len(lengths))  # of each position of a sequence
    ranks = [BatchSampler(lengths, "shuffled", budget=BUDGET, rank=rank, world_size=3) for rank in range(3)]
    weights = [rank.weights() for rank in ranks]
    for step, batches in enumerate(zip(*ranks)):
        mean = np.mean([
            weights[rank][step] * np.average(loss[batch], weights=lengths[batch])
            for rank, batch in enumerate(batches)
        ])
        everything = [index for batch in batches for index in batch]
        assert mean == pytest.approx(np.average(loss[everything], weights=lengths[everything]))
    by_sequence = ranks[0].weights(of="sequences")
    assert len(by_sequence) == len(ranks[0])


@pytest.mark.parametrize("shapes", ["ladder:6", "multiple:8", "exact"])
def test_batches_have_the_planned_shapes(lengths, data, shapes):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, shapes=shapes, rank=0, world_size=3)
    planned = list(zip(sampler.plan.batch_sizes.tolist(), sampler.plan.batch_lengths.tolist()))
    assert [tuple(values.shape) for values, _ in loader(data, sampler)] == planned
    sampler.set_epoch(0)
    plain = DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler))
    for (values, counts), (size, length) in zip(plain, planned):
        assert values.shape[0] == size and counts.max() <= values.shape[1] <= length


def test_padding(lengths):
    pad = pad_collate()
    values, counts = pad([torch.tensor([1, 2]), torch.tensor([3])])
    assert values.tolist() == [[1, 2], [3, 0]] and counts.tolist() == [2, 1]
    values, counts = pad([[1, 2], [3]])
    assert values.tolist() == [[1, 2], [3, 0]]
    batch = pad_collate(padding_value={"x": -1})(
        [
            {"x": np.ones((2, 3)), "y": [7, 7], "text": [1], "label": 4, "id": "a"},
            {"x": np.ones((1, 3)), "y": [7], "text": [1, 2], "label": 5, "id": "b"},
        ]
    )
    assert batch["x"].shape == (2, 2, 3) and batch["x"][1, 1].tolist() == [-1, -1, -1]
    assert batch["y"].tolist() == [[7, 7], [7, 0]] and batch["text"].tolist() == [[1, 0], [1, 2]]
    assert batch["label"].tolist() == [4, 5] and batch["id"] == ["a", "b"]
    assert batch["lengths"].tolist() == [2, 1]
    values, labels = pad_collate(lengths=None)([(torch.ones(2), 0), (torch.ones(3), 1)])
    assert values.shape == (2, 3) and labels.tolist() == [0, 1]
    with pytest.raises(lw.LengthsError, match="no field"):
        pad([{"label": 3}])
    values, _ = pad([[1, 2], [0.5], []])
    assert values.tolist() == [[1, 2], [0.5, 0], [0, 0]]
    assert pad([[], [16777217]])[0].tolist() == [[0], [16777217]]
    fields = [{"x": [1, 2], "speaker": [7, 7]}, {"x": [3, 4], "speaker": [8, 8]}]
    named = pad_collate(like=["x"])
    named.multiple = 5
    assert {key: tuple(value.shape) for key, value in named(fields).items()} == {
        "x": (2, 5), "speaker": (2, 2), "lengths": (2,)
    }  # fmt: skip
    for wrong in (
        pad_collate(padding_value={"labls": -100}),
        pad_collate(field="frames"),
        pad_collate(lengths="speaker"),
    ):
        with pytest.raises(lw.SettingError):
            wrong(fields)
    with pytest.raises(lw.SettingError, match="-100"):
        pad_collate(padding_value=-100)([torch.zeros(2, dtype=torch.uint8)])


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (math.nan, torch.int64),
        (math.inf, torch.int64),
        (0.5, torch.int64),
        (2**70, torch.int64),
        (-1e30, torch.float16),
        (1e300, torch.float32),
        (1j, torch.float32),
        ("x", torch.float32),
        (None, torch.float32),
        ([0.0], torch.float32),
    ],
)
def test_padding_that_cannot_be_is_refused(value, kind):
    with pytest.raises(lw.SettingError, match="cannot be among values of"):
        pad_collate(padding_value=value)([torch.zeros(2, dtype=kind)])


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_padding_is_rounded_as_all_values_are(kind):
    for value in (-11.5129, math.nan, -math.inf, 3, True, np.float32(0.1)):
        values, _ = pad_collate(padding_value=value)([torch.ones(2, dtype=kind), torch.ones(1, dtype=kind)])
        expected = torch.tensor(float(value), dtype=kind)
        assert values.dtype == kind
        assert torch.equal(values[1, 1].nan_to_num(7), expected.nan_to_num(7))


def test_both_names_of_lengths_must_be_free():
    items = [{"x": [1, 2], "y": [3], "second_lengths": 4}]
    with pytest.raises(lw.SettingError, match="'second_lengths' of their own"):
        pad_collate(field="x", second="y")(items)
    assert "lengths" not in pad_collate(field="x", second="y", lengths=None)(items)


def test_items_longer_than_planned_are_refused(lengths):
    longer = [torch.zeros(int(length) + 500) for length in lengths]
    with pytest.raises(lw.LengthsError, match="was planned for"):
        next(iter(loader(longer, BatchSampler(lengths, "shuffled", budget=BUDGET))))


def test_truncated_sequences_are_cut(lengths, data):
    sampler = BatchSampler(lengths, "shuffled", budget="padded:100", over_long="truncate")
    assert len(sampler.plan.truncated)
    for values, counts in loader(data, sampler):
        assert values.shape[0] * values.shape[1] <= 100 and counts.max() <= values.shape[1]
    for shapes in ("exact", "multiple:8", "ladder:4"):
        sampler = BatchSampler(lengths, "shuffled", budget="padded:104", shapes=shapes, over_long="truncate")
        plain = DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler))
        assert all(values.numel() <= 104 for values, _ in plain)


def test_without_constant_steps_epochs_may_differ_in_length(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget=BUDGET, shapes="exact", constant_steps=False)
    counts = set()
    for epoch in range(8):
        sampler.set_epoch(epoch)
        counts.add(len(sampler))
        assert len(list(sampler)) == len(sampler)
    assert len(counts) > 1


@pytest.mark.parametrize("budget", ["padded:600", "padded:600,at-most=30"])
@pytest.mark.parametrize("shapes", ["exact", "multiple:8", "ladder:8"])
def test_plain_loaders_keep_the_budget_too(lengths, data, budget, shapes):
    for over_long in ("error", "alone", "truncate"):
        more = {"budget": "padded:100"} if over_long != "error" else {"budget": budget}
        sampler = BatchSampler(lengths, "shuffled", shapes=shapes, over_long=over_long, **more)
        batches = DataLoader(data, batch_sampler=sampler, collate_fn=pad_collate(sampler))
        assert sum(len(counts) for _, counts in batches) == len(lengths)
    sampler = BatchSampler(lengths, "shuffled", budget=budget, shapes=shapes)
    longer = Sequences(lengths + 2)
    batches = DataLoader(longer, batch_sampler=sampler, collate_fn=pad_collate(sampler))
    with pytest.raises(lw.LengthsError, match="longer than planned|was planned for") as error:
        list(batches)
    assert "real lengths" in error.value.hint
    # Whatever the budget.
    sampler = BatchSampler(lengths, "shuffled", budget=8, shapes=shapes)
    batches = DataLoader(longer, batch_sampler=sampler, collate_fn=pad_collate(sampler))
    with pytest.raises(lw.LengthsError, match=f"was planned for at most {lengths.max()}"):
        list(batches)


def test_plain_loaders_refuse_second_items_that_are_longer():
    items = [{"x": torch.ones(3), "y": torch.ones(length)} for length in (2, 3, 5)]
    sampler = BatchSampler([3, 3, 3], second=[2, 3, 4], budget=3)
    collate = pad_collate(sampler, field="x", second="y")
    with pytest.raises(lw.LengthsError, match="second length 5, but its batch was planned for at most 4"):
        list(DataLoader(items, batch_sampler=sampler, collate_fn=collate))


@pytest.mark.parametrize("strategy", ["proportional", "shuffled", "packed"])
def test_every_step_has_as_many_tokens_as_an_update(lengths, strategy):
    """With the loop that accumulates gradients: `accumulate` batches are one step."""
    update = 3000
    for world_size in (1, 2):
        samplers = [
            BatchSampler(lengths, strategy, budget=BUDGET, update=f"tokens:{update}", rank=rank, world_size=world_size)
            for rank in range(world_size)
        ]
        steps = round(lengths.sum() / update)
        for epoch in (0, 4):
            ranks = []
            for sampler in samplers:
                sampler.set_epoch(epoch)
                ranks.append(list(sampler))
            each = samplers[0].accumulate
            assert each > 1 and {len(batches) for batches in ranks} == {steps * each} == {len(samplers[0])}
            assert everything_once([batch for batches in ranks for batch in batches])
            if strategy == "proportional":
                for step in range(steps):
                    batches = [batch for rank in ranks for batch in rank[step * each : (step + 1) * each]]
                    tokens = sum(int(lengths[index]) for batch in batches for index in batch)
                    assert tokens == pytest.approx(lengths.sum() / steps, rel=0.15)
    schedule = samplers[0].plan.schedule(1)
    assert schedule.step_mix >= 0


def test_proportional_steps_are_alike(lengths):
    settings = {"budget": BUDGET, "update": "tokens:3000"}
    mixes = {
        strategy: lw.plan(lengths, strategy, **settings).schedule(1).step_mix
        for strategy in ("proportional", "shuffled", "sorted")
    }
    assert mixes["proportional"] < 0.3 < mixes["sorted"]
    assert lw.plan(lengths, "proportional", **settings).settings["update"] == "tokens:3000"
    sorted_batches = lw.plan(lengths, "sorted", budget=BUDGET).schedule(1).step_mix
    assert sorted_batches > 3
