"""Datasets whose lengths are learned in the first epoch."""

from __future__ import annotations

import itertools

import lengthwise as lw
import numpy as np
import pytest
from lengthwise import FileError, LengthsError, SettingError, StateError

torch = pytest.importorskip("torch")
pytest.importorskip("torchdata")
from conftest import SEQUENCES, everything_once  # noqa: E402
from lengthwise.torch import LearningLoader  # noqa: E402

BUDGET = "padded:600"

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class Items:
    """Sequence `i` holds its own number, as often as it is long."""

    def __init__(self, lengths: np.ndarray) -> None:
        self.lengths, self.loaded = lengths.tolist(), []

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> torch.Tensor:
        self.loaded.append(index)
        return torch.full((self.lengths[index],), float(index))


@pytest.fixture
def learning(lengths, tmp_path):
    def make(dataset=None, **settings):
        settings = {"budget": BUDGET, "window": 64, **settings}
        return LearningLoader(Items(lengths) if dataset is None else dataset, tmp_path / "lengths.npy", **settings)

    return make


def indices(batches) -> list[list[int]]:
    taken = []
    for values, _ in batches:
        assert values.shape[0] * values.shape[1] <= 600
        taken.append([int(value) for value in values[:, 0]])
    return taken


@pytest.mark.parametrize("num_workers", [0, 2])
def test_the_first_epoch_learns_and_the_others_are_planned(learning, lengths, tmp_path, num_workers):
    loader = learning(num_workers=num_workers)
    assert loader.is_learning and loader.lengths is None
    with pytest.raises(TypeError, match="not known"):
        len(loader)
    epochs = [indices(loader)]
    assert not loader.is_learning and (loader.lengths == lengths).all()
    assert (lw.read_lengths(tmp_path / "lengths.npy") == lengths).all()
    epochs += [indices(loader) for _ in range(2)]
    assert loader.epoch == 3 and len(loader) == len(epochs[1]) == len(epochs[2])
    assert all(map(everything_once, epochs))
    assert epochs[1] != epochs[2]
    # As planned from the beginning by another run, which finds the file.
    again = learning()
    assert not again.is_learning
    again.set_epoch(1)
    assert indices(again) == epochs[1]


@pytest.mark.parametrize(("accumulate", "strategy"), [(1, "blurred"), (3, "proportional")])
def test_planned_epochs_pad_little(learning, accumulate, strategy):
    loader = learning(accumulate=accumulate)
    for _ in range(2):
        cells = sum(values.numel() for values, _ in loader)
    assert loader.lengths.sum() / cells > 0.75
    assert strategy in repr(loader._planned.batch_sampler)


def test_each_item_is_loaded_once_in_random_order(learning, lengths):
    dataset = Items(lengths)
    first = indices(learning(dataset))
    assert sorted(dataset.loaded) == list(range(SEQUENCES)) and dataset.loaded != list(range(SEQUENCES))
    assert indices(learning(num_workers=2)) != first  # The file is there now: it is planned.


def test_epochs_resume_where_they_stopped(learning, lengths, tmp_path):
    loader = learning()
    whole = [indices(loader) for _ in range(2)]
    (tmp_path / "lengths.npy").unlink()
    first = learning()
    before = indices(itertools.islice(first, 5))
    state = first.state_dict()
    resumed = learning()
    resumed.load_state_dict(state)
    assert before + indices(resumed) == whole[0]
    # What the run before it had learned was in the file.
    assert (resumed.lengths == lengths).all()
    before = indices(itertools.islice(resumed, 5))
    again = learning()
    again.load_state_dict(resumed.state_dict())
    assert before + indices(again) == whole[1]
    assert again.epoch == 2


def test_without_the_file_the_rest_is_learned_in_another_epoch(learning, lengths, tmp_path):
    first = learning()
    before = indices(itertools.islice(first, 5))
    state = first.state_dict()
    (tmp_path / "lengths.npy").unlink()
    resumed = learning()
    resumed.load_state_dict(state)
    assert everything_once(before + indices(resumed)) and resumed.is_learning
    assert everything_once(indices(resumed)) and (resumed.lengths == lengths).all()


def test_what_is_wrong_is_said(learning, lengths, tmp_path):
    with pytest.raises(SettingError, match="budget"):
        learning(budget=None)
    with pytest.raises(SettingError, match="`update` plans optimizer steps"):
        learning(update="tokens:4000")
    with pytest.raises(SettingError, match="no setting `strategi`"):
        learning(strategi="sorted")
    with pytest.raises(SettingError, match="no setting `kind`"):  # The first epoch would mix kinds.
        learning(kind=[0, 1] * 200)
    with pytest.raises(lw.RankError, match='rank="all"'):
        learning(rank="all")
    with pytest.raises(LengthsError, match="no items to choose from"):
        learning(iter([1]))
    with pytest.raises(LengthsError, match="item 3 of the dataset has no length"):
        indices(learning([torch.zeros(2), torch.zeros(2), torch.zeros(2), 5], seed=3))
    with pytest.raises(StateError, match="not the state of a learning loader"):
        learning().load_state_dict({"version": 1})
    with pytest.raises(StateError, match="does not have all lengths"):
        learning().load_state_dict({"version": 1, "epoch": 1, "planned": {}})
    with pytest.raises(SettingError, match="strategy"):
        learning(strategy="bogus")
    with pytest.raises(SettingError, match="no setting `bogus`"):
        learning(options={"bogus": 1})
    with pytest.raises(FileError, match="cannot write"):
        LearningLoader([torch.zeros(2)], tmp_path / "none" / "lengths.npy", budget=4)
    with pytest.raises(FileError, match="cannot write"):
        LearningLoader([torch.zeros(2)], tmp_path, budget=4)
    with pytest.raises(lw.RankError, match="not initialized"):
        list(learning(rank=0, world_size=2))
    np.save(tmp_path / "lengths.npy", lengths[:-1])
    with pytest.raises(FileError, match="expected 400 lengths"):
        learning()
    for wrong in (b"no array", b"", b"PK\3\4"):
        (tmp_path / "lengths.npy").write_bytes(wrong)
        with pytest.raises(FileError, match="cannot read the lengths"):
            learning()


@pytest.mark.parametrize("num_workers", [0, 1])
def test_errors_name_the_item_of_the_dataset(learning, num_workers):
    class Broken(list):
        def __getitem__(self, index):
            if index == 7:
                raise OSError("not there")
            return super().__getitem__(index)

    items = [torch.zeros(5)] * 12
    with pytest.raises(OSError, match="not there") as raised:
        list(learning(Broken(items), num_workers=num_workers))
    assert getattr(raised.value, "__notes__", ["failed for item 7 of the dataset"]) == ["failed for item 7 of the dataset"]
    items[5] = torch.zeros(0)
    with pytest.raises(LengthsError, match="sequence 5 has length 0") as raised:
        list(learning(items, num_workers=num_workers))
    items[5] = torch.zeros(999)
    with pytest.raises(lw.BudgetError, match="sequence 5 of length 999") as raised:
        list(learning(items, num_workers=num_workers))
    assert raised.value.index == 5


def test_ranks_resume_what_two_have_learned(on_ranks, tmp_path, lengths):
    """Two ranks stop in the first epoch, and one goes on; what both had learned is in the file."""
    file, state = tmp_path / "lengths.npy", tmp_path / "state.json"
    first = on_ranks("learned.py", 2, str(file), str(state), "8")
    rest = on_ranks("learned.py", 1, str(file), str(state), "0")
    assert everything_once([batch for one in first + rest for batch in one["epochs"][0]])
    assert not rest[0]["learning"] and (np.load(file) == lengths).all()
    assert everything_once(rest[0]["epochs"][1])


def test_ranks_agree_though_one_has_no_file(on_ranks, tmp_path, lengths):
    np.save(tmp_path / "lengths-0.npy", lengths)
    ranks = on_ranks("learned.py", 2, str(tmp_path / "lengths-"), str(tmp_path / "none"), "0")
    assert not any(one["learning"] for one in ranks)
    for epoch in range(3):
        assert everything_once([batch for one in ranks for batch in one["epochs"][epoch]])


@pytest.mark.parametrize("world_size", [2])
def test_ranks_share_what_they_learn(on_ranks, tmp_path, lengths, world_size):
    file = tmp_path / "lengths.npy"
    ranks = on_ranks("learned.py", world_size, str(file), str(tmp_path / "none"), "0")
    for epoch in range(3):
        assert everything_once([batch for one in ranks for batch in one["epochs"][epoch]])
        assert len({len(one["epochs"][epoch]) for one in ranks}) == 1
    assert sorted(index for one in ranks for index in one["loaded"]) == list(range(SEQUENCES))
    assert (np.load(file) == lengths).all()
    assert {one["epoch"] for one in ranks} == {3}
