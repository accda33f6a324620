"""Trains a language model on the dictionary's entries, one way to batch after another."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.varlen import varlen_attn
from ways import WAYS, described

WIDTH, HEADS, LAYERS, VOCABULARY, LONGEST = 512, 8, 8, 8192, 1024
UPDATE, HELD_OUT, WARM_UP, RATE = 29_000, 2_500, 100, 6e-4


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before_attention, self.before_feed = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor, starts: torch.Tensor | None, longest: int) -> torch.Tensor:
        parts = self.qkv(self.before_attention(x)).unflatten(-1, (3, HEADS, WIDTH // HEADS))
        q, k, v = parts.unbind(-3)
        if starts is None:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        else:
            mixed = varlen_attn(q, k, v, starts, starts, longest, longest, window_size=(-1, 0))
        x = x + self.out(mixed.flatten(-2))
        return x + self.down(functional.gelu(self.up(self.before_feed(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LONGEST, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for layer in self.layers:
            for out in (layer.out, layer.down):
                nn.init.normal_(out.weight, std=0.02 / (2 * LAYERS) ** 0.5)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor, starts: torch.Tensor | None, longest: int) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(places)
        for layer in self.layers:
            x = layer(x, starts, longest)
        return functional.linear(self.norm(x), self.tokens.weight)


class Entries:
    """All tokens on the device; a batch is gathered there, padded or as one packed row."""

    def __init__(self, tokens: np.ndarray, lengths: np.ndarray) -> None:
        self.tokens = torch.from_numpy(tokens.astype(np.int64)).cuda()
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.lengths = lengths.astype(np.int64)

    def packed(self, indices: np.ndarray) -> tuple:
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths)
        first = np.repeat(ends - lengths, lengths)
        place = np.arange(ends[-1]) - first
        where = torch.from_numpy(np.repeat(self.starts[indices], lengths) + place).cuda(non_blocking=True)
        tokens = self.tokens[where]
        target = torch.cat([tokens[1:], tokens[:1]])
        starts = torch.from_numpy(np.concatenate([[0], ends]).astype(np.int32)).cuda(non_blocking=True)
        target[starts[1:].long() - 1] = -1
        return tokens, torch.from_numpy(place).cuda(non_blocking=True), target, starts, int(lengths.max())

    def padded(self, indices: np.ndarray, length: int) -> tuple:
        lengths = torch.from_numpy(self.lengths[indices]).cuda(non_blocking=True)
        starts = torch.from_numpy(self.starts[indices]).cuda(non_blocking=True)
        place = torch.arange(length, device="cuda")
        inside = place < lengths[:, None]
        tokens = torch.where(inside, self.tokens[(starts[:, None] + place).clamp(max=len(self.tokens) - 1)], 1)
        target = torch.where(place[1:] < lengths[:, None], tokens[:, 1:], -1)
        target = functional.pad(target, (0, 1), value=-1)
        return tokens, place.expand_as(tokens), target, None, length


def loss_of(model: nn.Module, batch: tuple) -> torch.Tensor:
    tokens, places, target, starts, longest = batch
    with torch.autocast("cuda", torch.bfloat16):
        scores = model(tokens, places, starts, longest)
    return functional.cross_entropy(scores.flatten(0, -2).float(), target.flatten(), ignore_index=-1, reduction="sum")


class Graphs:
    """One recorded forward and backward pass for each shape, replayed for each micro-batch."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.recorded = model, {}
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)

    def run(self, batch: tuple, tokens: int) -> None:
        shape = tuple(batch[0].shape)
        if shape not in self.recorded:
            self.recorded[shape] = self.record(batch)
        graph, inputs, target, scale, _ = self.recorded[shape]
        inputs.copy_(batch[0])
        target.copy_(batch[2])
        scale.fill_(1 / tokens)
        graph.replay()

    def record(self, batch: tuple) -> tuple:
        inputs, target, scale = batch[0].clone(), batch[2].clone(), torch.zeros((), device="cuda")
        kept = [parameter.grad.clone() for parameter in self.model.parameters()]

        def work() -> None:
            tokens, places = inputs, batch[1]
            flash = sdpa_kernel(SDPBackend.FLASH_ATTENTION)
            with flash, torch.autocast("cuda", torch.bfloat16, cache_enabled=False):
                scores = self.model(tokens, places, None, batch[4])
            loss = functional.cross_entropy(scores.flatten(0, -2).float(), target.flatten(), ignore_index=-1, reduction="sum")
            (loss * scale).backward()

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(2):
                work()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            work()
        for parameter, grad in zip(self.model.parameters(), kept, strict=True):
            parameter.grad.copy_(grad)
        return graph, inputs, target, scale, batch[1]


@torch.no_grad()
def validation(model: nn.Module, entries: Entries, held_out: np.ndarray) -> float:
    total = 0.0
    for part in np.array_split(held_out, 10):
        total += float(loss_of(model, entries.packed(part)))
    return total / float((entries.lengths[held_out] - 1).sum())


def train(way: str, seed: int, epochs: int, layout: str, entries: Entries, training: np.ndarray, held_out: np.ndarray) -> dict:
    torch.manual_seed(seed)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters(), RATE, (0.9, 0.98), weight_decay=0.05, fused=True)
    lengths = entries.lengths[training]
    everything = float(lengths.sum()) * epochs
    graphs = Graphs(model) if layout == "graphs" else None
    seen, updates, result = 0.0, 0, {"way": way, "seed": seed, "layout": layout, "losses": [], "seconds": []}
    for epoch in range(epochs):
        steps = WAYS[way](lengths.astype(np.uint32), UPDATE, seed, epoch)
        if epoch == 0:
            result |= described(steps, lengths, packed=way == "packed")
        torch.cuda.synchronize()
        begun = time.perf_counter()
        for step in steps:
            if layout == "packed":
                batches = [entries.packed(training[np.concatenate([part for part, _ in step])])]
            elif way == "packed":
                batches = [entries.packed(training[part]) for part, _ in step]
            else:
                batches = [entries.padded(training[part], length) for part, length in step]
            tokens = sum(int(lengths[part].sum()) - len(part) for part, _ in step)
            for batch in batches:
                if graphs:
                    graphs.run(batch, tokens)
                else:
                    (loss_of(model, batch) / tokens).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            rate = RATE * min((updates + 1) / WARM_UP, 1 - 0.95 * seen / everything)
            for group in optimizer.param_groups:
                group["lr"] = rate
            optimizer.step()
            optimizer.zero_grad(set_to_none=graphs is None)
            seen += tokens + sum(len(part) for part, _ in step)
            updates += 1
        torch.cuda.synchronize()
        result["seconds"].append(time.perf_counter() - begun)
        result["losses"].append(validation(model, entries, held_out))
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("tokens.npz"))
    parser.add_argument("--ways", nargs="*", default=list(WAYS))
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--layout", choices=["packed", "padded", "graphs"], default="packed")
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()
    data = np.load(arguments.data)
    entries = Entries(data["tokens"], data["lengths"])
    order = np.random.default_rng(0).permutation(len(data["lengths"]))
    held_out, training = order[:HELD_OUT], order[HELD_OUT:]
    for seed in arguments.seeds:
        for way in arguments.ways:
            result = train(way, seed, arguments.epochs, arguments.layout, entries, training, held_out)
            with arguments.output.open("a", encoding="utf-8") as out:
                out.write(json.dumps(result) + "\n")
            print(way, seed, [round(x, 3) for x in result["losses"]], [round(x, 1) for x in result["seconds"]], flush=True)


if __name__ == "__main__":
    main()
