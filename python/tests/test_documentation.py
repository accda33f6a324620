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


def printed_by(script: str) -> tuple[list[int], list[float]]:
    """Runs a script, and reads the updates and the padding of its epochs."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})
    found = re.findall(r"(\d+) updates, ([\d.]+)% padding", printed.getvalue())
    return [int(updates) for updates, _ in found], [float(share) for _, share in found]


def test_a_few_lines_of_the_readmes_script_change():
    readme = (ROOT / "README.md").read_text()
    (planned,) = (block for block in blocks(readme, "python") if "BatchSampler" in block)
    (difference,) = blocks(readme, "diff")
    assert len(planned.splitlines()) < 60
    random = planned.replace("from lengthwise.torch import BatchSampler, steps\n", "")
    for hunk in difference.split("\n\n"):
        before, after = ("".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] == sign) for sign in "-+")
        assert after in random
        random = random.replace(after, before)
    # What else belongs to the loop goes back with it.
    random = random.replace("            cells +=", "        cells +=")
    (random_updates, random_padding), (updates, padding) = printed_by(random), printed_by(planned)
    assert updates == random_updates == [63, 63]
    assert max(padding) < 0.4 * min(random_padding)


def test_the_guide_runs(tmp_path, monkeypatch):
    import lengthwise.calibration

    # The time of a step on a busy machine says nothing.
    model = lengthwise.CostModel("a=0.001,c=1e-7")
    monkeypatch.setattr(
        lengthwise.calibration, "_timed", lambda step, size, length, *_: [model.seconds(size, length)] * 2
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
