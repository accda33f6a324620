"""The harness that trains a model of the user's under the ways to batch of an experiment."""

from __future__ import annotations

import copy
import importlib.util
import json
import math
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import lengthwise as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
import lab_task  # noqa: E402
from lab_files import BATCHES, HEAD, RANDOM, WAYS, epochs, write  # noqa: E402
from lengthwise import lab  # noqa: E402
from lengthwise.lab import _batches, _experiment, _session  # noqa: E402
from lengthwise.lab.__main__ import main  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).parents[2]


def test_every_way_sees_each_sequence_once_and_is_counted():
    tasks = []

    def build(settings):
        tasks.append(lab_task.build(settings))
        return tasks[-1]

    head, *lines = lab.run(write(WAYS), build, quiet=True, device="cpu")
    assert [run["name"] for run in head["runs"][:7]] == [
        "random", "default", "packed", "pieces", "own", "joined", "single"
    ]  # fmt: skip
    assert len(head["runs"]) == 14 and len(lines) == 28 and len(tasks) == 1
    assert head["error"] == "token error rate" and head["higher"] == ["hits"]
    lengths = tasks[0].lengths
    by_name = {}
    for line in lines:
        by_name.setdefault(line["name"], []).append(line)
        assert line["sequences"] == len(lengths), line["name"]
        assert line["frames"] == lengths.sum(), line["name"]
        assert line["cells"] >= line["frames"] and line["seconds"] > 0 and line["peak_bytes"] == 0
        assert math.isfinite(line["loss"]) and math.isfinite(line["validation"]["loss"])
        assert [name for name, _ in line["validation"]["more"]] == ["sum of weights", "hits"][: line["epoch"]]
    planned = lw.Planner(lengths, "shuffled", budget="padded:200", update="tokens:500", seed=2)
    for epoch in range(2):
        plan = planned.plan(epoch)
        (line,) = (one for one in by_name["random"] if (one["seed"], one["epoch"]) == (2, epoch + 1))
        schedule = plan.schedule(1)
        assert (line["steps"], line["batches"]) == (len(schedule), len(schedule.for_rank(0)))
        assert line["cells"] == (schedule.for_rank(0).batch_sizes * schedule.for_rank(0).batch_lengths).sum()
        assert line["step_mix"] == schedule.step_mix
    assert all(line["batches"] == line["steps"] for line in by_name["single"] + by_name["joined"])
    assert all(line["cells"] == line["frames"] for line in by_name["packed"] + by_name["joined"])
    assert all(line["steps"] == math.ceil(math.ceil(120 / 7) / 2) for line in by_name["own"])
    # Batches of other seeds and epochs are others.
    assert len({tuple(line["validation"]["loss"] for line in of) for of in by_name.values()}) == 7
    # A second run trains nothing, and says the same.
    assert lab.run("made.toml", build, quiet=True, device="cpu") == [head, *lines]
    assert tasks[-1].seen == []


def batches_of(text: str, number: int = 0, **settings) -> tuple[list[list[lab.Batch]], lab_task.Made]:
    experiment = _experiment.read(write(text))
    task = lab_task.build({**experiment.runs[0].model, **settings})
    run = experiment.runs[0]
    sampler = getattr(lab_task, run.sampler.partition(":")[2]) if run.sampler else None
    way = _batches.Way(run, _batches.lengths_of(task, "task"), sampler, "made.toml")
    return way.epoch(number, 1).steps, task


@pytest.mark.parametrize(
    "run",
    [
        'strategy = "shuffled"',
        'strategy = "packed:capacity=200"',
        'strategy = "shuffled"\nlayout = "packed"',
        'strategy = "sorted"\nchunk = 9',
        'sampler = "lab_task:pairs"\noptions = { size = 5 }',
        'sampler = "lab_task:pairs"\noptions = { size = 5 }\npacked = true',
    ],
)
def test_a_batch_says_what_it_holds(run):
    steps, task = batches_of(f'{HEAD}{BATCHES}[[run]]\nname = "a"\n{run}\n')
    pieces = []
    for batch in (batch for step in steps for batch in step):
        assert len(batch) == len(batch.lengths) == len(batch.starts)
        assert batch.shape >= (batch.lengths.sum() if batch.packed else batch.lengths.max())
        assert batch.packed == ("packed" in run)
        pieces += zip(batch.indices.tolist(), batch.starts.tolist(), batch.lengths.tolist(), strict=True)
    # The pieces of a sequence follow each other, and make it whole.
    ends = dict.fromkeys(range(len(task.lengths)), 0)
    for index, start, length in sorted(pieces):
        assert start == ends[index]
        ends[index] += length
    assert [ends[index] for index in range(len(task.lengths))] == task.lengths.tolist()
    assert "chunk" in run or len(pieces) == len(task.lengths)


def test_two_lengths():
    text = f'{HEAD}[model]\ntwo = true\n{BATCHES}[[run]]\nname = "a"\nstrategy = "recommended"\n'
    steps, task = batches_of(text)
    for batch in (batch for step in steps for batch in step):
        assert (batch.lengths == task.lengths[batch.indices]).all()
        assert (np.array(batch.shape) >= batch.lengths.max(0)).all()
    more = '[[run]]\nname = "b"\nsampler = "lab_task:pairs"\noptions = { size = 5 }\n'
    lines = epochs(lab.run(write(text + more), lab_task.build, quiet=True, device="cpu", seeds=[1]))
    assert {line["sequences"] for line in lines} == {120}
    assert {line["frames"] for line in lines} == {task.lengths.sum()}
    recommended, _ = batches_of(text.replace("tokens:500", "recommended"))
    assert sum(len(batch) for step in recommended for batch in step) == 120


class Noting(torch.optim.SGD):
    """Keeps the gradients and the rates of every step."""

    noted: list

    def step(self, closure=None):
        group = self.param_groups[0]
        grads = [parameter.grad.clone() for parameter in group["params"]]
        Noting.noted.append((grads, [parameter.detach().clone() for parameter in group["params"]], group["lr"]))
        return super().step(closure)


@pytest.mark.parametrize("by", ["loss", "backward"])
@pytest.mark.parametrize("layout", ["planned", "packed"])
def test_the_gradient_of_a_step_is_that_of_one_large_batch(by, layout, monkeypatch):
    tasks = []

    def build(settings):
        task = lab_task.build(settings)
        task.optimizer = lambda model: Noting(model.parameters(), lr=0.5)
        if by == "backward":

            def backward(model, batch, scale):
                loss, count = task.loss(model, batch)
                (loss * scale).backward()
                return loss.detach(), int(count)

            task.backward = backward
        tasks.append(task)
        return task

    Noting.noted = []
    text = f"{HEAD}[model]\ndropout = 0.0\ndouble = true\n[learning]\nclip = 0\n{BATCHES}layout = \"{layout}\"\n{RANDOM}"
    lab.run(write(text), build, quiet=True, device="cpu", seeds=[1], epochs=1)
    steps, task = batches_of(text.replace('layout = "packed"', ""))
    assert len(Noting.noted) == len(steps) and max(map(len, steps)) > 1
    for step, (grads, parameters, rate) in zip(steps, Noting.noted, strict=True):
        assert rate == 0.5
        union = _batches.Batch(
            *(np.concatenate([getattr(batch, name) for batch in step]) for name in ("indices",)),
            max(batch.shape for batch in step),
            False,
            *(np.concatenate([getattr(batch, name) for batch in step]) for name in ("starts", "lengths")),
        )
        model = lab_task.Net(8, 0.0).double()
        with torch.no_grad():
            for own, kept in zip(model.parameters(), parameters, strict=True):
                own.copy_(kept)
        task.seen = [[]]
        loss, count = task.loss(model, union)
        (loss / count).backward()
        for own, noted in zip(model.parameters(), grads, strict=True):
            torch.testing.assert_close(own.grad, noted, rtol=1e-12, atol=1e-15)


def test_a_recording_computes_with_other_leaves():
    """Results of an earlier pass that are alive hold the leaves that it computed with."""
    import torch
    from lengthwise.lab import _graphs

    model = torch.nn.ModuleDict({name: torch.nn.Linear(3, 3, bias=name == "a") for name in "ab"})
    model["b"].weight = model["a"].weight
    model["a"].bias.requires_grad_(False)
    own, gradient = model["a"].weight, torch.ones(3, 3)
    own.grad = gradient
    with pytest.raises(ValueError, match="a loss that fails"), _graphs._other_leaves(model):
        other = model["a"].weight
        assert other is not own and model["b"].weight is other and other.data_ptr() == own.data_ptr()
        assert model["b"].bias is None and not model["a"].bias.requires_grad
        model["b"](model["a"](torch.ones(1, 3))).sum().backward()
        raise ValueError("a loss that fails")
    assert own.grad is gradient and model["a"].weight is own and model["b"].weight is own
    added = gradient - 1
    own.grad = None
    model["b"](model["a"](torch.ones(1, 3))).sum().backward()
    assert added.abs().sum() > 0 and torch.equal(added + 1, own.grad + 1)


def test_gradients_are_clipped_and_rates_follow_the_data_seen():
    def build(settings):
        task = lab_task.build(settings)
        task.optimizer = lambda model: Noting(model.parameters(), lr=0.5)
        return task

    runs = f'{RANDOM}[[run]]\nname = "single"\nstrategy = "shuffled"\nupdate = "batch"\n'
    text = f'{HEAD}[learning]\nrate = 0.25\nclip = 0.01\nschedule = "linear"\nwarmup = 0.25\nfinal = 0.1\n{BATCHES}{runs}'
    rates = {}
    for name in ("random", "single"):
        Noting.noted = []
        lab.run(write(text), build, quiet=True, device="cpu", seeds=[1], only=[name], out=name)
        for grads, _, _ in Noting.noted:
            assert torch.cat([grad.flatten() for grad in grads]).norm() < 0.0101
        rates[name] = [rate for _, _, rate in Noting.noted]
    # As many tokens under each rate, whatever the number of steps.
    assert len(rates["single"]) > 2 * len(rates["random"])
    for got in rates.values():
        top = int(np.argmax(got))
        assert got[:top] == sorted(got[:top]) and got[top:] == sorted(got[top:], reverse=True)
        assert 0 < got[0] < 0.25 and 0.025 < got[-1] < 0.07 and 0.2 < got[top] <= 0.25
    assert abs(np.mean(rates["single"]) - np.mean(rates["random"])) < 0.01


def test_shares_of_the_rate_are_those_of_the_laboratory():
    learning = _experiment.Learning
    assert learning(warmup=0.1).share(0.05) == pytest.approx(0.5)
    assert learning(warmup=0.1).share(0.7) == 1.0
    assert learning(schedule="linear").share(0.25) == pytest.approx(0.75)
    assert learning(schedule="cosine").share(0.5) == pytest.approx(0.5)
    assert learning(schedule="cosine", warmup=0.2).share(1.0) == pytest.approx(0.0)
    assert learning(schedule="linear", final=0.05).share(1.0) == pytest.approx(0.05)


def test_the_last_epoch_is_measured_with_mean_parameters():
    # The sum of all weights is linear in them: that of the mean is the mean of the sums.
    text = f'{HEAD}[learning]\nrate = 0.02\n{{average}}{BATCHES}{RANDOM}'.replace("epochs = 2", "epochs = 5")
    sums = {}
    for average in (1, 3):
        lines = lab.run(
            write(text.format(average=f"average = {average}\n")), lab_task.build, quiet=True, device="cpu", seeds=[3], out=f"{average}"
        )
        sums[average] = [dict(line["validation"]["more"])["sum of weights"] for line in epochs(lines)]
    assert sums[1][:4] == sums[3][:4]
    assert sums[3][4] == pytest.approx(np.mean(sums[1][2:]), rel=1e-6)
    assert sums[3][4] != sums[1][4]


def test_a_run_that_diverges_ends_alone():
    text = f'{HEAD}[learning]\nclip = 0\n{BATCHES}{RANDOM}[[run]]\nname = "wild"\nstrategy = "shuffled"\nrate = 3e37\n'
    lines = epochs(lab.run(write(text), lab_task.build, quiet=True, device="cpu", seeds=[1]))
    assert [line["epoch"] for line in lines if line["name"] == "random"] == [1, 2]
    (wild,) = (line for line in lines if line["name"] == "wild")
    assert wild["loss"] == "nan" and "validation" not in wild
    assert wild["steps"] < lines[0]["steps"] and wild["frames"] < lines[0]["frames"]
    # It stays ended.
    assert len(lab.run("made.toml", lab_task.build, quiet=True, device="cpu", seeds=[1])) == 4


def test_patience():
    text = f"{HEAD}[learning]\nrate = 0.5\npatience = 1\n{BATCHES}{RANDOM}".replace("epochs = 2", "epochs = 30")
    head, *lines = lab.run(write(text), lab_task.build, quiet=True, device="cpu", seeds=[1])
    losses = [line["validation"]["loss"] for line in lines]
    assert len(lines) < 30 and head["runs"][0]["ended"] and losses[-1] >= min(losses[:-1])
    assert ["hits" in dict(line["validation"]["more"]) for line in lines] == [False] * (len(lines) - 1) + [True]
    assert f"stopped after epoch {len(lines)}" in head["notes"][0]


def test_bf16():
    text = f'{HEAD}[learning]\namp = "bf16"\n{BATCHES}{RANDOM}'
    (half,) = epochs(lab.run(write(text), lab_task.build, quiet=True, device="cpu", seeds=[1], epochs=1, out="a"))
    (full,) = epochs(lab.run(write(text.replace("bf16", "none")), lab_task.build, quiet=True, device="cpu", seeds=[1], epochs=1, out="b"))
    assert half["loss"] != full["loss"] and half["loss"] == pytest.approx(full["loss"], rel=0.01)


def test_step_mix_is_that_of_schedules(lengths):
    for settings in ({"strategy": "sorted"}, {"strategy": "shuffled", "update": "tokens:4000"}):
        schedule = lw.Planner(lengths, budget="padded:1500", **settings).plan(0).schedule(1)
        flat, each = list(schedule.for_rank(0)), schedule.accumulate
        steps = [np.concatenate(flat[at : at + each]) for at in range(0, len(flat), each)]
        assert _batches.step_mix(steps, lengths) == pytest.approx(schedule.step_mix, rel=1e-9)


@pytest.mark.parametrize("count", [0, torch.tensor(0)])
def test_a_step_with_nothing_to_learn_changes_nothing_else(count):
    steps = []

    def build(settings):
        task = lab_task.build(settings)
        of_batch = task.loss

        def loss(model, batch):
            steps.append(batch)
            loss, more = of_batch(model, batch)
            return (loss * 0, count) if len(steps) % 3 == 2 else (loss, more)

        task.loss = loss
        return task

    write(f"{HEAD}[batches]\nbudget = \"padded:200\"\n{RANDOM}")
    lines = lab.run("made.toml", build, quiet=True, device="cpu", seeds=[1])[1:]
    assert len(steps) > 10 and len(lines) == 2
    assert all(math.isfinite(line["loss"]) and math.isfinite(line["validation"]["loss"]) for line in lines)


def test_what_a_sampler_repeats_is_said():
    Path("samplers.py").write_text("def made(lengths, *_):\n    return [[range(len(lengths))], [range(len(lengths))]]\n")
    write(f'{HEAD}{BATCHES}[[run]]\nname = "own"\nsampler = "samplers:made"\n')
    total = int(lab_task.build({}).lengths.sum())
    said = _session.prepared("made.toml", lab_task.build, device="cpu").check()
    assert f"{2 * total} positions, and the sequences have {total}\n" in said
    del sys.modules["samplers"]


def test_settings_reach_the_task():
    got = []

    def build(settings):
        got.append(settings)
        return lab_task.build(settings)

    more = '[[run]]\nname = "wide"\nstrategy = "sorted"\nmodel = { width = 9 }\n'
    text = f'{HEAD}[task]\npath = "x.npz"\nkind = "made"\n[data]\nform = "lines"\n[model]\nwidth = 5\n{BATCHES}{RANDOM}{more}'
    lab.run(write(text), build, quiet=True, device="cpu", epochs=1, seeds=[1])
    assert [one["width"] for one in got] == [5, 9]
    assert {key: got[0][key] for key in ("data", "device", "epochs", "amp", "task")} == {
        "data": "x.npz", "device": "cpu", "epochs": 1, "amp": "none", "task": {"kind": "made"}
    }  # fmt: skip
    lab.run("made.toml", build, quiet=True, device="cpu", epochs=1, seeds=[1], data="elsewhere/y.npz")
    assert got[-1]["data"] == "elsewhere/y.npz" and got[-1]["task"] == {"form": "lines"}
    assert Path("runs/made-y.npz/results.jsonl").exists()


@pytest.mark.parametrize("how", [pickle.dumps, lambda batch: pickle.dumps(copy.deepcopy(batch))])
def test_a_batch_can_be_pickled(how):
    (batch, *_), *_ = batches_of(f"{HEAD}{BATCHES}{RANDOM}")[0]
    other = pickle.loads(how(batch))
    assert other.indices.tolist() == batch.indices.tolist() and other.lengths.tolist() == batch.lengths.tolist()
    assert (other.shape, other.packed, len(other)) == (batch.shape, False, len(batch))


def test_settings_of_learning_are_all_read():
    from dataclasses import fields

    assert set(_experiment.LEARNING) == {one.name for one in fields(_experiment.Learning)}


@pytest.mark.skipif(not os.environ.get("LENGTHWISE_LAB"), reason="the laboratory is not built")
@pytest.mark.parametrize("build", [lab_task.build, lab_task.silent])
def test_the_laboratory_reads_the_results(build):
    write(WAYS)
    lab.run("made.toml", build, quiet=True, device="cpu")
    done = subprocess.run(
        [os.environ["LENGTHWISE_LAB"], "report", "runs/made", "-o", "page.html", "--markdown"],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for name in ("random", "default", "packed", "own", "joined", "validation loss"):
        assert name in done.stdout
    assert ("token error rate" in done.stdout) == (build is lab_task.build)
    assert "diverged" not in done.stdout and "no number" not in done.stdout
    assert "<svg" in Path("page.html").read_text()


def test_the_guide(capsys):
    text = (ROOT / "docs/guides/lab.md").read_text()
    module, recorded = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (experiment,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(module.splitlines()) < 60
    Path("my_module.py").write_text(module + "\n\n" + recorded)
    write(experiment, "my.toml")
    commands = re.findall(r"^(?:\$ )?python -m (lengthwise.lab .*)$", text, re.MULTILINE)
    assert {line.split()[1] for line in commands} >= {"check", "run"}
    for line in commands[:2]:
        assert main([*line.split()[1:], "--device", "cpu"]) == 0
    lines = [json.loads(line) for line in Path("runs/my/results.jsonl").read_text().splitlines()]
    assert len(lines) == 1 + len(lines[0]["runs"]) * lines[-1]["epoch"]
    # Without a GPU, what would be recorded is computed, and the same is learned.
    again = lab.run("my.toml", "my_module:Recorded", quiet=True, device="cpu", out="recorded")
    assert [line["validation"] for line in again[1:]] == [line["validation"] for line in lines[1:]]


def test_cells_that_can_be_trained_again():
    """The result of every cell was kept, and its experiment has the run."""
    folder = ROOT / "lab/experiments"
    spec = importlib.util.spec_from_file_location("rerun", folder / "rerun.py")
    rerun = importlib.util.module_from_spec(spec)
    sys.modules["rerun"] = rerun
    spec.loader.exec_module(rerun)
    for cell in rerun.CELLS:
        assert 0 < rerun.last(folder / cell.kept, cell) < 100
        name = cell.experiment if cell.experiment.endswith(".toml") else f"{cell.experiment}.toml"
        assert f'name = "{cell.run}"' in (folder / name).read_text()
    none = subprocess.run([sys.executable, folder / "rerun.py"], capture_output=True, text=True, check=False, timeout=60)
    assert none.returncode == 2 and "expected data, got none" in none.stderr
