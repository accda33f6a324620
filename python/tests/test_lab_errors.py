"""What the harness refuses, and how it says so."""

from __future__ import annotations

import math
import re
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
from lengthwise.lab import _experiment, _session  # noqa: E402
from lengthwise.lab.__main__ import main  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


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
