"""What notebooks show."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import Comparison, Plan

# Batches in the picture of a plan.
SHOWN = 60
WIDTH, HEIGHT = 720, 120


def plan(plan: Plan) -> str:
    """The figures of a plan, and a picture of its batches: what is light is padding."""
    measures = plan.measure()
    settings = plan.settings
    rows = [
        ("sequences", f"{measures.sequences:,}"),
        ("batches", f"{measures.batches:,}"),
        ("padding", f"{100 * measures.padding_rate:.2f} %"),
        ("shapes", f"{measures.shapes:,}"),
        ("largest batch", f"{measures.largest_batch:,} sequences, {measures.largest_batch_cells:,} cells"),
        ("settings", f"{settings['strategy']}, budget {settings['budget']}, shapes {settings['shapes']}"),
        ("seed, epoch", f"{settings['seed']}, {settings['epoch']}"),
        ("digest", plan.digest),
    ]
    table = "".join(
        f'<tr><th style="text-align:left">{name}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in rows
    )
    return f"<table>{table}</table>{_picture(plan)}"


def _picture(plan: Plan) -> str:
    count = min(len(plan), SHOWN)
    if not count:
        return ""
    batches = [k * len(plan) // count for k in range(count)]
    batch_lengths, lengths = plan.batch_lengths, plan.lengths
    tallest = max(int(batch_lengths[k]) for k in batches)
    sizes = [len(plan[k]) for k in batches]
    step = WIDTH / sum(sizes)
    bars, x = [], 0.0
    for k, size in zip(batches, sizes):
        height = HEIGHT * int(batch_lengths[k]) / tallest
        width = max(size * step - 1, 0.5)
        bars.append(
            f'<rect x="{x:.2f}" y="{HEIGHT - height:.1f}" width="{width:.2f}" '
            f'height="{height:.1f}" fill="#f0a04b"/>'
        )
        # One outline for all sequences of the batch; of large ones, for as many as can be seen.
        shown = min(size, 40)
        chosen = [plan[k][place * size // shown] for place in range(shown)]
        points = [f"{x:.2f},{HEIGHT}"]
        for place, sequence in enumerate(chosen):
            filled = HEIGHT * min(int(lengths[sequence]), int(batch_lengths[k])) / tallest
            for edge in (place, place + 1):
                points.append(f"{x + width * edge / shown:.2f},{HEIGHT - filled:.1f}")
        points.append(f"{x + width:.2f},{HEIGHT}")
        bars.append(f'<polygon points="{" ".join(points)}" fill="#3b7dc4"/>')
        x += size * step
    title = f"{count} of {len(plan)} batches; blue is data, orange is padding"
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 18}" width="{WIDTH}" role="img" style="max-width:100%">'
        f"<title>{title}</title>{''.join(bars)}"
        f'<text x="0" y="{HEIGHT + 14}" font-size="12" fill="#6e7781">{title}</text></svg>'
    )


COLUMNS = [
    ("strategy", "strategy", "{}"),
    ("padding %", "padding_rate", "{:.2%}"),
    ("batches", "batches", "{:,.0f}"),
    ("optimizer steps", "optimizer_steps", "{:,.0f}"),
    ("shapes", "shapes", "{:,.0f}"),
    ("mixing", "mixing", "{}"),
    ("idle", "idle_share", "{:.2%}"),
    ("epoch s", "predicted_seconds", "{:,.2f}"),
]


def within(share: float, error: float) -> str:
    """A share and its standard error in percent, with no more digits than the error allows."""
    place = -math.floor(math.log10(100 * error)) if error > 0 else 1
    place = max(-1, min(place, 3))
    shown = f"{round(100 * share, place):.{max(place, 0)}f}"
    return f"{shown} ± {round(100 * error, place):.{max(place, 0)}f} %"


def comparison(comparison: Comparison) -> str:
    """The table of a comparison."""
    rows = comparison.rows
    settings = comparison.settings
    several = settings["world_size"] > 1
    shown = [
        column
        for column in COLUMNS
        if any(row.get(column[1]) is not None for row in rows)
        and (several or column[1] not in ("idle_share", "optimizer_steps"))
    ]
    head = "".join(f"<th>{name}</th>" for name, _, _ in shown)

    def cell(row: dict[str, Any], key: str, form: str) -> str:
        value = row.get(key)
        if value is not None and key == "mixing":
            value = within(value, row["mixing_error"])
        return f"<td>{escape('–' if value is None else form.format(value))}</td>"

    cells = ("".join(cell(row, key, form) for _, key, form in shown) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in cells)
    caption = f"budget {settings['budget']}, shapes {settings['shapes']}, {settings['epochs']} epochs"
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
