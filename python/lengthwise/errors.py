"""The exceptions of this package. The ``hint`` of each says what to do about it."""

from __future__ import annotations

import re

# The extension module tells an exception by a note which argument was being read.
_ARGUMENT = re.compile(r"while processing '(\w+)'")


class LengthwiseError(ValueError):
    """Any error of this package.

    Args:
        message: What is wrong.
        hint: What to do about it. By default, there is no hint.
        index: The index of the sequence that is wrong. By default, the error is not about one sequence.
    """

    hint: str | None
    index: int | None

    def __init__(self, message: str, *, hint: str | None = None, index: int | None = None) -> None:
        super().__init__(f"{message}\nhint: {hint}" if hint else message)
        self.hint = hint
        self.index = index

    def add_note(self, note: str) -> None:
        """Adds a ``note``. The name of an argument becomes part of the message, if it is not there."""
        found = _ARGUMENT.fullmatch(note)
        if found is None:
            # Python 3.10 has no notes.
            self.__notes__ = [*getattr(self, "__notes__", []), note]
            return
        name, message = found[1], str(self.args[0])
        if not re.search(rf"\b{name.rstrip('s')}", message.partition("\nhint: ")[0]):
            self.args = (f"`{name}`: {message}", *self.args[1:])


class LengthsError(LengthwiseError):
    """Invalid lengths: zero, negative, not whole, not numbers, or none at all; or data of other lengths."""


class BudgetError(LengthwiseError):
    """A sequence exceeds the budget alone."""


class SettingError(LengthwiseError):
    """A setting that does not exist, or an invalid value of a setting."""


class ArgumentTypeError(SettingError, TypeError):
    """An argument of a type that it cannot have."""


class RankError(LengthwiseError):
    """An invalid rank or world size."""


class StateError(LengthwiseError):
    """A saved state that is damaged or belongs to another run."""


class CostError(LengthwiseError):
    """Measured steps that do not determine a cost model."""


class FileError(LengthwiseError):
    """A file that cannot be read or written, or has the wrong content."""


class LengthwiseWarning(UserWarning):
    """Something works, but probably not as intended."""
