"""What the documentation shows, run."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
# The tests of the laboratory, of its harness and of Ray run their guides; the guide to shards runs on several processes below.
RUN_ELSEWHERE = {"laboratory.md", "guides/lab.md", "guides/ray.md", "guides/shards.md", *(f"papers/{path.name}" for path in DOCS.glob("papers/*.md"))}


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def printed_by(script: str) -> tuple[list[int], list[float]]:
    """Runs a script, and reads the updates and the padding of its epochs."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(script, "training.py", "exec"), {"__name__": "__main__"})
    found = re.findall(r"(\d+) updates, ([\d.]+)% padding", printed.getvalue())
    return [int(updates) for updates, _ in found], [float(share) for _, share in found]


def test_a_few_lines_of_the_readmes_script_change():
    readme = (ROOT / "README.md").read_text()
    planned = (ROOT / "python/examples/training.py").read_text()
    (difference,) = blocks(readme, "diff")
    assert len(planned.splitlines()) < 60
    random = planned
    for hunk in difference.split("\n\n"):
        before, after = ("".join(f"{line[1:]}\n" for line in hunk.splitlines() if line[0] == sign) for sign in "-+")
        assert after in random
        random = random.replace(after, before)
    # What else belongs to the loop goes back with it.
    random = random.replace("            cells +=", "        cells +=")
    (random_updates, random_padding), (updates, padding) = printed_by(random), printed_by(planned)
    assert updates == random_updates == [63, 63]
    assert max(padding) < 0.65 * min(random_padding)
    for name, share in (("before", random_padding[1]), ("after", padding[1])):
        assert re.search(rf"^{name} +epoch 1: \d\.\d s, 63 updates, {share}% padding$", readme, re.MULTILINE), share


def marked(text: str, languages: str) -> list[tuple[str, bool]]:
    """The blocks of a page in these languages, and whether they run: `<!-- not run: why -->` is the line before."""
    found = re.findall(
        rf"(^<!-- not run: [^\n]+ -->\n)?^```(?:{languages})\n(.*?)^```", text, re.MULTILINE | re.DOTALL
    )
    return [(block, not mark) for mark, block in found]


def with_blocks(languages: str) -> list[str]:
    pages = {path.relative_to(DOCS).as_posix(): path.read_text() for path in sorted(DOCS.rglob("*.md"))}
    return [name for name, text in pages.items() if name not in RUN_ELSEWHERE and marked(text, languages)]


@pytest.mark.parametrize("name", with_blocks("python"))
def test_the_python_of_a_page_runs(name, tmp_path, monkeypatch):
    import lengthwise.calibration

    # The time of a step on a busy machine says nothing.
    model = lengthwise.CostModel("a=0.001,c=1e-7")
    monkeypatch.setattr(
        lengthwise.calibration, "_timed", lambda step, size, length, *_: [model.seconds(size, length)] * 2
    )
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        for number, (block, runs) in enumerate(marked((DOCS / name).read_text(), "python")):
            code = compile(block, f"docs/{name}, block {number}", "exec")
            if runs:
                exec(code, names)


def test_what_the_guides_to_resuming_and_reports_make(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for name in ("guides/resume.md", "guides/report.md"):
            for block in blocks((DOCS / name).read_text(), "python"):
                exec(block, names)
    assert names["rest"] and len(names["batches"]) == len(names["rest"][0])
    assert (tmp_path / "report.html").exists()


def write_samples(folder: Path) -> None:
    """The files that commands of the guides read."""
    frames = [100 + (37 * number) % 900 for number in range(4000)]
    table = "".join(f"utt-{number},{length},{length // 9}\n" for number, length in enumerate(frames))
    for name in ("lengths.csv", "data.csv"):
        (folder / name).write_text("id,frames,tokens\n" + table)
    (folder / "lengths.txt").write_text("".join(f"{length}\n" for length in frames))
    np.save(folder / "lengths.npy", np.array(frames, dtype=np.uint32))
    manifest = "".join(json.dumps({"duration": n / 100, "text": "a few words " * (n // 100)}) + "\n" for n in frames)
    for name in ("train.jsonl", "cuts.jsonl", "manifest.jsonl"):
        (folder / name).write_text(manifest)
    (folder / "cuts.jsonl.gz").write_bytes(gzip.compress(manifest.encode()))
    steps = [(size, length) for size in (1, 4, 16, 64) for length in (100, 300, 900)]
    rows = "".join(f"{size},{length},{0.01 + 1e-6 * size * length}\n" for size, length in steps)
    (folder / "steps.csv").write_text("batch_size,batch_length,seconds\n" + rows)


def commands_of(block: str) -> list[str]:
    """The commands of a block; what they print is left out."""
    if block.startswith("$ "):
        return [line[2:] for line in block.splitlines() if line.startswith("$ ")]
    return [block]


@pytest.mark.parametrize("name", with_blocks("console|sh"))
def test_the_commands_of_a_page_run(name, tmp_path):
    program = os.environ.get("LENGTHWISE")
    if not program:
        pytest.skip("LENGTHWISE does not name the command")
    write_samples(tmp_path)
    environment = os.environ | {"PATH": f"{Path(program).parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    for block, runs in marked((DOCS / name).read_text(), "console|sh"):
        for command in commands_of(block):
            arguments = ["-o", "pipefail", "-c", command] if runs else ["-n", "-c", command]
            ran = subprocess.run(["bash", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)
            assert ran.returncode == 0, f"{command}\n{ran.stderr}"


def test_the_guide_to_shards_runs(on_ranks):
    made = on_ranks("sharded.py", 2, str(DOCS / "guides" / "shards.md"))
    # Each rank has its own half of the sequences, and all of it.
    assert [len(batches) for batches in made] == [len(made[0])] * 2
    for batches in made:
        assert sorted(index for batch in batches for index in batch) == list(range(200))
