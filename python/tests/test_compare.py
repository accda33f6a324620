"""Comparing, tuning and inspecting, as on the command line."""

from __future__ import annotations

import json

import lengthwise as lw
import pytest


def test_a_comparison_has_rows_a_table_and_a_report(lengths, tmp_path):
    comparison = lw.compare(lengths, ["shuffled", "sorted"], budget=16, epochs=2, source="<b>mine</b>")
    rows = {row["strategy"]: row for row in comparison.rows}
    assert rows["sorted"]["padding_rate"] < rows["shuffled"]["padding_rate"]
    assert json.loads(comparison.to_json())["rows"] == comparison.rows
    assert "sorted" in str(comparison)
    html = comparison._repr_html_()
    assert html.startswith("<table>") and "sorted" in html
    comparison.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "Content-Security-Policy" in page and "<b>mine" not in page
    assert page == comparison.to_html()


def test_all_strategies_are_compared_unless_some_are_named(lengths):
    assert len(lw.compare(lengths, epochs=1).rows) > 8
    sorted_row, recommended = lw.compare(lengths, "sorted", epochs=1).rows
    assert sorted_row["strategy"] == "sorted" and recommended["recommended"]
    with pytest.raises(lw.SettingError, match="no strategies"):
        lw.compare(lengths, [])
    with pytest.raises(lw.SettingError, match="sortd"):
        lw.compare(lengths, ["sortd"])
    with pytest.raises(lw.SettingError, match="epochs"):
        lw.compare(lengths, epochs=0)


def test_tuning_keeps_its_limits(lengths):
    tuning = lw.tune(lengths, budget="dynamic:8", max_padding=0.08)
    assert tuning.within_limits and tuning.best["padding_rate"] <= 0.08
    plan = lw.plan(lengths, **tuning.settings)
    assert plan.measure().padding_rate < 0.1
    assert tuning.strategy in str(tuning) and "lengthwise plan" not in str(tuning)
    for limits in ({"max_padding": 2}, {"min_mates": 0}, {"max_shapes": 0}, {"max_seconds": 1.0}):
        with pytest.raises(lw.SettingError):
            lw.tune(lengths, budget=8, **limits)


def test_inspecting(lengths):
    inspection = lw.inspect(lengths)
    figures = inspection.asdict()
    assert figures["sequences"] == len(lengths) and figures["total"] == lengths.sum()
    assert "median" in str(inspection)
    assert lw.inspect([5] * 10).warnings


def test_the_manual():
    assert "blurred" in lw.explain()
    assert "noise" in lw.explain("semi-sorted")
    with pytest.raises(lw.SettingError, match="unknown"):
        lw.explain("nothing")


def test_what_plans_refuse_is_refused():
    for call in (lw.inspect, lw.tune, lw.plan):
        with pytest.raises(lw.BudgetError, match="sequence 1 of length 900 alone costs 900 cells"):
            call([3, 900, 4], budget="padded:10")
    assert "over_budget" not in lw.inspect([3, 900, 4], budget="padded:1000").asdict()


def test_a_cost_model_that_explains_nothing_is_refused():
    sizes, lengths = [1, 8, 8, 32, 32, 1], [50, 50, 400, 400, 50, 400]
    falling = [(size * length) ** -0.1 for size, length in zip(sizes, lengths)]
    with pytest.raises(lw.CostError, match=r"explains 0 % of the differences.*\(r2 0\.0000\)") as caught:
        lw.CostModel.fit(sizes, lengths, falling)
    assert "check that each time belongs to its batch size" in caught.value.hint
    flat = [(size * length) ** -0.005 for size, length in zip(sizes, lengths)]
    with pytest.warns(lw.LengthwiseWarning, match="hardly depend on batch size and batch length"):
        assert lw.CostModel.fit(sizes, lengths, flat).r2 < 0.1


def test_two_lengths_are_compared_by_the_strategies_that_know_both():
    lengths = lw.Lengths(range(1, 200), range(199, 0, -1))
    rows = lw.compare(lengths, budget="sequences:8", epochs=1).rows
    names = [row["strategy"].partition(":")[0] for row in rows]
    # The last one is recommended.
    assert names[-2:] == ["paired", "proportional"] and "proportional" not in names[:-1]
