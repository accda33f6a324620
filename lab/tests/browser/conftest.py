"""Pages made by the laboratory, opened as the report's tests open theirs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "crates/lengthwise-report/tests/browser"))
from pages import browser, show  # noqa: E402, F401

COMMAND = os.environ.get("LENGTHWISE_LAB", "lengthwise-lab")


@pytest.fixture(scope="session")
def train(tmp_path_factory):
    """Makes the page of these records, once for each, and gives its file."""
    folder = tmp_path_factory.mktemp("trainings")
    made = {}

    def train(lines):
        if lines not in made:
            records, page = folder / f"{len(made)}.jsonl", folder / f"{len(made)}.html"
            records.write_text(lines)
            command = [COMMAND, "report", str(records), "-o", str(page)]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            made[lines] = page
        return made[lines]

    return train
