"""Plans the batches of variable-length sequences: little padding, few shapes, fresh company.

>>> import lengthwise as lw
>>> plan = lw.plan(lw.example("speech"), budget="padded:20000")
>>> len(plan), plan[0][:3].tolist(), plan.batch_lengths[:3].tolist()  # doctest: +SKIP

``lengthwise.stream_batches`` makes batches of data that comes one item after another;
``lengthwise.torch`` has the batch sampler for PyTorch, ``lengthwise.hf`` what the Hugging Face
``Trainer`` needs, ``lengthwise.arrays`` batches of fixed shapes without any framework, and
``lengthwise.calibrate`` measures how long training steps take.
"""

from __future__ import annotations

from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING, Any

from ._checks import check_settings as _check_settings
from ._lengthwise import (
    Chunks,
    Comparison,
    CostModel,
    Feed,
    Fit,
    Inspection,
    Lengths,
    Measures,
    Plan,
    Planner,
    Schedule,
    Statistics,
    Tuning,
    compare,
    effective_mates,
    example,
    explain,
    inspect,
    ladder,
    load_plan,
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
    from .calibration import Calibration

__version__ = "0.1.0"

__all__ = [
    "ArgumentTypeError",
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
    "Plan",
    "Planner",
    "RankError",
    "Schedule",
    "SettingError",
    "StateError",
    "Statistics",
    "StreamBatch",
    "Tuning",
    "calibrate",
    "compare",
    "effective_mates",
    "example",
    "explain",
    "inspect",
    "ladder",
    "load_plan",
    "plan",
    "read_lengths",
    "stream_batches",
    "tune",
]

_Sequence.register(Plan)


def plan(lengths: Any, strategy: str | None = None, *, epoch: int = 0, **settings: Any) -> Plan:
    """The plan of one epoch.

    Takes the settings of :class:`Planner`, of which only ``budget`` must be given, and not
    even that with ``packed:capacity=4096``. To plan several epochs, make a :class:`Planner` once: it checks the lengths once.
    """
    _check_settings("plan", settings, plan, Planner)
    return Planner(lengths, strategy, **settings).plan(epoch)


def calibrate(step: Any, lengths: Any, **options: Any) -> Calibration:
    """Times a training step on a grid of shapes, and recommends budget, shapes and strategy.

    See :func:`lengthwise.calibration.calibrate`.
    """
    from .calibration import calibrate

    return calibrate(step, lengths, **options)


def __getattr__(name: str) -> Any:
    # `lw.torch.pad_collate` works without importing torch before it is used.
    if name in ("torch", "hf", "arrays", "calibration"):
        import importlib

        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
