"""Ways to divide an epoch into optimizer steps of about as many tokens, and how alike the steps are."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import lengthwise as lw
import numpy as np

Batch = tuple[np.ndarray, int]  # indices, batch length
Step = list[Batch]


def accumulated(batches: Iterator[Batch], lengths: np.ndarray, update: float) -> list[Step]:
    """Batches in their order, as many to a step as come nearest to `update` tokens."""
    steps, step, tokens = [], [], 0.0
    for batch in batches:
        more = float(lengths[batch[0]].sum())
        if step and abs(tokens + more - update) > abs(tokens - update):
            steps.append(step)
            step, tokens = [], 0.0
        step.append(batch)
        tokens += more
    if step:
        steps.append(step)
    return steps


def random(size: int) -> Callable:
    def way(lengths: np.ndarray, update: float, seed: int, epoch: int) -> list[Step]:
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
        parts = np.array_split(order, range(size, len(order), size))
        return accumulated(((part, int(lengths[part].max())) for part in parts), lengths, update)

    return way


def grouped(size: int) -> Callable:
    """As `LengthGroupedSampler` of transformers: random parts of 50 batches, each sorted, the longest first."""

    def way(lengths: np.ndarray, update: float, seed: int, epoch: int) -> list[Step]:
        order = np.random.default_rng([seed, epoch]).permutation(len(lengths))
        parts = [part[np.argsort(-lengths[part], kind="stable")] for part in np.array_split(order, range(50 * size, len(order), 50 * size))]
        order = np.concatenate(parts)
        batches = np.array_split(order, range(size, len(order), size))
        return accumulated(((part, int(lengths[part].max())) for part in batches), lengths, update)

    return way


def planned(accumulate: int = 0, **settings: object) -> Callable:
    """A plan of lengthwise; with `accumulate`, so many batches a step as its schedule has them."""

    def way(lengths: np.ndarray, update: float, seed: int, epoch: int) -> list[Step]:
        more = {"accumulate": accumulate, "steps": "stratified"} if accumulate else {}
        plan = lw.Planner(lengths, seed=seed, **settings, **more).plan(epoch)
        batches = [(np.asarray(batch, dtype=np.int64), int(plan.batch_lengths[i])) for i, batch in enumerate(plan)]
        if not accumulate:
            return accumulated(iter(batches), lengths, update)
        flat = [np.asarray(batch, dtype=np.int64) for batch in plan.schedule(1).for_rank(0)]
        padded = np.zeros(len(lengths), dtype=int)
        for batch, length in batches:
            padded[batch] = length
        flat = [(batch, int(padded[batch[0]])) for batch in flat if len(batch)]
        return [flat[i : i + accumulate] for i in range(0, len(flat), accumulate)]

    return way


def single(**settings: object) -> Callable:
    def way(lengths: np.ndarray, update: float, seed: int, epoch: int) -> list[Step]:
        plan = lw.Planner(lengths, seed=seed, **settings).plan(epoch)
        return [[(np.asarray(batch, dtype=np.int64), int(plan.batch_lengths[i]))] for i, batch in enumerate(plan)]

    return way


def updates(**settings: object) -> Callable:
    """Optimizer steps as lengthwise plans them."""

    def way(lengths: np.ndarray, update: float, seed: int, epoch: int) -> list[Step]:
        planner = lw.Planner(lengths, seed=seed, update=f"tokens:{update:.0f}", **settings)
        schedule = planner.plan(epoch).schedule(1)
        plan = schedule.for_rank(0)
        flat = [(np.asarray(batch, dtype=np.int64), int(plan.batch_lengths[i])) for i, batch in enumerate(plan)]
        return [flat[i : i + schedule.accumulate] for i in range(0, len(flat), schedule.accumulate)]

    return way


WAYS: dict[str, Callable] = {
    "random 32": random(32),
    "packed": single(strategy="packed:capacity=29000"),
    "ladder 16, 1 batch": single(shapes="ladder:16", budget="padded:32768"),
    "ladder 16, 2 stratified": planned(2, shapes="ladder:16", budget="padded:16384"),
    "ladder 16, 4 in order": planned(0, shapes="ladder:16", budget="padded:8192"),
    "ladder 16, 4 stratified": planned(4, shapes="ladder:16", budget="padded:8192"),
    "ladder 16, 8 stratified": planned(8, shapes="ladder:16", budget="padded:4096"),
    "ladder 4, 1 batch": single(shapes="ladder:4", budget="padded:47500"),
    "semi-sorted 0.1, 1 batch": single(strategy="semi-sorted:noise=0.1", budget="padded:45000"),
    "blurred 0.3, 1 batch": single(strategy="blurred:blur=0.3", shapes="exact", budget="padded:86000"),
    "grouped 32": grouped(32),
    "default": updates(budget="padded:29000"),
    "proportional": updates(strategy="proportional", shapes="ladder:16", budget="padded:29000"),
    "proportional 4": updates(strategy="proportional:batches=4", shapes="ladder:16", budget="padded:29000"),
    "proportional 8": updates(strategy="proportional:batches=8", shapes="ladder:16", budget="padded:29000"),
    "proportional 16": updates(strategy="proportional:batches=16", shapes="ladder:16", budget="padded:29000"),
}


def mixes(steps: list[Step], lengths: np.ndarray) -> dict[str, float]:
    """Variance of the steps' composition against random sampling of as many sequences: 1 = as random."""
    members = [np.concatenate([batch for batch, _ in step]) for step in steps]
    total = len(lengths)
    logs = np.log(lengths)
    quarter = np.searchsorted(np.quantile(lengths, [0.25, 0.5, 0.75]), lengths, side="right")
    order = np.argsort(lengths, kind="stable")
    share = np.cumsum(lengths[order]) / lengths.sum()
    heavy = np.empty(total, dtype=int)
    heavy[order] = np.minimum((share * 4).astype(int), 3)
    values = {
        "log": logs[:, None],
        "quarters": np.eye(4)[quarter],
        "token log": None,
        "token quarters": None,
    }
    result = {}
    for name in values:
        token = name.startswith("token")
        x = (logs[:, None] if name.endswith("log") else np.eye(4)[heavy if token else quarter])
        w = lengths.astype(float) if token else np.ones(total)
        mean = (w[:, None] * x).sum(0) / w.sum()
        residual = w[:, None] * (x - mean) / w.mean()
        expected = residual.var(0).sum()
        seen = [
            len(m) * ((residual[m].sum(0) / (w[m].sum() / w.mean())) ** 2).sum() / (1 - len(m) / total)
            for m in members if len(m) < total
        ]
        result[name] = float(np.average(seen, weights=[len(m) for m in members]) / expected)
    return result


def described(steps: list[Step], lengths: np.ndarray, *, packed: bool = False) -> dict[str, float]:
    tokens = np.array([sum(lengths[b].sum() for b, _ in step) for step in steps], dtype=float)
    cells = sum(len(b) * length for step in steps for b, length in step)
    return {
        "updates": len(steps),
        "micro-batches": sum(len(step) for step in steps),
        "tokens per update": float(tokens.mean()),
        "variation of tokens": float(tokens.std() / tokens.mean()),
        "smallest": float(tokens.min() / tokens.mean()),
        "padding": 0.0 if packed else float(1 - tokens.sum() / cells),
        "shapes": len({(len(b), length) for step in steps for b, length in step}),
        **{f"step mix, {name}": value for name, value in mixes(steps, lengths).items()},
    }
