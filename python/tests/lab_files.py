"""Experiment files and tasks that the tests of the harness share."""

from __future__ import annotations

from pathlib import Path

import lab_task

HEAD = 'title = "Made"\nepochs = 2\nseeds = [1, 2]\n'
BATCHES = '[batches]\nbudget = "padded:200"\nupdate = "tokens:500"\n'
RANDOM = '[[run]]\nname = "random"\nstrategy = "shuffled"\n'
WAYS = f"""{HEAD}
[model]
dropout = 0.1
[learning]
rate = 0.02
schedule = "linear"
warmup = 0.1
average = 2
{BATCHES}{RANDOM}
[[run]]
name = "default"
strategy = "recommended"
[[run]]
name = "packed"
strategy = "packed:capacity=200"
[[run]]
name = "pieces"
strategy = "sorted"
chunk = 16
[[run]]
name = "own"
sampler = "lab_task:pairs"
options = {{ size = 7 }}
rate = 0.01
[[run]]
name = "joined"
strategy = "blurred"
layout = "packed"
[[run]]
name = "single"
strategy = "shuffled"
update = "batch"
"""


def write(text: str, name: str = "made.toml") -> str:
    Path(name).write_text(text)
    return name


def epochs(lines: list[dict]) -> list[dict]:
    return lines[1:]


def changed(**attributes):
    def build(settings):
        task = lab_task.build(settings)
        for name, value in attributes.items():
            setattr(task, name, value)
        return task

    return build
