"""What can be asked for. Alone, it says whether that is right, before anything is installed."""

from __future__ import annotations

import argparse
from pathlib import Path

from systems import SYSTEMS, System

EXAMPLES = ["speech", "documents", "bimodal"]
SIZES = [10_000, 100_000, 1_000_000]
ABOUT = "Compares lengthwise with its peers on the same lengths, in one run."
SEQUENCES = "how many sequences the examples have; may be repeated (10000, 100000, 1000000)"
BATCH = "sequences in a batch; the padded budget is as many of mean length (32)"
# So that there are steps enough for eight ranks.
LEAST = 1000


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="benches/peers/run", description=ABOUT)
    add = parser.add_argument
    add("input", nargs="?", help="a file that `lengthwise` reads; without it, the examples")
    add("--column", help="the column or field of the input")
    add("--set", action="append", choices=EXAMPLES, help="only this example; may be repeated")
    add("--sequences", type=int, action="append", metavar="N", help=SEQUENCES)
    add("--only", metavar="NAMES", help="only these systems, with commas; a beginning is enough")
    add("--batch", type=int, default=32, metavar="B", help=BATCH)
    add("--rounds", type=int, default=9, help="at most; slow systems take at least two (9)")
    add("--seconds", type=float, default=20, help="how long the rounds of one row may take (20)")
    add("--limit", type=float, default=600, help="seconds after which a system is given up (600)")
    add("--quick", action="store_true", help="10,000 sequences and two rounds")
    add("--out", type=Path, help="a folder for table.md, raw.jsonl and figure.svg")
    given = parser.parse_args()
    if given.input and (given.set or given.sequences):
        parser.error("--set and --sequences are for the examples, and an input was given")
    if given.batch < 2 or given.rounds < 2:
        parser.error("--batch and --rounds must be at least 2")
    if given.sequences and min(given.sequences) < LEAST:
        parser.error(f"--sequences must be at least {LEAST}, and {min(given.sequences)} was given")
    if given.input and not Path(given.input).exists():
        parser.error(f"there is no {given.input}")
    given.systems = chosen(parser, given.only)
    if given.quick:
        given.rounds, given.sequences = 2, given.sequences or [10_000]
    return given


def chosen(parser: argparse.ArgumentParser, only: str | None) -> list[System]:
    if only is None:
        return SYSTEMS
    wanted = [name.strip() for name in only.split(",")]
    for name in wanted:
        if not any(system.name.startswith(name) for system in SYSTEMS):
            names = ", ".join(system.name for system in SYSTEMS)
            parser.error(f"no system begins with {name!r}: there are {names}")
    return [s for s in SYSTEMS if any(s.name.startswith(name) for name in wanted)]


if __name__ == "__main__":
    arguments()
