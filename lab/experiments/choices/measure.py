"""Measures whether the recommended way to batch is the fastest of those that are offered.

python3 measure.py --out RUN.jsonl speech=css10_es.csv:frames text=gsm8k_train.csv:tokens
python3 measure.py --summary RUN.jsonl

For each model and each list of lengths it

1. times micro-batches of several shapes, and the first micro-batch of each shape, and fits a cost model,
2. asks `lengthwise.tune` for a recommendation with that cost model,
3. times epochs of the recommended way, of those nearest to it, and of random batches.

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

    def __init__(self, name: str, budget: int, quick: bool, dynamic: bool = False) -> None:
        self.device = "cpu" if quick else "cuda"
        self.packs, self.recurrent = name == "packed", name == "blstm"
        torch.manual_seed(0)
        torch.set_float32_matmul_precision("high")
        self.network = Network(name, quick).to(self.device)
        if name == "compiled":
            torch._dynamo.config.recompile_limit = 10_000
            torch._dynamo.config.accumulated_recompile_limit = 10_000
            for layer in self.network.layers:
                layer.compile(dynamic=dynamic)
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


def used_shapes(lengths: np.ndarray, budget: int) -> list[tuple[int, int]]:
    """Shapes like those of plans: lengths from short to the longest, from 1/6 of the budget to all of it. Smaller
    micro-batches take as long as the host needs to launch them, which it does in advance while the device is busy
    with larger ones: they would only blur what larger ones take."""
    at = [int(length) for length in np.quantile(lengths, [0.1, 0.5, 0.9])] + [int(lengths.max())]
    shapes = {}
    for part in (1, 2, 4, 6, 3):
        for length in sorted(set(at)):
            size = max(min(round(budget / part / length), len(lengths), budget // length), 1)
            shapes[size, length] = None
    return list(shapes)


def timed_shapes(trainer: Trainer, shapes: list[tuple[int, int]], limit: float) -> list[dict]:
    """How long the first micro-batch of each shape takes, and later ones in a row."""
    rows, begin = [], time.monotonic()
    for size, length in shapes:
        if time.monotonic() - begin > limit and len(rows) >= 10:
            break
        batch = trainer.full(size, length)
        first, second = trainer.once(batch), trainer.once(batch)
        # In a row, the host can prepare one while the device works on another, as it does in training.
        times = 3 if second < 0.1 else 1
        seconds = median([trainer.once(batch, times), trainer.once(batch, times), second])
        rows.append({"batch_size": size, "batch_length": length, "first": first, "alone": second, "seconds": seconds})
    trainer.network.zero_grad(set_to_none=True)
    return rows


def fitted(rows: list[dict]) -> tuple[lw.CostModel, dict]:
    new_shape = max(median(row["first"] - row["alone"] for row in rows), 0.0)
    fit = lw.CostModel.fit(
        [row["batch_size"] for row in rows],
        [row["batch_length"] for row in rows],
        [row["seconds"] for row in rows],
        new_shape=new_shape,
    )
    return fit.model, {"cost_model": str(fit.model), "mean_relative_error": fit.mean_relative_error, "steps": rows}


def calibrated(trainer: Trainer, lengths: np.ndarray, kind: str, budget: int, seconds: float) -> tuple[lw.CostModel, dict]:
    """What `lengthwise.calibrate` finds, with whole training steps of one micro-batch."""
    found = lw.calibrate(
        lambda size, length: trainer.run([[trainer.full(size, length)]]),
        lengths, model=kind, max_cells=budget, warmup=1, repeats=3, seconds=seconds,
    )  # fmt: skip
    rows = [{"batch_size": s.batch_size, "batch_length": s.batch_length, "seconds": s.seconds} for s in found.steps]
    error = found.fit.mean_relative_error
    return found.model, {"cost_model": str(found.model), "mean_relative_error": error, "steps": rows}


# Choices


def name_of(choice: dict) -> tuple:
    return choice["strategy"], choice["shapes"]


def chosen(lengths: np.ndarray, budget: str, kind: str, cost: lw.CostModel | None, compiled: bool, few: bool = False) -> list[dict]:
    """What is recommended, what is offered beside it, and random batches. Compiled models have no choices whose
    later epochs compile, but for random batches."""
    tuning = lw.tune(lengths, budget=budget, model=kind, **({} if cost is None else {"cost_model": cost}))
    random = next(one for one in tuning.candidates if name_of(one) == ("shuffled", "exact"))
    offered = [one for one in tuning.candidates if not one["broken_limits"]]
    best = offered[0]
    assert name_of(best) == name_of(tuning.recommended)
    kept = {name_of(best): best}
    if few:
        return [best]
    sound = [one for one in offered if not compiled or one["new_shapes"] == 0]
    padded = [one for one in sound if one["strategy"].startswith("proportional")]
    counts = sorted({one["micro_batches"] for one in padded})
    middle = padded[0]
    near = [count for count in counts if -1 <= counts.index(count) - counts.index(middle["micro_batches"]) <= 2]
    picks = sound[:2]
    # Fewer and more micro-batches, in the best shapes of each.
    picks += [next(one for one in padded if one["micro_batches"] == count) for count in near]
    # The best of other shapes.
    for shapes in ("ladder:16", "ladder:32", "exact"):
        picks += [one for one in padded if one["shapes"] == shapes][:1]
    rows = [one for one in sound if one["strategy"].startswith("packed")]
    if rows:
        picks = rows + padded[:2]
    for one in picks:
        if not compiled or len(kept) < 5:
            kept.setdefault(name_of(one), one)
    kept.setdefault(name_of(random), random)
    return list(kept.values())


def steps_of(trainer: Trainer, lengths: np.ndarray, budget: str, choice: dict, cost: lw.CostModel | None, epoch: int) -> list:
    """The optimizer steps of an epoch, each a list of indices and batch lengths."""
    size = {"update": choice["update"]} if choice.get("update") else {"accumulate": choice["micro_batches"]}
    given = {} if cost is None else {"cost_model": cost}
    plan = lw.plan(
        lengths, choice["strategy"], budget=budget, shapes=choice["shapes"], arrange="spread", seed=0, epoch=epoch,
        **size, **given,
    )  # fmt: skip
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

    def __init__(self, trainer: Trainer, lengths: np.ndarray, budget: str, choice: dict, cost: lw.CostModel | None, steps: int) -> None:
        self.choice, self.trainer = choice, trainer
        before = {shape_of(part) for step in steps_of(trainer, lengths, budget, choice, cost, 0) for part in step}
        epoch = steps_of(trainer, lengths, budget, choice, cost, 1)
        all_shapes = {shape_of(part) for step in epoch for part in step}
        self.new = len(all_shapes - before)
        self.part = epoch[:steps]
        self.batches = [[Batch(trainer, *part) for part in step] for step in self.part]
        self.share = sum(batch.tokens for step in self.batches for batch in step) / int(lengths.sum())
        if cost is not None and not choice["strategy"].startswith("packed"):
            # Steps differ in batch length: what the cost model says of them says it better than their tokens.
            def seconds(step: list) -> float:
                return sum(cost.seconds(*shape_of(part)) for part in step)

            self.share = sum(map(seconds, self.part)) / sum(map(seconds, epoch))
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

    def again(self) -> None:
        self.warm.append(self.trainer.run(self.batches))

    def result(self, new_shape: float) -> dict:
        """The seconds of the whole epoch: those of met shapes by the share of the epoch that was timed, and new
        shapes by what those that were timed took more, or by the cost model if there were none."""
        warm = median(self.warm)
        each = max(self.cold - warm, 0.0) / self.new_timed if self.new_timed else new_shape
        keys = ("strategy", "shapes", "update", "micro_batches", "optimizer_steps", "padding_rate", "shape_count",
                "new_shapes", "step_mix", "mixing", "predicted_seconds")  # fmt: skip
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


def fits_of(name: str, trainer: Trainer, lengths: np.ndarray, args: argparse.Namespace) -> dict[str, tuple]:
    shapes = used_shapes(lengths, args.cells)
    found = {"micro-batches": fitted(timed_shapes(trainer, shapes, args.fit_seconds))}
    if args.calibrate and name != "compiled":
        try:
            found["calibrate"] = calibrated(trainer, lengths, MODELS[name], args.cells, args.fit_seconds)
        except lw.LengthwiseError as error:
            print(f"calibrate: {error}", file=sys.stderr, flush=True)
    batch = trainer.full(2, 64)
    trainer.run([[batch]] * 3)
    # What an optimizer step takes besides its micro-batches.
    with_updates, without = trainer.run([[batch]] * 10), trainer.once(batch, 10) * 10
    trainer.network.zero_grad(set_to_none=True)
    found["micro-batches"][1]["optimizer_step"] = (with_updates - without) / 10
    return found


def measured(name: str, data: str, lengths: np.ndarray, args: argparse.Namespace, fits: dict | None, queue) -> None:
    """Times the choices of one model and one list of lengths, in a process of its own."""
    begin = time.monotonic()
    trainer = Trainer(name, args.cells, args.quick)
    trainer.warm_up()
    if fits is None:
        fits = fits_of(name, trainer, lengths, args)
        for way, (_, about) in fits.items():
            queue.put({"row": "fit", "model": name, "data": data, "way": way, **about})
    else:
        fits = {way: (lw.CostModel(text), None) for way, text in fits.items()}
    after_fit = time.monotonic() - begin
    compiled = name == "compiled"
    cost = fits["micro-batches"][0]
    listed = chosen(lengths, args.budget, MODELS[name], cost, compiled)
    per_step = listed[0]["predicted_seconds"] / listed[0]["optimizer_steps"]
    steps = max(int(np.ceil(args.seconds / per_step)), 3)
    if 1.5 * steps > listed[0]["optimizer_steps"]:
        steps = 2 * steps
    timed = [("micro-batches", one, Timed(trainer, lengths, args.budget, one, cost, steps)) for one in listed
             if not (compiled and name_of(one) == ("shuffled", "exact"))]  # fmt: skip
    # What would be recommended otherwise: with the model of `calibrate`, and with no cost model.
    others = {"calibrate": fits["calibrate"][0]} if "calibrate" in fits else {}
    also: dict[tuple, list[str]] = {}
    for way, other in {**others, "none": None}.items():
        one = chosen(lengths, args.budget, MODELS[name], other, compiled, few=True)[0]
        also.setdefault(name_of(one), []).append(way)
        if name_of(one) not in {name_of(known) for _, known, _ in timed}:
            timed.append((way, one, Timed(trainer, lengths, args.budget, one, other, steps)))
    for _, _, each in timed:
        each.meet()
    after_cold = time.monotonic() - begin
    repeats = args.repeats
    for turn in range(repeats):
        for _, one, each in timed if turn % 2 == 0 else timed[::-1]:
            # Random batches are far off: once is enough, if that takes long.
            if turn == 0 or each.cold < 2 * args.seconds:
                each.again()
    for way, one, each in timed:
        recommended = way == "micro-batches" and name_of(one) == name_of(listed[0])
        queue.put({
            "row": "choice", "model": name, "data": data, "way": way, "recommended": recommended,
            "also_recommended_by": also.get(name_of(one), []),
            "within_limits": not one["broken_limits"], **each.result(cost.new_shape),
        })  # fmt: skip
    if compiled:
        queue.put(with_dynamic_shapes(data, lengths, args, listed[-1], cost, steps))
    took = time.monotonic() - begin
    queue.put({"row": "time", "model": name, "data": data, "fit": after_fit, "first": after_cold - after_fit, "all": took})


def with_dynamic_shapes(data: str, lengths: np.ndarray, args: argparse.Namespace, random: dict, cost: lw.CostModel, steps: int) -> dict:
    """Random batches have too many shapes to compile each: they are compiled once, for any shape."""
    torch._dynamo.reset()
    trainer = Trainer("compiled", args.cells, args.quick, dynamic=True)
    trainer.warm_up()
    each = Timed(trainer, lengths, args.budget, random, cost, steps)
    each.meet()
    each.again()
    return {"row": "choice", "model": "compiled", "data": data, "way": "dynamic", "recommended": False,
            "within_limits": True, **each.result(0.0)}  # fmt: skip


def compiled_fit(lists: dict[str, np.ndarray], args: argparse.Namespace, queue) -> None:
    """One cost model of the compiled encoder for all lists: every shape of its grid is compiled. And the shapes
    of all choices, to compile them side by side."""
    trainer = Trainer("compiled", args.cells, args.quick)
    trainer.warm_up()
    shapes = []
    for part in (1, 4, 2, 6):
        shapes += [(max(args.cells // part // length, 1), length) for length in (128, 512, 2048)]
    cost, about = fitted(timed_shapes(trainer, list(dict.fromkeys(shapes)), args.compile_seconds))
    queue.put({"row": "fit", "model": "compiled", "data": "all", "way": "micro-batches", **about})
    needed = {}
    for lengths in lists.values():
        few = chosen(lengths, args.budget, "attention", None, True, few=True)
        for given, one in [(cost, one) for one in chosen(lengths, args.budget, "attention", cost, True)[:-1]] + [(None, few[0])]:
            for epoch in (0, 1):
                for step in steps_of(trainer, lengths, args.budget, one, given, epoch)[: args.compiled_steps]:
                    needed |= {shape_of(part): None for part in step}
    queue.put({"shapes": list(needed), "cost_model": str(cost)})


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
    count = 1 if args.quick else 8
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
    lines = ["| model | lengths | recommended | predicted s | measured s | over the best | the best | over random's |",
             "|---|---|---|--:|--:|--:|---|--:|"]  # fmt: skip
    choices = [row for row in rows if row["row"] == "choice"]
    for model, data in dict.fromkeys((row["model"], row["data"]) for row in choices):
        every = [row for row in choices if (row["model"], row["data"]) == (model, data)]
        best = min((row for row in every if row["within_limits"]), key=lambda row: row["seconds"])
        random = next((row for row in every if name_of(row) == ("shuffled", "exact")), None)
        of = next(row for row in every if row["recommended"] and row["way"] == "micro-batches")
        over_random = f"{of['seconds'] / random['seconds']:.2f}" if random else ""
        lines.append(
            f"| {model} | {data} | `{of['strategy']}` `{of['shapes']}` | {of['predicted_seconds']:.2f} | "
            f"{of['seconds']:.2f} | {of['seconds'] / best['seconds']:.3f} | `{best['strategy']}` `{best['shapes']}`"
            f"{'' if best['way'] in ('micro-batches', 'dynamic') else ' (' + best['way'] + ')'} | {over_random} |"
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
    parser.add_argument("--calibrate", action="store_true", help="also use the cost model of `lengthwise.calibrate`")
    parser.add_argument("--quick", action="store_true", help="tiny models on the CPU")
    args = parser.parse_args()
    if args.summary:
        print(summary([json.loads(line) for line in args.summary.read_text().splitlines()]))
        return
    args.budget = f"padded:{args.cells}"
    args.compiled_steps = 24
    lists = dict(read(given) for given in args.lengths)
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", tempfile.mkdtemp())
    every: list[dict] = []

    def keep(rows: list[dict]) -> None:
        every.extend(rows)
        with args.out.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)

    keep(in_process(machine_row))
    for model in args.models:
        fits = None
        if model == "compiled":
            begin = time.monotonic()
            *rows, needed = in_process(compiled_fit, lists, args)
            keep(rows)
            fits = {"micro-batches": needed["cost_model"]}
            print(needed["cost_model"], len(needed["shapes"]), "shapes", round(time.monotonic() - begin), "s", flush=True)
            side_by_side(needed["shapes"], args)
            print("compiled after", round(time.monotonic() - begin), "s", flush=True)
        for data, lengths in lists.items():
            rows = in_process(measured, model, data, lengths, args, fits)
            keep(rows)
            for row in rows:
                if row["row"] == "fit":
                    print(model, data, row["way"], row["cost_model"], f"{row['mean_relative_error']:.3f}", flush=True)
                elif row["row"] == "choice":
                    print(
                        f"{model:9}{data:8}{row['way']:14}{row['strategy']:26}{row['shapes']:10}{row['predicted_seconds'] or 0:8.3f}"
                        f"{row['seconds']:8.3f}{row['new_shapes_epoch_1']:4}{row['seconds_each_new_shape']:8.3f}{row['share_timed']:6.2f}"
                        f"  {'R' if row['recommended'] else ''} {' '.join(row.get('also_recommended_by', []))}", flush=True,
                    )  # fmt: skip
                else:
                    print(row, flush=True)
    print(summary(every))


if __name__ == "__main__":
    main()
