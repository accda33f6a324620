"""The experiment on translation, with a small model and sentences that are made up."""

from __future__ import annotations

import importlib.util
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("tokenizers")

FOLDER = Path(__file__).parents[2] / "lab" / "experiments" / "translation"
PAIRS, TEST = 600, 40


def sentences(count: int, seed: int) -> tuple[list[str], list[str]]:
    """Sentences of one to twenty words, and the same words in another language from behind."""
    drawn = random.Random(seed)
    words = [f"{first}{second}n" for first in "bdgklmp" for second in "aeiou"]
    sources = [[drawn.choice(words) for _ in range(min(int(drawn.expovariate(0.2)) + 1, 20))] for _ in range(count)]
    targets = [[word[::-1] for word in reversed(source)] for source in sources]
    return [" ".join(line) + "." for line in sources], [" ".join(line) + "!" for line in targets]


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translation")
    for part, count, seed in (("train", PAIRS, 1), ("val", TEST, 2), ("test_2016_flickr", TEST, 3)):
        for language, lines in zip(("en", "de"), sentences(count, seed)):
            (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    output = folder / "tokens.npz"
    command = [sys.executable, str(FOLDER / "prepare.py"), str(folder), "--vocabulary", "120", "--output", str(output)]
    subprocess.run(command, check=True, timeout=120)
    return output


@pytest.fixture(scope="module")
def model() -> ModuleType:
    # Other experiments have a module of this name too.
    spec = importlib.util.spec_from_file_location("translation_model", FOLDER / "model.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SMALL = {"width": 32, "heads": 2, "inner": 64, "layers": 1, "dropout": 0.0}


def task_of(model: ModuleType, tokens: Path, **settings: object):
    return model.build({"data": str(tokens), "device": "cpu", **SMALL, **settings})


def test_tokens_are_the_text(tokens: Path, model: ModuleType) -> None:
    task = task_of(model, tokens)
    target = task.sides["test_2016_flickr", "target"]
    for at, text in enumerate(sentences(TEST, 3)[1]):
        start, length = int(target.starts[at]), int(target.lengths[at])
        ids = target.tokens[start : start + length].tolist()
        assert ids[-1] == model.END and task.text(ids[:-1]) == text
    assert task.lengths.shape == (PAIRS, 2) and task.texts["test_2016_flickr"] == sentences(TEST, 3)[1]


def test_a_packed_row_has_the_loss_and_the_gradient_of_a_rectangle(tokens: Path, model: ModuleType) -> None:
    from lengthwise.lab import Batch

    task = task_of(model, tokens)
    torch.manual_seed(0)
    translator = task.model()
    indices = np.array([3, 77, 12, 500, 41])
    own = task.lengths[indices]
    found = []
    rectangle = Batch(indices, (task.longest + 5, task.longest + 3))  # longer than the longest sentence
    row = Batch(indices, tuple(own.sum(0).tolist()), packed=True)
    # Rows for graphs have padding at their end, so that there are few shapes.
    for batch, few_shapes in ((rectangle, False), (row, False), (row, True)):
        translator.zero_grad()
        inputs = task.inputs(batch, few_shapes)
        total = task.sum(translator, *inputs)
        total.backward()
        assert not few_shapes or [len(part) for part in inputs] == [256, 256, 65, 256, 256, 65]
        assert task.count(batch) == own[:, 1].sum()
        found.append((total.item(), [parameter.grad.clone() for parameter in translator.parameters()]))
    (padded, gradients), *others = found
    for total, same in others:
        assert total == pytest.approx(padded, rel=1e-5)
        for one, other in zip(gradients, same, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_beams_find_what_is_likeliest(tokens: Path, model: ModuleType) -> None:
    """One beam takes the likeliest token each time, and several find no worse translations, whatever is beside them."""
    task = task_of(model, tokens)
    torch.manual_seed(1)
    translator = task.model().eval()
    source = task.sides["val", "source"]
    indices = np.arange(6)

    def score(line: list[int], at: int) -> float:
        labels = torch.tensor([[*line, model.END]])
        scores, _ = model.padded_scores(
            translator, source.padded(indices[at : at + 1], int(source.lengths[at])), (labels, labels > 0)
        )
        chosen = scores.log_softmax(-1).gather(-1, labels[..., None])
        return float(chosen.sum() / labels.shape[1])

    with torch.no_grad():
        found = {}
        for beam in (1, 4):
            rectangle = source.padded(indices, int(source.lengths[indices].max()))
            found[beam] = model.translated(translator, *rectangle, beam, 12)
            alone = [
                model.translated(translator, *source.padded(indices[at : at + 1], int(source.lengths[at])), beam, 12)[0]
                for at in range(6)
            ]
            # Shorter sources may be given fewer steps.
            assert sum(one == other for one, other in zip(found[beam], alone)) >= 4
        for at in range(6):
            assert score(found[4][at], at) >= score(found[1][at], at) - 1e-5


def test_every_way_counts_the_same(tokens: Path, tmp_path: Path) -> None:
    """Ways take each pair once, have about as many tokens in an update, and learn."""
    text = (FOLDER / "translation.toml").read_text(encoding="utf-8")
    for name, value in SMALL.items():
        text = re.sub(rf"^{name} = .*$", f"{name} = {value}", text, flags=re.M)
    text = text.replace("smoothing = 0.1", "smoothing = 0.0").replace('amp = "bf16"', 'amp = "none"')
    # As planned: without a GPU, rows would have large masks. Updates of 400 tokens instead of 4,000.
    text = re.sub(r"^(layout|graphs) = .*\n", "", text, flags=re.M)
    text = re.sub(r"(padded:|tokens:|tokens = |capacity = )(\d+)\d\b", r"\1\2", text)
    text = re.sub(r"(sequences:|size = )\d+", r"\g<1>27", text)
    (tmp_path / "small.toml").write_text(text.replace("count=8", "count=4"), encoding="utf-8")
    for module in ("model.py", "ways.py"):
        (tmp_path / module).write_bytes((FOLDER / module).read_bytes())
    # Without test sentences: beam search has a test of its own, and BLEU is sacrebleu's.
    data = {name: array for name, array in np.load(tokens).items() if not name.startswith("test")}
    np.savez(tmp_path / "tokens.npz", **data)
    command = [sys.executable, "-m", "lengthwise.lab", "run", "small.toml", "--data", "tokens.npz", "--epochs", "2"]
    command += ["--seeds", "1", "--device", "cpu", "--quiet", "--out", "kept"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=600)
    head, *lines = [json.loads(line) for line in (tmp_path / "kept" / "results.jsonl").read_text().splitlines()]
    assert len(lines) == 2 * len(head["runs"]) >= 20
    tokens_of_all = {line["frames"] for line in lines}
    assert len(tokens_of_all) == 1
    for line in lines:
        assert line["sequences"] == PAIRS
        assert line["validation"]["loss"] < 4.7  # ln 120 is 4.8
        per_update = line["frames"] / line["steps"]
        assert 250 < per_update < 600, (line["name"], per_update)
    by_name = {line["name"]: line for line in lines}
    assert by_name["packed rows"]["cells"] == tokens_of_all.pop()
    assert by_name["default"]["cells"] < by_name["random"]["cells"]


def kept(name: str) -> list[dict]:
    lines = (FOLDER / "results" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_the_kept_results() -> None:
    """All trainings are finished, the first ways with more seeds; and random batches are a fair baseline."""
    seeds: dict[str, dict[int, float]] = {}
    for line in kept("2026-11-18-h200.jsonl"):
        assert line["sequences"] == 29000
        if line["epoch"] == 30:
            seeds.setdefault(line["name"], {})[line["seed"]] = dict(line["validation"]["more"])["BLEU 2016"]
    assert {name: len(found) for name, found in seeds.items() if len(found) > 3} == {"random": 15, "default": 15, "packed rows": 15}
    assert len(seeds) == 11 and all(set(found) >= {1, 2, 3} for found in seeds.values())
    assert np.mean(list(seeds["random"].values())) > 37


def test_the_page_has_the_times() -> None:
    page = (FOLDER / "README.md").read_text(encoding="utf-8")

    def tabled(file: str) -> tuple[dict[str, dict], dict[str, float]]:
        """The second epochs of a file, all of them rows of the page; and the seconds of those with graphs."""
        second = {line["name"]: line for line in kept(file) if line["epoch"] == 2}
        recorded = {name.removesuffix(", graphs"): line["seconds"] for name, line in second.items() if name.endswith(", graphs")}
        for name, line in second.items():
            if name.endswith(", graphs"):
                continue
            padding = f"{100 * (1 - line['frames'] / line['cells']):.0f} %"
            graphs = f"{recorded[name]:.1f} " if name in recorded else ""
            batches = round(line["batches"] / line["steps"])
            row = f"| {name} | {batches} | {padding} | {line['shapes']} | {line['new_shapes']} | {line['seconds']:.1f} | {graphs}|"
            assert row in page, row
        return second, recorded

    assert set(tabled("2026-11-18-h200-times-default.jsonl")[0]) == {"random", "default", "default, graphs"}
    second, recorded = tabled("2026-11-18-h200-times.jsonl")
    four, base = second["4 micro-batches"], second["random"]
    assert set(recorded) == {"4 micro-batches", "packed rows"} and len(second) == 13
    for text, share in (
        ("graphs they take {} of", four["seconds"] / base["seconds"]),
        ("they have {} of their cells", four["cells"] / base["cells"]),
        ("With graphs they take {}, and", recorded["4 micro-batches"] / base["seconds"]),
        ("packed rows take {} (", recorded["packed rows"] / base["seconds"]),
    ):
        assert text.format(f"{share:.2f}".removeprefix("0")) in page, (text, share)
    cudnn = {(line["name"], line["epoch"]): line["seconds"] for line in kept("2026-11-18-h200-times-cudnn.jsonl")}
    first, later, ours, ours_later = (cudnn[name, epoch] for name in ("random", "4 micro-batches") for epoch in (1, 2))
    page = " ".join(page.split())
    assert f"random batches took {first:.1f} s for the first epoch and {later:.1f} s for the second" in page
    assert f"and four micro-batches {ours:.1f} and {ours_later:.1f} s" in page
