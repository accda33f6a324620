"""lengthwise and its peers on the same lengths, in one run: started by `run`."""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import lengthwise as lw
import numpy as np
from arguments import EXAMPLES, LEAST, SIZES, arguments
from judge import Batches, judge
from match import EPOCHS, Matches, limited
from process import Failed, Process
from sets import example, limits
from show import show
from systems import STANDING, System

class Run:
    """Everything that a run keeps."""

    def __init__(self, given: argparse.Namespace, pythons: dict[str, str], folder: Path) -> None:
        self.given, self.pythons, self.folder = given, pythons, folder
        self.rows: list[dict[str, Any]] = []
        self.machine = f"{datetime.date.today().isoformat()}, {machine()}"

    def data(self) -> Any:
        """The name and the lengths of every set."""
        if self.given.input:
            lengths = lw.read_lengths(self.given.input, column=self.given.column)
            if len(lengths) < LEAST:
                sys.exit(f"error: {self.given.input} has {len(lengths)} sequences, and {LEAST} are needed")
            yield Path(self.given.input).name, lengths
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
                    self.standing(about, kind, {**settings, **limited(kind, of[kind])}, lengths, of)
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
            self.kept(about, system.kind, {"name": system.name, "left_out": system.why}, [])
            return
        if not peer["python"]:
            self.kept(about, system.kind, {"name": system.name, "left_out": "could not be installed"}, [])
            return
        with self.started(peer) as process:
            row = {"name": system.name}
            try:
                self.begun(process, row, peer, lengths, system.kind, of)
            except Failed as failure:
                self.kept(about, system.kind, {"name": system.name, "left_out": str(failure)}, [])
                return
            found = matches.for_peer(row)
            all_ours = [self.ours(settings, lists=system.lists) for _, settings in found]
            our_rows = [
                {"name": "lengthwise", "by": by, "settings": settings} for by, settings in found
            ]
            with ExitStack() as stack:
                timed = [(process, row)]
                for ours, our_row in zip(all_ours, our_rows):
                    our_process = stack.enter_context(self.started(ours))
                    self.begun(our_process, our_row, ours, lengths, system.kind, of)
                    timed.append((our_process, our_row))
                try:
                    self.timed(timed)
                except Failed as failure:
                    row["left_out"] = str(failure)
        self.kept(about, system.kind, row, our_rows)

    def begun(self, process: Process, row: Any, system: Any, lengths: Any, kind: str, of: Any) -> None:
        """Prepares, plans once, and judges."""
        row.update(process.ask("prepare", **self.preparation(system, of)))
        row["first"] = process.ask("plan", epoch=0)
        row.update(self.quality(process, lengths, kind, of, ours="settings" in row))

    def standing(self, about: Any, kind: str, settings: Any, lengths: np.ndarray, of: Any) -> None:
        """A row of ours that stands by itself."""
        system = self.ours(settings, lists=False)
        say(f"{about['set']}, {len(lengths):,} sequences: lengthwise {settings}")
        row = {"name": "lengthwise", "settings": settings}
        with self.started(system) as process:
            self.begun(process, row, system, lengths, kind, of)
            self.timed([(process, row)])
        self.kept(about, kind, row, [])

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

    def quality(
        self, process: Process, lengths: np.ndarray, kind: str, of: Any, *, ours: bool
    ) -> dict[str, Any]:
        epochs = []
        for epoch in range(EPOCHS):
            to = str(self.folder / f"epoch-{epoch}")
            epochs.append(loaded(to, process.ask("save", epoch=epoch, to=to), kind))
        to = str(self.folder / "ranks")

        def judged(**how: str) -> dict[str, Any]:
            dealt = process.ask("ranks", epoch=0, to=to, how=how)
            ranks = loaded(to, dealt, kind) if dealt["own"] else None
            return judge(epochs, lengths, kind=kind, limit=of[kind], ranks=ranks)

        found = judged()
        if ours:
            found["idle_aligned"] = judged(steps="aligned")["idle"]
        return found

    def ours(self, settings: dict[str, str], lists: bool) -> dict[str, Any]:
        return {
            "name": "lengthwise",
            "adapter": "ours",
            "system": "lengthwise",
            "python": self.pythons["ours"],
            "options": {"settings": settings, "lists": lists},
        }

    def started(self, system: dict[str, Any]) -> Process:
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

    def kept(self, about: Any, kind: str, row: dict[str, Any], ours: list[dict[str, Any]]) -> None:
        if "left_out" in row:
            say(f"  left out: {row['left_out']}")
        entry = {**about, "kind": kind, "row": row, "ours": ours}
        self.rows.append({**entry, "machine": self.machine})
        if self.given.out:
            with (self.given.out / "raw.jsonl").open("a") as raw:
                raw.write(json.dumps(self.rows[-1]) + "\n")


def loaded(to: str, answer: dict[str, Any], kind: str) -> Batches:
    # A row that sequences share is not padded; the judge knows its capacity.
    padded = answer["padded_to"] and kind != "packed"
    names = ["indices", "ends", *(["padded_to"] if padded else [])]
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
    if "PEERS_PYTHONS" not in os.environ:
        sys.exit("error: this is started by `run`, which knows whose Python runs what")
    pythons = json.loads(os.environ["PEERS_PYTHONS"])
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "raw.jsonl").write_text("")
    with tempfile.TemporaryDirectory() as folder:
        run = Run(given, pythons, Path(folder))
        try:
            run.all()
        except (lw.LengthwiseError, OSError, Failed) as error:
            sys.exit(f"error: {error}")
    show(run.rows, given.out)


if __name__ == "__main__":
    main()
