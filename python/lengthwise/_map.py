"""Runs a function on batches of items of similar length, and gives the results in the order of the items.

>>> import lengthwise as lw
>>> texts = ["to be", "or", "not to be", "that", "is the question"]
>>> list(lw.map_batches(lambda batch: [text.upper() for text in batch], texts, budget="padded:20"))
['TO BE', 'OR', 'NOT TO BE', 'THAT', 'IS THE QUESTION']
"""

from __future__ import annotations

import operator
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from itertools import islice
from typing import Any

import numpy as np

from ._checks import WHOLE, check_budget
from ._lengthwise import Planner
from ._memory import ran_out, release
from ._progress import Progress
from .errors import BudgetError, LengthsError, LengthwiseWarning, SettingError
from .stream import StreamBatch, check_item

#: How many items are planned at once, if it is known how many there are, and if it is not.
WINDOWS = (65_536, 16_384)
#: How many positions an error names.
NAMED = 8
#: What a function can return.
RETURN = "return a list with one result for each item, or an array whose first dimension is the batch"

Function = Callable[[StreamBatch], Any]
Show = bool | Callable[[int, int | None], object] | None


def map_batches(
    function: Function,
    items: Iterable[Any],
    length: Callable[[Any], int] = len,
    *,
    budget: str | int = "padded:20000",
    shapes: str = "exact",
    over_long: str = "alone",
    kind: Callable[[Any], Any] | None = None,
    window: int | None = None,
    workers: int = 1,
    progress: Show = None,
) -> Results:
    """Calls a function on batches of items of similar length, and yields the results one by one, in the order of the
    items.

    The items are read in windows. The batches of a window are planned together, with little padding; the longest come
    first, so that a lack of memory shows at once. At most ``window`` items are read ahead of the result that comes next;
    with several ``workers``, two windows and the batches at work. So memory is bounded, and ``items`` need not end.

    **Results.** ``function`` gets a list of items with two attributes: ``length``, what to pad to, and ``positions``,
    the positions of its items, from 0. It returns one result for each item: a list, or an array or tensor whose first
    dimension is the batch. It can return a mapping or a tuple of these: then the result of an item is a dictionary or a
    tuple. Rows of arrays and tensors are copied, so that a result that you keep does not keep its batch in memory. Rows
    of a list are yielded as they are.

    **Out of memory.** If ``function`` runs out of memory, the batch is divided into halves until it fits, and you get
    one :class:`LengthwiseWarning` with a budget that fits. Later batches have at most half the cells of the one that
    failed. If one item does not fit alone, the error is raised.

    **Errors.** An error of ``function`` is raised at once; its notes name the positions of the batch. An error of
    ``items`` or ``length`` is raised after the results of all items before it. ``.position`` of the iterator is the number
    of results that it has yielded: ``map_batches(function, items[results.position:])`` continues there.

    Args:
        function: The function. It gets a batch, and returns one result for each item.
        items: The items: a list, a dataset, or any iterable, also one without an end.
        length: A function that returns the length of an item. An empty item counts as 1. The default is ``len``.
        budget: The hard limit of a batch, as for :class:`lengthwise.Planner`. The default is "padded:20000".
        shapes: Which batch lengths may occur, as for :class:`lengthwise.Planner`. A "ladder:16" is chosen for the first
            window and kept. The default is "exact".
        over_long: What happens to an item that exceeds the budget alone: "alone" (a batch of its own), "error", or
            "truncate" (the function cuts it to the batch length). The default is "alone".
        kind: A function that returns the kind of an item, such as its language: a batch has items of one kind only. By
            default, all kinds mix.
        window: How many items are planned at once. A larger window pads less and holds more results. By default, it is
            65536 if ``items`` has a length, and otherwise 16384.
        workers: How many batches the function works on at once, each in a thread. With 1, it runs in the thread that
            asks for results. The default is 1.
        progress: Whether a line on standard error tells how far it is; or a function that is called with the number of
            items that are done, and the number of all items or ``None``. By default, the line is shown if standard
            error is a terminal and it takes longer than a second.
    """
    for name, value in (("function", function), ("length", length), *([("kind", kind)] if kind is not None else [])):
        if not callable(value):
            raise SettingError(f"`{name}`: expected a function, got {value!r}", hint=f"give a function as `{name}`")
    if isinstance(items, (str, bytes)) or not (hasattr(items, "__iter__") or hasattr(items, "__getitem__")):
        raise SettingError(
            f"`items`: expected an iterable of items, got a {type(items).__name__}",
            hint="give a list, a dataset or a generator",
        )
    if isinstance(items, Mapping) or hasattr(items, "iterrows") or hasattr(items, "iter_rows"):  # Its names would be the items.
        raise SettingError(
            f"`items`: expected an iterable of items, got a {type(items).__name__}",
            hint="give its values, as in `items=list(items.values())`"
            if isinstance(items, Mapping)
            else 'give a column, as in `frame["text"]`, or rows, as in `frame.to_dict("records")`',
        )
    known = _count(items)
    if window is None:
        window = WINDOWS[known is None]
    if over_long == "drop":
        raise SettingError(
            '`over_long="drop"` leaves items without a result, and every item must have one',
            hint='use `over_long="alone"`, or leave the over-long items out of `items`',
        )
    settings = {"budget": check_budget(budget), "shapes": shapes, "over_long": over_long}
    batches = _Windows(items, length, kind, checked_count("window", window), settings)
    # The results of a window are worked on while the next one is read.
    batches.ahead = checked_count("workers", workers) > 1
    return Results(
        function, iter(batches), name="map_batches", total=known, budget=budget, workers=workers, progress=progress
    )


class Results(Iterator[Any]):
    """The results of :func:`map_batches`, in the order of the items.

    Close it, or use it in a ``with`` statement, to stop before the end.
    """

    def __init__(self, function: Function, batches: Iterator[StreamBatch], **settings: Any) -> None:
        # Apart, so that nothing refers back to what is handed out: when that is forgotten, the threads end.
        self._run = _Run(function, batches, **settings)
        self._running = self._run.in_order()

    @property
    def position(self) -> int:
        """The number of results that were yielded: the position of the next one."""
        return self._run.position

    def __iter__(self) -> Results:
        return self

    def __next__(self) -> Any:
        return next(self._running)

    def __enter__(self) -> Results:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stops: nothing more is read, and the threads end with the batches that they work on."""
        self._running.close()


class _Run:
    """A function at work on batches."""

    def __init__(
        self,
        function: Function,
        batches: Iterator[StreamBatch],
        *,
        name: str,
        total: int | None,
        budget: str | int,
        workers: int = 1,
        progress: Show = None,
    ) -> None:
        self.position = 0
        self._function, self._batches, self._name, self._workers = function, batches, name, workers
        self._by_count = not str(budget).startswith("padded")
        self._progress = progress
        self._total = total
        # How many cells a batch may have after some were too many, and whether that was said.
        self._most: int | None = None
        self._warned = False
        self._lock = threading.Lock()

    def in_order(self) -> Generator[Any]:
        waiting: dict[int, Any] = {}
        progress = Progress(self._name, self._total, self._progress)
        try:
            with closing(self._finished()) as finished:
                for positions, rows in finished:
                    waiting.update(zip(positions, rows))
                    progress.add(len(positions))
                    del rows
                    while self.position in waiting:
                        row = waiting.pop(self.position)
                        self.position += 1
                        yield row
        finally:
            progress.end()
            if isinstance(self._batches, Generator):
                self._batches.close()

    def _finished(self) -> Generator[tuple[list[int], list[Any]]]:
        """The batches that are done: the positions of their items, and the results."""
        if self._workers == 1:
            for batch in self._batches:
                yield batch.positions, self._apply(batch)
            return
        # In the order in which they began: so no more wait for their turn than without threads.
        begun: deque[tuple[list[int], Future[list[Any]]]] = deque()
        failed: Exception | None = None
        threads = ThreadPoolExecutor(self._workers, thread_name_prefix=self._name)
        try:
            while begun or failed is None:
                while failed is None and len(begun) < 2 * self._workers:
                    try:
                        batch = next(self._batches)
                    except Exception as error:
                        # What began before it is finished first.
                        failed = error
                    else:
                        begun.append((batch.positions, threads.submit(self._apply, batch)))
                        del batch
                if begun:
                    positions, future = begun.popleft()
                    yield positions, future.result()
                    del future
            if not isinstance(failed, StopIteration):
                raise failed
        finally:
            threads.shutdown(cancel_futures=True)

    def _apply(self, batch: StreamBatch) -> list[Any]:
        """The results of a batch, which is divided if so many cells were too many before."""
        size, most = len(batch), self._most
        if most is not None and size * batch.length > most:
            parts = -(-size // max(most // batch.length, 1))
            size = -(-size // parts)
        rows: list[Any] = []
        for start in range(0, len(batch), size):
            rows += self._attempt(batch if size == len(batch) else part_of(batch, start, start + size))
        return rows

    def _attempt(self, batch: StreamBatch) -> list[Any]:
        """The results of a batch, which is divided if memory ends."""
        try:
            return rows_of(self._function(batch), len(batch))
        except StopIteration as error:
            # It would end the results without a word.
            raise RuntimeError(f"the function raised StopIteration; {self._where(batch)}") from error
        except Exception as error:
            if len(batch) == 1 or not ran_out(error):
                add_note(error, self._where(batch))
                raise
        # Here the error is gone, and with it what it held on to.
        release()
        half = len(batch) // 2
        with self._lock:
            # Half of it for all that comes, and not just less: else many more would fail, each by a little.
            self._most = min(half * batch.length, self._most or half * batch.length)
            warned, self._warned = self._warned, True
        rows = self._apply(part_of(batch, 0, half))
        # Not before, as a budget that fits is known only now.
        if not warned:
            self._warn(batch)
        return rows + self._apply(part_of(batch, half, len(batch)))

    def _where(self, batch: StreamBatch) -> str:
        named = ", ".join(map(str, batch.positions[:NAMED])) + (", …" if len(batch) > NAMED else "")
        items = "the item at position" if len(batch) == 1 else f"a batch of {len(batch)} items, at positions"
        return f"{self._name}: this was {items} {named}, of batch length {batch.length}"

    def _warn(self, batch: StreamBatch) -> None:
        most = self._most or batch.length
        budget = str(max(most // batch.length, 1)) if self._by_count else f'"padded:{most}"'
        warnings.warn(
            f"{self._name}: a batch of {len(batch)} items of batch length {batch.length} ran out of memory. It was "
            f"divided, and later batches have at most {most} cells\nhint: give a budget that fits, such as "
            f"`budget={budget}`",
            LengthwiseWarning,
            stacklevel=2,
        )


class _Windows:
    """The batches of items that are read in windows. They are read while batches are worked on, if ``ahead``."""

    ahead = False

    def __init__(
        self,
        items: Iterable[Any],
        length: Callable[[Any], int],
        kind: Callable[[Any], Any] | None,
        window: int,
        settings: dict[str, Any],
    ) -> None:
        # Refuses wrong settings before anything is read.
        Planner([1], "sorted", **settings)
        self._source, self._length, self._kind, self._window = items, length, kind, window
        self._settings = settings
        self._rungs: list[int] = []
        self._read = 0
        # What reading failed with. What was read before has results first.
        self._failed: Exception | None = None

    def __iter__(self) -> Generator[StreamBatch]:
        reading = _each(self._source)
        current = self._next(reading, self._window)
        start = 0
        while current:
            following: list[tuple[Any, int, Any]] = []
            for batch in self._batches(current, start):
                size = len(batch)
                yield batch
                del batch  # Its items are not needed while more are read.
                if self.ahead:
                    following += self._next(reading, size)
            start += len(current)
            current = following if self.ahead else self._next(reading, self._window)
        if self._failed is not None:
            raise self._failed

    def _next(self, reading: Iterator[Any], count: int) -> list[tuple[Any, int, Any]]:
        """The next items with their lengths and kinds, up to so many."""
        read: list[tuple[Any, int, Any]] = []
        try:
            if self._failed is None:
                for item in islice(reading, count):
                    kind = None if self._kind is None else self._kind(item)
                    read.append((item, self._length_of(item), kind))
                    self._read += 1
        except Exception as error:
            add_note(error, f"map_batches: this was at position {self._read}")
            self._failed = error
        return read

    def _length_of(self, item: Any) -> int:
        """The length of the item that was read last. Something empty must have a result too."""
        check_item(item, self._length, self._read)
        found = self._length(item)
        try:
            length = operator.index(found)
        except TypeError:
            length = -1
        if not 0 <= length < 2**32:
            raise LengthsError(
                f"expected the length of the item at position {self._read} as a whole number, got {found!r}",
                hint=f"have `length` return a whole number: {WHOLE.partition(';')[0]}",
                index=self._read,
            )
        return max(length, 1)

    def _batches(self, read: list[tuple[Any, int, Any]], start: int) -> Iterator[StreamBatch]:
        """The batches of a window that begins at a position, the longest first."""
        lengths = np.array([length for _, length, _ in read], dtype=np.uint32)
        settings = dict(self._settings)
        if self._rungs:
            # Rungs that were chosen stay, and grow only for items that are longer than any before.
            self._rungs += [int(lengths.max())] if lengths.max() > self._rungs[-1] else []
            settings["shapes"] = "ladder:" + "/".join(map(str, self._rungs))
        if self._kind is not None:
            settings["kind"] = [kind for _, _, kind in read]
        try:
            planner = Planner(lengths, "sorted", **settings)
        except BudgetError as error:
            if error.index is None:
                raise
            position = start + error.index
            raise BudgetError(
                f"the item at position {position}, of length {lengths[error.index]}, exceeds the budget alone",
                hint='raise the budget, or give it a batch of its own with `over_long="alone"`',
                index=position,
            ) from None
        except SettingError as error:
            add_note(error, f"map_batches: sequence 0 is the item at position {start}")
            raise
        plan = planner.plan(0)
        if not self._rungs and "/" not in self._settings["shapes"]:
            self._rungs = list(planner.rungs or [])
        batch_lengths = plan.batch_lengths.tolist()
        for number in np.argsort(-plan.batch_lengths.astype(np.int64), kind="stable").tolist():
            # In the order of the items, which functions may expect.
            places = sorted(plan[number].tolist())
            items = [read[place][0] for place in places]
            yield StreamBatch(items, batch_lengths[number], [start + place for place in places])


def rows_of(output: Any, count: int) -> list[Any]:
    """The result of each item, from what a function returned for so many items."""
    if isinstance(output, Mapping):
        names = list(output)
        columns = [_named(name, output[name], count) for name in names]
        return [dict(zip(names, row)) for row in zip(*columns)] if names else _counted([], count)
    if isinstance(output, tuple):
        columns = [_named(number, part, count) for number, part in enumerate(output)]
        # A named tuple stays one.
        make: Any = getattr(output, "_make", tuple)
        return [make(row) for row in zip(*columns)] if columns else _counted([], count)
    shape = getattr(output, "shape", None)
    if isinstance(shape, Sequence) and not hasattr(output, "columns"):
        if not shape:
            raise SettingError(f"expected {count} results, got one value: {output!r}", hint=RETURN)
        # A row would share the memory of its batch, and keep all of it.
        copy = "clone" if hasattr(output, "clone") else "copy" if len(shape) > 1 else ""
        return [getattr(row, copy)() if hasattr(row, copy) else row for row in _counted(list(output), count)]
    # A table would give its columns.
    if isinstance(output, (str, bytes)) or hasattr(output, "columns") or not isinstance(output, Iterable):
        raise SettingError(f"expected {count} results, got a {type(output).__name__}", hint=RETURN)
    return _counted(list(output), count)


def _named(name: object, output: Any, count: int) -> list[Any]:
    try:
        return rows_of(output, count)
    except SettingError as error:
        message = str(error).partition("\nhint: ")[0]
        raise SettingError(f"output {name!r}: {message}", hint=error.hint) from None


def _counted(rows: list[Any], count: int) -> list[Any]:
    if len(rows) != count:
        raise SettingError(f"expected {count} results for a batch of {count} items, got {len(rows)}", hint=RETURN)
    return rows


def part_of(batch: StreamBatch, start: int, end: int) -> StreamBatch:
    """Some items of a batch, which are padded to the same length."""
    return StreamBatch(batch[start:end], batch.length, batch.positions[start:end])


def add_note(error: Any, note: str) -> None:
    """Adds a note to an error. Python 3.10 keeps it, but does not show it."""
    if hasattr(error, "add_note"):
        error.add_note(note)
    else:
        error.__notes__ = [*getattr(error, "__notes__", []), note]


def checked_count(name: str, count: Any) -> int:
    try:
        checked = operator.index(count)
    except TypeError:
        checked = 0
    if checked < 1:
        raise SettingError(f"`{name}`: expected a whole number from 1, got {count!r}", hint=f"give `{name}=1` or more")
    return checked


def _count(items: Any) -> int | None:
    """How many items there are, if that is known."""
    try:
        return len(items)
    except TypeError:
        return None


def _each(items: Any) -> Iterator[Any]:
    """The items. A dataset of PyTorch need not say where it ends when it is read by index."""
    if hasattr(items, "__iter__"):
        return iter(items)
    count = _count(items)
    return iter(items) if count is None else (items[index] for index in range(count))
