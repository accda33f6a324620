"""The tables about recommended ways have what was kept."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "lab/experiments/choices"


@pytest.fixture(scope="module")
def rows() -> list[dict]:
    files = sorted((FOLDER / "results").glob("*.jsonl"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def test_the_page_has_the_kept_results(rows):
    spec = importlib.util.spec_from_file_location("measure", FOLDER / "measure.py")
    measure = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(measure)
    expected = measure.summary(rows).splitlines()
    page = (FOLDER / "README.md").read_text()
    assert len(expected) == 18
    assert sorted(expected) == sorted(line for line in page.splitlines() if line.startswith("|"))


def test_the_readme_has_the_range_of_times(rows):
    readme = (ROOT / "README.md").read_text()

    def ratios(model: str, seconds: str) -> str:
        found = []
        choices = [row for row in rows if row["row"] == "choice" and row["model"] == model]
        for data in {row["data"] for row in choices}:
            every = [row for row in choices if row["data"] == data]
            random = next(row for row in every if (row["strategy"], row["shapes"]) == ("shuffled", "exact"))
            found.append(next(row for row in every if row["way"] == "recommended")[seconds] / random[seconds])
        return f"{min(found):.2f}–{max(found):.2f}"

    for kind, model in (("recurrent", "blstm"), ("attention with padding", "padded"), ("attention with packed rows", "packed")):
        (line,) = re.findall(rf"^\| {kind}.*$", readme, re.MULTILINE)
        assert ratios(model, "seconds") in line
    assert f"where new shapes cost nothing {ratios('padded', 'seconds_met_shapes')}" in readme
