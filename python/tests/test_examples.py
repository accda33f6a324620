"""The examples, run as users run them: the same plan drives DDP and Ray Train."""

from __future__ import annotations

import copy
import importlib.util
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import lengthwise as lw
import pytest
from conftest import HERE, everything_once

pytest.importorskip("torch")

EXAMPLES = HERE.parent / "examples"
SEQUENCES = 600
BUDGET = "padded:1000"
STOP = 20  # In the second epoch, of 13 steps on two ranks.
LINE = re.compile(
    r"^epoch (\d+): loss ([\d.]+), ([\d.]+)% padding, [\d.]+ s, ([\d.]+)% idle, (\d+) steps$", re.MULTILINE
)


class Row(NamedTuple):
    """What an example prints of an epoch, or of its part of one."""

    epoch: int
    loss: float
    padding: float
    idle: float
    steps: int


def rows_of(text: str) -> list[Row]:
    return [
        Row(int(epoch), float(loss), float(padding), float(idle), int(steps))
        for epoch, loss, padding, idle, steps in LINE.findall(text)
    ]


def run(*command: str, timeout: float) -> list[Row]:
    """Runs a command on the loopback device alone, and reads what it prints."""
    with tempfile.TemporaryDirectory(prefix="lw") as scratch:  # Ray needs a short name.
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "CUDA_VISIBLE_DEVICES": "",
            "PYTHONWARNINGS": "ignore",
            "HOME": scratch,
            "RAY_TMPDIR": scratch,
            "RAY_USAGE_STATS_ENABLED": "0",
            # No cluster, but one machine: Ray then listens on the loopback device, on Linux too.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        }
        environment.pop("RAY_ADDRESS", None)
        process = subprocess.Popen(
            [sys.executable, *command], env=environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip
        try:
            text, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            text, _ = process.communicate()
            raise AssertionError(f"{command} did not end:\n{text[-4000:]}") from None
    assert process.returncode == 0, text[-6000:]
    return rows_of(text)


def ddp(world_size: int, *arguments: str) -> list[Row]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return run(
        "-m", "torch.distributed.run", "--nnodes=1", f"--nproc-per-node={world_size}",
        "--master-addr=127.0.0.1", f"--master-port={port}", str(EXAMPLES / "ddp.py"), *arguments,
        timeout=120,
    )  # fmt: skip


def seen_by(folder: Path) -> list[list[tuple[int, list[list[int]]]]]:
    """What each rank trained on: epochs, or parts of them, with their batches."""
    files = sorted(folder.glob("*.jsonl"))
    lines = [[json.loads(line) for line in file.read_text().splitlines()] for file in files]
    return [[(line["epoch"], line["batches"]) for line in rank] for rank in lines]


def of_epoch(ranks: list, epoch: int) -> list[list[int]]:
    return [batch for rank in ranks for number, part in rank if number == epoch for batch in part]


def example(name: str) -> ModuleType:
    specification = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def whole_ddp(tmp_path_factory) -> tuple[list[Row], list]:
    """DDP on two ranks: what was printed, and seen."""
    folder = tmp_path_factory.mktemp("whole")
    rows = ddp(2, "--checkpoint", str(folder / "tagger.pt"), "--seen", str(folder))
    return rows, seen_by(folder)


def test_ddp_takes_equal_steps_sees_everything_once_and_learns(whole_ddp):
    rows, ranks = whole_ddp
    assert len(ranks) == 2 and [row.epoch for row in rows] == [0, 1, 2]
    for row, one, other in zip(rows, *ranks, strict=True):
        assert len(one[1]) == len(other[1]) == row.steps
        assert everything_once(of_epoch(ranks, row.epoch), SEQUENCES)
    assert rows[2].loss < rows[1].loss < rows[0].loss and rows[2].loss < 0.5 * rows[0].loss
    assert len({str(of_epoch(ranks, epoch)) for epoch in range(3)}) == 3


def test_ddp_prints_what_was_planned(whole_ddp):
    rows, _ = whole_ddp
    lengths = [len(item["symbols"]) for item in example("ddp").sequences()]
    for row in rows:
        plan = lw.plan(lengths, budget=BUDGET, epoch=row.epoch, canonical_ranks=2, constant_steps=True)
        schedule = plan.schedule(2)
        padding = 100 * schedule.all_ranks().measure().padding_rate
        assert row.steps == len(schedule)
        assert row.padding == pytest.approx(padding, abs=0.006)
        assert row.idle == pytest.approx(100 * schedule.idle_share, abs=0.006)


def test_ddp_trains_as_one_process_does_on_the_unions_of_the_batches(whole_ddp):
    import torch
    from lengthwise.torch import pad_collate

    rows, ranks = whole_ddp
    made = example("ddp")
    data = list(made.sequences())
    collate = pad_collate(padding_value={"tags": made.PADDING})
    torch.manual_seed(0)
    model = made.Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for row in rows:
        lost = 0.0
        steps = zip(*(batches for rank in ranks for epoch, batches in rank if epoch == row.epoch), strict=True)
        for one, other in steps:
            batch = collate([data[index] for index in one + other])
            loss = model(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            lost += loss.item() * batch["lengths"].sum().item()
        # Without weights, the losses are off by 0.0003 and more.
        assert row.loss == pytest.approx(lost / sum(len(item["tags"]) for item in data), abs=1e-4)


@pytest.fixture(scope="module")
def stopped_ddp(tmp_path_factory) -> tuple[list[Row], list, list]:
    """DDP stopped on two ranks, and gone on with on one: what was printed, and seen before and after."""
    folder = tmp_path_factory.mktemp("ddp")
    arguments = ("--checkpoint", str(folder / "tagger.pt"))
    (folder / "before").mkdir()
    (folder / "after").mkdir()
    rows = ddp(2, *arguments, "--stop", str(STOP), "--seen", str(folder / "before"))
    rows += ddp(1, *arguments, "--resume", "--seen", str(folder / "after"))
    return rows, seen_by(folder / "before"), seen_by(folder / "after")


def check_stop_and_resume(rows: list[Row], before: list, after: list) -> None:
    assert [row.epoch for row in rows] == [0, 1, 1, 2]
    assert (len(before), len(after)) == (2, 1)
    steps = [[len(batches) for _, batches in rank] for rank in before]
    assert steps[0] == steps[1] == [rows[0].steps, rows[1].steps]
    assert sum(steps[0]) == STOP and rows[1].steps < rows[0].steps
    assert [len(batches) for _, batches in after[0]] == [rows[2].steps, rows[3].steps]
    for epoch in range(3):
        assert everything_once(of_epoch(before + after, epoch), SEQUENCES)
    assert rows[3].loss < rows[1].loss < rows[0].loss


def test_ddp_stops_in_an_epoch_on_two_ranks_and_goes_on_with_one(stopped_ddp):
    check_stop_and_resume(*stopped_ddp)


def test_ray_train_does_the_same_as_ddp(stopped_ddp, tmp_path):
    script, folder = str(EXAMPLES / "ray_train.py"), str(tmp_path / "tagger")
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    after.mkdir()
    arguments = (script, "--folder", folder)
    stop = ("--workers", "2", "--stop", str(STOP), "--seen", str(before))
    first = run(*arguments, *stop, timeout=240)
    resume = ("--workers", "1", "--resume", "--seen", str(after))
    rows = run(*arguments, *resume, timeout=240)
    check_stop_and_resume(rows, seen_by(before), seen_by(after))
    assert rows[:2] == first
    assert (seen_by(before), seen_by(after)) == stopped_ddp[1:]
    for row, same in zip(rows, stopped_ddp[0], strict=True):
        assert row == pytest.approx(same, abs=0.006)


def test_planned_batches_give_the_embeddings_of_each_text_alone(tmp_path):
    pytest.importorskip("sentence_transformers")
    import numpy as np

    made = example("encode")
    words = [letter * size for letter in "abcdefghij" for size in range(1, 9)]
    texts = [" ".join(words[(7 * n + at) % 80] for at in range(n * n % 97)) for n in range(150)]
    model = made.small_model(tmp_path, words)
    alone = np.stack([model.encode(text) for text in texts])
    for settings in ({}, {"workers": 2, "window": 50}):
        embeddings = np.stack(list(made.embed(model, texts, budget="padded:1000", **settings)))
        # Not to the bit: the order of additions in a product of matrices depends on their shapes.
        np.testing.assert_allclose(embeddings, alone, rtol=0, atol=1e-5)
        # Another order would be seen.
        assert np.abs(embeddings[1:] - alone[:-1]).max() > 0.1


def test_planned_batches_give_a_pipelines_results_of_each_text_alone(tmp_path):
    pytest.importorskip("transformers")
    made = example("classify")
    words = [letter * size for letter in "abcdefghij" for size in range(1, 9)]
    texts = [" ".join(words[(7 * n + at) % 80] for at in range(n * n % 97)) for n in range(150)]
    classifier = made.small_pipeline(tmp_path, words)
    found = list(made.classify(classifier, texts, budget="padded:1000"))
    alone = [classifier(text, truncation=True)[0] for text in texts]
    assert [one["label"] for one in found] == [one["label"] for one in alone]
    assert [one["score"] for one in found] == pytest.approx([one["score"] for one in alone], abs=1e-5)
    assert len({one["score"] for one in found}) > 100


def test_weights_make_ddps_gradient_that_of_the_union_of_the_batches(on_ranks):
    for rank in on_ranks(__file__, 2):
        assert any(one != other for one, other in rank["positions"])
        assert max(rank["with"]) < 1e-12
        assert max(rank["without"]) > 1e-3


def gradients() -> None:
    """On each rank: how far DDP's gradient is from that of all ranks' sequences in one batch, for each
    step of an epoch, with weights and without."""
    import torch
    import torch.distributed as dist
    from lengthwise.torch import BatchSampler, pad_collate
    from torch.nn.parallel import DistributedDataParallel

    sys.path.insert(0, str(HERE / "ranks"))
    from common import finish, write

    dist.init_process_group("gloo")
    torch.manual_seed(0)
    made = example("ddp")
    data = list(made.sequences())
    alone = made.Tagger().double()
    model = DistributedDataParallel(copy.deepcopy(alone))
    sampler = BatchSampler([len(item["symbols"]) for item in data], "shuffled", budget=BUDGET)
    collate = pad_collate(padding_value={"tags": made.PADDING})  # Also of two batches together.

    def gradient(module: torch.nn.Module, indices: list[int], weight: float) -> torch.Tensor:
        module.zero_grad()
        (module(collate([data[index] for index in indices])) * weight).backward()
        return torch.cat([parameter.grad.flatten() for parameter in module.parameters()])

    result: dict[str, list] = {"with": [], "without": [], "positions": []}
    for weight, batch in zip(sampler.weights().tolist(), sampler, strict=True):
        shared: list = [None, None]
        dist.all_gather_object(shared, list(batch))
        union = gradient(alone, shared[0] + shared[1], 1.0)
        for name, factor in (("with", weight), ("without", 1.0)):
            result[name].append((gradient(model, batch, factor) - union).abs().max().item())
        result["positions"].append([sum(len(data[i]["symbols"]) for i in part) for part in shared])
    write(result)
    finish()


if __name__ == "__main__":
    gradients()
