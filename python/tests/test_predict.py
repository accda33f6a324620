"""A model's outputs in planned batches, in the order of the dataset."""

from __future__ import annotations

import lengthwise as lw
import numpy as np
import pytest

torch = pytest.importorskip("torch")
from lengthwise.torch import pad_collate, predict  # noqa: E402

LENGTHS = [1 + number * 37 % 90 for number in range(200)]


class Tagger(torch.nn.Module):
    """Gives a tensor for each position, and one for the sequence, which the padding must not change."""

    def __init__(self, outputs="mapping", most=None):
        super().__init__()
        torch.manual_seed(0)
        self.embedding = torch.nn.Embedding(50, 8)
        self.drop = torch.nn.Dropout(0.5)
        self.frozen = torch.nn.Linear(8, 3).eval()
        self.outputs, self.most, self.shapes = outputs, most, []

    def forward(self, input_ids, attention_mask=None):
        assert not torch.is_grad_enabled() and torch.is_inference_mode_enabled()
        if self.most is not None and input_ids.numel() > self.most:
            raise torch.cuda.OutOfMemoryError("CUDA out of memory.")
        self.shapes.append(tuple(input_ids.shape))
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = self.drop(self.embedding(input_ids))
        tags = self.frozen(hidden)
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        if self.outputs == "tensor":
            return tags
        if self.outputs == "tuple":
            return tags, mean
        return {"tags": tags, "mean": mean, "layers": (hidden, hidden), "loss": mean.sum(), "cache": object()}


def rows():
    return [{"input_ids": [1 + (3 * n + at) % 49 for at in range(length)], "text": "a", "length": length}
            for n, length in enumerate(LENGTHS)]  # fmt: skip


def alone(model, row):
    with torch.inference_mode():
        return model.eval()(torch.tensor([row["input_ids"]]))


@pytest.mark.parametrize("num_workers", [0, 2])
def test_outputs_are_those_of_each_item_alone(num_workers):
    model = Tagger()
    made = list(predict(model, rows(), budget="padded:900", trim=["tags", "layers"], num_workers=num_workers))
    # Longest first, and each module is in the mode that it was in.
    lengths = [length for _, length in model.shapes]
    assert lengths == sorted(lengths, reverse=True) and max(a * b for a, b in model.shapes) <= 900
    assert model.training and model.drop.training and not model.frozen.training
    assert len(made) == len(LENGTHS)
    for row, output in zip(rows(), made):
        expected = alone(model, row)
        assert list(output) == ["tags", "mean", "layers"] and len(output["layers"]) == 2
        torch.testing.assert_close(output["tags"], expected["tags"][0], rtol=0, atol=1e-6)
        torch.testing.assert_close(output["mean"], expected["mean"][0], rtol=0, atol=1e-6)
        assert output["layers"][1].shape == (row["length"], 8)


def test_datasets_of_hugging_face_and_lengths_that_are_given():
    datasets = pytest.importorskip("datasets")
    model = Tagger()
    table = datasets.Dataset.from_list(rows())
    expected = [output["mean"] for output in predict(model, rows(), budget="padded:900")]
    for settings in ({}, {"lengths": "input_ids"}, {"lengths": LENGTHS}, {"lengths": np.array(LENGTHS)}):
        made = [output["mean"] for output in predict(model, table, budget="padded:900", **settings)]
        assert all(torch.equal(one, other) for one, other in zip(made, expected))


@pytest.mark.parametrize("outputs", ["tensor", "tuple"])
def test_tensors_and_tuples(outputs):
    model = Tagger(outputs)
    items = [torch.tensor(row["input_ids"]) for row in rows()]
    trim = True if outputs == "tensor" else [0]
    for given in (items, [(item,) for item in items]):
        made = list(predict(model, given, budget="padded:900", trim=trim))
        for row, output in zip(rows(), made):
            tags = output if outputs == "tensor" else output[0]
            expected = alone(model, row) if outputs == "tensor" else alone(model, row)[0]
            torch.testing.assert_close(tags, expected[0], rtol=0, atol=1e-6)
    padded = next(iter(predict(Tagger("tensor"), items, budget="padded:900")))
    assert len(padded) >= LENGTHS[0] and padded.untyped_storage().nbytes() == padded.numel() * 4


def test_a_collator_of_ones_own():
    class Sums(torch.nn.Module):
        def forward(self, values, lengths):
            return values.sum(1) / lengths

    items = [torch.ones(length) for length in LENGTHS]
    made = list(predict(Sums(), items, budget="padded:900", collate_fn=pad_collate()))
    assert torch.stack(made).tolist() == [1.0] * len(LENGTHS)


def test_batches_that_run_out_of_memory_are_divided():
    model = Tagger(most=400)
    with pytest.warns(lw.LengthwiseWarning, match="predict: a batch of .* ran out of memory"):
        made = list(predict(model, rows(), budget="padded:900"))
    expected = list(predict(Tagger(), rows(), budget="padded:400"))
    assert max(a * b for a, b in model.shapes) <= 400
    for one, other in zip(made, expected, strict=True):
        torch.testing.assert_close(one["mean"], other["mean"], rtol=0, atol=1e-6)


def test_the_mode_comes_back_when_it_stops_before_the_end():
    model = Tagger()
    with predict(model, rows(), budget="padded:900") as results:
        next(results)
        assert not model.training
    assert model.training and not model.frozen.training
    model.most = 10
    with pytest.raises(torch.cuda.OutOfMemoryError) as caught:
        list(predict(model, rows(), budget="padded:900"))
    assert "predict: this was the item at position" in caught.value.__notes__[0]
    assert model.training


def test_two_predictions_on_one_model_at_once():
    model = Tagger()
    expected = [row["mean"] for row in predict(model, rows(), budget="padded:900")]
    first, second = predict(model, rows()[:20], budget="padded:90"), predict(model, rows(), budget="padded:900")
    next(first), next(second)
    assert len(list(first)) == 19 and not model.training  # The second still runs.
    assert all(torch.allclose(row["mean"], mean, atol=1e-6) for row, mean in zip(second, expected[1:], strict=True))
    assert model.training and model.drop.training and not model.frozen.training


def test_hints_name_what_predict_takes():
    for dataset, given in ((rows(), "labels"), ([{"words": [1, 2]}], None)):
        with pytest.raises(lw.LengthsError) as caught:
            predict(Tagger(), dataset, lengths=given)
        assert "give `lengths`" in caught.value.hint and "column" not in caught.value.hint
        assert repr(next(iter(dataset[0]))) in caught.value.hint


def test_nothing_and_something_empty():
    assert list(predict(Tagger(), [])) == []

    class Sums(torch.nn.Module):
        def forward(self, values):
            return values.sum(1)

    made = list(predict(Sums(), [torch.ones(3), torch.ones(0), torch.ones(2)]))
    assert torch.stack(made).tolist() == [3, 0, 2]


def test_progress_counts_items():
    told = []
    list(predict(Tagger(), rows(), budget="padded:900", progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (200, 200)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"trim": True}, "expected names or numbers of outputs, got True"),
        ({"trim": ["logits"]}, "got 'logits'"),
        ({"trim": "mean"}, r"expected a tensor of shape \(\d+, 90, …\), got \(\d+, 8\)"),
        ({"over_long": "drop"}, "without an output"),
        ({"budget": "padded:x"}, "x"),
        ({"budget": None}, "no budget"),
        ({"lengths": [1, 2]}, "200 sequences, and there are 2 lengths"),
        ({"lengths": "labels"}, "labels"),
    ],
)
def test_wrong_settings(settings, message):
    with pytest.raises(lw.LengthwiseError, match=message):
        list(predict(Tagger(), rows(), **{"budget": "padded:900", **settings}))


def test_wrong_models_and_datasets():
    with pytest.raises(lw.SettingError, match="expected a torch.nn.Module, got a function"):
        predict(lambda batch: batch, rows())
    with pytest.raises(lw.LengthsError, match="no items to choose from"):
        predict(Tagger(), iter(rows()))
    with pytest.raises(lw.LengthsError, match="position 1 has no length"):
        predict(Tagger(), [[1], 2])
