"""Progress while an experiment runs, and a short table at the end."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from ._records import Training, value_of

if TYPE_CHECKING:
    from ._experiment import Experiment
    from ._trial import Trial

#: How often a log says where it is, within an epoch; and how often a line on a terminal changes.
LOG_EVERY, LIVE_EVERY = 10.0, 0.2


class Display:
    """Shows how far an experiment is: one live line on a terminal, log lines elsewhere."""

    def __init__(self, experiment: Experiment, device: str, trials: Sequence[Trial], quiet: bool) -> None:
        self._epochs, self._quiet = [trial.run.epochs for trial in trials], quiet
        self._live = not quiet and sys.stderr.isatty()
        self._done = [min(len(trial.training.epochs), epochs) for trial, epochs in zip(trials, self._epochs, strict=True)]
        self._before = sum(self._done)
        self._begun = self._told = time.monotonic()
        self._say(f"{experiment.title}\non {device}")

    def _say(self, text: str) -> None:
        if not self._quiet:
            print(("\r\x1b[K" if self._live else "") + text, file=sys.stderr, flush=True)

    def step(self, at: int, trial: Trial, taken: int, steps: int, loss: float) -> None:
        """Some steps of an epoch were taken."""
        now = time.monotonic()
        if self._quiet or now - self._told < (LIVE_EVERY if self._live else LOG_EVERY):
            return
        self._told = now
        left = self._left(taken / steps)
        text = f"{trial.label}: epoch {self._done[at] + 1}/{self._epochs[at]}, step {taken}/{steps}, loss {loss:.4f}{left}"
        if self._live:
            print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)
        else:
            self._say(text)

    def _left(self, share: float) -> str:
        """How much time is left, if the rest goes as what was done since this began."""
        done = sum(self._done) - self._before + share
        rest = sum(self._epochs) - sum(self._done) - share
        seconds = (time.monotonic() - self._begun) * rest / done
        return f", {seconds / 60:.0f} min left" if seconds >= 90 else f", {seconds:.0f} s left"

    def epoch(self, at: int, trial: Trial) -> None:
        """An epoch is over."""
        self._done[at] += 1
        self._told = time.monotonic()
        last = trial.training.epochs[-1]
        text = f"{trial.label}: epoch {last['epoch']}/{self._epochs[at]} in {last['seconds']:.1f} s, "
        if "validation" not in last:
            self._say(f"{text}diverged in step {last['steps']}: the loss is not finite. This training ends here.")
            return
        validation = last["validation"]
        text += f"loss {value_of(last['loss']):.4f}, validation {value_of(validation['loss']):.4f}"
        if "error" in validation:
            text += f", error {100 * value_of(validation['error']):.1f} %"
        if last["epoch"] == self._epochs[at]:
            text += "".join(f", {name} {value_of(value):.4g}" for name, value in validation["more"][:4])
        self._say(text)

    def end(self) -> None:
        """Leaves the terminal as it was."""
        if self._live:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def table(trainings: Sequence[Training]) -> str:
    """A row for each run: medians of time, and means over seeds after the last epoch."""
    rows: dict[str, list[Training]] = {}
    for one in trainings:
        rows.setdefault(one.name, []).append(one)
    has_error = any("error" in epoch.get("validation", {}) for one in trainings for epoch in one.epochs)
    lines = [["run", "seeds", "epoch s", "steps", "batches", "padding %", "shapes", "step mix", "validation loss"]]
    lines[0] += ["error %"] if has_error else []
    for name, ones in rows.items():
        all_epochs = [epoch for one in ones for epoch in one.epochs]
        if not all_epochs:
            continue

        def mean(key: str) -> float:
            return fmean(value_of(epoch[key]) for epoch in all_epochs)

        last = [one.epochs[-1].get("validation") for one in ones if one.epochs]

        def final(key: str, factor: float, digits: int) -> str:
            if any(validation is None for validation in last):
                return "diverged"
            values = [value_of(validation[key]) for validation in last if validation and key in validation]
            return f"{factor * fmean(values):.{digits}f}" if values else ""

        line: list[Any] = [
            name,
            len(ones),
            f"{median(epoch['seconds'] for epoch in all_epochs):.2f}",
            f"{mean('steps'):.0f}",
            f"{mean('batches'):.0f}",
            f"{100 * (1 - mean('frames') / mean('cells')):.1f}",
            f"{mean('shapes'):.0f}",
            f"{mean('step_mix'):.2f}",
            final("loss", 1, 4),
        ]
        lines.append([str(cell) for cell in line + ([final("error", 100, 2)] if has_error else [])])
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "".join(
        "  ".join(cell.ljust(width) if not at else cell.rjust(width) for at, (cell, width) in enumerate(zip(line, widths, strict=True))).rstrip() + "\n"
        for line in lines
    )
