"""Measures whether the recommended way to batch is the fastest of those that are offered.

python3 measure.py --out RUN.jsonl speech=css10_es.csv:frames text=gsm8k_train.csv:tokens
python3 measure.py --summary RUN.jsonl

For each model it measures a cost model with `lengthwise.calibrate`, once for all lists of lengths. For each list it
asks `lengthwise.tune` for a recommendation with that cost model, and times epochs of the recommended way, of those
that are predicted to be nearest to it, of what is recommended when only the kind of the model is known, and of random
batches. A compiled model is not timed with random batches: each of their shapes would be compiled.

A list of lengths is NAME=FILE.csv:COLUMN or NAME=FILE.npy. `--out` gets one JSON object a line: "fit" for each
cost model, "choice" for each way that was timed, "machine" once. `--summary` prints the table of such a file.
It needs a CUDA device, PyTorch 2.11 or later, NumPy and the package `lengthwise`. `--quick` runs tiny models on
the CPU, to see that everything works.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import lengthwise as lw
import numpy as np
import torch
from torch import nn
from torch.nn import functional

FEATURES, CLASSES = 80, 42
#: The kind of each model, as `tune` knows it.
MODELS = {"blstm": "recurrent", "padded": "attention", "packed": "packed", "compiled": "attention"}


class Layer(nn.Module):
    """A Transformer layer. Attention is over padded rows with a mask, or over one packed row."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, mask, starts=None, longest=0):
        q, k, v = self.qkv(self.before_attention(x)).unflatten(-1, (3, self.heads, -1)).unbind(-3)
        if starts is None:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2)
        else:
            mixed = over_row(q, k, v, starts, longest)
        x = x + self.out(mixed.flatten(-2))
        return x + self.down(functional.gelu(self.up(self.before_feed(x))))


def over_row(q, k, v, starts, longest):
    """Attention within each sequence of a packed row."""
    if q.is_cuda:
        from torch.nn.attention.varlen import varlen_attn

        return varlen_attn(q, k, v, starts, starts, longest, longest)
    parts = []
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        one = (part[begin:end].transpose(0, 1) for part in (q, k, v))
        parts.append(functional.scaled_dot_product_attention(*one).transpose(0, 1))
    return torch.cat(parts)


class Network(nn.Module):
    def __init__(self, name: str, quick: bool) -> None:
        super().__init__()
        width, depth, heads = (32, 2, 2) if quick else (512, 12, 8)
        self.recurrent = name == "blstm"
        if self.recurrent:
            self.body = nn.LSTM(FEATURES, width, 1 if quick else 3, bidirectional=True, batch_first=True)
        else:
            self.first = nn.Linear(FEATURES, width)
            self.layers = nn.ModuleList(Layer(width, heads) for _ in range(depth))
        self.last = nn.Linear(2 * width if self.recurrent else width, CLASSES)

    def forward(self, values, mask, starts, longest):
        if self.recurrent:
            return self.last(self.body(values)[0])
        x = self.first(values)
        for layer in self.layers:
            x = layer(x, mask, starts, longest)
        return self.last(x)


class Batch:
    """A micro-batch: its shape, and on the device where its sequences end."""

    def __init__(self, trainer: Trainer, lengths: np.ndarray, length: int, row: bool) -> None:
        self.tokens = int(lengths.sum())
        self.row = row
        self.size, self.length = (1 if row else len(lengths)), int(length)
        self.shape = (self.size, self.length)
        self.cells = self.size * self.length
        self.starts, self.longest = None, self.length
        if row:
            # What is left of the row is padding, in sequences of no more than the longest.
            self.longest = int(lengths.max())
            left = self.length - self.tokens
            rest = [self.longest] * (left // self.longest) + [left % self.longest]
            parts = np.concatenate([lengths, [part for part in rest if part]])
            self.starts = trainer.put(np.concatenate([[0], np.cumsum(parts)]))
        elif trainer.packs:
            self.starts = trainer.put(np.arange(self.size + 1) * self.length)
        self.ends = trainer.put(np.array([self.tokens]) if row else lengths)


class Trainer:
    """A model, its optimizer and random input."""

    def __init__(self, name: str, budget: int, quick: bool) -> None:
        self.device = "cpu" if quick else "cuda"
        self.packs, self.recurrent = name == "packed", name == "blstm"
        torch.manual_seed(0)
        torch.set_float32_matmul_precision("high")
        self.network = Network(name, quick).to(self.device)
        if name == "compiled":
            torch._dynamo.config.recompile_limit = 10_000
            torch._dynamo.config.accumulated_recompile_limit = 10_000
            for layer in self.network.layers:
                layer.compile(dynamic=False)
        self.optimizer = torch.optim.AdamW(self.network.parameters(), lr=1e-5, fused=not quick)
        most = max(2 * budget, 4096)
        self.values = torch.randn(most, FEATURES, device=self.device)
        self.labels = torch.randint(CLASSES, (most,), device=self.device)
        self.met: set[tuple[int, int]] = set()

    def put(self, numbers: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(np.asarray(numbers, np.int32)).to(self.device)

    def micro_batch(self, batch: Batch, tokens: int) -> None:
        """Adds the gradients of one micro-batch."""
        size, length = batch.shape
        inside = torch.arange(length, device=self.device) < batch.ends[:, None]
        values, target = self.values[: batch.cells], self.labels[: batch.cells]
        mask = None
        if not self.packs:
            values = values.view(size, length, FEATURES)
            mask = inside[:, None, None, :]
        with torch.autocast(self.device, torch.bfloat16, enabled=not self.recurrent):
            scores = self.network(values, mask, batch.starts, batch.longest)
        losses = functional.cross_entropy(scores.flatten(0, -2).float(), target, reduction="none")
        ((losses * inside.flatten()).sum() / tokens).backward()

    def update(self) -> None:
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def run(self, steps: list[list[Batch]]) -> float:
        """The seconds of these optimizer steps."""
        self.wait()
        begin = time.perf_counter()
        for step in steps:
            tokens = sum(batch.tokens for batch in step)
            for batch in step:
                self.micro_batch(batch, tokens)
            self.update()
        self.wait()
        seconds = time.perf_counter() - begin
        self.met.update(batch.shape for step in steps for batch in step)
        return seconds

    def once(self, batch: Batch, times: int = 1) -> float:
        """The seconds of a micro-batch, the mean of so many in a row."""
        self.wait()
        begin = time.perf_counter()
        for _ in range(times):
            self.micro_batch(batch, batch.tokens)
        self.wait()
        self.met.add(batch.shape)
        return (time.perf_counter() - begin) / times

    def full(self, size: int, length: int) -> Batch:
        return Batch(self, np.full(size, length), length, row=False)

    def wait(self) -> None:
        if self.device == "cuda":
            torch.cuda.synchronize()

    def warm_up(self) -> None:
        """Loads what every shape needs."""
        for size, length in [(3, 7), (5, 11), (8, 64), (16, 128)]:
            self.run([[self.full(size, length)]])


# Cost models


def calibrated(name: str, lists: dict[str, np.ndarray], args: argparse.Namespace, queue) -> None:
    """What `lengthwise.calibrate` finds, in a process of its own."""
    trainer = Trainer(name, args.cells, args.quick)
    trainer.warm_up()
    compiled = name == "compiled"
    found = lw.calibrate(
        lambda size, length: trainer.micro_batch(trainer.full(size, length), size * length),
        np.concatenate(list(lists.values())), model=MODELS[name], max_cells=args.cells,
        warmup=1, repeats=3 if compiled else 5, seconds=args.compile_seconds if compiled else args.fit_seconds,
    )  # fmt: skip
    queue.put({
        "row": "fit", "model": name, "cost_model": str(found.model),
        "mean_relative_error": found.fit.mean_relative_error,
        "steps": [[s.batch_size, s.batch_length, s.seconds] for s in found.steps],
    })  # fmt: skip


# Choices


def name_of(choice: dict) -> tuple:
    return choice["strategy"], choice["shapes"]


def chosen(lengths: np.ndarray, args: argparse.Namespace, name: str, cost: lw.CostModel) -> dict[tuple, dict]:
    """What is recommended, what comes next, what is recommended without a cost model, and random batches. Of the
    compiled model only ways whose later epochs compile nothing, and fewer of them."""

    def offered(**given) -> list[dict]:
        tuning = lw.tune(lengths, budget=args.budget, model=MODELS[name], **given)
        same = {key: tuning.settings[key] for key in ("arrange", "cost_model") if key in tuning.settings}
        return [{**one, **same} for one in tuning.candidates]

    every = offered(cost_model=cost)
    kept = [one for one in every if not one["broken_limits"] and (name != "compiled" or one["new_shapes"] == 0)]
    ways = {name_of(one): {**one, "way": "next"} for one in kept[: args.ways]}
    # The best of each number of micro-batches that was not far off.
    for count in sorted({one["micro_batches"] for one in kept}):
        first = next(one for one in kept if one["micro_batches"] == count)
        if first["predicted_seconds"] < 1.4 * kept[0]["predicted_seconds"]:
            ways.setdefault(name_of(first), {**first, "way": "next"})
    ways[name_of(every[0])] = {**every[0], "way": "recommended"}
    plain = offered()[0]
    if name_of(plain) in ways:
        ways[name_of(plain)]["without_cost_model"] = True
    else:
        ways[name_of(plain)] = {**plain, "way": "without cost model", "without_cost_model": True, "predicted_seconds": None}
    random = next(one for one in every if name_of(one) == ("shuffled", "exact"))
    if name_of(random) not in ways:
        ways[name_of(random)] = {**random, "way": "random"}
    return ways


def steps_of(lengths: np.ndarray, args: argparse.Namespace, choice: dict, epoch: int) -> list:
    """The optimizer steps of an epoch, each a list of lengths and batch lengths."""
    keys = ("shapes", "update", "arrange", "cost_model")
    given = {key: choice[key] for key in keys if choice.get(key)}
    if "update" not in given:
        given["accumulate"] = choice["micro_batches"]
    plan = lw.plan(lengths, choice["strategy"], budget=args.budget, seed=0, epoch=epoch, **given)
    schedule = plan.schedule(1)
    every = schedule.all_ranks()
    batches = list(zip(every, every.batch_lengths, strict=True))
    count = schedule.accumulate
    assert len(batches) == len(schedule) * count, "not every step has as many micro-batches"
    packed = choice["strategy"].startswith("packed")
    return [[(lengths[i], int(pad), packed) for i, pad in batches[at : at + count]] for at in range(0, len(batches), count)]


def shape_of(part: tuple) -> tuple[int, int]:
    lengths, pad, packed = part
    return (1 if packed else len(lengths)), pad


class Timed:
    """One choice while it is timed: the first steps of epoch 1, after the shapes of epoch 0."""

    def __init__(self, trainer: Trainer, lengths: np.ndarray, args: argparse.Namespace, choice: dict, cost: lw.CostModel) -> None:
        self.choice, self.trainer = choice, trainer
        before = {shape_of(part) for step in steps_of(lengths, args, choice, 0) for part in step}
        epoch = steps_of(lengths, args, choice, 1)
        # Of short epochs several are timed.
        epochs = [epoch] + [steps_of(lengths, args, choice, 1 + more) for more in range(1, min(args.steps // len(epoch), 4))]
        all_shapes = {shape_of(part) for step in sum(epochs, []) for part in step}
        self.new = len(all_shapes - before) / len(epochs)
        self.part = sum(epochs, [])[: args.steps] if len(epochs) == 1 else sum(epochs, [])
        self.batches = [[Batch(trainer, *part) for part in step] for step in self.part]

        def tokens(step: list) -> float:
            return sum(int(part[0].sum()) for part in step)

        def seconds(step: list) -> float:
            return sum(cost.seconds(*shape_of(part)) for part in step)

        # Steps differ in batch length: what the cost model says of them says it better than their tokens.
        weight = tokens if choice["strategy"].startswith("packed") else seconds
        self.share = len(epochs) if len(epochs) > 1 else sum(map(weight, self.part)) / sum(map(weight, epoch))
        self.before = before
        self.updates, self.micro_batches = len(epoch), sum(len(step) for step in epoch)
        self.shapes = len(all_shapes)
        self.cells = sum(shape_of(part)[0] * shape_of(part)[1] for step in epoch for part in step)
        self.warm: list[float] = []

    def meet(self) -> None:
        """Runs the shapes of epoch 0 that come up, and then the steps with those that are new."""
        for step in self.batches:
            for batch in step:
                if batch.shape in self.before and batch.shape not in self.trainer.met:
                    self.trainer.once(batch)
        self.trainer.network.zero_grad(set_to_none=True)
        new = {batch.shape for step in self.batches for batch in step} - self.trainer.met
        self.new_timed = len(new)
        self.cold = self.trainer.run(self.batches)
        if not new:
            self.warm.append(self.cold)

    def again(self, times: int = 1) -> None:
        self.warm.append(self.trainer.run(self.batches * times) / times)

    def result(self, new_shape: float) -> dict:
        """The seconds of the whole epoch: those of met shapes by the share of the epoch that was timed, and new
        shapes by what those that were timed took more, or by the cost model if there were none."""
        warm = median(self.warm)
        each = max(self.cold - warm, 0.0) / self.new_timed if self.new_timed else new_shape
        keys = ("way", "strategy", "shapes", "update", "micro_batches", "optimizer_steps", "padding_rate", "shape_count",
                "new_shapes", "step_mix", "mixing", "predicted_seconds", "broken_limits", "without_cost_model")  # fmt: skip
        return {
            **{key: self.choice.get(key) for key in keys},
            "seconds": warm / self.share + each * self.new,
            "seconds_met_shapes": warm / self.share,
            "seconds_each_new_shape": each,
            "new_shapes_epoch_1": self.new,
            "new_shapes_timed": self.new_timed,
            "share_timed": self.share,
            "timed": self.warm,
            "timed_first": self.cold,
            "updates": self.updates,
            "batches": self.micro_batches,
            "shapes_epoch_1": self.shapes,
            "cells": self.cells,
        }


# Runs


def measured(name: str, data: str, lengths: np.ndarray, args: argparse.Namespace, model: str, queue) -> None:
    """Times the choices of one model and one list of lengths, in a process of its own."""
    begin = time.monotonic()
    trainer = Trainer(name, args.cells, args.quick)
    trainer.warm_up()
    cost = lw.CostModel(model)
    ways = chosen(lengths, args, name, cost)
    best = next(one for one in ways.values() if one["way"] == "recommended")
    args.steps = max(int(np.ceil(args.seconds * best["optimizer_steps"] / best["predicted_seconds"])), 3)
    if 0.6 * best["optimizer_steps"] < args.steps < best["optimizer_steps"]:
        args.steps = best["optimizer_steps"]
    timed = [
        Timed(trainer, lengths, args, one, cost)
        for one in ways.values()
        if name != "compiled" or name_of(one) != ("shuffled", "exact")
    ]
    for each in timed:
        each.meet()
    after_first = time.monotonic() - begin
    for turn in range(args.repeats):
        for each in timed if turn % 2 == 0 else timed[::-1]:
            # What is far off need not be exact.
            if turn == 0 or each.cold < 3 * args.seconds:
                each.again(max(round(args.seconds / each.cold), 1))
    for each in timed:
        queue.put({"row": "choice", "model": name, "data": data, **each.result(cost.new_shape)})
    queue.put({"row": "time", "model": name, "data": data, "first": after_first, "all": time.monotonic() - begin})


def needed_shapes(lists: dict[str, np.ndarray], args: argparse.Namespace, model: str) -> list[tuple[int, int]]:
    """The shapes of all choices of the compiled model, to compile them side by side."""
    needed = {}
    for lengths in lists.values():
        for one in chosen(lengths, args, "compiled", lw.CostModel(model)).values():
            if name_of(one) != ("shuffled", "exact"):
                for epoch in (0, 1):
                    for step in steps_of(lengths, args, one, epoch)[:24]:
                        needed |= {shape_of(part): None for part in step}
    return list(needed)


def compile_shapes(shapes: list[tuple[int, int]], args: argparse.Namespace, queue) -> None:
    """Fills the compiler's cache."""
    import torch._inductor.config

    torch._inductor.config.compile_threads = 1
    trainer = Trainer("compiled", args.cells, args.quick)
    for shape in shapes:
        trainer.once(trainer.full(*shape))


def in_process(function, *given) -> list[dict]:
    """What a process of its own says. A fork has PyTorch loaded, and a device of its own."""
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    process = context.Process(target=function, args=(*given, queue))
    process.start()
    rows = []
    while process.is_alive() or not queue.empty():
        try:
            rows.append(queue.get(timeout=0.2))
        except Exception:  # noqa: BLE001, S112: nothing has come yet
            continue
    process.join()
    if process.exitcode:
        print(f"a process ended with {process.exitcode}", file=sys.stderr, flush=True)
    return rows


def side_by_side(shapes: list, args: argparse.Namespace) -> None:
    context = multiprocessing.get_context("fork")
    count = 1 if args.quick else 6
    every = [context.Process(target=compile_shapes, args=(shapes[at::count], args, None)) for at in range(count)]
    for process in every:
        process.start()
    for process in every:
        process.join()


def machine() -> dict:
    name = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return {"row": "machine", "device": name, "torch": torch.__version__, "lengthwise": lw.__version__}


def machine_row(queue) -> None:
    queue.put(machine())


def read(given: str) -> tuple[str, np.ndarray]:
    name, _, place = given.partition("=")
    path, _, column = place.partition(":")
    if path.endswith(".npy"):
        return name, np.load(path).astype(np.uint32)
    with open(path, newline="", encoding="utf-8") as file:
        return name, np.array([int(row[column]) for row in csv.DictReader(file)], np.uint32)


def summary(rows: list[dict]) -> str:
    """For each model and list: what was recommended, and its time over the best and over random's."""
    lines = ["| model | lengths | ways | recommended | predicted s | measured s | ÷ best | best way | ÷ random | "
             "without cost model ÷ best |", "|---|---|--:|---|--:|--:|--:|---|--:|--:|"]  # fmt: skip
    choices = [row for row in rows if row["row"] == "choice"]
    for model, data in dict.fromkeys((row["model"], row["data"]) for row in choices):
        every = [row for row in choices if (row["model"], row["data"]) == (model, data)]
        best = min((row for row in every if not row["broken_limits"]), key=lambda row: row["seconds"])
        random = next((row for row in every if name_of(row) == ("shuffled", "exact")), None)
        of = next(row for row in every if row["way"] == "recommended")
        plain = next(row for row in every if row["without_cost_model"])
        over_random = f"{of['seconds'] / random['seconds']:.2f} " if random else ""
        lines.append(
            f"| {model} | {data} | {len(every)} | `{of['strategy']}` `{of['shapes']}` | {of['predicted_seconds']:.2f} | "
            f"{of['seconds']:.2f} | {of['seconds'] / best['seconds']:.3f} | `{best['strategy']}` `{best['shapes']}` | "
            f"{over_random}| {plain['seconds'] / best['seconds']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lengths", nargs="*", help="NAME=FILE.csv:COLUMN or NAME=FILE.npy")
    parser.add_argument("--out", type=Path, help="the .jsonl file that results are added to")
    parser.add_argument("--summary", type=Path, help="print the table of this .jsonl file, and nothing else")
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--cells", type=int, default=65_536, help="cells of a full batch")
    parser.add_argument("--seconds", type=float, default=1.5, help="about how long one choice is timed at a time")
    parser.add_argument("--repeats", type=int, default=2, help="how often each choice is timed")
    parser.add_argument("--fit-seconds", type=float, default=25.0, help="how long shapes are timed for a fit")
    parser.add_argument("--compile-seconds", type=float, default=60.0, help="the same for the compiled encoder")
    parser.add_argument("--ways", type=int, default=4, help="how many of the ways that are predicted fastest are timed")
    parser.add_argument("--no-cudnn", action="store_true", help="keep PyTorch from cuDNN's attention, which is slow on new shapes")
    parser.add_argument("--quick", action="store_true", help="tiny models on the CPU")
    args = parser.parse_args()
    if args.summary:
        print(summary([json.loads(line) for line in args.summary.read_text().splitlines()]))
        return
    args.budget = f"padded:{args.cells}"
    lists = dict(read(given) for given in args.lengths)
    torch.backends.cuda.enable_cudnn_sdp(not args.no_cudnn)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())
    every: list[dict] = []

    def keep(rows: list[dict]) -> list[dict]:
        every.extend(rows)
        with args.out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
        return rows

    keep(in_process(machine_row))
    for name in args.models:
        (fit,) = keep(in_process(calibrated, name, lists, args))
        print(f"{name}: {fit['cost_model']}, mean error {100 * fit['mean_relative_error']:.0f} %", flush=True)
        if name == "compiled":
            begin, shapes = time.monotonic(), needed_shapes(lists, args, fit["cost_model"])
            side_by_side(shapes, args)
            print(f"compiled {len(shapes)} shapes in {time.monotonic() - begin:.0f} s", flush=True)
        for data, lengths in lists.items():
            for row in keep(in_process(measured, name, data, lengths, args, fit["cost_model"])):
                if row["row"] == "choice":
                    print(
                        f"{name:9}{data:8}{row['way']:20}{row['strategy']:26}{row['shapes']:10}{row['predicted_seconds'] or 0:8.3f}"
                        f"{row['seconds']:8.3f}{row['new_shapes_epoch_1']:4}{row['seconds_each_new_shape']:8.3f}"
                        f"{row['share_timed']:6.2f}{' *' if row['without_cost_model'] else ''}", flush=True,
                    )  # fmt: skip
                else:
                    print(row, flush=True)
    print(summary(every))


if __name__ == "__main__":
    main()
