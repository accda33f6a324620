"""Ray datasets and Ray Train, on the real Ray: one cluster on the loopback device for all tests."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import signal
import sys
import tempfile
import time
from itertools import islice, zip_longest
from pathlib import Path

import lengthwise as lw
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import ray
import ray.data
import ray.train
from conftest import everything_once
from lengthwise._ranks import find_ranks, ranks_of_ray
from lengthwise.ray import Rows, StreamBatches, lengths_of, statistics_of
from lengthwise.torch import BatchSampler, loader, pad_collate, steps
from ray.train.torch import TorchTrainer, prepare_data_loader
from torch.utils.data import DataLoader

ROWS = 400
BLOCKS = 8
BUDGET = 200
LENGTHS = np.clip(np.random.default_rng(7).lognormal(2.2, 0.6, ROWS), 1, 60).astype(np.int64)


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])  # Ray's workers do not have the tests.
    with tempfile.TemporaryDirectory(prefix="lw") as scratch, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "CUDA_VISIBLE_DEVICES": "",
            "GLOO_SOCKET_IFNAME": "lo",
            "OMP_NUM_THREADS": "1",
            # No cluster, but one machine: Ray then listens on the loopback device, on Linux too.
            "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
            "RAY_USAGE_STATS_ENABLED": "0",
            "PYTHONWARNINGS": "ignore",
            "LENGTHWISE_RAY": scratch,
        }.items():
            patch.setenv(name, value)
        patch.delenv("RAY_ADDRESS", raising=False)
        try:
            ray.init(
                num_cpus=4, object_store_memory=100 * 2**20, include_dashboard=False, _temp_dir=scratch,
                _node_ip_address="127.0.0.1", log_to_driver=False, logging_level="error",
            )  # fmt: skip
            ray.data.DataContext.get_current().enable_progress_bars = False
            yield scratch
        finally:
            ray.shutdown()
            ray.cloudpickle.unregister_pickle_by_value(sys.modules[__name__])
            left = not ended(scratch)
            for process in processes_of(scratch):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        assert not left, "processes of Ray were left over"


def processes_of(scratch: str, name: str = "") -> list[int]:
    """The processes of the cluster, or those whose command begins with a name."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            own = f"LENGTHWISE_RAY={scratch}".encode() in (folder / "environ").read_bytes().split(b"\0")
            if own and (folder / "cmdline").read_bytes().startswith(name.encode()):
                found.append(int(folder.name))
        except OSError:
            continue  # It has ended.
    return found


def ended(scratch: str, name: str = "") -> bool:
    """Waits until no such process is left."""
    for _ in range(600):
        if not processes_of(scratch, name):
            return True
        time.sleep(0.1)
    return False


def corpus() -> ray.data.Dataset:
    """Rows with tokens in several blocks; the length is in other columns too."""
    blocks = []
    for part in np.array_split(np.arange(ROWS), BLOCKS):
        lengths = LENGTHS[part].tolist()
        columns = {
            "index": part,
            "tokens": [[index % 9 + 1] * length for index, length in zip(part.tolist(), lengths)],
            "text": ["é" * length for length in lengths],
            "frames": lengths,
            "seconds": np.array(lengths, dtype=np.float32),
        }
        blocks.append(pa.table(columns))
    return ray.data.from_arrow(blocks)


@pytest.fixture(scope="module")
def dataset() -> ray.data.Dataset:
    return corpus()


def unordered(folder: Path) -> ray.data.Dataset:
    """A dataset whose first block comes last, unless the order is kept."""
    folder.mkdir()

    def late(table: pa.Table) -> pa.Table:
        first = table.column("index")[0].as_py()
        (folder / str(first)).touch()
        for _ in range(200):
            if first != 0 or len(list(folder.iterdir())) == BLOCKS:
                break
            time.sleep(0.1)
        time.sleep(0.3 if first == 0 else 0)
        return table

    return corpus().map_batches(late, batch_size=None, batch_format="pyarrow")


def indices(batches) -> list[list[int]]:
    return [[int(row["index"]) for row in batch] for batch in batches]


# Lengths.


def test_lengths_are_in_the_order_of_the_rows(tmp_path):
    dataset = unordered(tmp_path / "blocks")
    before = dataset.context.execution_options
    found = lengths_of(dataset, lambda row: len(row["tokens"]))
    assert found.tolist() == LENGTHS.tolist()
    assert found.dtype == np.uint32
    # What others execute is not put in order.
    assert dataset.context.execution_options is before and not before.preserve_order


@pytest.mark.parametrize("column", ["tokens", "text", "frames", "seconds"])
def test_lengths_are_in_a_column_or_are_those_of_its_values(column):
    assert lengths_of(corpus(), column).tolist() == LENGTHS.tolist()


def test_lengths_of_tensors():
    tensors = ray.data.from_numpy(np.zeros((5, 7, 2)))
    assert lengths_of(tensors, "data").tolist() == [7] * 5
    ragged = ray.data.from_items([{"x": np.zeros((length, 2))} for length in (3, 1, 2)])
    assert lengths_of(ragged, "x").tolist() == [3, 1, 2]


def test_only_the_column_of_the_lengths_is_read(tmp_path):
    file = tmp_path / "part.parquet"
    audio = [np.random.default_rng(index).bytes(500) for index in range(20)]
    pq.write_table(pa.table({"frames": range(1, 21), "audio": audio}), file, compression="none", use_dictionary=False)
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(1)
    with file.open("r+b") as damaged:
        damaged.seek(chunk.data_page_offset)
        damaged.write(b"\xff" * 64)
    data = ray.data.read_parquet(str(file))
    assert lengths_of(data, "frames").tolist() == list(range(1, 21))
    with pytest.raises(Exception, match="(?i)page|parquet|thrift|deserialize|read"):
        lengths_of(data, "audio")


@pytest.mark.parametrize(
    ("values", "shown"),
    [([3, None, 2], "no whole number for row 1"), ([3, 2, 0], "0 for row 2"), ([1.0, 2.5], "no whole number for row 1"),
     ([True], "no whole number for row 0"), ([[1], None], "no whole number for row 1")],
)  # fmt: skip
def test_rows_without_a_length_are_named(values, shown):
    data = ray.data.from_arrow(pa.table({"frames": values}))
    with pytest.raises(lw.LengthsError, match=shown) as caught:
        lengths_of(data, "frames")
    assert caught.value.index is not None and "filter" in caught.value.hint


def test_statistics_are_made_of_all_blocks(dataset):
    found = statistics_of(dataset, "tokens")
    assert found == lw.Statistics(LENGTHS)
    rows = [{"frames": length} for length in (3, 4, 5, 0, 6)]
    with pytest.raises(lw.LengthsError, match="got 0 for row 3") as caught:
        statistics_of(ray.data.from_items(rows, override_num_blocks=3), "frames")
    assert caught.value.index == 3
    with pytest.raises(lw.LengthsError, match="no rows"):
        statistics_of(ray.data.from_arrow(pa.table({"frames": pa.array([], pa.int64())})), "frames")


def test_a_column_that_is_not_there_is_refused(dataset):
    read = ray.data.from_arrow(pa.table({"frames": [1], "text": ["a"]}))
    with pytest.raises(lw.LengthsError, match="no column 'tokens'") as caught:
        lengths_of(read, "tokens")
    assert "frames, text" in caught.value.hint
    with pytest.raises(lw.LengthsError, match="no column 'none'"):
        next(iter(StreamBatches(read, "none", budget=4)))
    with pytest.raises(lw.SettingError, match="a column or a function of a row, got 7"):
        lengths_of(read, 7)
    with pytest.raises(lw.SettingError, match="expected a dataset of Ray, got a list"):
        lengths_of([1, 2], "tokens")


# Rows by number.


@pytest.fixture(scope="module")
def rows(tmp_path_factory) -> Rows:
    return Rows(unordered(tmp_path_factory.mktemp("rows") / "blocks"))


def test_rows_have_numbers(rows):
    assert len(rows) == ROWS and f"{ROWS} rows in {BLOCKS} blocks" in repr(rows)
    assert [rows[index]["index"] for index in (0, 199, -1)] == [0, 199, ROWS - 1]
    wanted = np.random.default_rng(1).permutation(ROWS)[:100].tolist()
    assert [row["index"] for row in rows.__getitems__([*wanted, wanted[0]])] == [*wanted, wanted[0]]
    for index in (ROWS, -ROWS - 1):
        with pytest.raises(IndexError, match=f"no row {index}"):
            rows[index]
    assert lengths_of(rows, "tokens").tolist() == LENGTHS.tolist()


@pytest.mark.filterwarnings("error:.*not writable")
def test_rows_are_a_dataset_for_loaders(rows):
    sampler = BatchSampler(lengths_of(rows, "tokens"), budget=f"padded:{BUDGET}", accumulate=1)
    seen = []
    assert rows[3]["tokens"].dtype == np.int64 and isinstance(rows[3]["text"], str)
    for batch in loader(rows, sampler, collate_fn=pad_collate(sampler, field="tokens")):
        assert batch["tokens"].numel() <= BUDGET
        assert batch["lengths"].tolist() == LENGTHS[batch["index"]].tolist()
        assert (batch["tokens"] > 0).sum() == batch["lengths"].sum()
        seen.append(batch["index"].tolist())
    assert everything_once(seen, ROWS)


def test_the_workers_of_a_loader_are_refused(rows, dataset):
    sampler = BatchSampler(LENGTHS, "shuffled", budget=f"padded:{BUDGET}")
    for made in (loader(rows, sampler, num_workers=1), DataLoader(stream(dataset), batch_size=None, num_workers=1)):
        with pytest.raises(lw.SettingError, match="cannot read from Ray"):
            next(iter(made))


def test_rows_can_be_pickled(rows):
    other = pickle.loads(pickle.dumps(rows))
    assert type(other) is Rows and len(other) == ROWS and other[300]["index"] == 300


def test_rows_are_not_a_part_of_a_dataset(dataset):
    with pytest.raises(lw.SettingError, match="expected a dataset of Ray") as caught:
        Rows(dataset.iterator())
    assert "train_loop_config" in caught.value.hint


# Streams.


def stream(data, **settings) -> StreamBatches:
    return StreamBatches(data, "tokens", **{"budget": f"padded:{BUDGET}", "window": 64, **settings})


def test_a_stream_has_every_row_once_and_keeps_its_budget(tmp_path):
    made = stream(unordered(tmp_path / "blocks"))
    batches = list(made)
    assert everything_once(indices(batches), ROWS)
    for batch in batches:
        assert batch.length == max(len(row["tokens"]) for row in batch)
        assert len(batch) * batch.length <= BUDGET
        assert batch.positions == [row["index"] for row in batch]
    expected = lw.stream_batches(range(ROWS), lambda index: int(LENGTHS[index]), budget=f"padded:{BUDGET}", window=64)
    assert indices(batches) == [list(batch) for batch in expected]
    collated = pad_collate(field="tokens")(batches[0])
    assert collated["tokens"].shape == (len(batches[0]), batches[0].length)


def test_a_stream_resumes_at_any_batch_and_in_any_process(dataset):
    whole = indices(stream(dataset))
    for taken in (0, 1, len(whole) // 2, len(whole) - 1):
        made = stream(dataset)
        begun = indices(islice(made, taken))
        again = pickle.loads(pickle.dumps(stream(dataset.iterator())))
        again.load_state_dict(made.state_dict())
        assert begun + indices(again) == whole


def test_a_function_gives_the_dataset_of_an_epoch():
    made, again = (stream(lambda epoch: corpus().random_shuffle(seed=epoch)) for _ in range(2))
    first = indices(made)
    begun = indices(islice(again, 9))
    state = again.state_dict()
    again.load_state_dict(state)
    assert begun + indices(again) == first
    made.set_epoch(1)
    second = indices(made)
    assert first[0] != second[0] and everything_once(first, ROWS) and everything_once(second, ROWS)


def test_streams_refuse_what_would_lose_rows(dataset):
    part = dataset.streaming_split(2, equal=True)[0]
    with pytest.raises(lw.SettingError, match="the part of one worker") as caught:
        stream(part)
    assert "datasets_to_split=[]" in caught.value.hint
    for name in ("process", "num_workers", "divide", "device_mesh"):
        with pytest.raises(lw.SettingError, match=f"StreamBatches has no setting `{name}`"):
            stream(dataset, **{name: len})
    with pytest.raises(lw.SettingError, match="quantile"):
        stream(dataset, pivot="quantile")
    with pytest.raises(lw.SettingError, match="expected a dataset of Ray, got a list"):
        stream([1, 2])
    with pytest.raises(lw.RankError, match="rank 1 of 2: this process is rank 0 of 1") as caught:
        stream(dataset, rank=1, world_size=2)
    assert "shared=False" in caught.value.hint
    state = stream(dataset).state_dict(batches=12)
    other = stream(ray.data.from_items([{"tokens": [1, 2, 3]}]))
    other.load_state_dict(state)
    with pytest.raises(lw.StateError):
        list(other)


def test_every_rank_can_read_for_itself(dataset):
    made = [indices(stream(dataset, rank=rank, world_size=2, shared=False)) for rank in (0, 1)]
    assert len(made[0]) == len(made[1]) and everything_once(made[0] + made[1], ROWS)


@ray.remote(num_cpus=0)
def on_rank(rank: int, store: str, data, length: str) -> list:
    """One of two ranks that are not those of Ray Train: its epochs, or the error that it gets."""
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    try:
        made = StreamBatches(data, length, budget=f"padded:{BUDGET}", window=64, load=dict)
        epochs = []
        for epoch in range(2):
            made.set_epoch(epoch)
            epochs.append(indices(islice(made, 3 if epoch == 0 else None)))
        return epochs
    except lw.LengthwiseError as error:
        return [type(error).__name__, str(error)]
    finally:
        dist.destroy_process_group()


def test_one_actor_reads_for_all_ranks(tmp_path, cluster):
    def noted(table: pa.Table) -> pa.Table:
        with (tmp_path / "read").open("a") as file:
            file.write(f"{table.column('index')[0].as_py()}\n")
        return table

    data = corpus().map_batches(noted, batch_size=None, batch_format="pyarrow")
    made = ray.get([on_rank.remote(rank, str(tmp_path / "store"), data, "tokens") for rank in (0, 1)])
    assert [[len(epoch) for epoch in epochs] for epochs in made] == [[3, len(made[0][1])]] * 2
    assert everything_once(made[0][1] + made[1][1], ROWS)
    # The first epoch was left early, and the second read once.
    assert BLOCKS < len((tmp_path / "read").read_text().split()) <= 2 * BLOCKS
    assert ended(cluster, "ray::Reader")


def test_ranks_get_the_error_of_the_actor(dataset, tmp_path, cluster):
    made = ray.get([on_rank.remote(rank, str(tmp_path / "store"), dataset, "none") for rank in (0, 1)])
    assert sorted(name for name, _ in made) == ["LengthsError", "StateError"]
    assert all("no column 'none'" in text for _, text in made)
    assert ended(cluster, "ray::Reader")


# Ray Train.

SAVED, KILLED = 5, 7


def train(config: dict) -> None:
    """Trains on two kinds of batches, saves both states once, and is killed later."""
    import torch
    import torch.distributed as dist

    context = ray.train.get_context()
    rank, world_size = context.get_world_rank(), context.get_world_size()
    assert ranks_of_ray() == find_ranks() == (rank, world_size)
    sampler = BatchSampler(config["lengths"], budget=f"padded:{BUDGET}")
    planned = prepare_data_loader(loader(config["rows"], sampler, collate_fn=pad_collate(sampler, field="tokens")))
    streamed = config["stream"] or stream(ray.train.get_dataset_shard("train"))
    checkpoint = ray.train.get_checkpoint()
    assert (checkpoint is None) == (world_size == 2)
    if checkpoint is not None:
        with checkpoint.as_directory() as kept:
            state = json.loads(Path(kept, "state.json").read_text())
        sampler.load_state_dict(state["planned"])
        streamed.load_state_dict(state["streamed"])
    with Path(config["out"], f"{world_size}-{rank}.jsonl").open("w") as out:
        for number, (step, batch) in enumerate(zip_longest(steps(planned), streamed), 1):
            batches = [] if step is None else [micro["index"].tolist() for micro in step]
            line = {"planned": batches, "streamed": [int(row["index"]) for row in batch or ()]}
            out.write(json.dumps(line) + "\n")
            out.flush()
            total = torch.tensor([1])
            dist.all_reduce(total)  # A rank with fewer steps would keep the others waiting.
            assert total.item() == world_size
            if world_size == 2 and number == SAVED:
                state = {"planned": step.state_dict(), "streamed": streamed.state_dict()}
                with tempfile.TemporaryDirectory() as kept:
                    Path(kept, "state.json").write_text(json.dumps(state))
                    saved = ray.train.Checkpoint.from_directory(kept) if rank == 0 else None
                    ray.train.report({"step": number}, checkpoint=saved)
                # Ray takes note of it some time later, and starts anew from what it has noted.
                assert len(ray.train.get_all_reported_checkpoints(timeout_s=60)) == 1
            if world_size == 2 and number == KILLED and rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)
    ray.train.report({"steps": number})


def test_workers_are_killed_and_fewer_go_on_with_every_sequence_once(rows, tmp_path, cluster):
    def trainer(workers: int, made: StreamBatches | None, **options) -> TorchTrainer:
        config = {"rows": rows, "lengths": lengths_of(rows, "tokens"), "stream": made, "out": str(tmp_path)}
        return TorchTrainer(
            train, train_loop_config=config, scaling_config=ray.train.ScalingConfig(num_workers=workers),
            run_config=ray.train.RunConfig(name="run", storage_path=str(tmp_path / "storage")), **options
        )  # fmt: skip

    with pytest.raises(ray.train.TrainingFailedError):
        trainer(2, stream(unordered(tmp_path / "blocks"))).fit()
    assert ended(cluster, "ray::Reader")
    before = [read(tmp_path / f"2-{rank}.jsonl") for rank in (0, 1)]
    assert len(before[1]) == KILLED  # It was in the middle of the epoch.
    # The iterator over the whole dataset that Ray gives to a worker serves as well.
    whole = {"datasets": {"train": unordered(tmp_path / "again")}, "dataset_config": ray.train.DataConfig(datasets_to_split=[])}
    assert trainer(1, None, **whole).fit().error is None
    after = read(tmp_path / "1-0.jsonl")
    seen = [line for rank in before for line in rank[:SAVED]] + after
    assert everything_once([batch for line in seen for batch in line["planned"]], ROWS)
    assert everything_once([line["streamed"] for line in seen], ROWS)
    for line in seen:
        for batch in [*line["planned"], line["streamed"]]:
            assert not batch or len(batch) * LENGTHS[batch].max() <= BUDGET


def read(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_the_guide_runs(tmp_path, monkeypatch):
    guide = Path(__file__).parents[2] / "docs" / "guides" / "ray.md"
    monkeypatch.chdir(tmp_path)
    names: dict = {"__name__": "__main__"}
    for number, block in enumerate(re.findall(r"^```python\n(.*?)^```", guide.read_text(), re.MULTILINE | re.DOTALL)):
        exec(compile(block, f"docs/guides/ray.md, block {number}", "exec"), names)
    assert list((tmp_path / "results" / "tagger").glob("checkpoint_*/sampler.json"))
    assert len(names["batches"]) == ready_batches(names)


def ready_batches(names: dict) -> int:
    """The number of batches that the guide's shards agreed on."""
    planner = lw.Planner(
        lengths_of(names["parts"][1], "tokens"), budget="padded:20000", statistics=names["ready"], shard=1, shards=2
    )
    return len(planner.plan())
