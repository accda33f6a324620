"""A function on planned batches, with the results in order."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
import threading
import time
import warnings
from collections import namedtuple

import lengthwise as lw
import numpy as np
import pytest
from lengthwise import _progress

TEXTS = ["x" * (number * number % 97) for number in range(1000)]
SETTINGS = {"budget": "padded:400", "window": 64}


def sizes(batch):
    return [len(text) for text in batch]


def same(batch):
    return list(batch)


class Recorder:
    """A function that notes its batches, and can run out of memory above so many cells."""

    def __init__(self, most=None, error=MemoryError):
        self.batches, self.failed, self.most, self.error = [], [], most, error

    def __call__(self, batch):
        if self.most is not None and len(batch) * batch.length > self.most:
            self.failed.append(batch)
            raise self.error("CUDA out of memory. Tried to allocate 2.00 GiB")
        self.batches.append(batch)
        return [text.upper() for text in batch]


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("map_batches")]


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("window", [None, 1, 7, 64, 5000])
@pytest.mark.parametrize("budget", ["padded:400", 8, "padded:20000"])
def test_results_are_in_order_and_those_of_each_item_alone(workers, window, budget):
    rng = np.random.default_rng(5)
    items = [rng.standard_normal(1 + number * 31 % 97) for number in range(500)]

    def padded_sums(batch):
        rows = np.zeros((len(batch), batch.length))
        for row, item in zip(rows, batch):
            row[: len(item)] = item
        return np.stack([np.cumsum(row)[: len(item)][-1:] for row, item in zip(rows, batch)])

    made = list(lw.map_batches(padded_sums, iter(items), budget=budget, window=window, workers=workers))
    # The sum of a row does not depend on the others of its batch: not a bit may differ.
    assert [row.tobytes() for row in made] == [np.cumsum(item)[-1:].tobytes() for item in items]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_batches_stay_in_the_budget_and_do_not_depend_on_workers(workers):
    alone, record = Recorder(), Recorder()
    list(lw.map_batches(alone, TEXTS, **SETTINGS))
    assert list(lw.map_batches(record, TEXTS, workers=workers, **SETTINGS)) == [text.upper() for text in TEXTS]
    assert all(len(batch) * batch.length <= 400 for batch in record.batches)
    assert all(batch.length == max(map(len, batch)) for batch in record.batches)
    assert all([TEXTS[position] for position in batch.positions] == batch for batch in record.batches)
    assert sorted(p for batch in record.batches for p in batch.positions) == list(range(1000))
    assert sorted(batch.positions for batch in record.batches) == sorted(batch.positions for batch in alone.batches)


def test_the_longest_of_a_window_come_first_and_hardly_anything_is_padded():
    record = Recorder()
    list(lw.map_batches(record, TEXTS, budget="padded:400"))
    lengths = [batch.length for batch in record.batches]
    assert lengths == sorted(lengths, reverse=True)
    cells = sum(len(batch) * batch.length for batch in record.batches)
    assert cells < 1.03 * sum(max(len(text), 1) for text in TEXTS)


@pytest.mark.parametrize("workers", [1, 3])
def test_items_need_not_end_and_only_so_many_are_read_ahead(workers):
    read, most, given, ahead = 0, 0, 0, 0

    def source():
        nonlocal read
        for number in itertools.count():
            read += 1
            # Lengths that rise, so that the oldest of a window are in its last batch.
            yield "x" * (1 + number % 40)

    def function(batch):
        nonlocal most
        most = max(most, len(batch))
        return same(batch)

    results = lw.map_batches(function, source(), budget="padded:200", window=50, workers=workers)
    assert read == 0  # Nothing is read before it is asked for.
    for text in itertools.islice(results, 3000):
        ahead = max(ahead, read - given)
        assert len(text) == 1 + given % 40
        given += 1
    results.close()
    assert ahead <= (50 if workers == 1 else 2 * 50 + 2 * workers * most)
    assert ahead >= 50
    assert results.position == 3000 and not threads()


def test_a_row_does_not_keep_its_batch():
    torch = pytest.importorskip("torch")
    for row in lw.map_batches(lambda batch: np.ones((len(batch), 5)), TEXTS, **SETTINGS):
        assert row.base is None and row.shape == (5,)
    for row in lw.map_batches(lambda batch: torch.ones(len(batch), 5), TEXTS, **SETTINGS):
        assert row.untyped_storage().nbytes() == 5 * 4
    for row in lw.map_batches(lambda batch: torch.tensor(sizes(batch)), TEXTS, **SETTINGS):
        assert row.untyped_storage().nbytes() == 8
    # A list says what the results are: nothing is copied.
    kept = [object() for _ in TEXTS]
    made = lw.map_batches(lambda batch: [kept[position] for position in batch.positions], TEXTS, **SETTINGS)
    assert all(one is other for one, other in zip(made, kept))


Pair = namedtuple("Pair", "size text")


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda batch: (len(text) for text in batch), len),
        (lambda batch: np.array(sizes(batch)), len),
        (lambda batch: {"size": np.array(sizes(batch)), "text": same(batch)}, lambda t: {"size": len(t), "text": t}),
        (lambda batch: (sizes(batch), {"text": same(batch)}), lambda t: (len(t), {"text": t})),
        (lambda batch: Pair(sizes(batch), same(batch)), lambda t: Pair(len(t), t)),
        (lambda batch: [[]] * len(batch), lambda t: []),
    ],
    ids=["generator", "array", "mapping", "tuple", "named", "list"],
)
def test_what_a_function_can_return(function, expected):
    assert list(lw.map_batches(function, TEXTS, **SETTINGS)) == [expected(text) for text in TEXTS]
    assert list(lw.map_batches(function, [], **SETTINGS)) == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda batch: batch[1:], "expected 4 results for a batch of 4 items, got 3"),
        (lambda batch: np.zeros((5, 4)), "expected 4 results for a batch of 4 items, got 5"),
        (lambda batch: {"a": same(batch), "b": [1]}, "output 'b': expected 4 results for a batch of 4 items, got 1"),
        (lambda batch: (same(batch), 3), "output 1: expected 4 results, got a int"),
        (lambda batch: None, "expected 4 results, got a NoneType"),
        (lambda batch: "abcd", "expected 4 results, got a str"),
        (lambda batch: np.float64(3), "expected 4 results, got one value"),
        (lambda batch: {}, "got 0"),
    ],
)
def test_another_number_of_results_is_refused(wrong, message):
    with pytest.raises(lw.SettingError, match=message) as caught:
        list(lw.map_batches(wrong, ["ab"] * 8, budget=4))
    assert "one result for each item" in caught.value.hint
    assert "a batch of 4 items, at positions" in caught.value.__notes__[0]


def test_a_table_is_refused_as_it_would_give_its_columns():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(lw.SettingError, match="got a DataFrame"):
        list(lw.map_batches(lambda batch: pandas.DataFrame({"a": [1, 2], "b": [1, 2]}), ["ab"] * 2))


def test_names_of_columns_are_no_items():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(lw.SettingError, match="got a DataFrame") as caught:
        lw.map_batches(sizes, pandas.DataFrame({"text": TEXTS}))
    assert 'frame["text"]' in caught.value.hint
    with pytest.raises(lw.SettingError, match="got a dict") as caught:
        lw.map_batches(sizes, {"text": TEXTS})
    assert ".values()" in caught.value.hint


def test_an_item_is_not_measured_by_the_number_of_its_fields():
    items = [{"id": number, "input_ids": [1] * (number + 1)} for number in range(20)]
    for batches in (lw.map_batches(same, items), lw.stream_batches(items, budget="padded:100")):
        with pytest.raises(lw.LengthsError, match="number of its fields") as caught:
            list(batches)
        assert caught.value.index == 0 and """`length=lambda item: len(item['input_ids'])`""" in caught.value.hint
    assert list(lw.map_batches(same, items, lambda item: len(item["input_ids"]))) == items


class OutOfMemoryError(RuntimeError):
    """An error without a message, as PyTorch's can be."""

    def __init__(self, _):
        super().__init__()


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("error", [MemoryError, RuntimeError, OutOfMemoryError])
def test_batches_that_run_out_of_memory_are_divided(workers, error):
    record = Recorder(most=250, error=error)
    with pytest.warns(lw.LengthwiseWarning, match="ran out of memory") as warned:
        made = list(lw.map_batches(record, TEXTS, budget="padded:1000", workers=workers))
    assert made == [text.upper() for text in TEXTS]
    assert len([one for one in warned if issubclass(one.category, lw.LengthwiseWarning)]) == 1
    if workers == 1:
        # After 1,000 and 500 cells were too many, no batch has so many again.
        assert len(record.failed) == 2 and record.failed[1] == record.failed[0][: len(record.failed[0]) // 2]
        # The budget of the hint is one that fits.
        budget = str(warned[0].message).partition('budget="')[2].partition('"')[0]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert list(lw.map_batches(record, TEXTS, budget=budget)) == made


def test_a_budget_of_sequences_is_told_as_such():
    with pytest.warns(lw.LengthwiseWarning, match=r"hint: .*`budget=4`"):
        list(lw.map_batches(Recorder(most=40), ["x" * 10] * 100, budget=16))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_item_that_does_not_fit_alone_is_named(workers):
    texts = ["x" * 10] * 20 + ["x" * 300] + ["x" * 10] * 20
    results = lw.map_batches(Recorder(most=250), texts, budget="padded:1000", window=20, workers=workers)
    given = []
    with pytest.raises(MemoryError, match="Tried to allocate") as caught:
        given.extend(results)
    assert "this was the item at position 20, of batch length 300" in caught.value.__notes__[0]
    assert results.position == len(given) == 20 and not threads()


class Broken(Exception):
    pass


@pytest.mark.parametrize("workers", [1, 3])
def test_after_an_error_of_the_function_one_can_go_on(workers):
    broken = True

    def function(batch):
        if broken and 700 in batch.positions:
            raise Broken("no network")
        return sizes(batch)

    results = lw.map_batches(function, TEXTS, workers=workers, **SETTINGS)
    given = []
    with pytest.raises(Broken, match="no network") as caught:
        for result in results:
            given.append(result)
    assert "map_batches: this was a batch of" in caught.value.__notes__[0]
    assert len(caught.value.__notes__) == 1
    # The windows before the one that failed are complete.
    assert results.position == len(given) >= 64 * 10
    assert list(results) == [] and not threads()
    broken = False
    given.extend(lw.map_batches(function, TEXTS[results.position :], workers=workers, **SETTINGS))
    assert given == sizes(TEXTS)


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("of", ["items", "length"])
def test_what_comes_before_an_error_of_the_source_has_results(workers, of):
    def source():
        yield from TEXTS[:777]
        if of == "items":
            raise Broken("no more disk")
        yield None

    results = lw.map_batches(sizes, source(), workers=workers, **SETTINGS)
    given = []
    with pytest.raises(Broken if of == "items" else TypeError) as caught:
        given.extend(results)
    assert caught.value.__notes__ == ["map_batches: this was at position 777"]
    assert given == sizes(TEXTS[:777]) and results.position == 777 and not threads()


@pytest.mark.parametrize("error", [StopIteration, GeneratorExit])
def test_no_error_of_the_function_looks_like_the_end(error):
    def function(batch):
        raise error

    for workers in (1, 2):
        with pytest.raises((RuntimeError, GeneratorExit)):
            list(lw.map_batches(function, TEXTS, workers=workers))
        assert not threads()


def test_a_function_that_raises_stop_iteration_is_told_where():
    with pytest.raises(RuntimeError, match="StopIteration; map_batches: this was a batch of 2 items, at positions 0, 1"):
        list(lw.map_batches(lambda batch: next(iter([])), ["ab", "cd"]))


def test_several_workers_work_at_once():
    # Each waits for the other: one alone would not go on.
    meeting = threading.Barrier(2)

    def function(batch):
        meeting.wait(timeout=30)
        return sizes(batch)

    assert list(lw.map_batches(function, TEXTS[:64], budget=8, workers=2)) == sizes(TEXTS[:64])


def test_one_worker_is_the_thread_that_asks():
    seen = set()
    list(lw.map_batches(lambda batch: seen.add(threading.current_thread()) or sizes(batch), TEXTS, **SETTINGS))
    assert seen == {threading.current_thread()}


def test_threads_end_when_results_are_closed_or_forgotten():
    began = threading.Event()
    go_on = threading.Event()
    calls = []

    def function(batch):
        calls.append(batch)
        began.set()
        assert go_on.wait(timeout=30)
        return sizes(batch)

    with lw.map_batches(function, TEXTS, workers=2, **SETTINGS) as results:
        go_on.set()
        assert next(results) == 0
    done = len(calls)
    assert not threads() and list(results) == [] and len(calls) == done < 50
    results = lw.map_batches(sizes, itertools.cycle(TEXTS), workers=2, **SETTINGS)
    assert next(results) == 0
    del results
    assert not threads()


@pytest.mark.parametrize("shapes", ["multiple:8", "ladder:4", "ladder:10/50/100"])
def test_shapes_are_kept_over_all_windows(shapes):
    record = Recorder()
    list(lw.map_batches(record, TEXTS, shapes=shapes, **SETTINGS))
    lengths = {batch.length for batch in record.batches}
    if shapes == "multiple:8":
        assert all(length % 8 == 0 for length in lengths)
    else:
        assert len(lengths) <= (3 if "/" in shapes else 6)
    longer = [*TEXTS, *["x" * 200] * 2, *TEXTS]
    record = Recorder()
    assert list(lw.map_batches(record, longer, shapes=shapes, **SETTINGS)) == [text.upper() for text in longer]
    # A ladder that was chosen grows; above one that was given, an item is alone.
    found = sorted(batch.positions for batch in record.batches if batch.length >= 200)
    assert found == ([[1000], [1001]] if "/" in shapes else [[1000, 1001]])
    if "/" in shapes:
        with pytest.raises(lw.SettingError, match="top rung") as caught:
            list(lw.map_batches(sizes, longer, shapes=shapes, over_long="error", **SETTINGS))
        assert caught.value.__notes__ == ["map_batches: sequence 0 is the item at position 960"]


def test_kinds_stay_apart():
    record = Recorder()
    list(lw.map_batches(record, TEXTS, kind=lambda text: len(text) % 2, **SETTINGS))
    assert all(len({len(text) % 2 for text in batch}) == 1 for batch in record.batches)


def test_over_long_items():
    texts = [*TEXTS[:100], "x" * 500, *TEXTS[:100]]
    record = Recorder()
    assert list(lw.map_batches(record, texts, **SETTINGS)) == [text.upper() for text in texts]
    assert [batch.positions for batch in record.batches if batch.length == 500] == [[100]]
    with pytest.raises(lw.BudgetError, match="position 100, of length 500") as caught:
        list(lw.map_batches(sizes, texts, over_long="error", **SETTINGS))
    assert caught.value.index == 100
    cut = list(lw.map_batches(lambda b: [len(t[: b.length]) for t in b], texts, over_long="truncate", **SETTINGS))
    assert cut[100] == 400 and cut[:100] == sizes(texts[:100])


class Dataset:
    """As those of PyTorch may be: nothing says where it ends but its length."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        return "x" * (index + 1)


def test_items_can_be_a_dataset():
    assert list(lw.map_batches(sizes, Dataset())) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        ((sizes, TEXTS), {"over_long": "drop"}, "without a result"),
        ((sizes, TEXTS), {"over_long": "cut"}, "cut"),
        ((sizes, TEXTS), {"budget": "padded:zero"}, "zero"),
        ((sizes, TEXTS), {"budget": None}, "no budget"),
        ((sizes, TEXTS), {"shapes": "round"}, "round"),
        ((sizes, TEXTS), {"window": 0}, "`window`: expected a whole number from 1, got 0"),
        ((sizes, TEXTS), {"workers": 0}, "`workers`: expected a whole number from 1, got 0"),
        ((sizes, TEXTS), {"workers": 1.5}, "got 1.5"),
        ((sizes, TEXTS), {"kind": "language"}, "`kind`: expected a function"),
        ((sizes, "abc"), {}, "`items`: expected an iterable of items, got a str"),
        ((sizes, 7), {}, "got a int"),
        ((TEXTS, sizes), {}, "`function`: expected a function"),
        ((sizes, TEXTS, 5), {}, "`length`: expected a function"),
    ],
)
def test_wrong_settings_are_refused_at_once(arguments, settings, message):
    with pytest.raises(lw.SettingError, match=message):
        lw.map_batches(*arguments, **settings)


@pytest.mark.parametrize("length", [lambda text: -1, lambda text: 2.5, lambda text: "long", lambda text: 2**32])
def test_wrong_lengths_are_refused(length):
    with pytest.raises(lw.LengthsError, match="position 0") as caught:
        list(lw.map_batches(sizes, TEXTS, length))
    assert caught.value.index == 0


def test_progress_can_be_a_function():
    told = []
    list(lw.map_batches(sizes, TEXTS, progress=lambda done, total: told.append((done, total)), **SETTINGS))
    assert told[-1] == (1000, 1000) and [done for done, _ in told] == sorted({done for done, _ in told})
    list(lw.map_batches(sizes, iter(TEXTS), progress=lambda done, total: told.append((done, total)), **SETTINGS))
    assert told[-1] == (1000, None)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("stream", "show", "lines"), [(Terminal, None, True), (io.StringIO, None, False), (Terminal, False, False)]
)
def test_progress_is_shown_on_terminals_when_it_takes_long(monkeypatch, stream, show, lines):
    monkeypatch.setattr(sys, "stderr", stream())
    list(lw.map_batches(sizes, TEXTS, progress=show, **SETTINGS))
    assert sys.stderr.getvalue() == ""  # It took no second.
    seconds = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    list(lw.map_batches(sizes, TEXTS, progress=show, **SETTINGS))
    shown = sys.stderr.getvalue()
    assert bool(shown) == lines
    if lines:
        assert "\rmap_batches: 1,000 of 1,000 items (100 %)" in shown and shown.endswith("\n")
        assert "left" in shown


def test_progress_in_a_file_has_few_lines(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    seconds = itertools.count()
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    batches = []
    list(lw.map_batches(lambda b: batches.append(b) or sizes(b), iter(TEXTS), progress=True, **SETTINGS))
    lines = sys.stderr.getvalue().splitlines()
    assert 2 <= len(lines) <= len(batches) / _progress.BETWEEN[1] + 2
    assert lines[-1].startswith("map_batches: 1,000 items, ") and "\r" not in lines[-1]


def test_the_package_is_as_light_as_before():
    code = "import sys, lengthwise; assert not {'torch', 'lengthwise._map', 'concurrent.futures'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
