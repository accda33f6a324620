"""Hints about files are in the words of Python."""

import pytest

import lengthwise as lw

WRONG = [
    ("a.csv", "id,name\na,b\n", {}, 'column="NAME"'),
    ("a.csv", "id,frames\na,1\n", {"column": "frame"}, "`column`"),
    ("a.csv", "1,2\n3,4\n", {}, 'column="2"'),
    ("a.csv", "id,frames\na,4.7\n", {}, "frame_shift=0.01"),
    ("a.csv", "id,frames\na,4.7\n", {}, "rate=100"),
    ("a.jsonl", '{"text": "12"}\n', {"column": "text"}, 'unit="characters"'),
    ("a.jsonl", '{"tokens": [1]}\n', {}, "`column`"),
    ("a.jsonl", "12\n", {"column": "a"}, "`column`"),
    ("a.txt", "twelve\n", {}, 'unit="words"'),
    ("a.txt", "12\n", {"column": "a"}, 'format="csv"'),
    ("a.txt", "a\n\nb\n", {"unit": "words"}, "empty lines"),
    ("utt2dur", "a 1.5\n", {}, "rate=100"),
    ("a.arrow", "ARROW1", {}, "pyarrow"),
    ("a.txt", "", {}, "write at least one length"),
]


@pytest.mark.parametrize(("name", "text", "settings", "expected"), WRONG)
def test_hints_name_arguments(tmp_path, name, text, settings, expected) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(lw.errors.FileError) as raised:
        lw.read_lengths(path, **settings)
    hint = raised.value.hint
    assert expected in hint
    assert "--" not in hint
    assert "::" not in hint


def test_a_cost_model_that_is_not_there(tmp_path) -> None:
    with pytest.raises(lw.errors.FileError) as raised:
        lw.CostModel.load(tmp_path / "model.json")
    assert "`Fit.save`" in raised.value.hint
