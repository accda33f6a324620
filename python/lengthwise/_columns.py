"""The lengths in the columns of a dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._convert import array, dataset_column
from ._lengthwise import Lengths
from .errors import LengthsError

#: Columns that hold lengths, and columns whose values have lengths.
COLUMNS = ("length", "lengths", "num_tokens", "input_ids", "input_values", "input_features")
#: Columns that hold two answers to a prompt, as TRL names them, and the column of the prompt.
PAIRS = ("chosen_ids", "rejected_ids")
PROMPT = "prompt_ids"


def lengths_of(dataset: Any, column: str | None = None, *, max_length: int | None = None) -> np.ndarray | Lengths:
    """The lengths of the items of a dataset, from a column of numbers, or of lists.

    A ``datasets.Dataset`` gives the lengths of its stored table, in the order of its rows, also if it was shuffled or
    selected from; no row is copied, and what ``set_transform`` does to rows is not seen. Other datasets are read
    item by item. Preference pairs as TRL tokenizes them, with ``chosen_ids`` and ``rejected_ids``, have two lengths
    each: both answers with their prompt, which stay together.

    Args:
        dataset: The dataset.
        column: The column or field. By default, it is the first of the usual names, such as "length" or
            "input_ids".
        max_length: The length that both sequences of a pair are cut to, if they are. By default, they are not cut.
    """
    if not hasattr(dataset, "__getitem__") or not hasattr(dataset, "__len__"):
        raise LengthsError(
            f"expected a dataset with an index, got a {type(dataset).__name__}, whose lengths are not known before it is "
            "read",
            hint="give the stream itself to `lengthwise.torch.StreamBatches`, or to the Trainer of `TrainerMixin`",
        )
    names = getattr(dataset, "column_names", None)
    fields = dataset[0] if names is None else names
    if column is None and all(name in fields for name in PAIRS):
        prompts = _lengths_in(dataset, PROMPT) if PROMPT in fields else np.zeros(len(dataset))
        pairs = np.stack([prompts + _lengths_in(dataset, name) for name in PAIRS], axis=1).astype(np.int64)
        return Lengths.of_items(pairs if max_length is None else np.minimum(pairs, max_length))
    column = column or next((name for name in COLUMNS if name in fields), None)
    if names is None and column is None:
        raise LengthsError(
            "the items have none of the usual fields", hint="give `lengths`, or name the `column`"
        )
    if (names is not None or isinstance(fields, Mapping)) and column not in fields:
        raise LengthsError(
            f"the dataset has no column {column!r}" if column else "no column holds lengths",
            hint=f"name one of its columns: {', '.join(map(str, fields))}",
        )
    return _lengths_in(dataset, str(column))


def _lengths_in(dataset: Any, column: str) -> np.ndarray:
    """The lengths in a column."""
    if getattr(dataset, "column_names", None) is not None:
        return array(dataset_column(dataset, column))
    values = (dataset[index][column] for index in range(len(dataset)))
    return array([value if isinstance(value, int) else len(value) for value in values])
