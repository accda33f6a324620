"""`help` explains every parameter of every public callable, and shows its default."""

from __future__ import annotations

import importlib
import inspect
import re

import lengthwise as lw
import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("lightning")
pytest.importorskip("ray")
pytest.importorskip("lhotse")

MODULES = ("", ".arrays", ".calibration", ".stream", ".torch", ".hf", ".lhotse", ".lab", ".lightning", ".ray")


def callables() -> dict[str, object]:
    """The public functions, classes and methods, by name."""
    found = {}
    for module_name in MODULES:
        module = importlib.import_module(f"lengthwise{module_name}")
        for name in module.__all__:
            value = getattr(module, name)
            if not value.__module__.startswith("lengthwise") or not callable(value):
                continue
            full = f"{module.__name__}.{name}"
            found[full] = value
            if not inspect.isclass(value):
                continue
            for method in vars(value):
                if method.startswith("_"):
                    continue
                member = inspect.getattr_static(value, method)
                member = getattr(member, "__func__", member)
                if callable(member):
                    found[f"{full}.{method}"] = member
    return found


CALLABLES = callables()
#: Classes whose objects are made by other functions; users do not call them.
MADE = ("Error", "Warning", "Comparison", "Fit", "Inspection", "Measures", "Mixing", "Schedule", "Streaming", "Tuning", ".Plan")


def parameters(value) -> list[inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    try:
        signature = inspect.signature(value)
    except ValueError:
        return []  # It cannot be called.
    return [each for each in signature.parameters.values() if each.kind not in kinds and each.name != "self"]


def settings_of(value) -> list[str]:
    """The settings that a callable takes as `**settings`."""
    from lengthwise import _settings

    for each in inspect.signature(value).parameters.values():
        named = re.fullmatch(r"Unpack\[(\w+)\]", str(each.annotation))
        if each.kind is each.VAR_KEYWORD and named:
            return list(getattr(_settings, named[1]).__annotations__)
    return []


def described(doc: str) -> set[str]:
    """The parameters that a docstring has an entry for, and those that its sentences name."""
    listed = re.split(r"^(?:Args|Attributes):\n", doc, flags=re.MULTILINE)[1:]
    entries = re.findall(r"^    `?(\w+)`?: \S", "".join(listed), re.MULTILINE)
    return {*entries, *re.findall(r"`(\w+)`", doc)}


@pytest.mark.parametrize("name", CALLABLES)
def test_every_parameter_is_described(name):
    value = CALLABLES[name]
    doc = inspect.getdoc(value)
    assert doc and doc != inspect.getdoc(object.__init__), f"{name} has no docstring"
    if name.endswith(MADE):
        return
    wanted = [each.name for each in parameters(value)] + settings_of(value)
    assert [each for each in wanted if each not in described(doc)] == []


@pytest.mark.parametrize("name", CALLABLES)
def test_every_default_shows(name):
    for each in parameters(CALLABLES[name]):
        assert each.default is not Ellipsis, each.name


@pytest.mark.parametrize(
    "name", ["Planner", "plan", "tune", "compare", "Feed", "stream_batches", "calibrate", "torch.BatchSampler", "lhotse.PlannedCutSampler", "lhotse.StreamCutSampler"]
)
def test_settings_have_entries_that_say_their_defaults(name):
    """An entry for each setting, not only its name; and what happens if it is left out."""
    value = CALLABLES[f"lengthwise.{name}"]
    doc = inspect.getdoc(value)
    entries = dict(re.findall(r"^    `?(\w+)`?: (.*(?:\n {8}.*)*)", doc.partition("Args:\n")[2], re.MULTILINE))
    wanted = [each.name for each in parameters(value)] + settings_of(value)
    assert set(wanted) == set(entries), set(wanted) ^ set(entries)
    for each in parameters(value):
        if each.default not in (inspect.Parameter.empty, None):
            text = " ".join(entries[each.name].split())
            shown = str(each.default.__name__ if callable(each.default) else each.default)
            assert "efault" in text and (shown.lower() in text.lower()), (each.name, text)


def test_sixteen_sequences_are_the_budget_where_none_is_given(lengths):
    assert lw.compare(lengths, "sorted", epochs=1).settings["budget"] == "sequences:16"
    assert lw.inspect(lengths).asdict()["budget"] == "sequences:16"
    assert inspect.signature(lw.Feed).parameters["window"].default == 4096


def test_the_names_of_a_module_are_found():
    assert set(lw.__all__) <= set(dir(lw))
    assert lw.calibrate is lw.calibration.calibrate
