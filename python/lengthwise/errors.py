"""What can go wrong. Each exception says what to do about it in ``hint``."""

from __future__ import annotations

import re

# The extension module tells an exception by a note which argument was being read.
_ARGUMENT = re.compile(r"while processing '(\w+)'")


class LengthwiseError(ValueError):
    """Any error of this package; ``index`` is the sequence it is about, if it is about one."""

    hint: str | None
    index: int | None

    def __init__(self, message: str, *, hint: str | None = None, index: int | None = None) -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.hint = hint
        self.index = index

    def add_note(self, note: str) -> None:
        """Adds a note. The name of an argument becomes part of the message, if it is not there."""
        found = _ARGUMENT.fullmatch(note)
        if found is None:
            # Python 3.10 has no notes.
            self.__notes__ = [*getattr(self, "__notes__", []), note]
            return
        name, message = found[1], str(self.args[0])
        if not re.search(rf"\b{name.rstrip('s')}", message.partition("\nhint: ")[0]):
            self.args = (f"`{name}`: {message}", *self.args[1:])

    def __reduce__(self) -> tuple[object, ...]:
        # Workers of a data loader send exceptions to the main process.
        return (_restored, (type(self), self.args, self.hint, self.index))


def _restored(
    kind: type[LengthwiseError], args: tuple[object, ...], hint: str | None, index: int | None
) -> LengthwiseError:
    error = kind.__new__(kind, *args)
    error.args, error.hint, error.index = args, hint, index
    return error


class LengthsError(LengthwiseError):
    """Lengths that cannot be: zero, negative, not whole, not numbers, or none at all."""


class BudgetError(LengthwiseError):
    """A sequence that exceeds the budget even alone."""


class SettingError(LengthwiseError):
    """A setting that does not exist, or has a value that it cannot have."""


class ArgumentTypeError(SettingError, TypeError):
    """An argument of a type that it cannot have."""


class RankError(LengthwiseError):
    """A rank or a number of ranks that cannot be."""


class StateError(LengthwiseError):
    """A state to go on from that is damaged, or belongs to another run."""


class CostError(LengthwiseError):
    """Measured steps that decide no cost model."""


class FileError(LengthwiseError):
    """A file that cannot be read or written, or is not what it should be."""


class LengthwiseWarning(UserWarning):
    """Something that works, but hardly as intended."""
