"""Lhotse: planned batches are cut sets, which its datasets, loaders and other samplers take."""

from __future__ import annotations

import copy
import io
import json
import pickle
import warnings
from itertools import islice

import numpy as np
import pytest

torch = pytest.importorskip("torch")
lhotse = pytest.importorskip("lhotse")

import lengthwise as lw  # noqa: E402
from lengthwise.lhotse import (  # noqa: E402
    Buckets, PlannedCutSampler, StreamCutSampler, bucket_bins, lengths_of,
)  # fmt: skip
from lengthwise.torch import steps  # noqa: E402
from lhotse import CutSet, MonoCut, SupervisionSegment  # noqa: E402
from lhotse.dataset import (  # noqa: E402
    DynamicBucketingSampler, IterableDatasetWrapper, K2SpeechRecognitionDataset, RoundRobinSampler,
)  # fmt: skip
from lhotse.dataset.input_strategies import AudioSamples  # noqa: E402
from lhotse.dataset.sampling.base import CutSampler  # noqa: E402
from lhotse.dataset.sampling.dynamic_bucketing import FixedBucketBatchSizeConstraint  # noqa: E402
from lhotse.features import Features  # noqa: E402
from lhotse.features.io import MemoryRawWriter  # noqa: E402
from lhotse.utils import fastcopy  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

CUTS, BUDGET, SHIFT, RATE = 200, 3000, 0.01, 16000


def features_of(number: int, frames: int) -> np.ndarray:
    """Features that say which cut they are of."""
    return np.full((frames, 4), number / 10, dtype=np.float32)


def cuts_of(frames: list[int]) -> CutSet:
    """Cuts whose features are in memory."""
    made = []
    with MemoryRawWriter() as writer:
        for number, count in enumerate(frames):
            duration = round(count * SHIFT, 8)  # As in manifests: 57 * 0.01 is a little more.
            features = Features(
                type="fbank", num_frames=count, num_features=4, frame_shift=SHIFT, sampling_rate=RATE, start=0,
                duration=duration, storage_type=writer.name, storage_path="",
                storage_key=writer.write(str(number), features_of(number, count)), recording_id=f"recording-{number}",
                channels=0,
            )  # fmt: skip
            said = SupervisionSegment(f"said-{number}", f"recording-{number}", 0.0, duration, text=f"text {number}")
            made.append(MonoCut(str(number), 0.0, duration, 0, supervisions=[said], features=features))
    return CutSet.from_cuts(made)


@pytest.fixture(scope="module")
def cuts() -> CutSet:
    """Frames from 20 to 400, most of them few."""
    return cuts_of(np.clip(np.random.default_rng(5).lognormal(4.3, 0.6, CUTS), 20, 400).astype(int).tolist())


def numbers(batch: CutSet) -> list[int]:
    return [int(cut.id) for cut in batch]


def planned(cuts, strategy="shuffled", **settings) -> PlannedCutSampler:
    return PlannedCutSampler(cuts, strategy, **{"budget": f"padded:{BUDGET}", "rank": 0, "world_size": 1, **settings})


def streamed(cuts, **settings) -> StreamCutSampler:
    return StreamCutSampler(cuts, **{"budget": f"padded:{BUDGET}", "window": 50, "rank": 0, "world_size": 1, **settings})


def once(batches: list[list[int]]) -> bool:
    return sorted(number for batch in batches for number in batch) == list(range(CUTS))


def cells_of(batch: CutSet) -> int:
    return len(batch) * max(cut.num_frames for cut in batch)


class Numbers(Dataset):
    """A dataset as those of Lhotse: what it is asked for is a cut set."""

    def __getitem__(self, batch: CutSet) -> list[int]:
        assert isinstance(batch, CutSet)
        assert all(cut.dataloading_info["world_size"] == 1 for cut in batch)
        return numbers(batch)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_dataset_of_lhotse_gets_every_cut_once(cuts, workers):
    sampler = planned(cuts)
    assert isinstance(sampler, CutSampler)
    loader = DataLoader(
        K2SpeechRecognitionDataset(return_cuts=True), sampler=sampler, batch_size=None, num_workers=workers
    )
    seen = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        found = []
        for batch in loader:
            found.append([int(cut.id) for cut in batch["supervisions"]["cut"]])
            size, length, _ = batch["inputs"].shape
            assert size * length <= BUDGET
            values = batch["inputs"][:, 0, 0].tolist()
            assert values == pytest.approx([number / 10 for number in found[-1]])
        assert once(found) and len(found) == len(loader) == len(sampler)
        seen.append(found)
    assert seen[0] != seen[1]
    assert sampler.get_report().startswith("|  total  | cuts kept 400/400")


def test_cuts_are_padded_to_the_planned_lengths_of_a_ladder(cuts):
    sampler = planned(cuts, shapes="ladder:4", pad=True)
    loader = DataLoader(K2SpeechRecognitionDataset(), sampler=sampler, batch_size=None)
    found = [batch["inputs"].shape[1] for batch in loader]
    assert found == sampler.batch_sampler.plan.batch_lengths.tolist()
    assert len(set(found)) == 4
    # Without it, a dataset pads to the longest cut of the batch.
    loader = DataLoader(K2SpeechRecognitionDataset(), sampler=planned(cuts, shapes="ladder:4"), batch_size=None)
    assert len({batch["inputs"].shape[1] for batch in loader}) > 4


def test_padding_leaves_the_features_as_they_are(cuts):
    padded = {cut.id: cut for batch in planned(cuts, shapes="ladder:2", pad=True) for cut in batch}
    for cut in islice(cuts, 20):
        found = padded[cut.id].load_features()
        np.testing.assert_allclose(found[: cut.num_frames], cut.load_features(), atol=1e-4)


@pytest.mark.parametrize("shift", [None, SHIFT])
def test_a_cut_of_the_planned_length_is_not_padded_by_nothing(shift):
    sampler = planned(cuts_of([29, 57, 58, 30]), shapes="ladder:29/57/58", pad=True, frame_shift=shift)
    for batch in sampler:
        lhotse.validate(batch)
    assert {cut.num_frames for batch in sampler for cut in batch} == {29, 57, 58}


@pytest.mark.parametrize("unit", ["frames", "samples"])
def test_audio_that_is_in_memory(unit):
    soundfile = pytest.importorskip("soundfile")
    made = []
    for number, seconds in enumerate([0.1, 0.25, 0.2, 0.12, 0.31]):
        written = io.BytesIO()
        soundfile.write(written, np.full(round(seconds * RATE), 0.1), RATE, format="wav")
        recording = lhotse.Recording.from_bytes(written.getvalue(), f"recording-{number}")
        said = SupervisionSegment(f"said-{number}", recording.id, 0.0, seconds, text="text")
        made.append(MonoCut(str(number), 0.0, seconds, 0, supervisions=[said], recording=recording))
    cuts = CutSet.from_cuts(made)
    settings = {"frame_shift": SHIFT} if unit == "frames" else {"unit": "samples"}
    expected = [10, 25, 20, 12, 31] if unit == "frames" else [1600, 4000, 3200, 1920, 4960]
    assert lengths_of(cuts, **settings).tolist() == expected
    with pytest.raises(lw.LengthsError, match="cut 0 has no features"):
        lengths_of(cuts)
    budget = 62 if unit == "frames" else 9920
    sampler = planned(cuts, "sorted", budget=f"padded:{budget}", shapes="ladder:2", pad=True, **settings)
    dataset = K2SpeechRecognitionDataset(input_strategy=AudioSamples())
    found = [tuple(batch["inputs"].shape) for batch in DataLoader(dataset, sampler=sampler, batch_size=None)]
    assert sum(size for size, _ in found) == 5
    per = 160 if unit == "frames" else 1
    assert [length for _, length in found] == [per * length for length in sampler.batch_sampler.plan.batch_lengths]
    assert max(size * length for size, length in found) <= per * budget


@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("make", [planned, streamed])
def test_every_rank_takes_as_many_steps(cuts, make, ranks):
    found = [
        [numbers(batch) for batch in make(cuts, rank=rank, world_size=ranks, epoch=3)]
        for rank in range(ranks)
    ]
    assert len({len(batches) for batches in found}) == 1
    assert once([batch for batches in found for batch in batches])


@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 1), (2, 3)])
@pytest.mark.parametrize("make", [planned, streamed])
def test_an_epoch_resumes_on_another_number_of_ranks(cuts, make, before, after):
    seen, states = [], []
    for rank in range(before):
        sampler = make(cuts, rank=rank, world_size=before)
        sampler.set_epoch(2)
        seen += [numbers(batch) for batch in islice(sampler, 5)]
        states.append(json.loads(json.dumps(sampler.state_dict())))
    assert all(state == states[0] for state in states)
    lengths = set()
    for rank in range(after):
        sampler = make(cuts, rank=rank, world_size=after)
        sampler.load_state_dict(states[0])
        sampler.set_epoch(2)
        rest = [numbers(batch) for batch in sampler]
        lengths.add(len(rest))
        seen += rest
    assert once(seen) and len(lengths) == 1


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize("make", [planned, streamed])
def test_loaders_that_read_ahead_resume_exactly(cuts, make, stateful):
    def loader_of(sampler):
        if not stateful:
            return DataLoader(Numbers(), sampler=sampler, batch_size=None, num_workers=2)
        torchdata = pytest.importorskip("torchdata.stateful_dataloader")
        return torchdata.StatefulDataLoader(Numbers(), sampler=sampler, batch_size=None, num_workers=2)

    whole = list(loader_of(make(cuts)))
    sampler = make(cuts)
    loader = loader_of(sampler)
    seen = list(islice(loader, 4))
    other = make(cuts)
    again = loader_of(other)
    if stateful:
        again.load_state_dict(loader.state_dict())
    else:
        with pytest.raises(lw.StateError, match="reads ahead"):
            sampler.state_dict()
        other.load_state_dict(sampler.state_dict(batches=4))
    assert seen + list(again) == whole
    assert once(whole)


@pytest.mark.filterwarnings("ignore:This DataLoader will create 3")
@pytest.mark.parametrize("workers", [0, 2, 3])
@pytest.mark.parametrize("make", [planned, streamed])
def test_workers_that_hold_the_sampler_return_its_batches_in_turn(cuts, make, workers):
    expected = [numbers(batch) for batch in make(cuts, epoch=1)]
    sampler = make(cuts)
    loader = DataLoader(IterableDatasetWrapper(Numbers(), sampler), batch_size=None, num_workers=workers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # Of more batches than the loader has guessed.
        loader.dataset.set_epoch(1)
        assert list(loader) == expected
        if workers:
            with pytest.raises(lw.StateError, match="how many"):
                sampler.state_dict()
        assert [numbers(batch) for batch in _resumed(make(cuts), sampler.state_dict(batches=3))] == expected[3:]


def _resumed(sampler, state):
    sampler.load_state_dict(state)
    return sampler


@pytest.fixture
def manifest(cuts, tmp_path):
    """A manifest on disk, whose features are elsewhere: nothing here reads them."""
    path = tmp_path / "cuts.jsonl.gz"
    elsewhere = [fastcopy(cut, features=fastcopy(cut.features, storage_key="elsewhere")) for cut in cuts]
    CutSet.from_cuts(elsewhere).to_file(path)
    return path


def test_lazy_cuts_are_streamed(manifest):
    lazy = CutSet.from_jsonl_lazy(manifest)
    with pytest.raises(lw.LengthsError, match="lazily"):
        planned(lazy)
    sampler = streamed(lazy, shapes="ladder:80/160/400", pad=True)
    assert isinstance(sampler, CutSampler)
    found = list(sampler)
    assert once([numbers(batch) for batch in found])
    assert {cut.num_frames for batch in found for cut in batch} == {80, 160, 400}
    assert max(cells_of(batch) for batch in found) <= BUDGET
    assert sampler.num_cuts is sampler.remaining_cuts is None


class Shuffled:
    """Cuts in another order in every epoch, as Lhotse Shar has them."""

    epoch = 0

    def __init__(self, cuts) -> None:
        self.cuts = list(cuts)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __iter__(self):
        yield from (self.cuts[index] for index in np.random.default_rng(self.epoch).permutation(CUTS))


def test_lazy_cuts_are_told_the_epoch(cuts):
    sampler = streamed(CutSet(Shuffled(cuts)), seed=1)
    found = []
    for epoch in (0, 1, 0):
        sampler.set_epoch(epoch)
        found.append([numbers(batch) for batch in sampler])
        assert once(found[-1])
    assert found[0] == found[2] != found[1]


def test_cuts_are_left_out_and_changed_as_in_lhotse(cuts):
    for make in (planned, streamed):
        sampler = make(cuts).filter(lambda cut: cut.num_frames >= 60).filter(lambda cut: int(cut.id) % 2)
        sampler.map(lambda batch: batch.modify_ids(lambda name: f"{name}-changed"))
        found = sorted(cut.id for batch in sampler for cut in batch)
        assert found == sorted(f"{cut.id}-changed" for cut in cuts if cut.num_frames >= 60 and int(cut.id) % 2)
    with pytest.raises(lw.LengthsError, match="no cuts"):
        planned(cuts).filter(lambda cut: False)
    with pytest.raises(lw.SettingError, match="`kind`"):
        planned(cuts, kind=["a", "b"] * (CUTS // 2)).filter(lambda cut: True)


def test_it_counts_what_is_left(cuts):
    sampler = planned(cuts)
    assert sampler.num_cuts == sampler.remaining_cuts == CUTS
    taken = [cut for batch in islice(sampler, 4) for cut in batch]
    assert sampler.remaining_cuts == CUTS - len(taken)
    total = sum(cut.duration for cut in cuts)
    assert sampler.remaining_duration == pytest.approx(total - sum(cut.duration for cut in taken))


def test_other_samplers_of_lhotse_take_it(cuts):
    samplers = RoundRobinSampler(planned(cuts), planned(cuts, seed=1))
    found = [numbers(batch) for batch in samplers]
    assert sorted(number for batch in found for number in batch) == sorted([*range(CUTS)] * 2)


def test_optimizer_steps_are_planned(cuts):
    sampler = planned(cuts, None)
    loader = DataLoader(Numbers(), sampler=sampler, batch_size=None)
    found = [[list(batch) for batch in step] for step in steps(loader)]
    assert sampler.accumulate > 1
    assert {len(step) for step in found} == {sampler.accumulate}
    assert once([batch for step in found for batch in step])


def test_a_copy_goes_on_with_the_epoch_that_runs(cuts):
    sampler = planned(cuts)
    running = iter(sampler)
    for _ in range(3):
        next(running)
    copies = [pickle.loads(pickle.dumps(sampler)), copy.deepcopy(sampler)]
    left = [numbers(next(running)) for _ in range(len(sampler) - 3)]
    with pytest.raises(StopIteration):
        next(running)
    for other in copies:
        assert [numbers(batch) for batch in other] == left


def padding(batches) -> float:
    cells, real = sum(map(cells_of, batches)), sum(cut.num_frames for batch in batches for cut in batch)
    return 1 - real / cells


@pytest.mark.filterwarnings("ignore:You are using DynamicBucketingSampler")
def test_padding_is_no_more_than_that_of_lhotse_at_equal_cells(cuts):
    theirs = DynamicBucketingSampler(
        cuts, max_duration=BUDGET * SHIFT, num_buckets=8, shuffle=True, rank=0, world_size=1
    )
    other = list(theirs)
    # What their largest batch takes is what ours may take.
    budget = f"padded:{max(map(cells_of, other))}"
    own = list(planned(cuts, "shuffled", budget=budget, shapes="ladder:8"))
    assert once([numbers(batch) for batch in own]) and once([numbers(batch) for batch in other])
    assert padding(own) <= padding(other)


@pytest.mark.filterwarnings("ignore:You are using DynamicBucketingSampler")
def test_lhotse_takes_the_best_buckets(cuts):
    made = bucket_bins(cuts, 6, budget=f"padded:{BUDGET}", frame_shift=SHIFT)
    assert isinstance(made, Buckets) and len(made.bucket_duration_bins) == len(made.bucket_batch_size) == 6
    rungs = lw.ladder(lengths_of(cuts), 6)
    assert made.bucket_duration_bins == pytest.approx((rungs * SHIFT).tolist())
    assert made.bucket_batch_size == [BUDGET // rung for rung in rungs.tolist()]
    assert bucket_bins([cut.duration for cut in cuts], 6, budget=f"padded:{BUDGET}") == made
    sampler = DynamicBucketingSampler(
        cuts, constraint=FixedBucketBatchSizeConstraint(*made), duration_bins=made.bucket_duration_bins, shuffle=True,
        rank=0, world_size=1,
    )  # fmt: skip
    found = list(sampler)
    assert once([numbers(batch) for batch in found])
    assert max(cells_of(batch) for batch in found) <= BUDGET
    # The bounds that Lhotse estimates, with as many cuts as the budget holds of the longest in each bucket.
    bounds = [*sampler_bins(cuts, 6), max(cut.duration for cut in cuts)]
    sizes = [int(BUDGET * SHIFT / bound + 1e-9) for bound in bounds]
    other = list(DynamicBucketingSampler(
        cuts, constraint=FixedBucketBatchSizeConstraint(bounds, sizes), duration_bins=bounds, shuffle=True, rank=0,
        world_size=1,
    ))  # fmt: skip
    assert padding(found) <= padding(other)


def sampler_bins(cuts, count):
    return DynamicBucketingSampler(cuts, max_duration=30, num_buckets=count, rank=0, world_size=1).duration_bins


def test_cuts_share_rows(cuts):
    found = list(planned(cuts, "packed"))
    assert once([numbers(batch) for batch in found])
    assert max(sum(cut.num_frames for cut in batch) for batch in found) <= BUDGET
    assert len(found) <= 1.1 * sum(cut.num_frames for cut in cuts) / BUDGET + 1


@pytest.mark.parametrize("budget", ["sequences:7", "dynamic:3", "padded:3000,at-most=5", 9])
def test_buckets_of_every_budget(cuts, budget):
    made = bucket_bins(cuts, 4, budget=budget)
    plan = lw.plan(np.repeat(lengths_of(cuts), 20), "shuffled", budget=budget, shapes="ladder:4")
    largest = [int(plan.batch_sizes[plan.batch_lengths == rung].max()) for rung in sorted(set(plan.batch_lengths))]
    assert made.bucket_batch_size == largest


@pytest.mark.parametrize(
    ("durations", "budget", "sizes"),
    [
        ([0.5, 0.8, 1.0], "padded:20000", [400, 200]),
        ([2.0, 9.0, 15.0], "padded:100000", [500, 111, 66]),
        ([2.0, 9.0, 15.0], "sequences:100", [100, 100, 100]),
    ],
)
def test_buckets_of_a_budget_that_holds_many_of_the_longest(durations, budget, sizes):
    assert bucket_bins(durations * 1000, len(sizes), budget=budget).bucket_batch_size == sizes


def test_manifests_are_read_as_they_are(cuts, manifest, tmp_path):
    expected = lengths_of(cuts).tolist()
    assert lw.read_lengths(manifest).tolist() == expected
    assert lw.read_lengths(manifest, frame_shift=SHIFT).tolist() == expected
    lines = [json.dumps({"audio_filepath": f"{cut.id}.wav", "duration": cut.duration, "text": "a"}) for cut in cuts]
    (tmp_path / "nemo.jsonl").write_text("\n".join(lines) + "\n")
    assert lw.read_lengths(tmp_path / "nemo.jsonl", frame_shift=SHIFT).tolist() == expected


def test_what_is_wrong_is_said(cuts):
    with pytest.raises(lw.SettingError, match="frame_shift"):
        lengths_of(cuts, frame_shift=0)
    with pytest.raises(lw.SettingError, match="unit"):
        lengths_of(cuts, unit="seconds")
    with pytest.raises(lw.SettingError, match="max_duration"):
        planned(cuts, max_duration=200)
    for make in (planned, streamed):
        with pytest.raises(lw.SettingError, match="truncate"):
            make(cuts, over_long="truncate")
    with pytest.raises(lw.SettingError, match="share a row"):
        planned(cuts, "packed", pad=True)
    with pytest.raises(lw.ArgumentTypeError, match="expected a CutSet, got a str"):
        planned("cuts.jsonl.gz")
    with pytest.raises(lw.BudgetError, match="alone exceeds the budget padded:100"):
        bucket_bins(cuts, 4, budget="padded:100")
    with pytest.raises(lw.RankError, match="all"):
        planned(cuts, rank="all", world_size=2)
    with pytest.raises(lw.SettingError, match="only once"):
        streamed(cut for cut in cuts)
    with pytest.raises(lw.SettingError, match="budget"):
        planned(cuts, budget=None)
