"""Streams whose lengths are known only when their items were processed."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import random
import threading
import warnings
from collections import Counter

import lengthwise as lw
import numpy as np
import pytest
from lengthwise import LengthsError, LengthwiseError, LengthwiseWarning, RankError, SettingError, StateError

torch = pytest.importorskip("torch")
from lengthwise import _torch_divided  # noqa: E402
from lengthwise.torch import StreamBatches  # noqa: E402
from torch.utils.data import DataLoader, get_worker_info  # noqa: E402

ITEMS = 900
SETTINGS = {"budget": "padded:700", "window": 96, "seed": 4}
OUT = [item for item in range(ITEMS) if item % 97 == 5]

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def process(item: int) -> dict[str, object] | None:
    """As augmentation does it: what comes out, and how long it is, is random."""
    if item % 97 == 5:
        return None
    length = random.randint(1, 30) + int(np.random.randint(0, 20)) + int(torch.randint(0, 20, ()))
    values = torch.full((length, 2), item, dtype=torch.bfloat16)
    return {"values": values, "item": item, "text": "é" * item, "drawn": [np.float32(random.random())]}


def length(result: dict[str, object]) -> int:
    return len(result["values"])


def source(start: int):
    return iter(range(start, ITEMS))


def late(num_workers: int = 0, **settings) -> StreamBatches:
    settings = {"process": process, **SETTINGS, **settings}
    measure = settings.pop("length", length)
    return StreamBatches(settings.pop("source", source), measure, num_workers=num_workers, **settings)


def plain(batches) -> list:
    return [([(one["item"], length(one), one["drawn"]) for one in batch], batch.length, batch.positions) for batch in batches]


def positions(batches) -> list[int]:
    return sorted(position for batch in batches for position in batch.positions)


@pytest.fixture(scope="module")
def whole() -> list:
    return plain(late())


def test_each_item_is_processed_once_and_batches_keep_the_budget(whole):
    calls = []

    def counted(item):
        calls.append(item)
        return process(item)

    batches = list(late(process=counted))
    assert calls == list(range(ITEMS))
    assert positions(batches) == [item for item in range(ITEMS) if item not in OUT]
    for batch in batches:
        assert len(batch) * batch.length <= 700
        assert max(map(length, batch)) == batch.length
        assert [one["item"] for one in batch] == batch.positions
    assert plain(batches) == whole


@pytest.mark.parametrize("num_workers", [1, 3])
def test_results_do_not_depend_on_workers(whole, num_workers):
    batches = list(late(num_workers))
    assert plain(batches) == whole
    one = batches[0][0]
    assert one["values"].dtype is torch.bfloat16 and one["values"].shape == (length(one), 2)
    assert (one["values"] == torch.tensor(one["item"], dtype=torch.bfloat16)).all()
    one["values"] += 1  # They can be written to.


def test_random_numbers_of_training_stay_as_they_are():
    def drawn():
        return random.random(), np.random.random(), float(torch.rand(()))

    def begin():
        random.seed(1), np.random.seed(1), torch.manual_seed(1)

    begin()
    expected = drawn()
    for num_workers in (0, 1):
        begin()
        next(iter(late(num_workers)))
        assert drawn() == expected


def test_every_epoch_has_its_own_random_numbers(whole):
    stream = late()
    stream.set_epoch(1)
    assert plain(stream) != whole


@pytest.mark.parametrize("divide", ["batches", "items", "sources"])
@pytest.mark.parametrize("shapes", ["exact", "ladder:4", "multiple:8"])
def test_states_go_on_at_every_step(divide, shapes):
    settings = {"divide": divide, "shapes": shapes, "source": lambda start: iter(range(start, 300)), "window": 32}
    whole = plain(late(**settings))
    assert positions_of(whole) == [item for item in range(300) if item not in OUT]
    running = late(**settings)
    given = iter(running)
    for step in range(len(whole) + 1):
        resumed, calls = late(**settings, process=lambda item: calls.append(item) or process(item)), []
        resumed.load_state_dict(json.loads(json.dumps(running.state_dict())))
        resumed.set_epoch(0)
        rest = plain(resumed)
        assert rest == whole[step:]
        # What was in a batch before is not processed again.
        assert sorted(set(calls)) == calls and set(positions_of(rest)) <= set(calls)
        if divide == "batches":
            assert len(calls) <= len(positions_of(rest)) + len(OUT)
        next(given, None)


def positions_of(batches: list) -> list[int]:
    return sorted(position for _, _, positions in batches for position in positions)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_stateful_loaders_resume(whole, num_workers):
    stateful = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    first = stateful(late(num_workers), batch_size=None)
    before = plain(itertools.islice(first, 7))
    second = stateful(late(num_workers), batch_size=None)
    second.load_state_dict(first.state_dict())
    assert before + plain(second) == whole


def test_workers_end_with_the_loop():
    stream = late(2)
    for batch in stream:
        assert len(multiprocessing.active_children()) == 2
        break
    del batch
    state = stream.state_dict()
    assert multiprocessing.active_children() == []
    assert plain(itertools.islice(stream, 1)) == plain(itertools.islice(late(), 1))
    assert state != late().state_dict()


def test_loaders_with_workers_are_refused():
    with pytest.raises(SettingError, match="would process every item"):
        next(iter(DataLoader(late(), batch_size=None, num_workers=2)))
    with pytest.raises(SettingError, match="would process every item"):
        next(iter(DataLoader(late(1), batch_size=None, num_workers=1)))
    # One worker processes each item once.
    assert plain(DataLoader(late(), batch_size=None, num_workers=1)) == plain(late())


class Broken(Exception):
    def __init__(self, code: int, what: str) -> None:  # Such errors cannot be pickled.
        super().__init__(f"{what} {code}")


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize(
    ("error", "caught"), [(OSError("not there"), OSError), (Broken(3, "broken"), Exception), (StopIteration(), RuntimeError)]
)
def test_errors_say_where_and_nothing_is_lost(whole, num_workers, error, caught):
    def fails(item):
        if item == 301:
            raise error
        return process(item)

    stream, given = late(num_workers, process=fails), []
    with pytest.raises(caught, match=str(error) or "StopIteration") as raised:
        for batch in stream:
            given.append(batch)
    if caught is not Exception and hasattr(raised.value, "__notes__"):
        assert "item at position 301" in raised.value.__notes__[0]
    if num_workers:
        assert "fails" in str(raised.value.__cause__)  # The traceback of the worker.
    resumed = late()
    resumed.load_state_dict(stream.state_dict())
    assert plain(given) + plain(resumed) == whole


def test_views_are_sent_as_what_they_show():
    def views(item):
        return [torch.tensor([1 + 2j]).conj(), torch.tensor([1 + 2j]).conj().imag, torch.ones(4, 6)[::2, 1]]

    (batch,) = StreamBatches([1], process=views, num_workers=1, budget=4)
    assert [one.tolist() for one in batch[0]] == [[1 - 2j], [-2.0], [1.0, 1.0]]


def test_what_cannot_be_sent_is_said():
    with pytest.raises(Exception, match="pickle"):
        next(iter(late(1, process=lambda item: {"values": [1], "item": item, "drawn": open(os.devnull)})))


def test_wrong_settings_are_refused():
    with pytest.raises(SettingError, match="no function"):
        late(process="tokenize")
    with pytest.raises(SettingError, match="cannot be -1"):
        late(-1)
    with pytest.raises(SettingError, match="nothing to process"):
        late(2, process=None)
    with pytest.raises(SettingError, match="divide does not accept 'rows'"):
        late(divide="rows")
    with pytest.raises(SettingError, match="does not support `kind`"):
        late(divide="items", kind=len)
    with pytest.raises(SettingError, match="pivot"):
        late(divide="items", pivot="quantile")
    with pytest.raises(SettingError, match="several sequences"):
        next(iter(StreamBatches([1, 2], lambda item: [1, 2], divide="items", budget=4)))


class Together:
    """Ranks as threads: what `torch.distributed` does, without processes."""

    def __init__(self, world_size: int) -> None:
        self.sent: list = [None] * world_size
        self.barrier = threading.Barrier(world_size, timeout=60)

    def exchange(self, divided, own):
        self.sent[divided._rank] = own
        self.barrier.wait()
        every = np.stack(self.sent, axis=1).ravel()
        self.barrier.wait()
        return every


def on_threads(world_size: int, make, monkeypatch, take: int | None = None) -> list:
    """The batches of each rank, and the state of all after them."""
    together, found, wrong = Together(world_size), [None] * world_size, []

    def run(rank: int) -> None:
        try:
            stream = make(rank)
            found[rank] = list(itertools.islice(iter(stream), take)), stream.state_dict()
        except LengthwiseError as error:
            found[rank] = error
        except threading.BrokenBarrierError:
            pass  # Another rank says why.
        except BaseException as error:
            wrong.append(error)
            together.barrier.abort()

    monkeypatch.setattr(_torch_divided.Divided, "_exchange", lambda divided, own: together.exchange(divided, own))
    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world_size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if wrong:
        raise wrong[0]
    return found


@pytest.mark.filterwarnings("ignore:rank . has fewer items")
@pytest.mark.parametrize("seed", range(40))
def test_divided_items_stay_in_step_and_come_once(seed, monkeypatch):
    chosen = random.Random(seed)
    items = chosen.choice([0, 1, 3, 40, 41, 200, 333])
    settings = {
        "budget": chosen.choice(["padded:120", "padded:300", "sequences:5"]), "window": chosen.choice([1, 7, 32]),
        "shapes": chosen.choice(["exact", "multiple:8", "ladder:3"]), "seed": seed,
        "over_long": "alone", "source": list(range(items)),
    }  # fmt: skip
    sizes, expected = [chosen.randint(1, 5) for _ in range(3)], [item for item in range(items) if item not in OUT]

    def make(world_size, state):
        def one(rank):
            # Seeding is of the whole process: ranks are processes, and here they are threads.
            stream = late(divide="items", rank=rank, world_size=world_size, process=fixed, **settings)
            if state is not None:
                stream.load_state_dict(state)
                stream.set_epoch(0)
            return stream

        return one

    seen, state = [], None
    for number, world_size in enumerate(sizes):
        take = chosen.randint(0, 6) if number < 2 else None
        found = on_threads(world_size, make(world_size, state), monkeypatch, take)
        assert len({len(batches) for batches, _ in found}) == 1
        assert len({json.dumps(after) for _, after in found}) == 1
        state = found[0][1]
        taken = [position for batches, _ in found for batch in batches for position in batch.positions]
        assert all(one["item"] == p for batches, _ in found for batch in batches for one, p in zip(batch, batch.positions))
        for batches, _ in found:
            for batch in batches:
                over = settings["budget"] == "sequences:5" and len(batch) > 5
                assert not over and all(length(one) <= batch.length for one in batch)
                if settings["budget"].startswith("padded") and len(batch) > 1:
                    assert len(batch) * batch.length <= int(settings["budget"][7:])
        seen += taken
    assert sorted(set(seen)) == expected
    # Items come twice only at the end, where a rank has fewer left than others have batches.
    assert sum(count > 1 for count in Counter(seen).values()) < max(sizes)


def fixed(item: int) -> dict[str, object] | None:
    drawn = item * 2654435761 % 2**32 / 2**32
    return None if item in OUT else {"values": [0] * (1 + int(150 * drawn**3)), "item": item, "drawn": drawn}


def test_ranks_with_sources_of_their_own_end_together(monkeypatch):
    sizes = [200, 170, 30]

    def make(rank, state=None, **settings):
        own = [3 * item + rank for item in range(sizes[rank])]
        given = {"divide": "sources", "process": fixed, "source": own, "rank": rank, "world_size": 3, "window": 32, **settings}
        stream = late(**given)
        if state is not None:
            stream.load_state_dict(state)
            stream.set_epoch(0)
        return stream

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LengthwiseWarning)
        found = on_threads(3, make, monkeypatch)
        assert len({len(batches) for batches, _ in found}) == 1
        for rank, (batches, _) in enumerate(found):
            items = {one["item"] for batch in batches for one in batch}
            assert items == {3 * n + rank for n in range(sizes[rank]) if 3 * n + rank not in OUT}
        first = on_threads(3, make, monkeypatch, take=9)
        rest = on_threads(3, lambda rank: make(rank, first[0][1]), monkeypatch)
        assert plain(first[0][0]) + plain(rest[0][0]) == plain(found[0][0])
        for rank in range(3):  # Which batches are repeated may differ.
            assert positions_of(plain(rest[rank][0])) != []
            resumed = {p for part in (first, rest) for batch in part[rank][0] for p in batch.positions}
            assert resumed == {p for batch in found[rank][0] for p in batch.positions}
    dropped = on_threads(3, lambda rank: make(rank, tail="drop"), monkeypatch)
    assert len({len(batches) for batches, _ in dropped}) == 1
    assert len(dropped[0][0]) < len(found[0][0])
    with pytest.raises(StateError, match="sources of their own"):
        late(divide="sources", source=[1], rank=0, world_size=2, window=32).load_state_dict(first[0][1])


def test_an_empty_source_is_refused_on_all_ranks(monkeypatch):
    def make(rank):
        return late(divide="sources", process=fixed, source=[[1, 2, 3], []][rank], rank=rank, world_size=2, window=16)

    for error in on_threads(2, make, monkeypatch):
        assert isinstance(error, LengthsError) and "source of rank 1 is empty" in str(error)


def test_repeats_are_said_and_a_dropped_tail_has_none(monkeypatch):
    def make(rank, **settings):
        own = [[3, 4, 6], [8]][rank]
        return StreamBatches(
            own, lambda item: 30, divide="sources", rank=rank, world_size=2, budget="padded:40", window=16, **settings
        )  # fmt: skip

    with pytest.warns(LengthwiseWarning, match="rank 1 has fewer items left"):
        found = on_threads(2, make, monkeypatch)
    assert [list(batch) for batch in found[1][0]] == [[8]] * 3
    found = on_threads(2, lambda rank: make(rank, tail="drop"), monkeypatch)
    assert [len(batches) for batches, _ in found] == [1, 1]
    items = {"divide": "items", "process": fixed, "source": range(7), "window": 1, "tail": "drop"}
    found = on_threads(2, lambda rank: late(rank=rank, world_size=2, **items), monkeypatch)
    assert sorted(one["item"] for batches, _ in found for batch in batches for one in batch) == [0, 1, 2, 3]


def test_over_long_items_are_named_by_their_position():
    with pytest.raises(lw.BudgetError, match="sequence 500 of length 999") as raised:
        list(late(divide="items", source=range(600), process=lambda item: "x" * (999 if item == 500 else 5), length=len))
    assert raised.value.index == 500


def test_if_one_rank_fails_all_say_so(monkeypatch):
    def make(rank):
        def fails(item):
            if item == 61:
                raise SettingError("not there", hint="look again")
            return fixed(item)

        return late(divide="items", process=fails, rank=rank, world_size=2, window=16)

    found = on_threads(2, make, monkeypatch)
    assert isinstance(found[0], RankError) and "rank 1 has failed" in str(found[0])
    assert "not there" in str(found[1])


def test_damaged_and_other_states_are_refused():
    stream = late(divide="items")
    given = iter(stream)
    for _ in range(3):
        next(given)
    state = stream.state_dict()
    for name, value, match in [
        ("seed", 9, "seed"), ("window", 95, "window"), ("lengths", "", "not the state"), ("end", 1, "damaged"),
        ("given", [[0, 2]], "damaged"), ("given", [[1, -2]], "damaged"), ("start", "x", "not the state"),
    ]:  # fmt: skip
        parts = json.loads(state["stream"])
        with pytest.raises(StateError, match=match):
            late(divide="items").load_state_dict({**state, "stream": json.dumps({**parts, name: value})})
    with pytest.raises(StateError):
        late().load_state_dict(state)
    with pytest.raises(StateError):
        late(divide="items").load_state_dict(late().state_dict())
    other = late(divide="items", process=fixed)
    other.load_state_dict(state)
    with pytest.raises(StateError, match="when the state was made"):
        list(other)


@pytest.mark.parametrize("divide", ["batches", "items", "sources"])
def test_real_ranks_stay_in_step_and_resume(on_ranks, tmp_path, divide):
    """On gloo: two ranks stop in the middle of an epoch, and one goes on; or two, if each has its own source."""
    state = tmp_path / "state.pt"
    first = on_ranks("late.py", 2, divide, str(state), "12")
    rest = on_ranks("late.py", 2 if divide == "sources" else 1, divide, str(state), "0")
    seen = [item for one in first + rest for batch in one["batches"] for item in batch]
    assert len(first[0]["batches"]) == len(first[1]["batches"]) == 12
    assert sorted(seen) == list(range(1000))
    processed = [set(one["processed"]) for one in first]
    # Ranks divide the work, unless they divide the batches.
    assert (not processed[0] & processed[1]) == (divide != "batches")
