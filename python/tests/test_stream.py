"""Batches of data that comes one item after another."""

import itertools
import json
import pickle

import pytest

import lengthwise as lw
from lengthwise import LengthsError, RankError, SettingError, StateError

SETTINGS = {"budget": "padded:400", "window": 64, "seed": 3}


def items(count=1000, start=0):
    for number in range(start, count):
        yield "x" * (1 + number * number % 97)


def plain(batches):
    return [(list(batch), batch.length, batch.positions) for batch in batches]


def test_every_item_is_in_one_batch():
    seen = []
    for batch in lw.stream_batches(items(), **SETTINGS):
        assert len(batch) * batch.length <= 400
        assert max(map(len, batch)) == batch.length
        for position, item in zip(batch.positions, batch):
            assert len(item) == 1 + position * position % 97
        seen += batch.positions
    assert sorted(seen) == list(range(1000))


def test_a_stream_need_not_end():
    endless = itertools.cycle([[0] * 3, [0] * 5])
    first = list(itertools.islice(lw.stream_batches(endless, budget=4, window=16), 100))
    assert all(len(batch) == 4 for batch in first)
    assert list(lw.stream_batches([], budget=4)) == []


@pytest.mark.parametrize("shapes", ["exact", "multiple:8", "ladder:4", "ladder:20/50/97"])
def test_states_go_on_at_every_step(shapes):
    settings = {**SETTINGS, "shapes": shapes}
    whole = plain(lw.stream_batches(items(300), **settings))
    running = lw.stream_batches(items(300), **settings)
    for step in range(len(whole) + 1):
        state = running.state()
        rest = lw.stream_batches(list(items(300)), state=state, **settings)
        assert plain(rest) == whole[step:]
        # A source that can begin anywhere reads no more than it must.
        asked = []

        def source(start):
            asked.append(start)
            return items(300, start)

        rest = lw.stream_batches(source, state=state, **settings)
        assert plain(rest) == whole[step:]
        assert asked == [json.loads(state)["from"]]
        next(running, None)


def test_ranks_take_as_many_batches_and_may_change():
    ranks = [list(lw.stream_batches(items(), rank=r, world_size=3, **SETTINGS)) for r in range(3)]
    assert len({len(batches) for batches in ranks}) == 1
    seen = [p for batches in ranks for batch in batches for p in batch.positions]
    assert sorted(set(seen)) == list(range(1000))

    seen, states = [], set()
    for rank in range(3):
        running = lw.stream_batches(items(), rank=rank, world_size=3, **SETTINGS)
        seen += [p for batch in itertools.islice(running, 7) for p in batch.positions]
        states.add(running.state())
    (state,) = states
    for rank in range(2):
        rest = lw.stream_batches(items(), rank=rank, world_size=2, state=state, **SETTINGS)
        seen += [p for batch in rest for p in batch.positions]
    assert sorted(seen) == list(range(1000))


def test_what_is_wrong_is_said():
    with pytest.raises(LengthsError, match="item at position 1 has no length"):
        list(lw.stream_batches(["ab", 3], budget=4))
    with pytest.raises(LengthsError, match="sequence 1 has length 0") as error:
        list(lw.stream_batches(["ab", ""], budget=4))
    assert error.value.index == 1
    with pytest.raises(lw.BudgetError, match="sequence 1 of length 9"):
        list(lw.stream_batches(["ab", "x" * 9], budget="padded:8"))
    with pytest.raises(SettingError, match="the budget of a stream cannot be"):
        lw.stream_batches([], budget="dynamic:4")
    with pytest.raises(SettingError, match="the window cannot be"):
        lw.stream_batches([], budget=4, window=0)
    with pytest.raises(RankError, match="no rank 2 among 2 ranks"):
        lw.stream_batches([], budget=4, rank=2, world_size=2)
    state = lw.stream_batches(items(), **SETTINGS).state()
    with pytest.raises(StateError, match="made with window `64`"):
        lw.stream_batches(items(), **{**SETTINGS, "window": 65}, state=state)
    with pytest.raises(StateError, match="cut off"):
        lw.stream_batches(items(), **SETTINGS, state=state[:50])
    running = lw.stream_batches(items(), **SETTINGS)
    for _ in range(20):
        next(running)
    with pytest.raises(StateError, match="lengths"):
        list(lw.stream_batches(["x"] * 1000, **SETTINGS, state=running.state()))
    with pytest.raises(StateError, match="the stream ended at position"):
        list(lw.stream_batches(items(120), **SETTINGS, state=running.state()))


def raises(item):
    raise OSError("not there")


@pytest.mark.parametrize(
    ("failing", "wrong"),
    [
        (raises, "not there"),
        (lambda item: next(iter([])), "item at position 300 has no length"),
        (lambda item: 0, "sequence 300 has length 0"),
        (lambda item: 401, "sequence 300 of length 401"),
    ],
)
def test_nothing_comes_after_an_error_and_the_state_is_right(failing, wrong):
    whole = plain(lw.stream_batches(items(), **SETTINGS))
    asked = itertools.count()

    def length(item):
        return failing(item) if next(asked) == 300 else len(item)

    running, given = lw.stream_batches(items(), length, **SETTINGS), []
    with pytest.raises((OSError, lw.LengthwiseError), match=wrong):
        for batch in running:
            given.append(batch)
    for _ in range(2):
        with pytest.raises(StateError, match="failed before, at position 300") as error:
            next(running)
        assert "resume from its state" in error.value.hint
    rest = lw.stream_batches(items(), state=running.state(), **SETTINGS)
    assert plain(given) + plain(rest) == whole


def test_a_source_that_fails_has_not_ended():
    def source():
        yield from items(300)
        raise OSError("not there")

    running, given = lw.stream_batches(source(), **SETTINGS), []
    with pytest.raises(OSError, match="not there"):
        for batch in running:
            given.append(batch)
    with pytest.raises(StateError, match="failed before, at position 300"):
        next(running)
    rest = lw.stream_batches(items(), state=running.state(), **SETTINGS)
    assert plain(given) + plain(rest) == plain(lw.stream_batches(items(), **SETTINGS))


def test_an_error_while_going_on_leaves_the_state_as_it_was():
    running = lw.stream_batches(items(), **SETTINGS)
    first = plain(itertools.islice(running, 20))
    state = running.state()
    start = json.loads(state)["from"]

    def source(start):
        return itertools.chain(["x" * 401], items(1000, start + 1))

    going_on = lw.stream_batches(source, state=state, **SETTINGS)
    with pytest.raises(lw.BudgetError, match=f"sequence {start} of length 401"):
        next(going_on)
    with pytest.raises(StateError, match=f"failed before, at position {start}"):
        next(going_on)
    rest = lw.stream_batches(items(), state=going_on.state(), **SETTINGS)
    assert first + plain(rest) == plain(lw.stream_batches(items(), **SETTINGS))


@pytest.mark.parametrize("over_long", ["error", "drop", "truncate", "alone"])
def test_lengths_that_cannot_be_counted_are_named(over_long):
    with pytest.raises(LengthsError, match="sequence 1 has length 4294967296") as error:
        list(lw.stream_batches([3, 2**32], lambda n: n, budget="padded:8", over_long=over_long))
    assert error.value.index == 1


def test_a_source_that_is_too_short_to_go_on_says_where_it_ended():
    running = lw.stream_batches(items(), **SETTINGS)
    list(itertools.islice(running, 20))
    with pytest.raises(StateError, match="the stream ended at position 3, before position"):
        list(lw.stream_batches(["x"] * 3, **SETTINGS, state=running.state()))


def test_over_long_items_are_counted():
    running = lw.stream_batches(["ab", "x" * 9, "abc"], budget="padded:8", over_long="drop")
    assert sum(map(len, running)) == 2
    assert running.feed.left_out == 1


def test_batches_can_be_sent():
    batch = next(lw.stream_batches(items(), **SETTINGS))
    other = pickle.loads(pickle.dumps(batch))
    assert plain([other]) == plain([batch])


torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader  # noqa: E402

from lengthwise.torch import StreamBatches, pad_collate  # noqa: E402
from lengthwise.torch import loader as torch_loader  # noqa: E402


class Source:
    """Can be read many times, and from anywhere, also in workers."""

    def __call__(self, start):
        for number in range(start, 1000):
            yield {"input_ids": list(range(1 + number * number % 97)), "id": number}


def length(item):
    return len(item["input_ids"])


def stream(**more):
    return StreamBatches(Source(), length, **{**SETTINGS, **more})


def ids(loader):
    return [batch["id"].tolist() for batch in loader]


def loader(dataset, num_workers=0, kind=DataLoader, **options):
    return kind(
        dataset, batch_size=None, num_workers=num_workers, collate_fn=pad_collate(), **options
    )


def test_loaders_give_the_same_with_any_number_of_workers():
    alone = ids(loader(stream()))
    assert sorted(sum(alone, [])) == list(range(1000))
    for batch in loader(stream(shapes="multiple:8")):
        assert batch["input_ids"].shape[1] % 8 == 0
    for workers in (1, 2):
        assert ids(loader(stream(), workers)) == alone


class Splitting(torch.utils.data.IterableDataset):
    """Gives a worker its own part, as PyTorch advises, and looks when it is first asked or at each item."""

    def __init__(self, always=False):
        self.always = always

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        for number, item in enumerate(Source()(0)):
            if self.always:
                worker = torch.utils.data.get_worker_info()
            if worker is None or number % worker.num_workers == worker.id:
                yield item


@pytest.mark.parametrize("always", [False, True])
def test_sources_that_split_themselves_by_worker_are_read_as_a_whole(always):
    def load(item):
        assert torch.utils.data.get_worker_info() is not None  # It is only hidden from the source.
        return item

    alone = ids(loader(stream()))
    dataset = StreamBatches(Splitting(always), length, load=load, **SETTINGS)
    assert ids(loader(dataset, 2)) == alone


def test_load_is_done_for_given_items_only():
    loaded = []

    def load(item):
        loaded.append(item["id"])
        return item

    given = ids(loader(stream(load=load, rank=1, world_size=4)))
    assert loaded == sum(given, [])


@pytest.mark.parametrize("kind", [OSError, StopIteration])
def test_a_batch_that_could_not_be_loaded_was_not_given_out(kind):
    whole, failing = ids(loader(stream())), [True]

    def load(item):
        if item["id"] == whole[10][-1] and failing:
            raise kind("not there")
        return item

    dataset = stream(load=load)
    batches, given = iter(loader(dataset)), []
    with pytest.raises((OSError, RuntimeError)):
        for batch in batches:
            given.append(batch)
    assert ids(given) == whole[:10]
    state = dataset.state_dict()
    assert state == stream().state_dict(batches=10)
    failing.clear()
    # It is tried again, here and after a resume.
    other = stream(load=load)
    other.load_state_dict(state)
    assert ids(loader(other)) == whole[10:]
    assert ids([next(batches)]) == whole[10:11]
    assert dataset.state_dict() == stream().state_dict(batches=11)


class FailsOnce:
    """Loads no item of a batch the first time."""

    def __init__(self, at):
        self.at, self.failed = at, False

    def __call__(self, item):
        if item["id"] == self.at and not self.failed:
            self.failed = True
            raise OSError("not there")
        return item


def test_workers_give_out_a_batch_that_failed_at_first():
    whole = ids(loader(stream()))
    batches, given = iter(loader(stream(load=FailsOnce(whole[10][0])), 2)), []
    with pytest.raises(OSError, match="not there"):
        for batch in batches:
            given.append(batch)
    assert sorted(ids([*given, *batches])) == sorted(whole)


KINDS = pytest.mark.parametrize(
    "options",
    [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}],
    ids=["none", "two", "persistent"],
)


@KINDS
def test_epochs_are_chosen_and_looks_change_nothing(options):
    expected = [ids(loader(stream(epoch=epoch))) for epoch in range(4)]
    dataset = stream()
    batches = loader(dataset, **options)
    for epoch in (0, 1, 3, 1):
        dataset.set_epoch(epoch)
        assert dataset.epoch == epoch
        if epoch != 1:
            next(iter(batches))
        assert ids(batches) == expected[epoch]
    # Without a choice nothing changes.
    assert ids(batches) == expected[1]


def test_an_epoch_that_begins_again_and_again_is_spoken_of():
    dataset = stream()
    for _ in range(2):
        next(iter(dataset))
    with pytest.warns(lw.LengthwiseWarning, match="epoch 0 begins again, and gives the same"):
        iter(dataset)
    dataset.set_epoch(1)
    for _ in range(2):
        next(iter(dataset))
    dataset.load_state_dict(stream().state_dict(batches=11))
    next(iter(dataset))
    with pytest.warns(lw.LengthwiseWarning, match="epoch 0 begins again from the state"):
        iter(dataset)


def test_epochs_are_chosen_in_loaders_of_all_kinds():
    expected = [ids(loader(stream(epoch=epoch))) for epoch in range(5)]
    dataset = stream()
    # The same seed for the workers of every iteration.
    seeds = torch.Generator()
    for epoch, workers in enumerate([1, 2, 0, 2, 2]):
        dataset.set_epoch(epoch)
        assert ids(loader(dataset, workers, generator=seeds.manual_seed(7))) == expected[epoch]


@pytest.mark.parametrize("again", [True, False], ids=["chosen again", "not chosen again"])
@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_that_stay_lose_nothing_after_a_look(context, again):
    """Workers that are late to start must not take the second iteration for the first."""
    for _ in range(3 if context == "fork" else 1):
        dataset = StreamBatches(Source(), length, budget="padded:500", window=128)
        options = {"persistent_workers": True, "multiprocessing_context": context}
        batches = loader(dataset, 4 if context == "fork" else 2, **options)
        next(iter(batches))
        if again:
            dataset.set_epoch(0)
        assert sorted(sum(ids(batches), [])) == list(range(1000))


@KINDS
def test_a_state_belongs_to_its_epoch(options):
    whole, following = ids(loader(stream())), ids(loader(stream(epoch=1)))
    dataset = stream()
    dataset.load_state_dict(stream().state_dict(batches=11))
    batches = loader(dataset, **options)
    dataset.set_epoch(0)
    assert ids(batches) == whole[11:]
    dataset.set_epoch(1)
    assert [ids(batches), dataset.epoch] == [following, 1]
    dataset.set_epoch(0)
    assert ids(batches) == whole


def test_a_look_after_a_state_was_loaded_changes_nothing():
    whole, dataset = ids(loader(stream())), stream()
    dataset.load_state_dict(stream().state_dict(batches=11))
    next(iter(dataset))
    with pytest.warns(lw.LengthwiseWarning, match="from the state"):
        assert ids(loader(dataset)) == whole[11:]
    # In this process it is known to be used up.
    assert ids(loader(dataset)) == whole


@pytest.mark.parametrize("workers", [0, 2])
def test_after_a_state_from_the_end_comes_the_next_epoch(workers):
    whole, following = ids(loader(stream())), ids(loader(stream(epoch=1)))
    dataset = stream()
    ids(loader(dataset, workers))
    end = dataset.state_dict(batches=len(whole))
    if not workers:
        assert dataset.state_dict() == end
    for chosen, expected in ((None, following), (0, []), (1, following), (2, None)):
        other = stream()
        other.load_state_dict(end)
        if chosen is not None:
            other.set_epoch(chosen)
        taken = ids(loader(other, workers))
        assert taken == expected or expected is None and taken == ids(loader(stream(epoch=2)))


def test_workers_that_are_spawned_know_as_much():
    dataset = stream()
    dataset.load_state_dict(stream().state_dict(batches=11))
    batches = loader(dataset, 2, multiprocessing_context="spawn")
    assert ids(batches) == ids(loader(stream()))[11:]
    dataset.set_epoch(1)
    assert ids(batches) == ids(loader(stream(epoch=1)))
    with pytest.raises(StateError, match="workers have returned"):
        dataset.state_dict()


def test_a_state_for_workers_that_stay_is_refused():
    dataset = stream()
    batches = loader(dataset, 2, persistent_workers=True)
    first = ids(batches)
    dataset.load_state_dict(dataset.state_dict(batches=3))
    with pytest.raises(StateError, match="they do not have it"):
        ids(batches)
    dataset.set_epoch(1)
    dataset.set_epoch(0)
    assert ids(batches) == first


class Shuffling(Source):
    """Has an order of its own in each epoch."""

    epoch = None

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __call__(self, start):
        for number in range(start, 1000):
            yield {"input_ids": [0] * (1 + number % 7), "id": number + 1000 * self.epoch}


@KINDS
def test_the_epoch_is_passed_on_to_the_source(options):
    dataset = StreamBatches(Shuffling(), length, **SETTINGS)
    batches = loader(dataset, **options)
    for epoch in (0, 4):
        dataset.set_epoch(epoch)
        assert sorted(sum(ids(batches), [])) == list(range(1000 * epoch, 1000 * epoch + 1000))
    assert lw.stream_batches(Shuffling(), length, epoch=3, **SETTINGS).__next__()[0]["id"] >= 3000


@KINDS
def test_who_does_not_see_the_batches_is_asked_for_their_number(options):
    dataset = stream()
    fresh = dataset.state_dict()
    batches = loader(dataset, **options)
    for _ in itertools.islice(batches, 5):
        pass
    if options:
        with pytest.raises(StateError, match="workers have returned") as error:
            dataset.state_dict()
        assert "state_dict(batches=k)" in error.value.hint
    else:
        assert dataset.state_dict() == stream().state_dict(batches=5)
    assert dataset.state_dict(batches=5) == stream().state_dict(batches=5) != fresh
    # An epoch that was chosen and has not begun has no batches yet.
    dataset.set_epoch(4)
    assert dataset.state_dict() == stream(epoch=4).state_dict()
    # And so does one that goes on.
    dataset.load_state_dict(stream().state_dict(batches=5))
    assert dataset.state_dict(batches=2) == stream().state_dict(batches=7)


def test_an_iteration_that_goes_on_is_counted_from_where_it_began():
    dataset = stream()
    dataset.load_state_dict(stream().state_dict(batches=5))
    for _ in itertools.islice(loader(dataset, 2), 2):
        pass
    assert dataset.state_dict(batches=2) == stream().state_dict(batches=7)


def test_states_are_of_the_epoch_that_was_chosen():
    dataset = stream()
    dataset.load_state_dict(stream().state_dict(batches=10))
    list(dataset)
    dataset.set_epoch(1)
    assert dataset.state_dict() == dataset.state_dict(batches=0) == stream(epoch=1).state_dict()
    batches = iter(dataset)
    next(batches)
    dataset.set_epoch(1)  # The epoch that runs: it goes on.
    assert dataset.state_dict() == dataset.state_dict(batches=1) == stream(epoch=1).state_dict(batches=1)
    dataset.load_state_dict(stream().state_dict(batches=10))
    next(iter(dataset))
    assert dataset.state_dict() == dataset.state_dict(batches=1) == stream().state_dict(batches=11)


def test_a_state_of_another_epoch_is_dropped():
    dataset = stream()
    dataset.load_state_dict(stream().state_dict(batches=5))
    dataset.set_epoch(0)
    with pytest.warns(lw.LengthwiseWarning, match="the state is dropped"):
        dataset.set_epoch(1)
    assert ids(loader(dataset)) == ids(loader(stream(epoch=1)))


def test_copies_go_on_by_themselves():
    dataset = stream()
    dataset.set_epoch(2)
    other = pickle.loads(pickle.dumps(dataset))
    assert other.epoch == 2
    for epoch, workers in ((5, 0), (6, 2)):
        other.set_epoch(epoch)
        assert ids(loader(other, workers)) == ids(loader(stream(epoch=epoch)))
    assert [dataset.epoch, other.epoch] == [2, 6]


@pytest.mark.parametrize("workers", [0, 2])
def test_plain_loaders_go_on(workers):
    whole = ids(loader(stream()))
    dataset = stream()
    taken = list(itertools.islice(loader(dataset, workers), 11))
    state = dataset.state_dict(len(taken)) if workers else dataset.state_dict()
    assert len(pickle.dumps(state)) < 1000
    for later in (0, 2):
        other = stream()
        other.load_state_dict(state)
        assert ids(loader(other, later)) == whole[11:]
        # And then anew.
        other.set_epoch(1)
        assert ids(loader(other, later)) == ids(loader(stream(epoch=1)))
    ranks = []
    for rank in range(2):
        other = stream(rank=rank, world_size=2)
        other.load_state_dict(state)
        ranks += ids(loader(other))
    assert sorted(sum(ranks, [])) == sorted(sum(whole[11:], []))


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loaders_go_on(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    whole, following = ids(loader(stream())), ids(loader(stream(epoch=1)))
    for taken in (1, 6, 11):
        running = loader(stream(), workers, stateful)
        assert ids(itertools.islice(running, taken)) == whole[:taken]
        state = running.state_dict()
        dataset = stream()
        other = loader(dataset, workers, stateful)
        other.load_state_dict(state)
        assert ids(other) == whole[taken:]
        # And then anew.
        assert ids(other) == whole
        dataset.set_epoch(1)
        assert ids(other) == following


@pytest.mark.parametrize("workers", [0, 2])
def test_stateful_loaders_go_on_in_later_epochs(workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    expected = [ids(loader(stream(epoch=epoch))) for epoch in range(7)]
    running = loader(stream(epoch=5), workers, stateful)
    assert ids(itertools.islice(running, 6)) == expected[5][:6]
    state = running.state_dict()
    # The loader, and with it the workers, learn the epoch from the state.
    dataset = stream()
    for _ in range(2):
        other = loader(dataset, workers, stateful)
        other.load_state_dict(state)
        assert ids(other) == expected[5][6:]
        dataset.set_epoch(6)
        assert ids(other) == expected[6]
    # After the end of an epoch comes the next one.
    other = loader(stream(), workers, stateful)
    assert ids(other) == expected[0]
    dataset = stream()
    again = loader(dataset, workers, stateful)
    again.load_state_dict(other.state_dict())
    dataset.set_epoch(1)
    assert ids(again) == expected[1]


def test_states_that_are_none_are_refused():
    dataset = stream()
    with pytest.raises(StateError, match="not the state of a stream"):
        dataset.load_state_dict({})
    with pytest.raises(StateError, match="version 7"):
        dataset.load_state_dict({"version": 7, "stream": ""})
    with pytest.raises(StateError, match="cut off"):
        dataset.load_state_dict({"version": 1, "stream": "{"})
    with pytest.raises(StateError, match="seed"):
        dataset.load_state_dict(stream(seed=9).state_dict())
    with pytest.raises(StateError, match="2000 batches of"):
        dataset.state_dict(2000)
    with pytest.raises(StateError, match="-1 batches"):
        dataset.state_dict(-1)
    with pytest.raises(RankError, match="a stream does not support"):
        stream(rank="all", world_size=2)


def test_what_can_be_read_once_is_refused():
    for once in (items(), map(len, []), iter([])):
        with pytest.raises(SettingError, match="can be read only once"):
            StreamBatches(once, **SETTINGS)
    assert len(list(StreamBatches(Source(), length, **SETTINGS))) > 1
    for wrong in (StreamBatches, lw.stream_batches):
        with pytest.raises(SettingError, match="7 cannot be iterated over"):
            wrong(7, **SETTINGS)


def test_settings_that_do_not_exist_are_named():
    for made, name in ((StreamBatches, "StreamBatches"), (lw.stream_batches, "stream_batches")):
        with pytest.raises(SettingError, match=f"{name} has no setting `windw`") as error:
            made([], budget=4, windw=3)
        assert error.value.hint == "did you mean `window`?"
        with pytest.raises(SettingError, match=f"{name} has no setting `budgte`") as error:
            made([], budgte=4)
        assert error.value.hint == "did you mean `budget`?"
        with pytest.raises(SettingError, match="there is no budget"):
            made([])
    with pytest.raises(SettingError, match="has no setting `state`"):
        StreamBatches([], budget=4, state="")


def test_samplers_of_streams_are_refused():
    with pytest.raises(SettingError, match="StreamBatches is not one") as error:
        pad_collate(stream())
    assert "`pad_collate()`" in error.value.hint
    for sampler in ([], [None], [stream()]):
        with pytest.raises(SettingError, match="a stream need no sampler") as error:
            torch_loader(stream(), *sampler)
        assert "batch_size=None" in error.value.hint
    with pytest.raises(SettingError, match="NoneType is not one"):
        torch_loader(["ab"])
