"""Records of trainings, made up, as JSON lines."""

import json
import math

ROWS = [
    ("shuffled", 10.0, 0.31, 0.078),
    ("semi-sorted:noise=0.1", 6.4, 0.043, 0.080),
    ("bucketed:count=16", 6.9, 0.061, 0.081),
    ("sorted", 6.1, 0.002, 0.131),
    ("random, ladder of 16 rungs", 7.2, 0.118, 0.077),
]


def epoch(number, seconds, padding, error, **other):
    frames = 5_504_096
    one = {
        "epoch": number,
        "seconds": seconds,
        "steps": 655,
        "sequences": 10_480,
        "frames": frames,
        "cells": round(frames / (1 - padding)),
        "shapes": 420,
        "peak_bytes": 1_300_000_000,
        "loss": 3.2 * error,
        "validation": {"loss": 3.9 * error, "error": error, "more": [["word error rate", min(1, 2.4 * error)]]},
    }
    return {**one, **other}


def lines(runs, title="an encoder on `speech`", error="character error rate", notes=()):
    """The lines of these runs, each a name, a seed and its epochs."""
    head = {
        "version": 1,
        "title": title,
        "about": [["model", "2 layers of 128"], ["data", "10,480 sequences"], ["device", "CPU, 2 threads"]],
        "error": error,
        "runs": [
            {"name": name, "settings": f"{name}, budget padded:6000, shapes exact", "seed": seed}
            for name, seed, _ in runs
        ],
        "notes": list(notes),
    }
    records = [
        {"run": at, "name": name, "seed": seed, **one}
        for at, (name, seed, epochs) in enumerate(runs)
        for one in epochs
    ]
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in [head, *records]) + "\n"


def whole(epochs=12, seeds=3, rows=ROWS):
    """Every row learns, at its own pace and to its own end."""
    runs = []
    for place, (name, seconds, padding, end) in enumerate(rows):
        for seed in range(seeds):
            wobble = lambda at: math.sin(7.1 * place + 3.3 * seed + 1.7 * at)
            runs.append((name, seed, [
                epoch(
                    at,
                    seconds * (1 + 0.01 * wobble(at) + (0.2 if at == 1 else 0)),
                    padding,
                    (end + 0.9 * math.exp(-at / 2.2)) * (1 + 0.04 * wobble(at)),
                )
                for at in range(1, epochs + 1)
            ]))
    return runs
