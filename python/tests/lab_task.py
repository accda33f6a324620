"""A small task for the tests of the laboratory's harness, also for processes that are killed."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional

SYMBOLS = 12


class Net(nn.Module):
    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.symbols, self.places = nn.Embedding(SYMBOLS, width), nn.Embedding(64, width)
        self.drop, self.out = nn.Dropout(dropout), nn.Linear(width, SYMBOLS)

    def forward(self, tokens: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return self.out(self.drop(torch.tanh(self.symbols(tokens) + self.places(places))))


class Made:
    """Says the next of made-up tokens."""

    about = {"data": "made-up tokens"}
    error = "token error rate"
    higher = ("hits",)

    def __init__(self, settings: dict[str, Any]) -> None:
        self.settings, rng = settings, np.random.default_rng(5)
        count = settings.get("sequences", 120)
        self.lengths = rng.integers(3, 40, count)
        if settings.get("two"):
            self.lengths = np.stack([self.lengths, rng.integers(2, 20, count)], 1)
        tokens = rng.integers(1, 3, (count + 20, 64)).cumsum(1) % SYMBOLS
        self.tokens, self.held = torch.from_numpy(tokens[:count]), torch.from_numpy(tokens[count:])
        self.seen: list[list[Any]] = []

    def model(self) -> Net:
        self.seen.append([])
        made = Net(self.settings.get("width", 8), self.settings.get("dropout", 0.1))
        return made.double() if self.settings.get("double") else made

    def rows(self, batch: Any) -> tuple[torch.Tensor, torch.Tensor]:
        """Tokens and their places: padded with -1, or one after another."""
        lengths = batch.lengths if batch.lengths.ndim == 1 else batch.lengths[:, 0]
        pieces = [
            (self.tokens[index, start : start + length], torch.arange(start, start + length))
            for index, start, length in zip(batch.indices, batch.starts, lengths, strict=True)
        ]
        if batch.packed:
            tokens = [torch.cat([piece, torch.tensor([-1])]) for piece, _ in pieces]
            return torch.cat(tokens)[None], torch.cat([torch.cat([at, at[-1:]]) for _, at in pieces])[None]
        longest = batch.shape if isinstance(batch.shape, int) else batch.shape[0]
        tokens = torch.full((len(pieces), longest), -1)
        places = torch.zeros((len(pieces), longest), dtype=torch.long)
        for row, (piece, at) in enumerate(pieces):
            tokens[row, : len(piece)], places[row, : len(piece)] = piece, at
        return tokens, places

    def loss(self, model: nn.Module, batch: Any) -> tuple[torch.Tensor, Any]:
        self.seen[-1].append(batch)
        die_at = self.settings.get("die_at")
        if die_at and sum(map(len, self.seen)) == die_at and not os.environ.get("LIVES"):
            os.kill(os.getpid(), signal.SIGKILL)
        tokens, places = self.rows(batch)
        target = torch.where(tokens[:, :-1] >= 0, tokens[:, 1:], -1)
        scores = model(tokens[:, :-1].clamp(min=0), places[:, :-1])
        loss = functional.cross_entropy(scores.flatten(0, 1), target.flatten(), ignore_index=-1, reduction="sum")
        return loss * self.settings.get("factor", 1.0), (target >= 0).sum()

    def validate(self, model: nn.Module) -> dict[str, Any]:
        # What is drawn here must not change the training.
        torch.rand(3), np.random.rand()
        places = torch.arange(63).expand(len(self.held), -1)
        scores, target = model(self.held[:, :-1], places), self.held[:, 1:]
        wrong = (scores.argmax(-1) != target).double().mean()
        weight = float(sum(p.double().sum() for p in model.parameters()))
        loss = functional.cross_entropy(scores.flatten(0, 1), target.flatten())
        return {"loss": loss, "error": wrong, "sum of weights": weight}

    def test(self, model: nn.Module) -> dict[str, float]:
        return {"hits": 1 - float(Made.validate(self, model)["error"])}


def build(settings: dict[str, Any]) -> Made:
    return Made(settings)


def pairs(lengths: np.ndarray, epoch: int, seed: int, settings: dict[str, Any]) -> list[list[np.ndarray]]:
    """Steps of two random batches."""
    order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
    batches = np.array_split(order, range(settings["size"], len(order), settings["size"]))
    return [batches[at : at + 2] for at in range(0, len(batches), 2)]


def silent(settings: dict[str, Any]) -> object:
    """A task that only knows its loss."""
    task = Made(settings)
    validate = task.validate
    task.validate = lambda model: {"loss": validate(model)["loss"]}  # type: ignore[method-assign]
    return task
