"""Pages made by the command."""

import os
import shlex
import subprocess

import pytest
from pages import browser, show  # noqa: F401

COMMAND = os.environ.get("LENGTHWISE", "lengthwise")


@pytest.fixture(scope="session")
def make(tmp_path_factory):
    """Runs `lengthwise report` with these arguments, once for each, and gives the file it wrote."""
    folder = tmp_path_factory.mktemp("reports")
    made = {}

    def make(arguments, name=None):
        key = (arguments, name)
        if key not in made:
            path = folder / f"{len(made)}.html"
            command = [COMMAND, "report", *shlex.split(arguments), "-o", str(path)]
            subprocess.run(command, check=True, capture_output=True, timeout=300)
            made[key] = path
        return made[key]

    return make
