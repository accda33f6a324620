"""Data that all tests share, and a way to run a script on several ranks."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import multiprocessing.connection
import os
import runpy
import signal
import socket
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
SEQUENCES = 400
# Before PyTorch is imported: its threads wait for each other where several tests, or ranks, run at a time.
os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(scope="session")
def lengths() -> np.ndarray:
    """Lengths as of sentences: most are short, a few are long."""
    drawn = np.random.default_rng(7).lognormal(3.4, 0.6, SEQUENCES)
    return np.clip(drawn, 3, 300).astype(np.int64)


@pytest.fixture
def one_thread(monkeypatch, tmp_path):
    """A folder of its own, and a thread: small models take longer on several."""
    import torch

    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


#: What the scripts of ranks import, which takes seconds: a server imports it once, and forks every process.
PRELOADED = [
    "torch", "torch.distributed", "transformers.trainer", "accelerate", "lightning", "torchdata.stateful_dataloader"
]  # fmt: skip


@pytest.fixture(scope="session")
def forked() -> multiprocessing.context.ForkServerContext:
    """Starts processes that know nothing of this one, and yet have the frameworks imported."""
    os.environ.update(OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def of_rank(script: str, arguments: list[str], log: Path, environment: dict[str, str]) -> None:
    """Becomes one rank of a script, as `torchrun` starts it."""
    os.setsid()
    multiprocessing.set_start_method("fork", force=True)  # As in a process that was started from a shell.
    file = os.open(log, os.O_WRONLY | os.O_CREAT)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.environ.update(environment)
    warnings.simplefilter("ignore")
    sys.argv = [script, *arguments]
    sys.path.insert(0, str(Path(script).parent))
    runpy.run_path(script, run_name="__main__")


@pytest.fixture
def on_ranks(tmp_path: Path, forked):
    """Runs a script of `tests/ranks` on so many processes, and gives what each wrote."""

    def run(script: str, world_size: int, *arguments: str, timeout: float = 240) -> list:
        out = tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}"
        out.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        ranks = []
        for rank in map(str, range(world_size)):
            environment = {
                "RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": str(world_size), "LOCAL_WORLD_SIZE": str(world_size),
                "GROUP_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "TORCHELASTIC_RUN_ID": "none",
                "GLOO_SOCKET_IFNAME": "lo",
            }  # fmt: skip
            given = (str(HERE / "ranks" / script), [str(out), *arguments], out / f"{rank}.log", environment)
            ranks.append(forked.Process(target=of_rank, args=given))
            ranks[-1].start()
        try:
            end = time.monotonic() + timeout
            waiting = list(ranks)
            while waiting and not any(rank.exitcode for rank in ranks):
                assert multiprocessing.connection.wait([rank.sentinel for rank in waiting], end - time.monotonic())
                waiting = [rank for rank in waiting if rank.is_alive()]
            assert not any(rank.exitcode for rank in ranks)
        except AssertionError:
            codes = [rank.exitcode for rank in ranks]
            text = "\n".join((out / f"{rank}.log").read_text()[-4000:] for rank in range(world_size))
            raise AssertionError(f"{script} ended with {codes} (None: it did not end):\n{text}") from None
        finally:
            for rank in ranks:
                with contextlib.suppress(ProcessLookupError):  # It has ended, and so have its workers.
                    os.killpg(rank.pid, signal.SIGKILL)
                rank.join()
        return [json.loads((out / f"{rank}.json").read_text()) for rank in range(world_size)]

    return run


def everything_once(batches: list[list[int]], sequences: int = SEQUENCES) -> bool:
    """Whether the batches hold every sequence exactly once."""
    return sorted(index for batch in batches for index in batch) == list(range(sequences))
