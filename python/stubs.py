"""Writes the type stubs of the extension module from its Rust signatures, or checks them.

python stubs.py            writes lengthwise/_lengthwise.pyi
python stubs.py --check    fails if it is not what the signatures say
"""

from __future__ import annotations

import difflib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
STUBS = HERE / "lengthwise" / "_lengthwise.pyi"


def generated() -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "maturin", "generate-stubs", "-q", "-o", folder], cwd=HERE, check=True
        )
        text = (Path(folder) / "lengthwise" / "_lengthwise.pyi").read_text()
    # Types that PyO3 does not know: what is returned is an array, and what is taken can be anything
    # that is checked when it is used.
    lines = []
    for line in text.splitlines():
        if "->" in line:
            head, _, result = line.rpartition("->")
            line = f"{head.replace('Incomplete', 'Any')}->{result.replace('Incomplete', 'np.ndarray')}"
        lines.append(line)
    text = "\n".join(lines) + "\n"
    text = text.replace("-> dict:", "-> dict[str, Any]:").replace("-> dict | None:", "-> dict[str, Any] | None:").replace("-> list:", "-> list[Any]:")
    text = text.replace("from _typeshed import Incomplete, SupportsGetItem", "import numpy as np\nfrom _typeshed import SupportsGetItem")
    return "# Written by stubs.py from the Rust signatures; not edited by hand.\n\n" + text


def main() -> int:
    new = generated()
    if "--check" not in sys.argv[1:]:
        STUBS.write_text(new)
        return 0
    old = STUBS.read_text()
    if old == new:
        return 0
    sys.stdout.writelines(
        difflib.unified_diff(old.splitlines(True), new.splitlines(True), "kept", "generated")
    )
    print("the stubs are not what the signatures say; run `python stubs.py`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
