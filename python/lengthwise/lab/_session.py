"""A whole experiment: all its trainings, kept on disk as they go."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

from ..errors import FileError, SettingError
from . import _experiment, _records
from ._batches import Way, check_texts, lengths_of
from ._display import Display

if TYPE_CHECKING:
    from ._trial import Trial

#: Where in its folder an experiment keeps what was measured, and where the laboratory writes the page.
RESULTS, PAGE = "results.jsonl", "report.html"


@contextlib.contextmanager
def searched(folder: Path) -> Iterator[None]:
    """Inside, modules are also found in the folder of the experiment, and in the current one."""
    added = [str(folder.resolve()), str(Path.cwd())]
    sys.path[:0] = added
    try:
        yield
    finally:
        for path in added:
            sys.path.remove(path)


def imported(name: str, folder: Path, where: str, default: str | None = None) -> Callable[..., Any]:
    """The function of ``module:function``: from the folder of the experiment, from the current one, or installed."""
    module_name, _, function = name.partition(":")
    function = function or (default or "")
    if not module_name or not function:
        raise SettingError(f"{where}: expected a function as module:function, got {name!r}", hint="such as my_module:build")
    if module_name.endswith(".py") or "/" in module_name:
        raise SettingError(
            f"{where}: expected the name of a module, got the path {module_name!r}",
            hint=f"give {Path(module_name).stem}:{function}; its folder, or that of the TOML file, is searched",
        )
    try:
        with searched(folder):
            module = importlib.import_module(module_name)
            own = [path for path in (folder, Path.cwd()) if (path / f"{module_name}.py").exists()]
            if own and Path(getattr(module, "__file__", None) or "").resolve() != (own[0] / f"{module_name}.py").resolve():
                # Another experiment of this process has a module of this name.
                del sys.modules[module_name]
                module = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise
        raise SettingError(
            f"{where}: there is no module {module_name!r}",
            hint="start the command in its folder, put it beside the TOML file, or install it",
        ) from None
    found = getattr(module, function, None)
    if not callable(found):
        raise SettingError(
            f"{where}: the module {module_name!r} has no function {function!r}", hint="give another name after the colon"
        )
    result: Callable[..., Any] = found
    return result


class Prepared:
    """An experiment with its tasks and its ways to batch: what can be known without training."""

    def __init__(self, experiment: _experiment.Experiment, model: str | Callable[..., Any] | None, data: str | None, device: str) -> None:
        self.experiment, self.device = experiment, device
        folder, file = Path(experiment.file).parent, experiment.file
        name = model if model is not None else experiment.build
        if name is None:
            raise SettingError(
                f"{file}: there is no model",
                hint='name the function that makes it: `--model my_module:build`, or build = "my_module:build" in [model]',
            )
        where = file if model is None else "--model"
        build = imported(name, folder, where, "build") if isinstance(name, str) else name
        table = dict(experiment.task if data is None else experiment.data)
        path = table.pop("path", None)
        self.data = data if data is not None or path is None else str(folder / path)
        # What tells the task from others. Data that were moved are the same, as far as can be known.
        self.source = {
            "build": f"{getattr(build, '__module__', '')}:{getattr(build, '__qualname__', type(build).__name__)}",
            "data": None if self.data is None else Path(self.data).name,
            "task": table,
        }
        self._tasks: dict[str, Any] = {}
        self.tasks: list[Any] = []
        self.ways: list[Way] = []
        for run in experiment.runs:
            settings = {
                **run.model,
                "data": self.data,
                "device": device,
                "epochs": run.epochs,
                "amp": run.learning.amp,
            }
            if table:
                settings["task"] = table
            key = json.dumps(settings, sort_keys=True, default=str)
            if key not in self._tasks:
                with searched(folder):
                    self._tasks[key] = build(settings)
            task = self._tasks[key]
            named = str(name) if isinstance(name, str) else getattr(name, "__name__", "build")
            lengths = lengths_of(task, named)
            check_texts(task, named)
            sampler = None
            if run.sampler is not None:
                sampler = imported(run.sampler, folder, f"{file}: run {run.name!r} sampler")
            self.tasks.append(task)
            self.ways.append(Way(run, lengths, sampler, file))

    def check(self) -> str:
        """Plans one epoch of every run, and says what it has."""
        experiment, lines = self.experiment, [self.experiment.title, ""]
        lengths = lengths_of(self.tasks[0], "")
        sides = ["", " and "][: lengths.shape[1]]
        each = "".join(
            f"{by}{side.min()} to {side.max()} (mean {side.mean():.1f})" for by, side in zip(sides, lengths.T, strict=True)
        )
        lines += [f"{len(lengths)} sequences, lengths {each}", ""]
        width = max(len(run.name) for run in experiment.runs)
        for run, way in zip(experiment.runs, self.ways, strict=True):
            epoch = way.epoch(0, experiment.seeds[0], as_planned=True)
            lines.append(
                f"{run.name:{width}} {epoch.batches:>6} batches, {len(epoch.steps):>6} optimizer steps, padding "
                f"{100 * epoch.padding_rate:>5.1f} %, {len(epoch.shapes)} shapes, step mix {epoch.step_mix:.2f}  "
                f"({way.describe()})"
            )
            if epoch.sequences != len(lengths):
                lines.append(f"{'':{width}} {epoch.sequences} of {len(lengths)} sequences")
            elif sum(epoch.frames) != way.positions:
                lines.append(f"{'':{width}} {sum(epoch.frames)} positions, and the sequences have {way.positions}")
        return "\n".join(lines) + "\n"


class Outcome(NamedTuple):
    """How a session ended."""

    trainings: list[_records.Training]
    #: Whether all is done.
    finished: bool
    #: Whether anything was trained; if not, all of it was kept from before.
    trained: bool
    #: How many other trainings are kept in the folder, which the results leave out.
    others: int = 0


class Session:
    """All trainings of an experiment, and the folder where they are kept."""

    def __init__(self, prepared: Prepared, folder: Path) -> None:
        self._prepared, self._folder = prepared, folder
        self._checkpoints = folder / "checkpoints"

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Makes the folder, and keeps others out of it."""
        try:
            self._checkpoints.mkdir(parents=True, exist_ok=True)
            file = (self._checkpoints / ".lock").open("w")
        except OSError as error:
            raise FileError(f"{self._folder}: {error.strerror or error}", hint="name another folder with `--out`") from None
        with file:
            _lock(file, self._folder)
            # What others began to write and did not end, as they were killed.
            for unfinished in [*self._folder.glob(".lengthwise-*"), *self._checkpoints.glob(".lengthwise-*")]:
                unfinished.unlink()
            yield

    def _forget(self) -> None:
        for path in [self._folder / RESULTS, self._folder / PAGE, *self._kept()]:
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise FileError(f"{path}: {error.strerror or error}", hint="delete it yourself") from None

    def run(self, fresh: bool, quiet: bool, stop: Callable[[], bool]) -> Outcome:
        """Trains, until all is done or ``stop`` says so."""
        import torch

        from ._trial import Stopped, Trial

        prepared, experiment = self._prepared, self._prepared.experiment
        device = torch.device(prepared.device)
        # A way that cannot be planned is found before anything is deleted or trained.
        for way in prepared.ways:
            way.epoch(0, experiment.seeds[0])
        with self._locked():
            if fresh:
                self._forget()
            trials = [
                Trial(experiment, run, seed, task, prepared.source, way, device, self._checkpoints)
                for seed in experiment.seeds
                for run, task, way in zip(experiment.runs, prepared.tasks, prepared.ways, strict=True)
            ]
            display = Display(experiment, _name_of(device), trials, quiet)
            try:
                trained = False
                for at, trial in self._turns(trials):
                    trained = True
                    try:
                        with _experiment.within(f"{experiment.file}: {trial.label}"):
                            trial.train(stop, lambda *told: display.step(at, trial, *told))
                    except Stopped:
                        return Outcome(_measured(trials), False, True)
                    display.epoch(at, trial)
                    if trial.finished:
                        trial.release()
                    self._write(trials, device)
                self._write(trials, device)
            finally:
                display.end()
        return Outcome(_measured(trials), True, trained, len(set(self._kept()) - {trial.path for trial in trials}))

    def _kept(self) -> list[Path]:
        """The checkpoints of all trainings in the folder."""
        return [path for path in self._checkpoints.glob("*-seed-*.pt") if path.name[0].isdigit()]

    def _turns(self, trials: list[Trial]) -> Iterator[tuple[int, Trial]]:
        """An epoch of each in turn, so that a machine that slows down does so for all; or one after another."""
        experiment = self._prepared.experiment
        if not experiment.turns:
            for at, trial in enumerate(trials):
                while not trial.finished:
                    yield at, trial
            return
        for epoch in range(max(run.epochs for run in experiment.runs)):
            for at, trial in enumerate(trials):
                if not trial.finished and len(trial.training.epochs) <= epoch:
                    yield at, trial

    def _write(self, trials: list[Trial], device: Any) -> None:
        from ._checkpoint import write

        experiment, tasks = self._prepared.experiment, self._prepared.tasks
        notes = list(experiment.notes)
        if any(run.is_joined for run in experiment.runs):
            # Without names, so that parts of an experiment say it once when they are joined.
            notes.append(
                'Times, padding and shapes are those of packed rows where settings say "each step as one packed row".'
            )
        for trial in trials:
            one = trial.training
            if one.ended == "patience" and len(one.epochs) <= trial.run.epochs:
                notes.append(
                    f"{trial.label}: stopped after epoch {len(one.epochs)}, because its validation loss no longer fell."
                )
        told = [getattr(task, "about", {}) for task in tasks]
        how = [run.learning for run in experiment.runs]
        own = ["" if getattr(task, "optimizer", None) is None else "the task's optimizer" for task in tasks]
        learning = [
            _shared([by or one.optimizer for by, one in zip(own, how, strict=True)], "optimizers differ by run"),
            _shared(["" if one.rate is None else f"rate {one.rate}" for one in how], "rates differ by run"),
            _shared([one.schedule for one in how], "schedules differ by run"),
            experiment.epochs,
        ]
        about = {
            **{str(key): _shared([str(one.get(key)) for one in told]) for one in told for key in one},
            "sequences": _shared([f"{len(task.lengths)} for training" for task in tasks]),
            "learning": ", ".join(filter(None, learning)),
            "engine": _name_of(device),
        }
        text = _records.to_jsonl(
            experiment.title,
            about,
            getattr(tasks[0], "error", "error"),
            _measured(trials),
            notes,
            experiment.pairs,
            getattr(tasks[0], "higher", ()),
        )
        write(self._folder / RESULTS, text.encode())


def _measured(trials: Sequence[Trial]) -> list[_records.Training]:
    """What was measured, up to where this experiment goes: a training that was kept may be further."""
    return [replace(trial.training, epochs=trial.training.epochs[: trial.run.epochs]) for trial in trials]


def _shared(texts: Sequence[str], otherwise: str = "differs by run") -> str:
    """What is said of all runs, if it is the same."""
    return texts[0] if len(set(texts)) == 1 else otherwise


def _name_of(device: Any) -> str:
    import torch

    if device.type == "cuda":
        return f"{torch.cuda.get_device_name(device)}, PyTorch {torch.__version__}"
    return f"{device.type}, {torch.get_num_threads()} threads, PyTorch {torch.__version__}"


def _lock(file: TextIO, folder: Path) -> None:
    try:
        import fcntl
    except ModuleNotFoundError:
        return  # A system without these locks keeps no other run out.
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise FileError(
            f"{folder}: another run is at work in this folder", hint="wait until it ends, or name another folder with `--out`"
        ) from None
    except OSError:
        pass


@contextlib.contextmanager
def on_signals() -> Iterator[Callable[[], bool]]:
    """Inside, the first Ctrl-C asks to stop after the step, and the second ends at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = threading.Event()

    def hear(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {number: signal.signal(number, hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def prepared(
    experiment: str | os.PathLike[str],
    model: str | Callable[..., Any] | None,
    *,
    only: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    data: str | os.PathLike[str] | None = None,
    device: str = "auto",
) -> Prepared:
    """Reads an experiment, makes its tasks, and decides how to batch."""
    import torch

    chosen = _experiment.read(os.fspath(experiment)).chosen(only, seeds, epochs)
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros((), device=device)
    except (AssertionError, NotImplementedError, RuntimeError):
        raise SettingError(
            f"expected a device that PyTorch finds, got {device!r}", hint='give "cpu", or "cuda" where there is a GPU'
        ) from None
    return Prepared(chosen, model, None if data is None else os.fspath(data), device)


def folder_of(experiment: str | os.PathLike[str], data: str | os.PathLike[str] | None) -> Path:
    """Where results are kept if no folder is named."""
    of = "" if data is None else f"-{Path(data).name}"
    return Path("runs") / f"{Path(experiment).stem}{of}"


def run(
    experiment: str | os.PathLike[str],
    model: str | Callable[..., Any] | None = None,
    *,
    only: Sequence[str] | None = None,
    seeds: Sequence[int] | None = None,
    epochs: int | None = None,
    out: str | os.PathLike[str] | None = None,
    data: str | os.PathLike[str] | None = None,
    device: str = "auto",
    fresh: bool = False,
    quiet: bool = False,
) -> list[dict[str, Any]]:
    """Trains a model under the ways to batch of an experiment, and returns the lines of its ``results.jsonl``.

    The first line says what was trained, and each other one has an epoch of a training. Trainings that are complete in
    the folder are not repeated, and one that was interrupted continues after its last whole epoch. Ctrl-C raises
    :class:`KeyboardInterrupt` after the optimizer step.

    Args:
        experiment: The TOML file of the experiment.
        model: The function that makes the :class:`Task`, or its name, such as "my_module:build". By default, it is
            ``build`` in ``[model]`` of the file.
        only: The names of the runs to train. By default, all.
        seeds: The seeds of parameters and plans. By default, those of the file.
        epochs: The number of epochs of all runs. By default, those of the file.
        out: The folder of results and checkpoints. By default, it is ``runs/EXPERIMENT``, or ``runs/EXPERIMENT-DATA``
            with ``data``.
        data: The data, which ``build`` gets as ``settings["data"]``. By default, ``path`` in ``[task]`` of the file.
        device: The device: "cpu", "cuda" or another one of PyTorch. The default is "auto": a GPU if there is one.
        fresh: Whether to delete the results and checkpoints in the folder, and train anew. The default is False.
        quiet: Whether to show no progress. The default is False.
    """
    ready = prepared(experiment, model, only=only, seeds=seeds, epochs=epochs, data=data, device=device)
    folder = folder_of(experiment, data) if out is None else Path(out)
    with on_signals() as stop:
        outcome = Session(ready, folder).run(fresh, quiet, stop)
    if not outcome.finished:
        raise KeyboardInterrupt
    return [json.loads(line) for line in (folder / RESULTS).read_text(encoding="utf-8").splitlines()]
