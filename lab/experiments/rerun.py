"""Trains one cell of each table of losses and scores again, and compares it with what was kept. As many run at a time as
half of the processor's cores.

python rerun.py --translation tokens.npz --dictionary tokens.npz --treebank tagging_ewt --digits spoken_digits --pen pen_omniglot
python rerun.py --generated
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Cell:
    """A run of an experiment with one seed, and what it was measured by."""

    table: str
    #: The argument that names its data, or `generated`, or `cuda` for generated data on a GPU.
    data: str
    #: An experiment of the laboratory, or a file beside its model in PyTorch.
    experiment: str
    run: str
    measure: str
    kept: str
    seed: int = 1
    #: More arguments, such as the device.
    more: tuple[str, ...] = ()

    def command(self, lab: str, data: str | bool, out: Path) -> list[str]:
        """What trains it."""
        chosen = [*self.more, "--only", self.run, "--seeds", str(self.seed), "--out", str(out), "--quiet"]
        if isinstance(data, str):
            chosen += ["--data", data]
        if self.experiment.endswith(".toml"):
            return [sys.executable, "-m", "lengthwise.lab", "run", str(HERE / self.experiment), *chosen]
        # The kept results are those of one thread; the number of threads changes no result.
        return [lab, "run", self.experiment, "--device", "cuda" if self.data == "cuda" else "cpu", *chosen]


CELLS = (
    Cell("translation", "translation", "translation/translation.toml", "packed rows", "BLEU 2016", "translation/results/2026-11-18-h200.jsonl"),
    Cell("dictionary", "dictionary", "dictionary/dictionary.toml", "packed", "loss", "dictionary/results/2026-11-18-h200.jsonl"),
    Cell("dictionary, rates", "dictionary", "dictionary/rates.toml", "packed, rate 1.2e-3", "loss", "dictionary/results/2026-11-18-h200-rates.jsonl"),
    Cell("dictionary, steps", "dictionary", "dictionary/steps.toml", "ladder 16, 8 stratified", "loss", "dictionary/results/2026-11-18-h200-steps.jsonl"),
    Cell("dictionary, equal time", "dictionary", "dictionary/equal-time.toml", "random 32", "loss", "dictionary/results/2026-11-18-h200-equal-time.jsonl"),
    Cell("mixing and order", "treebank", "mixing/tags.toml", "one length: short first", "loss", "mixing/results/2026-11-18-tags.jsonl", more=("--device", "cpu")),
    Cell("mixing, next word", "treebank", "mixing/words.toml", "one length: short first", "loss", "mixing/results/2026-11-18-words.jsonl", more=("--device", "cpu")),
    Cell("sizes of steps", "treebank", "mixing/sizes.toml", "2048 words, rate 2e-2", "loss", "mixing/results/2026-11-18-sizes.jsonl", more=("--device", "cpu")),
    Cell("note 4", "treebank", "note4", "smart", "error", "results/2026-11-18-cpu/note4-web.jsonl"),
    Cell("paper 1, Table 1", "digits", "paper1-table1", "100", "error", "results/2026-11-17-cpu/paper1-table1.jsonl"),
    Cell("paper 1, Table 2, speaker", "digits", "paper1-table2-speaker", "Sorted", "error", "results/2026-11-19-cpu/paper1-table2-speaker.jsonl"),
    Cell("paper 1, Table 2, takes", "digits", "paper1-table2-takes", "Sorted", "error", "results/2026-11-18-cpu/paper1-table2-takes.jsonl"),
    Cell("paper 1, batches of 16, speaker", "digits", "paper1-table2", "Sorted", "error", "results/2026-11-17-cpu/paper1-table2.jsonl"),
    Cell("paper 1, batches of 16, takes", "digits", "paper1-table2-takes-16", "Sorted", "error", "results/2026-11-17-cpu/paper1-table2-takes-16.jsonl"),
    Cell("paper 1, other recordings", "digits", "paper1-table2-others", "Sorted", "error", "results/2026-11-19-cpu/paper1-table2-others.jsonl"),
    Cell("paper 2, Table 2", "digits", "paper2-table2", "SSB-BR", "loss", "results/2026-11-17-cpu/paper2-table2.jsonl"),
    Cell("paper 2, 40 epochs", "digits", "paper2-table2-longer", "SSB-DBS-BR", "loss", "results/2026-11-19-cpu/paper2-table2-longer.jsonl"),
    Cell("paper 3, single digits", "digits", "paper3-fig3-digits", "Q = 3", "error", "results/2026-11-17-cpu/paper3-fig3-digits.jsonl"),
    Cell("paper 3, strings", "digits", "paper3-fig3-strings", "Q = 6", "error", "results/2026-11-19-cpu/paper3-fig3-strings.jsonl"),
    Cell("paper 3, pen strokes", "pen", "paper3-fig3", "Q = 6", "error", "results/2026-11-19-cpu/paper3-fig3-pen.jsonl"),
    Cell("paper 3, Figure 5", "generated", "paper3-fig5", "1 worker", "loss", "results/2026-11-18-cpu/paper3-fig5.jsonl"),
    Cell("paper 3, Figure 5, falling rate", "generated", "paper3-fig5-linear", "1 worker", "loss", "results/2026-11-19-cpu/paper3-fig5-linear.jsonl"),
    Cell("paper 3, workers", "generated", "workers", "serial", "loss", "results/2026-11-19-cpu/workers.jsonl"),
    Cell("note 4, generated documents", "generated", "note4", "smart", "error", "results/2026-11-18-cpu/note4.jsonl"),
    Cell("paper 3, generated handwriting", "cuda", "paper3-fig3", "Q = 3", "error", "results/2026-11-19-h200/paper3-fig3.jsonl", more=("--units", "256")),
)  # fmt: skip


def last(path: Path, cell: Cell) -> float:
    """What was measured after the last epoch of a run."""
    found = None
    for line in path.read_text(encoding="utf-8").splitlines()[1:]:
        epoch = json.loads(line)
        if (epoch["name"], epoch["seed"]) == (cell.run, cell.seed):
            found = epoch["validation"]
    if found is None:
        raise SystemExit(f"error: {path}: there is no run {cell.run!r} with seed {cell.seed}")
    return float({**found, **dict(found["more"])}[cell.measure])


def trained(cell: Cell, command: list[str], out: Path) -> tuple[float, float]:
    """What is measured after a training, and its seconds."""
    start = time.monotonic()
    # If each had a thread for every core, they would wait for each other most of the time.
    threads = {"OMP_NUM_THREADS": "2", "RAYON_NUM_THREADS": "2"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **threads})
    if done.returncode:
        raise SystemExit(f"{done.stderr}error: {cell.table}: the training failed")
    return last(out / "results.jsonl", cell), time.monotonic() - start


def main() -> None:
    parser = argparse.ArgumentParser(description="Train one cell of each table of losses and scores again.")
    for name, text in (
        ("translation", "the tokens.npz of translation/prepare.py"),
        ("dictionary", "the tokens.npz of dictionary/prepare.py"),
        ("treebank", "the folder of tagged sentences"),
        ("digits", "the folder of spoken digits"),
        ("pen", "the folder of pen strokes"),
    ):
        parser.add_argument(f"--{name}", metavar="PATH", help=text)
    parser.add_argument("--generated", action="store_true", help="the experiments on generated data")
    parser.add_argument("--cuda", action="store_true", help="generated data, trained on a GPU")
    parser.add_argument("--lab", default="lengthwise-lab", help="the command of the laboratory [default: lengthwise-lab]")
    args = vars(parser.parse_args())
    cells = [cell for cell in CELLS if args[cell.data]]
    if not cells:
        parser.error("expected data, got none\n\nhint: give --translation, --dictionary, --treebank, --digits, --pen, --generated or --cuda")
    width, named = (max(len(text) for text in texts) for texts in zip(*((cell.table, cell.run) for cell in cells)))
    print(f"{'table':{width}}  {'run':{named}} {'measure':10} {'kept':>10} {'now':>10} {'seconds':>8}")
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(max(1, (os.cpu_count() or 1) // 2)) as pool:
        trainings = []
        for at, cell in enumerate(cells):
            out = Path(folder) / str(at)
            trainings.append(pool.submit(trained, cell, cell.command(args["lab"], args[cell.data], out), out))
        try:
            for cell, training in zip(cells, trainings):
                kept, (now, seconds) = last(HERE / cell.kept, cell), training.result()
                print(f"{cell.table:{width}}  {cell.run:{named}} {cell.measure:10} {kept:10.4f} {now:10.4f} {seconds:8.0f}", flush=True)
        except SystemExit:
            pool.shutdown(cancel_futures=True)
            raise
    print(f"{time.monotonic() - start:.0f} s in all")
    left = [cell.table for cell in CELLS if cell not in cells]
    if left:
        print(f"left out: {', '.join(left)}")


if __name__ == "__main__":
    main()
