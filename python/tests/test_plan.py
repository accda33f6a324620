"""Plans, planners and schedules."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import lengthwise as lw
import numpy as np
import pytest
from conftest import everything_once


@pytest.fixture(scope="module")
def plan(lengths) -> lw.Plan:
    return lw.plan(lengths, "shuffled", budget="padded:600", seed=3)


def test_a_plan_is_a_sequence_of_arrays(plan, lengths):
    assert isinstance(plan, Sequence)
    assert everything_once([batch.tolist() for batch in plan])
    assert plan[0].dtype == np.uint32
    assert plan[-1].tolist() == plan[len(plan) - 1].tolist()
    assert [batch.tolist() for batch in plan[1:4]] == [plan[k].tolist() for k in (1, 2, 3)]
    assert [batch.tolist() for batch in plan[::-7]] == plan.tolist()[::-7]
    assert plan.index(plan[5]) == 5 and plan[5].tolist() in plan and [0] not in plan
    assert plan.count(plan[5]) == 1
    assert len(list(reversed(plan))) == len(plan)
    for outside in (len(plan), -len(plan) - 1):
        with pytest.raises(IndexError, match=str(outside)):
            plan[outside]
    with pytest.raises(TypeError):
        plan["first"]


def test_batches_are_views_that_cannot_be_written_to(plan):
    assert plan[3].base is not None
    assert np.shares_memory(plan[3], plan.indices)
    with pytest.raises(ValueError, match="read-only"):
        plan[3][0] = 7


def test_batches_keep_the_budget_and_their_lengths(plan, lengths):
    for batch, length, size, positions in zip(
        plan, plan.batch_lengths, plan.batch_sizes, plan.positions
    ):
        assert len(batch) == size and size * length <= 600
        assert lengths[batch].max() <= length
        assert lengths[batch].sum() == positions
    cells = int((plan.batch_lengths.astype(int) * plan.batch_sizes).sum())
    measures = plan.measure()
    assert measures.cells == cells == measures.asdict()["cells"]
    assert measures.padding_rate == pytest.approx(1 - lengths.sum() / cells)
    assert plan.ends[-1] == len(plan.indices) == len(lengths)


def test_plans_are_what_the_command_line_makes(lengths):
    """The digest of a plan of built-in lengths is the same in Rust, on the command line and here."""
    plan = lw.plan(lw.example("speech"), "blurred:blur=0.02", budget="padded:12800", seed=42, epoch=1)
    assert plan.settings["strategy"] == "blurred:blur=0.02"
    assert plan.digest == DIGEST


DIGEST = "74057f2e8c2bf3a9"


def test_the_seed_and_the_epoch_decide(lengths):
    planner = lw.Planner(lengths, budget="padded:600", seed=1)
    assert planner.plan(0) == planner.plan(0) == lw.plan(lengths, budget="padded:600", seed=1)
    assert planner.plan(0) != planner.plan(1)
    assert planner.plan(0).digest != lw.plan(lengths, budget="padded:600", seed=2).digest
    assert hash(planner.plan(4)) == hash(planner.plan(4))


def test_a_plan_can_be_pickled(plan, lengths):
    again = pickle.loads(pickle.dumps(plan))
    assert again == plan and again.settings == plan.settings
    assert again.for_rank(1, 3) == plan.for_rank(1, 3)
    model = lw.CostModel("a=0.001,c=1e-9")
    assert pickle.loads(pickle.dumps(model)) == model
    assert pickle.loads(pickle.dumps(lw.Lengths(lengths))) == lw.Lengths(lengths)


def test_a_plan_can_be_saved_and_loaded(plan, lengths, tmp_path):
    for name in ("plan.json", "plan.jsonl", "plan.npz"):
        plan.save(tmp_path / name)
        assert lw.load_plan(tmp_path / name, lengths) == plan
    with np.load(tmp_path / "plan.npz", allow_pickle=False) as arrays:
        assert arrays["indices"].tolist() == plan.indices.tolist()
    with pytest.raises(lw.LengthsError, match="other lengths"):
        lw.load_plan(tmp_path / "plan.npz", lengths[::-1])
    damaged = (tmp_path / "plan.json").read_text().replace('"seed":3', '"seed":4')
    (tmp_path / "plan.json").write_text(damaged)
    with pytest.raises(lw.FileError, match="altered"):
        lw.load_plan(tmp_path / "plan.json", lengths)


def test_ranks_share_everything_and_take_equal_steps(plan, lengths):
    for world_size in (1, 2, 5):
        schedule = plan.schedule(world_size)
        ranks = [schedule.for_rank(rank) for rank in range(world_size)]
        assert {len(rank) for rank in ranks} == {len(schedule)}
        assert everything_once([batch.tolist() for rank in ranks for batch in rank])
        assert ranks[0] == plan.for_rank(0, world_size)
        assigned = schedule.all_ranks()
        assert [batch.tolist() for batch in assigned[::world_size]] == ranks[0].tolist()
        assert schedule.positions.sum() == lengths.sum()
        assert 0 <= schedule.idle_bound <= schedule.idle_share + 1e-9 < 1


def test_an_epoch_goes_on_with_other_ranks(plan, lengths):
    schedule = plan.schedule(4)
    cursor = schedule.cursor(3)
    assert len(cursor) < 512
    seen = [batch.tolist() for batch in schedule.all_ranks()[: 3 * 4]]
    rest = plan.resume(cursor, 3)
    assert everything_once(seen + rest.all_ranks().tolist())


def test_over_long_sequences(lengths):
    longest = int(lengths.argmax())
    with pytest.raises(lw.BudgetError) as caught:
        lw.plan(lengths, budget=f"padded:{lengths.max() - 1}")
    assert caught.value.index == longest and "over_long" in caught.value.hint
    plan = lw.plan(lengths, budget=f"padded:{lengths.max() - 1}", over_long="drop")
    assert longest in plan.left_out and longest not in plan.indices
    plan = lw.plan(lengths, budget=f"padded:{lengths.max() - 1}", over_long="truncate")
    assert longest in plan.truncated


def test_ladders_and_chunks(lengths):
    rungs = lw.ladder(lengths, 4)
    assert len(rungs) == 4 and rungs[-1] == lengths.max()
    planner = lw.Planner(lengths, budget="padded:600", shapes="ladder:4")
    assert set(planner.plan().batch_lengths.tolist()) <= set(planner.rungs)
    assert lw.Planner(lengths, budget=16, shapes="exact").rungs is None
    chunks = lw.Chunks(lengths, 50)
    pieces = chunks.pieces.numpy()
    assert pieces.max() == 50 and pieces.sum() == lengths.sum()
    assert (chunks.offsets + pieces <= lengths[chunks.sequences]).all()
    lw.plan(chunks.pieces, budget=16)


def test_mixing(lengths):
    planner = lw.Planner(lengths, "shuffled", budget=16)
    plans = [planner.plan(epoch) for epoch in range(4)]
    mixing = lw.mixing(plans)
    assert mixing.per_pair <= 1 < mixing.per_pair + 4 * mixing.per_pair_error
    assert mixing.per_sequence <= 1 < mixing.per_sequence + 4 * mixing.per_sequence_error
    assert mixing.effective_mates == pytest.approx(mixing.per_sequence * (len(lengths) - 1))
    assert lw.effective_mates(plans) == mixing.effective_mates
    assert 0 < mixing.repeat_rate < 0.1
    assert lw.mixing(plans[:1]) is None and lw.effective_mates(plans[:1]) is None
    frozen = lw.mixing([lw.Planner(range(1, 641), "sorted", budget=16).plan(epoch) for epoch in (0, 1)])
    assert frozen.repeat_rate > 0.9 and frozen.per_pair < 0.05


@pytest.mark.parametrize(
    ("settings", "exception", "says"),
    [
        ({"strategy": "blured", "budget": 16}, lw.SettingError, "did you mean `blurred`"),
        ({"strategy": "alternated:bin=3", "budget": 16}, lw.SettingError, "bins"),
        ({"budget": "padded:0"}, lw.SettingError, "padded"),
        ({"budget": True}, lw.SettingError, "got True of type bool"),
        ({"budget": -3}, lw.SettingError, "-3"),
        ({"budget": 16, "shapes": "ladder:10/20"}, lw.SettingError, "rung"),
        ({"budget": 16, "arrange": "backwards"}, lw.SettingError, "backwards"),
        ({"budget": 16, "cost_model": "nothing.json"}, lw.FileError, "nothing.json"),
        ({"strategy": "sorted", "budget": 16, "accumulate": 2, "canonical_ranks": 4}, lw.SettingError, "both"),
        ({"budget": 16, "accumulate": 2, "update": "tokens:900"}, lw.SettingError, "tokens:900"),
        ({"budget": 16, "update": "token:900"}, lw.SettingError, "did you mean `tokens`"),
        ({"budget": 16, "accumulate": 0}, lw.SettingError, "`accumulate` is 0"),
        ({"budget": 16, "accumulate": -1}, lw.SettingError, "-1 is too small"),
        ({"budget": 16, "seed": -1}, lw.SettingError, "-1 is too small"),
        ({"budget": 16, "epoch": 2**64}, lw.SettingError, "too large"),
    ],
)
def test_wrong_settings_are_named(lengths, settings, exception, says):
    with pytest.raises(exception, match=says) as caught:
        lw.plan(lengths, **settings)
    assert isinstance(caught.value, ValueError) and caught.value.hint
    assert pickle.loads(pickle.dumps(caught.value)).hint == caught.value.hint


def test_wrong_ranks_are_named(plan):
    for call in (
        lambda: plan.for_rank(4, 4),
        lambda: plan.for_rank(-1, 4),
        lambda: plan.schedule(0),
        lambda: plan.schedule(-2),
        lambda: plan.schedule(2).for_rank(2),
    ):
        with pytest.raises(lw.RankError):
            call()
    with pytest.raises(TypeError):
        plan.for_rank("first", 4)


def test_a_state_of_another_run_is_refused(plan, lengths):
    cursor = plan.schedule(2).cursor(1)
    for other, what in (
        (lw.plan(lengths, "shuffled", budget="padded:600", seed=4), "seed"),
        (lw.plan(lengths, "shuffled", budget="padded:700", seed=3), "budget"),
        (lw.plan(lengths[::-1], "shuffled", budget="padded:600", seed=3), "lengths"),
    ):
        with pytest.raises(lw.StateError, match=what):
            other.resume(cursor, 2)
    with pytest.raises(lw.StateError, match="altered"):
        plan.resume(cursor.replace('"segments":[[2,1]]', '"segments":[[2,2]]'), 2)
    with pytest.raises(lw.StateError):
        plan.resume("nothing", 2)


def test_what_notebooks_show(plan, lengths):
    assert "400 sequences" in repr(plan)
    html = plan._repr_html_()
    assert html.count("<svg") == 1 and "padding" in html and "<script" not in html
    assert "strategy proportional" in repr(lw.Planner(lengths, budget=16, shapes="ladder:4"))


def test_importing_brings_in_nothing_heavy():
    code = "import sys, lengthwise; print([m for m in ('torch', 'pandas', 'pyarrow', 'numpy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_other_threads_run_while_plans_are_made():
    import threading

    ticks, done = [], threading.Event()

    def count():
        while not done.is_set():
            ticks.append(None)
            done.wait(0.0005)

    lengths = np.random.default_rng(0).integers(1, 2000, 1_500_000)
    thread = threading.Thread(target=count)
    thread.start()
    before = len(ticks)
    planner = lw.Planner(lengths, "blurred", budget="padded:20000")
    planner.plan(0)
    during = len(ticks) - before
    done.set()
    thread.join(timeout=10)
    assert during > 3


@pytest.mark.parametrize("strategy", ["blurred", "sorted", "proportional", "packed:capacity=800", None])
def test_plans_are_the_same_in_memory_of_earlier_ones(lengths, strategy):
    """A planner makes plans in the memory of those that nothing holds any more. What is held does not change."""
    budget = {} if strategy == "packed:capacity=800" else {"budget": "padded:600"}
    def make() -> lw.Planner:
        return lw.Planner(lengths, strategy, seed=5, **budget)

    planner = make()
    fresh = [make().plan(epoch) for epoch in range(5)]
    batches, rank, schedule = planner.plan(0).indices, planner.plan(1).for_rank(0, 2), planner.plan(2).schedule(3)
    first = planner.plan(0).schedule(1).for_rank(0)
    for epoch in [*range(5), 0]:
        plan = planner.plan(epoch)
        assert plan == fresh[epoch] and plan.digest == fresh[epoch].digest
        del plan
    assert batches.tolist() == fresh[0].indices.tolist()
    assert rank == fresh[1].for_rank(0, 2)
    assert schedule.all_ranks() == fresh[2].schedule(3).all_ranks()
    assert first == fresh[0].schedule(1).for_rank(0)


def test_threads_may_share_a_planner(lengths):
    planner = lw.Planner(lengths, "blurred", budget="padded:600")
    fresh = [lw.Planner(lengths, "blurred", budget="padded:600").plan(epoch).digest for epoch in range(20)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda epoch: planner.plan(epoch).digest, range(20))) == fresh
