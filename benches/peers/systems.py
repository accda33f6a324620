"""The systems that are compared: one entry, one row."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class System:
    """A peer with one setting."""

    name: str
    adapter: str
    # What the adapter calls it.
    system: str
    # Whose Python runs it.
    environment: str
    # What is limited: `sequences` in a batch, its `padded` size, or the capacity of a `packed` row.
    kind: str
    # Whether it gives Python's lists; then ours does too.
    lists: bool = True
    options: dict[str, Any] = field(default_factory=dict)
    # Above this it is left out, and why.
    largest: int | None = None
    why: str = ""


SYSTEMS = [
    System("numpy-int64", "by_hand", "int64", "ours", "padded", lists=False),
    System("numpy-uint16", "by_hand", "uint16", "ours", "padded", lists=False),
    System("numpy-pools", "by_hand", "pools", "ours", "padded", lists=False),
    System("hf-length-grouped", "hugging_face", "grouped", "shared", "sequences"),
    System("hf-batch-rebalance", "hugging_face", "rebalanced", "shared", "sequences"),
    System("fairseq-default", "fairseq_cython", "frozen", "fairseq", "padded", lists=False),
    System("fairseq-each-epoch", "fairseq_cython", "fresh", "fairseq", "padded", lists=False),
    System("lhotse", "lhotse_buckets", "buckets", "shared", "padded"),
    System("nemo-semi-sorted", "nemo_semi_sorted", "semi_sorted", "shared", "sequences"),
    System("speechbrain", "speechbrain_dynamic", "dynamic", "shared", "padded"),
    System("espnet-length", "espnet_bins", "length", "shared", "padded"),
    System("espnet-numel", "espnet_bins", "elements", "shared", "padded"),
    System(
        "returnn-laplace",
        "returnn_orders",
        "ordered",
        "shared",
        "padded",
        options={"order": "laplace:.1000"},
    ),
    System(
        "returnn-bin-shuffle",
        "returnn_orders",
        "ordered",
        "shared",
        "padded",
        options={"order": "sort_bin_shuffle:.64"},
    ),
    System(
        "trl-bfd",
        "trl_bfd",
        "bfd",
        "shared",
        "packed",
        options={"map": 1000},
        largest=200_000,
        why="it moves all tokens: gigabytes",
    ),
    System(
        "trl-bfd-whole",
        "trl_bfd",
        "bfd",
        "shared",
        "packed",
        largest=200_000,
        why="it moves all tokens: gigabytes",
    ),
    System("axolotl", "axolotl_multipack", "multipack", "shared", "packed"),
    System(
        "axolotl-sequential",
        "axolotl_multipack",
        "multipack",
        "shared",
        "packed",
        options={"sequential": True},
    ),
]

# Ours beside them, whatever they do: what `plan` does by itself, and the default of `blurred`.
STANDING = {
    "padded": [{}, {"strategy": "blurred:blur=0.02", "shapes": "exact"}],
    "sequences": [{"strategy": "blurred:blur=0.02", "shapes": "exact"}],
    "packed": [],
}
