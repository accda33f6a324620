"""Streams of which each rank processes its own share: batches of what a rank has, in step with the others.

The stream is read in rounds, of as many items for each rank as its window has places. Ranks exchange the lengths of a
round once. From then on each knows the batches of all, so the state is the same on every rank, and can be resumed on
another number of ranks.
"""

from __future__ import annotations

import base64
import bisect
import hashlib
import json
import operator
import warnings
import zlib
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from ._lengthwise import Feed, Planner
from ._ranks import for_exchange
from ._torch_process import Processing
from .errors import BudgetError, LengthsError, LengthwiseWarning, RankError, SettingError, StateError
from .stream import LEFT_OUT, StreamBatch, length_of, read_from

VERSION = 1
#: In place of a length: there is no item, it is left out, or the rank has failed.
NONE, OUT, FAILED = -1, 0, -2
#: How many windows are read at most before ranks that have too few items repeat some.
WINDOWS = 8


class _Batch(NamedTuple):
    """A batch of one rank: the places of its items in the round, and the length that they are padded to."""

    places: list[int]
    length: int


#: For each rank, its batch.
_Step = list[_Batch]


class _Round(NamedTuple):
    """A stretch of the stream, whose items are batched together."""

    #: The position of its first item, and the one after its last; if ranks have their own sources, in each of them.
    start: int
    end: int
    #: The lengths in the order of the positions; if ranks have their own sources, those of all ranks in turn.
    lengths: np.ndarray
    #: The numbers of ranks it was given out to, and how many steps to each.
    given: list[tuple[int, int]]
    #: Whether the stream has ended with it.
    last: bool


class Learned(Protocol):
    """What is told the lengths of all ranks, and knows what users call an item."""

    def lengths(self, epoch: int, start: int, lengths: np.ndarray) -> None:
        """Takes the lengths of positions from ``start`` on."""

    def index(self, epoch: int, position: int) -> int:
        """The index of the item at a position."""


class Divided(Iterator[StreamBatch]):
    """The batches of one rank over a stream whose items, or sources, are divided among the ranks."""

    # As a stream that no workers share.
    _workers, _base = 1, 0

    def __init__(
        self,
        source: Iterable[Any] | Callable[[int], Iterable[Any]],
        length: Callable[[Any], int | Sequence[int]],
        *,
        divide: str,
        processing: Processing,
        rank: int,
        world_size: int,
        group: Any = None,
        keep: bool = True,
        state: str | None = None,
        epoch: int = 0,
        learned: Learned | None = None,
        **settings: Any,
    ) -> None:
        # Refuses what a stream refuses.
        Feed(**settings)
        if settings.get("pivot", "oldest") != "oldest":
            raise SettingError('`divide` goes with `pivot="oldest"` only', hint="leave one of them out")
        self._source, self._length, self._processing, self._keep = source, length, processing, keep
        self._divide, self._rank, self._world_size, self._group = divide, rank, world_size, group
        self._seed, self._epoch = operator.index(settings.get("seed", 0)), epoch
        self._budget, self._over_long = str(settings["budget"]), settings.get("over_long", "error")
        self._shapes, self._tail = settings.get("shapes", "exact"), settings.get("tail", "split")
        self._window = operator.index(settings.get("window", 4096))
        self._learned = learned
        self._rungs: list[int] = []
        self._round = _Round(0, 0, np.empty(0, np.int64), [], last=False)
        # The lengths of a round as the state has them: they are packed once.
        self._packed: tuple[np.ndarray, str] | None = None
        if state is not None:
            self._resume(state)
            if learned is not None:
                learned.lengths(epoch, self._round.start, self._round.lengths)
        #: The steps of the round on this number of ranks, and how many of them were made.
        self._steps, self._made = self._plan(), 0
        if self._round.given and self._round.given[-1][0] == world_size:
            self._made = self._round.given.pop()[1]
            self._steps = self._plan()
        self._items: dict[int, Any] = {}
        self._rest: Iterator[Any] | None = None
        # The positions of the items that are being processed, in their order.
        self._positions: deque[int] = deque()
        # The batch that was given out last: for a rank that has no more items than that.
        self._last: StreamBatch | None = None
        self._failed: BaseException | None = None

    # The state, which is the same on every rank.

    def _settings(self) -> dict[str, Any]:
        return {
            "divide": self._divide, "budget": self._budget, "shapes": self._shapes, "window": self._window,
            "over_long": self._over_long, "seed": self._seed, "epoch": self._epoch,
        }  # fmt: skip

    def state(self) -> str:
        """The position in the stream after the batches that were given out: one line of JSON."""
        return self._state_now()()

    def _state_now(self) -> Callable[[], str]:
        """What gives the state as it is now."""
        return partial(self._state_of, self._round, self._made, self._made == len(self._steps), list(self._rungs))

    def _state_of(self, of: _Round, made: int, ended: bool, rungs: list[int]) -> str:
        start, end, lengths, given, last = of
        if ended:
            start, lengths, given, last = end, lengths[:0], [], False
        elif made:
            given = [*given, (self._world_size, made)]
        if self._packed is None or self._packed[0] is not lengths:
            self._packed = lengths, base64.b64encode(zlib.compress(lengths.astype("<u4").tobytes())).decode()
        parts = {"start": start, "end": end, "last": last, "lengths": self._packed[1], "given": given, "rungs": rungs}
        return json.dumps({"version": VERSION, **self._settings(), **parts})

    def _resume(self, state: str) -> None:
        try:
            parts = json.loads(state)
            theirs = {name: parts[name] for name in self._settings()}
            lengths = np.frombuffer(zlib.decompress(base64.b64decode(parts["lengths"])), "<u4").astype(np.int64)
            given = [(operator.index(ranks), operator.index(steps)) for ranks, steps in parts["given"]]
            start, end = operator.index(parts["start"]), operator.index(parts["end"])
            self._rungs = [operator.index(rung) for rung in parts["rungs"]]
            damaged = min(start, *(steps for _, steps in given), 0) < 0 or end < start
            damaged |= any(ranks < 1 for ranks, _ in given)
            damaged |= len(lengths) < end - start if self._divide == "sources" else len(lengths) != end - start
        except (KeyError, TypeError, ValueError, zlib.error) as error:
            raise StateError(
                f"this is not the state of a stream that is divided: {error!r}", hint="give what `state_dict` returned"
            ) from None
        for name, value in self._settings().items():
            if theirs[name] != value:
                raise StateError(
                    f"the state was made with {name} `{theirs[name]}`, and this stream has `{value}`",
                    hint="give the settings that it was made with, or begin anew",
                )
        if damaged:
            raise StateError("the state is damaged: its counts are impossible", hint="give what `state_dict` returned")
        if self._divide == "sources" and any(ranks != self._world_size for ranks, _ in given):
            raise StateError(
                f"the state is of {given[-1][0]} ranks with sources of their own, and there are {self._world_size}",
                hint='resume with as many ranks, or give every rank the whole source and `divide="items"`',
            )
        self._round = _Round(start, end, lengths, given, bool(parts["last"]))

    # The plan of a round, which each rank makes for all.

    def _plan(self) -> list[_Step]:
        """The steps of the round on this number of ranks: of what is left of it after the steps on others."""
        places = list(range(len(self._round.lengths)))
        for ranks, made in self._round.given:
            taken = {p for step in self._steps_of(places, ranks)[:made] for batch in step for p in batch.places}
            places = [place for place in places if place not in taken]
        return self._steps_of(places, self._world_size)

    def _steps_of(self, places: list[int], ranks: int) -> list[_Step]:
        """The steps of some places. Each rank has every n-th of them."""
        lengths = self._round.lengths
        if not any(lengths[place] > OUT for place in places):
            return []
        owned = [places[rank::ranks] for rank in range(ranks)]
        if self._tail == "drop" and self._round.last and len(places) < ranks:
            return []
        if self._divide == "items" and len(places) < ranks:  # Some are processed twice.
            owned = [[places[rank % len(places)]] for rank in range(ranks)]
        each = [self._batches([place for place in own if lengths[place] > OUT]) for own in owned]
        most = max(map(len, each))
        if self._tail == "drop" and self._round.last:
            most = min(map(len, each))
        each = [self._split(batches, most) for batches in each]
        for batches in each:  # Ranks have long ones at the same time.
            batches.sort(key=lambda batch: (batch.length, len(batch.places)), reverse=True)
        order = sorted(range(most), key=lambda step: self._random(len(places), step))
        return [[batches[step] for batches in each] for step in order]

    def _batches(self, places: list[int]) -> list[_Batch]:
        """The batches of what one rank has."""
        if not places:
            return []
        shapes = f"ladder:{'/'.join(map(str, self._rungs))}" if self._rungs else self._shapes
        try:
            plan = Planner(
                self._round.lengths[places], "sorted", budget=self._budget, shapes=shapes, over_long=self._over_long,
                seed=self._seed,
            ).plan(self._epoch)  # fmt: skip
        except BudgetError as error:
            if error.index is None:
                raise
            # It has counted among these, and users count in the stream.
            index = self._index(places[error.index])
            text = str(error).partition("\nhint: ")[0].replace(f"sequence {error.index} ", f"sequence {index} ", 1)
            raise BudgetError(text, hint=error.hint, index=index) from None
        batches = zip(plan, plan.batch_lengths.tolist())
        return [_Batch([places[index] for index in indices.tolist()], length) for indices, length in batches]

    def _split(self, batches: list[_Batch], count: int) -> list[_Batch]:
        """As many batches as another rank has: halves of the largest, or the first ones again, or without the last."""
        batches = batches[:count]
        while batches and len(batches) < count:
            largest = max(range(len(batches)), key=lambda number: len(batches[number].places))
            places, length = batches[largest]
            if len(places) == 1:
                return (batches * count)[:count]
            places = sorted(places, key=lambda place: (self._round.lengths[place], place))
            halves = places[: len(places) // 2], places[len(places) // 2 :]
            batches[largest : largest + 1] = [_Batch(half, self._padded(half, length)) for half in halves]
        return batches or [_Batch([], 0)] * count

    def _padded(self, places: list[int], most: int) -> int:
        """What a part of a batch of length ``most`` is padded to."""
        longest = int(self._round.lengths[places].max())
        rungs, (kind, _, multiple) = self._rungs, self._shapes.partition(":")
        if kind == "multiple":
            longest = -(-longest // int(multiple)) * int(multiple)
        elif kind == "ladder":
            rungs = rungs or [int(rung) for rung in multiple.split("/")]
            place = bisect.bisect_left(rungs, longest)
            longest = rungs[place] if place < len(rungs) else longest
        return min(longest, most)

    def _random(self, *numbers: int) -> bytes:
        text = " ".join(map(str, (self._seed, self._epoch, self._round.start, *numbers)))
        return hashlib.blake2b(text.encode(), digest_size=8).digest()

    def _learn_rungs(self) -> None:
        """Finds the rungs of a ladder in the first round, and adds one in a round with longer sequences."""
        kind, _, given = self._shapes.partition(":")
        lengths = self._round.lengths[self._round.lengths > OUT]
        if kind != "ladder" or "/" in given or not len(lengths):
            return
        settings = {"budget": self._budget, "over_long": self._over_long}
        if not self._rungs:
            self._rungs = Planner(lengths, "sorted", shapes=self._shapes, **settings).rungs or []
        for longer in np.unique(lengths[lengths > max(self._rungs, default=0)])[::-1].tolist():
            try:  # The longest that fits.
                Planner([longer], "sorted", budget=self._budget)
            except BudgetError:
                continue
            self._rungs.append(longer)
            break

    # The items of this rank.

    def __next__(self) -> StreamBatch:
        if self._failed is not None:
            raise StateError(
                f"the stream failed before, after position {self._round.end}: {self._failed!r}",
                hint="fix the cause, and resume from its state with a new stream",
            ) from self._failed
        try:
            if self._rest is None:
                self._begin()
            while self._made == len(self._steps):
                if not self._next_round():
                    raise StopIteration
        except StopIteration:
            raise
        except BaseException as error:
            self._failed = error
            raise
        batch = self._steps[self._made][self._rank]
        self._made += 1
        if not batch.places:
            return self._again()
        items = [self._items[place] for place in batch.places] if self._keep else []
        self._uses.subtract(batch.places)
        for place in batch.places:
            if not self._uses[place]:
                self._items.pop(place, None)
        self._last = StreamBatch(items, batch.length, [self._position(place) for place in batch.places])
        return self._last

    def _again(self) -> StreamBatch:
        """The last batch again, for a rank that has no items left when others have; or the first item, if there was no
        batch since it resumed."""
        if self._last is None:
            results = self._processing._replace(num_workers=0).over(enumerate(read_from(self._source, 0)), self._epoch)
            for position, item in enumerate(results):
                if item is not LEFT_OUT:
                    self._last = StreamBatch([item], length_of(item, self._length, position)[0], [position])
                    break
            else:
                raise LengthsError(f"rank {self._rank} has no items", hint="use fewer ranks")
        self._say_repeats("a batch is repeated")
        return StreamBatch(self._last, self._last.length, self._last.positions)

    def _say_repeats(self, what: str) -> None:
        warnings.warn(
            f"rank {self._rank} has fewer items left than others have batches: {what}; `tail=\"drop\"` leaves the last "
            "batches of the others out",
            LengthwiseWarning,
            stacklevel=5,
        )

    def _begin(self) -> None:
        """Begins to read, and processes again what is left of the round."""
        if callable(choose := getattr(self._source, "set_epoch", None)):
            choose(self._epoch)
        left = set(self._places(self._rank))
        self._rest = self._processing.over(self._own(self._round.start, left), self._epoch)
        for place, length in self._read(len(left)):
            if length != self._round.lengths[place]:
                raise StateError(
                    f"the item at position {self._position(place)} has length {length}, and had "
                    f"{self._round.lengths[place]} when the state was made",
                    hint="resume with the same source, and a `process` that gives the same lengths",
                )
        self._count_uses()

    def _own(self, start: int, left: set[int]) -> Iterator[tuple[int, Any]]:
        """The items that this rank processes, with their positions: those that are left of a round, and its share of
        all others."""
        fresh, ranks = self._round.end, self._world_size
        left_at = {self._position(place) for place in left}
        borrowed: list[Any] = []
        position = start - 1
        items: Iterable[Any]
        if self._divide == "sources" and not callable(self._source):
            # It may have ended before those of the others.
            items = islice(self._source, start, None)
        else:
            items = read_from(self._source, start)
        for position, item in enumerate(items, start):
            place = (position - fresh) % (ranks * self._window)
            if self._divide == "items" and position >= fresh and place < ranks:
                borrowed = [*borrowed, item] if place else [item]
            own = position in left_at if position < fresh else self._divide == "sources" or place % ranks == self._rank
            if own:
                self._positions.append(position)
                yield position, item
        # With fewer items than ranks, some ranks process what another one does.
        count = (position + 1 - fresh) % (ranks * self._window)
        if self._divide == "items" and 0 < count <= self._rank and position >= fresh:
            place = self._rank % count
            self._positions.append(position + 1 - count + place)
            yield position + 1 - count + place, borrowed[place]

    def _read(self, count: int) -> Iterator[tuple[int, int]]:
        """Reads so many items of the round. Gives their places and lengths."""
        assert self._rest is not None
        for item in islice(self._rest, count):
            position = self._positions.popleft()
            place = position - self._round.start
            if self._divide == "sources":
                place = place * self._world_size + self._rank
            length = OUT
            if item is not LEFT_OUT:
                length, sequences = length_of(item, self._length, position)
                if sequences > 1:
                    raise SettingError(
                        "`divide` does not support items of several sequences",
                        hint='use `divide="batches"`, for which every rank processes all items',
                    )
            if length and self._keep:
                self._items[place] = item
            yield place, length

    def _next_round(self) -> bool:
        """Reads the next round, and plans it. Returns whether there is one."""
        start = self._round.end
        self._round, self._steps, self._made = _Round(start, start, self._round.lengths[:0], [], False), [], 0
        self._items.clear()
        # A rank may have so few items that are not left out that it could not fill as many batches as others.
        for _ in range(WINDOWS):
            lengths = self._next_lengths()
            self._check_ranks(lengths)
            there = np.flatnonzero(lengths != NONE)
            count = int(there[-1]) + 1 if len(there) else 0
            lengths = np.append(self._round.lengths, np.maximum(lengths[:count], OUT))
            places = len(lengths) if self._divide == "items" else -(-len(lengths) // self._world_size)
            last = count < self._window * self._world_size
            self._round = _Round(start, start + places, lengths, [], last)
            if self._learned is not None:
                self._learned.lengths(self._epoch, start, lengths)
            self._learn_rungs()
            self._steps = self._plan()
            repeats = any(len(set(flat)) < len(flat) or not flat for flat in map(self._places, range(self._world_size)))
            if last or not repeats:
                break
        self._count_uses()
        return bool(len(self._round.lengths))

    def _check_ranks(self, lengths: np.ndarray) -> None:
        """Refuses a rank that has nothing from the beginning: on all ranks, so that none waits for it."""
        if self._divide == "sources" and self._round.start == 0 and (lengths != NONE).any():
            without = [rank for rank in range(self._world_size) if (lengths[rank :: self._world_size] == NONE).all()]
            if without:
                raise LengthsError(f"the source of rank {without[0]} is empty", hint="give every rank some items, or use fewer ranks")

    def _next_lengths(self) -> np.ndarray:
        """The lengths of the next items of all ranks, in the order of their places."""
        own, first = np.full(self._window, NONE, np.int64), len(self._round.lengths)
        try:
            for place, length in self._read(self._window):
                # Not what was processed for want of own items.
                if (place - first) % self._world_size == self._rank:
                    own[(place - first) // self._world_size] = length
        except BaseException:
            own[0] = FAILED
            self._exchange(own)
            raise
        lengths = self._exchange(own)
        failed = np.flatnonzero(lengths[: self._world_size] == FAILED).tolist()
        if failed:
            raise RankError(
                f"rank {failed[0]} has failed", hint="look at its error; all ranks can resume from the state"
            )
        return lengths

    def _places(self, rank: int) -> list[int]:
        """The places that are left to a rank, in the order of its batches."""
        return [place for step in self._steps[self._made :] for place in step[rank].places]

    def _exchange(self, own: np.ndarray) -> np.ndarray:
        """The lengths of all ranks, in the order of their places."""
        if self._world_size == 1:
            return own
        from torch import distributed

        sent = for_exchange(torch.from_numpy(own), self._group)
        received = [torch.empty_like(sent) for _ in range(self._world_size)]
        distributed.all_gather(received, sent, group=self._group)
        every: np.ndarray = torch.stack(received, dim=1).flatten().cpu().numpy()
        return every

    def _count_uses(self) -> None:
        self._uses = Counter(self._places(self._rank))
        if max(self._uses.values(), default=1) > 1:
            self._say_repeats("some items are repeated")

    def _index(self, place: int) -> int:
        """What users know an item by."""
        position = self._position(place)
        return position if self._learned is None else self._learned.index(self._epoch, position)

    def _position(self, place: int) -> int:
        return self._round.start + (place if self._divide == "items" else place // self._world_size)
