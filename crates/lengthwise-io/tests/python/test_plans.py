"""Plans as NumPy, pyarrow and pandas read them."""

import json
import os
import shlex
import subprocess

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash

# Ids that are hard to write down, one of them as long as all others together.
IDS = ["utt-1", '"quoted", and\nlines', "zeros\0at the end\0", "\u001b[2J\u007f\u2028", "ä😀", "x" * 1_000_000]

COMMAND = os.environ.get("LENGTHWISE", "lengthwise")
PLANS = {
    "plain": "--budget padded:20000",
    "ranks": "--budget padded:20000 --world-size 8",
    "rank": "--budget padded:20000 --world-size 8 --rank 3 --take 5",
    "none": "--budget padded:20000 --world-size 8 --take 0",
    "left-out": "--budget padded:500 --over-long drop",
    "pieces": "--budget padded:2000 --chunk 100",
}


def run(arguments):
    command = [COMMAND, *shlex.split(arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def plan(settings, path):
    done = run(f"plan --example speech {settings} -o {path}")
    assert done.returncode == 0, done.stderr
    return path


def named(folder):
    """An input of sequences with ids."""
    path = folder / "named.jsonl"
    rows = [{"id": IDS[i] if i < len(IDS) else f"utt-{i}", "frames": 1 + i % 50} for i in range(300)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path, [row["id"] for row in rows]


@pytest.fixture(params=PLANS.values(), ids=PLANS.keys())
def settings(request):
    return request.param


@pytest.fixture
def expected(settings, tmp_path):
    return json.loads(plan(settings, tmp_path / "plan.json").read_text())


def unsealed(header):
    """The header up to its checksum, and the checksum."""
    content, checksum = header.rsplit(b',"checksum":"', 1)
    return content, checksum.rstrip(b'"}\n').decode()


def shared(header):
    return {key: header.get(key) for key in ["version", "digest", "made", "ranks"]}


def test_numpy_reads_arrays(settings, expected, tmp_path):
    with np.load(plan(settings, tmp_path / "plan.npz"), allow_pickle=False) as file:
        arrays = dict(file)
    batches = np.split(arrays["indices"], arrays["ends"][:-1]) if len(arrays["ends"]) else []
    assert [batch.tolist() for batch in batches] == expected["batches"]
    assert arrays["batch_lengths"].tolist() == expected["batch_lengths"]
    assert arrays["positions"].tolist() == expected["positions"]
    assert arrays.get("over_long", np.array([])).tolist() == expected.get("left_out", [])
    assert ("chunks" in expected) == ("piece_lengths" in arrays)
    for key, numbers in expected.get("chunks", {}).items():
        assert arrays[f"piece_{key}"].tolist() == numbers
    for name, array in arrays.items():
        kind = {"header": "uint8", "positions": "uint64"}.get(name, "uint32")
        assert array.dtype == kind and array.ndim == 1, name
    header = arrays.pop("header").tobytes()
    assert shared(json.loads(header)) == shared(expected)
    content, checksum = unsealed(header)
    numbers = b"".join(array.tobytes() for array in arrays.values())
    assert xxhash.xxh3_64_hexdigest(numbers + content) == checksum


def test_pyarrow_and_pandas_read_tables(settings, expected, tmp_path):
    path = plan(settings, tmp_path / "plan.parquet")
    table = pq.read_table(path)
    names = ["batch", "batch_length", "batch_positions", "sequence"]
    pieces = expected.get("chunks")
    names += ["offset", "length"] if pieces else []
    assert table.column_names == names
    for field in table.schema:
        kind = pa.uint64() if field.name == "batch_positions" else pa.uint32()
        assert (field.type, field.nullable) == (kind, False), field
    frame = pd.read_parquet(path)
    assert frame.dtypes.astype(str).tolist() == [str(field.type) for field in table.schema]
    indices = [piece for batch in expected["batches"] for piece in batch]
    sequences = [pieces["sequences"][piece] for piece in indices] if pieces else indices
    assert frame["sequence"].tolist() == sequences
    if pieces:
        assert frame["offset"].tolist() == [pieces["offsets"][piece] for piece in indices]
        assert frame["length"].tolist() == [pieces["lengths"][piece] for piece in indices]
    batches = frame.groupby("batch")
    assert batches.size().tolist() == [len(batch) for batch in expected["batches"]]
    assert batches["batch_length"].agg(["min", "max"]).values.tolist() == [
        [length, length] for length in expected["batch_lengths"]
    ]
    assert batches["batch_positions"].first().tolist() == expected["positions"]
    header = table.schema.metadata[b"lengthwise"]
    assert shared(json.loads(header)) == shared(expected)
    content, checksum = unsealed(header)
    numbers = b"".join(table.column(name).to_numpy().tobytes() for name in names)
    assert xxhash.xxh3_64_hexdigest(numbers + content) == checksum


@pytest.fixture(params=["", "--world-size 4 --rank 1", "--chunk 20"])
def with_ids(request, tmp_path):
    """The command of a plan with ids, its JSON, and the id of every entry."""
    path, ids = named(tmp_path)
    command = f"plan {path} --ids --budget padded:200 {request.param} -o"
    done = run(f"{command} {tmp_path}/plan.json")
    assert done.returncode == 0, done.stderr
    plan = json.loads((tmp_path / "plan.json").read_text())
    entries = [entry for batch in plan["batches"] for entry in batch]
    sequences = plan["chunks"]["sequences"] if "chunks" in plan else range(300)
    return command, plan, [ids[sequences[entry]] for entry in entries]


def test_ids_in_json(with_ids, tmp_path):
    command, plan, ids = with_ids
    assert plan["version"] == 2
    assert [len(batch) for batch in plan["ids"]] == [len(batch) for batch in plan["batches"]]
    assert [name for batch in plan["ids"] for name in batch] == ids
    assert run(f"{command} {tmp_path}/plan.jsonl").returncode == 0
    with open(tmp_path / "plan.jsonl", encoding="utf-8") as lines:
        batches = [json.loads(line) for line in lines][:-1]
    assert [batch["ids"] for batch in batches] == plan["ids"]
    frame = pd.read_json(tmp_path / "plan.jsonl", lines=True)
    assert frame["ids"].dropna().tolist() == plan["ids"]


def test_ids_in_arrays(with_ids, tmp_path):
    command, _, ids = with_ids
    assert run(f"{command} {tmp_path}/plan.npz").returncode == 0
    with np.load(tmp_path / "plan.npz", allow_pickle=False) as file:
        plan = dict(file)
    assert (plan["id_bytes"].dtype, plan["id_ends"].dtype) == (np.uint8, np.uint64)
    # As the documentation has it.
    raw, ends = plan["id_bytes"].tobytes(), plan["id_ends"].tolist()
    assert [raw[start:end].decode() for start, end in zip([0, *ends], ends)] == ids
    header = plan.pop("header").tobytes()
    content, checksum = unsealed(header)
    numbers = b"".join(array.tobytes() for array in plan.values())
    assert xxhash.xxh3_64_hexdigest(numbers + content) == checksum
    # Another id, and the same bytes cut otherwise.
    for name in ["id_bytes", "id_ends"]:
        changed = plan[name].copy()
        changed[3] += 1
        np.savez(tmp_path / "other.npz", **{**plan, name: changed, "header": np.frombuffer(header, "u1")})
        done = run(f"verify {tmp_path}/other.npz")
        assert done.returncode == 1 and "its checksum is" in done.stderr, done.stderr


def test_ids_in_tables(with_ids, tmp_path):
    command, _, ids = with_ids
    path = tmp_path / "plan.parquet"
    assert run(f"{command} {path}").returncode == 0
    table = pq.read_table(path)
    assert table.column_names[-1] == "id"
    field = table.schema.field("id")
    assert (field.type, field.nullable) == (pa.string(), False)
    assert table.column("id").to_pylist() == ids
    assert pd.read_parquet(path)["id"].tolist() == ids
    content, checksum = unsealed(table.schema.metadata[b"lengthwise"])
    names = table.column_names[:-1]
    numbers = b"".join(table.column(name).to_numpy().tobytes() for name in names)
    texts = b"".join(len(name.encode()).to_bytes(4, "little") + name.encode() for name in ids)
    assert xxhash.xxh3_64_hexdigest(numbers + texts + content) == checksum
    for changed in [["another", *ids[1:]], [ids[1], ids[0], *ids[2:]]]:
        column = pa.field("id", pa.string(), nullable=False)
        other = table.set_column(table.num_columns - 1, column, [changed])
        pq.write_table(other, tmp_path / "other.parquet", compression="none")
        assert run(f"verify {tmp_path}/other.parquet").returncode == 1


def test_rows_of_a_batch_can_be_asked_for(tmp_path):
    path = plan(PLANS["plain"], tmp_path / "plan.parquet")
    expected = json.loads(plan(PLANS["plain"], tmp_path / "plan.json").read_text())
    rows = pq.read_table(path, filters=[("batch", "==", 7)])
    assert rows.column("sequence").to_pylist() == expected["batches"][7]


def test_what_numpy_saves_is_the_same_plan_in_other_bytes(tmp_path):
    path = plan(PLANS["pieces"], tmp_path / "plan.npz")
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(tmp_path / "again.npz", **arrays)
    done = run(f"verify {tmp_path}/again.npz --example speech")
    assert done.returncode == 1 and "another program has saved it again" in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("name", "array", "said"),
    [
        ("ends", lambda ends: ends.astype(">u4"), "type `>u4`"),
        ("ends", lambda ends: ends.astype("i8"), "type `<i8`"),
        ("ends", lambda ends: ends.astype(object), "type `|O`"),
        ("ends", lambda ends: np.asfortranarray(np.stack([ends, ends])), "Fortran order"),
        ("ends", lambda ends: ends.reshape(1, -1), "shape `(1, "),
        ("indices", lambda indices: indices[::-1], "its checksum is"),
        ("made", lambda _: np.zeros(3, "u4"), "`made.npy`, which is not part of a plan"),
    ],
)
def test_other_arrays_are_refused(name, array, said, tmp_path):
    with np.load(plan(PLANS["plain"], tmp_path / "plan.npz")) as file:
        arrays = dict(file)
    arrays[name] = array(arrays.get(name))
    np.savez(tmp_path / "other.npz", **arrays)
    done = run(f"verify {tmp_path}/other.npz")
    assert done.returncode == 1 and said in done.stderr, done.stderr


def test_packed_arrays_are_refused(tmp_path):
    with np.load(plan(PLANS["plain"], tmp_path / "plan.npz")) as file:
        np.savez_compressed(tmp_path / "packed.npz", **file)
    assert run(f"verify {tmp_path}/packed.npz").returncode == 1


@pytest.mark.parametrize("packing", ["none", "snappy", "zstd", "gzip"])
def test_other_tables_are_refused(packing, tmp_path):
    path = plan(PLANS["plain"], tmp_path / "plan.parquet")
    table = pq.read_table(path)
    other = tmp_path / "other.parquet"
    swapped = table.take([1, 0, *range(2, len(table))])
    for changed in [swapped, table.slice(1), table.drop_columns("sequence")]:
        pq.write_table(changed, other, compression=packing)
        assert run(f"verify {other}").returncode == 1
    pq.write_table(table.replace_schema_metadata(), other, compression=packing)
    done = run(f"verify {other}")
    assert done.returncode == 1 and "has no `lengthwise`" in done.stderr, done.stderr
