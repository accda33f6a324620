# Written by stubs.py from the Rust signatures; not edited by hand.
"""Settings as types, so that a type checker finds a misspelt name or a wrong type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from os import PathLike
    from typing import SupportsIndex

    from ._lengthwise import CostModel, Statistics


class SamplerSettings(TypedDict, total=False):
    """The settings of :class:`lengthwise.torch.BatchSampler`."""

    share: str
    one_kind: str
    mix: Any | None
    shapes: str | None
    arrange: str
    over_long: str
    steps: str | None
    tail: str
    cost_model: CostModel | str | PathLike[str] | None
    accumulate: SupportsIndex | None
    canonical_ranks: SupportsIndex | None
    update: str | None
    like: str | SupportsIndex | None
    model: CostModel | str | PathLike[str] | None
    seed: SupportsIndex
    statistics: Statistics | None
    shard: SupportsIndex | None
    shards: SupportsIndex | None


class PlannerSettings(SamplerSettings, total=False):
    """The settings of :class:`lengthwise.Planner`."""

    second: Any | None
    together: Any | None
    kind: Any | None
    budget: str | SupportsIndex | None
    constant_steps: bool


class TrainerSettings(PlannerSettings, total=False):
    """The settings of :class:`lengthwise.hf.TrainerMixin`."""

    lengths: Any
    strategy: str | None
    column: str | None
    padding_value: dict[str, Any] | None
    evaluation: bool | dict[str, Any]
    length: Any
    window: SupportsIndex
    pivot: str


class StreamSettings(TypedDict, total=False):
    """The settings of :class:`lengthwise.torch.StreamBatches`."""

    shapes: str
    window: SupportsIndex
    pivot: str
    over_long: str
    tail: str
    seed: SupportsIndex


class EpochSettings(StreamSettings, total=False):
    """The settings of :func:`lengthwise.stream_batches`."""

    epoch: SupportsIndex


class FeedSettings(EpochSettings):
    """The settings of :class:`lengthwise.stream.Streaming`."""

    budget: str | SupportsIndex
