"""Several sequences in one row: plans, samplers, and what attention of variable length takes."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lengthwise.arrays import batches  # noqa: E402
from lengthwise.torch import (  # noqa: E402
    BatchSampler,
    cu_seqlens,
    loader,
    pack_collate,
    pad_collate,
    position_ids,
)
from torch.utils.data import DataLoader  # noqa: E402

CAPACITY = 512


@pytest.fixture
def data(lengths) -> list[torch.Tensor]:
    return [torch.full((int(length),), index) for index, length in enumerate(lengths)]


def test_a_plan_of_rows(lengths):
    plan = lw.plan(lengths, f"packed:capacity={CAPACITY}", seed=3)
    assert plan.packed and not lw.plan(lengths, "sorted", budget=16).packed
    sums = [int(lengths[row].sum()) for row in plan]
    assert plan.batch_lengths.tolist() == sums and max(sums) <= CAPACITY
    assert sorted(plan.indices.tolist()) == list(range(len(lengths)))
    measures = plan.measure()
    assert measures.padding_rate == 0 and measures.cells == lengths.sum()
    assert measures.largest_batch_cells == max(sums)
    other = lw.plan(lengths, f"packed:capacity={CAPACITY}", seed=3, epoch=1)
    assert other.digest != plan.digest
    few = lw.plan(lengths, f"packed:capacity={CAPACITY},at-most=3")
    assert few.batch_sizes.max() <= 3
    assert lw.plan(lengths, "packed", budget=f"padded:{CAPACITY}", seed=3) == plan
    with pytest.raises(lw.BudgetError, match="over the capacity of 20"):
        lw.plan(lengths, "packed:capacity=20")
    with pytest.raises(lw.SettingError, match="no budget"):
        lw.plan(lengths, "packed")


def test_plans_of_rows_come_back_from_files(lengths, tmp_path):
    import pickle

    plan = lw.plan(lengths, f"packed:capacity={CAPACITY}")
    for name in ("plan.json", "plan.jsonl", "plan.npz"):
        plan.save(tmp_path / name)
        again = lw.load_plan(tmp_path / name, lengths)
        assert again == plan and again.packed
        assert again.measure() == plan.measure()
    assert pickle.loads(pickle.dumps(plan)).packed


@pytest.mark.parametrize("shapes", ["exact", "multiple:64", "ladder:3"])
def test_rows_hold_their_sequences(lengths, data, shapes):
    sampler = BatchSampler(lengths, f"packed:capacity={CAPACITY}", shapes=shapes, rank=0, world_size=2)
    planned = sampler.plan
    seen = []
    for batch, row, length in zip(loader(data, sampler), planned, planned.batch_lengths.tolist()):
        assert batch["input_ids"].shape == batch["position_ids"].shape == (1, length)
        assert batch["lengths"].tolist() == lengths[row].tolist()
        ends = batch["cu_seqlens"].tolist()
        assert batch["cu_seqlens"].dtype == torch.int32 and (ends[0], ends[-1]) == (0, length)
        pieces = np.diff(ends)
        assert batch["max_seqlen"] == pieces.max() and len(pieces) - len(row) in (0, 1)
        for place, index in enumerate(row.tolist()):
            own = slice(ends[place], ends[place + 1])
            assert batch["input_ids"][0, own].tolist() == [index] * int(lengths[index])
            assert batch["position_ids"][0, own].tolist() == list(range(int(lengths[index])))
        seen += row.tolist()
    assert len(set(seen)) == len(seen)
    sampler.set_epoch(0)
    plain = DataLoader(data, batch_sampler=sampler, collate_fn=pack_collate(sampler))
    for batch, row in zip(plain, planned):
        assert int(lengths[row].sum()) <= batch["input_ids"].shape[1] <= CAPACITY


def test_a_run_over_rows_stops_and_goes_on(lengths):
    settings = {"strategy": f"packed:capacity={CAPACITY}", "seed": 5}
    ranks = [BatchSampler(lengths, rank=rank, world_size=4, **settings) for rank in range(4)]
    assert len({len(rank) for rank in ranks}) == 1
    seen = []
    for rank in ranks:
        taken = iter(rank)
        for _ in range(3):
            seen += next(taken)
    state = ranks[2].state_dict()
    for rank in range(3):
        again = BatchSampler(lengths, rank=rank, world_size=3, **settings)
        again.load_state_dict(state)
        for row in again:
            assert lengths[row].sum() <= CAPACITY
            seen += row
    assert sorted(seen) == list(range(len(lengths)))


def test_epochs_of_rows_have_as_many_batches(lengths):
    sampler = BatchSampler(lengths, f"packed:capacity={CAPACITY}")
    counts = set()
    for epoch in range(6):
        sampler.set_epoch(epoch)
        counts |= {len(sampler), len(list(sampler))}
    assert len(counts) == 1


def test_attention_over_a_row_is_attention_over_each_sequence():
    torch.manual_seed(0)
    items = [torch.randn(length, 8) for length in (5, 3, 9)]
    pack = pack_collate()
    pack.multiple = 32
    batch = pack(items)
    row, ends = batch["input_ids"][0], batch["cu_seqlens"].tolist()
    piece = torch.repeat_interleave(torch.arange(len(ends) - 1), torch.tensor(np.diff(ends)))
    mask = piece[:, None] == piece[None]
    whole = torch.nn.functional.scaled_dot_product_attention(row, row, row, attn_mask=mask)
    assert torch.isfinite(whole).all()
    for item, begin, end in zip(items, ends, ends[1:]):
        alone = torch.nn.functional.scaled_dot_product_attention(item, item, item)
        assert torch.allclose(whole[begin:end], alone, atol=1e-6)


def test_what_a_row_is_made_of():
    pack = pack_collate(like=["labels"], padding_value={"labels": -100}, first={"labels": -100})
    pack.multiple = 8
    batch = pack(
        [
            {"input_ids": [1, 2, 3], "labels": [1, 2, 3], "text": [7], "kind": 4, "id": "a"},
            {"input_ids": [4, 5], "labels": [4, 5], "text": [8, 9], "kind": 5, "id": "b"},
        ]
    )
    assert batch["input_ids"].tolist() == [[1, 2, 3, 4, 5, 0, 0, 0]]
    assert batch["labels"].tolist() == [[-100, 2, 3, -100, 5, -100, -100, -100]]
    assert batch["position_ids"].tolist() == [[0, 1, 2, 0, 1, 0, 1, 2]]
    assert batch["cu_seqlens"].tolist() == [0, 3, 5, 8] and batch["max_seqlen"] == 3
    assert batch["lengths"].tolist() == [3, 2] and batch["kind"].tolist() == [4, 5]
    assert [text.tolist() for text in batch["text"]] == [[7], [8, 9]] and batch["id"] == ["a", "b"]
    values, labels, positions, ends, longest = pack_collate(lengths=None)(
        [(np.ones((2, 3)), 0), (np.ones((1, 3)), 1)]
    )
    assert values.shape == (1, 3, 3) and labels.tolist() == [0, 1]
    assert positions.tolist() == [[0, 1, 0]] and ends.tolist() == [0, 2, 3] and longest == 2


def test_helpers():
    assert cu_seqlens([3, 4]).tolist() == [0, 3, 7]
    assert cu_seqlens(np.array([3, 4]), 7).tolist() == [0, 3, 7]
    assert position_ids(torch.tensor([2, 1]), 5).tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(lw.LengthsError, match="together"):
        cu_seqlens([3, 4], 6)
    for helper in (cu_seqlens, position_ids):
        with pytest.raises(lw.LengthsError, match="a row has no sequences"):
            helper([])
        with pytest.raises(lw.LengthsError, match="sequence 1 has length -1") as error:
            helper([3, -1])
        assert error.value.index == 1
    with pytest.raises(lw.LengthsError, match="2147483648, which does not fit in `int32`"):
        cu_seqlens([2**30, 2**30])


@pytest.mark.parametrize("name", ["position_ids", "cu_seqlens", "max_seqlen"])
def test_lengths_do_not_take_the_name_of_what_is_added(name):
    with pytest.raises(lw.SettingError, match=name):
        pack_collate(lengths=name)


@pytest.mark.parametrize(
    ("like", "labels"),
    [([], [[1, 2, 3], [4, 5]]), (None, [[1], [2]]), (None, [1, 2]), (None, [["a"], ["b", "c"]])],
)
def test_first_is_for_fields_of_the_row(like, labels):
    items = [{"x": [1, 2, 3], "labels": labels[0]}, {"x": [4, 5], "labels": labels[1]}]
    with pytest.raises(lw.SettingError, match="`first` names 'labels'"):
        pack_collate(like=like, first={"labels": -100})(items)


def test_truncated_sequences_fill_their_rows(lengths, data):
    sampler = BatchSampler(lengths, "packed:capacity=100", over_long="truncate")
    assert len(sampler.plan.truncated)
    plain = DataLoader(data, batch_sampler=sampler, collate_fn=pack_collate(sampler))
    for made in (loader(data, sampler), plain):
        sampler.set_epoch(0)
        assert all(batch["input_ids"].shape[1] <= 100 for batch in made)


def test_what_does_not_go_together_is_refused(lengths, data):
    packed = BatchSampler(lengths, f"packed:capacity={CAPACITY}")
    padded = BatchSampler(lengths, "sorted", budget=16)
    with pytest.raises(lw.SettingError, match="share rows"):
        pad_collate(packed)
    with pytest.raises(lw.SettingError, match="a row of its own"):
        pack_collate(padded)
    with pytest.raises(lw.SettingError, match="share rows"):
        next(batches(data, packed.plan))
    longer = [torch.zeros(int(length) + 1) for length in lengths]
    with pytest.raises(lw.LengthsError, match="planned for"):
        next(iter(loader(longer, packed)))
    with pytest.raises(lw.SettingError, match="labls"):
        pack_collate(first={"labls": 0})([[1]])
    with pytest.raises(lw.SettingError, match="position_ids"):
        pack_collate()([{"x": [1], "position_ids": [0]}])
    with pytest.raises(lw.LengthsError, match="as long|lengths"):
        pack_collate(like=["y"])([{"x": [1, 2], "y": [1]}])
    items = [{"x": [1, 2, 3], "y": [1, 2, 3], "who": [7, 7]}, {"x": [1, 2], "y": [1], "who": [7, 7]}]
    with pytest.raises(lw.LengthsError, match="item 1 of the batch has 1 of 'y' and 2 of 'x'") as error:
        pack_collate()(items)
    assert "`like`" in error.value.hint
    packed = pack_collate(like=[])(items)
    assert [len(part) for part in packed["y"]] == [3, 1] and len(packed["who"]) == 2


def test_a_capacity_is_asked_for():
    with pytest.raises(lw.SettingError) as error:
        BatchSampler([3, 4], "packed")
    assert "packed:capacity=4096" in error.value.hint


def test_plain_loaders_keep_the_capacity_too(lengths):
    sampler = BatchSampler(lengths, f"packed:capacity={CAPACITY}")
    for more in (0, 2):
        items = [torch.zeros(int(length) + more) for length in lengths]
        batches = DataLoader(items, batch_sampler=sampler, collate_fn=pack_collate(sampler))
        if more:
            with pytest.raises(lw.LengthsError, match="longer than planned|was planned for"):
                list(batches)
        else:
            assert len(list(batches)) == len(sampler)
    short = BatchSampler([3, 3, 3], "packed:capacity=9")
    with pytest.raises(lw.LengthsError, match="12 cells, and the budget is 9: its 4 items"):
        pack_collate(short)([torch.zeros(3)] * 4)


def test_ranks_wait_as_long_as_the_lengths_in_their_rows_say(tmp_path):
    lengths = np.random.default_rng(0).lognormal(7, 1.3, 20_000).clip(1, 32_768).astype(np.uint32)
    model = lw.CostModel("attention:hidden=4096,layers=32")
    _, _, c, d = model.coefficients

    def idle(schedule: lw.Schedule) -> float:
        rows = [(c * row + d * row**2).sum() for row in (lengths[row].astype(float) for row in schedule.all_ranks())]
        steps = np.reshape(rows, (len(schedule), schedule.accumulate, schedule.world_size)).sum(1)
        return 1 - steps.mean() / steps.max(1).mean()

    for strategy in ("packed", "packed:balance=cost"):
        plan = lw.plan(lengths, strategy, budget="padded:32768", cost_model=model, seed=1)
        schedule = plan.schedule(8)
        assert schedule.idle_share == pytest.approx(idle(schedule), abs=1e-6)
        assert schedule.idle_share < 0.03
        plan.save(tmp_path / "plan.npz")
        again = lw.load_plan(tmp_path / "plan.npz", lengths)
        assert again.schedule(8).all_ranks() == schedule.all_ranks()
        assert model.epoch_seconds(again) == pytest.approx((c * lengths + d * lengths.astype(float) ** 2).sum())
    with pytest.raises(lw.SettingError, match="balance"):
        lw.plan(lengths, "packed:balance=cost", budget="padded:32768")
