"""The judge on batches made by hand: `pytest benches/peers/test_judge.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))
from judge import (  # noqa: E402
    Batches,
    effective_mates,
    idle,
    judge,
    met_again,
    missing_and_doubled,
    over,
    padding,
    repeat_rate,
)

LENGTHS = np.array([4, 2, 3, 3, 1, 5])
# 4 and 2 are padded to 4, 3 and 3 to 3, 1 and 5 to 5.
PAIRS = Batches([0, 1, 2, 3, 4, 5], [2, 4, 6])


def test_padding_is_empty_cells_of_all_cells() -> None:
    assert PAIRS.cells(LENGTHS).tolist() == [8, 6, 10]
    assert padding(PAIRS, LENGTHS) == pytest.approx(6 / 24)


def test_padding_goes_up_to_what_a_batch_is_padded_to() -> None:
    taller = Batches(PAIRS.indices, PAIRS.ends, padded_to=[4, 4, 8])
    assert padding(taller, LENGTHS) == pytest.approx(1 - 18 / 32)


def test_over_counts_batches_above_the_limit_and_not_those_at_it() -> None:
    share, worst = over(PAIRS.cells(LENGTHS), 8)
    assert share == pytest.approx(1 / 3)
    assert worst == pytest.approx(10 / 8)


def test_missing_and_doubled() -> None:
    assert missing_and_doubled(PAIRS, 6) == (0, 0)
    assert missing_and_doubled(Batches([0, 1, 1, 1, 5], [2, 5]), 6) == (3, 2)


def test_frozen_batches_all_meet_again() -> None:
    other_order = Batches([5, 4, 1, 0, 3, 2], [2, 4, 6])
    assert met_again(PAIRS, other_order) == 1.0
    assert repeat_rate(PAIRS, other_order) == 1.0
    assert effective_mates([PAIRS, other_order]) == 1.0


def test_of_three_pairs_one_meets_again() -> None:
    other = Batches([0, 1, 2, 4, 3, 5], [2, 4, 6])
    assert met_again(PAIRS, other) == pytest.approx(1 / 3)
    # Every sequence has one mate, and two of six have the same one again.
    assert effective_mates([PAIRS, other]) == pytest.approx(3)


def test_pairs_are_counted_by_pairs_and_not_by_sequences() -> None:
    one = Batches([0, 1, 2, 3, 4, 5], [4, 6])
    other = Batches([0, 1, 2, 4, 3, 5], [3, 6])
    # Of six pairs and one, the three of 0, 1 and 2 meet again, and that of 4 and 5.
    assert met_again(one, other) == pytest.approx(4 / 7)


def test_nobody_meets_again() -> None:
    other = Batches([0, 2, 1, 4, 3, 5], [2, 4, 6])
    assert met_again(PAIRS, other) == 0
    assert effective_mates([PAIRS, other]) == 5  # as random batches, and no more


def test_sequences_alone_have_no_mates() -> None:
    alone = Batches([0, 1, 2], [1, 2, 3])
    assert met_again(alone, alone) == 0
    assert repeat_rate(alone, alone) is None
    assert effective_mates([alone, alone]) is None


def test_idle_is_what_is_waited_for_the_slowest_of_each_step() -> None:
    assert idle(np.array([4, 4, 2, 2]), ranks=2) == 0
    assert idle(np.array([4, 2, 4, 2]), ranks=2) == pytest.approx(1 - 12 / 16)
    # In the last step one rank of two has nothing to do.
    assert idle(np.array([4, 4, 4]), ranks=2) == pytest.approx(1 - 12 / 16)


def test_all_of_it_with_a_budget() -> None:
    found = judge([PAIRS, PAIRS], LENGTHS, kind="padded", limit=8)
    assert (found["batches"], found["missing"], found["doubled"]) == (3, 0, 0)
    assert found["over"] == pytest.approx(1 / 3)
    assert found["fill"] == pytest.approx(18 / 24)
    assert found["met_again"] == 1.0


def test_rows_that_sequences_share() -> None:
    rows = Batches([0, 1, 2, 3, 4, 5], [2, 5, 6])
    found = judge([rows, rows], LENGTHS, kind="packed", limit=7)
    assert found["padding"] == pytest.approx(1 - 18 / 21)
    assert (found["over"], found["worst"], found["truncated"]) == (0, 1.0, 0)
    # With a capacity of 4 the 5 loses one token, and two rows are over.
    found = judge([rows], LENGTHS, kind="packed", limit=4)
    assert found["truncated"] == 1
    assert found["over"] == pytest.approx(2 / 3)


def test_sequences_that_a_dealing_leaves_out_are_counted() -> None:
    found = judge([PAIRS], LENGTHS, kind="padded", limit=10, ranks=Batches([0, 1], [2]))
    assert (found["missing"], found["ranks_missing"]) == (0, 4)


def test_batches_that_end_elsewhere_are_refused() -> None:
    with pytest.raises(ValueError, match="end at 2 of 3 indices"):
        Batches([0, 1, 2], [1, 2])
    with pytest.raises(ValueError, match="smallest has 0"):
        Batches([0, 1], [1, 1, 2])
