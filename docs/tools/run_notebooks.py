"""Runs the notebooks: `run_notebooks.py` checks that what they print is what they were kept with (cells tagged
`timed` or `words` may print something else), and `run_notebooks.py --update [NAME]` keeps what they print now."""

from __future__ import annotations

import copy
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"


def printed(cell) -> list[str]:
    outputs = [output.get("text") or output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return ["".join(output).split(" at 0x")[0].strip() for output in outputs]


def main() -> None:
    update = "--update" in sys.argv
    name = sys.argv[2] if len(sys.argv) > 2 else "*"
    for path in sorted(FOLDER.glob(f"{name}.ipynb")):
        kept = nbformat.read(path, as_version=4)
        notebook = copy.deepcopy(kept)
        NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
        if update:
            notebook.metadata["language_info"] = {"name": "python"}
            nbformat.write(notebook, path)
            continue
        for before, now in zip(kept.cells, notebook.cells):
            if now.cell_type == "code" and not {"timed", "words"} & set(now.metadata.get("tags", [])):
                if printed(before) != printed(now):
                    was, now_is = "\n".join(printed(before)), "\n".join(printed(now))
                    sys.exit(f"{path.name} was kept with\n{was}\nand prints\n{now_is}\nrun it with --update")
        print(f"{path.name}: as kept")


main()
