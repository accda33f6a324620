"""A causal language model of dictionary entries, for `python -m lengthwise.lab run dictionary.toml --data tokens.npz`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from lengthwise import FileError, SettingError
from lengthwise.lab import Batch, Graphs
from torch import nn
from torch.nn import functional

VOCABULARY, LONGEST = 8192, 1024
#: Where positions and entry lengths are divided, to see who pays.
POSITIONS, ENTRIES = (16, 64, 256), (32, 64, 128, 256)


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_feed = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor, starts: torch.Tensor | None, longest: int) -> torch.Tensor:
        parts = self.qkv(self.before_attention(x)).unflatten(-1, (3, self.heads, -1))
        q, k, v = parts.unbind(-3)
        if starts is None:
            q, k, v = (part.transpose(1, 2) for part in (q, k, v))
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        else:
            mixed = within_sequences(q, k, v, starts, longest)
        x = x + self.out(mixed.flatten(-2))
        return x + self.down(functional.gelu(self.up(self.before_feed(x))))


def within_sequences(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, starts: torch.Tensor, longest: int) -> torch.Tensor:
    """Causal attention within each sequence of a packed row."""
    if q.is_cuda:
        from torch.nn.attention.varlen import varlen_attn

        return varlen_attn(q, k, v, starts, starts, longest, longest, window_size=(-1, 0))
    # A mask of the whole row is enough for the small rows of a test.
    places = torch.arange(len(q))
    sequence = torch.searchsorted(starts, places, right=True)
    seen = (sequence[:, None] == sequence) & (places[:, None] >= places)
    q, k, v = (part.transpose(0, 1) for part in (q, k, v))
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=seen).transpose(0, 1)


class Model(nn.Module):
    def __init__(self, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(LONGEST, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)
        for layer in self.layers:
            for out in (layer.out, layer.down):
                nn.init.normal_(out.weight, std=0.02 / (2 * layers) ** 0.5)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor, starts: torch.Tensor | None, longest: int) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(places)
        for layer in self.layers:
            x = layer(x, starts, longest)
        return functional.linear(self.norm(x), self.tokens.weight)


class Entries:
    """All tokens on the device; a batch is gathered there, padded or as one packed row."""

    def __init__(self, tokens: np.ndarray, lengths: np.ndarray, device: str) -> None:
        self.device = device
        self.tokens = torch.from_numpy(tokens.astype(np.int64)).to(device)
        self.starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        self.lengths = lengths.astype(np.int64)

    def moved(self, values: np.ndarray) -> torch.Tensor:
        return torch.from_numpy(values).to(self.device, non_blocking=True)

    def packed(self, indices: np.ndarray) -> tuple:
        lengths = self.lengths[indices]
        ends = np.cumsum(lengths)
        place = np.arange(ends[-1]) - np.repeat(ends - lengths, lengths)
        tokens = self.tokens[self.moved(np.repeat(self.starts[indices], lengths) + place)]
        target = torch.cat([tokens[1:], tokens[:1]])
        starts = self.moved(np.concatenate([[0], ends]).astype(np.int32))
        target[starts[1:].long() - 1] = -1
        return tokens, self.moved(place), target, starts, int(lengths.max())

    def padded(self, indices: np.ndarray, length: int) -> tuple:
        lengths, starts = self.moved(self.lengths[indices]), self.moved(self.starts[indices])
        place = torch.arange(length, device=self.device)
        inside = place < lengths[:, None]
        tokens = torch.where(inside, self.tokens[(starts[:, None] + place).clamp(max=len(self.tokens) - 1)], 1)
        target = torch.where(place[1:] < lengths[:, None], tokens[:, 1:], -1)
        target = functional.pad(target, (0, 1), value=-1)
        return tokens, place.expand_as(tokens), target, None, length


def losses(model: nn.Module, row: tuple, reduction: str) -> torch.Tensor:
    """The loss of each target in float32, or their sum; 0 where there is none."""
    tokens, places, target, starts, longest = row
    scores = model(tokens, places, starts, longest)
    return functional.cross_entropy(scores.flatten(0, -2).float(), target.flatten(), ignore_index=-1, reduction=reduction)


class Dictionary:
    """The task: entries that are held out are the same for every seed."""

    error = "token error rate"

    def __init__(self, settings: dict[str, Any]) -> None:
        path = settings["data"]
        if path is None:
            raise FileError("there is no data", hint="make it with prepare.py, and give `--data tokens.npz`")
        data = np.load(Path(path))
        self.entries = Entries(data["tokens"], data["lengths"], settings["device"])
        order = np.random.default_rng(0).permutation(len(data["lengths"]))
        held_out = settings["held_out"]
        self.held_out, self.training = order[:held_out], order[held_out:]
        self.lengths = self.entries.lengths[self.training]
        self.size = (settings["width"], settings["heads"], settings["layers"])
        width, heads, layers = self.size
        self.about = {
            "data": f"{len(order)} entries, {held_out} of them held out, {int(data['lengths'].sum())} tokens",
            "model": f"{layers} layers of {width}, {heads} heads, vocabulary {VOCABULARY}",
        }

    def model(self) -> Model:
        return Model(*self.size)

    def row(self, batch: Batch) -> tuple:
        indices = self.training[batch.indices]
        return self.entries.packed(indices) if batch.packed else self.entries.padded(indices, batch.shape)

    def loss(self, model: nn.Module, batch: Batch) -> tuple[torch.Tensor, int]:
        return losses(model, self.row(batch), "sum"), self.count(batch)

    def count(self, batch: Batch) -> int:
        """Every token but the first of an entry is a target."""
        return int(self.lengths[batch.indices].sum()) - len(batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        """The loss, the share of tokens that are not the likeliest, and the loss by position and by entry length."""
        sums = torch.zeros(3, len(POSITIONS) + 1, len(ENTRIES) + 1, dtype=torch.float64, device=self.entries.device)
        positions, entries = (torch.tensor(bounds, device=self.entries.device) for bounds in (POSITIONS, ENTRIES))
        on_gpu = self.entries.device != "cpu"
        # Without a GPU rows are padded: only its kernels attend within a long packed row without a huge mask.
        order = self.held_out if on_gpu else self.held_out[np.argsort(self.entries.lengths[self.held_out], kind="stable")]
        for part in np.array_split(order, max(1, len(order) // 250)):
            lengths = self.entries.lengths[part]
            row = self.entries.packed(part) if on_gpu else self.entries.padded(part, int(lengths.max()))
            tokens, places, target, starts, longest = row
            scores = model(tokens, places, starts, longest).flatten(0, -2).float()
            target = target.flatten()
            each = functional.cross_entropy(scores, target, ignore_index=-1, reduction="none")
            of_entry = np.repeat(lengths, lengths if on_gpu else longest)
            # The target of the first token is at position 2, counted from 1.
            at = torch.bucketize(places.flatten() + 2, positions)
            kind = torch.bucketize(self.entries.moved(of_entry), entries)
            known = target >= 0
            wrong = (scores.argmax(-1) != target) & known
            for total, values in zip(sums, (each, wrong.double(), known.double()), strict=True):
                total.view(-1).index_add_(0, at * sums.shape[2] + kind, values.double())
        loss, wrong, known = sums.cpu().numpy()
        measures = {"loss": loss.sum() / known.sum(), "error": wrong.sum() / known.sum()}
        for name, axis, bounds in (("at positions", 1, POSITIONS), ("of entries of", 0, ENTRIES)):
            for part, value in zip(parts(bounds), loss.sum(axis) / np.maximum(known.sum(axis), 1), strict=True):
                measures[f"loss {name} {part}"] = float(value)
        return measures


def parts(bounds: tuple[int, ...]) -> list[str]:
    lows = [1, *(bound + 1 for bound in bounds)]
    return [f"{low} to {high}" for low, high in zip(lows, bounds)] + [f"{lows[-1]} or more"]


class Recorded(Dictionary):
    """With a CUDA graph for each shape of padded batches: a small model waits for kernel launches."""

    def __init__(self, settings: dict[str, Any]) -> None:
        super().__init__(settings)
        self.graphs = Graphs(padded_sum, settings["amp"])

    def backward(self, model: nn.Module, batch: Batch, scale: float) -> tuple[torch.Tensor, int]:
        if batch.packed:
            raise SettingError("expected padded batches with graphs, got a packed row", hint="leave `graphs` out for this run")
        tokens, places, target, _, _ = self.row(batch)
        return self.graphs.backward(model, (tokens, places, target), scale), self.count(batch)


def padded_sum(model: nn.Module, tokens: torch.Tensor, places: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    # Other kernels for attention may not be recorded.
    kernels = [SDPBackend.FLASH_ATTENTION] if tokens.is_cuda else [SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]
    with sdpa_kernel(kernels):
        return losses(model, (tokens, places, target, None, tokens.shape[1]), "sum")


def build(settings: dict[str, Any]) -> Dictionary:
    # cuDNN's attention spends a tenth of a second on every new shape, and the others do not.
    torch.backends.cuda.enable_cudnn_sdp(settings.get("cudnn", False))
    return Recorded(settings) if settings.get("graphs") else Dictionary(settings)
