"""The experiment on ranks: with weights, several processes train as one does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "lab" / "experiments" / "ranks" / "ranks.py"
WAYS = ["default", "packed", "sorted"]
#: Student's t with 9 degrees of freedom: half of a 95 % interval, in standard errors.
STUDENT_9 = 2.262


def test_with_weights_two_processes_train_as_one(tmp_path):
    command = [sys.executable, str(SCRIPT), "--ranks", "2", "--ways", ",".join(WAYS), "--seeds", "1", "--sentences", "200"]
    more = ["--epochs", "1", "--width", "8", "--timeout", "100", "--output", "results.jsonl"]
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, *more], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    lines = {line["way"]: line for line in map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())}
    assert list(lines) == WAYS
    for way, line in lines.items():
        assert line["world_size"] == 2 and line["steps"] > 3
        # In double precision: what is left is rounding.
        assert line["gradient_weighted"] < 1e-12, way
        assert line["parameters_weighted"] < 1e-12, way
        assert line["weighted"] == pytest.approx(line["alone"], rel=1e-10), way
        assert line["parameters_plain"] > 1e-6, way
        assert line["plain"]["loss"] != pytest.approx(line["alone"]["loss"], rel=1e-8), way
        assert f"| 2 | {way} |" in done.stdout
    # Where ranks have different lengths, they have different numbers of tokens.
    assert lines["sorted"]["tokens_of_ranks"] > 2 and lines["sorted"]["gradient_ranks"] > 0.05
    # In proportional steps it is micro-batches that differ, and ranks hardly do.
    assert lines["default"]["gradient_batches"] > 5 * lines["default"]["gradient_ranks"]


def test_the_page_has_the_kept_results():
    """The table of the page is that of the kept results, and what it says of weights too."""
    page = SCRIPT.with_name("README.md").read_text(encoding="utf-8")
    (path,) = sorted(SCRIPT.parent.glob("results/*.jsonl"))
    command = [sys.executable, str(SCRIPT), "--table", "--output", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    *table, _, weights = done.stdout.splitlines()
    assert len(table) == 2 + 2 * 5 and "\n".join(table) in page
    for number in weights.replace(",", "").split():
        assert "e-" not in number or number in page
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 2 * 5 * 10 and all(line["parameters_weighted"] < 1e-10 for line in lines)
    # How the two ways with as many sentences in a step compare, seed by seed.
    flowing, told = " ".join(page.split()), []
    for ranks in (2, 4):
        alone = {
            way: np.array([line["alone"]["loss"] for line in lines if (line["world_size"], line["way"]) == (ranks, way)])
            for way in ("sorted", "random")
        }
        pairs = alone["sorted"] - alone["random"]
        half = STUDENT_9 * pairs.std(ddof=1) / len(pairs) ** 0.5
        told.append(f"{pairs.mean():.3f} ± {half:.3f} ({ranks}".replace("0.", "."))
    assert f"by {told[0]} ranks) and {told[1]})" in flowing, told
