"""Trains a tagger with Ray Train on planned batches; stops, and goes on with another number of workers.

python ray_train.py --workers 2 --stop 20
python ray_train.py --workers 1 --resume

Needs what requirements-ray.txt names.
"""

import argparse
import json
import sys
import tempfile
import time
from contextlib import nullcontext
from itertools import islice
from pathlib import Path

import numpy as np
import ray
import ray.train
import torch
import torch.distributed as dist
from ray.train.torch import TorchTrainer, prepare_data_loader, prepare_model
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from lengthwise.torch import BatchSampler, loader, pad_collate, steps

SYMBOLS = 20
PADDING = -100  # What cross_entropy leaves out.


def sequences():
    """Made data: a position is tagged with whether the symbol after it is larger."""
    random = np.random.default_rng(0)
    for index, length in enumerate(random.lognormal(3.3, 0.7, 600).clip(4, 200).astype(int)):
        symbols = torch.from_numpy(random.integers(1, SYMBOLS, length))
        tags = symbols.diff(append=torch.tensor([0])) > 0
        yield {"symbols": symbols, "tags": tags.long(), "index": index}


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, 16)
        self.lstm = nn.LSTM(16, 32, bidirectional=True, batch_first=True)
        self.head = nn.Linear(64, 2)

    def forward(self, batch):
        """The mean loss over the positions that are not padding."""
        # Packed, so that the way back through a sequence does not begin in its padding.
        values = self.embedding(batch["symbols"])
        packed = pack_padded_sequence(values, batch["lengths"], batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True, total_length=values.shape[1])
        scores = self.head(states).flatten(0, 1)
        return nn.functional.cross_entropy(scores, batch["tags"].flatten(), ignore_index=PADDING)


def summary(rows, seconds):
    """What all ranks together trained on. Each step waits for the rank with the most cells."""
    rows = torch.tensor(rows, dtype=torch.double)
    slowest = rows[:, 2:].clone()
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    sums = torch.cat([rows, slowest], dim=1).sum(0)
    dist.all_reduce(sums)
    lost, positions, cells, waited = sums.tolist()
    padding, idle = 1 - positions / cells, 1 - cells / waited
    measures = {"loss": lost / positions, "padding": padding, "seconds": seconds, "idle": idle}
    return {**measures, "steps": len(rows)}


def train(config):
    """What each worker runs. Ray has initialised torch.distributed: there the sampler finds its rank."""
    torch.manual_seed(0)
    model = prepare_model(Tagger())
    tagger = getattr(model, "module", model)  # One worker alone has no DDP around it.
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    data = list(sequences())
    lengths = [len(item["symbols"]) for item in data]
    sampler = BatchSampler(lengths, budget="padded:1000")  # Cells of a batch, on each rank.
    collate = pad_collate(sampler, padding_value={"tags": PADDING})
    batches = prepare_data_loader(loader(data, sampler, collate_fn=collate))
    first, left = 0, config["stop"]
    if checkpoint := ray.train.get_checkpoint():  # Also after Ray has replaced a worker.
        with checkpoint.as_directory() as folder:
            state = torch.load(Path(folder, "tagger.pt"), weights_only=True)
        tagger.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        sampler.load_state_dict(state["sampler"])
        first = sampler.epoch
    for epoch in range(first, config["epochs"]):
        sampler.set_epoch(epoch)
        begun, rows, seen = time.perf_counter(), [], []
        for step in islice(steps(batches), left):
            optimizer.zero_grad()
            sums, indices = [0.0, 0, 0], []
            for batch in step:
                # Gradients are averaged over the ranks once, with the last batch of the step.
                with nullcontext() if step.is_last_micro or model is tagger else model.no_sync():
                    loss = model(batch)
                    (loss * step.weight).backward()
                positions = batch["lengths"].sum().item()
                measured = (loss.item() * positions, positions, batch["symbols"].numel())
                sums = [so_far + more for so_far, more in zip(sums, measured)]
                indices += batch["index"].tolist()
            rows.append(sums)
            seen.append(indices)
            optimizer.step()
            left -= 1
        metrics = {"epoch": epoch, **summary(rows, time.perf_counter() - begun)}
        if config["seen"]:
            with Path(config["seen"], f"{dist.get_rank()}.jsonl").open("a") as file:
                file.write(json.dumps({"epoch": epoch, "batches": seen}) + "\n")
        state = {
            "model": tagger.state_dict(),
            "optimizer": optimizer.state_dict(),
            "sampler": step.state_dict(),
        }
        with tempfile.TemporaryDirectory() as folder:
            torch.save(state, Path(folder, "tagger.pt"))
            kept = ray.train.Checkpoint.from_directory(folder) if dist.get_rank() == 0 else None
            ray.train.report(metrics, checkpoint=kept)
        if left == 0:
            break


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--folder", type=Path, default=Path("tagger"), help="for checkpoints")
    parser.add_argument("--stop", type=int, default=10**9, help="stop after so many steps")
    parser.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    parser.add_argument("--seen", type=Path, help="folder for what each rank trained on")
    args = parser.parse_args()
    folder = args.folder.resolve()
    if folder.exists() != args.resume:
        sys.exit(f"{folder} is not there" if args.resume else f"{folder} is there: give --resume, or another")
    # On a cluster: `ray.init()`, and a folder that all machines see.
    ray.init(num_cpus=args.workers, include_dashboard=False, log_to_driver=False)
    seen = args.seen and str(args.seen.resolve())
    trainer = TorchTrainer(
        train,
        train_loop_config={"epochs": args.epochs, "stop": args.stop, "seen": seen},
        scaling_config=ray.train.ScalingConfig(num_workers=args.workers),
        # Ray goes on from the last checkpoint of a run of this name, if there is one.
        run_config=ray.train.RunConfig(name=folder.name, storage_path=str(folder.parent)),
    )
    for row in trainer.fit().metrics_dataframe.itertuples():
        print(
            f"epoch {row.epoch}: loss {row.loss:.4f}, {row.padding:.2%} padding, {row.seconds:.1f} s, "
            f"{row.idle:.2%} idle, {row.steps} steps"
        )


if __name__ == "__main__":
    main()
