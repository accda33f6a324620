"""A wrong argument is named, with what was expected and what was given."""

from __future__ import annotations

from typing import Any

import pytest

import lengthwise as lw

LENGTHS = [3, 5, 9, 4] * 20
STEPS = ([1, 2, 4, 8], [10, 20, 30, 40], [0.1, 0.2, 0.3, 0.4])


def planner(**settings: Any) -> object:
    return lw.Planner(LENGTHS, **{"budget": 4, **settings})


def comparison(**settings: Any) -> object:
    return lw.compare(LENGTHS, epochs=1) if not settings else lw.compare(LENGTHS, **settings)


def tuning(**settings: Any) -> object:
    return lw.tune(LENGTHS, **{"budget": 4, **settings})


def feed(**settings: Any) -> object:
    return lw.Feed(**{"budget": 4, **settings})


def fit(**changed: Any) -> object:
    names = ("batch_sizes", "batch_lengths", "seconds")
    return lw.CostModel.fit(**{**dict(zip(names, STEPS)), **changed})


def made() -> lw.Plan:
    return lw.plan(LENGTHS, budget=4)


WRONG: list[tuple[Any, dict[str, list[Any]]]] = [
    (
        planner,
        {
            "budget": [3.5, True, [1], -3, 0, "many", 2**40],
            "strategy": [3, "none", ["sorted"]],
            "shapes": [8, "none"],
            "arrange": [1, "none", None],
            "over_long": [1, "none"],
            "steps": [1, "none"],
            "tail": [1, "none"],
            "cost_model": [1.0, [1]],
            "accumulate": [0, 1.5, "2", -1],
            "canonical_ranks": [0, 1.5, "2"],
            "update": [3, "none", "tokens", "tokens:0", ["tokens:5"]],
            "constant_steps": [1, "yes", None],
            "seed": [-1, 1.5, "a", 2**70],
            "second": [[1], "x", 3],
            "shard": [1, -1],
            "shards": [2, "a"],
        },
    ),
    (
        comparison,
        {
            "budget": [3.5],
            "strategies": [3, [3], []],
            "shapes": [3],
            "epochs": [0, 1.5, -1],
            "world_size": [0, 1.5],
            "accumulate": [0],
            "steps": [3],
            "tail": [3],
            "cost_model": [3],
            "seed": [-1],
            "source": [3],
            "arrange": [3],
            "over_long": [2],
        },
    ),
    (
        tuning,
        {
            "budget": [3.5],
            "shapes": [3, "none"],
            "max_padding": ["a", 2, -1],
            "min_mates": ["a", 0],
            "max_shapes": [0, 1.5],
            "max_seconds": ["a", 1, -1],
            "cost_model": [3],
            "seed": [-1],
        },
    ),
    (
        feed,
        {
            "budget": [3.5],
            "shapes": [3, "none"],
            "window": [0, 1.5, -1],
            "pivot": [3, "none"],
            "over_long": [3, "none"],
            "tail": [3],
            "world_size": [0, 1.5],
            "seed": [-1],
            "epoch": [-1, "a"],
            "state": [3, "none"],
        },
    ),
    (lambda **given: feed().push(**given), {"length": [1.5, -1, "a"]}),  # type: ignore[attr-defined]
    (lambda rungs: lw.ladder(LENGTHS, rungs=rungs), {"rungs": [0, 1.5, "a", -1, 2**40]}),
    (lambda epoch: planner().plan(epoch), {"epoch": [1.5, "a", -1]}),  # type: ignore[attr-defined]
    (lambda budget: lw.inspect(LENGTHS, budget=budget), {"budget": [3.5]}),
    (lambda model: lw.CostModel(model), {"model": [3.5, None]}),
    (
        fit,
        {
            "batch_sizes": [3, [1.5] * 4, [-1] * 4],
            "batch_lengths": [3, ["a"] * 4],
            "seconds": [3, ["x"] * 4],
        },
    ),
    (lambda **given: lw.CostModel("encoder").seconds(**{"batch_size": 1, "batch_length": 2, **given}),
     {"batch_size": [-1, 1.5], "batch_length": ["a"]}),
    (lambda path: lw.CostModel.load(path), {"path": [3]}),
    (lambda path: lw.load_plan(path, LENGTHS), {"path": [3]}),
    (lambda path: made().save(path), {"path": [3]}),
    (lambda **given: made().for_rank(**{"rank": 0, "world_size": 2, **given}),
     {"rank": ["a", 2, -1], "world_size": [0, 1.5]}),
    (lambda world_size: made().schedule(world_size), {"world_size": [0, "a"]}),
    (lambda name: lw.example(name), {"name": [3]}),
    (lambda name: lw.explain(name), {"name": [3]}),
    (
        lambda **given: lw.read_lengths(**{"path": "none.txt", **given}),
        {"path": [3], "column": [3], "format": [3, "xml"], "unit": [3, "pages"], "rate": ["a"],
         "frame_shift": ["a"]},
    ),
    (lambda size: lw.Chunks(LENGTHS, size), {"size": ["a", -1]}),
]

CASES = [
    pytest.param(call, name, value, id=f"{number}-{name}-{value!r}")
    for number, (call, arguments) in enumerate(WRONG)
    for name, values in arguments.items()
    for value in values
]


@pytest.mark.parametrize(("call", "name", "value"), CASES)
def test_wrong_arguments_are_named(call: Any, name: str, value: Any) -> None:
    with pytest.raises((lw.LengthwiseError, TypeError)) as raised:
        call(**{name: value})
    message = str(raised.value)
    assert isinstance(raised.value, lw.LengthwiseError), f"{type(raised.value)}: {message}"
    words = message.replace("over-long", "over_long").replace("world size", "world_size")
    assert name.rstrip("s") in words, message
    assert raised.value.hint, message


def test_a_wrong_type_says_what_was_expected_and_given() -> None:
    with pytest.raises(lw.SettingError) as raised:
        lw.plan(LENGTHS, budget=3.5)
    text = 'expected a budget such as "padded:20000", or a whole number of sequences, got 3.5 of type float'
    assert text in str(raised.value)
    with pytest.raises(TypeError, match="^`strategy`: expected a str, got 3 of type int"):
        lw.plan(LENGTHS, 3, budget=4)  # type: ignore[arg-type]
    with pytest.raises(lw.SettingError, match="^`seed`: -1 is too small or too large"):
        lw.plan(LENGTHS, budget=4, seed=-1)
    with pytest.raises(lw.LengthsError, match="^`second`: "):
        lw.plan(LENGTHS, budget=4, second=3)


@pytest.mark.parametrize("given", [None, 3, "abc", {1: 2}, object(), [[1, 2]], ["a"], [0], []])
def test_what_is_no_lengths_is_refused(given: Any) -> None:
    with pytest.raises(lw.LengthsError, match="length|sequences"):
        lw.plan(given, budget=4)


def test_a_stream_of_samples_is_no_lengths() -> None:
    class IterableDataset:
        """What frameworks call a dataset that has no length."""

        def __iter__(self) -> Any:
            raise AssertionError("it must not be read")

    class Samples(IterableDataset):
        pass

    with pytest.raises(lw.LengthsError, match="expected lengths, got the samples of a Samples"):
        lw.plan(Samples(), budget=4)


def test_notes_stay_notes() -> None:
    error = lw.SettingError("wrong", hint="right")
    error.add_note("seen in a test")
    assert str(error) == "wrong\nhint: right"
    assert error.__notes__ == ["seen in a test"]
