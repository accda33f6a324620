"""lengthwise and its peers on the same lengths, in one run: started by `run`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from pathlib import Path
from typing import Any

import lengthwise as lw
import numpy as np
from arguments import EXAMPLES, SIZES, arguments
from figure import figure
from judge import Batches, judge
from match import EPOCHS, Matches, limited
from process import Failed, Process
from sets import example, limits
from systems import STANDING, System
from table import tables

class Run:
    """Everything that a run keeps."""

    def __init__(self, given: argparse.Namespace, pythons: dict[str, str], folder: Path) -> None:
        self.given, self.pythons, self.folder = given, pythons, folder
        self.rows: list[dict[str, Any]] = []

    def data(self) -> Any:
        """The name and the lengths of every set."""
        if self.given.input:
            yield Path(self.given.input).name, lw.read_lengths(self.given.input, column=self.given.column)
            return
        for count in self.given.sequences or SIZES:
            for name in self.given.set or EXAMPLES:
                yield name, example(name, count)

    def all(self) -> None:
        for name, lengths in self.data():
            lengths = np.ascontiguousarray(lengths, dtype=np.int64)
            np.save(self.folder / "lengths.npy", lengths)
            of = limits(lengths, self.given.batch)
            about = {"set": name, "sequences": len(lengths), "limits": of}
            matches = {kind: Matches(lengths, kind, limit) for kind, limit in of.items()}
            kinds = {system.kind for system in self.given.systems}
            for kind in sorted(kinds):
                for settings in STANDING[kind]:
                    ours = self.ours({**settings, **limited(kind, of[kind])}, lists=False)
                    self.kept(about, kind, self.measured([ours], lengths, kind, of)[0], None)
            for system in self.given.systems:
                self.pair(about, system, lengths, of, matches[system.kind])

    def pair(self, about: Any, system: System, lengths: np.ndarray, of: Any, matches: Matches) -> None:
        """A peer, and ours that is as fresh, in turns."""
        peer = {
            "name": system.name,
            "adapter": system.adapter,
            "system": system.system,
            "python": self.pythons[system.environment],
            "options": system.options,
        }
        say(f"{about['set']}, {len(lengths):,} sequences: {system.name}")
        if system.largest is not None and len(lengths) > system.largest:
            self.kept(about, system.kind, {"name": system.name, "left_out": system.why}, None)
            return
        if not peer["python"]:
            self.kept(about, system.kind, {"name": system.name, "left_out": "could not be installed"}, None)
            return
        with self.started(peer, of) as process:
            row = {"name": system.name}
            try:
                row.update(process.ask("prepare", **self.preparation(peer, of)))
                row["first"] = process.ask("plan", epoch=0)
                row.update(self.quality(process, lengths, system.kind, of))
            except Failed as failure:
                self.kept(about, system.kind, {"name": system.name, "left_out": str(failure)}, None)
                return
            ours = self.ours(matches.for_peer(row["met_again"]), lists=system.lists)
            with self.started(ours, of) as our_process:
                our_row = {"name": "lengthwise", "settings": ours["options"]["settings"]}
                our_row.update(our_process.ask("prepare", **self.preparation(ours, of)))
                our_row["first"] = our_process.ask("plan", epoch=0)
                our_row.update(self.quality(our_process, lengths, system.kind, of))
                try:
                    self.timed([(process, row), (our_process, our_row)])
                except Failed as failure:
                    row["left_out"] = str(failure)
        self.kept(about, system.kind, row, our_row)

    def measured(self, systems: list[Any], lengths: np.ndarray, kind: str, of: Any) -> list[Any]:
        """Rows of ours that stand by themselves."""
        rows = []
        for system in systems:
            say(f"{len(lengths):,} sequences: {system['name']} {system['options']['settings']}")
            with self.started(system, of) as process:
                row = {"name": "lengthwise", "settings": system["options"]["settings"]}
                row.update(process.ask("prepare", **self.preparation(system, of)))
                row["first"] = process.ask("plan", epoch=0)
                row.update(self.quality(process, lengths, kind, of))
                self.timed([(process, row)])
            rows.append(row)
        return rows

    def timed(self, pairs: list[tuple[Process, dict[str, Any]]]) -> None:
        """Rounds in turns: each plans the same epoch, one after the other."""
        slowest = max(2 * row["first"]["wall"] for _, row in pairs)
        rounds = int(min(self.given.rounds, max(2, self.given.seconds / max(slowest, 1e-9))))
        for _, row in pairs:
            row.update({"plan": [], "again": [], "resume": []})
        for epoch in range(1, rounds + 1):
            for process, row in pairs:
                row["plan"].append(process.ask("plan", epoch=epoch))
            for process, row in pairs:
                row["again"].append(process.ask("again", epoch=epoch))
        # The first makes the state that the others go on from.
        for turn in range(min(rounds, 4)):
            for process, row in pairs:
                time = process.ask("resume", epoch=0, batches=row["batches"] // 2)
                if turn:
                    row["resume"].append(time)

    def quality(self, process: Process, lengths: np.ndarray, kind: str, of: Any) -> dict[str, Any]:
        epochs = []
        for epoch in range(EPOCHS):
            to = str(self.folder / f"epoch-{epoch}")
            epochs.append(loaded(to, process.ask("save", epoch=epoch, to=to)))
        to = str(self.folder / "ranks")
        dealt = process.ask("ranks", epoch=0, to=to)
        ranks = loaded(to, dealt) if dealt["own"] else None
        if kind == "packed":
            # A row is as long as it is; the judge counts it as one of full capacity.
            for batches in [*epochs, *([ranks] if ranks else [])]:
                batches.padded_to = None
        return judge(epochs, lengths, kind=kind, limit=of[kind], ranks=ranks)

    def ours(self, settings: dict[str, str], lists: bool) -> dict[str, Any]:
        return {
            "name": "lengthwise",
            "adapter": "ours",
            "system": "lengthwise",
            "python": self.pythons["ours"],
            "options": {"settings": settings, "lists": lists},
        }

    def started(self, system: dict[str, Any], of: Any) -> Process:
        log = self.folder / f"{system['name']}.log"
        return Process(system["python"], system["adapter"], log, self.given.limit)

    def preparation(self, system: dict[str, Any], of: dict[str, int]) -> dict[str, Any]:
        return {
            "system": system["system"],
            "lengths": str(self.folder / "lengths.npy"),
            "settings": {
                "sequences": of["sequences"],
                "padded": of["padded"],
                "capacity": of["packed"],
                "options": system["options"],
            },
        }

    def kept(self, about: Any, kind: str, row: dict[str, Any], ours: dict[str, Any] | None) -> None:
        if "left_out" in row:
            say(f"  left out: {row['left_out']}")
        self.rows.append({**about, "kind": kind, "row": row, "ours": ours})
        if self.given.out:
            with (self.given.out / "raw.jsonl").open("a") as raw:
                raw.write(json.dumps(self.rows[-1]) + "\n")


def loaded(to: str, answer: dict[str, Any]) -> Batches:
    names = ["indices", "ends", *(["padded_to"] if answer["padded_to"] else [])]
    return Batches(*(np.load(f"{to}.{name}.npy") for name in names))


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def machine() -> str:
    names = [
        line.split(":")[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    name = names[0] if names else platform.machine()
    return f"{os.cpu_count()} cores of {name}, Python {platform.python_version()}, NumPy {np.__version__}"


def main() -> None:
    given = arguments()
    pythons = json.loads(os.environ["PEERS_PYTHONS"])
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "raw.jsonl").write_text("")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(given, pythons, Path(folder))
        try:
            run.all()
        except (lw.LengthwiseError, OSError) as error:
            sys.exit(f"error: {error}")
    when = datetime.date.today().isoformat()
    text = tables(run.rows, f"{when}; {machine()}.")
    print(text)
    if given.out:
        (given.out / "table.md").write_text(text)
        (given.out / "figure.svg").write_text(figure(run.rows))
        say(f"wrote {given.out}/table.md, raw.jsonl and figure.svg")


if __name__ == "__main__":
    main()
