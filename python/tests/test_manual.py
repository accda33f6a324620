"""The Python examples of the manual's pages, run."""

from __future__ import annotations

import contextlib
import io
import re

import lengthwise as lw
import pytest

PAGES = re.findall(r"^  ([a-z-]+)", lw.explain().split("\nBuilt-in lengths")[0], re.MULTILINE)


def test_every_page_is_listed():
    assert len(PAGES) > 20 and {"blurred", "budget", "glossary"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_the_example_of_a_page_runs(name):
    (example,) = re.findall(r"^```python\n(.*?)^```", lw.explain(name), re.MULTILINE | re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(example, name, "exec"), {})
    assert printed.getvalue().strip()
