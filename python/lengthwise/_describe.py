"""Docstrings that explain the settings which a function passes on, written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

Described = TypeVar("Described")

#: An entry under "Args:", and the lines that go on with it.
ENTRY = re.compile(r"^    `?(\w+)`?: (.*(?:\n {8}.*)*)", re.MULTILINE)


def described(*makers: Any, but: tuple[str, ...] = ()) -> Callable[[Described], Described]:
    """Adds the entries of what settings are passed on to, after those of the docstring itself, which
    must be its end. Settings in ``but`` cannot be given."""

    def add(value: Described) -> Described:
        doc = _dedented(value.__doc__ or "")
        if doc:  # Python can leave docstrings out.
            doc += "" if "\nArgs:\n" in doc else "\n\nArgs:"
            known = {*entries(doc), *but}
            for maker in makers:
                for name, text in entries(maker.__doc__ or "").items():
                    if name not in known:
                        known.add(name)
                        doc += f"\n    {name}: {text}"
            value.__doc__ = doc + "\n"
        return value

    return add


def entries(doc: str) -> dict[str, str]:
    """The parameters that a docstring explains."""
    return dict(ENTRY.findall(_dedented(doc).partition("\nArgs:\n")[2]))


def _dedented(doc: str) -> str:
    first, *others = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first, *(line[margin:].rstrip() for line in others)]).strip()
