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
    kept = lines("lab/experiments/dictionary/results/2026-11-18-h200-times.jsonl")
    seconds = {row["name"]: row["seconds"] for row in kept if row.get("epoch") == 2}
    rows = [
        ("shuffled batches of 32", seconds["random 32"], "other"),
        ("the default (4 micro-batches)", seconds["default"], "ours"),
        ("the default, CUDA graphs", seconds["default, graphs"], "ours"),
        ("packed rows", seconds["packed"], "ours"),
    ]
    return bars(
        rows, " s", "Seconds of an epoch at the same loss",
        "Seconds of an epoch for a language model (8 layers of 512) on 126,236 dictionary entries, with 29,000 tokens in "
        "every update: the second epoch, without cuDNN's attention. The losses were measured in other runs of five "
        "seeds: they differ by less than 0.01. One H200.",
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


def kept(path: str) -> tuple[list[str], dict[str, dict[int, dict[str, float]]]]:
    """The runs of a file of the laboratory, and what was measured after the last epoch of each seed."""
    head, *epochs = lines(path)
    found: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for epoch in epochs:
        measured = epoch["validation"]
        found[epoch["name"]][epoch["seed"]] = {"loss": measured["loss"], **dict(measured["more"])}
    return list(dict.fromkeys(run["name"] for run in head["runs"])), found


def axes(across, down, xs: list, ys: list, box: tuple[float, float, float, float]) -> list[str]:
    """Lines and numbers of a plot, for (value, text) on both axes; the box is left, top, width and height."""
    left, top, wide, high = box
    parts = []
    for value, name in xs:
        x = across(value)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{top + high}"/>')
        parts.append(text(x, top + high + 18, name, "middle", "small"))
    for value, name in ys:
        y = down(value)
        parts.append(f'<line class="grid" x1="{left}" x2="{left + wide}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(text(left - 8, y + 4, name, "end", "small"))
    return parts


def curve(points: list[tuple[float, float]], kind: str) -> str:
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>' for x, y in points)
    return f'<polyline class="line {kind}-line" points="{line}"/>{dots}'


def who_pays() -> str:
    """The loss by entry length, compared with random batches."""
    names, found = kept("lab/experiments/dictionary/results/2026-11-18-h200.jsonl")
    base = "random 32"
    groups = [name for name in found[base][1] if name.startswith("loss of entries")]
    box = left, top, wide, high = 60, 14, WIDTH - 280, 250
    across = lambda at: left + (at + 0.5) / len(groups) * wide
    down = lambda apart: top + (0.45 - apart) / 0.5 * high
    parts = axes(
        across, down, [(at, name.removeprefix("loss of entries of ")) for at, name in enumerate(groups)],
        [(apart, f"{apart:+.1f}" if apart else "0") for apart in (0, 0.1, 0.2, 0.3, 0.4)], box,
    )
    parts.append(text(left + wide / 2, top + high + 38, "tokens in the entry", "middle", "small"))
    titles = {"default": "the default", "packed": "packed rows", "ladder 16, 1 batch": "one length per update (ladder:16)",
              "semi-sorted 0.1, 1 batch": "semi-sorted, one batch per update", "grouped 32": "grouped as transformers does"}
    taken: list[float] = []
    for name in sorted(names, key=lambda name: -mean(run["loss"] for run in found[name].values())):
        if name not in titles:
            continue
        apart = [mean(found[name][seed][group] - found[base][seed][group] for seed in found[name]) for group in groups]
        kind = "ours" if name in ("default", "packed") else "other"
        parts.append(curve([(across(at), down(value)) for at, value in enumerate(apart)], kind))
        y = down(apart[-1]) + 4
        while any(abs(y - other) < 14 for other in taken):
            y += 2
        taken.append(y)
        parts.append(text(across(len(groups) - 1) + 12, y, titles[name], "start", "small"))
    caption = (
        "Loss on held-out entries after two epochs, compared with shuffled batches, by the length of the entry; mean of five "
        "seeds. Updates of one length cost most on long entries, and do not gain on short ones."
    )
    return drawn(top + high + 46, parts, "Loss by entry length, compared with shuffled batches", caption)


def sizes() -> str:
    """The loss over learning rates, for three sizes of updates."""
    names, found = kept("lab/experiments/mixing/results/2026-11-18-sizes.jsonl")
    runs = defaultdict(list)
    for name in names:
        size, rate = name.split(" words, rate ")
        runs[int(size)].append((float(rate), mean(run["loss"] for run in found[name].values())))
    box = left, top, wide, high = 60, 14, WIDTH - 200, 260
    rates = sorted({rate for points in runs.values() for rate, _ in points})
    across = lambda rate: left + (math.log2(rate / rates[0]) + 0.3) / (len(rates) - 0.4) * wide
    down = lambda loss: top + (math.log(1.1) - math.log(loss)) / math.log(1.1 / 0.175) * high
    parts = axes(across, down, [(rate, f"{rate:g}") for rate in rates], [(loss, f"{loss:g}") for loss in (0.2, 0.3, 0.5, 1)], box)
    parts.append(text(left + wide / 2, top + high + 38, "learning rate (Adam)", "middle", "small"))
    parts.append(text(8, 12, "loss", "start", "small"))
    for (size, points), kind in zip(runs.items(), ("other", "data", "ours")):
        parts.append(curve([(across(rate), down(loss)) for rate, loss in points], kind))
        rate, loss = points[0]
        parts.append(text(across(rate) + 10, down(loss) - 8, f"{size:,} words", "start", "small"))
        best = min(points, key=lambda point: point[1])
        parts.append(f'<circle class="ring" cx="{across(best[0]):.1f}" cy="{down(best[1]):.1f}" r="8"/>')
    caption = (
        "Loss on held-out sentences after six epochs, by the words in an update; mean of eight seeds. Circles: the best rate of each size. With four times "
        "the data in an update, it is twice as high. Both axes are logarithmic."
    )
    return drawn(top + high + 46, parts, "Loss over learning rates for three sizes of updates", caption)


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
    "who-pays": who_pays,
    "sizes": sizes,
}
