"""One step over ranks: lengthwise against verl's partitioner, against packages that fill rows, and against bounds.

    python compare.py [--verl FILE] [--rounds 5] [--out runs.jsonl]

`--verl` is a copy of verl's `verl/utils/seqlen_balancing.py`. It needs torch and imports much of verl, so only the
functions that divide are taken from it. Peers that are not installed are left out. Rounds alternate, and a time is the
smallest of all rounds.
"""

from __future__ import annotations

import argparse
import ast
import copy
import heapq
import json
import time
from collections.abc import Callable
from itertools import chain
from pathlib import Path
from typing import Any

import lengthwise as lw
import numpy as np

WORK = "c=24576,d=1"


def drawn(count: int, longest: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).lognormal(7, 1, count).astype(np.int64).clip(1, longest)


def work(lengths: np.ndarray) -> np.ndarray:
    return 24576 * lengths + lengths**2


def verl_functions(path: Path) -> dict[str, Any]:
    """The functions of the file that need nothing but Python."""
    wanted = {"karmarkar_karp", "get_seqlen_balanced_partitions", "ceildiv"}
    tree = ast.parse(path.read_text())
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in wanted]
    names: dict[str, Any] = {"heapq": heapq, "copy": copy, "chain": chain}
    exec(compile(tree, str(path), "exec"), names)
    return names


def seconds(function: Callable[[], Any], rounds: int) -> tuple[float, Any]:
    best, found = float("inf"), None
    for _ in range(rounds):
        start = time.perf_counter()
        found = function()
        best = min(best, time.perf_counter() - start)
    return best, found


def over_bound(parts: list, costs: np.ndarray) -> float:
    loads = np.array([costs[np.asarray(part, dtype=int)].sum() for part in parts], dtype=float)
    return float(loads.max() / max(loads.sum() / len(parts), costs.max()) - 1)


def partitioners(verl: dict[str, Any], rounds: int) -> list[dict[str, Any]]:
    """Parts of equal work, without a capacity."""
    rows = []
    for count, parts in [(512, 8), (4096, 8), (4096, 64)]:
        for longest in (4096, 16384):
            lengths = drawn(count, longest, count + parts + longest)
            costs = work(lengths)
            for equal in (False, True):
                row: dict[str, Any] = {
                    "task": "partition", "sequences": count, "parts": parts, "longest": longest, "equal_size": equal,
                }  # fmt: skip
                from lengthwise.seqlen_balancing import get_seqlen_balanced_partitions as ours

                own, found = seconds(lambda: ours(costs.tolist(), parts, equal), 4 * rounds)
                row |= {"lengthwise_s": own, "lengthwise_over": over_bound(found, costs)}
                if not equal:
                    step_s, step = seconds(lambda: lw.balance(lengths, parts, cost=WORK), 4 * rounds)
                    row |= {"balance_s": step_s, "balance_over": step.time / step.lower_bound - 1}
                if verl:
                    theirs = verl["get_seqlen_balanced_partitions"]
                    took, found = seconds(lambda: theirs(costs.tolist(), parts, equal), rounds)
                    row |= {"verl_s": took, "verl_over": over_bound(found, costs)}
                rows.append(row)
    return rows


def capacities(verl: dict[str, Any], rounds: int) -> list[dict[str, Any]]:
    """The fewest micro-batches of a hard capacity for the sequences of one rank."""
    rows = []
    for count, capacity in [(64, 16384), (256, 32768), (1024, 32768)]:
        over, worst, more, ours_over = 0, 0.0, 0, 0
        trials = 50
        for trial in range(trials):
            lengths = drawn(count, capacity, trial)
            step = lw.balance(lengths, 1, capacity=capacity, cost=WORK)
            ours_over += int(any(lengths[batch].sum() > capacity for batch in step[0]))
            least = -(-int(lengths.sum()) // capacity)
            more += step.micro_batches - least
            if verl:
                parts = verl["get_seqlen_balanced_partitions"](work(lengths).tolist(), least, False)
                sums = [lengths[part].sum() for part in parts]
                over += int(max(sums) > capacity)
                worst = max(worst, float(max(sums) / capacity))
        row: dict[str, Any] = {
            "task": "capacity", "sequences": count, "capacity": capacity, "trials": trials,
            "lengthwise_over": ours_over, "lengthwise_extra_micro_batches": more / trials,
        }  # fmt: skip
        if verl:
            row |= {"verl_over": over, "verl_worst": worst}
        rows.append(row)
    return rows


def packers(rounds: int) -> list[dict[str, Any]]:
    """Rows of a capacity for 64 ranks: time, rows, and how long ranks wait if each takes rows in turn."""
    lengths, capacity, ranks = drawn(4096, 16384, 7), 32768, 64
    costs = work(lengths)

    def waiting(rows: list) -> float:
        loads = np.zeros(ranks)
        each = -(-len(rows) // ranks)
        for start in range(0, each * ranks, ranks):
            taken = rows[start : start + ranks]
            loads[: len(taken)] += [costs[np.asarray(row, dtype=int)].sum() for row in taken]
        return 1 - loads.mean() / loads.max()

    found: list[dict[str, Any]] = []

    def add(name: str, function: Callable[[], list]) -> None:
        took, rows = seconds(function, 4 * rounds)
        keep(name, took, rows)

    def keep(name: str, took: float, rows: list) -> None:
        sums = [int(lengths[np.asarray(row, dtype=int)].sum()) for row in rows]
        found.append(
            {"task": "rows", "name": name, "s": took, "rows": len(rows), "over": max(sums) > capacity, "idle": float(waiting(rows))}
        )

    def ours() -> list:
        step = lw.balance(lengths, ranks, capacity=capacity, cost=WORK)
        # Rank by rank becomes row by row.
        by_rank = [step[rank] for rank in range(ranks)]
        return [by_rank[rank][number] for number in range(step.micro_batches) for rank in range(ranks)]

    add("lengthwise balance", ours)
    try:
        import seqpacker

        packer = seqpacker.Packer(capacity=capacity, strategy="obfd")
        add("seqpacker obfd", lambda: [pack.sequence_ids for pack in packer.pack(lengths.tolist()).packs])
    except ImportError:
        pass
    try:
        import lightbinpack

        for variant in ("linear", "square"):
            add(
                f"lightbinpack {variant}, dp_size {ranks}",
                lambda variant=variant: list(
                    chain.from_iterable(lightbinpack.pack(lengths.tolist(), capacity, variant=variant, dp_size=ranks))
                ),
            )
    except ImportError:
        pass
    try:
        keep("online-dynamic-batching, for one rank", *online(lengths, capacity, ranks, rounds))
    except ImportError:
        pass
    return found


def online(lengths: np.ndarray, capacity: int, ranks: int, rounds: int) -> tuple[float, list]:
    """The groups that online-dynamic-batching makes of what each rank has: the seconds for one rank, and the groups.

    All ranks group at once, and exchange the sizes of their groups. Here they do it one after another in one process,
    with the exchange made for them: its own function runs unchanged, except that it is given the gathered sizes.
    """
    import torch
    from odb import grouping

    torch.set_num_threads(1)  # its tensors are small: threads only wait for each other

    class Gathered(Exception):
        pass

    class Exchange:
        def __init__(self) -> None:
            self.rank, self.sizes, self.collected = 0, None, []

        def get_world_size(self, group: Any) -> int:
            return ranks

        def get_rank(self, group: Any) -> int:
            return self.rank

        def all_gather_into_tensor(self, all_sizes: Any, own: Any, group: Any) -> None:
            if self.sizes is None:
                self.collected.append(own)
                raise Gathered
            all_sizes.copy_(self.sizes)

    window = -(-len(lengths) // ranks)  # all that a rank has is one buffer
    exchange = Exchange()
    before, grouping.dist = grouping.dist, exchange

    def samples(rank: int) -> list:
        # As a distributed sampler divides: in turns. No memory is behind the ids.
        return [[{"input_ids": torch.zeros(1).expand(int(lengths[at])), "at": at} for at in range(rank, len(lengths), ranks)]]

    def grouped(rank: int) -> list:
        exchange.rank = rank
        groups, left, _, _ = grouping.grouping_data(
            own[rank], capacity, "all ranks", idx_budget=window, join_mode=True, max_groups=window
        )
        assert not left, "sequences that wait for the next window"
        return [[sample["at"] for sample in group] for group in groups]

    try:
        own = [samples(rank) for rank in range(ranks)]
        for rank in range(ranks):
            try:
                grouped(rank)
            except Gathered:
                pass
        exchange.sizes = torch.cat(exchange.collected)
        took, of_ranks = seconds(lambda: [grouped(rank) for rank in range(ranks)], rounds)
    finally:
        grouping.dist = before
    cells = max(len(group) * int(lengths[group].max()) for groups in of_ranks for group in groups)
    assert cells <= capacity, "padding included, its batches keep the budget"
    assert len({len(groups) for groups in of_ranks}) == 1
    assert sorted(at for groups in of_ranks for group in groups for at in group) == list(range(len(lengths)))
    return took / ranks, [groups[number] for number in range(len(of_ranks[0])) for groups in of_ranks]


def shared(rounds: int) -> list[dict[str, Any]]:
    """Long sequences over several ranks: the time against the least possible and against whole sequences."""
    rows = []
    for count, ranks in [(64, 8), (256, 64), (1024, 64), (4096, 64), (16384, 512)]:
        for tail in ("lognormal", "16 x the mean", "131072"):
            for communication in (0, 1000, 8000):
                over, ratio, split, took, number = [], [], [], [], []
                for trial in range(10):
                    lengths = drawn(count, 131072, trial)
                    longest = {"lognormal": [], "16 x the mean": [16 * int(lengths.mean())] * 3, "131072": [131072] * 2}[tail]
                    lengths[: len(longest)] = longest
                    whole = lw.balance(lengths, ranks, cost=WORK)
                    settings = {"capacity": 32768, "cost": WORK, "split": [1, 2, 4, 8], "communication": communication}
                    own, step = seconds(lambda lengths=lengths, settings=settings: lw.balance(lengths, ranks, **settings), rounds)
                    over.append(step.time / step.lower_bound)
                    ratio.append(step.time / whole.time)
                    batches = zip((batch for rank in step for batch in rank), step.degrees.ravel(), strict=True)
                    split.append(sum(len(batch) / degree for batch, degree in batches if degree > 1))
                    number.append(step.micro_batches)
                    took.append(own)
                rows.append(
                    {
                        "task": "context", "sequences": count, "ranks": ranks, "tail": tail, "communication": communication,
                        "trials": 10, "over_median": float(np.median(over)), "over_worst": max(over), "of_whole": float(np.median(ratio)),
                        "split": float(np.median(split)), "micro_batches": float(np.median(number)), "s": float(np.median(took)),
                    }  # fmt: skip
                )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verl", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    verl = verl_functions(arguments.verl) if arguments.verl else {}
    rows = [*partitioners(verl, arguments.rounds), *capacities(verl, arguments.rounds), *packers(arguments.rounds), *shared(arguments.rounds)]
    for row in rows:
        print(json.dumps({key: round(value, 6) if isinstance(value, float) else value for key, value in row.items()}))
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
