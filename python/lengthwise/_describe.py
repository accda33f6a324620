"""Docstrings that explain the settings which a function passes on, written once."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, TypeVar

Described = TypeVar("Described")

#: An entry under "Args:", and the lines that go on with it.
ENTRY = re.compile(r"^    `?(\w+)`?: (.*(?:\n {8}.*)*)", re.MULTILINE)


def described(*makers: Any, but: tuple[str, ...] = ()) -> Callable[[Described], Described]:
    """Adds the entries of what settings are passed on to. "Args:" must be the end of the docstring, and
    settings in ``but`` cannot be given."""

    def add(value: Described) -> Described:
        if value.__doc__:  # Python can leave docstrings out.
            head = _dedented(value.__doc__).partition("\nArgs:\n")[0]
            known = entries(value.__doc__)
            for maker in makers:
                for name, text in entries(maker.__doc__ or "").items():
                    if name not in but:
                        known.setdefault(name, text)
            # First the parameters in their order, then the settings in theirs.
            order = [name for name in _parameters(value) if name in known]
            listed = [f"    {name}: {known[name]}" for name in dict.fromkeys([*order, *known])]
            value.__doc__ = "\n".join([head.rstrip(), "", "Args:", *listed, ""])
        return value

    return add


def _parameters(value: Any) -> tuple[str, ...]:
    # As `inspect.signature` has them, which takes long to import.
    function: Any = vars(value)["__init__"] if isinstance(value, type) else value
    code = function.__code__
    names: tuple[str, ...] = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return names


def entries(doc: str) -> dict[str, str]:
    """The parameters that a docstring explains."""
    return dict(ENTRY.findall(_dedented(doc).partition("\nArgs:\n")[2]))


def _dedented(doc: str) -> str:
    first, *others = doc.expandtabs().split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in others if line.strip()), default=0)
    return "\n".join([first, *(line[margin:].rstrip() for line in others)]).strip()
