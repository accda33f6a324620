"""Sequences that stay together, kinds that do not mix, and mixes of kinds."""

from __future__ import annotations

import pickle
from collections import Counter

import numpy as np
import pytest

import lengthwise as lw

COUNT = 2000
RNG = np.random.default_rng(4)
LENGTHS = RNG.integers(5, 400, COUNT)
PAIRS = np.arange(COUNT) // 2
KINDS = np.where(RNG.random(COUNT // 2) < 0.3, "de", "en").repeat(2)


def pairs_are_whole(batch) -> bool:
    return set(Counter(PAIRS[batch].tolist()).values()) == {2}


@pytest.mark.parametrize("strategy", [None, "packed", "blurred", "sorted", "proportional"])
def test_pairs_stay_together_and_kinds_apart(strategy):
    plan = lw.plan(LENGTHS, strategy, budget="padded:4096", together=PAIRS, kind=KINDS)
    assert sorted(index for batch in plan for index in batch.tolist()) == list(range(COUNT))
    for batch in plan:
        assert pairs_are_whole(batch)
        assert len(set(KINDS[batch].tolist())) == 1
    for rank in range(3):
        for batch in plan.for_rank(rank, 3):
            assert pairs_are_whole(batch)


def test_ids_can_be_anything():
    lengths = [9, 8, 7, 6]
    for ids in (["a", "b", "a", "b"], [("x", 1), None, ("x", 1), None], np.array([3, 1, 3, 1], dtype=np.int16)):
        groups = lw.Lengths(lengths, together=ids).groups.tolist()
        assert groups[0] == groups[2] != groups[1]
    # Without an id, a sequence is independent.
    assert lw.Lengths(lengths, together=[None, "a", None, "a"]).groups.tolist() == [0, 1, 2, 1]
    assert lw.Lengths(lengths, kind=iter("xyxy")).kinds == ["x", "y"]
    assert lw.Lengths(lengths).groups is None and lw.Lengths(lengths).kinds is None
    one, other = (lw.Lengths(lengths, together=ids) for ids in ([0, 0, 1, 1], [7, 7, 2, 2]))
    assert one == other and one.digest == other.digest != lw.Lengths(lengths).digest


def test_a_mix_has_exact_counts():
    planner = lw.Planner(LENGTHS, "blurred", budget="padded:4096", kind=KINDS, mix={"en": 0.25, "de": 0.75})
    seen: Counter[int] = Counter()
    for epoch in range(4):
        plan = planner.plan(epoch)
        kinds = Counter(KINDS[plan.indices].tolist())
        assert kinds == {"en": 500, "de": 1500}
        seen.update(plan.indices.tolist())
    for kind in ("en", "de"):
        often = [seen[index] for index in range(COUNT) if KINDS[index] == kind]
        assert max(often) - min(often) <= 1


def test_a_rank_has_whole_groups_in_a_step():
    sampler = lw.Planner(
        LENGTHS, "proportional", budget="padded:4096", together=PAIRS, share="rank", update="tokens:30000", canonical_ranks=2
    )
    schedule = sampler.plan().schedule(2)
    for rank in range(2):
        batches = list(schedule.for_rank(rank))
        for start in range(0, len(batches), schedule.accumulate):
            assert pairs_are_whole(np.concatenate(batches[start : start + schedule.accumulate]))


def test_steps_can_have_one_kind():
    plan = lw.plan(LENGTHS, "blurred", budget="padded:4096", kind=KINDS, one_kind="step")
    batches = list(plan.schedule(4).all_ranks())
    for start in range(0, len(batches), 4):
        assert len({KINDS[index] for batch in batches[start : start + 4] for index in batch}) == 1


def test_everything_pickles():
    planner = lw.Planner(LENGTHS, budget="padded:4096", together=PAIRS, kind=KINDS, mix={"en": 1, "de": 2})
    copy = pickle.loads(pickle.dumps(planner))
    plan = planner.plan(3)
    assert copy.plan(3) == plan and copy.lengths == planner.lengths
    assert copy.lengths.kinds == [KINDS[0], "en" if KINDS[0] == "de" else "de"]
    assert pickle.loads(pickle.dumps(plan)).schedule(3).all_ranks() == plan.schedule(3).all_ranks()
    items = lw.Lengths.of_items([[3, 4], [5]])
    assert pickle.loads(pickle.dumps(items)).items == 2


def test_a_saved_plan_needs_its_groups(tmp_path):
    lengths = lw.Lengths(LENGTHS, together=PAIRS)
    plan = lw.plan(lengths, "blurred", budget="padded:4096")
    plan.save(tmp_path / "plan.json")
    loaded = lw.load_plan(tmp_path / "plan.json", lengths)
    assert loaded.schedule(3).all_ranks() == plan.schedule(3).all_ranks()
    with pytest.raises(lw.LengthwiseError, match="digest"):
        lw.load_plan(tmp_path / "plan.json", LENGTHS)


def test_items_of_several_sequences():
    lengths = lw.Lengths.of_items([[12, 9], [30, 22], [5], [7, 7, 7]], kind=["a", "b", "a", "a"])
    assert lengths.items == 4 and lengths.groups.tolist() == [0, 0, 1, 1, 2, 3, 3, 3] and lengths.kinds == ["a", "b"]
    assert "8 sequences in 4 groups of 2 kinds" in repr(lengths)
    assert lw.Lengths.of_items(np.array([[3, 4], [5, 6]])).groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(lw.LengthsError, match="item 1 has no lengths"):
        lw.Lengths.of_items([[1], []])
    with pytest.raises(lw.LengthsError):
        lw.Lengths.of_items(7)
    with pytest.raises(lw.LengthsError, match="2 kinds for 1 items"):
        lw.Lengths.of_items([[1, 2]], kind=["a", "b"])


def test_a_sampler_returns_items():
    torch = pytest.importorskip("lengthwise.torch")
    items = LENGTHS.reshape(-1, 2)
    dataset = list(range(len(items)))
    sampler = torch.BatchSampler(lw.Lengths.of_items(items), "packed", budget="padded:4096", dataset=dataset)
    for _ in range(2):
        batches = list(sampler)
        assert sorted(index for batch in batches for index in batch) == dataset
        assert all(items[batch].sum() == batch.length <= 4096 for batch in batches)
    halves = [
        torch.BatchSampler(lw.Lengths.of_items(items), "packed", budget="padded:4096", rank=rank, world_size=2)
        for rank in range(2)
    ]
    assert sorted(index for half in halves for batch in half for index in batch) == dataset
    copy = pickle.loads(pickle.dumps(sampler))
    assert list(copy) == list(sampler)
    with pytest.raises(lw.LengthsError, match="1999 items"):
        torch.BatchSampler(lw.Lengths.of_items(items), "packed", budget="padded:4096", dataset=range(1999))
    with pytest.raises(lw.SettingError, match="rank"):
        torch.BatchSampler(lw.Lengths.of_items(items), "packed", budget="padded:4096", share="rank")


def test_a_sampler_resumes_with_groups():
    torch = pytest.importorskip("lengthwise.torch")

    def made(rank, world_size):
        return torch.BatchSampler(
            LENGTHS, "blurred", budget="padded:4096", together=PAIRS, kind=KINDS, rank=rank, world_size=world_size
        )

    first = [made(rank, 3) for rank in range(3)]
    seen = []
    for sampler in first:
        batches = iter(sampler)
        seen += [index for _ in range(10) for index in next(batches)]
    state = first[0].state_dict()
    rest = [made(rank, 2) for rank in range(2)]
    for sampler in rest:
        sampler.load_state_dict(state)
    left = [batch for sampler in rest for batch in sampler]
    assert sorted(seen + [index for batch in left for index in batch]) == list(range(COUNT))
    assert all(pairs_are_whole(batch) for batch in left)


@pytest.mark.parametrize(
    ("settings", "error", "what"),
    [
        ({"mix": {"en": 1}}, lw.SettingError, 'no weight for kind "de"'),
        ({"mix": {"en": 1, "de": 1, "fr": 1}}, lw.SettingError, '"fr", which is no kind'),
        ({"mix": {"en": 0, "de": 0}}, lw.SettingError, "the mix of kinds"),
        ({"mix": 3}, lw.ArgumentTypeError, "mix"),
        ({"mix": {"en": "x", "de": 1}}, lw.ArgumentTypeError, "mix"),
        ({"share": "ranks"}, lw.SettingError, "ranks"),
        ({"one_kind": "epoch"}, lw.SettingError, "epoch"),
        ({"together": [1, 2]}, lw.SettingError, "ids of groups"),
        ({"kind": 3}, lw.SettingError, "cannot interpret an int as ids"),
        ({"kind": np.arange(COUNT)}, lw.SettingError, "kind of sequence 1"),
        ({"share": "rank"}, lw.SettingError, "strategy"),
        ({"budget": "padded:60"}, lw.LengthwiseError, "."),
    ],
)
def test_what_cannot_be_is_refused(settings, error, what):
    given = {"budget": "padded:4096", "together": PAIRS, "kind": KINDS, **settings}
    with pytest.raises(error, match=what):
        lw.plan(LENGTHS, "blurred", **given)


def test_groups_are_given_once():
    lengths = lw.Lengths(LENGTHS, together=PAIRS, kind=KINDS)
    with pytest.raises(lw.LengthsError, match="kinds already"):
        lw.Lengths(lengths, kind=KINDS)
    with pytest.raises(lw.LengthsError, match="groups already"):
        lw.Lengths(lw.Lengths(LENGTHS, together=PAIRS), together=PAIRS)
    with pytest.raises(lw.SettingError, match="without kinds"):
        lw.plan(LENGTHS, "blurred", budget="padded:4096", mix={"a": 1})


def arrivals():
    return [(LENGTHS[2 * pair : 2 * pair + 2].tolist(), str(KINDS[2 * pair])) for pair in range(COUNT // 2)]


def streamed(world_size=1, rank=0, **given):
    return lw.stream_batches(
        arrivals(), lambda item: item[0], kind=lambda item: item[1], budget="padded:4096", window=200,
        world_size=world_size, rank=rank, **given
    )  # fmt: skip


def test_a_stream_keeps_items_whole_and_kinds_apart():
    batches = list(streamed())
    assert sorted(position for batch in batches for position in batch.positions) == list(range(COUNT // 2))
    for batch in batches:
        assert len({kind for _, kind in batch}) == 1
        assert batch.length == max(max(lengths) for lengths, _ in batch)
        assert 2 * len(batch) * batch.length <= 4096


def test_a_stream_of_groups_resumes_and_pickles():
    whole = [batch.positions for batch in streamed()]
    stream = streamed()
    first = [next(stream).positions for _ in range(20)]
    copy = pickle.loads(pickle.dumps(stream._feed))
    assert copy.state() == stream.state()
    rest = [batch.positions for batch in streamed(state=stream.state())]
    assert first + rest == whole
    halves = [[batch.positions for batch in streamed(2, rank)] for rank in range(2)]
    assert len(halves[0]) == len(halves[1])
    assert sorted(at for half in halves for batch in half for at in batch) == list(range(COUNT // 2))
    # Without the kinds it is another stream.
    with pytest.raises(lw.StateError, match="lengths"):
        list(lw.stream_batches(arrivals(), lambda item: item[0], budget="padded:4096", window=200, state=stream.state()))


def test_kinds_of_a_stream_must_be_hashable():
    with pytest.raises(lw.LengthsError, match="position 0 cannot be hashed"):
        list(lw.stream_batches(["a"], kind=lambda item: [item], budget=2))
    with pytest.raises(lw.LengthsError, match="sequence 0 has length 0"):
        list(lw.stream_batches(["a"], lambda item: [3, 0], budget=2))
    with pytest.raises(lw.BudgetError, match="3 sequences in all"):
        list(lw.stream_batches(["a"], lambda item: [3, 4, 5], budget="padded:10"))


def test_sources_are_mixed_exactly():
    from lengthwise.stream import Mixed

    weights = {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05, "none": 0}
    mixed = Mixed({name: range(1000) for name in weights}, weights)
    items = [item for item, _ in zip(mixed, range(1500))]
    counts = dict.fromkeys(weights, 0)
    for place, (name, item) in enumerate(items, 1):
        assert item == counts[name]  # Every source in its order.
        counts[name] += 1
        assert all(abs(counts[each] - place * weights[each]) < 1 for each in weights)
    assert [item for item, _ in zip(mixed(700), range(50))] == items[700:750]
    ended = list(Mixed({"a": range(10), "b": range(1000)}, {"a": 1, "b": 1}))
    assert abs(len(ended) - 20) <= 1
    batches = list(lw.stream_batches(Mixed({"a": ["x"] * 30, "b": ["yy"] * 30}, {"a": 1, "b": 2}), lambda pair: len(pair[1]), kind=lambda pair: pair[0], budget=4))
    assert all(len({name for name, _ in batch}) == 1 for batch in batches)
    for sources, mix in (({"a": []}, {"b": 1}), ({"a": []}, {"a": 0}), ({"a": []}, {"a": -1}), ({"a": iter([])}, {"a": 1})):
        with pytest.raises(lw.SettingError):
            Mixed(sources, mix)


def test_ids_are_read_by_position():
    pandas = pytest.importorskip("pandas")
    pyarrow = pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"tokens": [10] * 100, "language": ["en", "de"] * 50}).iloc[::-1]
    plan = lw.plan(table.tokens, "shuffled", budget="padded:1000", kind=table.language, mix={"en": 0.9, "de": 0.1})
    assert Counter(table.language.to_numpy()[plan.indices].tolist()) == {"en": 90, "de": 10}
    assert lw.Lengths([5, 6, 7], kind=table.language[1:4]).kinds == ["en", "de"]
    ids = pyarrow.array(["x", None, "x"])
    assert lw.Lengths([5, 6, 7], together=ids).groups.tolist() == [0, 1, 0]
    torch = pytest.importorskip("torch")
    tensors = [torch.tensor(number // 2) for number in range(4)]
    assert lw.Lengths([5, 6, 7, 8], together=tensors).groups.tolist() == [0, 0, 1, 1]
    with pytest.raises(lw.SettingError, match="two kinds have the name"):
        lw.Lengths([5, 6], kind=[1, "1"])
    with pytest.raises(lw.LengthsError, match="of_items"):
        lw.plan([[5, 6], [7]], budget=2)


def test_mistakes_in_streams_are_named():
    from lengthwise.stream import Mixed

    with pytest.raises(lw.SettingError, match="no function"):
        lw.stream_batches(["a"], kind="language", budget=2)
    with pytest.raises(lw.SettingError, match="no shares"):
        Mixed({"a": []}, {"a": "much"})
    (batch,) = lw.stream_batches(["a"], lambda item: np.array([3, 4]), budget=2)
    assert batch.length == 4
