"""The private parts of others that the package uses: these tests fail when one of them changes."""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path

import lengthwise as lw
import pytest

torch = pytest.importorskip("torch")
from lengthwise import _private  # noqa: E402
from lengthwise.torch import BatchSampler, loader  # noqa: E402
from torch.utils.data import (  # noqa: E402
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    get_worker_info,
)

#: Names of others that begin with an underscore, and ways to look at callers.
PRIVATE = re.compile(r"_getframe|currentframe|\bsys\._|torch[\w.]*\._|_worker_info\b(?!\()|\.__dict__\[")


def test_nothing_private_is_used_elsewhere():
    package = Path(lw.__file__).parent
    found = {
        f"{path.name}:{number}"
        for path in package.glob("*.py")
        if path.name != "_private.py"
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if PRIVATE.search(line.replace("get_worker_info", "").replace("self.__dict__", ""))
    }
    assert found == set()


class Workers(IterableDataset):
    """Says what a dataset sees of its worker."""

    def __iter__(self):
        with _private.outside_workers():
            inside = get_worker_info()
        yield [inside is None, get_worker_info() is not None]


def test_a_worker_can_be_hidden():
    assert list(DataLoader(Workers(), batch_size=None, num_workers=1)) == [[True, True]]


class Items(Dataset):
    def __getitem__(self, index):
        return index

    def __len__(self):
        return 400


def stateful(*args, **options):
    return pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader(*args, **options)


@pytest.mark.parametrize("kind", [DataLoader, stateful], ids=["torch", "torchdata"])
def test_readers_are_known(lengths, kind):
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    # Nothing is between.
    next(iter(sampler))
    assert sampler._running.lead == 0 and not sampler._running.ahead
    next(iter(kind(Items(), batch_sampler=sampler)))
    assert sampler._running.lead == 0 and not sampler._running.ahead
    sampler.set_epoch(0)
    batches = kind(Items(), batch_sampler=sampler, num_workers=2, prefetch_factor=3)
    running = iter(batches)
    next(running)
    assert sampler._running.ahead and sampler._running.lead == 6
    with pytest.raises(lw.StateError, match="ahead of training"):
        sampler.state_dict()


@pytest.mark.parametrize("kind", [DataLoader, stateful], ids=["torch", "torchdata"])
def test_it_is_known_when_all_batches_were_given_out(lengths, kind):
    """With workers all are taken before: then loaders ask in vain once for each that they give out."""
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    count = len(sampler)
    for options in ({}, {"num_workers": 2, "prefetch_factor": 2}, {"num_workers": 1, "prefetch_factor": count + 5}):
        for taken in (1, count - 1, count):
            sampler.set_epoch(0)
            running = iter(kind(Items(), batch_sampler=sampler, **options))
            assert len(list(islice(running, taken))) == taken
            assert sampler._running.is_over() == (taken == count), (options, taken)


def test_a_look_at_a_short_epoch_does_not_end_it(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    expected = list(sampler)
    sampler.set_epoch(0)
    batches = DataLoader(
        Items(), batch_sampler=sampler, num_workers=1, prefetch_factor=len(expected) + 1, collate_fn=list
    )
    next(iter(batches))
    assert list(batches) == expected


def test_accelerate_reads_ahead(lengths):
    accelerate = pytest.importorskip("accelerate")
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    batches = accelerate.Accelerator(cpu=True).prepare(DataLoader(Items(), batch_sampler=sampler))
    next(iter(batches))
    assert sampler._running.taken == 2  # The second, to know whether the first is the last.
    with pytest.raises(lw.StateError, match="ahead of training"):
        sampler.state_dict()


def test_torchdata_is_known_when_it_asks(lengths):
    pytest.importorskip("torchdata")
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    batches = loader(Items(), sampler, collate_fn=list, num_workers=2)
    first = list(islice(iter(batches), 5))
    state = batches.state_dict()  # It has asked the sampler ahead of training, too.
    again = BatchSampler(lengths, "shuffled", budget="padded:600")
    other = loader(Items(), again, collate_fn=list, num_workers=2)
    other.load_state_dict(state)
    assert first + list(other) == list(BatchSampler(lengths, "shuffled", budget="padded:600"))


def test_frameworks_see_a_distributed_sampler(lengths):
    sampler = BatchSampler(lengths, "shuffled", budget="padded:600")
    made = loader(Items(), sampler)
    assert isinstance(made.sampler, DistributedSampler) and made.batch_sampler is sampler
    made.sampler.set_epoch(3)
    assert sampler.epoch == 3
    assert sorted(made.sampler) == list(range(400)) and len(made.sampler) == 400


def test_a_dataset_that_is_split_by_node_is_known():
    datasets = pytest.importorskip("datasets")
    from datasets.distributed import split_dataset_by_node

    whole = datasets.Dataset.from_list([{"a": 1}] * 4).to_iterable_dataset()
    assert not _private.is_split_by_node(whole) and not _private.is_split_by_node([1, 2])
    assert _private.is_split_by_node(split_dataset_by_node(whole, rank=0, world_size=2).shuffle(seed=1))
