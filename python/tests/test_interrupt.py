"""Ctrl-C ends long calls."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

# Without a handler of its own, as a script has it; `begun` is printed right before the long call.
SCRIPT = """
import sys, time
import numpy as np
import lengthwise as lw
lengths = lw.Lengths(np.random.default_rng(0).integers(1, 2000, {count}))
{before}
print("begun", flush=True)
try:
    {call}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
print("finished", flush=True)
"""

LONG = {
    "tune": ("", '[lw.tune(lengths, budget="padded:20000", world_size=256) for _ in range(1000)]'),
    "compare": ("", 'lw.compare(lengths, budget="padded:20000", epochs=8)'),
    "plan": (
        'planner = lw.Planner(lengths, "blurred", budget="padded:20000")',
        "[planner.plan(epoch) for epoch in range(10**6)]",
    ),
}


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of Unix")
@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_is_heard(name: str) -> None:
    before, call = LONG[name]
    script = SCRIPT.format(count=1_500_000, before=before, call=call)
    # A shell ignores it for tests in the background, and a child would inherit that.
    child = subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )  # fmt: skip
    assert child.stdout is not None
    assert child.stdout.readline() == "begun\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    # Generous: a machine that does something else is slow.
    out, err = child.communicate(timeout=60)
    assert out == "interrupted\n", out + err
    assert "KeyboardInterrupt" in err
    assert child.returncode == -signal.SIGINT


def test_errors_of_long_calls_are_raised() -> None:
    import lengthwise as lw

    with pytest.raises(lw.BudgetError):
        lw.tune([3, 5, 900], budget="padded:100")
    with pytest.raises(lw.BudgetError):
        lw.compare([3, 5, 900], budget="padded:100")
