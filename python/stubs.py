"""Writes the type stubs of the extension module and the types of settings from the Rust signatures.

python stubs.py            writes lengthwise/_lengthwise.pyi and lengthwise/_settings.py
python stubs.py --check    fails if they are not what the signatures say
"""

from __future__ import annotations

import ast
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STUBS = HERE / "lengthwise" / "_lengthwise.pyi"
SETTINGS = HERE / "lengthwise" / "_settings.py"
WRITTEN = "# Written by stubs.py from the Rust signatures; not edited by hand.\n\n"

#: Defaults that are not literals in Rust; `stubtest` compares them with the module.
DEFAULTS = {"budget: str | SupportsIndex = ...": 'budget: str | SupportsIndex = "sequences:16"'}

#: The settings that are keywords of their own where the others are `**settings`.
OF_SAMPLER = ("second", "together", "kind", "budget", "constant_steps")
OF_STREAM = ("budget", "world_size", "epoch", "state")


def stubs() -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "maturin", "generate-stubs", "-q", "--profile", "dev", "-o", folder], cwd=HERE, check=True
        )
        text = (Path(folder) / "lengthwise" / "_lengthwise.pyi").read_text()
    # Types that PyO3 does not know: what is returned is an array, and what is taken can be anything
    # that is checked when it is used.
    lines = []
    for line in text.splitlines():
        if "->" in line:
            head, _, result = line.rpartition("->")
            line = f"{head.replace('Incomplete', 'Any')}->{result.replace('Incomplete', 'np.ndarray')}"
            line = re.sub(r"\bdict\b(?!\[)", "dict[str, Any]", line).replace("-> list:", "-> list[Any]:")
            line = re.sub(r': "(\w+)" =', r": \1 =", line)
            for unknown, default in DEFAULTS.items():
                line = line.replace(unknown, default)
            if " = ..." in line:
                sys.exit(f"a default does not show: {line.strip()}")
        lines.append(line)
    text = "\n".join(lines) + "\n"
    return WRITTEN + text.replace("from _typeshed import Incomplete, ", "import numpy as np\nfrom _typeshed import ")


def settings(stubs: str) -> str:
    """The settings of `Planner` and `Feed` as types."""
    planner, feed = (keywords(stubs, name) for name in ("Planner", "Feed"))
    parts = {
        ("SamplerSettings", "TypedDict", "The settings of :class:`lengthwise.torch.BatchSampler`."): {
            name: kind for name, kind in planner.items() if name not in OF_SAMPLER
        },
        ("PlannerSettings", "SamplerSettings", "The settings of :class:`lengthwise.Planner`."): {
            name: planner[name] for name in OF_SAMPLER
        },
        ("TrainerSettings", "PlannerSettings", "The settings of :class:`lengthwise.hf.TrainerMixin`."): {
            "lengths": "Any",
            "strategy": "str | None",
            "column": "str | None",
            "padding_value": "dict[str, Any] | None",
            "evaluation": "bool | dict[str, Any]",
            "length": "Any",
            "window": feed["window"],
            "pivot": feed["pivot"],
        },
        ("StreamSettings", "TypedDict", "The settings of :class:`lengthwise.torch.StreamBatches`."): {
            name: kind for name, kind in feed.items() if name not in OF_STREAM
        },
        ("EpochSettings", "StreamSettings", "The settings of :func:`lengthwise.stream_batches`."): {
            "epoch": feed["epoch"]
        },
        ("FeedSettings", "EpochSettings", "The settings of :class:`lengthwise.stream.Streaming`."): {
            "budget": feed["budget"]
        },
    }
    text = WRITTEN.rstrip("\n") + '''
"""Settings as types, so that a type checker finds a misspelt name or a wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from os import PathLike
    from typing import SupportsIndex

    from ._lengthwise import CostModel, Statistics
'''
    for (name, base, doc), members in parts.items():
        total = "" if name == "FeedSettings" else ", total=False"
        text += f'\n\nclass {name}({base}{total}):\n    """{doc}"""\n\n'
        text += "".join(f"    {member}: {kind}\n" for member, kind in members.items())
    return text


def keywords(stubs: str, name: str) -> dict[str, str]:
    """The arguments of a class with their types, except those that are given by position alone."""
    (found,) = (node for node in ast.parse(stubs).body if isinstance(node, ast.ClassDef) and node.name == name)
    (new,) = (node for node in found.body if isinstance(node, ast.FunctionDef) and node.name == "__new__")
    budget = [each for each in new.args.args if each.arg == "budget"]
    return {each.arg: ast.unparse(each.annotation or ast.Name("Any")) for each in budget + new.args.kwonlyargs}


def main() -> int:
    new = stubs()
    stale = False
    for path, text in ((STUBS, new), (SETTINGS, settings(new))):
        if "--check" not in sys.argv[1:]:
            path.write_text(text)
            continue
        old = path.read_text()
        stale |= old != text
        sys.stdout.writelines(
            difflib.unified_diff(old.splitlines(True), text.splitlines(True), "kept", "generated")
        )
    if stale:
        print("they are not what the signatures say; run `python stubs.py`")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
