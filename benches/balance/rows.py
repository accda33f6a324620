"""Packed rows of an epoch over ranks: the idle share that a schedule says, and what a simulation finds.

    python rows.py [--quick] [--out rows.jsonl]

Documents have lognormal lengths (median 1,100, sigma 1.3), cut at the length of a row. A sequence takes 24,576·L + L².
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import lengthwise as lw
import numpy as np

WORK = "c=24576e-9,d=1e-9"
CASES = [(32_768, 8, 60_000), (32_768, 64, 60_000), (131_072, 8, 60_000), (131_072, 64, 300_000)]
WAYS = [
    ("packed", "in-order", 1),
    ("packed", "aligned", 1),
    ("packed", "stratified", 1),
    ("packed:balance=cost", "stratified", 1),
    ("packed", "stratified", 8),
]


def documents(count: int, longest: int) -> np.ndarray:
    normal = np.random.default_rng(22).standard_normal(count)
    return (1100 * np.exp(1.3 * normal)).clip(1, longest).astype(np.uint32)


def simulated(schedule: lw.Schedule, lengths: np.ndarray) -> float:
    """Each rank takes its rows of a step one after another, and waits for the slowest."""
    work = 24576e-9 * lengths + 1e-9 * lengths.astype(float) ** 2
    busy, whole = 0.0, 0.0
    ranks = [list(schedule.for_rank(rank)) for rank in range(schedule.world_size)]
    each = schedule.accumulate
    for step in range(len(schedule)):
        loads = [sum(work[row].sum() for row in rows[step * each : (step + 1) * each]) for rows in ranks]
        busy += sum(loads)
        whole += max(loads) * len(loads)
    return 1 - busy / whole


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the documents")
    parser.add_argument("--out", type=Path, help="a file of JSON lines to write")
    arguments = parser.parse_args()
    rows = []
    print("| rows of, ranks | method | steps | rows per rank | rows | says | true | step mix |")
    print("|---|---|---|--:|--:|--:|--:|--:|")
    for capacity, ranks, count in CASES:
        lengths = documents(count // 10 if arguments.quick else count, capacity)
        for strategy, steps, accumulate in WAYS:
            plan = lw.plan(
                lengths, strategy, budget=f"padded:{capacity}", cost_model=WORK, steps=steps, accumulate=accumulate
            )
            if len(plan) < ranks * accumulate:
                continue
            schedule = plan.schedule(ranks)
            row = {
                "capacity": capacity, "ranks": ranks, "strategy": strategy, "steps": steps, "accumulate": accumulate,
                "rows": len(plan), "says": schedule.idle_share, "true": simulated(schedule, lengths),
                "step_mix": schedule.step_mix,
            }  # fmt: skip
            if abs(row["says"] - row["true"]) > 0.001:
                raise SystemExit(f"the schedule says {row['says']}, and the simulation {row['true']}: {row}")
            rows.append(row)
            print(
                f"| {capacity:,}, {ranks} | `{strategy}` | `{steps}` | {accumulate} | {len(plan):,} | "
                f"{100 * row['says']:.1f} % | {100 * row['true']:.1f} % | {row['step_mix']:.2g} |"
            )
    if arguments.out:
        arguments.out.write_text("".join(json.dumps(row) + "\n" for row in rows))


if __name__ == "__main__":
    main()
