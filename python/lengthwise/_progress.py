"""A line that tells how far long work is."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

#: After so many seconds work is long.
LONG = 1.0
#: How many seconds are between two lines, on a terminal and elsewhere.
BETWEEN = (0.2, 10.0)


class Progress:
    """Counts what is done, and tells it.

    Args:
        name: What is at work.
        total: How many there are, if that is known.
        show: Whether a line is shown on standard error. ``None`` shows it if standard error is a terminal and the work
            takes longer than a second. A function is called with how many are done, and the total.
    """

    def __init__(
        self, name: str, total: int | None, show: bool | Callable[[int, int | None], object] | None
    ) -> None:
        self._name, self._total, self._show = name, total, show
        self._done = 0
        self._begin = self._told = time.monotonic()
        self._open = False

    def add(self, count: int) -> None:
        """Says that so many more are done."""
        self._done += count
        if not isinstance(self._show, bool) and self._show is not None:
            self._show(self._done, self._total)
            return
        stream = self._stream()
        if stream is None:
            return
        now = time.monotonic()
        terminal = stream.isatty()
        if now - self._told >= BETWEEN[not terminal] and now - self._begin >= LONG:
            self._told, self._open = now, terminal
            print(f"\r{self._line(now)}" if terminal else self._line(now), end="" if terminal else "\n", file=stream)
            stream.flush()

    def end(self) -> None:
        """Says that there is no more to do, or that it stops."""
        stream = self._stream()
        if stream is not None and (self._open or (self._show is True and not stream.isatty())):
            print(f"\r{self._line(time.monotonic())}" if self._open else self._line(time.monotonic()), file=stream)
            self._open = False

    def _stream(self) -> TextIO | None:
        """Where the line is shown, if anywhere."""
        stream: TextIO | None = sys.stderr
        if stream is None or self._show is False or callable(self._show):
            return None
        return stream if self._show or stream.isatty() else None

    def _line(self, now: float) -> str:
        speed = self._done / max(now - self._begin, 1e-9)
        line = f"{self._name}: {self._done:,}"
        if self._total:
            line += f" of {self._total:,} items ({100 * self._done / self._total:.0f} %)"
        else:
            line += " items"
        line += f", {speed:,.0f} items/s"
        if self._total and 0 < self._done < self._total:
            line += f", {_duration((self._total - self._done) / speed)} left"
        # A shorter line covers the one before.
        return f"{line:<72}" if self._open else line


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
