"""Embeds texts of mixed lengths with `SentenceTransformer.encode` and with `lengthwise.map_batches`, and compares.

python3 benches/inference/encode.py --out benches/inference/runs/NAME

Needs PyTorch, sentence-transformers and the package `lengthwise`, and no network: models have random weights, and texts
consist of made-up words. `--quick` runs tiny models on the CPU, to see that everything works.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")

import numpy as np
import sentence_transformers
import torch
import transformers
from sentence_transformers import SentenceTransformer
from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
from transformers import BertConfig, BertModel, BertTokenizer

# What is measured is what the example shows.
sys.path.insert(0, str(Path(__file__).parents[2] / "python" / "examples"))
from encode import embed  # noqa: E402

LONGEST = 512
# Layers, width and heads of the models, and how many texts they embed.
MODELS = {"12 × 384 (as MiniLM-L12)": (12, 384, 12, 20_000), "12 × 768 (as BERT base)": (12, 768, 12, 8_000)}
TINY = {"2 × 64": (2, 64, 4, 300)}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
SIZES = (32, 64, 128, 256)
# Budgets in cells, and workers.
PLANNED = ((16_384, 2), (65_536, 1), (65_536, 2))
BASE = "encode, batch_size=32"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--rounds", type=int, default=3, help="how often everything is measured, in turn")
    parser.add_argument("--seconds", type=float, default=35, help="no further round of a model begins after so long")
    parser.add_argument("--quick", action="store_true", help="tiny models on the CPU")
    args = parser.parse_args()
    device = "cpu" if args.quick or not torch.cuda.is_available() else "cuda"
    if args.quick:
        torch.set_num_threads(1)
        args.rounds = min(args.rounds, 2)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "machine.txt").write_text(machine(device))
    maker = Words(random.Random(0))
    results, tables = [], []
    for name, (layers, width, heads, count) in (TINY if args.quick else MODELS).items():
        texts = maker.texts(count)
        for kind, dtype in DTYPES.items():
            with tempfile.TemporaryDirectory() as folder:
                model = build(Path(folder), maker.vocabulary(), layers, width, heads, device, dtype)
            case = {"model": name, "dtype": kind, "texts": count, **measure(model, texts, args, device)}
            results.append(case)
            tables.append(table(case))
            print(tables[-1], flush=True)
            # After each, so that a run that is stopped leaves what it has.
            (args.out / "results.json").write_text(json.dumps(results, indent=1))
            (args.out / "table.md").write_text("\n".join(tables))
            del model
            gc.collect()


class Words:
    """Texts of made-up words. Some are one token, others two or three, so that characters and tokens differ."""

    def __init__(self, draw: random.Random) -> None:
        self.draw = draw
        letters = "abcdefghijklmnopqrstuvwxyz"

        def some(count: int, shortest: int, longest: int) -> list[str]:
            return ["".join(draw.choices(letters, k=draw.randint(shortest, longest))) for _ in range(count)]

        self.whole, self.ends = some(4000, 2, 10), some(400, 2, 4)
        # Frequent words are frequent, as in a language, and short.
        self.whole.sort(key=lambda word: len(word) + draw.random() * 6)
        self.weights = [1 / (rank + 3) for rank in range(len(self.whole))]

    def vocabulary(self) -> list[str]:
        known = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *self.whole, *(f"##{end}" for end in self.ends)]
        return list(dict.fromkeys(known))

    def texts(self, count: int) -> list[str]:
        made = []
        for _ in range(count):
            size = min(max(int(self.draw.lognormvariate(3.5, 1.05)), 2), 600)
            words = self.draw.choices(self.whole, self.weights, k=size)
            made.append(" ".join(self.joined(word) for word in words))
        return made

    def joined(self, word: str) -> str:
        while self.draw.random() < 0.2:
            word += self.draw.choice(self.ends)
        return word


def build(
    folder: Path, vocabulary: list[str], layers: int, width: int, heads: int, device: str, dtype: torch.dtype
) -> SentenceTransformer:
    torch.manual_seed(0)
    (folder / "vocab.txt").write_text("\n".join(vocabulary))
    BertTokenizer(str(folder / "vocab.txt"), model_max_length=LONGEST).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(vocabulary), hidden_size=width, num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=4 * width, max_position_embeddings=LONGEST,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    transformer = Transformer(str(folder), max_seq_length=LONGEST)
    model = SentenceTransformer(modules=[transformer, Pooling(width)], device=device)
    return model.to(dtype).eval()


def systems(model: SentenceTransformer, quick: bool) -> dict[str, Callable[[list[str]], np.ndarray]]:
    """What is compared: functions from texts to embeddings."""
    found: dict[str, Callable[[list[str]], np.ndarray]] = {}
    for size in SIZES[:2] if quick else SIZES:
        found[f"encode, batch_size={size}"] = lambda texts, size=size: np.asarray(
            model.encode(texts, batch_size=size, show_progress_bar=False)
        )
    for cells, workers in PLANNED[1:] if quick else PLANNED:
        cells = cells // 16 if quick else cells
        found[f"map_batches, padded:{cells}, workers={workers}"] = lambda texts, cells=cells, workers=workers: np.stack(
            list(embed(model, texts, f"padded:{cells}", workers=workers, progress=False))
        )
    return found


def measure(model: SentenceTransformer, texts: list[str], args: argparse.Namespace, device: str) -> dict[str, Any]:
    """Times all systems in turn, and compares what they give with one text at a time."""
    tokens = [len(ids) for ids in model.tokenizer(texts, truncation=True, max_length=LONGEST)["input_ids"]]
    cells: list[tuple[int, int]] = []
    hook = model[0].register_forward_pre_hook(
        lambda module, given: cells.append(tuple(given[0]["input_ids"].shape))
    )
    compared = systems(model, args.quick)
    # Kernels, memory and threads are warm before the clock starts: short texts and the longest.
    warm = sorted(texts, key=len)[:: max(len(texts) // 1500, 1)] + sorted(texts, key=len)[-256:]
    for run in compared.values():
        run(warm)
    seconds: dict[str, list[float]] = {name: [] for name in compared}
    facts: dict[str, dict[str, Any]] = {name: {} for name in compared}
    embeddings: dict[str, np.ndarray] = {}
    begin = time.monotonic()
    for turn in range(args.rounds):
        if turn >= 2 and time.monotonic() - begin > args.seconds:
            break
        # Each in another place in every round.
        order = list(compared)
        order = order[turn % len(order) :] + order[: turn % len(order)]
        for name in order:
            cells.clear()
            if device == "cuda":
                torch.cuda.synchronize()
                torch.cuda.reset_peak_memory_stats()
            start = time.perf_counter()
            made = compared[name](texts)
            seconds[name].append(time.perf_counter() - start)
            embeddings.setdefault(name, made)
            computed = sum(size * length for size, length in cells)
            peak = torch.cuda.max_memory_allocated() / 2**30 if device == "cuda" else None
            facts[name] = {
                "batches": len(cells), "shapes": len(set(cells)), "padding_rate": 1 - sum(tokens) / computed,
                "peak_gib": peak,
            }  # fmt: skip
    hook.remove()
    # Texts of all lengths, one at a time: what everything else must agree with.
    some = np.argsort(tokens, kind="stable")[:: max(len(texts) // 300, 1)]
    alone = np.stack([model.encode(texts[place], show_progress_bar=False) for place in some]).astype(np.float64)
    for name, made in embeddings.items():
        facts[name].update(agreement(made[some].astype(np.float64), alone), rows=len(made))
    best = min((name for name in seconds if name.startswith("encode")), key=lambda name: median(seconds[name]))
    for name, times in seconds.items():
        facts[name] |= {
            "seconds": times,
            "texts_per_second": len(texts) / median(times),
            "speedup": median(base / own for base, own in zip(seconds[BASE], times)),
            "speedup_over_best_encode": median(base / own for base, own in zip(seconds[best], times)),
        }
    return {
        "tokens": sum(tokens), "longest": max(tokens), "median_tokens": median(tokens), "best_encode": best,
        "systems": facts,
    }  # fmt: skip


def agreement(made: np.ndarray, alone: np.ndarray) -> dict[str, float]:
    unit, expected = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (made, alone))
    # In order: every embedding is nearer to that of its own text than to any other.
    nearest = ((made[:, None] - alone[None]) ** 2).sum(-1).argmin(1)
    return {
        "max_abs_difference": float(np.abs(made - alone).max()),
        "min_cosine": float((unit * expected).sum(1).min()),
        "in_order": float((nearest == np.arange(len(made))).mean()),
    }


def table(case: dict[str, Any]) -> str:
    lines = [
        f"**{case['model']}, {case['dtype']}**: {case['texts']:,} texts, {case['tokens']:,} tokens, median "
        f"{case['median_tokens']:g}, longest {case['longest']}",
        "",
        "| | median s | texts/s | × encode at 32 | × best encode | padding % | batches | shapes | peak GiB "
        "| largest difference | least cosine | in order |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for name, fact in case["systems"].items():
        peak = "" if fact["peak_gib"] is None else f"{fact['peak_gib']:.2f}"
        lines.append(
            f"| {name} | {median(fact['seconds']):.2f} | {fact['texts_per_second']:,.0f} | {fact['speedup']:.2f} "
            f"| {fact['speedup_over_best_encode']:.2f} | {100 * fact['padding_rate']:.1f} | {fact['batches']} "
            f"| {fact['shapes']} | {peak} | {fact['max_abs_difference']:.1e} | {fact['min_cosine']:.6f} "
            f"| {100 * fact['in_order']:.1f} % |"
        )
    return "\n".join(lines) + "\n"


def machine(device: str) -> str:
    lines = [
        f"python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}, "
        f"sentence-transformers {sentence_transformers.__version__}",
        f"{os.cpu_count()} CPU cores",
    ]
    if device == "cuda":
        lines.append(f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
