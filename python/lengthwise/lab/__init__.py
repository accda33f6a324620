"""Trains a PyTorch model of your own under several ways to batch, and records time, memory and error of each.

``python -m lengthwise.lab run my.toml --model my_module:build`` reads the experiment files of the laboratory
(``lengthwise-lab``), and writes the ``results.jsonl`` that ``lengthwise-lab report`` shows as a table and a page.

PyTorch is imported when a training begins.
"""

from __future__ import annotations

from ._batches import Batch
from ._graphs import Graphs
from ._session import run
from ._task import Task

__all__ = ["Batch", "Graphs", "Task", "run"]
