"""Tables and figure of what was measured: `python3 show.py RAW... --out DIR` makes them again."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from figure import figure
from table import tables


def show(rows: list[dict[str, Any]], out: Path | None) -> None:
    """Prints the tables, and writes them and the figure to a folder if there is one."""
    text = tables(rows)
    print(text)
    if out:
        (out / "table.md").write_text(text)
        (out / "figure.svg").write_text(figure(rows))
        print(f"wrote {out}/table.md and figure.svg", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("raw", nargs="+", type=Path, help="raw.jsonl of a run; several are one")
    parser.add_argument("--out", type=Path, help="a folder for table.md and figure.svg")
    given = parser.parse_args()
    rows = []
    for path in given.raw:
        try:
            rows += [json.loads(line) for line in path.read_text().splitlines()]
        except (OSError, ValueError) as error:
            sys.exit(f"error: {path} is not what a run wrote: {error}")
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
    show(rows, given.out)


if __name__ == "__main__":
    main()
