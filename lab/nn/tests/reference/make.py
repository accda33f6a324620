"""Computes the reference numbers of tests/pytorch.rs with PyTorch, in double precision.

python make.py > numbers.json        (made with torch 2.11.0)
"""

from __future__ import annotations

import json
import math

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.set_default_dtype(torch.float64)


def wave(count: int, seed: float, scale: float = 0.5) -> torch.Tensor:
    """Numbers that the Rust side makes too."""
    values = [scale * math.sin(seed * (i + 1) + 0.1 * math.sqrt(i)) for i in range(count)]
    return torch.tensor(values, dtype=torch.float32).double()


def fill(lstm: nn.LSTM, layer: int, reverse: bool, flat: torch.Tensor, inputs: int, units: int) -> None:
    """Our order: input weight, recurrent weight, one bias; rows are what comes in."""
    end = "_reverse" if reverse else ""
    a, b = inputs * 4 * units, units * 4 * units
    with torch.no_grad():
        getattr(lstm, f"weight_ih_l{layer}{end}").copy_(flat[:a].reshape(inputs, 4 * units).T)
        getattr(lstm, f"weight_hh_l{layer}{end}").copy_(flat[a : a + b].reshape(units, 4 * units).T)
        getattr(lstm, f"bias_ih_l{layer}{end}").copy_(flat[a + b :])
        getattr(lstm, f"bias_hh_l{layer}{end}").zero_()


def gradient(lstm: nn.LSTM, layer: int, reverse: bool) -> list[float]:
    end = "_reverse" if reverse else ""
    parts = [
        getattr(lstm, f"weight_ih_l{layer}{end}").grad.T,
        getattr(lstm, f"weight_hh_l{layer}{end}").grad.T,
        getattr(lstm, f"bias_ih_l{layer}{end}").grad,
    ]
    return torch.cat([part.reshape(-1) for part in parts]).tolist()


def stack(units: int) -> dict:
    """Two BLSTM layers and a linear one on rows of several lengths, with cross-entropy."""
    steps, lengths, inputs, classes = 7, [7, 3, 5, 1], 5, 6
    rows = len(lengths)
    x = wave(steps * rows * inputs, 0.7).reshape(steps, rows, inputs).requires_grad_()
    lstm = nn.LSTM(inputs, units, 2, bidirectional=True)
    count = lambda wide: (wide + units + 1) * 4 * units  # noqa: E731
    sizes = [(inputs, 0.31), (inputs, 0.37), (2 * units, 0.41), (2 * units, 0.43)]
    for place, (wide, seed) in enumerate(sizes):
        fill(lstm, place // 2, place % 2 == 1, wave(count(wide), seed), wide, units)
    head = nn.Linear(2 * units, classes)
    flat = wave((2 * units + 1) * classes, 0.53)
    with torch.no_grad():
        head.weight.copy_(flat[: 2 * units * classes].reshape(2 * units, classes).T)
        head.bias.copy_(flat[2 * units * classes :])
    packed = pack_padded_sequence(x, torch.tensor(lengths), enforce_sorted=False)
    y, _ = pad_packed_sequence(lstm(packed)[0], total_length=steps)
    scores = head(y)
    labels = torch.tensor([(3 * i + i // 5) % classes for i in range(steps * rows)]).reshape(steps, rows)
    mask = torch.arange(steps)[:, None] < torch.tensor(lengths)
    losses = nn.functional.cross_entropy(scores.reshape(-1, classes), labels.reshape(-1), reduction="none")
    loss = losses[mask.reshape(-1)].sum()
    (loss / mask.sum()).backward()
    return {
        "units": units,
        "loss": loss.item(),
        "correct": int((scores.argmax(-1) == labels)[mask].sum()),
        "gradients": [gradient(lstm, place // 2, place % 2 == 1) for place in range(4)],
        "head": torch.cat([head.weight.grad.T.reshape(-1), head.bias.grad]).tolist(),
        "input": x.grad.reshape(-1).tolist(),
    }


def ctc() -> dict:
    steps, lengths, classes = 9, [9, 4, 7], 5
    targets = [[1, 1, 3], [2, 4], []]
    rows = len(lengths)
    scores = wave(steps * rows * classes, 0.9, 2.0).reshape(steps, rows, classes).requires_grad_()
    losses = nn.functional.ctc_loss(
        torch.log_softmax(scores, -1),
        torch.tensor([label for target in targets for label in target]),
        torch.tensor(lengths),
        torch.tensor([len(target) for target in targets]),
        reduction="none",
    )
    (losses.sum() / sum(len(target) for target in targets)).backward()
    return {"loss": losses.sum().item(), "gradient": scores.grad.reshape(-1).tolist()}


def squared_error() -> dict:
    steps, lengths, width = 4, [2, 4], 3
    values = wave(steps * 2 * width, 0.6).requires_grad_()
    targets = wave(steps * 2 * width, 0.8)
    mask = (torch.arange(steps)[:, None] < torch.tensor(lengths))[..., None].expand(steps, 2, width)
    loss = ((values - targets).reshape(steps, 2, width) ** 2)[mask].mean()
    loss.backward()
    return {"loss": loss.item(), "gradient": values.grad.tolist()}


def attention() -> dict:
    """Queries of rows of 6, 2 and 4 steps over keys of rows of 3, 5 and 1."""
    asking, asked, rows, width, value_width = [6, 2, 4], [3, 5, 1], 3, 4, 3
    q = wave(6 * rows * width, 0.61, 2.0).reshape(6, rows, width).requires_grad_()
    k = wave(5 * rows * width, 0.67, 2.0).reshape(5, rows, width).requires_grad_()
    v = wave(5 * rows * value_width, 0.71).reshape(5, rows, value_width).requires_grad_()
    real = torch.arange(5)[None, None, :] < torch.tensor(asked)[:, None, None]
    scores = torch.einsum("trw,srw->rts", q, k) / math.sqrt(width)
    weights = torch.softmax(scores.masked_fill(~real, -math.inf), -1)
    there = torch.arange(6)[:, None] < torch.tensor(asking)
    y = torch.einsum("rts,srw->trw", weights, v) * there[..., None]
    (y * wave(y.numel(), 0.83).reshape(y.shape)).sum().backward()
    flat = lambda tensor: tensor.reshape(-1).tolist()  # noqa: E731
    return {"output": flat(y), "queries": flat(q.grad), "keys": flat(k.grad), "values": flat(v.grad)}


def text_classifier() -> dict:
    """Symbols, a layer in both directions, the mean over each row, classes."""
    lengths, symbols, width, units, classes = [4, 2, 5], 7, 3, 2, 4
    ids = torch.tensor([(5 * i + i // 3) % symbols for i in range(15)]).reshape(5, 3)
    table = wave(symbols * width, 0.37).reshape(symbols, width).requires_grad_()
    lstm = nn.LSTM(width, units, bidirectional=True)
    count = (width + units + 1) * 4 * units
    for reverse, seed in ((False, 0.41), (True, 0.43)):
        fill(lstm, 0, reverse, wave(count, seed), width, units)
    flat = wave((2 * units + 1) * classes, 0.53).requires_grad_()
    packed = pack_padded_sequence(table[ids], torch.tensor(lengths), enforce_sorted=False)
    y, _ = pad_packed_sequence(lstm(packed)[0], total_length=5)
    mean = y.sum(0) / torch.tensor(lengths)[:, None]
    scores = mean @ flat[: 2 * units * classes].reshape(2 * units, classes) + flat[2 * units * classes :]
    loss = nn.functional.cross_entropy(scores, torch.tensor([2, 0, 3]), reduction="sum")
    (loss / 3).backward()
    both = [gradient(lstm, 0, False), gradient(lstm, 0, True)]
    return {"loss": loss.item(), "gradient": table.grad.reshape(-1).tolist() + both[0] + both[1] + flat.grad.tolist()}


def optimizer(kind) -> list[float]:
    parameters = wave(10, 0.2).requires_grad_()
    steps = kind([parameters])
    for step in range(5):
        parameters.grad = wave(10, 0.3 + 0.1 * step)
        steps.step()
    return parameters.tolist()


def main() -> None:
    numbers = {
        "stacks": [stack(3), stack(18)],
        "ctc": ctc(),
        "squared_error": squared_error(),
        "attention": attention(),
        "text_classifier": text_classifier(),
        "adam": optimizer(lambda p: torch.optim.Adam(p, lr=0.01)),
        "adadelta": optimizer(lambda p: torch.optim.Adadelta(p, lr=1.0, rho=0.95, eps=1e-6)),
    }
    rounded = json.loads(json.dumps(numbers), parse_float=lambda text: float(f"{float(text):.7g}"))
    print(json.dumps(rounded, separators=(",", ":")))


if __name__ == "__main__":
    main()
