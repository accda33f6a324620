"""Trains two models on the same sequences in batches of several kinds, and measures every epoch.

python3 benches/gpu/epochs.py --out benches/gpu/runs/NAME

Needs PyTorch with CUDA and the package `lengthwise`. Every kind runs in a process of its own, so that
none finds kernels or memory that another has warmed. `--quick` runs a few steps of tiny models on the
CPU, to see that everything works.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import time
from pathlib import Path

FEATURES = 80
TOKENS = 8000
COLUMNS = [
    "model", "kind", "strategy", "budget", "shapes_setting", "epoch", "seconds", "steps",
    "positions_per_second", "padding_rate", "shapes", "new_shapes", "peak_gib", "effective_mates_share",
]  # fmt: skip

# What each kind is: strategy, budget and shapes. All hold at most 51,200 cells in a batch.
CELLS = 51_200
KINDS = {
    "random": ("shuffled", f"padded:{CELLS}", "exact"),
    "random, 64 sequences": ("shuffled", "sequences:64", "exact"),
    "sorted": ("sorted", f"padded:{CELLS}", "exact"),
    "semi-sorted": ("semi-sorted:noise=0.1", f"padded:{CELLS}", "exact"),
    "alternated": ("alternated:bins=64", f"padded:{CELLS}", "exact"),
    "grouped by length (HF)": ("pooled:batches=50", "sequences:64", "exact"),
    "lengthwise": ("shuffled", f"padded:{CELLS}", "ladder:16"),
    "lengthwise, ladder:8": ("shuffled", f"padded:{CELLS}", "ladder:8"),
    "lengthwise, ladder:32": ("shuffled", f"padded:{CELLS}", "ladder:32"),
    # Again, at the end: how much the machine itself has changed meanwhile.
    "random, again": ("shuffled", f"padded:{CELLS}", "exact"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--model", choices=["encoder", "blstm"], action="append")
    parser.add_argument("--kind", choices=list(KINDS), action="append")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        print(json.dumps(measure(*json.loads(args.one), args)))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "machine.txt").write_text(machine())
    for model in args.model or ["encoder", "blstm"]:
        for kind in args.kind or KINDS:
            rows = run(model, kind, args)
            path = args.out / "epochs.csv"
            new = not path.exists()
            with path.open("a", newline="") as file:
                writer = csv.DictWriter(file, COLUMNS)
                if new:
                    writer.writeheader()
                writer.writerows(rows)
            times = ", ".join(f"{row['seconds']:.2f}" for row in rows)
            print(f"{model:8} {kind:24} {times} s", flush=True)


def run(model: str, kind: str, args: argparse.Namespace) -> list[dict]:
    """One kind in a process of its own."""
    command = [sys.executable, __file__, "--out", str(args.out), "--epochs", str(args.epochs)]
    command += ["--one", json.dumps([model, kind])] + (["--quick"] if args.quick else [])
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def machine() -> str:
    import lengthwise
    import torch

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "CPU"
    return (
        f"{device}\ntorch {torch.__version__}\npython {sys.version.split()[0]}\n"
        f"lengthwise {lengthwise.__version__}\n"
    )


def build(name: str, quick: bool):
    """The model as a function from a batch and its lengths to a loss, and its parameters."""
    import torch
    from torch import nn

    width, layers = (32, 1) if quick else (512, 3 if name == "blstm" else 12)
    if name == "blstm":
        lstm = nn.LSTM(FEATURES, width, layers, bidirectional=True, batch_first=True)
        head = nn.Linear(2 * width, 42)
        modules = nn.ModuleList([lstm, head])

        def loss(values, mask):
            scores = head(lstm(values)[0])
            chances = torch.log_softmax(scores.float(), -1)[..., 0]
            return -(chances * mask).sum() / mask.sum()
    else:
        embedding = nn.Embedding(TOKENS, width)
        layer = nn.TransformerEncoderLayer(
            width, 8 if not quick else 2, 4 * width, dropout=0.0, batch_first=True, norm_first=True
        )
        encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        head = nn.Linear(width, TOKENS)
        modules = nn.ModuleList([embedding, encoder, head])

        def loss(values, mask):
            scores = head(encoder(embedding(values), src_key_padding_mask=~mask))
            losses = nn.functional.cross_entropy(scores.flatten(0, 1), values.flatten(), reduction="none")
            return (losses * mask.flatten()).sum() / mask.sum()

    return modules, loss


class Sequences:
    """Random input of the given lengths, the same in every run."""

    def __init__(self, lengths, name: str) -> None:
        import torch

        torch.manual_seed(0)
        longest = int(max(lengths))
        self.lengths = [int(length) for length in lengths]
        self.values = (
            torch.randn(2 * longest, FEATURES) if name == "blstm" else torch.randint(TOKENS, (2 * longest,))
        )

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, index: int):
        start = index % (len(self.values) // 2)
        return self.values[start : start + self.lengths[index]]


def measure(name: str, kind: str, args: argparse.Namespace) -> list[dict]:
    """The epochs of one kind of batches."""
    import lengthwise as lw
    import torch
    from lengthwise.torch import BatchSampler, loader

    cuda = torch.cuda.is_available() and not args.quick
    device = "cuda" if cuda else "cpu"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    lengths = lw.example("speech")
    if args.quick:
        lengths = lengths[:200] // 8
    strategy, budget, shapes = KINDS[kind]
    if args.quick:
        budget = budget.replace(str(CELLS), "800").replace("64", "8")
    data = Sequences(lengths, name)
    sampler = BatchSampler(lengths, strategy, budget=budget, shapes=shapes)
    workers = dict(num_workers=4, persistent_workers=True, prefetch_factor=4) if cuda else {}
    batches = loader(data, sampler, pin_memory=cuda, **workers)
    modules, loss_of = build(name, args.quick)
    modules.to(device)
    optimizer = torch.optim.AdamW(modules.parameters(), lr=1e-5, fused=cuda)
    half = torch.autocast(device, torch.bfloat16, enabled=cuda and name == "encoder")
    # The device and the optimizer are warm, and no shape of the data has been met.
    for size, length in [(3, 7), (5, 11)]:
        values = torch.stack([data.values[:length]] * size).to(device)
        with half:
            loss = loss_of(values, torch.ones(size, length, dtype=torch.bool, device=device))
        loss.backward()
        optimizer.step()
    planner = lw.Planner(lengths, strategy, budget=budget, shapes=shapes, constant_steps=True)
    mates = lw.effective_mates([planner.plan(epoch) for epoch in range(8)])
    met: set[tuple[int, int]] = set()
    rows = []
    for epoch in range(args.epochs):
        sampler.set_epoch(epoch)
        plan = sampler.plan
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            torch.cuda.synchronize()
        before, seen = len(met), set()
        start = time.perf_counter()
        for values, counts in batches:
            values = values.to(device, non_blocking=True)
            mask = torch.arange(values.shape[1], device=device) < counts.to(device)[:, None]
            with half:
                loss = loss_of(values, mask)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            seen.add((values.shape[0], values.shape[1]))
        if cuda:
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        assert torch.isfinite(loss), "the loss is not finite"
        met |= seen
        measures = plan.measure()
        assert len(seen) == measures.shapes, "the batches are not as planned"
        rows.append(
            {
                "model": name,
                "kind": kind,
                "strategy": plan.settings["strategy"],
                "budget": budget,
                "shapes_setting": plan.settings["shapes"],
                "epoch": epoch + 1,
                "seconds": round(seconds, 4),
                "steps": measures.batches,
                "positions_per_second": round(int(lengths.sum()) / seconds),
                "padding_rate": round(measures.padding_rate, 5),
                "shapes": measures.shapes,
                "new_shapes": len(met) - before,
                "peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 3) if cuda else 0.0,
                "effective_mates_share": round(mates / len(lengths), 4),
            }
        )
    return rows


if __name__ == "__main__":
    main()
