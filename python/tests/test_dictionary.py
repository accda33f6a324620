"""The experiment on a dictionary: its model, and its page."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
sys.path.insert(0, str(Path(__file__).parent))
from lab_files import write  # noqa: E402
from lengthwise import lab  # noqa: E402
from lengthwise.lab import _experiment  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")
ROOT = Path(__file__).parents[2]


def test_the_dictionary():
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
    # Beside the file, where the modules of other experiments with these names are not taken for them.
    for module in ("model.py", "ways.py"):
        Path(module).write_bytes((folder / module).read_bytes())
    planned = text.replace('layout = "packed"', 'layout = "planned"')
    results = {}
    for out, one in (("packed", text), ("planned", planned)):
        only = ["random 32", "default", "packed", "grouped 32", "ladder 16, 4 stratified"]
        head, *lines = lab.run(write(one), quiet=True, device="cpu", epochs=1, seeds=[1], only=only, data="tokens.npz", out=out)
        results[out] = {line["name"]: line for line in lines}
        assert list(results[out]) == only
        assert len({line["frames"] for line in lines}) == 1
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
