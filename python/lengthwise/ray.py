"""Planned batches on Ray: of Ray datasets, in the workers of Ray Train.

>>> rows = Rows(ray.data.read_parquet("corpus"))  # doctest: +SKIP
>>> sampler = BatchSampler(lengths_of(rows, "tokens"), budget="padded:20000")  # doctest: +SKIP
"""

from __future__ import annotations

from ._ray_data import Rows, lengths_of, statistics_of
from ._ray_stream import StreamBatches

__all__ = ["Rows", "StreamBatches", "lengths_of", "statistics_of"]
