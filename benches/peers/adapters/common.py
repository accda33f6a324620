"""What all adapters have in common: one process for one system, told what to do line by line.

Every line of standard input is a request in JSON, and is answered by one line of JSON: `prepare`
(lengths and settings), `plan` (an epoch from nothing), `again` (another epoch with what is kept),
`resume` (an epoch from its middle), `save` (the batches of an epoch as arrays) and `ranks` (the
batches of eight ranks, step by step). Planning alone is timed: imports, the input in the form that
the system wants, and turning its batches into arrays are not.
"""

from __future__ import annotations

import gc
import importlib.metadata
import json
import os
import sys
import time
import traceback
from typing import Any

import numpy as np


class Adapter:
    """One system with one setting. What is not overridden is done by planning anew."""

    package: str | None = None
    # How it goes on in the middle of an epoch, in words.
    going_on = "plans again, skips"
    # How batches come to ranks, in words.
    dealing = "k mod 8"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        self.lengths = lengths
        self.count = settings.get("sequences", 32)
        self.budget = settings.get("padded")
        self.capacity = settings.get("capacity")
        self.options = settings.get("options", {})

    def plan(self, epoch: int) -> Any:
        """Plans an epoch from nothing but lengths."""
        raise NotImplementedError

    def again(self, epoch: int) -> Any:
        """Plans another epoch."""
        return self.plan(epoch)

    def resume(self, epoch: int, batches: int) -> Any:
        """Stands after so many batches of an epoch, and has the rest."""
        return self.plan(epoch)

    def ranks(self, epoch: int) -> tuple[np.ndarray, ...] | None:
        """The batches of eight ranks, step by step, if the system assigns them in its own way."""
        return None

    def flat(self, planned: Any) -> tuple[np.ndarray, ...]:
        """Batches as arrays: indices and ends, and what batches are padded to where that is planned."""
        return flattened(planned)

    def whole(self, epoch: int) -> tuple[np.ndarray, ...]:
        """All batches of an epoch as arrays, for the judge."""
        return self.flat(self.again(epoch))


def flattened(batches: list[Any]) -> tuple[np.ndarray, np.ndarray]:
    """Indices and ends of a list of batches; empty ones are left out."""
    sizes = np.array([len(batch) for batch in batches], dtype=np.int64)
    indices = np.fromiter((i for batch in batches for i in batch), dtype=np.int64, count=sizes.sum())
    return indices, np.cumsum(sizes[sizes > 0])


def resident(key: str = "VmRSS") -> int:
    """What /proc says about the memory of this process, in bytes."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key):
                return int(line.split()[1]) * 1024
    raise RuntimeError(f"/proc/self/status has no {key}: this needs Linux")


def timed(work: Any) -> tuple[Any, dict[str, float]]:
    gc.collect()
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {"wall": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def serve(adapters: dict[str, type[Adapter]]) -> None:
    """Answers requests until there are no more."""
    answers = os.fdopen(os.dup(1), "w")
    # Some systems print what they do; that is not an answer.
    os.dup2(2, 1)
    adapter: Adapter | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if request["do"] == "prepare":
                adapter, answer = prepared(adapters, request)
            elif adapter is None:
                raise RuntimeError("prepare comes first")
            else:
                answer = answered(adapter, request)
        except Exception as error:
            traceback.print_exc()
            first = str(error).strip().split("\n")[0]
            answer = {"error": f"{type(error).__name__}: {first}"[:200]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def prepared(adapters: dict[str, type[Adapter]], request: dict[str, Any]) -> Any:
    kind = adapters[request["system"]]
    lengths = np.load(request["lengths"])
    # A few lengths first: what is loaded or compiled on first use is no memory of a plan.
    kind(lengths[:200], request["settings"]).plan(0)
    # The peak counts from here.
    gc.collect()
    with open("/proc/self/clear_refs", "w") as refs:
        refs.write("5")
    base = resident()
    adapter, times = timed(lambda: kind(lengths, request["settings"]))
    adapter.base = base
    version = importlib.metadata.version(kind.package) if kind.package else None
    about = {"package": kind.package, "version": version, "going_on": adapter.going_on, "dealing": adapter.dealing}
    return adapter, {"prepare": times, **about}


def answered(adapter: Adapter, request: dict[str, Any]) -> dict[str, Any]:
    epoch = request["epoch"]
    match request["do"]:
        case "plan":
            planned, times = timed(lambda: adapter.plan(epoch))
            return {**times, "peak": max(0, resident("VmHWM") - adapter.base)}
        case "again":
            return timed(lambda: adapter.again(epoch))[1]
        case "resume":
            return timed(lambda: adapter.resume(epoch, request["batches"]))[1]
        case "save":
            return saved(request["to"], adapter.whole(epoch))
        case "ranks":
            dealt = adapter.ranks(epoch, **request.get("how", {}))
            return {"own": False} if dealt is None else {"own": True, **saved(request["to"], dealt)}
    raise ValueError(f"unknown request {request['do']!r}")


def saved(to: str, arrays: tuple[np.ndarray, ...]) -> dict[str, Any]:
    for name, array in zip(("indices", "ends", "padded_to"), arrays):
        np.save(f"{to}.{name}.npy", array)
    return {"padded_to": len(arrays) > 2}
