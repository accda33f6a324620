"""Rows as Markdown: what was measured, ours over each peer, and in words where a peer wins."""

from __future__ import annotations

from statistics import median
from typing import Any

# Times differ from run to run; differences below a tenth do not count.
TIMES = 0.9
# A page of memory more or less is chance.
MEMORY = 1 << 20


def best(row: dict[str, Any], what: str, clock: str) -> float:
    return min(time[clock] for time in row[what])


def middle(row: dict[str, Any], what: str, clock: str) -> float:
    return median(time[clock] for time in row[what])


def peak(row: dict[str, Any]) -> int:
    """The most memory that planning took above what was there before, inputs included."""
    return max(time["peak"] for time in row["plan"])


def wins(peer: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    """What a peer is better at than ours, as words with numbers."""
    found = []

    def compare(name: str, theirs: float, our: float, below: float, least: float = 0.0) -> None:
        if theirs < our * below and our - theirs > least:
            found.append(f"{name} ({of(theirs, our)} of ours)")

    compare("planning", best(peer, "plan", "wall"), best(ours, "plan", "wall"), TIMES)
    compare("processor time", best(peer, "plan", "cpu"), best(ours, "plan", "cpu"), TIMES)
    compare("another epoch", best(peer, "again", "wall"), best(ours, "again", "wall"), TIMES)
    compare("going on", best(peer, "resume", "wall"), best(ours, "resume", "wall"), TIMES)
    compare("memory", peak(peer), peak(ours), TIMES, MEMORY)
    compare("padding", peer["padding"], ours["padding"], 0.98, 0.0002)
    batches = "batches" if peer["over"] == 0 else "batches, over its budget"
    compare(batches, peer["batches"], ours["batches"], 0.995)
    # Three deviations of a count of so many pairs.
    chance = 3 * (max(ours["met_again"], 1 / ours["pairs"]) / ours["pairs"]) ** 0.5
    compare("pairs that meet again", peer["met_again"], ours["met_again"], 0.98, chance)
    waits = len(found)
    compare("idle ranks", peer["idle"], ours["idle"], 0.98, 0.0005)
    if len(found) > waits and peer["idle"] >= ours["idle_aligned"]:
        found[-1] += ", but not with aligned steps"
    return found


def of(one: float, other: float) -> str:
    return "–" if not other else short(one / other)


def short(number: float) -> str:
    """Three digits, or as many as there are before the point."""
    if number == 0:
        return "0"
    if number >= 100:
        return f"{number:,.0f}"
    digits = 2 if number >= 0.1 else 3
    return f"{number:.{digits}g}" if number < 1 else f"{number:.3g}"


def percent(share: float) -> str:
    """Two digits after the point, or the first two that are not zero; 100 is all, and 0 is none."""
    if 0 < share < 0.001:
        return f"{100 * share:.2g}"
    return f"{100 * share:.2f}" if share < 0.9999 or share == 1 else "99.99"


def mates(number: float | None) -> str:
    return "–" if number is None else "inf" if number == float("inf") else f"{number:,.0f}"


def ours_named(row: dict[str, Any]) -> str:
    settings = row["settings"]
    parts = [settings.get("strategy", "recommended")]
    if settings.get("shapes", "exact") != "exact":
        parts.append(settings["shapes"])
    by = f", {row['by']}" if row.get("by") else ""
    return f"lengthwise `{' '.join(parts)}`{by}"


def grid(head: list[str], rows: list[list[str]], words: int = 1) -> str:
    """A table; the first `words` columns and the last of an uneven name are text."""
    align = ["---"] * words + ["--:"] * (len(head) - words)
    if head[-1] == "peer wins":
        align[-1] = "---"
    lines = [head, align, *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def measured(row: dict[str, Any], count: int, packed: bool, name: str) -> list[str]:
    def per(what: str, how: Any, clock: str) -> str:
        return short(1e9 * how(row, what, clock) / count)

    cells = [
        name,
        per("plan", best, "wall"),
        per("plan", middle, "wall"),
        per("plan", best, "cpu"),
        per("again", best, "wall"),
        short(1e3 * best(row, "resume", "wall")),
        short(peak(row) / count),
        percent(row["padding"]),
        f"{row['batches']:,}",
        percent(row["fill"]),
        percent(row["met_again"]),
        mates(row["effective_mates"]),
        "–" if row["kind"] == "sequences" else percent(row["over"]),
        "–" if row["kind"] == "sequences" else f"{row['worst']:.2f}",
        f"{row['missing']:,} / {row['doubled']:,}",
        percent(row["idle"]),
        row["dealing"]
        + (f" (aligned: {percent(row['idle_aligned'])})" if "idle_aligned" in row else "")
        + (
            f", {row['ranks_missing']:,} / {row['ranks_doubled']:,}"
            if (row["ranks_missing"], row["ranks_doubled"]) != (row["missing"], row["doubled"])
            else ""
        ),
        row["going_on"],
    ]
    if packed:
        cells.insert(12, f"{row['truncated']:,}")
    return cells


def head(packed: bool) -> list[str]:
    columns = [
        "system",
        "ns/seq",
        "median",
        "CPU",
        "next epoch",
        "going on, ms",
        "B/seq",
        "waste %" if packed else "padding %",
        "rows" if packed else "batches",
        "full %",
        "met again %",
        "pool",
        "over %",
        "worst",
        "missing / doubled",
        "idle %",
        "ranks, missing / doubled if other",
        "goes on",
    ]
    if packed:
        columns.insert(12, "truncated")
    return columns


def ratios(peer: dict[str, Any], ours: dict[str, Any]) -> list[str]:
    return [
        peer["name"],
        ours_named(ours),
        of(best(ours, "plan", "wall"), best(peer, "plan", "wall")),
        of(middle(ours, "plan", "wall"), middle(peer, "plan", "wall")),
        of(best(ours, "plan", "cpu"), best(peer, "plan", "cpu")),
        of(best(ours, "again", "wall"), best(peer, "again", "wall")),
        of(best(ours, "resume", "wall"), best(peer, "resume", "wall")),
        of(peak(ours), peak(peer)),
        of(ours["padding"], peer["padding"]),
        of(ours["batches"], peer["batches"]),
        of(ours["met_again"], peer["met_again"]),
        of(ours["idle"], peer["idle"]),
        "; ".join(wins(peer, ours)) or "nothing",
    ]


RATIOS = [
    "peer",
    "ours",
    "planning",
    "median",
    "CPU",
    "next epoch",
    "going on",
    "memory",
    "padding",
    "batches",
    "met again",
    "idle",
    "peer wins",
]

KINDS = {
    "padded": "a padded budget of {:,} cells",
    "sequences": "{} sequences a batch",
    "packed": "rows of {:,}",
}


def tables(rows: list[dict[str, Any]]) -> str:
    """Everything as one page."""
    machines = "; ".join(machine for machine, _ in grouped(rows, lambda entry: entry["machine"]))
    text = [f"# lengthwise and its peers\n\n{machines}.\n"]
    names: dict[str, str] = {}
    for entry in rows:
        if entry["row"].get("version"):
            package = entry["row"].get("package", entry["row"]["name"])
            names.setdefault(package, entry["row"]["version"])
    text.append("Versions: " + ", ".join(f"{name} {version}" for name, version in names.items()) + ".\n")
    for (set_, count), part in grouped(rows, lambda entry: (entry["set"], entry["sequences"])):
        text.append(f"## {set_}, {count:,} sequences\n")
        for kind, some in grouped(part, lambda entry: entry["kind"]):
            text.append(section(kind, some, count))
    return "\n".join(text)


def section(kind: str, entries: list[dict[str, Any]], count: int) -> str:
    packed = kind == "packed"
    text = [f"### With {KINDS[kind].format(entries[0]['limits'][kind])}\n"]
    lines, against, absent = [], [], []
    for entry in entries:
        peer = entry["row"]
        if "left_out" in peer:
            absent.append(f"- {peer['name']}: {peer['left_out']}")
            continue
        peer["kind"] = kind
        name = ours_named(peer) if "settings" in peer else f"**{peer['name']}**"
        lines.append(measured(peer, count, packed, name))
        for ours in entry["ours"]:
            ours["kind"] = kind
            lines.append(measured(ours, count, packed, ours_named(ours)))
            against.append(ratios(peer, ours))
    if lines:
        text.append(grid(head(packed), lines))
    if against:
        text.append("Ours ÷ peer; below 1 ours is less:\n")
        text.append(grid(RATIOS, against, words=2))
    if absent:
        text.append("Not measured:\n\n" + "\n".join(absent) + "\n")
    return "\n".join(text)


def grouped(rows: list[Any], key: Any) -> list[tuple[Any, list[Any]]]:
    """Rows with equal keys, in the order in which keys come first."""
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())
