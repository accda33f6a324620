"""Experiments as files: the TOML files of the laboratory, for a model of yours."""

from __future__ import annotations

import difflib
import importlib.util
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..errors import FileError, LengthwiseError, SettingError

RECOMMENDED = "recommended"
#: As an update: every batch is an optimizer step, or as many as ``accumulate`` says.
EVERY_BATCH = "batch"


@contextmanager
def within(where: str) -> Iterator[None]:
    """Says in errors where they happened."""
    try:
        yield
    except LengthwiseError as error:
        message = str(error.args[0]).partition("\nhint: ")[0]
        if message.startswith(where):
            raise
        raise type(error)(f"{where}: {message}", hint=error.hint, index=error.index) from error


@dataclass(frozen=True)
class Learning:
    """How the model learns: ``[learning]``, with the settings of a run."""

    optimizer: str = "adam"
    #: ``None`` if the file does not say: that of the task's own optimizer, or 0.003.
    rate: float | None = None
    schedule: str = "constant"
    #: The share of the training in which the rate rises.
    warmup: float = 0.0
    #: The share of the rate that is left at the end, for linear and cosine.
    final: float = 0.0
    #: The largest norm of a gradient; 0 for no limit.
    clip: float = 5.0
    #: Stop after so many epochs without a lower validation loss; 0 for never.
    patience: int = 0
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    #: The last epoch is measured with the mean of the parameters after so many last epochs.
    average: int = 1
    #: "bf16", or "none" for float32.
    amp: str = "none"

    def share(self, done: float) -> float:
        """The share of the rate when so much of the training is done."""
        if done < self.warmup:
            return done / self.warmup
        done = (done - self.warmup) / (1 - self.warmup)
        falling = {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[self.schedule]
        return falling if self.schedule == "constant" else self.final + (1 - self.final) * falling

    @property
    def depends_on_epochs(self) -> bool:
        """Whether the first epochs would be others if there were more of them."""
        return self.schedule != "constant" or self.warmup > 0 or self.average > 1


@dataclass(frozen=True)
class Run:
    """One way to batch."""

    name: str
    #: Its place in the file, from 1.
    number: int
    #: Its settings, and those of ``[batches]``.
    batches: dict[str, Any]
    learning: Learning
    #: Its own, or those of the experiment.
    epochs: int
    #: The settings of the model: ``[model]``, and its own.
    model: dict[str, Any]
    #: What it changes in ``[learning]`` and ``[model]``, for people.
    changed: dict[str, Any] = field(default_factory=dict)
    sampler: str | None = None
    options: dict[str, Any] = field(default_factory=dict)
    #: Whether each batch of the sampler is one row.
    packed: bool = False

    @property
    def is_joined(self) -> bool:
        """Whether each step is one packed row."""
        return self.batches.get("layout") == "packed"


@dataclass(frozen=True)
class Experiment:
    """A model is trained under several ways to batch, from several seeds."""

    file: str
    title: str
    seeds: tuple[int, ...]
    runs: tuple[Run, ...]
    #: The function that makes the task, as in ``--model``.
    build: str | None = None
    notes: tuple[str, ...] = ()
    pairs: tuple[tuple[str, str], ...] = ()
    task: dict[str, Any] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)
    #: Whether the trainings take turns, an epoch each.
    turns: bool = True

    @property
    def epochs(self) -> str:
        """How many epochs the runs have, for people."""
        each = sorted({run.epochs for run in self.runs})
        least = f"{each[0]} to " if len(each) > 1 else ""
        return f"{least}{each[-1]} epoch{'s' if each[-1] > 1 else ''}"

    def chosen(
        self, only: Sequence[str] | None = None, seeds: Sequence[int] | None = None, epochs: int | None = None
    ) -> Experiment:
        """With the choices of the command line."""
        names = [run.name for run in self.runs]
        wanted = {name for text in only or () for name in _listed(text, names)}
        changed: dict[str, Any] = {}
        runs = self.runs
        if wanted:
            runs = tuple(run for run in runs if run.name in wanted)
        if seeds:
            changed["seeds"] = tuple(_checked("seeds", list(seeds), SEEDS))
        if epochs is not None:
            _checked("epochs", epochs, FROM_1)
            runs = tuple(replace(run, epochs=epochs) for run in runs)
        return replace(self, runs=runs, **changed)


def _listed(text: str, names: Sequence[str]) -> list[str]:
    """The names in a list with commas, which names may have too."""
    rest, found = text.strip(), []
    while rest:
        begins = [name for name in names if rest == name or rest.startswith(f"{name},")]
        if not begins:
            raise SettingError(f"no run is called {rest.partition(',')[0]!r}", hint="there are " + ", ".join(map(repr, names)))
        found.append(max(begins, key=len))
        rest = rest[len(found[-1]) :].lstrip(",").strip()
    return found


# What a value must be: how it is tested, and what is said if it is not that.
Kind = tuple[Callable[[Any], bool], str]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _one_of(*words: str) -> Kind:
    return lambda value: value in words, "one of " + ", ".join(f'"{word}"' for word in words)


TEXT: Kind = lambda value: isinstance(value, str), "a string"
NAME: Kind = lambda value: isinstance(value, str) and bool(value.strip()), "a string that is not empty"
TABLE: Kind = lambda value: isinstance(value, dict), "a table"
YES: Kind = lambda value: isinstance(value, bool), "true or false"
FROM_0: Kind = lambda value: _is_whole(value) and value >= 0, "a whole number from 0"
FROM_1: Kind = lambda value: _is_whole(value) and value >= 1, "a whole number from 1"
RATE: Kind = lambda value: _is_number(value) and 0 < value <= 3e38, "a number above 0, and at most 3e38"
NOT_BELOW_0: Kind = lambda value: _is_number(value) and value >= 0, "a number from 0"
SHARE: Kind = lambda value: _is_number(value) and 0 <= value < 1, "a share from 0 to below 1"
PLAIN: Kind = lambda value: isinstance(value, str) or _is_whole(value), 'a string, such as "padded:20000"'
TEXTS: Kind = lambda value: isinstance(value, list) and all(isinstance(one, str) for one in value), "a list of strings"
SEEDS: Kind = (
    lambda value: isinstance(value, list)
    and bool(value)
    and all(_is_whole(one) and 0 <= one < 2**63 for one in value)
    and len(set(value)) == len(value),
    "a list of different whole numbers from 0, such as [1, 2, 3]",
)
PAIRS: Kind = (
    lambda value: isinstance(value, list) and all(TEXTS[0](one) and len(one) == 2 for one in value),
    'a list of pairs of names, such as [["random", "mine"]]',
)
TWO_SHARES: Kind = (
    lambda value: isinstance(value, list) and len(value) == 2 and all(SHARE[0](one) for one in value),
    "two shares from 0 to below 1, such as [0.9, 0.98]",
)

LEARNING: dict[str, Kind] = {
    "optimizer": _one_of("adam", "adamw", "adadelta"),
    "rate": RATE,
    "schedule": _one_of("constant", "linear", "cosine"),
    "warmup": SHARE,
    "final": SHARE,
    "clip": NOT_BELOW_0,
    "patience": FROM_0,
    "weight_decay": NOT_BELOW_0,
    "betas": TWO_SHARES,
    "average": FROM_1,
    "amp": _one_of("none", "bf16"),
}
BATCHES: dict[str, Kind] = {
    "strategy": TEXT,
    "budget": PLAIN,
    "shapes": TEXT,
    "arrange": TEXT,
    "update": TEXT,
    "chunk": FROM_1,
    "steps": TEXT,
    "accumulate": FROM_1,
    "tail": TEXT,
    "over_long": TEXT,
    "cost_model": TEXT,
    "layout": _one_of("planned", "packed"),
}
RUN: dict[str, Kind] = {
    "name": NAME,
    "sampler": NAME,
    "options": TABLE,
    "packed": YES,
    "model": TABLE,
    "epochs": FROM_1,
    **BATCHES,
    **LEARNING,
}
TOP: dict[str, Kind] = {
    "title": NAME,
    "notes": TEXTS,
    "task": TABLE,
    "data": TABLE,
    "epochs": FROM_1,
    "seeds": SEEDS,
    "model": TABLE,
    "learning": TABLE,
    "batches": TABLE,
    "run": (lambda value: isinstance(value, list) and all(isinstance(one, dict) for one in value), "[[run]] tables"),
    "pairs": PAIRS,
    "turns": YES,
}
#: What only the laboratory itself does.
LABORATORY = ("together", "scaling", "workers", "mode")


def _checked(where: str, value: Any, kind: Kind) -> Any:
    test, expected = kind
    if not test(value):
        raise SettingError(f"{where}: expected {expected}, got {value!r}", hint=f"give {where.split()[-1]} {expected}")
    return value


def _table(where: str, table: dict[str, Any], kinds: dict[str, Kind]) -> dict[str, Any]:
    """A table whose keys and values are right."""
    for key, value in table.items():
        if key in kinds:
            _checked(f"{where} {key}".strip(), value, kinds[key])
            continue
        if key in LABORATORY:
            raise SettingError(
                f"{f'{where} {key}'.strip()}: a model of yours is trained by one worker",
                hint="leave it out; `lengthwise-lab` trains its own models with several",
            )
        near = difflib.get_close_matches(key, kinds, 1)
        hint = f"do you mean `{near[0]}`?" if near else "there are " + ", ".join(kinds)
        raise SettingError(f"{f'{where} {key}'.strip()}: there is no such setting", hint=hint)
    return table


def _parse(file: str, data: bytes) -> dict[str, Any]:
    # Python 3.10 has no parser of its own.
    names = [name for name in ("tomllib", "tomli") if importlib.util.find_spec(name)]
    if not names:
        raise FileError("Python 3.10 cannot read TOML files", hint="install `tomli`, or use Python 3.11 or later")
    toml = importlib.import_module(names[0])
    try:
        parsed: dict[str, Any] = toml.loads(data.decode("utf-8"))
    except ValueError as error:  # Also that of the parser, and of bytes that are not UTF-8.
        raise FileError(f"{file}: {error}", hint="correct the file: it is not valid TOML") from None
    return parsed


def read(path: str | Path) -> Experiment:
    """Reads an experiment."""
    file = str(path)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise FileError(f"{file}: {error.strerror or error}", hint="give the TOML file of an experiment") from None
    parsed = _parse(file, data)
    with within(file):
        return _experiment(file, parsed)


def _experiment(file: str, parsed: dict[str, Any]) -> Experiment:
    _table("", parsed, TOP)
    for key in ("title", "epochs"):
        if key not in parsed:
            raise SettingError(f"there is no {key}", hint=f"begin the file with {key} = {'8' if key == 'epochs' else '…'}")
    model = dict(parsed.get("model", {}))
    build = model.pop("build", None)
    if build is not None:
        _checked("[model] build", build, NAME)
    learning = _table("[learning]", parsed.get("learning", {}), LEARNING)
    batches = _table("[batches]", parsed.get("batches", {}), BATCHES)
    tables = parsed.get("run", [])
    if not tables:
        raise SettingError("there is nothing to run", hint="give it a [[run]]")
    runs: list[Run] = []
    for number, table in enumerate(tables, 1):
        name = table.get("name")
        if name is None:
            raise SettingError(f"run {number} has no name", hint="say what to call it in tables, such as name = \"random\"")
        runs.append(_run(number, table, batches, learning, model, parsed["epochs"]))
    names = [run.name for run in runs]
    for name in names:
        if names.count(name) > 1:
            raise SettingError(f"two runs are called {name!r}", hint="give each a name of its own")
    pairs = tuple((one, other) for one, other in parsed.get("pairs", []))
    for name in (name for pair in pairs for name in pair):
        if name not in names:
            raise SettingError(f"`pairs` has {name!r}, and no run is called that", hint="give names of runs, as [from, to]")
    return Experiment(
        file=file,
        title=parsed["title"],
        seeds=tuple(parsed.get("seeds", [1])),
        runs=tuple(runs),
        build=build,
        notes=tuple(parsed.get("notes", [])),
        pairs=pairs,
        task=parsed.get("task", {}),
        data=parsed.get("data", {}),
        turns=parsed.get("turns", True),
    )


def _run(
    number: int,
    table: dict[str, Any],
    batches: dict[str, Any],
    learning: dict[str, Any],
    model: dict[str, Any],
    epochs: int,
) -> Run:
    where = f"run {table['name']!r}"
    _table(where, table, RUN)
    own = {key: table[key] for key in LEARNING if key in table}
    all_learning = {**learning, **own}
    if "betas" in all_learning:
        all_learning["betas"] = tuple(all_learning["betas"])
    how = Learning(**all_learning)
    if how.average > 1 and how.patience:
        raise SettingError(
            f"{where}: with `patience` the last epochs are not known beforehand, and `average` needs them",
            hint="leave one of them out",
        )
    sampler = table.get("sampler")
    if sampler is not None and "strategy" in table:
        raise SettingError(f"{where} has a strategy and a sampler", hint="leave one of them out")
    for key in ("options", "packed"):
        if sampler is None and key in table:
            raise SettingError(f"{where} {key}: it is for a sampler, and there is none", hint=f"leave `{key}` out")
    changed = {**own, **table.get("model", {})}
    of_run = {key: table[key] for key in BATCHES if key in table}
    made = {**batches, **of_run}
    if made.get("update") == EVERY_BATCH:
        del made["update"]
    if "capacity=" in of_run.get("strategy", "") and "budget" not in of_run:
        # Rows that say how long they are need no other limit.
        made.pop("budget", None)
    return Run(
        name=table["name"],
        number=number,
        batches=made,
        learning=how,
        epochs=table.get("epochs", epochs),
        model={**model, **table.get("model", {})},
        changed=changed,
        sampler=sampler,
        options=table.get("options", {}),
        packed=table.get("packed", False),
    )

