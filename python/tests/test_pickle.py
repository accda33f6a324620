"""Every public object can be pickled and copied, and the copy does the same as the original."""

from __future__ import annotations

import copy
import importlib
import inspect
import multiprocessing
import pickle
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import lengthwise as lw
import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("lightning")
pytest.importorskip("lhotse")
import torch
from lengthwise import arrays, calibration, hf, stream
from lengthwise import torch as lt
from lengthwise.lhotse import Buckets, PlannedCutSampler, StreamCutSampler
from lengthwise.lightning import PlannedAccumulation

#: Those of Ray need a cluster: test_ray.py has them.
MODULES = ("", ".arrays", ".calibration", ".errors", ".stream", ".torch", ".hf", ".lhotse", ".lightning")
LENGTHS = np.random.default_rng(3).integers(3, 90, 300)
SECOND = LENGTHS[::-1].copy()
OTHERS = LENGTHS[:200] + 20
ITEMS = [torch.arange(length) for length in LENGTHS.tolist()]
PAIRS = [(item, item[:7]) for item in ITEMS]
#: Removed when the process ends.
SCRATCH = TemporaryDirectory()


def classes() -> dict[str, type]:
    """The public classes of the package, by name."""
    found = {}
    for name in MODULES:
        module = importlib.import_module(f"lengthwise{name}")
        names = getattr(module, "__all__", None) or [n for n in vars(module) if n[0] != "_"]
        for each in names:
            value = getattr(module, each)
            if inspect.isclass(value) and value.__module__.startswith("lengthwise"):
                found[each] = value
    return found


def planner(**settings):
    return lw.Planner(LENGTHS, budget="padded:900", **settings)


def digests(made):
    return [made.plan(epoch).digest for epoch in range(3)], made.rungs, repr(made)


def shard_planner():
    settings = {"budget": "padded:900", "shapes": "ladder:4", "shards": 2}
    statistics = lw.Statistics(LENGTHS) + lw.Statistics(OTHERS)
    shards = [
        lw.Planner(lengths, statistics=statistics, shard=shard, **settings).needs()
        for shard, lengths in enumerate([LENGTHS, OTHERS])
    ]
    return lw.Planner(LENGTHS, statistics=statistics + sum(shards), shard=0, **settings)


def steps_of(schedule):
    numbers = [*schedule.sequences.tolist(), *schedule.positions.tolist(), schedule.idle_share]
    ranks = [schedule.for_rank(rank) for rank in range(schedule.world_size)]
    return numbers, ranks, schedule.cursor(1), schedule.all_ranks(), repr(schedule)


def resumed_schedule():
    plan = planner().plan(2)
    return plan.resume(plan.schedule(2).cursor(3), 3)


def feed(**settings):
    made = lw.Feed("padded:300", **{"window": 40, "seed": 5, "world_size": 2, **settings})
    items = {}
    advance(made, items, iter(LENGTHS[:150].tolist()), 4)
    return made, items


def advance(made, items, lengths, steps=10**9):
    """Steps with the positions that their slots hold, until the lengths end or so many are made."""
    given = []
    for _ in range(steps):
        while made.needs():
            length = next(lengths, None)
            if length is None:
                return given
            position = made.position
            slot = made.push(length)
            if slot is not None:
                assert slot not in items and slot < 40
                items[slot] = position
        step = made.step()
        if step is None:
            return given
        for slots, positions, length in step:
            assert [items[slot] for slot in slots] == positions
            given.append((positions, length))
        for slots, _, _ in step:
            for slot in slots:
                items.pop(slot, None)
    return given


def rest_of_feed(made):
    made, items = made
    given = advance(made, items, iter(LENGTHS[made.position :].tolist()))
    assert items and made.position == len(LENGTHS)
    counts = made.held, made.left_out, made.truncated, made.rungs, made.world_size
    made.end()
    given += advance(made, items, iter(()))
    assert not items
    return given, counts, made.state()


def resumed_feed(pushed):
    """A feed that reads again what its state holds, and has read so many of them."""
    state = feed()[0].state()
    made, items = lw.Feed("padded:300", window=40, seed=5, world_size=2, state=state), {}
    advance(made, items, iter(LENGTHS[made.position :].tolist()[:pushed]))
    return made, items


def ended_feed():
    made, items = feed()
    made.end()
    return made, items


def end_of_feed(made):
    made, items = made
    return advance(made, items, iter(())), made.needs(), made.state()


def begun(made):
    iterator = iter(made)
    for _ in range(3):
        next(iterator)
    return made


def test_a_copy_of_a_sampler_goes_on_with_the_epoch_that_runs():
    made = sampler()
    running = iter(made)
    for _ in range(3):
        next(running)
    copies = [again(made, how) for how in (2, "deepcopy")]
    left = [list(batch) for batch in running]
    assert len(left) == len(made) - 3
    for other in copies:
        assert [list(batch) for batch in other] == left


def rest_of_sampler(made):
    return made.state_dict(), [list(batch) for batch in made], made.epoch, len(made)


class Numbers:
    """A source that is read by a generator, which cannot be pickled."""

    def __iter__(self):
        yield from LENGTHS.tolist()


def numbers_from(start):
    yield from LENGTHS[start:].tolist()


def streaming(source, **settings):
    settings = {"budget": "padded:300", "window": 40, "rank": 1, "world_size": 2, **settings}
    return begun(lw.stream_batches(source, int, **settings))


def rest(made):
    return [(list(batch), batch.length, batch.positions) for batch in made], made.state()


def batches_of_torch(made):
    return [(list(batch), batch.length) for batch in made], repr(made)


def learning():
    """A loader that has learned some lengths."""
    loader = lt.LearningLoader(ITEMS, Path(mkdtemp(dir=SCRATCH.name)) / "lengths.npy", budget="padded:300", window=16)
    next(iter(loader))
    return loader


def learned():
    loader = learning()
    for _ in loader:
        pass
    return loader


def batches_of_learning(made):
    batches = [values.tolist() for values, _ in made]
    return batches, made.lengths.tolist(), made.epoch


def sampler(**settings):
    return lt.BatchSampler(LENGTHS, "shuffled", budget="padded:900", rank=0, world_size=1, **settings)


def cuts(kind, **settings):
    """Cuts whose audio nothing reads."""
    import lhotse

    made = []
    for number, length in enumerate(LENGTHS.tolist()):
        recording = lhotse.Recording(str(number), [], 16000, 160 * length, length / 100)
        made.append(lhotse.MonoCut(str(number), 0.0, length / 100, 0, recording=recording))
    return kind(lhotse.CutSet.from_cuts(made), budget="padded:900", frame_shift=0.01, rank=0, world_size=1, **settings)


def batches_of_cuts(made):
    return [[cut.id for cut in batch] for batch in made], made.epoch, repr(made)


def collated(made):
    loader = lt.loader(ITEMS, sampler(shapes="ladder:5"), collate_fn=made)
    return [[part.tolist() for part in batch] for batch in loader]


def collated_pairs(made):
    batches = lt.BatchSampler(LENGTHS, second=np.full(300, 7), budget="padded:900", rank=0, world_size=1)
    return [[part.tolist() for part in batch] for batch in lt.loader(PAIRS, batches, collate_fn=made)]


def packed(made):
    batches = lt.BatchSampler(LENGTHS, "packed:capacity=200", rank=0, world_size=1)
    loader = lt.loader(ITEMS, batches, collate_fn=made)
    return [{k: getattr(v, "tolist", lambda v=v: v)() for k, v in b.items()} for b in loader]


def calibrated():
    model = lw.CostModel("a=0.001,c=1e-7")
    shapes = [(size, length) for size in (1, 4, 16) for length in (10, 40, 90)]
    steps = [calibration.MeasuredStep(s, n, model.seconds(s, n)) for s, n in shapes]
    return calibration.Calibration(steps, fit(), 5000, False, [recommendation()], memory_model())


def memory_model():
    sums = ((1e9, 0.0, 2.5, 1e5, 0.0, 3.0), (2e9, 0.0, 0.0, 0.0, 0.0, 0.0))
    return calibration.MemoryModel(sums, 0.05, 0.01, 0.03, 10**10)


def fit():
    shapes = [(size, length) for size in (1, 4, 16) for length in (10, 40, 90)]
    noise = 1 + np.random.default_rng(1).random(len(shapes)) / 10
    seconds = [0.001 + 1e-5 * s * n * by for (s, n), by in zip(shapes, noise)]
    return lw.CostModel.fit([s for s, _ in shapes], [n for _, n in shapes], seconds)


def recommendation():
    return calibration.Recommendation("shuffled", "padded:900", "exact", None, 2, 5, 1.5, 0.1, 3.0, 1.0, 0.2)


def saved_fit(made):
    with TemporaryDirectory() as folder:
        made.save(Path(folder) / "model.json")
        return (Path(folder) / "model.json").read_text(), repr(made), made.worst, made.r2


def comparison(**settings):
    return lw.compare(LENGTHS, ["sorted", "blurred:blur=0.05"], budget=8, epochs=2, source="x.csv", **settings)


def compared(made):
    return made.to_json(), str(made), repr(made), made.rows, made.settings, made.to_html()


def itself(made):
    return made


def values(made):
    return [part.tolist() for part in made]


def error(kind):
    return lambda: kind("it is wrong", hint="mend it", index=7)


def told(made):
    return str(made), made.args, made.hint, made.index, type(made)


#: For each class, ways to make an object, and what must be the same of it and of its copy.
TABLE = {
    "ArgumentTypeError": [(error(lw.ArgumentTypeError), told)],
    "Batch": [(lambda: next(iter(sampler())), lambda b: (list(b), b.length, b.second_length))],
    "BatchSampler": [
        (sampler, rest_of_sampler),
        (lambda: begun(sampler()), lambda made: (made.state_dict(), made.epoch, repr(made))),
        (lambda: sampler(epoch=4, shapes="ladder:4"), rest_of_sampler),
    ],
    "Buckets": [(lambda: Buckets([1.5, 20.0], [40, 3]), itself)],
    "BudgetError": [(error(lw.BudgetError), told)],
    "Calibration": [(calibrated, itself), (calibrated, str), (calibrated, lambda c: c.settings)],
    "Chunks": [
        (lambda: lw.Chunks(LENGTHS, 16), lambda c: (c.pieces, c.sequences.tolist(), c.offsets.tolist(), repr(c))),
    ],
    "Comparison": [
        (comparison, compared),
        (lambda: comparison(cost_model="encoder", world_size=2, tail="drop", steps="aligned", seed=3), compared),
        (lambda: lw.compare(LENGTHS, "rotating", budget=4, epochs=1), compared),
        (lambda: lw.compare(LENGTHS, "rotating", budget=4, epochs=2), compared),
    ],
    "CostError": [(error(lw.CostError), told)],
    "CostModel": [(lambda: lw.CostModel("a=0.1,b=1e-7,d=0.30000000000000004"), itself)],
    "Feed": [
        (feed, rest_of_feed),
        (lambda: feed(shapes="ladder:4"), rest_of_feed),
        (lambda: feed(over_long="truncate", pivot="quantile", tail="repeat", world_size=1), rest_of_feed),
        (lambda: (lw.Feed("cost:encoder,limit=0.05", window=40), {}), rest_of_feed),
        (ended_feed, end_of_feed),
        (lambda: resumed_feed(0), rest_of_feed),
        (lambda: resumed_feed(7), rest_of_feed),
    ],
    "FileError": [(error(lw.FileError), told)],
    "Fit": [(fit, itself), (fit, saved_fit)],
    "Inspection": [
        (lambda: lw.inspect(LENGTHS, budget="padded:500", source="x.csv"), lambda i: (i.to_json(), str(i))),
    ],
    "Lengths": [
        (lambda: lw.Lengths(LENGTHS), itself),
        (lambda: lw.Lengths(LENGTHS, SECOND), lambda made: (made, made.second, repr(made))),
        (lambda: lw.Lengths(LENGTHS, together=LENGTHS % 9, kind=LENGTHS % 9 % 2), lambda made: (made, made.kinds, repr(made))),
        (lambda: lw.Lengths.of_items([[3, 4], [5]], kind=["a", "b"]), lambda made: (made.items, made.groups.tolist(), made.kinds)),
        (lambda: shard_planner().lengths, lambda made: digests(lw.Planner(made, budget=8, shapes="ladder:4"))),
    ],
    "LengthsError": [(error(lw.LengthsError), told)],
    "LengthwiseError": [(error(lw.LengthwiseError), told)],
    "LengthwiseWarning": [(lambda: lw.LengthwiseWarning("so"), lambda w: (w.args, type(w)))],
    "MeasuredStep": [(lambda: calibration.MeasuredStep(2, 30, 0.1), itself)],
    "MemoryModel": [(memory_model, itself), (memory_model, lambda made: (made.peak(3, 40), made.reserved(9, 9), str(made)))],
    "Measures": [
        (lambda: planner().plan().measure(), itself),
        (lambda: planner(second=SECOND).plan().measure(), lambda made: (made, made.asdict(), repr(made))),
    ],
    "Mixing": [(lambda: lw.mixing([planner().plan(epoch) for epoch in range(3)]), lambda made: (made, repr(made)))],
    "PaddedBatch": [(lambda: next(arrays.batches(ITEMS, planner().plan())), values)],
    "Plan": [
        (lambda: planner().plan(3), lambda p: (p, p.settings, p.measure(), p.digest, repr(p))),
        (lambda: planner(over_long="drop", second=SECOND).plan(), lambda p: (p, p.second_lengths.tolist())),
        (lambda: shard_planner().plan(1), lambda p: (p, p.settings, p.schedule(1).cursor(1))),
    ],
    "Planner": [
        (planner, digests),
        (lambda: planner(strategy="blurred", shapes="multiple:8", seed=2**64 - 1), digests),
        (lambda: planner(second=SECOND, arrange="long-first", over_long="alone"), digests),
        (lambda: planner(canonical_ranks=4, steps="aligned", cost_model="encoder", tail="drop"), digests),
        (lambda: planner(accumulate=2, constant_steps=True), digests),
        (lambda: lw.Planner(LENGTHS, "packed:capacity=100"), digests),
        (lambda: lw.Planner(LENGTHS, budget="cost:encoder,limit=0.05,at-most=7"), digests),
        (shard_planner, lambda made: (made.needs(), digests(made))),
    ],
    "PlannedCutSampler": [
        (lambda: cuts(PlannedCutSampler, accumulate=1), batches_of_cuts),
        (lambda: begun(cuts(PlannedCutSampler, accumulate=1)), lambda made: (made.state_dict(), made.epoch, repr(made))),
    ],
    "RankError": [(error(lw.RankError), told)],
    "Recommendation": [(recommendation, itself)],
    "Schedule": [
        (lambda: planner(accumulate=2).plan(1).schedule(3), steps_of),
        (resumed_schedule, steps_of),
    ],
    "SettingError": [(error(lw.SettingError), told)],
    "StateError": [(error(lw.StateError), told)],
    "BalancedStep": [
        (lambda: lw.balance(LENGTHS, 3, capacity=4000), itself),
        (lambda: lw.balance(LENGTHS, 4, capacity=4000, split=[1, 4]), itself),
    ],
    "Statistics": [
        (lambda: lw.Statistics(LENGTHS), itself),
        (lambda: shard_planner().needs(), lambda made: (made, made.needs, made.to_bytes())),
    ],
    "StreamBatch": [
        (lambda: stream.StreamBatch("ab", 3, [1, 2]), lambda b: (list(b), b.length, b.positions)),
    ],
    "LearningLoader": [(learning, batches_of_learning), (learned, batches_of_learning)],
    "StreamBatches": [
        (lambda: lt.StreamBatches(LENGTHS.tolist(), int, budget="padded:300", rank=0, world_size=1), batches_of_torch),
    ],
    "StreamCutSampler": [(lambda: cuts(StreamCutSampler), batches_of_cuts)],
    "Streaming": [
        (lambda: streaming(LENGTHS.tolist()), rest),
        (lambda: streaming(iter(LENGTHS.tolist())), rest),
        (lambda: streaming(Numbers(), shapes="ladder:4"), rest),
        (lambda: streaming(numbers_from), rest),
        (lambda: lw.stream_batches(Numbers(), int, budget=8), rest),
    ],
    "Mixed": [(lambda: stream.Mixed({"a": [1, 2, 3], "b": numbers_from}, {"a": 1, "b": 2}), list)],
    "Tuning": [
        (lambda: lw.tune(LENGTHS, budget="padded:900", seed=4), lambda t: (t.to_json(), t.settings, str(t))),
        (
            lambda: lw.tune(LENGTHS, budget=8, max_padding=0.2, cost_model="encoder"),
            lambda t: (t.to_json(), t.settings, t.best, t.candidates, t.within_limits, str(t)),
        ),
    ],
    "PlannedAccumulation": [(lambda: PlannedAccumulation("sequences"), vars)],
    "pack_collate": [(lambda: lt.pack_collate(padding_value=9), packed)],
    "pad_collate": [
        (lambda: lt.pad_collate(sampler(shapes="ladder:5"), padding_value=-1), collated),
        (lambda: lt.pad_collate(field=0, second=1), collated_pairs),
    ],
}

#: Classes that have no objects of their own.
BASES = {"TrainerMixin"}


def again(made, how):
    if how == "deepcopy":
        return copy.deepcopy(made)
    return pickle.loads(pickle.dumps(made, protocol=how))


def test_every_public_class_is_here():
    assert sorted(classes()) == sorted({*TABLE, *BASES})
    assert issubclass(classes()["TrainerMixin"], hf.TrainerMixin)


@pytest.mark.parametrize("how", [2, pickle.HIGHEST_PROTOCOL, "deepcopy"])
@pytest.mark.parametrize(
    ("make", "shown"),
    [pytest.param(*way, id=f"{name}-{at}") for name, ways in TABLE.items() for at, way in enumerate(ways)],
)
def test_a_copy_is_the_same(make, shown, how):
    made = make()
    other = again(made, how)
    assert type(other) is type(made)
    # The copy first: what it does must not depend on the original.
    seen = shown(other)
    expected = shown(made)
    assert seen == expected
    # And a copy of a copy.
    assert type(again(other, how)) is type(made)


def test_objects_go_to_a_spawned_process_and_back():
    names = [name for name in TABLE if hasattr(lw, name) or name in calibration.__all__]
    ways = [way for name in names for way in TABLE[name]]
    made = [make() for make, _ in ways]
    # Processes that are spawned get their arguments pickled, and have imported nothing.
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        others = pickle.loads(pool.apply_async(pickle.dumps, (made,)).get(timeout=120))
    assert len(names) > 20 and len(others) == len(made)
    for (_, shown), one, other in zip(ways, made, others):
        assert shown(other) == shown(one)


def test_a_stream_that_can_be_read_once_says_that_it_cannot_be_pickled():
    numbers = (length for length in LENGTHS.tolist())
    made = begun(lw.stream_batches(numbers, int, budget="padded:300", window=40))
    for how in (2, "deepcopy"):
        with pytest.raises(lw.StateError, match="generator") as caught:
            again(made, how)
        assert "state" in caught.value.hint
    assert len(rest(made)[0]) > 3


def test_what_was_altered_is_refused():
    reduced = feed()[0].__reduce__()
    restore, (settings, state, *others) = reduced
    with pytest.raises(lw.StateError):
        restore(settings, state.replace('"steps":4', '"steps":5'), *others)
    position, held, ended = others
    with pytest.raises(lw.StateError):
        restore(settings, state, position, [(slot, at, 80, *rest) for slot, at, _, *rest in held], ended)
    restore, (text, *others) = lw.tune(LENGTHS, budget=8).__reduce__()
    with pytest.raises(lw.StateError):
        restore(text[:-9], *others)


def test_batches_of_a_plan_go_on_where_they_were():
    plan = planner().plan()
    iterator = iter(plan)
    for _ in range(3):
        next(iterator)
    for how in (2, pickle.HIGHEST_PROTOCOL, "deepcopy"):
        left = again(iterator, how)
        assert [batch.tolist() for batch in left] == plan.tolist()[3:]
    assert len(list(iterator)) == len(plan) - 3


@pytest.mark.parametrize("workers", [0, 2])
def test_the_dataset_of_a_loader_can_be_pickled(workers):
    loader = lt.loader(ITEMS, sampler(), num_workers=workers)
    dataset = pickle.loads(pickle.dumps(loader.dataset))
    indices = next(iter(sampler()))
    rows = dataset.__getitems__(indices)
    assert rows.length == indices.length and len(dataset) == len(ITEMS)
    assert pickle.loads(pickle.dumps(rows)).length == indices.length
