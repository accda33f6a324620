"""The functions of verl's ``verl.utils.seqlen_balancing``, with the same names and arguments.

>>> from lengthwise.seqlen_balancing import get_seqlen_balanced_partitions
>>> get_seqlen_balanced_partitions([500, 30, 310, 190], k_partitions=2, equal_size=True)
[[0, 1], [2, 3]]

``max_token_len`` is a hard limit, as in verl 0.9.1: ``rearrange_micro_batches`` makes one micro-batch more if the tokens
would fit and the sequences do not. What differs: all functions are about a thousand times as fast. torch and verl are imported only by the functions that need them.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import chain, groupby
from typing import Any

from . import balance as _balance
from ._lengthwise import partitions as _partitions

__all__ = [
    "calculate_workload",
    "ceildiv",
    "get_group_balanced_partitions",
    "get_reverse_idx",
    "get_seqlen_balanced_partitions",
    "greedy_partition",
    "karmarkar_karp",
    "log_seqlen_unbalance",
    "prepare_dynamic_batch",
    "rearrange_micro_batches",
    "restore_dynamic_batch",
    "roundup_divisible",
]

#: The cost of a sequence: 24576 times its length plus the square of it, as a Transformer with a hidden size of 4096.
_WORKLOAD = "c=24576,d=1"


def calculate_workload(seqlen_list: Any) -> Any:
    """The relative work of sequences with these lengths, for a Transformer with a hidden size of 4096."""
    return 24576 * seqlen_list + seqlen_list**2


def get_seqlen_balanced_partitions(seqlen_list: Sequence[int], k_partitions: int, equal_size: bool) -> list[list[int]]:
    """Divides items into ``k_partitions`` parts of about the same sum. Returns the sorted indices of each part.

    Args:
        seqlen_list: The length, or the work, of each item: a list, an array or a tensor.
        k_partitions: How many parts; at most as many as items.
        equal_size: Whether all parts have the same number of items, which must then divide evenly.
    """
    assert len(seqlen_list) >= k_partitions, f"{len(seqlen_list)} items cannot fill {k_partitions} partitions"
    if equal_size:
        assert len(seqlen_list) % k_partitions == 0, (
            f"{len(seqlen_list)} items cannot be divided equally into {k_partitions} partitions"
        )
    costs = seqlen_list.tolist() if hasattr(seqlen_list, "tolist") else seqlen_list  # verl gives tensors, too.
    return _partitions(costs, k_partitions, equal_size=equal_size)


def karmarkar_karp(seqlen_list: Sequence[int], k_partitions: int, equal_size: bool) -> list[list[int]]:
    """As :func:`get_seqlen_balanced_partitions`. The method is another one, and its sums are at least as even."""
    return get_seqlen_balanced_partitions(seqlen_list, k_partitions, equal_size)


greedy_partition = karmarkar_karp


def get_group_balanced_partitions(
    seqlen_list: Sequence[int], uid_list: Sequence[Any], k_partitions: int
) -> list[list[int]]:
    """Divides items into parts of about the same work. Neighbours with the same uid stay in one part, and all parts have
    the same number of such groups.

    Args:
        seqlen_list: The length of each item.
        uid_list: The uid of each item.
        k_partitions: How many parts; the number of groups must be a multiple of it.
    """
    assert len(seqlen_list) == len(uid_list), f"{len(seqlen_list)} lengths and {len(uid_list)} uids"
    groups = [list(group) for _, group in groupby(range(len(uid_list)), key=lambda index: uid_list[index])]
    assert len(groups) >= k_partitions, (
        f"{len(groups)} groups cannot fill {k_partitions} partitions; have fewer ranks or larger batches"
    )
    work = [sum(calculate_workload(int(seqlen_list[index])) for index in group) for group in groups]
    parts = get_seqlen_balanced_partitions(work, k_partitions, equal_size=True)
    return [sorted(chain.from_iterable(groups[group] for group in part)) for part in parts]


def log_seqlen_unbalance(seqlen_list: Sequence[int], partitions: Sequence[Sequence[int]], prefix: str) -> dict[str, Any]:
    """How uneven the sums are: of equal runs of items as they come, and of the partitions."""
    size = len(seqlen_list) // len(partitions)
    before = [sum(seqlen_list[start : start + size]) for start in range(0, len(seqlen_list), size)]
    after = [sum(seqlen_list[index] for index in partition) for partition in partitions]
    return {
        f"{prefix}/min": min(before),
        f"{prefix}/max": max(before),
        f"{prefix}/minmax_diff": max(before) - min(before),
        f"{prefix}/balanced_min": min(after),
        f"{prefix}/balanced_max": max(after),
        f"{prefix}/mean": sum(before) / len(partitions),
    }


def ceildiv(a: int, b: int) -> int:
    """``a / b``, rounded up."""
    return -(-a // b)


def roundup_divisible(a: int, b: int) -> int:
    """The smallest multiple of ``b`` that is not below ``a``."""
    return ceildiv(a, b) * b


def rearrange_micro_batches(
    batch: Any,
    max_token_len: int,
    dp_group: Any = None,
    num_batches_divided_by: int | None = None,
    same_micro_num_in_dp: bool = True,
    min_num_micro_batch: int | None = None,
    use_dynamic_bsz_balance: bool = True,
    force_group_size: int = 1,
) -> tuple[list[Any], list[list[int]]]:
    """Divides a batch into micro-batches of at most ``max_token_len`` tokens and of about the same work.

    Args:
        batch: A ``TensorDict`` with ``input_ids``, and with ``attention_mask`` unless these are nested.
        max_token_len: The most tokens of a micro-batch: a hard limit.
        dp_group: The process group over which ranks agree on a number of micro-batches.
        num_batches_divided_by: The number of micro-batches is a multiple of this.
        same_micro_num_in_dp: Whether all ranks of ``dp_group`` get the same number of micro-batches.
        min_num_micro_batch: The fewest micro-batches.
        use_dynamic_bsz_balance: Whether the micro-batches with the most work come in the middle.
        force_group_size: So many neighbours stay in one micro-batch.

    Returns:
        The micro-batches, and the indices of the sequences of each.
    """
    ids = batch["input_ids"]
    tokens = ids.offsets().diff() if ids.is_nested else batch["attention_mask"].sum(dim=1)
    longest = int(tokens.max()) if ids.is_nested else batch["attention_mask"].shape[-1]
    assert max_token_len >= longest, f"max_token_len is {max_token_len}, and a sequence has length {longest}"
    lengths = tokens.long().cpu().numpy()
    assert len(lengths) % force_group_size == 0, (
        f"{len(lengths)} sequences cannot be divided into groups of {force_group_size}"
    )
    together = None if force_group_size == 1 else [index // force_group_size for index in range(len(lengths))]

    def divided(least: int) -> Any:
        return _balance(
            lengths, 1, capacity=max_token_len, cost=_WORKLOAD, min_micro_batches=least, together=together
        )

    step = divided(min_num_micro_batch or 1)
    count = step.micro_batches
    if dp_group is not None and same_micro_num_in_dp:
        import torch
        import torch.distributed as dist

        if dist.is_initialized():
            most = torch.tensor([count], device=tokens.device)
            dist.all_reduce(most, op=dist.ReduceOp.MAX, group=dp_group)
            count = int(most.item())
    if num_batches_divided_by is not None:
        count = roundup_divisible(count, num_batches_divided_by)
    assert count <= len(lengths) // force_group_size, (
        f"{count} micro-batches cannot be made of {len(lengths) // force_group_size} groups of sequences"
    )
    if count > step.micro_batches:
        step = divided(count)
    parts = [part.tolist() for part in step[0]]
    if use_dynamic_bsz_balance:
        # The longest are first: every second one goes in front of the others, in rising order.
        parts = parts[::2][::-1] + parts[1::2]
    return [_selected(batch, part) for part in parts], parts


def _selected(batch: Any, indices: list[int]) -> Any:
    try:
        from verl.utils.tensordict_utils import index_select_tensor_dict  # type: ignore[import-not-found]
    except ImportError:
        return batch[indices]
    return index_select_tensor_dict(batch, indices)


def get_reverse_idx(idx_map: Sequence[int]) -> list[int]:
    """The inverse of a permutation: ``output[idx_map[i]] == i``."""
    reverse = [0] * len(idx_map)
    for place, index in enumerate(idx_map):
        reverse[index] = place
    return reverse


def prepare_dynamic_batch(data: Any, max_token_len: int, **settings: Any) -> tuple[list[Any], list[list[int]]]:
    """Divides a ``DataProto`` into micro-batches as :func:`rearrange_micro_batches` divides its tensors, with the same
    ``settings``. Returns them, and the indices of the sequences of each."""
    batches, parts = rearrange_micro_batches(data.batch, max_token_len=max_token_len, **settings)
    return [
        type(data).from_dict(
            dict(batch),
            {name: values[part] for name, values in data.non_tensor_batch.items()},
            meta_info=copy.deepcopy(data.meta_info),
        )
        for batch, part in zip(batches, parts)
    ], parts


def restore_dynamic_batch(data: Any, batch_idx_list: Sequence[Sequence[int]]) -> Any:
    """Puts the rows of ``data``, which come one micro-batch after another, back into the order of the whole batch."""
    import torch

    order = list(chain.from_iterable(batch_idx_list))
    assert len(order) == data.shape[0], f"{len(order)} indices, and {data.shape[0]} rows"
    places = get_reverse_idx(order)
    if data.is_nested:
        rows = data.unbind()
        return torch.nested.as_nested_tensor([rows[place] for place in places], layout=torch.jagged)
    return data[torch.tensor(places, dtype=torch.long)]
