"""Batches of data that arrives one item after another: no index, no end, no framework.

>>> import lengthwise as lw
>>> lines = ("a bc def g hi jkl".split() for _ in range(3))
>>> for batch in lw.stream_batches(sum(lines, []), budget=4, window=8):
...     print(batch.length, len(batch))
2 4
3 4
2 4
1 2
3 4
"""

from __future__ import annotations

import hashlib
import json
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import TYPE_CHECKING, Any

from ._checks import WHOLE, check_budget, check_settings, check_source
from ._describe import described
from ._lengthwise import Feed
from .errors import LengthsError, RankError, SettingError, StateError

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import EpochSettings, FeedSettings

__all__ = ["Mixed", "StreamBatch", "Streaming", "stream_batches"]

#: For each rank, the slots of its items, their positions in the stream, and the batch length.
Step = list[tuple[list[int], list[int], int]]


class StreamBatch(list[Any]):
    """The items of a batch.

    Args:
        items: The items.
        length: The batch length: what the items are padded to.
        positions: The positions of the items in the stream, from 0.
    """

    __slots__ = ("length", "positions")

    length: int
    positions: list[int]

    def __init__(self, items: Iterable[Any], length: int, positions: list[int]) -> None:
        super().__init__(items)
        self.length = length
        self.positions = positions

    def __reduce__(self) -> tuple[Any, ...]:
        return (StreamBatch, (list(self), self.length, self.positions))


class LEFT_OUT:
    """Stands for an item that is in no batch. It is a class, so that it is the same in every process."""


class Streaming(Iterator[StreamBatch]):
    """The batches of one rank over a stream of items. :func:`stream_batches` makes it."""

    #: The default number of items held.
    WINDOW = 4096

    def __init__(
        self,
        source: Iterable[Any] | Callable[[int], Iterable[Any]],
        length: Callable[[Any], int | Sequence[int]] = len,
        *,
        kind: Callable[[Any], Any] | None = None,
        rank: int = 0,
        world_size: int = 1,
        share: tuple[int, int] = (0, 1),
        base: int | None = None,
        keep: bool = True,
        state: str | None = None,
        **settings: Unpack[FeedSettings],
    ) -> None:
        if not 0 <= operator.index(rank) < max(world_size, 1):
            raise RankError(
                f"there is no rank {rank} among {world_size} ranks", hint="ranks are numbered from 0"
            )
        self._feed = Feed(world_size=world_size, state=state, **settings)
        # A state was read before: it is whole.
        start: dict[str, Any] = {"epoch": settings.get("epoch", 0), "steps": 0}
        stands = start if state is None else json.loads(state)
        self._epoch, self._step = stands["epoch"], stands["steps"]
        if kind is not None and not callable(kind):
            raise SettingError(
                f"{kind!r} is no function of an item", hint='give one, as in `kind=lambda item: item["language"]`'
            )
        self._rank, self._length, self._kind = rank, length, kind
        # The numbers of the kinds that were met.
        self._kinds: dict[Any, int] = {}
        # Which of the batches of this rank: those of one worker among several, which take turns from
        # the step `base` on.
        self._worker, self._workers = share
        # Without items only the plan goes on.
        self._keep = keep
        self._items: dict[int, Any] = {}
        self._base = self._step if base is None else base
        self._source = source
        self._rest: Iterator[Any] | None = None
        # The positions of the items of all ranks in the step that was made last.
        self._step_positions: list[list[int]] = []
        # What the stream ended with: then nothing more is read, for the item that failed is gone.
        self._failed: BaseException | None = None

    def state(self) -> str:
        """Returns the position in the stream after the batches that it returned: one line of JSON, the same
        on every rank. ``stream_batches(…, state=…)`` resumes from it, also with another world size."""
        return self._feed.state()

    def _state_now(self) -> Callable[[], str]:
        """What gives the state as it is now."""
        state = self._feed.state()
        return lambda: state

    @property
    def feed(self) -> Feed:
        """The :class:`lengthwise.Feed` that plans the batches."""
        return self._feed

    def __iter__(self) -> Streaming:
        return self

    def __getstate__(self) -> dict[str, Any]:
        if not isinstance(self._source, Iterator) or callable(self._source):
            # The copy reads the source itself, from where this one stands.
            return {**self.__dict__, "_rest": None}
        try:
            self._source.__reduce_ex__(4)
        except TypeError:
            raise StateError(
                f"a {type(self._source).__name__} can be read once, and the stream that reads it cannot be "
                "pickled or copied",
                hint="keep its `state()`, and go on with `stream_batches(source, …, state=state)`; or give "
                "a source that can be read again, such as a list or a function",
            ) from None
        return self.__dict__

    def __next__(self) -> StreamBatch:
        while (step := self._plan_step()) is not None:
            self._step_positions = [positions for _, positions, _ in step]
            slots, positions, length = step[self._rank]
            own = [self._items[slot] for slot in slots] if self._keep else []
            self._release(step)
            self._step += 1
            if (self._step - 1 - self._base) % self._workers == self._worker:
                return StreamBatch(own, length, positions)
        raise StopIteration

    def _plan_step(self) -> Step | None:
        """Plans the next step, after reading what it needs: a batch for each rank."""
        self._check_failed()
        try:
            self._fill()
            return self._feed.step()
        except BaseException as error:
            self._failed = error
            raise

    def _check_failed(self) -> None:
        if self._failed is not None:
            raise StateError(
                f"the stream failed before, at position {self._feed.position}: {self._failed!r}",
                hint="fix the cause, and resume from its state with a new stream",
            ) from self._failed

    def _release(self, step: Step) -> None:
        """Lets go of the items of a step. Ranks can share some of them at the end."""
        for slot in (slot for slots, _, _ in step for slot in slots):
            self._items.pop(slot, None)

    def _fill(self) -> None:
        """Reads as many items as the next step needs."""
        feed = self._feed
        while feed.needs():
            if self._rest is None:
                # Not before: asking for the state must read nothing.
                if callable(choose := getattr(self._source, "set_epoch", None)):
                    choose(self._epoch)
                self._rest = self._read(feed.position)
            try:
                item = next(self._rest)
            except StopIteration:
                feed.end()
                break
            if item is LEFT_OUT:
                feed.leave_out()
                continue
            longest, sequences = length_of(item, self._length, feed.position)
            slot = feed.push(longest, sequences, 0 if self._kind is None else self._kind_of(item))
            if slot is not None and self._keep:
                self._items[slot] = item

    def _read(self, start: int) -> Iterator[Any]:
        """The items from a position on."""
        return read_from(self._source, start)

    def _kind_of(self, item: Any) -> int:
        """The number of the kind of an item: the same in every process, and after a resume."""
        kind: Any = self._kind(item) if self._kind is not None else None
        kind = kind.item() if hasattr(kind, "item") else kind
        try:
            if kind not in self._kinds:
                text = f"{type(kind).__name__} {kind!r}".encode()
                self._kinds[kind] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
            return self._kinds[kind]
        except TypeError:
            position = self._feed.position
            raise LengthsError(
                f"the kind of the item at position {position} cannot be hashed",
                hint="have `kind` return a number, a text, or a tuple of these",
                index=position,
            ) from None


@described(Feed)
def stream_batches(
    source: Iterable[Any] | Callable[[int], Iterable[Any]],
    length: Callable[[Any], int | Sequence[int]] = len,
    *,
    kind: Callable[[Any], Any] | None = None,
    budget: str | int | None = None,
    rank: int = 0,
    world_size: int = 1,
    state: str | None = None,
    **settings: Unpack[EpochSettings],
) -> Streaming:
    """Batches the items of a stream.

    A batch is a list of items. Its ``length`` is the length to pad them to, and its ``positions`` are
    the positions of the items in the stream. ``lengthwise.explain("stream")`` describes how they are made.

    ``.state()`` returns the position in the stream, and ``state=…`` resumes from it. After an error there are
    no more batches, and the state is the one before the error: if you resume from it, you get the item that
    failed again.

    Args:
        source: The items: an iterable, or a function that takes a position and returns an iterator from
            there. With ``state``, a function saves reading the items before that position.
        length: A function that returns the length of an item, or a list of lengths if an item holds several
            sequences, such as a preference pair: they stay in one batch. The default is ``len``.
        kind: A function that returns the kind of an item, such as its language: a batch has items of one kind only.
            By default, all kinds mix.
        rank: The rank of this process, from 0. The default is 0.
        world_size: The number of ranks. All ranks read the same stream; each gets its own batches, and
            all get the same number of batches. The default is 1.
        state: What ``.state()`` returned before, also with another world size. By default, the stream
            begins.
    """
    check_settings("stream_batches", settings, stream_batches, Feed)
    check_source(source)
    return Streaming(
        source, length, kind=kind, budget=check_budget(budget), rank=rank, world_size=world_size, state=state,
        **settings
    )  # fmt: skip


class Mixed:
    """The items of several sources in turn, each with its exact share: a source for :func:`stream_batches`.

    It yields pairs of the name of a source and an item. Of the first ``n`` items, each source has its share of ``n`` to
    within one item, for every ``n``. The order depends only on the weights. It ends when a source that comes next has
    no more items.

    >>> numbers = Mixed({"odd": range(1, 100, 2), "even": range(0, 100, 2)}, {"odd": 2, "even": 1})
    >>> [item for name, item in islice(numbers(0), 6)]
    [1, 0, 3, 5, 2, 7]

    Args:
        sources: The sources by name, as for :func:`stream_batches`. Each must be readable again, or a function.
        mix: A weight for each source, of any sum.
    """

    def __init__(
        self,
        sources: Mapping[Any, Iterable[Any] | Callable[[int], Iterable[Any]]],
        mix: Mapping[Any, float],
    ) -> None:
        if set(sources) != set(mix):
            odd = sorted(str(name) for name in set(sources) ^ set(mix))
            raise SettingError(
                f"{', '.join(odd)}: a weight without a source, or a source without a weight",
                hint="give one weight for each source",
            )
        numbers = all(isinstance(weight, (int, float)) and weight >= 0 for weight in mix.values())
        if not numbers or not 0 < sum(mix.values()) < float("inf"):
            raise SettingError(
                f"the weights {dict(mix)} are no shares", hint="give numbers from 0, not all of them 0"
            )
        for source in sources.values():
            check_source(source, again=True)
        self._sources = {name: source for name, source in sources.items() if mix[name] > 0}
        self._shares = {name: mix[name] / sum(mix.values()) for name in self._sources}

    def set_epoch(self, epoch: int) -> None:
        """Passes the ``epoch`` on to the sources that have a ``set_epoch``."""
        for source in self._sources.values():
            if callable(choose := getattr(source, "set_epoch", None)):
                choose(epoch)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        return self(0)

    def __call__(self, start: int) -> Iterator[tuple[Any, Any]]:
        """The items from position ``start`` on."""
        names = self._names()
        counts = dict.fromkeys(self._sources, 0)
        for name in islice(names, start):
            counts[name] += 1
        rests = {name: read_from(source, counts[name]) for name, source in self._sources.items()}
        for name in names:
            try:
                yield name, next(rests[name])
            except StopIteration:
                return

    def _names(self) -> Iterator[Any]:
        """The names of the sources in turn: Tijdeman's solution of the chairman assignment problem."""
        counts = dict.fromkeys(self._shares, 0)
        least = 1 / (2 * max(len(counts), 2) - 2)
        for place in count(1):
            # Those that are behind by so much, and among them the one that must come first.
            due = {name: place * share - counts[name] for name, share in self._shares.items()}
            ready = [name for name in due if due[name] >= least - 1e-9]
            name = min(ready or due, key=lambda name: (1 - least - due[name]) / self._shares[name])
            counts[name] += 1
            yield name


def length_of(item: Any, length: Callable[[Any], int | Sequence[int]], position: int) -> tuple[int, int]:
    """The length of the item at a position, or of its longest sequence, and how many sequences it has."""
    check_item(item, length, position)
    sequences = 1
    try:
        found: Any = length(item)
        if isinstance(found, Iterable) and getattr(found, "ndim", 1) != 0:
            each = [operator.index(one) for one in found]
            found, sequences = max(each, default=0), max(len(each), 1)
            if each and min(each) < 1:
                found = min(each)
        longest = operator.index(found)
    except (TypeError, StopIteration) as error:
        raise LengthsError(
            f"the item at position {position} has no length: {error}",
            hint="give `length`, a function that returns the length of an item as a whole number",
            index=position,
        ) from None
    if not 1 <= longest < 2**32:
        raise LengthsError(f"sequence {position} has length {longest}", hint=WHOLE, index=position)
    return longest, sequences


def check_item(item: Any, length: Callable[[Any], Any], position: int) -> None:
    """Refuses to measure an item by the number of its fields."""
    if length is len and isinstance(item, Mapping):
        field = "input_ids" if "input_ids" in item else next(iter(item), "input_ids")
        raise LengthsError(
            f"the item at position {position} is a {type(item).__name__}, whose `len` is the number of its fields",
            hint=f"give its length, as in `length=lambda item: len(item[{field!r}])`",
            index=position,
        )


def read_from(source: Iterable[Any] | Callable[[int], Iterable[Any]], start: int) -> Iterator[Any]:
    """The items of a source from a position on."""
    if callable(source):
        return iter(source(start))
    items = iter(source)
    passed = sum(1 for _ in islice(items, start))
    if passed < start:
        raise StateError(
            f"the stream ended at position {passed}, before position {start}, where it was to resume",
            hint="read the same stream that the state was made from",
        )
    return items
