"""Ctrl-C ends long calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

# Without a handler of its own, as a script has it; `begun` is printed right before the long call. Python raises the
# exception of a signal also right after a call that was deaf to it. `extend` and `map` run no Python between the end of the
# call and the list: if there is something in it, the call went on to its end.
SCRIPT = """
import gzip, sys
from functools import partial
import numpy as np
import lengthwise as lw
lengths = lw.Lengths(np.random.default_rng(0).integers(1, 2000, {count}))
padded = "padded:20000"
{before}
made = []
print("begun", flush=True)
try:
    made.extend(map({call}))
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", len(made), flush=True)
    raise
"""
PLANNED = 'planner = lw.Planner(lengths, "shuffled", budget=padded); plan = planner.plan()'

#: How many sequences, what is done before, and the call with its argument: each takes at least half a second.
LONG = {
    "tune": (1_500_000, "", "partial(lw.tune, budget=padded, world_size=256), [lengths] * 9"),
    "compare": (1_500_000, "", "partial(lw.compare, budget=padded, epochs=8), [lengths]"),
    "plan": (6_000_000, 'planner = lw.Planner(lengths, "blurred", budget=padded)', "planner.plan, [0]"),
    "packed": (1_500_000, 'planner = lw.Planner(lengths, "packed:capacity=4096")', "planner.plan, [0]"),
    "Planner": (6_000_000, "", "partial(lw.Planner, budget=padded), [lengths]"),
    "constant steps": (
        6_000_000, "", 'partial(lw.Planner, strategy="blurred", budget=padded, constant_steps=True), [lengths]'
    ),
    "schedule": (3_000_000, PLANNED, "plan.schedule, [64]"),
    "mixing": (6_000_000, f"{PLANNED}; plans = [planner.plan(epoch) for epoch in range(4)]", "lw.mixing, [plans]"),
    "inspect": (6_000_000, "", "partial(lw.inspect, budget=padded), [lengths]"),
    "save": (9_000_000, PLANNED, 'plan.save, ["plan.jsonl"]'),
    "load": (6_000_000, f'{PLANNED}; plan.save("plan.jsonl")', 'partial(lw.load_plan, lengths=lengths), ["plan.jsonl"]'),
    "read_lengths": (
        1000,
        'gzip.open("lengths.txt.gz", "wb", 1).write(b"123\\n" * 40_000_000)',
        'lw.read_lengths, ["lengths.txt.gz"]',
    ),
    "plan_file": (
        9_000_000,
        'np.save("lengths.npy", lengths.numpy())',
        'partial(lw.plan_file, output="plan.jsonl", strategy="blurred", memory="1GB", budget=padded), ["lengths.npy"]',
    ),
}  # fmt: skip


def begun(name: str, folder: Path, **environment: str) -> subprocess.Popen[str]:
    """A process that is right before the long call."""
    count, before, call = LONG[name]
    script = SCRIPT.format(count=count, before=before, call=call)
    # A shell ignores it for tests in the background, and a child would inherit that.
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder,
        env={**os.environ, **environment}, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    return child


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_heard(name: str, tmp_path: Path) -> None:
    child = begun(name, tmp_path)
    there = sorted(tmp_path.iterdir())
    time.sleep(0.2)
    child.send_signal(signal.SIGINT)
    # Generous: a machine that does something else is slow.
    out, err = child.communicate(timeout=60)
    if out == "finished\n":
        pytest.skip("this machine is too quick for the call to be interrupted")
    assert out == "interrupted 0\n", out + err
    assert "KeyboardInterrupt" in err
    assert child.returncode == -signal.SIGINT
    # Nothing is written halfway.
    assert sorted(tmp_path.iterdir()) == there


#: A disk that says when it begins to keep a file, and does not end.
SLOW_DISK = """
#include <unistd.h>
int fsync(int file) {
    if (write(2, "keeping\\n", 8) < 0) return -1;
    return sleep(600);
}
"""


@pytest.mark.skipif(sys.platform != "linux", reason="replaces a function of Linux")
def test_ctrl_c_leaves_no_file_on_a_slow_disk(tmp_path: Path) -> None:
    library, folder = tmp_path / "slow.so", tmp_path / "folder"
    folder.mkdir()
    subprocess.run(["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library], input=SLOW_DISK, text=True, check=True)
    child = begun("save", folder, LD_PRELOAD=str(library))
    assert child.stderr is not None
    assert child.stderr.readline() == "keeping\n"
    assert len(list(folder.iterdir())) == 1
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=60)
    assert out == "interrupted 0\n", out + err
    assert not list(folder.iterdir())


def test_errors_of_long_calls_are_raised() -> None:
    import lengthwise as lw

    with pytest.raises(lw.BudgetError):
        lw.tune([3, 5, 900], budget="padded:100")
    with pytest.raises(lw.BudgetError):
        lw.compare([3, 5, 900], budget="padded:100")
