"""One step divided over ranks and micro-batches, and the functions of verl's module."""

from __future__ import annotations

import pickle

import lengthwise as lw
import numpy as np
import pytest
from lengthwise import seqlen_balancing as verl


def drawn(count: int, seed: int = 0, longest: int = 16384) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(7, 1, count).astype(np.int64).clip(1, longest)


def test_a_step_keeps_its_promises():
    lengths = drawn(1000)
    step = lw.balance(lengths, 16, capacity=32768, cost="attention:hidden=4096,layers=32,causal=no")
    assert len(step) == 16 and {len(rank) for rank in step} == {step.micro_batches}
    batches = [batch for rank in step.ranks for batch in rank]
    assert [[list(batch) for batch in rank] for rank in step.ranks] == [[list(batch) for batch in rank] for rank in step]
    assert max(lengths[batch].sum() for batch in batches) <= 32768
    assert (np.concatenate(batches) == step.order).all()
    assert (np.cumsum([len(batch) for batch in batches]) == step.ends).all()
    assert (np.sort(step.order) == np.arange(1000)).all()
    assert (lengths[step.order][step.restore] == lengths).all()
    # The cost of a sequence is 24576 L + L² up to a factor.
    work = 24576.0 * lengths + lengths.astype(float) ** 2
    loads = np.array([sum(work[batch].sum() for batch in rank) for rank in step])
    assert loads / loads.sum() == pytest.approx(step.loads / step.loads.sum())
    assert 1 - loads.mean() / loads.max() == pytest.approx(step.idle_share, abs=1e-9)
    assert step.time >= step.lower_bound and step.time < 1.002 * step.lower_bound
    assert repr(step).startswith("BalancedStep(1000 sequences on 16 ranks, ")
    assert pickle.loads(pickle.dumps(step)) == step
    assert (step[-1][0] == step[15][0]).all()
    with pytest.raises(IndexError):
        step[16]


@pytest.mark.parametrize("form", ["list", "int32", "float64", "Lengths", "torch"])
def test_lengths_of_every_form_are_the_same(form):
    lengths = drawn(200)
    given = {
        "list": lengths.tolist,
        "int32": lambda: lengths.astype(np.int32),
        "float64": lambda: lengths.astype(float),
        "Lengths": lambda: lw.Lengths(lengths),
        "torch": lambda: pytest.importorskip("torch").tensor(lengths),
    }[form]()
    assert lw.balance(given, 4, capacity=20000) == lw.balance(lengths, 4, capacity=20000)


def test_groups_and_kinds():
    lengths = drawn(300, longest=4000)
    groups = [("prompt", index // 3) for index in range(300)]
    batches = [batch for rank in lw.balance(lengths, 4, capacity=12000, together=groups) for batch in rank]
    place = {index: number for number, batch in enumerate(batches) for index in batch}
    assert all(place[3 * group] == place[3 * group + 1] == place[3 * group + 2] for group in range(100))
    shared = lw.balance(lengths, 4, capacity=8192, together=groups, share="rank")
    place = {index: rank for rank, own in enumerate(shared) for batch in own for index in batch}
    assert all(place[3 * group] == place[3 * group + 1] == place[3 * group + 2] for group in range(100))
    kinds = np.array(["a", "b", "c"])[np.random.default_rng(1).integers(3, size=300)]
    mixed = lw.balance(lengths, 4, capacity=8192, kind=kinds)
    assert all(len(set(kinds[batch])) <= 1 for rank in mixed for batch in rank)
    everywhere = lw.balance([5, 0, 3], 4)
    assert sorted(len(rank[0]) for rank in everywhere) == [0, 1, 1, 1]
    fast = lw.balance(lengths, 2, speeds=[1, 3])
    assert fast.loads[1] / fast.loads[0] == pytest.approx(3, rel=0.01)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"ranks": 0}, "number of ranks"),
        ({"ranks": 2**32 - 1}, "at most 1048576"),
        ({"ranks": 2, "min_micro_batches": 2**32 - 1}, "at most 524288"),
        ({"ranks": 2**16, "min_micro_batches": 2**16}, "at most 16"),
        ({"ranks": 2, "capacity": 3}, "over the capacity of 3"),
        ({"ranks": 2, "capacity": 9, "max_micro_batches": 1}, "largest number of micro-batches"),
        ({"ranks": 2, "share": "gpu"}, "unknown share `gpu`"),
        ({"ranks": 2, "together": [1, 2]}, "number of ids of groups"),
        ({"ranks": 2, "kind": "abcd"}, "ids"),
        ({"ranks": 2, "kind": [[1], [2], [3], [4]]}, "hashed"),
        ({"ranks": 2, "speeds": [1]}, "number of speeds"),
        ({"ranks": 2, "cost": "attention"}, "attention:hidden"),
        ({"ranks": 2, "cost": "attention:hidden=4096"}, "layers"),
        ({"ranks": 2, "split": [1, 4]}, "a multiple of 4"),
        ({"ranks": 4, "split": [4, 1]}, "each a multiple of the one before"),
        ({"ranks": 4, "split": []}, "at least one"),
        ({"ranks": 4, "split": "no"}, "split"),
        ({"ranks": 2, "split": [1, 2], "speeds": [1, 1]}, "`speeds`"),
        ({"ranks": 2, "split": [1, 2], "together": [1, 1, 2, 2]}, "together"),
        ({"ranks": 2, "split": [1, 2], "capacity": 3}, "at least 5"),
        ({"ranks": 2, "split": [1, 2], "communication": -1}, "a number from 0"),
        ({"ranks": 2, "communication": 1}, "without degrees of a split"),
    ],
)
def test_mistakes_are_named(settings, says):
    with pytest.raises(lw.LengthwiseError) as caught:
        lw.balance([4, 9, 8, 7], **settings)
    assert says in f"{caught.value} {caught.value.hint}"
    with pytest.raises(lw.LengthsError, match="sequence 1 has length -1"):
        lw.balance([4, -1], 2)


def test_ranks_share_long_sequences():
    lengths = np.concatenate([drawn(300), [60000, 90000]])
    cost, work = "c=24576,d=1", 24576.0 * lengths + lengths.astype(float) ** 2
    with pytest.raises(lw.LengthwiseError):
        lw.balance(lengths, 16, capacity=16384, cost=cost)
    step = lw.balance(lengths, 16, capacity=16384, cost=cost, split=[1, 2, 4, 8], communication=100)
    assert step.degrees.shape == step.starts.shape == (16, step.micro_batches)
    clock, seen = np.zeros(16), np.zeros(302, int)
    for number in range(step.micro_batches):
        for rank in range(16):
            batch, degree = step[rank][number], step.degrees[rank, number]
            assert (-(-lengths[batch] // degree)).sum() <= 16384
            group = range(rank - rank % degree, rank - rank % degree + degree)
            assert all((step[other][number] == batch).all() and step.degrees[other, number] == degree for other in group)
            # All ranks of the group are free at once.
            assert all(clock[other] == pytest.approx(step.starts[other, number]) for other in group if other >= rank)
            assert len({step.starts[other, number] for other in group}) == 1
            clock[rank] += work[batch].sum() / degree + 100 * lengths[batch].sum() * (degree - 1) / degree
            seen[batch] += rank == group[0]
    assert (seen == 1).all()
    assert clock == pytest.approx(step.loads) and clock.max() == pytest.approx(step.time)
    assert step.lower_bound <= step.time < 1.01 * step.lower_bound
    assert "of them split" in repr(step)
    assert pickle.loads(pickle.dumps(step)) == step
    whole = lw.balance(lengths, 16, cost=cost)
    assert step.time < 0.6 * whole.time and (whole.degrees == 1).all()
    module, (json,) = step.__reduce__()
    for wrong in [json.replace('"degrees":[', '"degrees":[7,'), json.replace('"batch_of":[0,', '"batch_of":[4000000,')]:
        with pytest.raises(lw.LengthwiseError, match="do not agree"):
            module(wrong)


def test_partitions_are_even():
    for seed in range(20):
        lengths = drawn(64 + 3 * seed, seed).tolist()
        for parts, equal in [(2, False), (7, False), (4, True)]:
            if equal:
                lengths = lengths[: len(lengths) // parts * parts]
            found = verl.get_seqlen_balanced_partitions(lengths, k_partitions=parts, equal_size=equal)
            assert sorted(index for part in found for index in part) == list(range(len(lengths)))
            assert all(part == sorted(part) and part for part in found)
            assert not equal or {len(part) for part in found} == {len(lengths) // parts}
            sums = [sum(lengths[index] for index in part) for part in found]
            assert max(sums) <= 1.01 * max(sum(sums) / parts, max(lengths))
    for wrong in [([1, 2], 3, False), ([1, 2, 3], 2, True)]:
        with pytest.raises(AssertionError):
            verl.get_seqlen_balanced_partitions(*wrong)


def test_tensors_and_arrays_are_divided_as_lists_are():
    torch = pytest.importorskip("torch")
    lengths = drawn(64)
    for given in (lengths, torch.from_numpy(lengths.astype(np.int64))):
        work = verl.calculate_workload(given)  # verl passes this on as it is.
        found = verl.get_seqlen_balanced_partitions(work, k_partitions=4, equal_size=True)
        assert found == verl.get_seqlen_balanced_partitions(work.tolist(), k_partitions=4, equal_size=True)


def test_groups_of_neighbours_stay_in_one_part():
    lengths, uids = drawn(60).tolist(), [index // 4 for index in range(60)]
    parts = verl.get_group_balanced_partitions(lengths, uids, 5)
    assert sorted(index for part in parts for index in part) == list(range(60))
    assert all(len([index for index in part if uids[index] == uid]) == 4 for part in parts for uid in {uids[i] for i in part})
    # verl cuts the reordered items into equal runs for its ranks.
    assert {len(part) for part in parts} == {12}
    with pytest.raises(AssertionError):
        verl.get_group_balanced_partitions(lengths, uids, 4)
    logged = verl.log_seqlen_unbalance(lengths, parts, "seqlen")
    assert logged["seqlen/balanced_max"] <= logged["seqlen/max"]
    assert logged["seqlen/mean"] == pytest.approx(sum(lengths) / 5)


def test_micro_batches_of_tensors_keep_the_limit_and_come_back():
    torch = pytest.importorskip("torch")

    class Batch(dict):
        """As much of a TensorDict as is needed."""

        def __getitem__(self, key):
            return super().__getitem__(key) if isinstance(key, str) else Batch({k: v[key] for k, v in self.items()})

    torch.manual_seed(0)
    mask = (torch.arange(100) < torch.randint(50, 90, (20, 1))).long()
    batch = Batch(input_ids=torch.randint(0, 10, (20, 100)), attention_mask=mask)
    for settings in [{}, {"min_num_micro_batch": 9}, {"num_batches_divided_by": 4}, {"force_group_size": 2}]:
        made, parts = verl.rearrange_micro_batches(batch, max_token_len=300, **settings)
        assert all(part["attention_mask"].sum() <= 300 for part in made)
        assert len(made) >= settings.get("min_num_micro_batch", 1)
        assert len(made) % settings.get("num_batches_divided_by", 1) == 0
        if "force_group_size" in settings:
            assert all(index ^ 1 in part for part in parts for index in part)
        ids = torch.cat([part["input_ids"] for part in made])
        assert (verl.restore_dynamic_batch(ids, parts) == batch["input_ids"]).all()
    with pytest.raises(AssertionError, match="max_token_len is 50"):
        verl.rearrange_micro_batches(batch, max_token_len=50)
    assert verl.get_reverse_idx([2, 0, 1]) == [1, 2, 0]
    assert (verl.ceildiv(7, 2), verl.roundup_divisible(7, 4)) == (4, 8)
