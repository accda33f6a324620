"""Every error of planning, as Python gets it: its class, its index, and a hint in the words of Python."""

from __future__ import annotations

import re

import pytest

import lengthwise as lw
from lengthwise import _lengthwise, errors

ERRORS = _lengthwise._errors()


@pytest.mark.parametrize("error", ERRORS, ids=str)
def test_hints_are_in_the_words_of_python(error: errors.LengthwiseError) -> None:
    assert isinstance(error, errors.LengthwiseError)
    if error.hint is None:
        assert "stopped" in str(error)
        return
    for word in ("--", "::", "command line", "lengthwise explain", "Remedy", "`lengthwise "):
        assert word not in error.hint
    assert f"\nhint: {error.hint}" in str(error)


def test_an_error_about_a_sequence_has_its_index() -> None:
    for error in ERRORS:
        found = re.match(r"(sequence|measured step) (\d+) ", str(error))
        assert error.index == (int(found[2]) if found else None), error


def test_sequences_over_the_budget_are_budget_errors() -> None:
    over = [error for error in ERRORS if re.search(r"over the|more than the budget|exceeds the budget", str(error))]
    assert len(over) > 10
    for error in over:
        memory = "of memory" in str(error)
        assert type(error) is (errors.SettingError if memory else errors.BudgetError), error


def test_pairs_over_the_budget_have_class_and_index() -> None:
    """Both errors of sequences with two lengths: too long alone, and too long on a rung of the ladder."""
    with pytest.raises(lw.BudgetError, match="sequence 2 has lengths 90 and 9") as alone:
        lw.plan([10, 20, 90], second=[1, 2, 9], budget="padded:60")
    assert alone.value.index == 2
    assert 'over_long="alone"' in (alone.value.hint or "")
    with pytest.raises(lw.BudgetError, match="by the shapes exceeds the budget") as rung:
        lw.plan([10, 90], second=[90, 10], budget="padded:110", shapes="ladder:1")
    assert rung.value.index == 0


def test_hints_work_when_typed() -> None:
    """What the hint of an over-long sequence says, done."""
    with pytest.raises(lw.BudgetError) as raised:
        lw.plan([10, 20, 90], budget="padded:60")
    assert (raised.value.hint or "").startswith("raise the budget to at least 90 cells, or choose")
    assert len(lw.plan([10, 20, 90], "sorted", budget="padded:90")) == 2
    for treatment in ("alone", "drop", "truncate"):
        assert len(lw.plan([10, 20, 90], "sorted", budget="padded:60", over_long=treatment)) > 0
