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


def lines(runs, title="an encoder on `speech`", error="character error rate", notes=(), scaling=()):
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
        **({"scaling": list(scaling)} if scaling else {}),
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


# How many workers, how many seconds alone, what they wait by the plan, how the last of them is slower, and
# how many cores there are.
TEAMS = [
    ("1 worker", 1, 60.0, 0.0, 1.0, 1),
    ("3 workers", 3, 60.0, 0.02, 1.0, 3),
    ("6 workers", 6, 60.0, 0.03, 1.0, 2),
    ("6 workers, one slow", 6, 60.0, 0.03, 1.25, 6),
]


def together(workers, seconds, predicted, slower, cores, wobble=lambda rank: 0.0):
    """An epoch of so many workers: its seconds, and what each did."""
    fair = seconds / workers
    work = [fair * (1 - predicted + 0.005 * wobble(rank)) for rank in range(workers)]
    work[-1] *= slower
    whole = max(fair, *work)
    did = [{"work": one, "wait": whole - one, "predicted": predicted} for one in work]
    exchange = 0.02 * workers
    return whole + exchange, {
        "wall": (whole + exchange) * max(1, workers / cores),
        "exchange": exchange,
        "workers": did,
    }


def teams(epochs=6, seeds=2, teams=TEAMS):
    """Rows that differ in their workers."""
    runs = []
    for name, workers, seconds, predicted, slower, cores in teams:
        for seed in range(seeds):
            wobble = lambda at: math.sin(2.3 * workers + 3.3 * seed + 1.7 * at)
            run = []
            for at in range(1, epochs + 1):
                error = (0.08 + 0.9 * math.exp(-at / 2.2)) * (1 + 0.04 * wobble(at))
                if workers == 1:
                    run.append(epoch(at, seconds * (1 + 0.01 * wobble(at)), 0.04, error))
                    continue
                took, did = together(workers, seconds, predicted, slower, cores, lambda rank: wobble(at + 0.7 * rank))
                run.append(epoch(at, took, 0.04, error, together=did, steps=655 // workers))
            runs.append((name, seed, run))
    return runs


def scaling(names=(("sync", 0.02), ("average", 0.004)), most=1024):
    """Epochs on 1, 2, 4, ... workers."""
    found = []
    for name, each in names:
        workers = 1
        while workers <= most:
            idle = 1 - 1 / (1 + each * (workers - 1) ** 0.6)
            seconds = 60 / workers / (1 - idle)
            found.append({"name": name, "workers": workers, "steps": -(-65_500 // workers), "seconds": seconds, "idle": idle})
            workers *= 2
    return found
