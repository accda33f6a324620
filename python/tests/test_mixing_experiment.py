"""The experiment on mixing and order: its steps differ in what they are to differ in, and in nothing else."""

from __future__ import annotations

import importlib.util
import json
import re
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import lengthwise as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from lengthwise import lab
from lengthwise.lab._batches import step_mix

FOLDER = Path(__file__).parents[2] / "lab" / "experiments" / "mixing"
SETTINGS = {"budget": "padded:400", "update": "tokens:400", "shapes": "ladder:8"}
EPOCHS = 4


@pytest.fixture(scope="module")
def ways() -> ModuleType:
    # Other experiments have a module of this name too.
    spec = importlib.util.spec_from_file_location("mixing_ways", FOLDER / "ways.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def sentences() -> np.ndarray:
    drawn = np.random.default_rng(5).lognormal(2.4, 0.8, 3000)
    return np.clip(drawn, 1, 80).astype(np.int64)


def epochs_of(sampler, lengths: np.ndarray, **options) -> list[list[np.ndarray]]:
    """The sequences of the steps of some epochs, each sequence once in an epoch."""
    every = [sampler(lengths, epoch, 1, {**SETTINGS, **options}) for epoch in range(EPOCHS)]
    for epoch in every:
        indices = np.concatenate([batch for step in epoch for batch in step])
        assert sorted(indices.tolist()) == list(range(len(lengths)))
    return [[np.concatenate(step) for step in epoch] for epoch in every]


def padding(epoch: list[list[np.ndarray]], lengths: np.ndarray) -> float:
    return 1 - lengths.sum() / sum(len(batch) * lengths[batch].max() for step in epoch for batch in step)


def test_mixing_rises_while_padding_and_step_mix_stay(ways, sentences):
    wanted = (0.0, 0.02, 0.05, 0.2, 1.0)
    found, paddings, mixes = [], [], []
    for mixing in wanted:
        steps = epochs_of(ways.proportional, sentences, mixing=mixing, order="shuffled")
        found.append(ways.mixing(steps))
        mixes.append(np.mean([step_mix(epoch, sentences) for epoch in steps]))
        settings = {**SETTINGS, "mixing": mixing, "order": "shuffled"}
        every = [ways.proportional(sentences, epoch, 1, settings) for epoch in range(3)]
        paddings.append(np.mean([padding(epoch, sentences) for epoch in every]))
    assert all(low < high for low, high in pairwise(found))
    for mixing, one in zip(wanted[1:], found[1:], strict=True):
        assert one == pytest.approx(mixing, rel=0.2)
    # The same steps in every epoch mix as little as steps of this size can.
    assert found[0] == pytest.approx(np.mean([len(step) for step in steps[0]]) / len(sentences), rel=0.1)
    assert max(paddings) - min(paddings) < 0.01
    assert max(mixes) < 0.3 and max(mixes) - min(mixes) < 0.1


def test_mixing_is_that_of_lengthwise(ways, sentences):
    planner = lw.Planner(sentences, "blurred", budget="padded:400", seed=3)
    plans = [planner.plan(epoch) for epoch in range(EPOCHS)]
    assert ways.mixing([list(plan) for plan in plans]) == pytest.approx(lw.mixing(plans).per_pair)


def test_orders_have_the_same_steps(ways, sentences):
    def known(epoch):
        return sorted(tuple(sorted(step.tolist())) for step in epoch)

    orders = {order: epochs_of(ways.one_length, sentences, order=order) for order in ("shuffled", "spread", *ways.ORDERS)}
    for order, every in orders.items():
        assert [known(epoch) for epoch in every] == [known(epoch) for epoch in orders["shuffled"]], order
        assert len({tuple(known(epoch)) for epoch in every}) == EPOCHS
    means = {order: [float(sentences[step].mean()) for step in every[0]] for order, every in orders.items()}
    assert means["short-first"] == sorted(means["short-first"])
    assert means["long-first"] == sorted(means["long-first"], reverse=True)
    middle = float(np.median(means["shuffled"]))
    assert all(short <= middle <= long for short, long in zip(means["alternating"][::2], means["alternating"][1::2]))
    assert sum(high < low for low, high in pairwise(means["cycles"])) == 3
    assert means["shuffled"] not in (means["short-first"], means["alternating"], means["spread"])
    same = epochs_of(ways.one_length, sentences, order="shuffled", same=True)
    assert {tuple(known(epoch)) for epoch in same} == {tuple(known(orders["shuffled"][0]))}


def small(text: str) -> str:
    """An experiment with a small model, and steps for a few made-up sentences."""
    text = re.sub(r"^width = \d+", "width = 8\nsentences = 300", text, flags=re.MULTILINE)
    return re.sub(r"(padded:|tokens:)\d+", r"\g<1>400", text)


@pytest.fixture
def one_thread():
    """Several threads wait for each other longer than such a small model computes."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("name", ["tags", "words", "sizes"])
def test_it_learns(name, tmp_path, monkeypatch, one_thread):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(small((FOLDER / f"{name}.toml").read_text()))
    # Beside the file, where the modules of other experiments with these names are not taken for them.
    for module in ("model.py", "ways.py"):
        (tmp_path / module).write_bytes((FOLDER / module).read_bytes())
    head, *lines = lab.run("small.toml", quiet=True, device="cpu", epochs=2, seeds=[1])
    names = [run["name"] for run in head["runs"]]
    assert len(lines) == 2 * len(names) and {one for pair in head.get("pairs", []) for one in pair} <= set(names)
    for run in names:
        first, last = (line for line in lines if line["name"] == run)
        assert last["sequences"] == 300 and last["validation"]["loss"] < first["validation"]["loss"], run


def test_both_experiments_have_the_same_runs():
    tags, words = ((FOLDER / f"{name}.toml").read_text().split("[[run]]") for name in ("tags", "words"))
    assert tags[1:] == words[1:] and len(tags) > 10


def test_a_sentence_does_not_see_its_neighbours():
    """Alone and in a row, in any order, a sentence has the same scores; and the next word is not given away."""
    spec = importlib.util.spec_from_file_location("mixing_model", FOLDER / "model.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with pytest.raises(lw.SettingError, match="expected the device cpu, got 'cuda'"):
        module.build({"data": None, "device": "cuda"})
    with pytest.raises(lw.FileError, match="there is no file"):
        module.build({"data": "nowhere"})
    for target in ("tags", "words"):
        task = module.build({"data": None, "sentences": 100, "width": 8, "dropout": 0.0, "target": target})
        torch.manual_seed(0)
        model = task.model().double()
        indices = np.array([17, 3, 88, 41])
        together, *alone = (task.sum(model, part).item() for part in (indices, *indices[:, None]))
        assert together == pytest.approx(sum(alone))
        words, places, targets = task.training.row(np.array([int(task.lengths.argmax())]))
        assert len(targets) == task.lengths.max()
        changed = words.clone()
        changed[-1] = (words[-1] + 1) % 4
        differ = (model(words, places) != model(changed, places)).any(1).nonzero().flatten().tolist()
        last = len(targets) - 1
        assert differ == ([last] if target == "words" else list(range(last - 4, last + 1)))


@pytest.mark.parametrize("path", sorted((FOLDER / "results").glob("*.jsonl")), ids=lambda path: path.name)
def test_the_kept_results(path):
    """Every run of a file has the same seeds, and is finished."""
    head, *lines = map(json.loads, path.read_text().splitlines())
    seeds: dict[str, list[int]] = {}
    for run in head["runs"]:
        seeds.setdefault(run["name"], []).append(run["seed"])
    long = path.stem.endswith("60-epochs")
    assert len(seeds) == 2 if long else len(seeds) > 10
    assert len({tuple(sorted(one)) for one in seeds.values()}) == 1
    last = max(line["epoch"] for line in lines)
    kept = range(10, 61, 10) if long else range(1, last + 1)
    assert sorted(line["epoch"] for line in lines) == sorted([*kept] * len(head["runs"]))
