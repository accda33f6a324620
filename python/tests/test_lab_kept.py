"""What the harness keeps: results and checkpoints, from which it continues."""

from __future__ import annotations

import errno
import io
import json
import os
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
from lab_files import BATCHES, HEAD, RANDOM, WAYS, changed, write  # noqa: E402
from lengthwise import lab  # noqa: E402
from lengthwise.lab import _checkpoint  # noqa: E402
from lengthwise.lab.__main__ import main  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


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
        other = damaged and not damaged.startswith(_checkpoint.MAGIC)
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


def test_another_run_keeps_out():
    fcntl = pytest.importorskip("fcntl")
    write(f"{HEAD}{BATCHES}{RANDOM}")
    Path("runs/made/checkpoints").mkdir(parents=True)
    with Path("runs/made/checkpoints/.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with pytest.raises(lw.FileError, match="another run is at work in this folder"):
            lab.run("made.toml", lab_task.build, quiet=True, device="cpu", epochs=1)
