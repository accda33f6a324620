"""Data that all tests share, and a way to run a script on several ranks."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

HERE = Path(__file__).parent
SEQUENCES = 400


@pytest.fixture(scope="session")
def lengths() -> np.ndarray:
    """Lengths as of sentences: most are short, a few are long."""
    drawn = np.random.default_rng(7).lognormal(3.4, 0.6, SEQUENCES)
    return np.clip(drawn, 3, 300).astype(np.int64)


@pytest.fixture
def on_ranks(tmp_path: Path):
    """Runs a script of `tests/ranks` on so many processes, and gives what each wrote."""

    def run(script: str, world_size: int, *arguments: str, timeout: float = 240) -> list:
        out = tmp_path / f"out-{len(list(tmp_path.glob('out-*')))}"
        out.mkdir()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [
            sys.executable, "-m", "torch.distributed.run", "--nnodes=1",
            f"--nproc-per-node={world_size}", "--master-addr=127.0.0.1", f"--master-port={port}",
            str(HERE / "ranks" / script), str(out), *arguments,
        ]  # fmt: skip
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "CUDA_VISIBLE_DEVICES": "",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
            "PYTHONWARNINGS": "ignore",
        }
        process = subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            start_new_session=True,
        )  # fmt: skip
        try:
            text, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            raise AssertionError(f"{script} did not end:\n{text[-4000:]}") from None
        assert process.returncode == 0, text[-6000:]
        return [json.loads((out / f"{rank}.json").read_text()) for rank in range(world_size)]

    return run


def everything_once(batches: list[list[int]], sequences: int = SEQUENCES) -> bool:
    """Whether the batches hold every sequence exactly once."""
    return sorted(index for batch in batches for index in batch) == list(range(sequences))
