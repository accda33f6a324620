"""Trains on data whose lengths are known only after each item was processed, and compares loaders.

python3 benches/late/epochs.py --out benches/late/runs/NAME

Every item takes 5 ms of a processor core, in 8 worker processes, and its length is random: documents as in
`lw.example("documents")`. The model is an encoder with 12 layers. Needs PyTorch and the package `lengthwise`; with
`online-dynamic-batching` installed, it is measured too. `--quick` runs a tiny model on the CPU, to see that everything
works.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import lengthwise as lw
import numpy as np
import torch
from lengthwise.torch import LearningLoader, StreamBatches
from torch import nn
from torch.nn.functional import scaled_dot_product_attention
from torch.utils.data import DataLoader

try:
    import odb
except ImportError:
    odb = None

LONGEST = 2048
WORDS = 8192
BASE = "DataLoader, random batches"


class Documents(torch.utils.data.Dataset):
    """Token ids that take their time."""

    def __init__(self, count: int, seconds: float) -> None:
        lengths = np.minimum(np.asarray(lw.example("documents")), LONGEST)
        self.lengths = np.random.default_rng(1).choice(lengths, count)
        self.seconds = seconds

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        end = time.perf_counter() + self.seconds
        ids = torch.randint(1, WORDS, (int(self.lengths[index]),))
        while time.perf_counter() < end:
            pass
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def padded(items: list[dict[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    # Batches that were planned say what they are padded to.
    length = getattr(items, "length", None) or max(len(item["input_ids"]) for item in items)
    batch = {name: torch.zeros(len(items), length, dtype=torch.long) for name in ("input_ids", "attention_mask")}
    for row, item in enumerate(items):
        for name, values in batch.items():
            values[row, : len(item[name])] = item[name]
    return batch


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inward, self.outward = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, values: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        size, length, width = values.shape
        parts = self.inward(self.before(values)).view(size, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        values = values + self.outward(seen.transpose(1, 2).reshape(size, length, width))
        return values + self.narrow(nn.functional.gelu(self.wide(self.between(values))))


class Encoder(nn.Module):
    def __init__(self, layers: int, width: int, heads: int) -> None:
        super().__init__()
        self.ids, self.places = nn.Embedding(WORDS, width), nn.Embedding(LONGEST, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.out = nn.Linear(width, 8)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        values = self.ids(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for layer in self.layers:
            values = layer(values, mask)
        return self.out(values)


class Measured:
    """The batches of an epoch, and what they are."""

    def __init__(self) -> None:
        self.cells = self.tokens = self.items = self.batches = self.largest = 0
        self.shapes: set[tuple[int, ...]] = set()

    def note(self, batch: dict[str, torch.Tensor]) -> None:
        shape, tokens = tuple(batch["input_ids"].shape), int(batch["attention_mask"].sum())
        self.shapes.add(shape)
        self.cells += shape[0] * shape[1]
        self.largest = max(self.largest, shape[0] * shape[1])
        self.tokens += tokens
        self.items += shape[0]
        self.batches += 1


def train(batches: Iterable[dict[str, torch.Tensor]], model: nn.Module, optimizer: Any, device: str) -> dict[str, Any]:
    """One epoch."""
    measured, first = Measured(), None
    begin = time.perf_counter()
    for batch in batches:
        measured.note(batch)
        ids, mask = (batch[name].to(device, non_blocking=True) for name in ("input_ids", "attention_mask"))
        with torch.autocast(device, torch.bfloat16):
            loss = model(ids, mask.bool()).float().square().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if first is None:
            first = time.perf_counter() - begin
    if device == "cuda":
        torch.cuda.synchronize()
    return {
        "seconds": time.perf_counter() - begin, "first_batch": first, "items": measured.items,
        "batches": measured.batches, "largest": measured.largest, "shapes": len(measured.shapes),
        "padding": 1 - measured.tokens / measured.cells,
    }  # fmt: skip


def loaders(data: Documents, cells: int, workers: int, window: int, file: Path) -> dict[str, Any]:
    """The ways to make batches, by name: each gives the batches of an epoch."""
    size = cells // LONGEST
    random = DataLoader(data, batch_size=size, shuffle=True, num_workers=workers, collate_fn=padded, prefetch_factor=4)
    generator = np.random.default_rng(5)

    def streamed(shapes: str) -> Iterator[Any]:
        stream = StreamBatches(
            generator.permutation(len(data)).tolist(), lambda item: len(item["input_ids"]), process=data.__getitem__,
            num_workers=workers, budget=f"padded:{cells}", window=window, shapes=shapes,
        )  # fmt: skip
        return iter(DataLoader(stream, batch_size=None, collate_fn=padded))

    learning = LearningLoader(
        data, file, lambda item: len(item["input_ids"]), budget=f"padded:{cells}", num_workers=workers, window=window,
        collate_fn=padded,
    )  # fmt: skip

    ways: dict[str, Any] = {BASE: lambda: iter(random)}
    if odb is not None:

        def online() -> Iterator[Any]:
            loader = odb.ODBDataLoader(
                data, token_budget=cells, batch_size=1, shuffle=True, num_workers=workers, prefetch_factor=64,
                collate_fn=padded,
            )  # fmt: skip
            for batch in loader:
                odb.pop_step_info(batch)
                yield batch

        ways["online-dynamic-batching"] = online
    ways["StreamBatches(process=…)"] = lambda: streamed("exact")
    ways["StreamBatches(process=…, shapes=\"ladder:16\")"] = lambda: streamed("ladder:16")
    # In the first round it learns, and then it plans.
    ways["LearningLoader"] = lambda: iter(learning)
    return ways


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each way, in turn")
    parser.add_argument("--quick", action="store_true", help="a tiny model on the CPU")
    args = parser.parse_args()
    device = "cpu" if args.quick or not torch.cuda.is_available() else "cuda"
    count, seconds, workers, cells, window = (60, 1e-4, 2, 8192, 32) if args.quick else (8_000, 5e-3, 8, 65_536, 1024)
    layers, width, heads = (1, 32, 2) if args.quick else (12, 768, 12)
    torch.manual_seed(0)
    data = Documents(count, seconds)
    model = Encoder(layers, width, heads).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scratch = TemporaryDirectory()
    ways = loaders(data, cells, workers, window, Path(scratch.name) / "lengths.npy")
    # The device and its libraries take time when they are used first.
    for length in (LONGEST, LONGEST // 2, LONGEST // 8):
        ids = torch.ones(cells // LONGEST, length, dtype=torch.long)
        train([{"input_ids": ids, "attention_mask": ids}], model, optimizer, device)
    epochs: dict[str, list[dict[str, Any]]] = {name: [] for name in ways}
    for number in range(args.rounds):
        for name, begin in ways.items():
            found = train(begin(), model, optimizer, device)
            print(f"{number} {name}: {json.dumps(found)}", flush=True)
            epochs[name].append(found)
            write(args.out, epochs, data, device, workers, cells, window)


def write(out: Path, epochs: dict[str, list[dict[str, Any]]], data: Documents, device: str, workers: int, cells: int, window: int) -> None:
    # Those of the loader that learns are two kinds of epochs.
    ways = {name: found for name, found in epochs.items() if found}
    if "LearningLoader" in ways:
        learning = ways.pop("LearningLoader")
        ways["LearningLoader, first epoch"] = learning[:1]
        if learning[1:]:
            ways["LearningLoader, later epochs"] = learning[1:]
    base = median(found["seconds"] for found in ways[BASE])
    lines = [
        "| batches | epoch s | of random | first batch s | batches | shapes | padding % | items | largest batch, cells |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, found in ways.items():
        middle = {key: median(one[key] for one in found) for key in found[0]}
        lines.append(
            f"| {name} | {middle['seconds']:.1f} | {middle['seconds'] / base:.2f} | {middle['first_batch']:.1f} "
            f"| {middle['batches']:.0f} | {middle['shapes']:.0f} | {100 * middle['padding']:.1f} | {middle['items']:.0f} "
            f"| {middle['largest']:.0f} |"
        )
    gpu = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    setting = f"{len(data)} items, {1000 * data.seconds:g} ms each, {workers} workers, {cells} cells, a window of {window}"
    out.mkdir(parents=True, exist_ok=True)
    (out / "table.md").write_text("\n".join([*lines, "", f"{setting}; {gpu}, PyTorch {torch.__version__}."]) + "\n")
    (out / "results.json").write_text(json.dumps({"setting": setting, "epochs": epochs}, indent=1))
    print("\n".join(lines), flush=True)


if __name__ == "__main__":
    main()
