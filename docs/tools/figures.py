"""Figures of the site, drawn as SVG from runs that the repository keeps. Colours come from the site's style sheet, so
that figures are readable on a light and on a dark page."""

from __future__ import annotations

import csv
import json
import math
import os
import random
import subprocess
import tempfile
from collections import defaultdict
from html import escape
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).parents[2]
WIDTH = 720


def lines(path: str) -> list[dict]:
    return [json.loads(line) for line in (ROOT / path).read_text().splitlines()]


def text(x: float, y: float, what: str, anchor: str = "start", kind: str = "") -> str:
    style = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{style}>{escape(what)}</text>'


def svg(width: float, height: float, parts: list[str], label: str, kind: str = "wide") -> str:
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(label)}"'
    return f'<svg class="{kind}" {box}>{"".join(parts)}</svg>'


def drawn(height: float, parts: list[str], label: str, caption: str) -> str:
    return f"{svg(WIDTH, height, parts, label)}<figcaption>{caption}</figcaption>"


def bars(rows: list[tuple[str, float, str]], unit: str, label: str, caption: str, most: float | None = None) -> str:
    """A bar for each (name, value, class); `most` is where the scale ends."""
    most = most or max(value for _, value, _ in rows)
    wide, right, high = 400, 56, 36
    parts = []
    for place, (name, value, kind) in enumerate(rows):
        y = place * high
        length = max(1.0, value / most * (wide - right))
        parts.append(text(0, y + 13, name))
        parts.append(f'<rect class="{kind}" x="0" y="{y + 18}" width="{length:.1f}" height="12" rx="2"/>')
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        parts.append(text(length + 6, y + 28, f"{value:.{digits}f}{unit}", kind="small"))
    return f"{svg(wide, len(rows) * high, parts, label, 'bars')}<figcaption>{caption}</figcaption>"


def padding() -> str:
    """The same sequences in random batches and in planned ones."""
    generator = random.Random(7)
    lengths = [min(100, 8 + round(generator.lognormvariate(2.9, 0.7))) for _ in range(96)]
    panels = []
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, "lengths.txt")
        data.write_text("\n".join(map(str, lengths)))
        for title, settings in (
            ("your shuffled batches of 8", ["--strategy", "shuffled", "--budget", "sequences:8"]),
            ("planned, with as many optimizer steps", ["--like", "8,keep=steps"]),
        ):
            command = [os.environ["LENGTHWISE"], "plan", str(data), *settings, "--json"]
            plan = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            panels.append((title, list(zip(plan["batches"], plan["batch_lengths"])), plan.get("ranks", {}).get("accumulate", 1)))
    pictures, high, wide = [], 3.6, 335
    scale = wide / max(lengths)
    for title, batches, accumulate in panels:
        cells = sum(len(batch) * length for batch, length in batches)
        share = 1 - sum(lengths) / cells
        parts = [text(0, 16, f"{title}: {share:.0%} padding")]
        y = 28.0
        for place, (batch, length) in enumerate(batches):
            parts.append(
                f'<rect class="ours" x="0" y="{y:.1f}" width="{length * scale:.1f}" height="{len(batch) * high:.1f}"/>'
            )
            for index in batch:
                parts.append(
                    f'<rect class="data" x="0" y="{y:.1f}" width="{lengths[index] * scale:.1f}" height="{high - 0.6:.1f}"/>'
                )
                y += high
            y += 1.2 if (place + 1) % accumulate else 8.4 - 1.2 * accumulate
        pictures.append(svg(wide + 5, y, parts, f"{title}: {share:.0%} padding", "half"))
    caption = (
        "The same 96 sequences in 12 optimizer steps. Each line is a sequence. Orange is padding: computed, and thrown away. "
        "Planned, a step is a few small batches of similar lengths, which together hold short and long sequences."
    )
    return f'<div class="lw-pair">{"".join(pictures)}</div><figcaption>{caption}</figcaption>'


def epochs(model: str, label: str, caption: str) -> str:
    seconds = defaultdict(list)
    with (ROOT / "benches/gpu/runs/2026-11-15-h200/epochs.csv").open() as file:
        for row in csv.DictReader(file):
            if row["model"] == model:
                seconds[row["kind"]].append(float(row["seconds"]))
    names = {
        "lengthwise": "random order on ladder:16",
        "grouped by length (HF)": "grouped as Hugging Face does",
        "random": "shuffled",
        "random, 64 sequences": "shuffled, 64 sequences",
    }
    rows = []
    for kind, values in seconds.items():
        if kind == "random, again":
            continue
        name = names.get(kind, kind.replace("lengthwise, ", "random order on "))
        rows.append((name, sum(values), "ours" if "lengthwise" in kind else "other"))
    return bars(sorted(rows, key=lambda row: row[1]), " s", label, caption)


def shapes() -> str:
    return epochs(
        "encoder",
        "Seconds for three epochs of a Transformer encoder",
        "Seconds for the first three epochs of a Transformer encoder (12 layers of 512, bf16) on 10,480 sequences of speech "
        "lengths; batches of at most 51,200 cells, one batch for each update. One H200, one run.",
    )


def recurrent() -> str:
    return epochs(
        "blstm",
        "Seconds for three epochs of a BLSTM",
        "The same for a bidirectional LSTM (3 layers of 512), which hardly pays for new shapes. Its epochs differ by up to "
        "15 % without a reason in the data.",
    )


def step_mix() -> str:
    """Loss against step mix, over ways to batch."""
    ways = defaultdict(list)
    for row in lines("lab/experiments/dictionary/results/2026-11-16-h200.jsonl"):
        if row["layout"] == "packed":
            ways[row["way"]].append((row["step mix, log"], row["losses"][1]))
    points = {way: (mean(mix for mix, _ in runs), mean(loss for _, loss in runs)) for way, runs in ways.items()}
    left, top, wide, high = 60, 14, WIDTH - 80, 250
    across = lambda mix: left + (math.log10(mix) + 2) / 5 * wide
    down = lambda loss: top + (3.05 - loss) / 0.4 * high
    parts = []
    for power in range(-2, 4):
        x = across(10**power)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + high}"/>')
        parts.append(text(x, top + high + 18, f"{10**power:g}", "middle", "small"))
    for loss in (2.7, 2.8, 2.9, 3.0):
        parts.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{down(loss):.1f}" y2="{down(loss):.1f}"/>')
        parts.append(text(left - 8, down(loss) + 4, f"{loss:.1f}", "end", "small"))
    parts.append(text(left + wide / 2, top + high + 38, "step mix (1: as random steps)", "middle", "small"))
    parts.append(text(8, 12, "loss", "start", "small"))
    notes = {
        "proportional 8": ("proportional", -10, "middle"),
        "random 32": ("shuffled", -10, "middle"),
        "ladder 16, 4 stratified": ("ladder:16, 4 micro-batches", -10, "end"),
        "ladder 16, 1 batch": ("ladder:16, 1 batch", 4, "end"),
        "grouped 32": ("grouped by length as transformers does", 4, "end"),
        "semi-sorted 0.1, 1 batch": ("semi-sorted", 4, "end"),
    }
    for way, (mix, loss) in points.items():
        kind = "ours" if way.startswith("proportional") else "data" if way.startswith(("random", "packed")) else "other"
        parts.append(f'<circle class="{kind}" cx="{across(mix):.1f}" cy="{down(loss):.1f}" r="5"><title>{escape(way)}</title></circle>')
        if way in notes:
            note, above, anchor = notes[way]
            x = across(mix) - (10 if anchor == "end" else 0)
            parts.append(text(x, down(loss) + above, note, anchor, "small"))
    caption = (
        "Loss on held-out entries after two epochs, mean of three seeds, over the step mix of 14 ways to batch the same data. "
        "Orange: <code>proportional</code>. Blue: shuffled batches and packed rows."
    )
    return drawn(top + high + 46, parts, "Loss against step mix", caption)


def dictionary() -> str:
    kept = lines("lab/experiments/dictionary/results/2026-11-17-h200-default.jsonl")

    def seconds(way: str, layout: str, seed: int) -> float:
        found = [row for row in kept if (row["way"], row["layout"], row["seed"]) == (way, layout, seed)]
        return found[0]["seconds"][-1]

    rows = [
        ("shuffled batches of 32", seconds("random 32", "padded", 2), "other"),
        ("default", seconds("default", "padded", 2), "ours"),
        ("default, CUDA graphs", seconds("default", "graphs", 1), "ours"),
        ("packed rows", seconds("packed", "padded", 1), "ours"),
    ]
    return bars(
        rows, " s", "Seconds of an epoch at the same loss",
        "Seconds of an epoch for a language model (8 layers of 512) on 126,236 dictionary entries, with 29,000 tokens in "
        "every update. Graphs were timed in a second epoch, the others in a first. The losses were measured in other runs "
        "of six seeds: they differ by less than 0.01. One H200.",
    )


def choices() -> str:
    found: dict = {}
    days = ("2026-11-16", "2026-11-17")
    for row in (row for day in days for row in lines(f"lab/experiments/choices/results/{day}-h200.jsonl")):
        if row["row"] == "choice":
            found.setdefault((row["model"], row["data"]), {})[row["way"]] = row["seconds"]
    names = {"blstm": "BLSTM", "padded": "encoder, padded", "packed": "encoder, packed rows"}
    data = {"css10_es": "speech", "gsm8k": "school problems", "pen": "pen strokes", "documents": "documents"}
    rows = [
        (f"{names[model]}: {data[name]}", 100 * ways["recommended"] / ways["random"], "ours")
        for (model, name), ways in found.items()
        if "random" in ways
    ]
    return bars(
        rows, " %", "Time of the recommended way in percent of shuffled batches",
        "Time of an epoch with the recommended settings, in percent of shuffled batches with as many updates. Padded batches "
        "have a step mix of at most 1, packed rows of up to 1.52. One H200.", most=100,
    )


def frontier() -> str:
    """How much blurred pads at equal mixing, compared with the best other family."""
    sets = defaultdict(list)
    for row in lines("benches/runs/2026-11-16-frontier/raw.jsonl"):
        for level in row.get("levels", []):
            if level.get("best_ratio"):
                sets[row["set"]].append((level["best_ratio"], row["batches"]))
    left, high, low, most = 150, 26, 0.4, 2.0
    across = lambda ratio: left + (math.log(min(max(ratio, low), 6)) - math.log(low)) / math.log(6 / low) * (WIDTH - left - 20)
    parts = []
    bottom = len(sets) * high
    for ratio in (0.5, 0.75, 1, 1.5, 2, 3, 5):
        x = across(ratio)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{bottom}"/>')
        parts.append(text(x, bottom + 16, f"{ratio:g}", "middle", "small"))
    for place, (name, found) in enumerate(sets.items()):
        y = place * high + 13
        parts.append(text(left - 12, y + 4, name, "end"))
        for ratio, batches in found:
            kind = "ours" if batches >= 100 else "other"
            parts.append(f'<circle class="{kind}" cx="{across(ratio):.1f}" cy="{y}" r="3.4" opacity="0.75"/>')
    caption = (
        "Padding of <code>blurred</code> divided by that of the best other method, each tuned to the same mixing (5, 10 and "
        "20 %, per pair and per sequence) under five budgets. Left of 1, <code>blurred</code> pads less. Orange: at least 100 "
        "batches in an epoch; grey: fewer."
    )
    return drawn(bottom + 24, parts, "Padding of blurred at equal mixing", caption)


def peers() -> str:
    """Padding against repeated batch-mates, of every system under the same padded budget."""
    points = []
    for entry in lines("benches/runs/2026-11-15-peers-2-core-xeon/raw.jsonl"):
        if entry["set"] == "speech" and entry["sequences"] == 100_000 and entry["kind"] == "padded":
            rows = [] if entry["row"]["name"].startswith(("numpy", "lengthwise")) else [entry["row"], *entry["ours"]]
            points += [(row["name"], 100 * row["met_again"], 100 * row["padding"]) for row in rows]
    left, top, wide, high = 60, 10, WIDTH - 90, 260
    across = lambda again: left + (math.log10(again) + 0.3) / 2.4 * wide
    down = lambda rate: top + high - (math.log10(rate) + 1.7) / 2.6 * high
    parts = []
    for again in (1, 10, 100):
        x = across(again)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + high}"/>')
        parts.append(text(x, top + high + 18, f"{again} %", "middle", "small"))
    for rate in (0.1, 1, 5):
        parts.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{down(rate):.1f}" y2="{down(rate):.1f}"/>')
        parts.append(text(left - 8, down(rate) + 4, f"{rate:g} %", "end", "small"))
    parts.append(text(left + wide / 2, top + high + 38, "pairs of batch-mates that meet again in the next epoch", "middle", "small"))
    places = {
        "returnn-laplace": (0, -10, "middle"),
        "speechbrain": (-4, -10, "start"),
        "lhotse": (10, 6, "start"),
        "returnn-bin-shuffle": (9, 4, "start"),
        "fairseq-each-epoch": (9, 14, "start"),
        "fairseq-default": (-9, 4, "end"),
        "espnet-length": (8, -9, "end"),
    }
    seen = set()
    for name, again, rate in points:
        ours = name.startswith("lengthwise")
        if (name, round(again, 1), round(rate, 2)) in seen:
            continue
        seen.add((name, round(again, 1), round(rate, 2)))
        x, y = across(again), down(rate)
        parts.append(f'<circle class="{"ours" if ours else "data"}" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>')
        if name in places:
            right, below, anchor = places[name]
            parts.append(text(x + right, y + below, name, anchor, "small"))
    caption = (
        "Padding, with the same budget of 16,827 padded cells, on 100,000 sequences of speech lengths. Further down and further "
        "left is better. Orange: lengthwise, with settings matched to each of them. ESPnet exceeds the budget in nearly "
        "every batch. Both axes are logarithmic."
    )
    return drawn(top + high + 46, parts, "Padding and repeated batch-mates of several systems", caption)


def planning() -> str:
    times = {}
    for entry in lines("benches/runs/2026-11-15-peers-2-core-xeon/raw.jsonl"):
        row = entry["row"]
        known = entry["set"] == "speech" and entry["sequences"] == 100_000
        if known and not row["name"].startswith("numpy"):
            times.setdefault(row["name"], row["first"]["wall"])
    rows = [(name, 1000 * wall, "ours" if name == "lengthwise" else "other") for name, wall in times.items()]
    return bars(
        sorted(rows, key=lambda row: row[1]), " ms", "Milliseconds to plan an epoch of 100,000 sequences",
        "Milliseconds to plan one epoch of 100,000 sequences, on two cores. Building the input objects of each system is left out.",
    )


FIGURES = {
    "padding": padding,
    "shapes": shapes,
    "recurrent": recurrent,
    "step-mix": step_mix,
    "dictionary": dictionary,
    "choices": choices,
    "frontier": frontier,
    "peers": peers,
    "planning": planning,
}
