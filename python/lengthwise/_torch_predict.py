"""A model's outputs for a dataset, in planned batches and in the order of the dataset."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch.utils.data import DataLoader

from ._checks import check_budget
from ._columns import lengths_of
from ._lengthwise import Lengths, Planner
from ._map import Results, Show
from ._torch_collate import pad_collate
from ._torch_sampler import Batch, check_dataset
from .errors import LengthsError, SettingError
from .stream import StreamBatch

#: Under which name the collator adds the lengths, which is no field of anyone's.
LENGTHS = "lengthwise_lengths"


class _Collate:
    """Pads the items of a batch, and masks the padding for models that take a mask.

    Args:
        names: The fields that the model takes. By default, it takes all.
    """

    def __init__(self, names: Collection[str] | None) -> None:
        self._names = names
        self._pad = pad_collate(lengths=LENGTHS)

    def __call__(self, rows: Sequence[Any]) -> Any:
        first = rows[0]
        if not isinstance(first, Mapping):
            *parts, _ = self._pad(rows)
            return tuple(parts)
        names = [name for name in first if self._names is None or name in self._names]
        kept = _Kept({name: row[name] for name in names or row} for row in rows)
        kept.length = getattr(rows, "length", None)
        batch = self._pad(kept)
        lengths = batch.pop(LENGTHS)
        takes = self._names is not None and "attention_mask" in self._names
        if takes and "attention_mask" not in batch and "input_ids" in batch:
            positions = torch.arange(batch["input_ids"].shape[1])
            batch["attention_mask"] = (positions < lengths[:, None]).long()
        return batch


class _Kept(list[Any]):
    length: int | None = None


class _Loaded(StreamBatch):
    """The indices of a batch, and the batch."""

    __slots__ = ("values",)

    values: Any


def predict(
    model: torch.nn.Module,
    dataset: Any,
    *,
    lengths: Any = None,
    budget: str | int = "padded:20000",
    shapes: str = "exact",
    over_long: str = "alone",
    collate_fn: Callable[[Any], Any] | None = None,
    device: torch.device | str | int | None = None,
    trim: bool | Collection[str | int] = False,
    num_workers: int = 0,
    progress: Show = None,
) -> Results:
    """Runs a model on a dataset in planned batches, and yields the output for each item, in the order of the dataset.

    All batches are planned at once, and the longest come first, so that a lack of memory shows at once. A batch that
    runs out of memory is divided, as in :func:`lengthwise.map_batches`. The model is in evaluation mode until the last
    output, or until the iterator is closed; then each module is in the mode that it was in. Outputs are made under
    ``torch.inference_mode()`` and moved to the CPU. They are held until their turn, which can be all of them.

    A batch that is a dictionary is passed as keywords, a tuple as positional arguments, and anything else as the only
    argument. The output for an item is the row of a tensor, or a dictionary or tuple of rows if the model returns
    several. Values of a dictionary without a dimension for the batch, such as a loss or a cache, are left out.

    Args:
        model: The model.
        dataset: The dataset: items are tensors, arrays or lists, or dictionaries or tuples of them.
        lengths: The length of each item, or the name of the column that holds lengths or sequences. By default, it is
            found as by :func:`lengthwise.hf.lengths_of` if items are dictionaries; otherwise it is the ``len`` of an
            item, or of its first part.
        budget: The hard limit of a batch, as for :class:`lengthwise.Planner`. The default is "padded:20000".
        shapes: Which batch lengths may occur, as for :class:`lengthwise.Planner`. The default is "exact".
        over_long: What happens to an item that exceeds the budget alone: "alone" (a batch of its own), "error" or
            "truncate". The default is "alone".
        collate_fn: What makes a batch of items. By default, items are padded with 0. From dictionaries only the fields
            that the model's ``forward`` names are taken, and an ``attention_mask`` is added if it is one of these and
            missing.
        device: Where the batches are moved. By default, it is where the model is.
        trim: Which outputs have a value for each position, and are cut to the length of their item: their names in a
            dictionary, their numbers in a tuple, or ``True`` if the model returns one tensor. By default, the padding
            stays.
        num_workers: The number of processes that load items, as for ``DataLoader``. The default is 0.
        progress: Whether a line on standard error tells how far it is, as for :func:`lengthwise.map_batches`. By
            default, it is shown if standard error is a terminal and it takes longer than a second.
    """
    from .torch import _Planned

    if not isinstance(model, torch.nn.Module):
        raise SettingError(
            f"`model`: expected a torch.nn.Module, got a {type(model).__name__}",
            hint="use `lengthwise.map_batches` for functions",
        )
    if over_long == "drop":
        raise SettingError(
            '`over_long="drop"` leaves items without an output, and every item must have one',
            hint='use `over_long="alone"`, or leave the over-long items out of the dataset',
        )
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise LengthsError(
            f"{type(dataset).__name__} has no items to choose from",
            hint="use `lengthwise.map_batches` for streams",
        )
    counts = _lengths(dataset, lengths)
    batches = _plan(counts, budget=check_budget(budget), shapes=shapes, over_long=over_long)
    if device is None:
        held = next(model.parameters(), next(model.buffers(), None))
        device = torch.device("cpu") if held is None else held.device
    device = torch.device(device)
    collate = _Collate(_names(model)) if collate_fn is None else collate_fn
    rows = _Planned(dataset)
    loader: DataLoader[Any] = DataLoader(
        rows, batch_sampler=batches, collate_fn=collate, num_workers=num_workers, pin_memory=device.type == "cuda",
    )  # fmt: skip

    def function(batch: StreamBatch) -> Any:
        # A part of a batch that did not fit is made again.
        if isinstance(batch, _Loaded):
            values = batch.values
        else:
            values = collate(rows.__getitems__(Batch(batch, batch.length)))
        with torch.inference_mode():
            output = _call(model, _moved(values, device))
        return _output(output, batch, counts, trim)

    def loaded() -> Iterator[StreamBatch]:
        with evaluated(model):
            for batch, values in zip(batches, loader):
                made = _Loaded(batch, batch.length, list(batch))
                made.values = values
                yield made

    return Results(function, loaded(), name="predict", total=len(rows), budget=budget, progress=progress)


class _Modes:
    """The modes of a model's modules before the first of the predictions that are running, and how many are."""

    def __init__(self, model: torch.nn.Module) -> None:
        # Weak, since the model would otherwise keep itself.
        self.before = WeakKeyDictionary({module: module.training for module in model.modules()})
        self.running = 0


#: The models that predictions are running on.
_RUNNING: WeakKeyDictionary[torch.nn.Module, _Modes] = WeakKeyDictionary()
_LOCK = threading.RLock()  # An iterator that is forgotten ends wherever it is collected, also in here.


@contextmanager
def evaluated(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode, until the last of those that run at the same time ends."""
    with _LOCK:
        modes = _RUNNING.get(model)
        if modes is None:
            modes = _RUNNING[model] = _Modes(model)
        modes.running += 1
        model.eval()
    try:
        yield
    finally:
        with _LOCK:
            modes.running -= 1
            if not modes.running:
                _RUNNING.pop(model, None)
                for module, mode in modes.before.items():
                    module.training = mode


def _lengths(dataset: Any, given: Any) -> np.ndarray:
    """The length of each item. Something empty must have an output too."""
    if not len(dataset):
        return np.zeros(0, dtype=np.int64)
    if given is None or isinstance(given, str):
        named = isinstance(given, str) or hasattr(dataset, "column_names") or isinstance(dataset[0], Mapping)
        try:
            given = lengths_of(dataset, given) if named else [_length(dataset, index) for index in range(len(dataset))]
        except LengthsError as error:
            if error.index is not None:
                raise
            names = getattr(dataset, "column_names", None) or list(dataset[0])
            raise LengthsError(
                str(error).partition("\nhint: ")[0],
                hint=f"give `lengths`: one length for each item, or one of the names {', '.join(map(repr, names))}",
            ) from None
    if isinstance(given, Lengths):
        raise LengthsError(
            "expected one length for each item, got several",
            hint="give `lengths`, with one length for each item: that of the longest part that the model pads",
        )
    counts: np.ndarray = np.maximum(np.asarray(given), 1)
    check_dataset(dataset, Lengths(counts))
    return counts


def _length(dataset: Any, index: int) -> int:
    item = dataset[index]
    try:
        return len(item[0] if isinstance(item, tuple) else item)
    except (TypeError, LookupError):
        raise LengthsError(
            f"the item at position {index} has no length",
            hint="give `lengths`, with one length for each item",
            index=index,
        ) from None


def _plan(counts: np.ndarray, **settings: Any) -> list[Batch]:
    """The batches of these lengths, the longest first."""
    if not len(counts):
        return []
    plan = Planner(counts, "sorted", **settings).plan(0)
    order = np.argsort(-plan.batch_lengths.astype(np.int64), kind="stable").tolist()
    return [Batch(sorted(plan[number].tolist()), int(plan.batch_lengths[number])) for number in order]


def _names(model: torch.nn.Module) -> list[str] | None:
    """The arguments that a model names, if it names any."""
    parameters = inspect.signature(model.forward).parameters.values()
    return [each.name for each in parameters if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)] or None


def _moved(values: Any, device: torch.device) -> Any:
    if isinstance(values, Mapping):
        return {name: _moved(value, device) for name, value in values.items()}
    if isinstance(values, (tuple, list)):
        moved = [_moved(value, device) for value in values]
        return moved if isinstance(values, list) else getattr(values, "_make", tuple)(moved)
    return values.to(device, non_blocking=True) if isinstance(values, torch.Tensor) else values


def _call(model: torch.nn.Module, values: Any) -> Any:
    if isinstance(values, Mapping):
        return model(**values)
    return model(*values) if isinstance(values, tuple) else model(values)


def _output(output: Any, batch: StreamBatch, counts: np.ndarray, trim: bool | Collection[str | int]) -> Any:
    """An output on the CPU, cut to the lengths of the items where it is to be, and without what has no rows."""
    if isinstance(trim, bool) and not (trim and isinstance(output, (Mapping, tuple))):
        return _part(output, batch, counts, trim)
    parts = dict(output if isinstance(output, Mapping) else enumerate(output if isinstance(output, tuple) else ()))
    chosen = [True] if isinstance(trim, bool) else [trim] if isinstance(trim, str) else list(trim)
    for name in chosen:
        if name is True or name not in parts:
            raise SettingError(
                f"`trim`: expected names or numbers of outputs, got {name!r}",
                hint=f"the outputs of this model are {', '.join(map(repr, parts))}" if parts else "give `trim=True`",
            )
    made = {
        name: _part(value, batch, counts, name in chosen)
        for name, value in parts.items()
        if isinstance(output, tuple) or _has_rows(value)
    }
    return made if isinstance(output, Mapping) else tuple(made.values())


def _part(output: Any, batch: StreamBatch, counts: np.ndarray, trim: bool) -> Any:
    if isinstance(output, Mapping):
        return {name: _part(value, batch, counts, trim) for name, value in output.items() if _has_rows(value)}
    if isinstance(output, tuple):
        return tuple(_part(value, batch, counts, trim) for value in output)
    if not isinstance(output, torch.Tensor):
        return output
    output = output.cpu()
    if not trim:
        return output
    if output.ndim < 2 or output.shape[1] != batch.length:
        raise SettingError(
            f"`trim`: expected a tensor of shape ({len(batch)}, {batch.length}, …), got {tuple(output.shape)}",
            hint="trim only outputs that have a value for each position",
        )
    return [row[: counts[position]].clone() for row, position in zip(output, batch.positions)]


def _has_rows(value: Any) -> bool:
    return value.ndim > 0 if isinstance(value, torch.Tensor) else isinstance(value, (Mapping, tuple, list))
