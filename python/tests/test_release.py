"""Cargo.toml has the version and the address of the repository; what repeats them says the same."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import lengthwise as lw
import pytest

tomllib = pytest.importorskip("tomllib")  # Python 3.11

ROOT = Path(__file__).parents[2]
CRATES = sorted(folder.name for folder in (ROOT / "crates").iterdir())


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def workspace() -> dict:
    return tomllib.loads(read("Cargo.toml"))["workspace"]


def test_one_version() -> None:
    version = workspace()["package"]["version"]
    assert lw.__version__ == version
    assert re.findall(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE) == [version]
    for crate in CRATES:
        assert tomllib.loads(read(f"crates/{crate}/Cargo.toml"))["package"]["version"] == {"workspace": True}
    required = {name: one["version"] for name, one in workspace()["dependencies"].items() if "path" in one}
    assert required == dict.fromkeys(required, version) and len(required) == 3


@pytest.mark.skipif(os.name == "nt", reason="a script for a shell")
def test_the_script_prints_the_version() -> None:
    printed = subprocess.run([ROOT / "scripts" / "version"], check=True, capture_output=True, text=True).stdout
    assert printed == f"{lw.__version__}\n"


@pytest.mark.parametrize(
    "path",
    ["CITATION.cff", "CODE_OF_CONDUCT.md", "SECURITY.md", "mkdocs.yml", "python/pyproject.toml", ".github/ISSUE_TEMPLATE/config.yml"],
)
def test_one_address(path: str) -> None:
    assert set(re.findall(r"https://github\.com/[\w-]+/[\w-]+", read(path))) == {workspace()["package"]["repository"]}


def test_one_oldest_rust() -> None:
    oldest = workspace()["package"]["rust-version"]
    channel = tomllib.loads(read("rust-toolchain.toml"))["toolchain"]["channel"]
    assert list(map(int, oldest.split("."))) <= list(map(int, channel.split(".")))
    for path in [*(f"crates/{crate}" for crate in CRATES), "python"]:
        assert tomllib.loads(read(f"{path}/Cargo.toml"))["package"]["rust-version"] == {"workspace": True}
    assert set(re.findall(r"Rust (1\.\d+) or later", read("README.md") + read("docs/index.md"))) == {oldest}


@pytest.mark.parametrize("crate", CRATES)
def test_crates_can_be_published(crate: str) -> None:
    package = tomllib.loads(read(f"crates/{crate}/Cargo.toml"))["package"]
    for field in ("license", "repository", "keywords", "include"):
        assert package[field] == {"workspace": True}, field
    assert package["description"] and package["categories"]
    assert read(f"crates/{crate}/README.md").startswith(f"# {crate}\n")


@pytest.mark.parametrize("folder", [*(f"crates/{crate}" for crate in CRATES), "python"])
def test_licences(folder: str) -> None:
    for licence in ("LICENSE-MIT", "LICENSE-APACHE"):
        # Windows has a file with the target's name where others have a link. Crates are not packed there.
        if os.name != "nt" or folder == "python":
            assert read(f"{folder}/{licence}") == read(licence)
