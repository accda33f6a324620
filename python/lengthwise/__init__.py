"""Plans the batches of variable-length sequences: little padding, few shapes, and new batch-mates in
every epoch.

>>> import lengthwise as lw
>>> plan = lw.plan(lw.example("speech"), budget="padded:20000")
>>> len(plan), plan[0][:3].tolist(), plan.batch_lengths[:3].tolist()  # doctest: +SKIP

- ``lengthwise.plan`` plans one epoch, and :class:`Planner` plans many. ``lengthwise.plan_file`` plans more sequences than
  memory holds.
- ``lengthwise.balance`` divides the sequences of one step over ranks and micro-batches.
- ``lengthwise.map_batches`` runs a function on batches, and gives the results in order.
- ``lengthwise.stream_batches`` batches data that arrives one item after another.
- ``lengthwise.torch`` has the batch sampler for PyTorch.
- ``lengthwise.hf`` plans the batches of the Hugging Face ``Trainer``.
- ``lengthwise.lhotse`` has samplers that Lhotse's datasets accept.
- ``lengthwise.ray`` plans the batches of Ray datasets, for Ray Train.
- ``lengthwise.arrays`` pads batches to fixed shapes without a framework.
- ``lengthwise.lab`` trains a PyTorch model of yours under several ways to batch, and compares them.
- ``lengthwise.calibrate`` measures how long training steps take, and recommends settings.
"""

from __future__ import annotations

from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING, Any

from ._checks import check_settings as _check_settings
from ._describe import described as _described
from ._lengthwise import (
    BalancedStep,
    Chunks,
    Comparison,
    CostModel,
    Feed,
    Fit,
    Inspection,
    Lengths,
    Measures,
    Mixing,
    Plan,
    Planner,
    Schedule,
    Statistics,
    Tuning,
    __version__ as __version__,
    balance,
    compare,
    effective_mates,
    example,
    explain,
    inspect,
    ladder,
    load_plan,
    mixing,
    plan_file,
    read_lengths,
    tune,
)
from .errors import (
    ArgumentTypeError,
    BudgetError,
    CostError,
    FileError,
    LengthsError,
    LengthwiseError,
    LengthwiseWarning,
    RankError,
    SettingError,
    StateError,
)
from .stream import StreamBatch, stream_batches

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import PlannerSettings
    from ._map import map_batches
    from .calibration import calibrate

__all__ = [
    "ArgumentTypeError",
    "BalancedStep",
    "BudgetError",
    "Chunks",
    "Comparison",
    "CostError",
    "CostModel",
    "Feed",
    "FileError",
    "Fit",
    "Inspection",
    "Lengths",
    "LengthsError",
    "LengthwiseError",
    "LengthwiseWarning",
    "Measures",
    "Mixing",
    "Plan",
    "Planner",
    "RankError",
    "Schedule",
    "SettingError",
    "StateError",
    "Statistics",
    "StreamBatch",
    "Tuning",
    "balance",
    "calibrate",
    "compare",
    "effective_mates",
    "example",
    "explain",
    "inspect",
    "ladder",
    "load_plan",
    "map_batches",
    "mixing",
    "plan",
    "plan_file",
    "read_lengths",
    "stream_batches",
    "tune",
]

_Sequence.register(Plan)


@_described(Planner)
def plan(
    lengths: Any, strategy: str | None = None, *, epoch: int = 0, **settings: Unpack[PlannerSettings]
) -> Plan:
    """Plans the batches of one epoch.

    To plan several epochs, make a :class:`Planner`: it checks the lengths once.

    Args:
        epoch: The epoch, from 0: each epoch has other batches. The default is 0.
    """
    _check_settings("plan", settings, plan, Planner)
    return Planner(lengths, strategy, **settings).plan(epoch)


def __getattr__(name: str) -> Any:
    # `lw.torch.pad_collate` works without importing torch before it is used.
    if name in ("torch", "hf", "arrays", "calibration", "lab", "ray", "seqlen_balancing"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    if name == "calibrate":
        from .calibration import calibrate

        return calibrate
    if name == "map_batches":
        from ._map import map_batches

        return map_batches
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
