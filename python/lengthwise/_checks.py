"""Checks of arguments."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from .errors import SettingError

#: The hint for a value that is not a length.
WHOLE = "lengths are whole numbers from 1 to 4294967295; leave empty sequences out"


def checked_epoch(epoch: Any) -> int:
    try:
        checked = operator.index(epoch)
    except TypeError:
        checked = -1
    if not 0 <= checked < 2**64:
        raise SettingError(f"{epoch!r} is not an epoch", hint="epochs are whole numbers from 0")
    return checked


def check_settings(
    name: str, settings: Collection[str], *makers: Any, but: Collection[str] = ()
) -> None:
    """Refuses settings that none of ``makers`` takes, and those in ``but``. ``name`` is what users call."""
    import inspect  # Here, since it takes long.

    taken = [each for maker in makers for each in inspect.signature(maker).parameters.values()]
    known = sorted({each.name for each in taken if each.kind is not each.VAR_KEYWORD} - {"self", *but})
    for setting in settings:
        if setting not in known:
            raise SettingError(f"{name} has no setting `{setting}`", hint=_meant(setting, known, "`"))


def checked_word(name: str, given: Any, known: Mapping[str, str]) -> str:
    """The meaning of a word; refuses words that ``name`` does not accept."""
    if isinstance(given, str) and given in known:
        return known[given]
    raise SettingError(f"{name} does not accept {given!r}", hint=_meant(str(given), [*known], '"'))


def _meant(given: str, known: Sequence[str], quote: str) -> str:
    import difflib  # Here, since it takes long.

    near = difflib.get_close_matches(given, known, n=1)
    if near:
        return f"did you mean {quote}{near[0]}{quote}?"
    return f"use one of {', '.join(f'{quote}{each}{quote}' for each in known)}"


def check_budget(budget: str | int | None) -> str | int:
    """A budget that must be given."""
    if budget is None:
        raise SettingError(
            "there is no budget to limit the batches",
            hint='give one, as in budget="padded:20000"',
        )
    return budget


def check_source(source: Any, again: bool = False) -> None:
    """Refuses what items cannot be read from; and what can be read only once, if it is to be read ``again``."""
    if not (callable(source) or hasattr(source, "__iter__") or hasattr(source, "__getitem__")):
        raise SettingError(
            f"{source!r} cannot be iterated over",
            hint="give a list, a dataset, or a function that returns an iterator from a position on",
        )
    if again and not callable(source) and isinstance(source, Iterator) and iter(source) is source:
        raise SettingError(
            f"a {type(source).__name__} can be read only once, so the next epoch would be empty",
            hint="give something that can be read again, such as a list or a dataset, or a function that "
            "returns an iterator from a position on",
        )
