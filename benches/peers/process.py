"""A process that answers requests line by line, and may fail by itself."""

from __future__ import annotations

import json
import select
import subprocess
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


class Failed(Exception):
    """The other process could not do it; the reason is the message."""


class Process:
    """One adapter, in a process of its own."""

    def __init__(self, python: str, adapter: str, log: Path, limit: float) -> None:
        self.log, self.limit = log, limit
        self.child = subprocess.Popen(
            [python, str(HERE / "adapters" / f"{adapter}.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log.open("w"),
            text=True,
        )

    def ask(self, do: str, **request: Any) -> dict[str, Any]:
        """One request and its answer."""
        try:
            self.child.stdin.write(json.dumps({"do": do, **request}) + "\n")
            self.child.stdin.flush()
        except BrokenPipeError:
            raise Failed(self.last_words()) from None
        ready, _, _ = select.select([self.child.stdout], [], [], self.limit)
        if not ready:
            raise Failed(f"took more than {self.limit:.0f} seconds to {do}")
        line = self.child.stdout.readline()
        if not line:
            raise Failed(self.last_words())
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def last_words(self) -> str:
        """How it ended."""
        code = self.child.wait(timeout=10)
        if code < 0:
            return f"was ended by signal {-code}"
        lines = [line for line in self.log.read_text().splitlines() if line.strip()]
        return (lines[-1] if lines else f"ended with {code}")[:200]

    def close(self) -> None:
        self.child.stdin.close()
        try:
            self.child.wait(timeout=2)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
        self.child.stdout.close()

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
