"""Type checkers find misspelt settings and wrong types."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import lengthwise as lw
import pytest
from lengthwise import _settings

pytest.importorskip("mypy")
pytest.importorskip("torch")
pytest.importorskip("transformers")

#: Lines that a type checker must report end with what it must name.
CALLS = '''
import lengthwise as lw
import numpy as np
from lengthwise.hf import TrainerMixin
from lengthwise.stream import Streaming
from lengthwise.torch import BatchSampler, StreamBatches
from transformers import Trainer

lengths = [3, 1, 2]
model = lw.CostModel("encoder")

lw.plan(lengths, "sorted", budget="padded:20", shapes="ladder:4", seed=np.int64(3), epoch=2)
lw.plan(lengths, budget=2, second=lengths, cost_model=model, constant_steps=True, shard=0, shards=2)
lw.plan(lengths, budget=2, shape="exact")  # error: "shape"
lw.plan(lengths, budget=2, seed="0")  # error: "seed"
lw.plan(lengths, budget=2, arrange=3)  # error: "arrange"
lw.plan(lengths, budget=2.5)  # error: "budget"

tuned = lw.tune(lengths, budget=2)
lw.plan(lengths, **tuned.settings)
BatchSampler(lengths, "sorted", budget=2, shapes="exact", accumulate=2, rank="all", world_size=2)
BatchSampler(lengths, **tuned.settings)
BatchSampler(lengths, budget=2, shape="exact")  # error: "shape"
BatchSampler(lengths, budget=2, tail=None)  # error: "tail"
BatchSampler(lengths, budget=2, accumulate="2")  # error: "accumulate"
BatchSampler(lengths, budget=2).weights("tokens")
BatchSampler(lengths, budget=2).weights("token")  # error: "token"

lw.stream_batches(["a"], len, budget=2, window=8, pivot="oldest", epoch=1, seed=1)
lw.stream_batches(["a"], budget=2, windows=8)  # error: "windows"
lw.stream_batches(["a"], budget=2, window="8")  # error: "window"
StreamBatches(["a"], budget=2, window=8, shapes="exact", epoch=1)
StreamBatches(["a"], budget=2, shape="exact")  # error: "shape"
StreamBatches(["a"], budget=2, shapes=8)  # error: "shapes"
Streaming(["a"], budget=2, window=8)
Streaming(["a"], budget=2, size=8)  # error: "size"


class Planned(TrainerMixin, Trainer):
    pass


Planned(batches={"budget": "padded:20", "shapes": "exact", "strategy": "sorted", "column": "text"})
Planned(batches={"budget": "padded:20", "shape": "exact"})  # error: "shape"
Planned(batches={"budget": "padded:20", "seed": "3"})  # error: "seed"


def step(batch_size: int, length: int) -> None: ...


calibration = lw.calibrate(step, lengths, max_cells=100, repeats=2, seconds=1)
BatchSampler(lengths, **calibration.settings)
BatchSampler(lengths, **calibration.best.settings)
lw.calibrate(step, lengths, repeat=2)  # error: "repeat"
lw.calibrate(step, lengths, repeats="2")  # error: "repeats"
lw.calibrate(3, lengths)  # error: "calibrate"

lw.Planner(lengths, budget=2, shape="exact")  # error: "shape"
lw.Feed(2, window="8")  # error: "Feed"
lw.compare(lengths, epoch=3)  # error: "epoch"
'''

#: Frameworks take a minute to look at, and say nothing about these calls.
SKIPPED = "\n".join(
    f"[mypy-{name}.*]\nfollow_imports = skip\nfollow_imports_for_stubs = True"
    for name in ("torch", "torchdata", "transformers", "pyarrow", "datasets")
)


def test_mypy_reports_the_wrong_calls_and_no_others(tmp_path):
    calls = tmp_path / "calls.py"
    calls.write_text(CALLS)
    # The classes of frameworks are unknown here: what derives from them is not complained about.
    config = tmp_path / "mypy.ini"
    config.write_text(f"[mypy]\ncache_dir = {tmp_path}/cache\n{SKIPPED}\n")
    package = Path(lw.__file__).parents[1]
    path = {} if package.name == "site-packages" else {"MYPYPATH": str(package)}
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(config), str(calls)],
        cwd=tmp_path,
        env={**os.environ, **path},
        capture_output=True,
        text=True,
    )
    reported = {
        int(line): text for line, text in re.findall(r"^calls\.py:(\d+): error: (.*)$", run.stdout, re.MULTILINE)
    }
    expected = {
        number: text.partition("# error: ")[2]
        for number, text in enumerate(CALLS.splitlines(), 1)
        if "# error: " in text
    }
    assert sorted(reported) == sorted(expected), run.stdout + run.stderr
    for number, name in expected.items():
        assert name.strip('"') in reported[number], (number, reported[number])


def test_the_types_are_those_of_the_signatures():
    planner = inspect.signature(lw.Planner).parameters
    keywords = [name for name, each in planner.items() if each.kind is each.KEYWORD_ONLY]
    assert set(_settings.PlannerSettings.__annotations__) == set(keywords)
    feed = inspect.signature(lw.Feed).parameters
    assert set(_settings.FeedSettings.__annotations__) == {*feed} - {"world_size", "state"}
    for function, names in (
        (lw.plan, _settings.PlannerSettings),
        (lw.stream_batches, _settings.EpochSettings),
        (lw.torch.BatchSampler, _settings.SamplerSettings),
        (lw.torch.StreamBatches, _settings.StreamSettings),
        (lw.stream.Streaming, _settings.FeedSettings),
    ):
        # A keyword of its own is none of the settings: that would be two types for one name.
        own = set(inspect.signature(function).parameters) - {"settings"}
        assert not own & set(names.__annotations__), function


def test_the_settings_can_be_imported_without_typing_extensions():
    """As with Python 3.10, where `Unpack` is not in `typing`."""
    assert importlib.util.find_spec("lengthwise") is not None
    script = (
        "import sys, typing, numpy\n"
        "sys.modules['typing_extensions'] = None\n"
        "if hasattr(typing, 'Unpack'): del typing.Unpack\n"
        "import lengthwise, lengthwise.arrays, lengthwise.calibration, lengthwise._settings\n"
        "print(lengthwise.plan([1, 2], budget=2).tolist())\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
