"""lengthwise, from an array of lengths to batches as arrays or as lists of lists."""

from __future__ import annotations

from typing import Any

import lengthwise as lw
import numpy as np
from common import Adapter, serve


class Ours(Adapter):
    package = "lengthwise"
    going_on = "from a cursor"
    dealing = "stratified"

    def __init__(self, lengths: np.ndarray, settings: dict[str, Any]) -> None:
        super().__init__(lengths, settings)
        self.kept: lw.Planner | None = None

    def planner(self, **more: str) -> lw.Planner:
        given = {**self.options["settings"], **more}
        return lw.Planner(self.lengths, given.pop("strategy", None), **given)

    def formed(self, plan: lw.Plan) -> Any:
        return plan.tolist() if self.options.get("lists") else (plan.indices, plan.ends)

    def plan(self, epoch: int) -> Any:
        return self.formed(self.planner().plan(epoch))

    def again(self, epoch: int) -> Any:
        if self.kept is None:
            self.kept = self.planner()
        return self.formed(self.kept.plan(epoch))

    def resume(self, epoch: int, batches: int) -> Any:
        """From the cursor of a checkpoint, in a process that has only just begun."""
        plan = self.planner().plan(epoch)
        if not hasattr(self, "cursor"):
            self.cursor = plan.schedule(1).cursor(batches)
        return self.formed(plan.resume(self.cursor, 1).for_rank(0))

    def ranks(self, epoch: int, steps: str = "stratified") -> tuple[np.ndarray, ...]:
        dealt = self.planner(steps=steps).plan(epoch).schedule(8).all_ranks()
        return dealt.indices, dealt.ends, dealt.batch_lengths

    def whole(self, epoch: int) -> tuple[np.ndarray, ...]:
        plan = self.planner().plan(epoch)
        return plan.indices, plan.ends, plan.batch_lengths


serve({"lengthwise": Ours})
