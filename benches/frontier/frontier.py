"""Padding of `blurred` and of the best other family at equal mixing, over data sets and budgets.

    cargo build --release -p lengthwise-cli
    python benches/frontier/frontier.py --command target/release/lengthwise --out DIR NAME=FILE:COLUMN ...

The built-in examples are always measured; files of lengths are added by name. Writes DIR/raw.jsonl, one
line for each data set and budget, and DIR/table.md.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
from pathlib import Path
from typing import Any

EXAMPLES = ["speech", "documents", "bimodal"]
# `16*mean` is 16 times the mean length, and room for the longest in any case.
BUDGETS = ["sequences:16", "dynamic:16", "padded:16*mean", "padded:64*mean", "padded:32*mean,at-most=64"]
LEVELS = [0.05, 0.1, 0.2]
PER = {"pair": "mixing", "sequence": "mixing_per_sequence"}
# A family with more than this many times the batches of `blurred` pads less because its batches are not full.
AS_MANY = 1.05
# With fewer batches in an epoch a level of mixing is hardly more than one batch.
MANY = 100


def run(command: str, *arguments: str) -> Any:
    done = subprocess.run([command, *arguments, "--json"], check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def interpolated(points: list[dict[str, Any]], key: str, level: float) -> tuple[float, float] | None:
    """Padding and batches where a curve reaches a level of mixing, on logarithmic axes."""
    known = [one for one in points if one[key] > 0 and one["padding_rate"] > 0]
    found = []
    for one, other in zip(known, known[1:]):
        low, high = one[key], other[key]
        if min(low, high) <= level <= max(low, high):
            share = 0.5 if low == high else math.log(level / low) / math.log(high / low)
            found.append(
                tuple(one[k] * (other[k] / one[k]) ** share for k in ("padding_rate", "batches"))
            )
    return min(found, default=None)


def levels(curves: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """At every level: what `blurred` pads, and the best other, of all and of those with as few batches."""
    rows = []
    for per, key in PER.items():
        for level in LEVELS:
            at = {curve["family"]: interpolated(curve["points"], key, level) for curve in curves}
            ours = at.pop("blurred")
            others = {name: found for name, found in at.items() if found}
            most = AS_MANY * ours[1] if ours else 0
            full = {name: found for name, found in others.items() if found[1] <= most}
            row = {"per": per, "mixing": level, "blurred": ours and ours[0]}
            for kind, some in (("best", others), ("best_full", full)):
                name = min(some, key=lambda name: some[name][0], default=None)
                row[kind] = some[name][0] if name else None
                row[f"{kind}_family"] = name
                row[f"{kind}_ratio"] = ours[0] / some[name][0] if name and ours else None
            rows.append(row)
    return rows


def measured(command: str, name: str, source: list[str], budget: str, effort: list[str]) -> dict[str, Any]:
    one = ["--strategy", "sorted", "--epochs", "1"]
    lengths = run(command, "compare", *source, *one)["input"]
    if "*mean" in budget:
        kind, times = budget.split("*mean")[0].split(":")
        cells = max(math.ceil(float(times) * lengths["mean"]), lengths["max"])
        budget = f"{kind}:{cells}{budget.split('*mean')[1]}"
    sorted_ = run(command, "compare", *source, *one, "--budget", budget)["rows"][0]
    answer = run(command, "frontier", *source, "--budget", budget, *effort)
    counts = {"sequences": lengths["sequences"], "batches": sorted_["batches"]}
    return {"set": name, "budget": budget, **counts, "levels": levels(answer["curves"])}


def mean(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def ratios(rows: list[dict[str, Any]], per: str, kind: str, least: int = 0) -> list[float]:
    found = (level for row in rows if row["batches"] >= least for level in row["levels"] if level["per"] == per)
    return [level[f"{kind}_ratio"] for level in found if level[f"{kind}_ratio"]]


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        "Padding of `blurred` divided by that of the best other family at equal mixing, each tuned to it.",
        "",
        "| settings | per | levels | geometric mean | worst | above 1.15 |",
        "|---|---|---|---|---|---|",
    ]
    for what, kind, least in [
        ("all", "best", 0),
        (f"with {MANY} batches or more", "best", MANY),
        (f"all, others with at most {AS_MANY:.0%} of the batches of `blurred`", "best_full", 0),
    ]:
        for per in PER:
            some = ratios(rows, per, kind, least)
            above = sum(ratio > 1.15 for ratio in some)
            lines.append(f"| {what} | {per} | {len(some)} | {mean(some):.2f} | {max(some):.2f} | {above} |")
    heads = " | ".join(f"{per} {level:.0%}" for per in PER for level in LEVELS)
    lines += ["", "Padding of `blurred` in %, the ratio, and the best other family. `–`: not reached.", ""]
    lines += [f"| set | budget | sorted batches | {heads} |", "|---|---|---|" + "---|" * 6]
    for row in rows:
        cells = []
        for level in row["levels"]:
            padding = "–" if level["blurred"] is None else f"{100 * level['blurred']:.2f}"
            ratio = level["best_ratio"]
            cells.append(f"{padding}" + (f" **{ratio:.2f}** {level['best_family']}" if ratio else ""))
        lines.append(f"| {row['set']} | `{row['budget']}` | {row['batches']:.0f} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--command", default="lengthwise", help="the program lengthwise")
    parser.add_argument("--out", type=Path, required=True, help="the folder to write to")
    parser.add_argument("--steps", default="33", help="points on every curve")
    parser.add_argument("--epochs", default="4", help="epochs for every point")
    parser.add_argument("files", nargs="*", metavar="NAME=FILE[:COLUMN]", help="lengths of your own")
    given = parser.parse_args()
    sources = {name: ["--example", name] for name in EXAMPLES}
    for name, text in (file.split("=", 1) for file in given.files):
        path, _, column = text.partition(":")
        sources[name] = [path, *(["--column", column] if column else [])]
    effort = ["--steps", given.steps, "--epochs", given.epochs]
    rows = []
    given.out.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        for budget in BUDGETS:
            rows.append(measured(given.command, name, source, budget, effort))
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (given.out / "raw.jsonl").write_text(lines, encoding="utf-8")
    (given.out / "table.md").write_text(table(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
