"""What is looked at before anything is made of it."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator
from typing import Any

from .errors import SettingError


def checked_epoch(epoch: Any) -> int:
    try:
        checked = operator.index(epoch)
    except TypeError:
        checked = -1
    if not 0 <= checked < 2**64:
        raise SettingError(f"{epoch!r} is no epoch", hint="epochs are whole numbers from 0")
    return checked


def check_settings(
    name: str, settings: Collection[str], *makers: Any, but: Collection[str] = ()
) -> None:
    """Refuses settings that none of ``makers`` takes, by the name that users know; ``but`` are those
    that are not theirs to give."""
    known = sorted({each for maker in makers for each in _settings(maker)} - set(but))
    for setting in settings:
        if setting in known:
            continue
        import difflib  # Here, since it takes long.

        near = difflib.get_close_matches(setting, known, n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(known)}"
        raise SettingError(f"{name} has no setting `{setting}`", hint=hint)


def _settings(maker: Any) -> Iterator[str]:
    import inspect

    for each in inspect.signature(maker).parameters.values():
        if each.kind is not each.VAR_KEYWORD and each.name != "self":
            yield each.name


def check_budget(budget: str | int | None) -> str | int:
    """The budget of a stream, which must be given."""
    if budget is None:
        raise SettingError(
            "there is no budget, and batches have no other size",
            hint='give one, as in budget="padded:20000"',
        )
    return budget


def check_source(source: Any) -> None:
    """Refuses what items cannot be read from."""
    if not (callable(source) or hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
        raise SettingError(
            f"{source!r} cannot be iterated over",
            hint="give a list, a dataset, or a function that gives an iterator from a position on",
        )


def check_again(source: Any) -> None:
    """Refuses what can be read only once."""
    if not callable(source) and isinstance(source, Iterator) and iter(source) is source:
        raise SettingError(
            f"a {type(source).__name__} can be read once, and the next epoch would be empty",
            hint="give something that can be iterated over again, as a list or a dataset, or a function "
            "that gives an iterator from a position on",
        )
