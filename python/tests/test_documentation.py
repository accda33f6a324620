"""What the documentation shows, run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def padding_of(script: str) -> list[float]:
    """Runs a script, and reads the padding of its epochs."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})
    return [float(share) for share in re.findall(r"([\d.]+)% padding", printed.getvalue())]


def test_one_line_of_the_readmes_script_changes():
    readme = (ROOT / "README.md").read_text()
    (planned,) = (block for block in blocks(readme, "python") if "BatchSampler" in block)
    (difference,) = blocks(readme, "diff")
    before, after = (line[1:] for line in difference.splitlines())
    assert after in planned and len(planned.splitlines()) < 55
    random = planned.replace(after, before).replace("from lengthwise.torch import BatchSampler\n", "")
    random_padding, planned_padding = padding_of(random), padding_of(planned)
    assert len(random_padding) == len(planned_padding) == 2
    assert max(planned_padding) < 15 < 40 < min(random_padding)


def test_the_guide_runs(tmp_path, monkeypatch):
    import lengthwise.calibration

    # The time of a step on a busy machine says nothing.
    model = lengthwise.CostModel("a=0.001,c=1e-7")
    monkeypatch.setattr(
        lengthwise.calibration, "_timed", lambda step, size, length, *_: model.seconds(size, length)
    )
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, block in enumerate(blocks((ROOT / "docs" / "python.md").read_text(), "python")):
            exec(compile(block, f"docs/python.md, block {number}", "exec"), names)
    assert (tmp_path / "report.html").exists() and (tmp_path / "model.json").exists()
    assert len(names["rest"]) == len(names["sampler"]) - 1 or names["rest"]


def test_the_guide_to_shards_runs(on_ranks):
    made = on_ranks("sharded.py", 2, str(ROOT / "docs" / "shards.md"))
    # Each rank has its own half of the sequences, and all of it.
    assert [len(batches) for batches in made] == [len(made[0])] * 2
    for batches in made:
        assert sorted(index for batch in batches for index in batch) == list(range(200))
