"""Records as JSON lines, as the laboratory writes and reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

#: The version of the lines.
VERSION = 1


@dataclass
class Training:
    """What was measured of one run from one seed."""

    name: str
    settings: str
    seed: int
    #: How many epochs it is to have.
    planned_epochs: int
    epochs: list[dict[str, Any]] = field(default_factory=list)
    #: Why it ended before its last epoch: "patience" or "diverged"; ``None`` if it did not.
    ended: str | None = None
    #: A digest of all that it depends on but the seed.
    digest: str = ""


def number(value: float) -> float | str:
    """A number as JSON has it: NaN and infinities are words."""
    if math.isfinite(value):
        return value
    return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")


def value_of(written: float | str) -> float:
    """What :func:`number` wrote."""
    return float(written)


def to_jsonl(
    title: str,
    about: dict[str, str],
    error: str,
    trainings: Sequence[Training],
    notes: Sequence[str],
    pairs: Sequence[tuple[str, str]],
    higher: Sequence[str],
) -> str:
    """A line that says what was trained and lists the runs, and one for each epoch of each run."""
    head: dict[str, Any] = {
        "version": VERSION,
        "title": title,
        "about": [[key, str(value)] for key, value in about.items()],
        "error": error,
        "runs": [
            {"name": one.name, "settings": one.settings, "seed": one.seed}
            | {"digest": one.digest, "epochs": one.planned_epochs}
            | ({"ended": True} if one.ended == "patience" else {})
            for one in trainings
        ],
        "notes": list(notes),
    }
    if pairs:
        head["pairs"] = [list(pair) for pair in pairs]
    if higher:
        head["higher"] = list(higher)
    lines = [head]
    for at, one in enumerate(trainings):
        lines += [{"run": at, "name": one.name, "seed": one.seed, **epoch} for epoch in one.epochs]
    return "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False) + "\n" for line in lines)
