"""The harness that trains a model of the user's under the ways to batch of an experiment."""

from __future__ import annotations

import contextlib
import copy
import errno
import importlib.util
import io
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
from pathlib import Path

import lengthwise as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
import lab_task  # noqa: E402
from lengthwise import lab  # noqa: E402
from lengthwise.lab import _batches, _checkpoint, _experiment, _session  # noqa: E402
from lengthwise.lab.__main__ import main  # noqa: E402

ROOT = Path(__file__).parents[2]
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


@pytest.fixture(autouse=True)
def one_thread(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def write(text: str, name: str = "made.toml") -> str:
    Path(name).write_text(text)
    return name


def epochs(lines: list[dict]) -> list[dict]:
    return lines[1:]


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


def weights(folder: str) -> dict[str, bytes]:
    found = {}
    for path in sorted((Path(folder) / "checkpoints").glob("*.pt")):
        _, about, tensors = path.read_bytes().split(b"\n", 2)
        assert json.loads(about)["epochs"]
        state = torch.load(io.BytesIO(tensors), weights_only=True)
        found[path.name] = b"".join(tensor.numpy().tobytes() for tensor in state["model"].values())
    return found


def without_time(folder: str) -> list[dict]:
    lines = [json.loads(line) for line in (Path(folder) / "results.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in lines]


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess:
    paths = [str(Path(__file__).parent), str(Path(lw.__file__).parents[1])]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1", **environment}
    return subprocess.run(
        [sys.executable, "-m", "lengthwise.lab", *arguments], capture_output=True, text=True, env=env, timeout=120, check=False
    )


def test_after_kill_9_it_continues_to_the_same_bits():
    for name, die in (("whole", ""), ("killed", "die_at = 90\n")):
        write(WAYS.replace("dropout = 0.1\n", f"dropout = 0.1\n{die}"), f"{name}.toml")
    chosen = ("--model", "lab_task:build", "--only", "random,own,joined", "--seeds", "4", "--device", "cpu", "--quiet")
    killed = command("run", "killed.toml", *chosen)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert 0 < len(without_time("runs/killed")) - 1 < 6
    again = command("run", "killed.toml", *chosen, LIVES="1")
    assert again.returncode == 0, again.stderr
    assert "lengthwise-lab report runs/killed" in again.stderr and "validation loss" in again.stdout
    lab.run("whole.toml", lab_task.build, only=["random", "own", "joined"], seeds=[4], device="cpu", quiet=True)
    head, *lines = without_time("runs/whole")
    other, *same = without_time("runs/killed")
    assert same == lines and len(lines) == 6
    assert list(weights("runs/killed").values()) == list(weights("runs/whole").values())


def test_ctrl_c_stops_between_steps_and_continues():
    count = 0

    def build(settings):
        task = lab_task.build(settings)
        loss = task.loss

        def counted(model, batch):
            nonlocal count
            count += 1
            if count == 40:
                os.kill(os.getpid(), signal.SIGINT)
            return loss(model, batch)

        task.loss = counted
        return task

    write(WAYS)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        lab.run("made.toml", build, quiet=True, device="cpu", only=["random", "default"], seeds=[1], out="stopped")
    assert signal.getsignal(signal.SIGINT) is handler
    for out in ("stopped", "whole"):
        lab.run("made.toml", build, quiet=True, device="cpu", only=["random", "default"], seeds=[1], out=out)
    assert without_time("stopped") == without_time("whole")
    assert weights("stopped") == weights("whole")


@pytest.mark.parametrize("verb", ["run", "check"])
def test_ctrl_c_before_training_begins(verb, capsys):
    write(WAYS)
    Path("early.py").write_text("import os, signal\n\ndef build(settings):\n    os.kill(os.getpid(), signal.SIGINT)\n")
    # What was started in the background ignores Ctrl-C, and so may this process.
    before, code = signal.signal(signal.SIGINT, signal.default_int_handler), None
    try:
        code = main([verb, "made.toml", "--model", "early:build", "--device", "cpu"])
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGINT, before)
    assert code == 130
    assert capsys.readouterr() == ("", "stopped\n") and not Path("runs").exists()


def test_more_epochs_continue_and_turns_change_nothing():
    text = f"{HEAD}[learning]\nrate = 0.02\n{BATCHES}{RANDOM}[[run]]\nname = \"b\"\nstrategy = \"sorted\"\n"
    write(text)
    lab.run("made.toml", lab_task.build, quiet=True, device="cpu", epochs=1)
    lab.run("made.toml", lab_task.build, quiet=True, device="cpu", epochs=3)
    lab.run(write("turns = false\n" + text, "other.toml"), lab_task.build, quiet=True, device="cpu", epochs=3)
    head, *lines = without_time("runs/made")

    def plain(lines):  # Measures of the last epoch were taken after the first here.
        return [
            {**line, "validation": {**line["validation"], "more": line["validation"]["more"][:1]}} for line in lines
        ]

    assert plain(lines) == plain(without_time("runs/other")[1:])
    # Fewer epochs show the first of those that are kept.
    assert len(lab.run("made.toml", lab_task.build, quiet=True, device="cpu", epochs=2)) == 1 + 8


def test_a_run_can_have_epochs_of_its_own(capsys):
    """The rate falls over its own epochs, and `epochs` of a call is for all runs."""
    text = f"{HEAD}[learning]\nrate = 0.02\nschedule = \"linear\"\n{BATCHES}{RANDOM}[[run]]\nname = \"b\"\nstrategy = \"sorted\"\n"

    def losses(text, name, **more):
        head, *lines = lab.run(write(text, f"{name}.toml"), lab_task.build, device="cpu", seeds=[1], **more)
        found = {run["name"]: [line["loss"] for line in lines if line["name"] == run["name"]] for run in head["runs"]}
        return dict(head["about"])["learning"], found

    about, uneven = losses(f"{text}epochs = 4\n", "uneven")
    assert about.endswith(", 2 to 4 epochs")
    told = capsys.readouterr().err
    assert "random, seed 1: epoch 2/2 in " in told and "b, seed 1: epoch 4/4 in " in told
    _, short = losses(text, "short")
    _, long = losses(text, "long", epochs=4)
    assert uneven == {"random": short["random"], "b": long["b"]}
    assert [len(of) for of in uneven.values()] == [2, 4] and short["b"] != long["b"][:2]
    about, all_long = losses(f"{text}epochs = 4\n", "all", epochs=3)
    assert about.endswith(", 3 epochs") and [len(of) for of in all_long.values()] == [3, 3]
    with pytest.raises(lw.SettingError, match="run 'b' epochs: expected a whole number from 1, got 0"):
        losses(f"{text}epochs = 0\n", "none")


def test_damaged_checkpoints_are_refused():
    text = f"{HEAD}{BATCHES}{RANDOM}"
    write(text)

    def train(**more):
        return lab.run("made.toml", lab_task.build, quiet=True, device="cpu", seeds=[1], epochs=1, **more)

    before = without_time("runs/made") if train() else None
    (path,) = Path("runs/made/checkpoints").glob("*.pt")
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    older = whole.replace(b"training 2", b"training 1", 1)
    for damaged in (whole[:100], whole[:-1], bytes(flipped), b"", b"x" + whole, older):
        path.write_bytes(damaged)
        other = not damaged.startswith(_checkpoint.MAGIC)
        what = "expected a checkpoint of this version, got one of another version" if other else "the checkpoint is damaged"
        with pytest.raises(lw.StateError, match=f"{path.name}: {what}") as error:
            train()
        assert "--fresh" in error.value.hint
        assert path.read_bytes() == damaged
    path.write_bytes(whole)
    train()
    write(text.replace("padded:200", "padded:220"))
    with pytest.raises(lw.StateError, match="other settings or other data"):
        train()
    Path("runs/made/checkpoints/notes.txt").write_text("mine")
    train(fresh=True)
    assert without_time("runs/made") != before and Path("runs/made/checkpoints/notes.txt").exists()


IDENTITY = f"""{HEAD}
[task]
path = "one.npz"
kind = "made"
[model]
width = 8
{BATCHES}
[[run]]
name = "own"
sampler = "lab_task:pairs"
options = {{ size = 7, more = 1 }}
[[run]]
name = "planned"
strategy = "shuffled"
"""


@pytest.mark.parametrize("name", ["own", "planned"])
def test_trainings_with_other_settings_are_refused(name):
    def train(text=IDENTITY, build=lab_task.build):
        return lab.run(write(text), build, quiet=True, device="cpu", seeds=[1], epochs=1, only=[name])

    kept = train()
    for old, new, of in (
        ("tokens:500", "tokens:600", "batches."),
        ("padded:200", "padded:300", "batches."),
        ("[[run]]", 'over_long = "drop"\n[[run]]', "batches."),
        ("[[run]]", 'tail = "drop"\n[[run]]', "batches."),
        ("[[run]]", 'layout = "packed"\n[[run]]', "batches."),
        ("size = 7", "size = 6", "batches."),
        ("more = 1 }", "more = 1 }\npacked = true", "batches."),
        ('kind = "made"', 'kind = "other"', "task.kind`"),
        ("one.npz", "two.npz", "data`"),
        ("width = 8", "width = 8.0", "model.width`"),
        ("width = 8", "width = 8\ndropout = 0.2", "model.dropout`"),
        ("width = 8", "width = 8\n[learning]\naverage = 2", "learning.average`"),
        ("width = 8", 'width = 8\n[learning]\namp = "bf16"', "learning.amp`"),
    ):
        assert old in IDENTITY
        if name == "planned" and old.startswith(("size", "more")):
            assert train(IDENTITY.replace(old, new, 1)) == kept
            continue
        with pytest.raises(lw.StateError, match=f"other settings or other data: .*`{of}"):
            train(IDENTITY.replace(old, new, 1))
            pytest.fail(f"{name} was taken for one with {new}")
    with pytest.raises(lw.StateError, match="other settings or other data: `build`"):
        train(build=lab_task.silent)
    # Neither the order of settings nor the place of the data matters.
    moved = IDENTITY.replace("size = 7, more = 1", "more = 1, size = 7").replace("one.npz", "elsewhere/one.npz")
    moved = moved.replace(BATCHES, '[batches]\nupdate = "tokens:500"\nbudget = "padded:200"\n')
    assert train(moved)[1:] == kept[1:]


def test_the_settings_of_runs_say_what_decides_the_batches():
    text = IDENTITY.replace("[[run]]", 'tail = "drop"\n[[run]]', 1).replace("more = 1 }", "more = 1 }\npacked = true\nrate = 0.1")
    own, planned = lab.run(write(text), lab_task.build, quiet=True, device="cpu", seeds=[1], epochs=1)[0]["runs"]
    assert own["settings"] == (
        "lab_task:pairs(size 7, more 1, budget padded:200, update tokens:500, tail drop), each batch as one packed row, rate 0.1"
    )
    assert planned["settings"] == "shuffled padded:200 exact spread update tokens:500 tail drop"


def test_the_first_line_says_only_what_all_runs_share():
    text = f'{HEAD}[model]\nwidth = 5\n{BATCHES}{RANDOM}rate = 0.01\n'
    text += '[[run]]\nname = "wide"\nstrategy = "sorted"\nrate = 0.02\nmodel = { width = 9 }\n'

    def build(settings):
        task = lab_task.build(settings)
        task.about = {"data": "made", "model": f"width {settings['width']}"}
        return task

    def about(**more):
        return dict(lab.run(write(text), build, quiet=True, device="cpu", seeds=[1], epochs=1, **more)[0]["about"])

    both, one = about(), about(only=["wide"])
    assert both["learning"] == "adam, rates differ by run, constant, 1 epoch" and both["model"] == "differs by run"
    assert one["learning"] == "adam, rate 0.02, constant, 1 epoch" and one["model"] == "width 9"
    assert both["data"] == one["data"] == "made" and both["sequences"] == "120 for training"
    own = changed(optimizer=lambda model: torch.optim.SGD(model.parameters(), lr=0.1))
    head, *_ = lab.run("made.toml", own, quiet=True, device="cpu", seeds=[1], epochs=1, only=["random"], out="own")
    assert dict(head["about"])["learning"] == "the task's optimizer, rate 0.01, constant, 1 epoch"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space on the disk; then run the same command again"),
        (errno.EDQUOT, "free some space on the disk"),
        (errno.EFBIG, "ulimit -f unlimited"),
        (errno.EACCES, "check that the folder exists and can be written to"),
    ],
)
def test_a_file_that_cannot_be_written(number, hint, monkeypatch):
    def fail(_):
        raise OSError(number, os.strerror(number))

    write("before", "kept")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(lw.FileError, match=f"kept: {os.strerror(number)}") as error:
        _checkpoint.write(Path("kept"), b"after")
    assert hint in error.value.hint
    assert [path.read_text() for path in Path().iterdir()] == ["before"]


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


def test_check_and_the_command(capsys):
    write(WAYS)
    assert main(["check", "made.toml", "--model", "lab_task:build", "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert "120 sequences, lengths 3 to 39" in shown and not Path("runs").exists()
    for run in ("random", "own", "joined"):
        assert re.search(rf"^{run} +\d+ batches, +\d+ optimizer steps, padding +[\d.]+ %, \d+ shapes", shown, re.MULTILINE)
    again = ["run", "made.toml", "--model", "lab_task:build", "--only", "random", "--seeds", "1,2", "--device", "cpu"]
    assert main(again) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0].split()[0] == "run" and out.splitlines()[1].startswith("random ")
    assert "random, seed 2: epoch 2/2" in err and "lengthwise-lab report runs/made" in err
    assert main(again) == 0
    assert "Nothing was trained" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("change", "message", "hint"),
    [
        (("epochs = 2", "epochs = "), r"made.toml: Invalid value \(at line 2", "not valid TOML"),
        (("epochs = 2", "epoch = 2"), "made.toml: epoch: there is no such setting", "`epochs`"),
        (("epochs = 2", "epochs = 0"), "made.toml: epochs: expected a whole number from 1, got 0", "from 1"),
        (("seeds = [1, 2]", "seeds = [1, 1]"), "made.toml: seeds: expected a list of different", "1, 2, 3"),
        (("rate = 0.02", 'rate = "fast"'), "made.toml: .learning. rate: expected a number above 0, and at most 3e38, got 'fast'", "above 0"),
        (("rate = 0.02", "rat = 0.02"), "made.toml: .learning. rat: there is no such setting", "`rate`"),
        (("average = 2", "average = 2\npatience = 3"), "made.toml: run 'random': with `patience`", "leave one"),
        (('strategy = "shuffled"', 'strategie = "shuffled"'), "run 'random' strategie: there is no such", "`strategy`"),
        (('strategy = "shuffled"', 'strategy = "shufled"'), "made.toml: run 'random': .*shufled", "shuffled"),
        (('strategy = "shuffled"', ""), "made.toml: run 'random': there is no strategy", "recommended"),
        (("padded:200", "padded:9"), "made.toml: run '.*': sequence 0 of length 27 alone costs 27 cells", "raise the budget"),
        (("lab_task:pairs", "lab_task:pears"), "run 'own' sampler: the module 'lab_task' has no function 'pears'", "colon"),
        (("lab_task:pairs", "lab_tusk:pairs"), "run 'own' sampler: there is no module 'lab_tusk'", "folder"),
        (("size = 7", "size = 7, more = 1"), None, None),
        (('name = "default"', 'name = "random"'), "made.toml: two runs are called 'random'", "of its own"),
        (("[model]", "scaling = 8\n[model]"), "made.toml: scaling: a model of yours is trained by one worker", "lengthwise-lab"),
        (("[model]", 'pairs = [["random", "b"]]\n[model]'), "`pairs` has 'b'", "names of runs"),
    ],
)
def test_errors_of_files(change, message, hint, capsys):
    assert change[0] in WAYS
    write(WAYS.replace(*change, 1))
    code = main(["check", "made.toml", "--model", "lab_task:build", "--device", "cpu"])
    error = capsys.readouterr().err
    if message is None:
        assert code == 0
        return
    assert code == 2
    assert re.match(f"error: .*{message}", error), error
    assert hint in error.partition("\n\nhint: ")[2], error


def test_names_with_commas_are_found():
    names = ["a", "a, 1 batch", "b"]
    for text, found in (
        ("a", ["a"]), ("a, 1 batch", ["a, 1 batch"]), ("a,b", ["a", "b"]), ("b, a, 1 batch,a", ["b", "a, 1 batch", "a"])
    ):  # fmt: skip
        assert _experiment._listed(text, names) == found
    with pytest.raises(lw.SettingError, match="no run is called '1 batch'"):
        _experiment._listed("b, 1 batch", names)


def changed(**attributes):
    def build(settings):
        task = lab_task.build(settings)
        for name, value in attributes.items():
            setattr(task, name, value)
        return task

    return build


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda settings: object(), "expected a task with `lengths`, got a object without"),
        (changed(lengths=np.array([3, 0, 4])), "expected `lengths` from 1, got 0 for sequence 1"),
        (changed(lengths=np.ones((3, 3), int)), "one or two for each sequence, got an array of int64 of shape"),
        (changed(lengths=["a", "b"]), "whole numbers"),
        (changed(model=lambda: None), "random, seed 1: expected `model..` to return a torch.nn.Module, got NoneType"),
        (changed(loss=lambda model, batch: torch.zeros(())), "expected `loss` to return the sum of the losses"),
        (changed(loss=lambda model, batch: (torch.zeros(()), 1)), "depends on the parameters, got a tensor of shape .. without"),
        (changed(loss=lambda model, batch: (model.out.bias, 1)), r"got a tensor of shape \(12,\)"),
        (changed(loss=lambda model, batch: (model.out.bias.sum(), 0)), "random, seed 1: expected a count above 0"),
        (changed(loss=lambda model, batch: (model.out.bias.sum() * math.nan, 1)), "expected a finite loss in the first step, got nan"),
        (changed(validate=lambda model: {"error": 1}), 'expected `validate` to return a "loss", got error'),
        (changed(validate=lambda model: 3), "expected `validate` to return a dict of numbers, got 3"),
        (changed(test=lambda model: {"loss": 3}), "`validate` and `test` both return 'loss'"),
        (changed(loss=lambda model, batch: (model.out.bias.sum(), torch.ones(2))), "to return a count beside the sum"),
        (changed(loss=lambda model, batch: (model.out.bias.sum(), "7")), "to return a count beside the sum of the losses, got 7"),
        (changed(validate=lambda model: {"loss": "0.5"}), "expected `validate` to return a dict of numbers"),
        (changed(validate=lambda model: {"loss": 10**400}), "expected `validate` to return a dict of numbers"),
        (changed(validate=lambda model: {"loss": 1, "seconds_per_epoch": 2}), "'seconds_per_epoch', which is measured already"),
        (changed(optimizer=lambda model: None), "to return a torch.optim.Optimizer, got NoneType"),
        (changed(model=torch.nn.Identity), "the model has no parameters to train"),
        (changed(about="made"), "expected `about` to be a dict of texts, got 'made'"),
        (changed(higher="hits"), "expected `higher` to be a list of names of measures, got 'hits'"),
        (changed(error=3), "expected `error` to be a text, got 3"),
    ],
)
def test_errors_of_tasks(build, message):
    write(f"{HEAD}{BATCHES}{RANDOM}")
    with pytest.raises(lw.LengthwiseError, match=message) as error:
        lab.run("made.toml", build, quiet=True, device="cpu", epochs=1)
    assert error.value.hint


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


@pytest.mark.parametrize(
    ("made", "message"),
    [
        ([], "`samplers:made` returned no batches"),
        ([[]], "`samplers:made` returned no batches"),
        (None, "got 'None' in place of some"),
        ([3], "got '3' in place of some"),
        ([[3]], "got '3' in place of some"),
    ],
)
def test_errors_of_samplers(made, message):
    Path("samplers.py").write_text(f"def made(*_):\n    return {made!r}\n")
    write(f'{HEAD}{BATCHES}[[run]]\nname = "own"\nsampler = "samplers:made"\n')
    with pytest.raises(lw.SettingError, match=re.escape(message)) as error:
        _session.prepared("made.toml", lab_task.build, device="cpu").check()
    assert "made.toml: run 'own'" in str(error.value) and error.value.hint
    del sys.modules["samplers"]


def test_what_a_sampler_repeats_is_said():
    Path("samplers.py").write_text("def made(lengths, *_):\n    return [[range(len(lengths))], [range(len(lengths))]]\n")
    write(f'{HEAD}{BATCHES}[[run]]\nname = "own"\nsampler = "samplers:made"\n')
    total = int(lab_task.build({}).lengths.sum())
    said = _session.prepared("made.toml", lab_task.build, device="cpu").check()
    assert f"{2 * total} positions, and the sequences have {total}\n" in said
    del sys.modules["samplers"]


def test_a_digest_tells_data_model_and_settings_but_no_seed():
    write(f"{HEAD}{BATCHES}{RANDOM}")

    def digests(build=lab_task.build, text="", **more):
        file = write(f"{HEAD}[learning]\nclip = 1.0\n{text}{BATCHES}{RANDOM}")
        head, *_ = lab.run(file, build, quiet=True, device="cpu", out=f"out-{len(list(Path().iterdir()))}", **more)
        return {run["digest"] for run in head["runs"]}

    one = digests(seeds=[1, 2], epochs=1)
    assert len(one) == 1 and len(next(iter(one))) == 16
    # Where the rate stays, more epochs change nothing of those before.
    assert digests(seeds=[3], epochs=2) == one
    others = [
        digests(text="weight_decay = 0.1\n", seeds=[1], epochs=1),
        digests(text="[model]\nwidth = 9\n", seeds=[1], epochs=1),
        digests(changed(lengths=np.full(120, 7)), seeds=[1], epochs=1),
    ]
    assert all(other != one for other in others)


def test_trainings_that_were_not_chosen_are_kept(capsys):
    write(f"{HEAD}{BATCHES}{RANDOM}")
    command = ["run", "made.toml", "--model", "lab_task:build", "--device", "cpu", "--quiet", "--epochs", "1", "--out", "out"]
    assert main(command) == 0
    assert "leave out" not in capsys.readouterr().err
    whole = Path("out/results.jsonl").read_bytes()
    assert main([*command, "--seeds", "2"]) == 0
    said = capsys.readouterr().err
    assert "The results leave out 1 training of this folder that you did not choose" in said and "Nothing was trained" in said
    assert main(command) == 0
    assert Path("out/results.jsonl").read_bytes() == whole


def test_errors_of_arguments(capsys):
    write(f"{HEAD}{BATCHES}{RANDOM}")

    def error_of(*arguments: str) -> str:
        assert main(["check", "made.toml", "--device", "cpu", *arguments]) == 2
        return capsys.readouterr().err

    assert "made.toml: there is no model" in error_of()
    assert "there is no module 'nowhere'" in error_of("--model", "nowhere:build")
    assert "has no function 'built'" in error_of("--model", "lab_task:built")
    assert "the path 'lab_task.py'" in error_of("--model", "lab_task.py:build")
    assert "no run is called 'b'" in error_of("--model", "lab_task:build", "--only", "b")
    for device in ("abacus", *([] if torch.cuda.is_available() else ["cuda"]), "xpu"):
        assert f"got '{device}'" in error_of("--model", "lab_task:build", "--device", device)
    assert main(["check", "none.toml"]) == 2
    assert "none.toml: No such file" in capsys.readouterr().err
    # A module of the same name in another folder is another one.
    for folder in ("one", "two"):
        Path(folder).mkdir()
        write(f"{HEAD}{BATCHES}{RANDOM}", f"{folder}/made.toml")
        Path(folder, "twin.py").write_text(f"import lab_task\nname = {folder!r}\n\ndef build(settings):\n    raise SystemExit(name)\n")
        with pytest.raises(SystemExit, match=folder):
            main(["check", f"{folder}/made.toml", "--model", "twin:build"])
    # A module that has an error of its own shows that.
    Path("broken.py").write_text("import a_module_that_is_not_there\n")
    with pytest.raises(ModuleNotFoundError, match="a_module_that_is_not_there"):
        main(["check", "made.toml", "--model", "broken:build"])


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


def test_another_run_keeps_out():
    fcntl = pytest.importorskip("fcntl")
    write(f"{HEAD}{BATCHES}{RANDOM}")
    Path("runs/made/checkpoints").mkdir(parents=True)
    with Path("runs/made/checkpoints/.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(lw.FileError, match="another run is at work in this folder"):
            lab.run("made.toml", lab_task.build, quiet=True, device="cpu", epochs=1)


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


def test_the_dictionary(monkeypatch):
    """The experiment with a small model on a few made-up entries, in every way."""
    folder = ROOT / "lab/experiments/dictionary"
    rng = np.random.default_rng(1)
    lengths = np.clip(rng.lognormal(3.0, 0.7, 130), 4, 200).astype(np.uint32)
    np.savez("tokens.npz", tokens=rng.integers(0, 50, int(lengths.sum())).astype(np.uint16), lengths=lengths)
    text = (folder / "dictionary.toml").read_text()
    for name, value in (("width", 16), ("heads", 2), ("layers", 1), ("held_out", 30)):
        text, count = re.subn(rf"^{name} = \d+", f"{name} = {value}", text, flags=re.MULTILINE)
        assert count == 1
    # A few steps an epoch: budgets and updates for 1/40 of the tokens.
    text = re.sub(r"(padded:|tokens:|capacity=)(\d+)", lambda found: f"{found[1]}{int(found[2]) // 40}", text)
    monkeypatch.syspath_prepend(folder)
    planned = text.replace('layout = "packed"', 'layout = "planned"')
    results = {}
    for out, one in (("packed", text), ("planned", planned)):
        only = ["random 32", "default", "packed", "grouped 32", "ladder 16, 4 stratified"]
        head, *lines = lab.run(write(one), quiet=True, device="cpu", epochs=1, seeds=[1], only=only, data="tokens.npz", out=out)
        results[out] = {line["name"]: line for line in lines}
        assert list(results[out]) == only
    for name, line in results["planned"].items():
        other = results["packed"][name]
        assert (line["steps"], line["sequences"], line["frames"]) == (other["steps"], 100, other["frames"])
        # The update does not depend on the layout: what is left is rounding, as attention is in bfloat16.
        assert line["loss"] == pytest.approx(other["loss"], rel=2e-3), name
        measures = dict(line["validation"]["more"])
        assert len(measures) == 4 + 5 and "loss at positions 1 to 16" in measures and "loss of entries of 257 or more" in measures
    for name in ("steps", "rates", "times", "equal-time"):
        assert _experiment.read(folder / f"{name}.toml").build == "model:build"


def dictionary_results(name: str) -> list[dict]:
    path = ROOT / f"lab/experiments/dictionary/results/2026-11-18-h200-{name}.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def dictionary_times(name: str) -> tuple[list[dict], dict[str, list[float]]]:
    """The kept epochs, and the seconds of each way's."""
    lines, seconds = dictionary_results(name)[1:], dict[str, list[float]]()
    for line in lines:
        seconds.setdefault(line["name"], []).append(line["seconds"])
    return lines, seconds


def test_the_page_of_the_dictionary_has_the_times():
    page = (ROOT / "lab/experiments/dictionary/README.md").read_text(encoding="utf-8")
    flowing = " ".join(page.split())
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    for name in ("times", "times-cudnn"):
        lines, seconds = dictionary_times(name)
        epochs = sorted(map(len, seconds.values()))
        assert epochs == ([2] * 9 if name == "times" else [1, *[2] * 7])
        for line in lines:
            if line["epoch"] == 1:
                first, *second = seconds[line["name"]]
                row = f" {line['shapes']} | {first:.1f} | " + (f"{second[0]:.1f} |" if second else "|")
                if name == "times":
                    row = f"| {round(line['batches'] / line['steps'])} |{row} {line['peak_bytes'] / 1e9:.1f} |"
                assert f"{row}\n" in page, (line["name"], row)

        def shares(epochs: slice, seconds: dict[str, list[float]] = seconds) -> list[str]:
            ours = [sum(seconds[of][epochs]) for of in ("default", "default, graphs", "packed")]
            return [f"{one / sum(seconds['random 32'][epochs]):.2f}".removeprefix("0") for one in ours]

        one, graphs, packed = shares(slice(1, 2))
        text = f"the default takes {one} of the time of random batches, {graphs} with graphs, and packed rows take {packed}."
        assert (text in flowing) == (name == "times"), text
        one, graphs, packed = shares(slice(2))
        assert f"is {one}, {graphs} and {packed}" in flowing
        if name == "times":
            assert f"take {one} of their time, {graphs} with CUDA graphs, and {packed} with packed rows;" in readme
        else:
            assert f"which pays for every new shape, {one}, {graphs} and {packed}." in readme
    for line in dictionary_results("shapes"):
        times = " | ".join(f"{ms:.1f}" for ms in line["ms"])
        assert line["attention"] == "cudnn" or f"| {times} |\n" in page, line


def test_the_dictionary_at_equal_time():
    """Each way trained as many epochs as fit into the time of one epoch of random batches."""
    seconds = dictionary_times("times")[1]
    whole, _ = seconds["random 32"]
    epochs = {line["name"]: line["epoch"] for line in dictionary_results("equal-time")[1:]}
    runs = _experiment.read(ROOT / "lab/experiments/dictionary/equal-time.toml").runs
    assert epochs == {run.name: run.epochs for run in runs}
    for name, trained in epochs.items():
        first, later = seconds[name]
        assert first + (trained - 1) * later <= whole < first + trained * later, name
