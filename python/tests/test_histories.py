"""Random histories of what users do with loaders, held against a model that counts.

A history makes the loaders of all ranks, looks at first batches and breaks off, chooses epochs or forgets to,
trains whole epochs and parts of them, stops, saves, and goes on with other ranks and other loaders. In every
epoch, whatever happened before, each sequence must come exactly once, in the batches that the epoch has.

LENGTHWISE_HISTORIES sets how many histories there are; LENGTHWISE_HISTORY runs a single one.
"""

from __future__ import annotations

import os
import pickle
import random
from collections import Counter
from itertools import islice

import pytest

torch = pytest.importorskip("torch")
from lengthwise.torch import BatchSampler, StreamBatches, loader  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

HISTORIES = int(os.environ.get("LENGTHWISE_HISTORIES", "200"))
#: Histories run in blocks, so that a failure names a few of them.
BLOCK = 10
#: How many of the loaders with workers send them everything, as loaders that spawn theirs do.
SENT = 0.03


class Items(Dataset):
    """Item `i` is its own number."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


class Source:
    """Can be read many times, and from anywhere."""

    def __init__(self, lengths: list[int]) -> None:
        self.lengths = lengths

    def __call__(self, start: int):
        return iter(list(enumerate(self.lengths))[start:])


def second(item) -> int:
    return item[1]


def numbers(batch) -> list[int]:
    """What a batch holds, of items or of pairs of a stream."""
    return [item if isinstance(item, int) else item[0] for item in batch]


class Loaders:
    """What differs between samplers and streams."""

    def __init__(self, draw: random.Random, streams: bool) -> None:
        self.draw, self.streams = draw, streams
        count = draw.randrange(20, 90)
        self.lengths = [draw.choice([draw.randrange(1, 60), 7]) for _ in range(count)]
        self.settings = {"budget": f"padded:{draw.randrange(60, 300)}", "seed": draw.randrange(5)}
        if streams:
            self.settings["window"] = draw.choice([8, 32])
        else:
            self.settings["strategy"] = draw.choice(["shuffled", "sorted", "blurred", "pooled:batches=4"])
            self.settings["accumulate"] = draw.choice([1, 1, 2])
        self.accumulate = self.settings.get("accumulate", 1)

    def sampler(self, rank: int, ranks: int, epoch: int = 0):
        more = {"rank": rank, "world_size": ranks, "epoch": epoch}
        if self.streams:
            return StreamBatches(Source(self.lengths), second, **more, **self.settings)
        return BatchSampler(self.lengths, **more, **self.settings)

    def made(self, sampler, options: dict):
        """A loader of any kind, and whether it is stateful itself."""
        options = dict(options)
        stateful = options.pop("stateful")
        if self.streams:
            kind = DataLoader
            if stateful:
                from torchdata.stateful_dataloader import StatefulDataLoader as kind
            return kind(sampler, batch_size=None, collate_fn=numbers, **options)
        if stateful:
            return loader(Items(len(self.lengths)), sampler, collate_fn=numbers, **options)
        return DataLoader(
            Items(len(self.lengths)), batch_sampler=sampler, collate_fn=numbers, **options
        )

    def expected(self, rank: int, ranks: int, epoch: int) -> list[list[int]]:
        """The batches of a rank in an epoch, without any loader."""
        return [numbers(batch) for batch in self.sampler(rank, ranks, epoch)]

    def missed(self, batches: list[list[int]]) -> tuple[list[int], list[int]]:
        """Which sequences are in no batch, and which are in another one again."""
        counts = Counter(number for batch in batches for number in batch)
        every = range(len(self.lengths))
        return [n for n in every if not counts[n]], list((counts - Counter(every)).elements())


class History:
    """One history, and the model of where it stands."""

    def __init__(self, number: int) -> None:
        draw = self.draw = random.Random(number)
        self.loaders = Loaders(draw, streams=draw.random() < 0.5)
        self.said: list[str] = []
        # What was trained on in the epoch that is going on.
        self.seen: list[list[int]] = []
        self.repeats = 0
        # The epoch of the next iteration, and whether it goes on from a state, and one of the loader only.
        self.epoch, self.resumed, self.hidden = 0, False, False
        self.begin(draw.randrange(1, 4))

    def begin(self, ranks: int, workers: int | None = None, stateful: bool | None = None) -> None:
        """New loaders, as in new processes."""
        draw = self.draw
        self.ranks = ranks
        workers = draw.choice([0, 0, 0, 1, 2]) if workers is None else workers
        options: dict = {"num_workers": workers}
        options["stateful"] = draw.random() < 0.4 if stateful is None else stateful
        if workers:
            options["persistent_workers"] = draw.random() < 0.6
            options["prefetch_factor"] = draw.choice([1, 2, 5])
            if draw.random() < SENT:
                options["multiprocessing_context"] = "forkserver"
        self.options = options
        self.samplers = [self.loaders.sampler(rank, ranks) for rank in range(ranks)]
        if draw.random() < 0.2:
            self.samplers = [pickle.loads(pickle.dumps(sampler)) for sampler in self.samplers]
        self.made = [self.loaders.made(sampler, options) for sampler in self.samplers]
        self.say(f"{ranks} ranks, {options}")

    def say(self, what: str) -> None:
        self.said.append(what)

    def run(self) -> None:
        actions = [self.look, self.train, self.train, self.forget, self.stop, self.stop]
        for _ in range(self.draw.randrange(2, 6)):
            self.draw.choice(actions)()

    def look(self) -> None:
        """Some ranks take a few batches, and break off."""
        for rank in self.draw.sample(range(self.ranks), self.draw.randrange(1, self.ranks + 1)):
            count = self.draw.randrange(0, 4)
            if not self.loaders.streams:  # An iteration that takes all that is left is not broken off.
                count = min(count, max(len(self.samplers[rank].plan) - 1, 0))
            taken = list(islice(iter(self.made[rank]), count))
            self.say(f"rank {rank} looks at {len(taken)} batches")

    def maybe_look(self) -> None:
        if self.draw.random() < 0.5:
            self.look()

    def choose(self, epoch: int) -> None:
        for sampler in self.samplers:
            for _ in range(self.draw.choice([1, 1, 2])):
                sampler.set_epoch(epoch)
        self.epoch = epoch
        self.say(f"epoch {epoch} is chosen")

    def choose_another(self) -> None:
        # An epoch that was resumed is left for another: what is over stays over.
        self.choose(self.epoch + self.draw.choice([1, 1, 3] if self.resumed else [0, 1, 1, 3]))
        self.resumed = self.hidden = False

    def take(self, steps: int | None = None) -> None:
        """All ranks take so many steps, or all that are left: the batches of the plan."""
        count = None if steps is None else steps * self.loaders.accumulate
        taken = [list(islice(iter(made), count)) for made in self.made]
        self.say(f"all ranks take {[len(batches) for batches in taken]} batches of epoch {self.epoch}")
        assert len({len(batches) for batches in taken}) == 1, "ranks took different numbers of batches"
        if not self.resumed:
            for rank, batches in enumerate(taken):
                expected = self.loaders.expected(rank, self.ranks, self.epoch)
                assert batches == expected[:count], f"rank {rank} has other batches"
        self.seen += [batch for batches in taken for batch in batches]
        self.trained = len(taken[0])
        # Where fewer sequences are left than ranks need, the plan itself repeats some.
        if self.loaders.streams:
            self.repeats = 2
        elif self.trained and not self.loaders.missed(self.seen)[0]:
            self.repeats = len(self.samplers[0]._current().schedule.repeated)
        # A sampler knows the state of its loader once a batch was asked for, a stream in workers never.
        self.hidden &= self.loaders.streams or not self.trained

    def finish(self) -> None:
        """The epoch is over: every sequence came once."""
        missing, repeated = self.loaders.missed(self.seen)
        allowed, self.repeats = self.repeats, 0
        assert not missing and len(repeated) <= allowed, f"{missing} are missing, {repeated} came again"
        self.seen = []

    def train(self) -> None:
        """A whole epoch, chosen."""
        if not self.resumed:
            self.maybe_look()
        self.choose_another()
        self.maybe_look()
        self.take()
        self.finish()

    def forget(self) -> None:
        """Two epochs, of which the second is not chosen: a sampler of a single rank advances."""
        self.choose_another()
        self.take()
        self.finish()
        self.say("no epoch is chosen")
        if self.ranks == 1 and not self.loaders.streams:
            self.epoch += 1
        self.take()
        self.finish()

    def stop(self) -> None:
        """Stops within an epoch or at its end, and goes on with other ranks and loaders, several times."""
        self.choose_another()
        self.maybe_look()
        for _ in range(self.draw.randrange(1, 4)):
            self.take(self.draw.randrange(0, 6))
            # Before the first batch, what counts for a loader is the iteration that was looked at.
            own = self.options["stateful"] and self.trained > 0
            stateful = self.hidden or own and self.draw.random() < 0.7
            if stateful:
                # The loader's own state, which is for as many workers.
                state = self.made[0].state_dict()
                workers, ranks = self.options["num_workers"], self.ranks
                if not self.loaders.streams:
                    ranks = self.draw.choice([ranks, self.draw.randrange(1, 4)])
                self.begin(ranks, workers, True)
                self.load(self.made, state)
                self.hidden = workers > 0 or not self.loaders.streams
            else:
                # What was trained on is said: loaders with workers are further.
                counted = self.options["num_workers"] or not self.trained or self.draw.random() < 0.5
                state = self.samplers[0].state_dict(self.trained if counted else None)
                self.begin(self.draw.choice([self.ranks, self.draw.randrange(1, 4)]))
                self.load(self.samplers, state)
                self.maybe_look()
            self.resumed = True
            over = not self.loaders.missed(self.seen)[0]
            if over and self.hidden and self.loaders.streams:
                # After the end of an epoch a stateful loader gives the one that is chosen.
                self.begin(self.ranks)
                break
            # Where an epoch is over, the next one would come.
            if over or self.draw.random() < 0.7:
                self.choose(self.epoch)
        else:
            self.take()
        self.finish()

    def load(self, objects: list, state: dict) -> None:
        state = pickle.loads(pickle.dumps(state))
        for each in objects:
            each.load_state_dict(state)
        self.say(f"the state of a {type(objects[0]).__name__} is loaded")


def blocks() -> list[range]:
    if only := os.environ.get("LENGTHWISE_HISTORY"):
        return [range(int(only), int(only) + 1)]
    return [range(first, min(first + BLOCK, HISTORIES)) for first in range(0, HISTORIES, BLOCK)]


@pytest.mark.parametrize("block", blocks(), ids=lambda block: f"{block[0]}-{block[-1]}")
@pytest.mark.filterwarnings("ignore::lengthwise.LengthwiseWarning")
def test_nothing_is_lost_or_repeated_whatever_users_do(block, forked):
    pytest.importorskip("torchdata")
    for number in block:
        history = History(number)
        try:
            history.run()
        except Exception as error:
            told = "\n  ".join([str(history.loaders.settings), *history.said, repr(error)])
            pytest.fail(f"history {number}\n  {told}", pytrace=False)
