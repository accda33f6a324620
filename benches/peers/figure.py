"""Planning speed against padding, one dot for each system, as an SVG that needs nothing else."""

from __future__ import annotations

import html
import math
from typing import Any

from table import best, grouped

WIDTH, PANEL, LEFT, RIGHT, TOP, BOTTOM = 960, 400, 70, 30, 46, 54
PEER, OURS, INK, GREY = "#c2571a", "#1f6fb2", "#222", "#888"
# What of ours has a name; what only matches a peer is a small dot.
NAMED = ("recommended", "blurred 0.02", "blurred 0.02, count", "sorted", "packed")
LEGEND = "orange: peers; blue: lengthwise, small where it is as fresh as one of the peers"
# Padding of nothing has a place too.
LEAST = 0.0001


def figure(rows: list[dict[str, Any]]) -> str:
    """One panel for each set, of the largest number of sequences that it was measured with."""
    panels = []
    for name, entries in grouped(rows, lambda entry: entry["set"]):
        count = max(entry["sequences"] for entry in entries)
        of = dots([entry for entry in entries if entry["sequences"] == count], count)
        if of:
            panels.append((f"{name}, {count:,} sequences", of))
    height = PANEL * len(panels)
    body = [panel(title, of, PANEL * at) for at, (title, of) in enumerate(panels)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" font-family="sans-serif" font-size="12" fill="{INK}">\n'
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>\n' + "".join(body) + "</svg>\n"
    )


def dots(entries: list[dict[str, Any]], count: int) -> list[tuple[str, float, float, bool]]:
    """Name, sequences a second and padding of each system; ours once for each setting."""
    found: dict[str, tuple[str, float, float, bool]] = {}
    for entry in entries:
        for row in (entry["row"], *entry["ours"]):
            if "left_out" in row or not row.get("plan"):
                continue
            ours = "settings" in row
            name = label(row, entry["kind"]) if ours else row["name"]
            speed = count / best(row, "plan", "wall")
            # Measured several times, the fastest counts, as it does within a row.
            if name not in found or speed > found[name][1]:
                found[name] = (name, speed, max(LEAST, row["padding"]), ours)
    return list(found.values())


def label(row: dict[str, Any], kind: str) -> str:
    """Our settings, short; batches of a fixed number are another thing than those of a budget."""
    strategy = row["settings"].get("strategy", "recommended").replace("blurred:blur=", "blurred ")
    strategy = strategy.partition(":")[0]
    return f"{strategy}, count" if kind == "sequences" else strategy


def panel(title: str, of: list[tuple[str, float, float, bool]], top: int) -> str:
    speeds = [math.log10(speed) for _, speed, _, _ in of]
    paddings = [math.log10(padding) for _, _, padding, _ in of]
    low, high = math.floor(min(speeds)), math.ceil(max(speeds))
    least, most = math.floor(min(paddings)), min(0, math.ceil(max(paddings)))
    high, most = max(high, low + 1), max(most, least + 1)

    def x(speed: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * (math.log10(speed) - low) / (high - low)

    def y(padding: float) -> float:
        room = PANEL - TOP - BOTTOM
        return top + TOP + room * (most - math.log10(padding)) / (most - least)

    bold = 'font-size="15" font-weight="bold"'
    parts = [f'<text x="{LEFT}" y="{top + 26}" {bold}>{html.escape(title)}</text>']
    parts.append(text(WIDTH - RIGHT, top + 26, LEGEND, "end", GREY))
    for power in range(low, high + 1):
        at = x(10**power)
        parts.append(line(at, top + TOP, at, top + PANEL - BOTTOM))
        parts.append(text(at, top + PANEL - BOTTOM + 18, speed_name(power), "middle", GREY))
    for power in range(least, most + 1):
        at = y(10**power)
        parts.append(line(LEFT, at, WIDTH - RIGHT, at))
        parts.append(text(LEFT - 8, at + 4, f"{10.0 ** (power + 2):g} %", "end", GREY))
    middle = (LEFT + WIDTH - RIGHT) / 2
    faster = "sequences planned in a second: right is faster"
    parts.append(text(middle, top + PANEL - 16, faster, "middle", INK))
    parts.append(
        f'<text transform="translate(16 {top + PANEL / 2}) rotate(-90)" text-anchor="middle">'
        "padding or waste: low is better</text>"
    )
    taken: list[tuple[float, float, float, float]] = [
        (x(speed) - 5, y(padding) - 5, x(speed) + 5, y(padding) + 5) for _, speed, padding, _ in of
    ]
    for name, speed, padding, ours in sorted(of, key=lambda dot: dot[2]):
        colour = OURS if ours else PEER
        cx, cy = x(speed), y(padding)
        named = not ours or name in NAMED
        radius = 4.5 if named else 2.5
        at = f'cx="{cx:.1f}" cy="{cy:.1f}" r="{radius}"'
        parts.append(f'<circle {at} fill="{colour}" fill-opacity="0.8"/>')
        if named:
            parts.append(placed(name, cx, cy, colour, taken, top))
    return "\n".join(parts) + "\n"


def placed(name: str, cx: float, cy: float, colour: str, taken: list[Any], top: int) -> str:
    """A label beside its dot, where nothing is yet; with a line where that is far away."""
    width = 6.2 * len(name)
    tries = [
        (away, side, up)
        for up in (0, -13, 13, -26, 26, -39, 39, -52, 52, -65, 65, -78, 78)
        for side in (1, -1)
        for away in (9, 24)
    ]
    for away, side, up in tries:
        left = cx + away if side > 0 else cx - away - width
        box = (left, cy + up - 7, left + width, cy + up + 6)
        across = LEFT <= box[0] and box[2] <= WIDTH - 2
        inside = top + TOP - 8 <= box[1] and box[3] <= top + PANEL - BOTTOM
        if across and inside and not any(overlap(box, other) for other in taken):
            taken.append(box)
            label = text(left, cy + up + 4, name, "start", colour)
            if abs(up) > 13 or away > 9:
                end = left if side > 0 else left + width
                return line(cx, cy, end, cy + up, colour) + label
            return label
    return text(cx + 8, cy + 4, name, "start", colour)


def overlap(one: Any, other: Any) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def line(x1: float, y1: float, x2: float, y2: float, colour: str = "#ddd") -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="0.7"/>'


def text(x: float, y: float, content: str, anchor: str, colour: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}">{html.escape(content)}</text>'


def speed_name(power: int) -> str:
    for least, name in ((6, "million"), (3, "thousand")):
        if least <= power < least + 3:
            return f"{10 ** (power - least)} {name}"
    return f"{10**power:,}"
